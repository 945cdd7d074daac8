/* SPDX-License-Identifier: MIT */
/* The connections of a server in the order of their last request, so that idle ones, and those that send one byte at a
 * time, make room for others. */
#ifndef CFR_AGENT_HTTPD_CONNECTIONS_PRIVATE_H
#define CFR_AGENT_HTTPD_CONNECTIONS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfr_httpd_connection {
    struct cfr_httpd_connection *before;
    struct cfr_httpd_connection *after;
    int fd;
    unsigned char address[16]; /* of the peer */
    size_t address_n;          /* its bytes; 0 = it has none, or it is not known */
    int64_t since_boot_ms; /* when it was accepted, or its last request was complete or answered: bytes do not count */
    bool served;           /* one of its requests succeeded */
    bool owed;             /* it waits for an answer: its first request has not come, or one has not been answered */
    bool ended;            /* it was shut down, and is in no list any more */
};

struct cfr_httpd_connection_list {
    struct cfr_httpd_connection *oldest;
    struct cfr_httpd_connection *newest;
    size_t count;
};

/* Zero-initialised is empty. Connections that were shut down are in neither list. */
struct cfr_httpd_connections {
    struct cfr_httpd_connection_list unserved;
    struct cfr_httpd_connection_list served;
};

/* Adds an accepted connection. NULL when memory is short: the connection then has no time limit. */
struct cfr_httpd_connection *cfr_httpd_connections_come(struct cfr_httpd_connections *g, int fd, int64_t now_boot_ms);
/* Records a request; SERVED: it succeeded. ONE may be NULL. */
void cfr_httpd_connections_active(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one, bool served,
                                  int64_t now_boot_ms);
/* Records that an answer is OWED, or was sent. ONE may be NULL. */
void cfr_httpd_connections_owe(struct cfr_httpd_connection *one, bool owed);
/* True if any of them waits for an answer. */
bool cfr_httpd_connections_owed(const struct cfr_httpd_connections *g);
/* Removes and frees a closed connection. NULL is allowed. */
void cfr_httpd_connections_go(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one);
/* While there are more than MAX, shuts down the one that is idle the longest; the HTTP library then reads its end.
 * Those that were never served go first while they are more than a quarter: so a flood of them does not drive out
 * served connections, and served ones cannot keep new ones out. */
void cfr_httpd_connections_make_room(struct cfr_httpd_connections *g, size_t max);
/* The count of those that have ONE's address; 0 if it has none. */
size_t cfr_httpd_connections_count_at(const struct cfr_httpd_connections *g, const struct cfr_httpd_connection *one);
/* As cfr_httpd_connections_make_room, for those of ONE's address, of which there may be MAX. */
void cfr_httpd_connections_make_room_at(struct cfr_httpd_connections *g, const struct cfr_httpd_connection *one,
                                        size_t max);
/* Shuts down all that are idle since before BEFORE_BOOT_MS. */
void cfr_httpd_connections_end_idle(struct cfr_httpd_connections *g, int64_t before_boot_ms);
/* Since when the longest idle connection is idle; INT64_MAX if there is none. */
int64_t cfr_httpd_connections_oldest(const struct cfr_httpd_connections *g);

#endif
