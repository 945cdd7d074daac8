/* SPDX-License-Identifier: MIT */
/* Parts of the status page. Each appends to OUT, which keeps its own `failed`. */
#ifndef CFR_SERVE_API_PAGE_PRIVATE_H
#define CFR_SERVE_API_PAGE_PRIVATE_H

#include "serve/api/history.h"
#include "serve/api/status.h"

#include <stddef.h>

/* TEXT as the content of an element or of an attribute in double quotes: what has a meaning in HTML is escaped, and
 * what is not printable (see cfr_view_show) becomes `?`. NULL adds nothing. Every text that is not a literal goes
 * through it. */
void cfr_api_page_text(struct cfr_str *out, const char *text);
/* "13 min ago", "in 47 min", "just now"; NOW_S is now. */
void cfr_api_page_moment(struct cfr_str *out, int64_t at_s, int64_t now_s);
/* A bar of what is left of C's lifetime, with the next refresh. Nothing if its lifetime is not known. */
void cfr_api_page_life(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s);
/* The last day as a strip, with its sums in words. */
void cfr_api_page_history(struct cfr_str *out, const struct cfr_api_history *h);

/* ---- reading a history, for the status page. Pure ---- */

/* The worst health in the slot AGE slots before the newest, which is 0; AGE is below CFR_API_HISTORY_SLOTS. */
enum cfr_api_history_health cfr_api_history_at(const struct cfr_api_history *h, size_t age);
/* The minutes with HEALTH, which is not unknown, in all slots. */
int64_t cfr_api_history_minutes(const struct cfr_api_history *h, enum cfr_api_history_health health);

#endif
