/* SPDX-License-Identifier: MIT */
/* What the files of the metrics page share: how a sample is written, and the samples about hooks, deliveries and
 * consumers, and about rotated keys. */
#ifndef CFR_SERVE_API_METRICS_PRIVATE_H
#define CFR_SERVE_API_METRICS_PRIVATE_H

#include "serve/api/status_private.h"

/* Writes the samples of FAMILY for one credential. */
typedef void cfr_api_metrics_fn(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                int64_t now_s);

/* KEY="VALUE"; NULL is an empty value. */
void cfr_api_metrics_label(struct cfr_str *out, const char *key, const char *value);
/* FAMILY{credential="NAME" and then, unless KEY is NULL, ,KEY="VALUE"; the brace stays open. */
void cfr_api_metrics_begin(struct cfr_str *out, const char *family, const char *name, const char *key,
                           const char *value);
void cfr_api_metrics_end_int(struct cfr_str *out, int64_t value);
void cfr_api_metrics_end_count(struct cfr_str *out, uint64_t value);

cfr_api_metrics_fn cfr_api_metrics_key_minted;
cfr_api_metrics_fn cfr_api_metrics_key_state;
cfr_api_metrics_fn cfr_api_metrics_key_passed_on;
cfr_api_metrics_fn cfr_api_metrics_rotation_holder;
cfr_api_metrics_fn cfr_api_metrics_rotation_state;
cfr_api_metrics_fn cfr_api_metrics_rotations;
cfr_api_metrics_fn cfr_api_metrics_hook_runs;
cfr_api_metrics_fn cfr_api_metrics_hook_generation;
cfr_api_metrics_fn cfr_api_metrics_hook_last_run;
cfr_api_metrics_fn cfr_api_metrics_delivery_runs;
cfr_api_metrics_fn cfr_api_metrics_delivery_generation;
cfr_api_metrics_fn cfr_api_metrics_consumer_generation;
cfr_api_metrics_fn cfr_api_metrics_consumer_behind;

#endif
