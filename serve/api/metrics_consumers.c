/* SPDX-License-Identifier: MIT */
/* Metrics of hooks, Secrets of the cluster and consumers. */
#include "serve/api/metrics_private.h"

/* Two hooks of one credential may do the same in words, yet a series may appear once only. */
static bool hook_is_first(const struct cfr_api_status_credential *c, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (cfr_view_eq(cfr_view_of(c->hooks[k].name), cfr_view_of(c->hooks[i].name)))
            return false;
    }
    return true;
}

static void runs(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, const char *label,
                 const char *name, uint64_t ok, uint64_t failed)
{
    cfr_api_metrics_begin(out, family, c->name, label, name);
    cfr_str_addz(out, ",result=\"ok\"");
    cfr_api_metrics_end_count(out, ok);
    cfr_api_metrics_begin(out, family, c->name, label, name);
    cfr_str_addz(out, ",result=\"failed\"");
    cfr_api_metrics_end_count(out, failed);
}

void cfr_api_metrics_hook_runs(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                               int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->hook_count; i++) {
        if (hook_is_first(c, i))
            runs(out, family, c, "hook", c->hooks[i].name, c->hooks[i].runs_ok, c->hooks[i].runs_failed);
    }
}

void cfr_api_metrics_delivery_runs(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                   int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->delivery_count; i++)
        runs(out, family, c, "target", c->deliveries[i].name, c->deliveries[i].runs_ok, c->deliveries[i].runs_failed);
}

void cfr_api_metrics_delivery_generation(struct cfr_str *out, const char *family,
                                         const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->delivery_count; i++) {
        cfr_api_metrics_begin(out, family, c->name, "target", c->deliveries[i].name);
        cfr_api_metrics_end_count(out, c->deliveries[i].generation);
    }
}

void cfr_api_metrics_hook_generation(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                     int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->hook_count; i++) {
        if (!hook_is_first(c, i))
            continue;
        cfr_api_metrics_begin(out, family, c->name, "hook", c->hooks[i].name);
        cfr_api_metrics_end_count(out, c->hooks[i].generation);
    }
}

void cfr_api_metrics_hook_last_run(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                   int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->hook_count; i++) {
        if (!hook_is_first(c, i))
            continue;
        cfr_api_metrics_begin(out, family, c->name, "hook", c->hooks[i].name);
        cfr_api_metrics_end_int(out, c->hooks[i].last_run_s);
    }
}

/* As for hooks. */
static bool consumer_is_first(const struct cfr_api_status_credential *c, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (cfr_view_eq(cfr_view_of(c->consumers[k].name), cfr_view_of(c->consumers[i].name)))
            return false;
    }
    return true;
}

void cfr_api_metrics_consumer_generation(struct cfr_str *out, const char *family,
                                         const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->consumer_count; i++) {
        if (!consumer_is_first(c, i))
            continue;
        cfr_api_metrics_begin(out, family, c->name, "consumer", c->consumers[i].name);
        cfr_api_metrics_end_count(out, c->consumers[i].generation);
    }
}

void cfr_api_metrics_consumer_behind(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                     int64_t now_s)
{
    (void)now_s;
    for (size_t i = 0; i < c->consumer_count; i++) {
        if (!consumer_is_first(c, i))
            continue;
        cfr_api_metrics_begin(out, family, c->name, "consumer", c->consumers[i].name);
        cfr_api_metrics_end_int(out, c->consumers[i].behind ? 1 : 0);
    }
}
