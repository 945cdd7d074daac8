/* SPDX-License-Identifier: MIT */
/* The connections of a server in the order of their last request, so that idle ones, and those that send one byte at a
 * time, make room for others. */
#ifndef CFR_AGENT_HTTPD_CONNECTIONS_PRIVATE_H
#define CFR_AGENT_HTTPD_CONNECTIONS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_HTTPD_GROUP_KEY_MAX 17

/* The first byte of a group's key. */
enum cfr_httpd_group_kind {
    CFR_HTTPD_GROUP_USER, /* of this machine; its number follows if the kernel tells it */
    CFR_HTTPD_GROUP_AWAY, /* of another machine, whose address follows */
    CFR_HTTPD_GROUP_AHEAD /* all that send requests before they have the answer to the one before */
};

/* Connections that share what one client may have. */
struct cfr_httpd_group {
    struct cfr_httpd_group *next;
    unsigned char key[CFR_HTTPD_GROUP_KEY_MAX];
    size_t key_n;
    size_t newcomers; /* accepted, and not yet connections */
    size_t count;     /* connections in the lists */
    size_t unserved;  /* of these */
};

struct cfr_httpd_connection {
    struct cfr_httpd_connection *before;
    struct cfr_httpd_connection *after;
    struct cfr_httpd_group *group;
    int fd;
    unsigned ahead;        /* requests that it sent before it had the answer to the one before */
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
    struct cfr_httpd_group *groups;
};

/* The group with KEY, which stays until cfr_httpd_connections_tidy finds it empty. NULL when memory is short. */
struct cfr_httpd_group *cfr_httpd_connections_group(struct cfr_httpd_connections *g, const unsigned char *key,
                                                    size_t n);
/* Frees the groups that have no connection and no newcomer. */
void cfr_httpd_connections_tidy(struct cfr_httpd_connections *g);
/* Adds an accepted connection of GROUP. NULL when memory is short: the connection then has no time limit. */
struct cfr_httpd_connection *cfr_httpd_connections_come(struct cfr_httpd_connections *g, struct cfr_httpd_group *group,
                                                        int fd, int64_t now_boot_ms);
/* Moves ONE to GROUP. ONE may be NULL. */
void cfr_httpd_connections_move(struct cfr_httpd_connection *one, struct cfr_httpd_group *group);
/* Records a request; SERVED: it succeeded. ONE may be NULL. */
void cfr_httpd_connections_active(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one, bool served,
                                  int64_t now_boot_ms);
/* Records that an answer is OWED, or was sent. ONE may be NULL. */
void cfr_httpd_connections_owe(struct cfr_httpd_connection *one, bool owed);
/* True if any of them waits for an answer. */
bool cfr_httpd_connections_owed(const struct cfr_httpd_connections *g);
/* Removes and frees a closed connection. NULL is allowed. */
void cfr_httpd_connections_go(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one);
/* While there are more than MAX, shuts down the one of the largest group that is idle the longest; the HTTP library
 * then reads its end. Those that were never served go first while they are more than a quarter of the group: so a flood
 * of them does not drive out served connections, and served ones cannot keep new ones out. */
void cfr_httpd_connections_make_room(struct cfr_httpd_connections *g, size_t max);
/* The same within GROUP, which may have MAX. */
void cfr_httpd_connections_make_room_in(struct cfr_httpd_connections *g, struct cfr_httpd_group *group, size_t max);
/* Shuts down all that are idle since before BEFORE_BOOT_MS. */
void cfr_httpd_connections_end_idle(struct cfr_httpd_connections *g, int64_t before_boot_ms);
/* Since when the longest idle connection is idle; INT64_MAX if there is none. */
int64_t cfr_httpd_connections_oldest(const struct cfr_httpd_connections *g);

#endif
