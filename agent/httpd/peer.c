/* SPDX-License-Identifier: MIT */
/* Finds out whether a connection comes from this machine. */
#include "agent/httpd/peer_private.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

size_t cfr_httpd_peer_address(const struct sockaddr *a, unsigned char out[16])
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    if (a != NULL && a->sa_family == AF_INET) {
        memcpy(&in4, a, sizeof in4);
        memcpy(out, &in4.sin_addr, 4);
        return 4;
    }
    if (a == NULL || a->sa_family != AF_INET6)
        return 0;
    memcpy(&in6, a, sizeof in6);
    if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
        memcpy(out, &in6.sin6_addr.s6_addr[12], 4);
        return 4;
    }
    memcpy(out, &in6.sin6_addr, 16);
    return 16;
}

bool cfr_httpd_peer_is_loopback(const struct sockaddr *a)
{
    static const unsigned char one[16] = {[15] = 1};
    unsigned char bytes[16];
    size_t n = cfr_httpd_peer_address(a, bytes);

    return n == 4 ? bytes[0] == 127 : n == 16 && memcmp(bytes, one, sizeof one) == 0;
}

bool cfr_httpd_peer_is_socket_loopback(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;

    return getsockname(fd, (struct sockaddr *)&a, &n) == 0 && cfr_httpd_peer_is_loopback((struct sockaddr *)&a);
}

bool cfr_httpd_peer_is_on_lo(const struct sockaddr *a)
{
    unsigned char bytes[16];
    unsigned char its[16];
    size_t n = cfr_httpd_peer_address(a, bytes);
    struct ifaddrs *all = NULL;
    bool found = cfr_httpd_peer_is_loopback(a);

    if (found || n == 0 || getifaddrs(&all) != 0)
        return found;
    for (const struct ifaddrs *one = all; one != NULL && !found; one = one->ifa_next)
        found = (one->ifa_flags & IFF_LOOPBACK) != 0 && cfr_httpd_peer_address(one->ifa_addr, its) == n &&
                memcmp(bytes, its, n) == 0;
    freeifaddrs(all);
    return found;
}

void cfr_httpd_peer_name(const struct sockaddr *a, char text[64])
{
    unsigned char bytes[16];
    size_t n = cfr_httpd_peer_address(a, bytes);

    text[0] = '\0';
    if (n != 0)
        (void)inet_ntop(n == 4 ? AF_INET : AF_INET6, bytes, text, 64);
}

/* A question about the route to an address (rtnetlink(7)). */
struct question {
    struct nlmsghdr head;
    struct rtmsg route;
    struct rtattr by;
    uint32_t interface;
    struct rtattr to;
    unsigned char address[16];
};

/* The interface that A is an address of, 0 if it is one of all. Each link has link-local addresses of its own: one of
 * this machine's on another link may be a neighbour's on this one. */
static uint32_t find_interface(const struct sockaddr *a)
{
    struct sockaddr_in6 in6;

    if (a->sa_family != AF_INET6)
        return 0;
    memcpy(&in6, a, sizeof in6);
    return IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) ? in6.sin6_scope_id : 0;
}

/* True if the kernel delivers packets to the N bytes of ADDRESS on INTERFACE (0: any) here. Not tried with bind, which
 * takes any address where net.ipv4.ip_nonlocal_bind is set. */
static bool is_own(const unsigned char *address, size_t n, uint32_t interface)
{
    struct question q = {
        .head = {.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof q.route) + RTA_LENGTH(sizeof q.interface) + RTA_LENGTH(n)),
                 .nlmsg_type = RTM_GETROUTE,
                 .nlmsg_flags = NLM_F_REQUEST},
        .route = {.rtm_family = n == 4 ? AF_INET : AF_INET6, .rtm_dst_len = (unsigned char)(8 * n)},
        .by = {.rta_len = RTA_LENGTH(sizeof q.interface), .rta_type = RTA_OIF},
        .interface = interface,
        .to = {.rta_len = (unsigned short)RTA_LENGTH(n), .rta_type = RTA_DST},
    };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct {
        struct nlmsghdr head;
        struct rtmsg route;
        unsigned char rest[512];
    } answer = {.rest = {0}};
    ssize_t got = -1;

    if (fd < 0)
        return false;
    memcpy(q.address, address, n);
    /* The kernel has answered when send returns. */
    if (send(fd, &q, q.head.nlmsg_len, 0) == (ssize_t)q.head.nlmsg_len)
        got = recv(fd, &answer, sizeof answer, 0);
    (void)close(fd);
    return got >= (ssize_t)NLMSG_LENGTH(sizeof answer.route) && answer.head.nlmsg_type == RTM_NEWROUTE &&
           answer.route.rtm_type == RTN_LOCAL;
}

void cfr_httpd_peer_origin(const struct sockaddr *a, bool loopback, struct cfr_httpd_origin *out)
{
    *out = (struct cfr_httpd_origin){.n = 0};
    out->n = cfr_httpd_peer_address(a, out->address);
    cfr_httpd_peer_name(a, out->text);
    out->here =
        cfr_httpd_peer_is_loopback(a) || (out->n != 0 && !loopback && is_own(out->address, out->n, find_interface(a)));
}

static in_port_t port_of(const struct sockaddr *a)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    if (a->sa_family == AF_INET) {
        memcpy(&in4, a, sizeof in4);
        return in4.sin_port;
    }
    memcpy(&in6, a, sizeof in6);
    return in6.sin6_port;
}

/* Asks for the socket that connects PEER with OURS (sock_diag(7)). */
static bool find_socket(int diag_fd, const struct sockaddr *peer, const struct sockaddr *ours,
                        struct inet_diag_msg *out)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 what;
    } q = {
        .head = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .what = {.sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = ~0U,
                 .id = {.idiag_sport = port_of(peer),
                        .idiag_dport = port_of(ours),
                        .idiag_if = find_interface(peer),
                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg found;
        unsigned char rest[512];
    } answer = {.rest = {0}};
    unsigned char bytes[16] = {0};
    ssize_t got = -1;

    q.what.sdiag_family = cfr_httpd_peer_address(peer, bytes) == 4 ? AF_INET : AF_INET6;
    memcpy(q.what.id.idiag_src, bytes, sizeof bytes);
    (void)cfr_httpd_peer_address(ours, bytes);
    memcpy(q.what.id.idiag_dst, bytes, sizeof bytes);
    /* The kernel has answered when send returns. */
    if (send(diag_fd, &q, sizeof q, 0) == (ssize_t)sizeof q)
        got = recv(diag_fd, &answer, sizeof answer, 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof answer.found) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    *out = answer.found;
    return true;
}

bool cfr_httpd_peer_user(int *diag_fd, int fd, const struct sockaddr *peer, uint32_t *uid)
{
    struct sockaddr_storage ours = {0};
    socklen_t n = sizeof ours;
    struct inet_diag_msg found;
    struct ucred cred;

    if (peer == NULL) {
        n = sizeof cred;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) != 0)
            return false;
        *uid = cred.uid;
        return true;
    }
    if (*diag_fd < 0)
        *diag_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (*diag_fd < 0 || getsockname(fd, (struct sockaddr *)&ours, &n) != 0 ||
        !find_socket(*diag_fd, peer, (struct sockaddr *)&ours, &found) || found.idiag_inode == 0)
        return false; /* without a number it is closed already, and root's for the kernel */
    *uid = found.idiag_uid;
    return true;
}
