/* SPDX-License-Identifier: MIT */
/* Logger to standard error, which never waits for its reader once it was told not to. */
#include "base/log.h"

#include "base/str.h"
#include "base/time.h"
#include "base/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *const cfr_log_levels[] = {"error", "warn", "info", "debug", NULL};
const char *const cfr_log_formats[] = {"text", "json", NULL};

#define MESSAGE_MAX  1024
#define LOG_LINE_MAX 8192
#define WAIT_MS      50 /* for the writer of cfr_log_through, in a second */

static const int journal_levels[] = {3, 4, 6, 7};

static struct {
    enum cfr_log_level level;
    enum cfr_log_format format;
    bool journal;
    bool colour;
    size_t columns;
} config = {CFR_LOG_INFO, CFR_LOG_TEXT, false, false, 0};

static const char *const colours[] = {"\033[31m", "\033[33m", "", "\033[2m"};

void cfr_log_setup(enum cfr_log_level level, enum cfr_log_format format, bool journal)
{
    config.level = level;
    config.format = format;
    config.journal = journal;
}

void cfr_log_terminal(bool colour, size_t columns)
{
    config.colour = colour;
    config.columns = columns;
}

static struct {
    int fd;
    bool never_waits;
    bool shared;         /* the open file is another process's, too: O_NONBLOCK must not be set on it */
    uint64_t dropped;    /* lines, since the start */
    uint64_t unreported; /* of them, since the last line that reports them */
    size_t rest;         /* bytes of a line that was written in part */
    char buf[LOG_LINE_MAX];
    int done_fd; /* of cfr_log_through; -1: none */
    bool late;   /* the writer did not answer in time: nothing waits for it until it does */
    int64_t second;
    int64_t waited_ms; /* in that second */
} out = {.fd = STDERR_FILENO, .done_fd = -1};

void cfr_log_never_wait(void)
{
    struct stat st;
    int fd;

    if (out.never_waits || fstat(STDERR_FILENO, &st) != 0)
        return;
    out.never_waits = true;
    out.shared = true;
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return;
    /* A second open file has separate flags; hooks write to the first one. */
    fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    out.fd = fd;
    out.shared = false;
}

void cfr_log_through(int lines_fd, int done_fd)
{
    if (out.done_fd >= 0)
        (void)close(out.done_fd);
    out.fd = lines_fd;
    out.done_fd = done_fd;
    out.never_waits = true;
    out.shared = false;
}

void cfr_log_in_child(void)
{
    out.fd = STDERR_FILENO;
    out.shared = true;
    out.done_fd = -1;
    out.rest = 0;
}

static int64_t monotonic_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until the process at the other end has written the line, so that the log has it before the agent continues. A
 * disk that hangs costs this wait once: after it, lines are only queued until the process answers again. */
static void wait_for_writer(void)
{
    struct pollfd p = {.fd = out.done_fd, .events = POLLIN};
    int64_t begun_ms = out.done_fd >= 0 ? monotonic_ms() : 0;
    char done[256];

    if (out.done_fd < 0)
        return;
    if (begun_ms / 1000 != out.second) {
        out.second = begun_ms / 1000;
        out.waited_ms = 0;
    }
    out.late = poll(&p, 1, out.late ? 0 : (int)(WAIT_MS - out.waited_ms)) <= 0;
    if (!out.late)
        (void)!read(out.done_fd, done, sizeof done);
    out.waited_ms += monotonic_ms() - begun_ms;
    if (out.waited_ms > WAIT_MS)
        out.waited_ms = WAIT_MS;
}

uint64_t cfr_log_dropped(void)
{
    return out.dropped;
}

/* Writes as much of TEXT as fits without waiting. Returns how much that was. */
static size_t write_some(const char *text, size_t n)
{
    size_t done = 0;

    while (done < n) {
        struct pollfd p = {.fd = out.fd, .events = POLLOUT};
        size_t left = n - done;
        bool pipe = out.done_fd >= 0;
        ssize_t k = pipe ? -1 : send(out.fd, text + done, left, (out.never_waits ? MSG_DONTWAIT : 0) | MSG_NOSIGNAL);

        if (pipe || (k < 0 && errno == ENOTSOCK)) {
            /* A pipe that can be written takes this much at once (pipe(7)). */
            if (out.never_waits && out.shared && left > PIPE_BUF)
                left = PIPE_BUF;
            if (out.never_waits && out.shared && poll(&p, 1, 0) <= 0)
                return done;
            k = write(out.fd, text + done, left);
        }
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && errno == EPIPE && out.done_fd >= 0) {
            cfr_log_through(STDERR_FILENO, -1);
            continue;
        }
        if (k < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return n; /* the reader has closed it */
        if (k <= 0)
            return done;
        done += (size_t)k;
    }
    return done;
}

/* Writes a whole line, or keeps what did not fit for the next call. False if not even its beginning fitted. */
static bool write_line(const char *line, size_t n)
{
    size_t done = write_some(line, n);

    if (done == 0)
        return false;
    out.rest = n - done;
    memcpy(out.buf, line + done, out.rest);
    wait_for_writer();
    return true;
}

/* Writes what an earlier line left. True if nothing is left. */
static bool write_rest(void)
{
    size_t done = write_some(out.buf, out.rest);

    out.rest -= done;
    memmove(out.buf, out.buf + done, out.rest);
    return out.rest == 0;
}

/* Writes LINE of N bytes, with its line feed. False if there is no room for it. */
static bool write_out(const char *line, size_t n)
{
    return n <= sizeof out.buf && write_rest() && write_line(line, n);
}

static void stamp(char buf[CFR_TIME_RFC3339_MAX])
{
    struct timespec now;
    size_t n = sizeof "2026-01-02T03:04:05" - 1;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)cfr_time_format(now.tv_sec, buf);
    /* The remainder is for the compiler, which does not know that tv_nsec is below 10^9. */
    (void)snprintf(buf + n, CFR_TIME_RFC3339_MAX - n, ".%03uZ", (unsigned)(now.tv_nsec / 1000000) % 1000U);
}

/* What a line is about. */
struct event {
    const struct cfr_log_fields *fields;
    enum cfr_log_level level;
    const char *credential;
    const char *state;
};

static void add_fields(struct cfr_writer *w, const struct cfr_log_fields *f)
{
    char when[CFR_TIME_RFC3339_MAX];

    if (f->code != NULL)
        cfr_writer_string(w, "code", cfr_view_of(f->code));
    if (f->class != NULL)
        cfr_writer_string(w, "class", cfr_view_of(f->class));
    if (f->hook != NULL)
        cfr_writer_string(w, "hook", cfr_view_of(f->hook));
    if (f->generation != 0)
        cfr_writer_number(w, "generation", (int64_t)f->generation);
    if (f->expires_s != 0)
        cfr_writer_string(w, "expires", cfr_view_of(cfr_time_format(f->expires_s, when)));
    if (f->attempt != 0)
        cfr_writer_number(w, "attempt", f->attempt);
}

static void as_json(struct cfr_str *line, const struct event *e, struct cfr_view text)
{
    char when[CFR_TIME_RFC3339_MAX];
    struct cfr_writer w = {.str = line};

    stamp(when);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "time", cfr_view_of(when));
    cfr_writer_string(&w, "level", cfr_view_of(cfr_log_levels[e->level]));
    if (e->credential != NULL)
        cfr_writer_string(&w, "credential", cfr_view_of(e->credential));
    if (e->state != NULL)
        cfr_writer_string(&w, "state", cfr_view_of(e->state));
    add_fields(&w, e->fields);
    cfr_writer_string(&w, "message", text);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
}

static void as_text(struct cfr_str *line, const struct event *e, struct cfr_view text)
{
    const char *colour = config.colour ? colours[e->level] : "";
    char when[CFR_TIME_RFC3339_MAX];
    struct cfr_str shown = {.limit = 8192};
    size_t used = 0;

    if (!config.journal) {
        stamp(when);
        cfr_str_addf(line, "%s %s%-5s%s ", when, colour, cfr_log_levels[e->level], colour[0] != '\0' ? "\033[0m" : "");
        used = strlen(when) + 7;
    }
    if (e->credential != NULL && e->state != NULL)
        cfr_str_addf(&shown, "%s [%s]: ", e->credential, e->state);
    else if (e->credential != NULL)
        cfr_str_addf(&shown, "%s: ", e->credential);
    cfr_str_add_shown(&shown, text, MESSAGE_MAX);
    cfr_str_add_wrapped(line, shown.p != NULL ? shown.p : "", config.columns, used, 4);
    cfr_str_addz(line, "\n");
    line->failed = line->failed || shown.failed;
    cfr_str_free(&shown);
}

static bool write_event(const struct event *e, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* False if the line was dropped. */
static bool write_event(const struct event *e, const char *fmt, va_list ap)
{
    char text[MESSAGE_MAX];
    struct cfr_str line = {.limit = LOG_LINE_MAX};
    bool written = true;

    (void)vsnprintf(text, sizeof text, fmt, ap);
    /* The journal takes it off again, in front of JSON, too. */
    if (config.journal)
        cfr_str_addf(&line, "<%d>", journal_levels[e->level]);
    if (config.format == CFR_LOG_JSON)
        as_json(&line, e, cfr_view_of(text));
    else
        as_text(&line, e, cfr_view_of(text));
    if (!line.failed)
        written = write_out(line.p, line.len);
    cfr_str_free(&line);
    return written;
}

static bool write_plain(const struct event *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool write_plain(const struct event *e, const char *fmt, ...)
{
    va_list ap;
    bool written;

    va_start(ap, fmt);
    written = write_event(e, fmt, ap);
    va_end(ap);
    return written;
}

static void log_event(const struct event *e, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Writes one event, and before it how many were dropped. */
static void log_event(const struct event *e, const char *fmt, va_list ap)
{
    static const struct cfr_log_fields none;
    const struct event report = {&none, CFR_LOG_WARN, NULL, NULL};
    uint64_t dropped = out.unreported;

    if (e->level > config.level)
        return;
    if (dropped != 0 && write_plain(&report, "%" PRIu64 " log line%s dropped, because the log was not read in time",
                                    dropped, dropped == 1 ? " was" : "s were"))
        out.unreported = 0;
    if (!write_event(e, fmt, ap)) {
        out.dropped++;
        out.unreported++;
    }
}

void cfr_log(enum cfr_log_level level, const char *credential, const char *state, const char *fmt, ...)
{
    static const struct cfr_log_fields none;
    va_list ap;

    va_start(ap, fmt);
    log_event(&(struct event){&none, level, credential, state}, fmt, ap);
    va_end(ap);
}

void cfr_log_with(const struct cfr_log_fields *fields, enum cfr_log_level level, const char *credential,
                  const char *state, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_event(&(struct event){fields, level, credential, state}, fmt, ap);
    va_end(ap);
}
