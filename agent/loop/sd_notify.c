/* SPDX-License-Identifier: MIT */
/* Service manager: readiness and watchdog messages, journal detection. */
#include "agent/loop/sd_notify.h"

#include "base/view.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TEXT_MAX 1024

static void send_text(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd;

    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path, strlen(path));
    /* A leading @ is the NUL of an abstract address. */
    if (path[0] == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    (void)close(fd);
}

void cfr_sd_notify(const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    send_text(text);
}

void cfr_sd_notify_status(bool ready, const char *fmt, ...)
{
    char text[TEXT_MAX];
    int n = snprintf(text, sizeof text, "%sSTATUS=", ready ? "READY=1\n" : "");
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    (void)cfr_view_show(cfr_view_of(text + n), text + n, sizeof text - (size_t)n);
    send_text(text);
}

bool cfr_sd_notify_is_on(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}

int64_t cfr_sd_notify_watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    long long value = usec != NULL ? strtoll(usec, NULL, 10) : 0;

    if (pid != NULL && strtoll(pid, NULL, 10) != (long long)getpid())
        return 0;
    return value >= 2000 ? (int64_t)(value / 2000) : 0;
}

bool cfr_sd_notify_to_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    char own[64];

    /* The variable alone is also inherited by programs that write elsewhere, such as a desktop's terminal. */
    if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
        return false;
    (void)snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, own) == 0;
}
