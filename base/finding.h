/* SPDX-License-Identifier: MIT */
/* One result of a check for an operator: how serious it is, what was found, and what to do. Pure.
 * Memory: all borrowed for the duration of the call; a sink that keeps a finding copies it. Callbacks:
 * cfr_finding_report calls the sink once, before it returns. Texts fit on a terminal (cfr_view_show) and are cut to
 * CFR_FINDING_TEXT_MAX.
 */
#ifndef CFR_BASE_FINDING_H
#define CFR_BASE_FINDING_H

#define CFR_FINDING_TEXT_MAX 2048

enum cfr_finding_level {
    CFR_FINDING_OK,      /* checked and in order */
    CFR_FINDING_NOTE,    /* worth knowing */
    CFR_FINDING_WARNING, /* works now, but not indefinitely; or it cannot be known from here */
    CFR_FINDING_WRONG,   /* does not work */
    CFR_FINDING_LEVELS
};

/* All borrowed for the duration of the call. */
struct cfr_finding {
    enum cfr_finding_level level;
    const char *check;  /* what was checked: a stable word such as "token.expired" */
    const char *text;   /* what was found */
    const char *remedy; /* what to do; NULL = nothing */
    const char *paste;  /* lines to copy as they are: a command or a document, printable; NULL = none */
};

/* Where findings go to. */
struct cfr_finding_sink {
    void (*take)(void *ctx, const struct cfr_finding *finding);
    void *ctx;
};

/* "ok", "note", "warning", "wrong". */
const char *cfr_finding_level_name(enum cfr_finding_level level);
/* Gives SINK a finding with this text, cut to CFR_FINDING_TEXT_MAX. REMEDY may be NULL. */
void cfr_finding_report(const struct cfr_finding_sink *sink, enum cfr_finding_level level, const char *check,
                        const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same for a note with lines to paste, which may be NULL. */
void cfr_finding_report_paste(const struct cfr_finding_sink *sink, const char *check, const char *remedy,
                              const char *paste, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
