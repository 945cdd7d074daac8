/* SPDX-License-Identifier: MIT */
/* The connections of a server in the order in which they last did something, so that those that do nothing, or do it
 * one byte at a time, make room for the others. */
#ifndef CFR_AGENT_HTTPD_CONNECTIONS_PRIVATE_H
#define CFR_AGENT_HTTPD_CONNECTIONS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfr_httpd_connection {
    struct cfr_httpd_connection *before;
    struct cfr_httpd_connection *after;
    int fd;
    int64_t since_boot_ms; /* when it came, or had its last request taken or answered whole: bytes do not count */
    bool known;            /* it got what it asked for once */
    bool ended;            /* it was told to go, and is in no list any more */
};

struct cfr_httpd_connection_list {
    struct cfr_httpd_connection *oldest;
    struct cfr_httpd_connection *newest;
    size_t count;
};

/* Zero-initialised is empty. Those that were told to go are in neither list. */
struct cfr_httpd_connections {
    struct cfr_httpd_connection_list strangers;
    struct cfr_httpd_connection_list known;
};

/* NULL when memory is short: the connection then lives without being watched. */
struct cfr_httpd_connection *cfr_httpd_connections_come(struct cfr_httpd_connections *g, int fd, int64_t now_boot_ms);
/* It did something; SERVED: it got what it asked for. ONE may be NULL. */
void cfr_httpd_connections_active(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one, bool served,
                                  int64_t now_boot_ms);
/* Its connection is closed: frees it. NULL is allowed. */
void cfr_httpd_connections_go(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one);
/* While there are more than MAX: shuts the one down that has done nothing for the longest time; whoever reads from it
 * then finds its end. Strangers go first, as long as they have more than a quarter of the room: so a flood of them does
 * not drive out those who are being served, nor can these keep new ones out. */
void cfr_httpd_connections_make_room(struct cfr_httpd_connections *g, size_t max);
/* Shuts down all that have done nothing since BEFORE_BOOT_MS. */
void cfr_httpd_connections_end_idle(struct cfr_httpd_connections *g, int64_t before_boot_ms);
/* Since when the one that has done nothing for the longest time has done nothing; INT64_MAX if there is none. */
int64_t cfr_httpd_connections_oldest(const struct cfr_httpd_connections *g);

#endif
