/* SPDX-License-Identifier: MIT */
/* Reading a history, for the status page. Pure. */
#ifndef CFR_SERVE_API_HISTORY_PRIVATE_H
#define CFR_SERVE_API_HISTORY_PRIVATE_H

#include "serve/api/history.h"

#include <stddef.h>

/* The worst health in the slot AGE slots before the newest, which is 0; AGE is below CFR_API_HISTORY_SLOTS. */
enum cfr_api_history_health cfr_api_history_at(const struct cfr_api_history *h, size_t age);
/* The minutes with HEALTH, which is not unknown, in all slots. */
int64_t cfr_api_history_minutes(const struct cfr_api_history *h, enum cfr_api_history_health health);

#endif
