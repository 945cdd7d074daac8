/* SPDX-License-Identifier: MIT */
/* Logger to standard error. */
#include "base/log.h"

#include "base/str.h"
#include "base/time.h"
#include "base/writer.h"

#include <stdarg.h>
#include <stdio.h>
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
} config = {CFR_LOG_INFO, CFR_LOG_TEXT, false};

void cfr_log_setup(enum cfr_log_level level, enum cfr_log_format format, bool journal)
{
    config.level = level;
    config.format = format;
    config.journal = journal;
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

static void as_json(struct cfr_str *line, enum cfr_log_level level, const char *credential, const char *state,
                    struct cfr_view text)
{
    char when[CFR_TIME_RFC3339_MAX];
    struct cfr_writer w = {.str = line};

    stamp(when);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "time", cfr_view_of(when));
    cfr_writer_string(&w, "level", cfr_view_of(cfr_log_levels[level]));
    if (credential != NULL)
        cfr_writer_string(&w, "credential", cfr_view_of(credential));
    if (state != NULL)
        cfr_writer_string(&w, "state", cfr_view_of(state));
    cfr_writer_string(&w, "message", text);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
}

static void as_text(struct cfr_str *line, enum cfr_log_level level, const char *credential, const char *state,
                    struct cfr_view text)
{
    char when[CFR_TIME_RFC3339_MAX];

    if (!config.journal) {
        stamp(when);
        cfr_str_addf(line, "%s %-5s ", when, cfr_log_levels[level]);
    }
    if (credential != NULL && state != NULL)
        cfr_str_addf(line, "%s [%s]: ", credential, state);
    else if (credential != NULL)
        cfr_str_addf(line, "%s: ", credential);
    cfr_str_add_shown(line, text, MESSAGE_MAX);
    cfr_str_addz(line, "\n");
}

void cfr_log(enum cfr_log_level level, const char *credential, const char *state, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    struct cfr_str line = {.limit = 8192};
    va_list ap;

    if (level > config.level)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    /* The journal takes it off again, in front of JSON, too. */
    if (config.journal)
        cfr_str_addf(&line, "<%d>", journal_levels[level]);
    if (config.format == CFR_LOG_JSON)
        as_json(&line, level, credential, state, cfr_view_of(text));
    else
        as_text(&line, level, credential, state, cfr_view_of(text));
    if (!line.failed) {
        ssize_t ignored = write(STDERR_FILENO, line.p, line.len);

        (void)ignored;
    }
    cfr_str_free(&line);
}
