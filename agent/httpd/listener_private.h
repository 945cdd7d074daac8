/* SPDX-License-Identifier: MIT */
/* Listening sockets: TCP addresses from configuration text, and Unix sockets that appear ready to connect to. */
#ifndef CFR_AGENT_HTTPD_LISTENER_PRIVATE_H
#define CFR_AGENT_HTTPD_LISTENER_PRIVATE_H

#include "agent/httpd/server.h"
#include "base/err.h"

#include <sys/stat.h>

struct cfr_httpd_socket {
    int fd;          /* listening, non-blocking, close-on-exec; -1 = none */
    char *unix_path; /* heap; NULL for TCP */
    int dir_fd;      /* the directory of a Unix socket's file; -1 = none */
    dev_t device;    /* of the socket file, to remove only our own */
    ino_t inode;
    char address[128]; /* as it listens: "127.0.0.1:9080", "[::1]:9080", or the path */
};

/* See cfr_httpd_open. On error OUT is empty. */
int cfr_httpd_listen_tcp(const char *address, enum cfr_httpd_reach reach, struct cfr_httpd_socket *out,
                         struct cfr_err *err);
int cfr_httpd_listen_unix(const char *path, mode_t mode, int64_t patience_ms, struct cfr_httpd_socket *out,
                          struct cfr_err *err);
/* See cfr_httpd_set_reach; FD is the listening descriptor. */
int cfr_httpd_listen_reach(int fd, enum cfr_httpd_reach reach, struct cfr_err *err);
/* Whether clients can find S: false if its socket file was removed or replaced. */
bool cfr_httpd_listen_is_there(const struct cfr_httpd_socket *s);
/* Lets no client begin to connect any more; those that are connected already can still be accepted from FD, the
 * listening descriptor of S. A Unix socket's file is removed if it is still ours. */
void cfr_httpd_listen_quiesce(struct cfr_httpd_socket *s, int fd);
/* Lets the client of FD send, which was accepted from a listening descriptor after that. */
void cfr_httpd_listen_admit(int fd);
/* Closes the descriptor unless it is -1, and removes the socket file if it is still ours. */
void cfr_httpd_listen_end(struct cfr_httpd_socket *s);

#endif
