/* SPDX-License-Identifier: MIT */
/* Memory of the last error, so that one that repeats is logged once.
 *
 * Pure: never blocks, owns nothing and cannot fail. Zero-initialise a struct cfr_log_once, and again after a success.
 * Two errors are the same if they have the same code and the same words; words that hold digits are not compared,
 * because request ids, times and counts differ from one failure to the next. */
#ifndef CFR_AGENT_LOOP_LOG_ONCE_H
#define CFR_AGENT_LOOP_LOG_ONCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct cfr_log_once {
    int code;       /* 0 = no error so far */
    uint64_t words; /* their hash */
};

/* Remembers ERR. True if it differs from the last one. */
bool cfr_log_once_is_news(struct cfr_log_once *last, const struct cfr_err *err);

#endif
