/* SPDX-License-Identifier: MIT */
/* One thing that was found while something was looked at for an operator: how bad it is, what it is, what to
 * do. */
#ifndef CFR_BASE_FINDING_H
#define CFR_BASE_FINDING_H

#define CFR_FINDING_TEXT_MAX 2048

enum cfr_finding_level {
    CFR_FINDING_OK,      /* looked at, and as it should be */
    CFR_FINDING_NOTE,    /* worth knowing */
    CFR_FINDING_WARNING, /* works now, and will not for ever; or nobody can tell from here */
    CFR_FINDING_WRONG,   /* does not work */
    CFR_FINDING_LEVELS
};

/* All borrowed for the duration of the call. */
struct cfr_finding {
    enum cfr_finding_level level;
    const char *check;  /* what was looked at: a stable word such as "token.expired" */
    const char *text;   /* what is so */
    const char *remedy; /* what to do; NULL = nothing */
};

/* Where findings go to. */
struct cfr_finding_sink {
    void (*take)(void *ctx, const struct cfr_finding *finding);
    void *ctx;
};

/* "ok", "note", "warning", "wrong". */
const char *cfr_finding_level_name(enum cfr_finding_level level);
/* Gives SINK a finding with this text, cut to CFR_FINDING_TEXT_MAX. REMEDY may be NULL. */
void cfr_finding_say(const struct cfr_finding_sink *sink, enum cfr_finding_level level, const char *check,
                     const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
