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

void cfr_finding_report(const struct cfr_finding_sink *sink, enum cfr_finding_level level, const char *check,
                        const char *remedy, const char *fmt, ...)
{
    char text[CFR_FINDING_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)cfr_view_show(cfr_view_of(text), text, sizeof text);
    sink->take(sink->ctx, &(struct cfr_finding){level, check, text, remedy});
}
