/* SPDX-License-Identifier: MIT */
/* Logger to standard error. */
#include "base/log.h"

#include "base/str.h"
#include "base/time.h"
#include "base/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const cfr_log_levels[] = {"error", "warn", "info", "debug", NULL};
const char *const cfr_log_formats[] = {"text", "json", NULL};

#define MESSAGE_MAX 1024

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

static void write_event(const struct event *e, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

static void write_event(const struct event *e, const char *fmt, va_list ap)
{
    char text[MESSAGE_MAX];
    struct cfr_str line = {.limit = 8192};

    if (e->level > config.level)
        return;
    (void)vsnprintf(text, sizeof text, fmt, ap);
    /* The journal takes it off again, in front of JSON, too. */
    if (config.journal)
        cfr_str_addf(&line, "<%d>", journal_levels[e->level]);
    if (config.format == CFR_LOG_JSON)
        as_json(&line, e, cfr_view_of(text));
    else
        as_text(&line, e, cfr_view_of(text));
    if (!line.failed) {
        ssize_t ignored = write(STDERR_FILENO, line.p, line.len);

        (void)ignored;
    }
    cfr_str_free(&line);
}

void cfr_log(enum cfr_log_level level, const char *credential, const char *state, const char *fmt, ...)
{
    static const struct cfr_log_fields none;
    va_list ap;

    va_start(ap, fmt);
    write_event(&(struct event){&none, level, credential, state}, fmt, ap);
    va_end(ap);
}

void cfr_log_with(const struct cfr_log_fields *fields, enum cfr_log_level level, const char *credential,
                  const char *state, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    write_event(&(struct event){fields, level, credential, state}, fmt, ap);
    va_end(ap);
}
