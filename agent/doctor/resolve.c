/* SPDX-License-Identifier: MIT */
/* Name lookup in a child process with a time limit. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOWN_MAX 6 /* addresses */

bool cfr_doctor_is_address(const char *host)
{
    unsigned char a[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, a) == 1 || inet_pton(AF_INET6, host, a) == 1;
}

static const char *name_of(const struct addrinfo *a, char out[INET6_ADDRSTRLEN])
{
    struct sockaddr_in four = {0};
    struct sockaddr_in6 six = {0};

    if (a->ai_family == AF_INET && a->ai_addrlen == sizeof four) {
        memcpy(&four, a->ai_addr, sizeof four);
        return inet_ntop(AF_INET, &four.sin_addr, out, INET6_ADDRSTRLEN);
    }
    if (a->ai_family != AF_INET6 || a->ai_addrlen != sizeof six)
        return NULL;
    memcpy(&six, a->ai_addr, sizeof six);
    return inet_ntop(AF_INET6, &six.sin6_addr, out, INET6_ADDRSTRLEN);
}

/* One byte of verdict, and the text. */
static void answer(int fd, const char *host)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list = NULL;
    char text[CFR_DOCTOR_ADDRESSES_MAX] = "+";
    char one[INET6_ADDRSTRLEN];
    size_t n = 1;
    unsigned shown = 0;
    int rc = getaddrinfo(host, NULL, &hints, &list);

    if (rc != 0)
        (void)snprintf(text, sizeof text, "-%s", rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    for (const struct addrinfo *a = list; a != NULL && shown < SHOWN_MAX; a = a->ai_next, shown++) {
        if (name_of(a, one) != NULL)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", shown != 0 ? ", " : "", one);
    }
    (void)!write(fd, text, strlen(text));
    _exit(0);
}

/* What the child wrote, once it has; NULL-terminated. False when the time is up. */
static bool wait_for(int fd, int64_t end_boot_ms, char out[CFR_DOCTOR_ADDRESSES_MAX])
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n;

    for (;;) {
        int64_t left = end_boot_ms - cfr_clock_now().boot_ms;
        int rc = left > 0 ? poll(&p, 1, left < INT_MAX ? (int)left : INT_MAX) : 0;

        if (rc < 0 && errno == EINTR)
            continue;
        if (rc <= 0)
            return false;
        n = read(fd, out, CFR_DOCTOR_ADDRESSES_MAX - 1);
        out[n > 0 ? n : 0] = '\0';
        return n > 0;
    }
}

int cfr_doctor_resolve(const char *host, int64_t timeout_ms, char addresses[CFR_DOCTOR_ADDRESSES_MAX], int64_t *took_ms,
                       struct cfr_err *err)
{
    int64_t begun = cfr_clock_now().boot_ms;
    char text[CFR_DOCTOR_ADDRESSES_MAX] = "";
    int fds[2];
    bool good;
    pid_t pid;

    addresses[0] = '\0';
    *took_ms = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return cfr_err_sys(err, errno, "%s: no pipe", host);
    pid = fork();
    if (pid == 0)
        answer(fds[1], host);
    (void)close(fds[1]);
    good = pid > 0 && wait_for(fds[0], begun + timeout_ms, text);
    (void)close(fds[0]);
    *took_ms = cfr_clock_now().boot_ms - begun;
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (!good)
        return cfr_err_set(err, CFR_E_TIMEOUT, "no answer within %lld ms", (long long)timeout_ms);
    (void)snprintf(addresses, CFR_DOCTOR_ADDRESSES_MAX, "%s", text + 1);
    return text[0] == '+' ? 0 : cfr_err_set(err, CFR_E_NET, "%s", text + 1);
}

void cfr_doctor_resolver(struct cfr_view resolv_conf, char *out, size_t size)
{
    static const char *const keys[] = {"nameserver", "search", "options"};
    struct cfr_view line;
    size_t n = 0;

    out[0] = '\0';
    while (cfr_view_line(&resolv_conf, &line) && n + 1 < size) {
        line = cfr_view_trim(line);
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            if (cfr_view_starts(line, keys[i])) {
                (void)snprintf(out + n, size - n, "%s%.*s", n != 0 ? "; " : "", (int)(line.n < 200 ? line.n : 200),
                               line.p);
                n = strlen(out);
            }
        }
    }
}
