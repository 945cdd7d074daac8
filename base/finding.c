/* SPDX-License-Identifier: MIT */
/* Findings of checks. */
#include "base/finding.h"

#include "base/view.h"

#include <stdarg.h>
#include <stdio.h>

const char *cfr_finding_level_name(enum cfr_finding_level level)
{
    static const char *const names[CFR_FINDING_LEVELS] = {"ok", "note", "warning", "wrong"};

    return names[level];
}

static void report(const struct cfr_finding_sink *sink, struct cfr_finding *f, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void report(const struct cfr_finding_sink *sink, struct cfr_finding *f, const char *fmt, va_list ap)
{
    char text[CFR_FINDING_TEXT_MAX];

    (void)vsnprintf(text, sizeof text, fmt, ap);
    (void)cfr_view_show(cfr_view_of(text), text, sizeof text);
    f->text = text;
    sink->take(sink->ctx, f);
    f->text = NULL;
}

void cfr_finding_report(const struct cfr_finding_sink *sink, enum cfr_finding_level level, const char *check,
                        const char *remedy, const char *fmt, ...)
{
    struct cfr_finding f = {.level = level, .check = check, .remedy = remedy};
    va_list ap;

    va_start(ap, fmt);
    report(sink, &f, fmt, ap);
    va_end(ap);
}

void cfr_finding_report_paste(const struct cfr_finding_sink *sink, const char *check, const char *remedy,
                              const char *paste, const char *fmt, ...)
{
    struct cfr_finding f = {.level = CFR_FINDING_NOTE, .check = check, .remedy = remedy, .paste = paste};
    va_list ap;

    va_start(ap, fmt);
    report(sink, &f, fmt, ap);
    va_end(ap);
}
