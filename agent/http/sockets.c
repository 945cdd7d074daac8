/* SPDX-License-Identifier: MIT */
/* The sockets of libcurl's connections, which it does not report during a transfer. */
#include "agent/http/sockets_private.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t find(const struct cfr_http_sockets *s, int fd)
{
    size_t i = 0;

    while (i < s->count && s->items[i].fd != fd)
        i++;
    return i;
}

void cfr_http_sockets_add(struct cfr_http_sockets *s, int fd)
{
    if (find(s, fd) < s->count)
        return;
    if (s->count == s->cap) {
        size_t cap = s->cap == 0 ? 8 : 2 * s->cap;
        struct cfr_http_socket *items = realloc(s->items, cap * sizeof *items);

        if (items == NULL)
            return;
        s->items = items;
        s->cap = cap;
    }
    s->items[s->count++] = (struct cfr_http_socket){.fd = fd};
}

int cfr_http_sockets_close(struct cfr_http_sockets *s, int fd)
{
    size_t i = find(s, fd);

    if (i < s->count)
        s->items[i] = s->items[--s->count];
    return close(fd);
}

static long read_port(int fd)
{
    struct sockaddr_storage a = {0};
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    socklen_t n = sizeof a;

    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return 0;
    if (a.ss_family == AF_INET) {
        memcpy(&in4, &a, sizeof in4);
        return ntohs(in4.sin_port);
    }
    if (a.ss_family != AF_INET6)
        return 0;
    memcpy(&in6, &a, sizeof in6);
    return ntohs(in6.sin6_port);
}

/* A connection keeps its port. */
static long port_of(struct cfr_http_socket *one)
{
    if (one->port == 0)
        one->port = read_port(one->fd);
    return one->port;
}

bool cfr_http_sockets_received(const struct cfr_http_sockets *s, long local_port, uint64_t *bytes)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t n = sizeof info;
    int unread = 0;
    size_t i = 0;

    while (i < s->count && (local_port == 0 || port_of(&s->items[i]) != local_port))
        i++;
    if (i == s->count || getsockopt(s->items[i].fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0)
        return false;
    *bytes = info.tcpi_bytes_received;
    /* What waits in the kernel, as it does for a stream that pauses, is nothing that libcurl had to read. */
    if (ioctl(s->items[i].fd, FIONREAD, &unread) == 0 && unread > 0 && (uint64_t)unread <= *bytes)
        *bytes -= (uint64_t)unread;
    return true;
}

void cfr_http_sockets_free(struct cfr_http_sockets *s)
{
    free(s->items);
    *s = (struct cfr_http_sockets){.items = NULL};
}
