/* SPDX-License-Identifier: MIT */
/* The sockets of libcurl's connections, which it does not report during a transfer. */
#ifndef CFR_AGENT_HTTP_SOCKETS_PRIVATE_H
#define CFR_AGENT_HTTP_SOCKETS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct cfr_http_sockets {
    struct cfr_http_socket {
        int fd;
        long port; /* its own; 0: not asked for yet */
    } * items;
    size_t count;
    size_t cap;
};

/* Records a socket that libcurl has opened. Without memory it is not counted. */
void cfr_http_sockets_add(struct cfr_http_sockets *s, int fd);
/* Closes it. As close(2). */
int cfr_http_sockets_close(struct cfr_http_sockets *s, int fd);
/* *BYTES: what was read from the TCP connection with LOCAL_PORT since it was made. False if it is not known. */
bool cfr_http_sockets_received(const struct cfr_http_sockets *s, long local_port, uint64_t *bytes);
void cfr_http_sockets_free(struct cfr_http_sockets *s);

#endif
