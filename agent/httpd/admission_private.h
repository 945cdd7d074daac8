/* SPDX-License-Identifier: MIT */
/* Accepts waiting clients so that no program's share grows with the number of its connections. */
#ifndef CFR_AGENT_HTTPD_ADMISSION_PRIVATE_H
#define CFR_AGENT_HTTPD_ADMISSION_PRIVATE_H

#include "agent/httpd/connections_private.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define CFR_HTTPD_NEWCOMERS_MAX 256

/* A client that was accepted and is not yet the HTTP library's. */
struct cfr_httpd_newcomer {
    int fd;
    socklen_t n; /* bytes of the address */
    union {
        struct sockaddr any;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
    } address;
    struct cfr_httpd_group *group; /* counts it as a newcomer */
    bool asks;                     /* its first request has begun to arrive; false where the server does not look */
};

struct cfr_httpd_newcomers {
    struct cfr_httpd_newcomer items[CFR_HTTPD_NEWCOMERS_MAX];
    size_t count;
};

/* The group of a new client, of which it also sets `asks`; NULL: it is closed. */
typedef struct cfr_httpd_group *cfr_httpd_group_fn(void *ctx, struct cfr_httpd_newcomer *client);

/* Accepts all clients that wait on LISTEN_FD and leaves at most MOST of them in OUT, as many of each group as of the
 * others, first those that ask; the rest are closed, which costs little: a client that comes now would otherwise wait
 * behind thousands of connections of one program. Returns 0, or the errno value of accept4 when descriptors or memory
 * are short. */
int cfr_httpd_admission_collect(int listen_fd, size_t most, cfr_httpd_group_fn *group_of, void *ctx,
                                struct cfr_httpd_newcomers *out);

#endif
