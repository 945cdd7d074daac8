/* SPDX-License-Identifier: MIT */
/* Making, naming and removing listening sockets. */
#include "agent/httpd/listener_private.h"

#include "agent/httpd/peer_private.h"
#include "agent/loop/slow_file.h"
#include "agent/loop/slow_write.h"
#include "base/log.h"
#include "base/str.h"
#include "files/path.h"
#include "files/state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define UNLINK_MS    20 /* on a disk that is busy, after the moment of cfr_slow_write */
#define UNLINK_LOOKS 4
#define OPEN_FILES   "/proc/self/fd"
#define PATH_BYTES   (sizeof((struct sockaddr_un *)0)->sun_path - 1)
#define NAME_BYTES   (PATH_BYTES - (sizeof OPEN_FILES "/2147483647/" - 1)) /* of a name that is bound by way of there */
#define BACKLOG      4096 /* the kernel limits it to net.core.somaxconn; a full queue delays clients by a second */

union address {
    struct sockaddr any;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static int new_socket(int family, struct cfr_err *err)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        (void)cfr_err_sys(err, errno, "cannot make a socket");
    return fd;
}

static int report_bad_address(const char *text, struct cfr_err *err)
{
    return cfr_err_set(
        err, CFR_E_CONFIG,
        "\"%s\" is not an address to listen on; write 127.0.0.1:9080, [::1]:9080 or :9080 (every address)", text);
}

/* HOST:PORT with a literal address. *EVERY says that HOST is empty. */
static int parse_address(const char *text, union address *out, bool *every, struct cfr_err *err)
{
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2];
    int64_t port;
    size_t n;

    memset(out, 0, sizeof *out);
    if (colon == NULL || colon[1] < '0' || colon[1] > '9' || !cfr_view_int(cfr_view_of(colon + 1), &port) ||
        port > 65535 || (size_t)(colon - text) >= sizeof host)
        return report_bad_address(text, err);
    n = (size_t)(colon - text);
    memcpy(host, text, n);
    host[n] = '\0';
    *every = n == 0;
    if (n == 0 || host[0] == '[') {
        out->in6.sin6_family = AF_INET6;
        out->in6.sin6_port = htons((uint16_t)port);
        if (n == 0)
            return 0; /* zero is in6addr_any */
        if (host[n - 1] != ']')
            return report_bad_address(text, err);
        host[n - 1] = '\0';
        return inet_pton(AF_INET6, host + 1, &out->in6.sin6_addr) == 1 ? 0 : report_bad_address(text, err);
    }
    out->in4.sin_family = AF_INET;
    out->in4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->in4.sin_addr) == 1 ? 0 : report_bad_address(text, err);
}

static int report_tcp_error(const char *text, struct cfr_err *err)
{
    switch (errno) {
    case EADDRINUSE:
        return cfr_err_set(err, CFR_E_CONFLICT, "cannot listen on %s: another process listens there", text);
    case EADDRNOTAVAIL:
        return cfr_err_set(err, CFR_E_CONFIG, "cannot listen on %s: this machine has no such address", text);
    default:
        return cfr_err_sys(err, errno, "cannot listen on %s", text);
    }
}

static void limit_hops(int fd, const union address *a)
{
    int one = 1;

    if (cfr_httpd_peer_is_loopback(&a->any))
        return;
    /* A socket for every address has clients of both families. */
    (void)setsockopt(fd, IPPROTO_IP, IP_TTL, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one, sizeof one);
}

static void bind_to_lo(int fd, const union address *a)
{
    if (cfr_httpd_peer_is_on_lo(&a->any) && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) != 0)
        cfr_log(CFR_LOG_DEBUG, NULL, NULL,
                "an address is not bound to the interface lo (%s); only the peers of its connections are checked",
                strerror(errno));
}

int cfr_httpd_listen_reach(int fd, enum cfr_httpd_reach reach, struct cfr_err *err)
{
    union address a = {0};
    socklen_t n = sizeof a;

    if (reach == CFR_HTTPD_HERE) {
        if (getsockname(fd, &a.any, &n) == 0)
            bind_to_lo(fd, &a);
        return 0;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0) == 0)
        return 0;
    return cfr_err_sys(err, errno, "cannot release an address from the interface lo");
}

static int bind_tcp(const union address *a, bool every, enum cfr_httpd_reach reach, struct cfr_err *err)
{
    socklen_t n = a->any.sa_family == AF_INET ? sizeof a->in4 : sizeof a->in6;
    int fd = new_socket(a->any.sa_family, err);
    int on = 1;
    int off = 0;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (every)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (reach != CFR_HTTPD_ANY)
        limit_hops(fd, a);
    if (reach == CFR_HTTPD_HERE)
        bind_to_lo(fd, a);
    if (bind(fd, &a->any, n) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    on = errno;
    (void)close(fd);
    errno = on;
    return -1;
}

static void format_tcp_address(struct cfr_httpd_socket *s)
{
    union address a = {0};
    socklen_t n = sizeof a;
    char host[INET6_ADDRSTRLEN] = "?";

    if (getsockname(s->fd, &a.any, &n) != 0)
        return;
    if (a.any.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &a.in4.sin_addr, host, sizeof host);
        (void)snprintf(s->address, sizeof s->address, "%s:%u", host, ntohs(a.in4.sin_port));
    } else {
        (void)inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof host);
        (void)snprintf(s->address, sizeof s->address, "[%s]:%u", host, ntohs(a.in6.sin6_port));
    }
}

int cfr_httpd_listen_tcp(const char *address, enum cfr_httpd_reach reach, struct cfr_httpd_socket *out,
                         struct cfr_err *err)
{
    union address a;
    bool every = false;
    int rc = parse_address(address, &a, &every, err);

    *out = (struct cfr_httpd_socket){.fd = -1, .dir_fd = -1};
    if (rc != 0)
        return rc;
    out->fd = bind_tcp(&a, every, reach, err);
    if (out->fd < 0 && every && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        /* A kernel without IPv6: every address is then every IPv4 address. */
        in_port_t port = a.in6.sin6_port;

        a = (union address){.in4 = {.sin_family = AF_INET, .sin_port = port}};
        out->fd = bind_tcp(&a, false, reach, err);
    }
    if (out->fd < 0)
        return report_tcp_error(address, err);
    format_tcp_address(out);
    return 0;
}

/* The directory of a socket's file, and names in it. */
struct place {
    int dir_fd;
    const char *path;
    const char *name;          /* the last component of PATH */
    char temp[NAME_BYTES + 1]; /* what the file is called until clients can connect */
};

/* 0 if NAME does not exist, or is a socket that no process listens on. PATH leads to it. */
static int check_free(const struct place *at, const char *name, struct cfr_err *err)
{
    int parent = (int)(at->name - at->path);
    union address a = {.un = {.sun_family = AF_UNIX}};
    const char *path = a.un.sun_path;
    struct stat st;
    int fd;
    int rc;

    (void)snprintf(a.un.sun_path, sizeof a.un.sun_path, "%.*s%s", parent, at->path, name);
    if (fstatat(at->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : cfr_err_sys(err, errno, "cannot make the socket %s", path);
    if (!S_ISSOCK(st.st_mode))
        return cfr_err_set(err, CFR_E_CONFLICT, "%s exists and is not a socket; remove it, or choose another path",
                           path);
    fd = new_socket(AF_UNIX, err);
    if (fd < 0)
        return err != NULL ? err->code : CFR_E_IO;
    rc = connect(fd, &a.any, sizeof a.un) == 0 ? 0 : errno;
    (void)close(fd);
    if (rc == ECONNREFUSED || rc == ENOENT)
        return 0;
    if (rc == 0 || rc == EAGAIN)
        return cfr_err_set(err, CFR_E_CONFLICT, "another process listens on %s", path);
    return cfr_err_sys(err, rc, "cannot tell whether a process listens on %s", path);
}

/* Binds to the temporary name. bind(2) takes a path, which others could change meanwhile; /proc leads to the directory
 * itself. */
static int bind_in(int fd, const struct place *at, mode_t mode)
{
    union address a = {.un = {.sun_family = AF_UNIX}};
    mode_t umask_before;
    int rc;

    if (access(OPEN_FILES, X_OK) == 0)
        (void)snprintf(a.un.sun_path, sizeof a.un.sun_path, OPEN_FILES "/%d/%s", at->dir_fd, at->temp);
    else
        (void)snprintf(a.un.sun_path, sizeof a.un.sun_path, "%.*s%s", (int)(at->name - at->path), at->path, at->temp);
    /* The mode of the descriptor, less the umask, becomes the mode of the file, so that it is never wider, and that no
     * chmod is needed, which could be led elsewhere. */
    rc = fchmod(fd, mode);
    umask_before = umask(0);
    if (rc == 0)
        rc = bind(fd, &a.any, sizeof a.un);
    (void)umask(umask_before);
    return rc;
}

/* Listens on the temporary name, which is then renamed: once the socket's path exists, clients can connect. */
static int bind_and_rename(struct cfr_httpd_socket *s, const struct place *at, mode_t mode, struct cfr_err *err)
{
    struct stat st;

    (void)unlinkat(at->dir_fd, at->temp, 0);
    if (bind_in(s->fd, at, mode) != 0)
        return cfr_err_sys(err, errno, "cannot make the socket %s", at->path);
    if (fstatat(at->dir_fd, at->temp, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode))
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "the socket %s was replaced while it was made: see which other program writes in its "
                           "directory",
                           at->path);
    if (listen(s->fd, BACKLOG) != 0 || renameat(at->dir_fd, at->temp, at->dir_fd, at->name) != 0) {
        int errnum = errno;

        (void)unlinkat(at->dir_fd, at->temp, 0);
        return cfr_err_sys(err, errnum, "cannot make the socket %s", at->path);
    }
    s->device = st.st_dev;
    s->inode = st.st_ino;
    return 0;
}

static int check_directory(const struct place *at, struct cfr_err *err)
{
    char directory[PATH_BYTES + 1];
    int n = (int)(at->name - at->path) - 1;
    struct stat st;

    (void)snprintf(directory, sizeof directory, "%.*s", n > 0 ? n : 1, at->path);
    if (fstat(at->dir_fd, &st) != 0)
        return cfr_err_sys(err, errno, "cannot read the status of %s", directory);
    return cfr_state_check_shared(&st, cfr_state_is_mounted(at->dir_fd, &st), geteuid(), directory, err);
}

static int open_place(const char *path, struct place *at, struct cfr_err *err)
{
    size_t n;
    int rc;

    *at = (struct place){.path = path};
    at->dir_fd = cfr_path_open_parent(path, false, &at->name, err);
    if (at->dir_fd < 0)
        return at->dir_fd;
    n = strlen(at->name);
    n = n < NAME_BYTES ? n : NAME_BYTES;
    memcpy(at->temp, at->name, n);
    /* A temporary name that is no longer, since the path may already have the maximum length. */
    at->temp[n - 1] = at->temp[n - 1] == '~' ? '-' : '~';
    rc = check_directory(at, err);
    if (rc == 0)
        rc = check_free(at, at->name, err);
    if (rc == 0)
        rc = check_free(at, at->temp, err);
    if (rc != 0)
        (void)close(at->dir_fd);
    return rc;
}

/* In a child: does what would wait for a disk that is frozen, or a server that is gone. */
static int try_place(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                     struct stat *status, struct cfr_err *err)
{
    struct place at;
    int rc = open_place(what->path, &at, err);

    (void)reach;
    (void)out;
    (void)status;
    if (rc != 0)
        return rc;
    (void)unlinkat(at.dir_fd, at.temp, 0);
    (void)close(at.dir_fd);
    return 0;
}

int cfr_httpd_listen_unix(const char *path, mode_t mode, int64_t patience_ms, struct cfr_httpd_socket *out,
                          struct cfr_err *err)
{
    const struct cfr_slow_read trial = {.read = try_place, .path = path};
    struct place at;
    size_t n = strlen(path);
    int rc;

    *out = (struct cfr_httpd_socket){.fd = -1, .dir_fd = -1};
    if (n > PATH_BYTES)
        return cfr_err_set(err, CFR_E_CONFIG, "the socket path has %zu bytes, the kernel takes %zu; shorten %s", n,
                           PATH_BYTES, path);
    if (path[0] != '/' || path[n - 1] == '/')
        return cfr_err_set(err, CFR_E_CONFIG, "\"%s\" is not a path for a socket", path);
    rc = cfr_slow_file_try(&trial, patience_ms, err);
    if (rc == 0)
        rc = open_place(path, &at, err);
    if (rc != 0)
        return rc;
    out->dir_fd = at.dir_fd;
    out->fd = new_socket(AF_UNIX, err);
    out->unix_path = cfr_str_dup(cfr_view_of(path));
    (void)snprintf(out->address, sizeof out->address, "%s", path);
    if (out->fd < 0)
        rc = CFR_E_IO;
    else if (out->unix_path == NULL)
        rc = cfr_err_nomem(err);
    else
        rc = bind_and_rename(out, &at, mode, err);
    if (rc != 0)
        cfr_httpd_listen_end(out);
    return rc;
}

static int look(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                struct stat *status, struct cfr_err *err)
{
    (void)reach;
    (void)out;
    (void)err;
    return lstat(what->path, status);
}

/* Where that cannot be found out it is taken to be there. */
bool cfr_httpd_listen_is_there(const struct cfr_httpd_socket *s)
{
    const struct cfr_slow_read trial = {.read = look, .path = s->unix_path};
    struct stat st;

    if (s->unix_path == NULL || (cfr_slow_file_is(s->unix_path) && cfr_slow_file_try(&trial, 0, NULL) != 0))
        return true;
    return lstat(s->unix_path, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
}

/* OURS: the socket, as it was made. */
static int unlink_ours(int dir_fd, const char *name, struct cfr_view ours, struct cfr_err *err)
{
    const struct cfr_httpd_socket *s = (const void *)ours.p;
    struct stat st;

    (void)err;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == s->device && st.st_ino == s->inode)
        (void)unlinkat(dir_fd, name, 0);
    return 0;
}

/* Of a disk that hangs the file is left, and is replaced at the next start. */
static void remove_file(struct cfr_httpd_socket *s)
{
    const struct timespec pause = {.tv_nsec = UNLINK_MS * 1000000 / UNLINK_LOOKS};
    const struct cfr_view ours = {(const char *)s, sizeof *s};
    struct cfr_slow_write write = {.next = NULL};
    const char *name = s->unix_path != NULL ? strrchr(s->unix_path, '/') : NULL;

    for (int i = 0; i < UNLINK_LOOKS && name != NULL && s->inode != 0 &&
                    cfr_slow_write(&write, s->dir_fd, unlink_ours, name + 1, ours, NULL) == CFR_SLOW_WRITE_UNDER_WAY;
         i++)
        (void)nanosleep(&pause, NULL);
    cfr_slow_write_close(&write);
    if (s->dir_fd >= 0)
        (void)close(s->dir_fd);
    s->dir_fd = -1;
    free(s->unix_path);
    s->unix_path = NULL;
}

static void set_least_hops(int fd, int hops)
{
    (void)setsockopt(fd, IPPROTO_IP, IP_MINTTL, &hops, sizeof hops);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, &hops, sizeof hops);
}

void cfr_httpd_listen_quiesce(struct cfr_httpd_socket *s, int fd)
{
    /* Drops the packet that begins a connection, as no system sends one with a hop limit of 255. A handshake that has
     * begun is completed. A client that connects now sends its packet again, and finds the socket closed; otherwise it
     * could be let in between the last accept and the close, which resets the connection. A packet filter does the
     * same, but some kernels refuse it to a process without capabilities. */
    if (s->unix_path != NULL)
        remove_file(s);
    else
        set_least_hops(fd, UINT8_MAX);
}

void cfr_httpd_listen_admit(int fd)
{
    set_least_hops(fd, 0);
}

void cfr_httpd_listen_end(struct cfr_httpd_socket *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    s->fd = -1;
    remove_file(s);
}
