/* SPDX-License-Identifier: MIT */
/* Writes one line per event to standard error, as text, as JSON, or with the levels of the journal. For agent/ only.
 * Blocks as long as a write(2) to standard error does; after cfr_log_never_wait only if that is a file on a disk, and
 * after cfr_log_through for at most 50 ms in a second, and not at all while its process does not answer. It takes
 * formats and plain text and has no parameter for a secret; control characters and bytes that are no UTF-8 are replaced
 * or escaped. Errors are ignored. Limits: 1 KiB of message, 8 KiB of line. */
#ifndef CFR_BASE_LOG_H
#define CFR_BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cfr_log_level { CFR_LOG_ERROR, CFR_LOG_WARN, CFR_LOG_INFO, CFR_LOG_DEBUG };
enum cfr_log_format { CFR_LOG_TEXT, CFR_LOG_JSON };

/* Names in the order of the enums, NULL-terminated, for configuration tables. */
extern const char *const cfr_log_levels[];
extern const char *const cfr_log_formats[];

/* JOURNAL: put "<3>" and the like before each line (sd-daemon(3)), and leave the time out of text. */
void cfr_log_setup(enum cfr_log_level level, enum cfr_log_format format, bool journal);
/* For text: levels in colour, and lines wrapped at COLUMNS (0: not wrapped). */
void cfr_log_terminal(bool colour, size_t columns);

/* From now on a line that standard error (a pipe, socket or terminal) does not take at once is dropped and counted, and
 * the next line that fits says how many were. The flags of standard error, which other processes share, are not
 * changed.
 */
void cfr_log_never_wait(void);
/* The same, with the lines into LINES_FD, a pipe to a process that writes them to standard error and then a byte to
 * DONE_FD: a line that it writes soon is in the file when its call returns. If the process has ended, lines go to
 * standard error again. -1: all lines are lost. Closes the former DONE_FD. */
void cfr_log_through(int lines_fd, int done_fd);
/* In a child, which closes all descriptors but the first three: lines go to standard error itself. */
void cfr_log_in_child(void);
/* Lines that were dropped since the start. */
uint64_t cfr_log_dropped(void);

/* What JSON has in members of its own; text has it in its words. Zero or NULL: not known. */
struct cfr_log_fields {
    const char *code;  /* of an error */
    const char *class; /* of an error */
    const char *hook;
    uint64_t generation;
    int64_t expires_s;
    uint32_t attempt; /* how many tries have failed in a row */
};

/* Writes one event. CREDENTIAL and STATE may be NULL. A line is written by one write(2) and at most
 * 8 KiB; control characters are escaped. */
void cfr_log(enum cfr_log_level level, const char *credential, const char *state, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with FIELDS. */
void cfr_log_with(const struct cfr_log_fields *fields, enum cfr_log_level level, const char *credential,
                  const char *state, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
