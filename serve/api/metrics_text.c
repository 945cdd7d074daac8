/* SPDX-License-Identifier: MIT */
/* Writes samples in the Prometheus text format 0.0.4, and counts into histograms. */
#include "serve/api/metrics_private.h"

#include <inttypes.h>
#include <string.h>

const double cfr_api_status_bounds[CFR_API_STATUS_BUCKETS] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};

void cfr_api_status_observe(struct cfr_api_status_histogram *h, double seconds)
{
    size_t i = 0;

    while (i < CFR_API_STATUS_BUCKETS && seconds > cfr_api_status_bounds[i])
        i++;
    h->buckets[i]++;
    h->count++;
    h->sum_s += seconds;
}

void cfr_api_metrics_label(struct cfr_str *out, const char *key, const char *value)
{
    cfr_str_addz(out, key);
    cfr_str_addz(out, "=\"");
    while (value != NULL && *value != '\0') {
        size_t n = strcspn(value, "\n\\\"");

        cfr_str_add(out, (struct cfr_view){value, n});
        value += n;
        if (*value == '\0')
            break;
        cfr_str_addz(out, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
        value++;
    }
    cfr_str_addz(out, "\"");
}

void cfr_api_metrics_begin(struct cfr_str *out, const char *family, const char *name, const char *key,
                           const char *value)
{
    cfr_str_addz(out, family);
    cfr_str_addz(out, "{");
    cfr_api_metrics_label(out, "credential", name);
    if (key != NULL) {
        cfr_str_addz(out, ",");
        cfr_api_metrics_label(out, key, value);
    }
}

void cfr_api_metrics_end_int(struct cfr_str *out, int64_t value)
{
    cfr_str_addf(out, "} %" PRId64 "\n", value);
}

void cfr_api_metrics_end_count(struct cfr_str *out, uint64_t value)
{
    cfr_str_addf(out, "} %" PRIu64 "\n", value);
}
