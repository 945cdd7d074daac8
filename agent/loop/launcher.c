/* SPDX-License-Identifier: MIT */
/* The launcher, which starts commands, and our end of it. */
#include "agent/loop/launcher_private.h"

#include "base/secret.h"
#include "files/route.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_MAX    (4U << 20) /* bytes of arguments and environment */
#define EXEC_MS        1000       /* a program that takes longer to begin counts as begun */
#define EXEC_REMOTE_MS 50         /* the same where its file system may not answer */

enum request_kind {
    START,      /* with the command's words, and a descriptor for its output; has an answer */
    BIND,       /* with the first list */
    READ_AGAIN, /* has no more */
};

struct request {
    uint32_t kind;
    uint32_t no_new_privs; /* of BIND */
    struct cfr_launcher_command command;
};

struct answer {
    uint32_t verdict; /* enum cfr_launcher_verdict; the others are of CFR_LAUNCHER_ALLOWED */
    int32_t failed;   /* an errno value; 0: it runs */
    int32_t pid;
    char why[CFR_LAUNCHER_WHY_MAX];
};

static int to_launcher = -1;
static bool keeps_privileges;

static bool write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n != 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t n)
{
    char *p = bytes;

    while (n != 0) {
        ssize_t got = recv(fd, p, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- the launcher ---- */

/* In the command's process. Returns only what went wrong. */
static int become(char **argv, char **environment, int out_fd, bool no_new_privs)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    int null_fd;

    (void)setpgid(0, 0);
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &standard, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0)
        return errno;
    if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    (void)execve(argv[0], argv, environment);
    return errno;
}

/* Its parent is ours. */
static pid_t fork_sibling(void)
{
#ifdef __s390x__
    return (pid_t)syscall(SYS_clone, 0L, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L);
#else
    return (pid_t)syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);
#endif
}

/* Our end waits for the answer, and an execve of a program on a file system that hangs does not return. */
static int exec_ms(const char *program)
{
    struct cfr_route route;

    cfr_route_find(program, true, false, &route);
    return route.storage == CFR_ROUTE_REMOTE ? EXEC_REMOTE_MS : EXEC_MS;
}

static struct answer launch(char **argv, char **environment, int out_fd, bool no_new_privs)
{
    struct answer answer = {.failed = 0};
    struct pollfd ended = {.events = POLLIN};
    int failure[2];
    int failed = 0;
    pid_t pid;

    if (pipe2(failure, O_CLOEXEC) != 0)
        return (struct answer){.failed = errno};
    pid = fork_sibling();
    if (pid == 0) {
        failed = become(argv, environment, out_fd, no_new_privs);
        /* It has the other end as well, so that this is no SIGPIPE once nobody waits for it. */
        (void)!write(failure[1], &failed, sizeof failed);
        _exit(127);
    }
    if (pid < 0)
        answer.failed = errno;
    (void)close(failure[1]);
    /* Nothing comes, because exec closes it, or the reason why there was none. */
    ended.fd = failure[0];
    if (pid > 0 && poll(&ended, 1, exec_ms(argv[0])) > 0 &&
        read(failure[0], &failed, sizeof failed) == (ssize_t)sizeof failed)
        answer.failed = failed;
    (void)close(failure[0]);
    answer.pid = pid;
    return answer;
}

/* The words of a request as two lists, each ended by NULL. NULL if they are not as announced. */
static char **split(char *words, const struct cfr_launcher_command *c)
{
    char **list = calloc((size_t)c->arguments + c->variables + 2, sizeof *list);
    char *p = words;
    size_t at = 0;

    for (uint32_t i = 0; list != NULL && i < c->arguments + c->variables; i++) {
        size_t left = c->bytes - (size_t)(p - words);
        size_t n = strnlen(p, left);

        if (n == left) {
            free(list);
            return NULL;
        }
        if (i == c->arguments)
            at++;
        list[at++] = p;
        p += n + 1;
    }
    return list;
}

/* Reads the head of a request, and the descriptor that comes with it, which is the caller's; -1: there was none. */
static bool read_head(int fd, struct request *r, int *out_fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {r, sizeof *r};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c;
    ssize_t got;

    do {
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(out_fd, CMSG_DATA(c), sizeof *out_fd);
    return got > 0 && read_all(fd, (char *)r + got, sizeof *r - (size_t)got);
}

struct launcher {
    int fd;
    bool bound;
    bool no_new_privs;
    struct cfr_launcher_reader reader;
};

/* Starts the command if it is in a list. False at our end's end. */
static bool serve_start(struct launcher *l, const struct cfr_launcher_command *c, int out_fd)
{
    struct answer answer = {.failed = ENOMEM};
    char **list = NULL;
    char *words = NULL;
    bool read = out_fd >= 0 && c->bytes <= REQUEST_MAX && c->arguments != 0 && c->arguments <= c->bytes &&
                c->variables <= c->bytes;

    if (read)
        words = malloc((size_t)c->bytes + 1);
    read = words != NULL && read_all(l->fd, words, c->bytes);
    if (read)
        list = split(words, c);
    if (list != NULL)
        answer.verdict = l->bound ? cfr_launcher_reader_judge(&l->reader, c, words) : CFR_LAUNCHER_UNKNOWN;
    (void)snprintf(answer.why, sizeof answer.why, "%s", l->reader.why);
    if (list != NULL && answer.verdict == CFR_LAUNCHER_ALLOWED) {
        struct answer launched = launch(list, list + c->arguments + 1, out_fd, l->no_new_privs);

        answer.failed = launched.failed;
        answer.pid = launched.pid;
    }
    free(list);
    /* A kubeconfig may give its plugin secrets. */
    if (words != NULL)
        cfr_secret_wipe(words, c->bytes);
    free(words);
    return read && write_all(l->fd, &answer, sizeof answer);
}

/* Only once: code that has taken our end over could send another list. */
static bool serve_bind(struct launcher *l, const struct request *r)
{
    struct cfr_secret *list = &l->reader.loaded;
    uint32_t n = r->command.bytes;
    char *to;

    cfr_secret_init(list, CFR_LAUNCHER_LIST_MAX);
    to = l->bound ? NULL : cfr_secret_reserve(list, n != 0 ? n : 1, NULL);
    if (to == NULL || !read_all(l->fd, to, n))
        return false;
    cfr_secret_grown(list, n);
    l->bound = true;
    l->no_new_privs = r->no_new_privs != 0;
    return true;
}

/* One request. False at our end's end. */
static bool serve(struct launcher *l)
{
    struct request r = {0};
    int out_fd = -1;
    bool served = read_head(l->fd, &r, &out_fd);

    if (served && r.kind == START)
        served = serve_start(l, &r.command, out_fd);
    else if (served && r.kind == BIND)
        served = serve_bind(l, &r);
    else if (served && l->bound)
        cfr_launcher_reader_reload(&l->reader);
    if (out_fd >= 0)
        (void)close(out_fd);
    return served;
}

static void run(int fd, pid_t parent, cfr_launcher_read_fn *read, const void *ctx)
{
    struct launcher l = {.fd = STDERR_FILENO + 1, .reader = {.read = read, .ctx = ctx, .fd = -1}};
    bool open = true;
    sigset_t all;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)prctl(PR_SET_NAME, "credfresh-start", 0, 0, 0);
    /* The terminal's, too: it ends when we do. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    if (getppid() != parent || dup2(fd, l.fd) < 0)
        _exit(1);
    (void)fcntl(l.fd, F_SETFD, FD_CLOEXEC);
    closefrom(l.fd + 1);
    while (open) {
        struct pollfd fds[] = {{.fd = l.fd, .events = POLLIN}, {.fd = l.reader.fd, .events = POLLIN}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents != 0)
            cfr_launcher_reader_collect(&l.reader);
        if (fds[0].revents != 0)
            open = serve(&l);
    }
    _exit(0);
}

/* ---- our end ---- */

int cfr_launcher_open(cfr_launcher_read_fn *read, const void *ctx, struct cfr_err *err)
{
    pid_t parent = getpid();
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cfr_err_sys(err, errno, "cannot make a socket for the process that starts commands");
    pid = fork();
    if (pid == 0)
        run(ends[1], parent, read, ctx);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return cfr_err_sys(err, errno, "cannot start the process that starts commands");
    }
    to_launcher = ends[0];
    return 0;
}

int cfr_launcher_fd(void)
{
    return to_launcher;
}

bool cfr_launcher_is_open(void)
{
    return to_launcher >= 0;
}

void cfr_launcher_keep_privileges(void)
{
    keeps_privileges = true;
}

static size_t count(char *const *list, size_t *bytes)
{
    size_t n = 0;

    while (list[n] != NULL)
        *bytes += strlen(list[n++]) + 1;
    return n;
}

static bool send_head(const struct request *r, int out_fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {(void *)(uintptr_t)r, sizeof *r};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    ssize_t sent;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof out_fd);
    memcpy(CMSG_DATA(c), &out_fd, sizeof out_fd);
    do {
        sent = sendmsg(to_launcher, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent > 0 && write_all(to_launcher, (const char *)r + sent, sizeof *r - (size_t)sent);
}

static bool send_words(char *const *list)
{
    for (; *list != NULL; list++) {
        if (!write_all(to_launcher, *list, strlen(*list) + 1))
            return false;
    }
    return true;
}

void cfr_launcher_bind(const struct cfr_secret *list)
{
    const struct request r = {.kind = BIND, .no_new_privs = keeps_privileges, .command.bytes = (uint32_t)list->len};

    /* If it has ended, the loop finds out. */
    if (to_launcher >= 0 && write_all(to_launcher, &r, sizeof r))
        (void)write_all(to_launcher, list->p, list->len);
}

void cfr_launcher_read_again(void)
{
    const struct request r = {.kind = READ_AGAIN};

    if (to_launcher >= 0)
        (void)write_all(to_launcher, &r, sizeof r);
}

static int refuse(const char *program, const struct answer *answer, struct cfr_err *err)
{
    if (answer->verdict == CFR_LAUNCHER_BUSY)
        return cfr_err_set(err, CFR_E_TIMEOUT,
                           "cannot start %s yet: the process that starts commands is still reading the configuration",
                           program);
    if (answer->verdict == CFR_LAUNCHER_UNREADABLE)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "refused to start %s: it is new, and the configuration cannot be read to check it: %.*s",
                           program, CFR_LAUNCHER_WHY_MAX, answer->why);
    return cfr_err_set(
        err, CFR_E_PERM,
        "refused to start %s: the configuration, as it is on disk, does not name it with these arguments "
        "and variables; if you changed it or a kubeconfig, reload credfresh",
        program);
}

int cfr_launcher_start(char *const *argv, char *const *environment, int out_fd, pid_t *pid, struct cfr_err *err)
{
    size_t bytes = 0;
    struct request r = {.kind = START};
    struct answer answer;

    r.command.arguments = (uint32_t)count(argv, &bytes);
    r.command.variables = (uint32_t)count(environment, &bytes);
    r.command.bytes = (uint32_t)bytes;
    if (bytes > REQUEST_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "cannot start %s: its arguments and environment have more than %u bytes",
                           argv[0], REQUEST_MAX);
    if (!send_head(&r, out_fd) || !send_words(argv) || !send_words(environment) ||
        !read_all(to_launcher, &answer, sizeof answer))
        return cfr_err_set(err, CFR_E_IO,
                           "cannot start %s: the process that starts commands has ended; restart credfresh", argv[0]);
    if (answer.verdict != CFR_LAUNCHER_ALLOWED)
        return refuse(argv[0], &answer, err);
    if (answer.failed != 0 && answer.pid > 0)
        (void)waitpid(answer.pid, NULL, 0);
    if (answer.failed != 0)
        return cfr_err_sys(err, answer.failed, "cannot start %s", argv[0]);
    *pid = answer.pid;
    return 0;
}
