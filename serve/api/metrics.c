/* SPDX-License-Identifier: MIT */
/* The metrics page (Prometheus text format 0.0.4): one table of families, each written in one piece. */
#include "serve/api/metrics_private.h"

#include <inttypes.h>
#include <string.h>

static void sample(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t value)
{
    cfr_api_metrics_begin(out, family, c->name, NULL, NULL);
    cfr_api_metrics_end_int(out, value);
}

static void expiry(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    /* No sample for what never expires: any number would be read as a time. */
    if (c->published && c->expires_s != 0)
        sample(out, family, c, c->expires_s);
}

static void issued(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    if (c->published && c->issued_s != 0)
        sample(out, family, c, c->issued_s);
}

static void info(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    cfr_api_metrics_begin(out, family, c->name, "provider", c->provider);
    cfr_str_addz(out, ",");
    cfr_api_metrics_label(out, "source", c->source);
    cfr_api_metrics_end_int(out, 1);
}

static void next_refresh(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                         int64_t now_s)
{
    (void)now_s;
    if (c->refresh_s != 0)
        sample(out, family, c, c->refresh_s);
}

static void tries_left(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                       int64_t now_s)
{
    (void)now_s;
    if (c->published && c->expires_s != 0)
        sample(out, family, c, c->tries_left);
}

static void clock_skew(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                       int64_t now_s)
{
    (void)now_s;
    if (c->skew_known)
        sample(out, family, c, c->skew_s);
}

static void published(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->published ? 1 : 0);
}

static void ready(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    sample(out, family, c, cfr_api_status_is_ready(c, now_s) ? 1 : 0);
}

static void required(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->required ? 1 : 0);
}

static void generation(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                       int64_t now_s)
{
    (void)now_s;
    cfr_api_metrics_begin(out, family, c->name, NULL, NULL);
    cfr_api_metrics_end_count(out, c->generation);
}

static void last_success(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                         int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->last_success_s);
}

static void failures(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->failures);
}

static void refreshes(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    (void)now_s;
    cfr_api_metrics_begin(out, family, c->name, "result", "ok");
    cfr_api_metrics_end_count(out, c->exchanges_ok);
    for (int i = CFR_CLASS_NONE + 1; i < CFR_CLASS_COUNT; i++) {
        cfr_api_metrics_begin(out, family, c->name, "result", cfr_err_class_name((enum cfr_err_class)i));
        cfr_api_metrics_end_count(out, c->exchanges_failed[i]);
    }
}

static void duration(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c, int64_t now_s)
{
    uint64_t sum = 0;

    (void)now_s;
    for (size_t i = 0; i <= CFR_API_STATUS_BUCKETS; i++) {
        sum += c->duration.buckets[i];
        cfr_str_addf(out, "%s_bucket{", family);
        cfr_api_metrics_label(out, "credential", c->name);
        if (i < CFR_API_STATUS_BUCKETS)
            cfr_str_addf(out, ",le=\"%g\"", cfr_api_status_bounds[i]);
        else
            cfr_str_addz(out, ",le=\"+Inf\"");
        cfr_api_metrics_end_count(out, sum);
    }
    cfr_str_addf(out, "%s_sum{", family);
    cfr_api_metrics_label(out, "credential", c->name);
    cfr_str_addf(out, "} %.9g\n%s_count{", c->duration.sum_s, family);
    cfr_api_metrics_label(out, "credential", c->name);
    cfr_api_metrics_end_count(out, c->duration.count);
}

static void token_expiry(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                         int64_t now_s)
{
    (void)now_s;
    if (c->token_expires_s != 0)
        sample(out, family, c, c->token_expires_s);
}

static void token_overdue(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                          int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->token_overdue ? 1 : 0);
}

static void token_requested(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                            int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->token_requested ? 1 : 0);
}

static void source_missing(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                           int64_t now_s)
{
    (void)now_s;
    sample(out, family, c, c->source_missing ? 1 : 0);
}

static const struct family {
    const char *name;
    const char *type;
    cfr_api_metrics_fn *samples;
    const char *help;
} families[] = {
    {"credfresh_credential_info", "gauge", info,
     "Always 1; the labels say who gives the credential, and what it begins with."},
    {"credfresh_credential_issued_timestamp_seconds", "gauge", issued,
     "When the life of the published credential began, in seconds since the epoch. Absent when nothing is published."},
    {"credfresh_credential_expiry_timestamp_seconds", "gauge", expiry,
     "When the published credential expires, in seconds since the epoch. Absent when nothing is published or it never "
     "expires."},
    {"credfresh_credential_next_refresh_timestamp_seconds", "gauge", next_refresh,
     "When the next refresh or retry is planned, in seconds since the epoch. Absent when none is."},
    {"credfresh_credential_tries_left", "gauge", tries_left,
     "Tries that fit before the published credential expires even if each pause is the longest possible; 100 for more. "
     "Absent when nothing is published or it never expires."},
    {"credfresh_credential_published", "gauge", published, "1 when a generation of the credential is published."},
    {"credfresh_credential_ready", "gauge", ready,
     "1 when the credential is published, has not expired, is in memory where an endpoint serves it, is no "
     "long-lived key that was deleted or deactivated in the cloud, and no copy of a Secret that was removed."},
    {"credfresh_credential_required", "gauge", required, "1 when the credential counts for readiness."},
    {"credfresh_credential_generation", "gauge", generation, "Number of the published generation; 0 for none."},
    {"credfresh_credential_last_success_timestamp_seconds", "gauge", last_success,
     "When the credential was last refreshed, in seconds since the epoch; 0 for never."},
    {"credfresh_credential_consecutive_failures", "gauge", failures,
     "Failed refreshes since the last one that succeeded."},
    {"credfresh_refresh_total", "counter", refreshes,
     "Refreshes by result: ok, or the class of the error (retry: goes away by itself; stop: needs an "
     "operator; "
     "local: this machine)."},
    {"credfresh_exchange_duration_seconds", "histogram", duration, "How long the exchanges with the cloud took."},
    {"credfresh_exchange_clock_skew_seconds", "gauge", clock_skew,
     "The server's clock less this machine's at the last exchange. Absent when no server has sent its time."},
    {"credfresh_token_expiry_timestamp_seconds", "gauge", token_expiry,
     "When the subject token last read expires, in seconds since the epoch."},
    {"credfresh_token_overdue", "gauge", token_overdue,
     "1 when the subject token is past 80 % of its lifetime and was not replaced."},
    {"credfresh_token_requested", "gauge", token_requested,
     "1 when the subject token was requested from the API server, by itself or in place of a file."},
    {"credfresh_source_missing", "gauge", source_missing,
     "1 when the mounted Secret that is copied was removed, so that only its copy still exists."},
    {"credfresh_key_minted_timestamp_seconds", "gauge", cfr_api_metrics_key_minted,
     "When the published long-lived key was minted, in seconds since the epoch. Absent for other credentials."},
    {"credfresh_key_state", "gauge", cfr_api_metrics_key_state,
     "1 for the state of the published long-lived key in the cloud, 0 for the others. Absent until it was looked up."},
    {"credfresh_key_passed_on", "gauge", cfr_api_metrics_key_passed_on,
     "1 while the administrator's own key is published, because it may not create a long-lived key. Absent for other "
     "credentials."},
    {"credfresh_rotation_state", "gauge", cfr_api_metrics_rotation_state,
     "1 for the state that the rotation of a long-lived key is in, 0 for the others. Absent for other credentials."},
    {"credfresh_rotation_holder", "gauge", cfr_api_metrics_rotation_holder,
     "1 if this agent goes on with a rotation that several agents share, or did so last. Absent for other "
     "credentials."},
    {"credfresh_rotations_total", "counter", cfr_api_metrics_rotations,
     "Rotations of a long-lived key that are complete, and keys that were removed because they never came to be "
     "published."},
    {"credfresh_delivery_runs_total", "counter", cfr_api_metrics_delivery_runs,
     "Applies of a Secret of the cluster by result."},
    {"credfresh_delivery_generation", "gauge", cfr_api_metrics_delivery_generation,
     "The generation that a Secret of the cluster holds; 0 for none."},
    {"credfresh_hook_runs_total", "counter", cfr_api_metrics_hook_runs, "Runs of a reload hook by result."},
    {"credfresh_hook_generation", "gauge", cfr_api_metrics_hook_generation,
     "The generation that a reload hook last succeeded for; 0 for none."},
    {"credfresh_hook_last_run_timestamp_seconds", "gauge", cfr_api_metrics_hook_last_run,
     "When a reload hook last ran, in seconds since the epoch; 0 for never."},
    {"credfresh_consumer_generation", "gauge", cfr_api_metrics_consumer_generation,
     "The generation that a consumer says it has in use; 0 when it has said nothing yet."},
    {"credfresh_consumer_behind", "gauge", cfr_api_metrics_consumer_behind,
     "1 when a consumer has not acknowledged the published generation in time."},
};

static void head(struct cfr_str *out, const char *name, const char *type, const char *help)
{
    cfr_str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_agent(struct cfr_str *out, const struct cfr_api_status *s)
{
    head(out, "credfresh_build_info", "gauge", "Always 1; the labels say what runs.");
    cfr_str_addz(out, "credfresh_build_info{");
    cfr_api_metrics_label(out, "version", s->version);
    cfr_str_addz(out, "} 1\n");
    head(out, "credfresh_start_time_seconds", "gauge", "When the agent started, in seconds since the epoch.");
    cfr_str_addf(out, "credfresh_start_time_seconds %" PRId64 "\n", s->started_s);
    head(out, "credfresh_config_last_reload_successful", "gauge",
         "1 when the last configuration that was read was taken.");
    cfr_str_addf(out, "credfresh_config_last_reload_successful %d\n", s->config_ok ? 1 : 0);
    head(out, "credfresh_config_loaded_timestamp_seconds", "gauge",
         "When the configuration in use was read, in seconds since the epoch.");
    cfr_str_addf(out, "credfresh_config_loaded_timestamp_seconds %" PRId64 "\n", s->config_loaded_s);
}

static void add_refused_connections(struct cfr_str *out, const struct cfr_api_status *s)
{
    struct cfr_api_status_endpoint e;
    bool begun = false;

    for (size_t i = 0; s->get_endpoint != NULL && s->get_endpoint(s->ctx, i, &e); i++) {
        if (e.shape != NULL)
            continue;
        if (!begun)
            head(out, "credfresh_endpoint_refused_connections_total", "counter",
                 "Connections to local endpoints that were refused because they came from other machines.");
        begun = true;
        cfr_str_addz(out, "credfresh_endpoint_refused_connections_total{");
        cfr_api_metrics_label(out, "endpoint", e.endpoint);
        cfr_str_addf(out, "} %" PRIu64 "\n", e.requests);
    }
}

static void add_endpoints(struct cfr_str *out, const struct cfr_api_status *s)
{
    struct cfr_api_status_endpoint e;
    bool begun = false;

    for (size_t i = 0; s->get_endpoint != NULL && s->get_endpoint(s->ctx, i, &e); i++) {
        if (e.shape == NULL)
            continue;
        if (!begun)
            head(out, "credfresh_endpoint_requests_total", "counter",
                 "Requests to local endpoints by shape and HTTP status.");
        begun = true;
        cfr_str_addz(out, "credfresh_endpoint_requests_total{");
        cfr_api_metrics_label(out, "endpoint", e.endpoint);
        cfr_str_addz(out, ",");
        cfr_api_metrics_label(out, "shape", e.shape);
        cfr_str_addf(out, ",status=\"%d\"} %" PRIu64 "\n", e.status, e.requests);
    }
}

static void add_sandbox(struct cfr_str *out, const struct cfr_api_status *s)
{
    if (s->sandbox == NULL)
        return;
    head(out, "credfresh_sandbox", "gauge", "1 for each part of the sandbox that is in force, 0 for each that is not.");
    for (size_t i = 0; i < CFR_API_SANDBOX_PARTS && s->sandbox[i].part != NULL; i++)
        cfr_str_addf(out, "credfresh_sandbox{part=\"%s\"} %d\n", s->sandbox[i].part, s->sandbox[i].on ? 1 : 0);
}

static void add_decided(struct cfr_str *out, const char *signer, const char *result, uint64_t count)
{
    cfr_str_addz(out, "credfresh_service_ca_pod_certificates_total{");
    cfr_api_metrics_label(out, "signer", signer);
    cfr_str_addf(out, ",result=\"%s\"} %" PRIu64 "\n", result, count);
}

static void add_signers(struct cfr_str *out, const struct cfr_api_status_authority *a)
{
    size_t failing = 0;

    if (a->signer_count == 0)
        return;
    head(out, "credfresh_service_ca_pod_certificates_total", "counter",
         "Decided PodCertificateRequests by signer and result (issued, denied).");
    for (size_t i = 0; i < a->signer_count; i++) {
        add_decided(out, a->signers[i].name, "issued", a->signers[i].issued);
        add_decided(out, a->signers[i].name, "denied", a->signers[i].denied);
        failing += a->signers[i].error != NULL ? 1 : 0;
    }
    head(out, "credfresh_service_ca_pod_signers_failing", "gauge",
         "How many entries of service_ca.pod_certificates could not list, read or answer a request at the last try.");
    cfr_str_addf(out, "credfresh_service_ca_pod_signers_failing %zu\n", failing);
}

static void add_authority(struct cfr_str *out, const struct cfr_api_status *s)
{
    struct cfr_api_status_authority a = {.number = 0};
    size_t failing = 0;

    if (s->get_authority == NULL || !s->get_authority(s->ctx, &a))
        return;
    head(out, "credfresh_service_ca_number", "gauge",
         "How many CAs the service CA has had; it rises with each rotation.");
    cfr_str_addf(out, "credfresh_service_ca_number %" PRIu64 "\n", a.number);
    head(out, "credfresh_service_ca_generations", "gauge", "How many CAs the bundle holds.");
    cfr_str_addf(out, "credfresh_service_ca_generations %zu\n", a.generations);
    head(
        out, "credfresh_service_ca_made_timestamp_seconds", "gauge",
        "When the newest CA was made, which was the last rotation, in seconds since the epoch; 0 while there is none.");
    cfr_str_addf(out, "credfresh_service_ca_made_timestamp_seconds %" PRId64 "\n", a.issued_s);
    head(out, "credfresh_service_ca_expiry_timestamp_seconds", "gauge",
         "When the newest CA ends, in seconds since the epoch; 0 while there is none.");
    cfr_str_addf(out, "credfresh_service_ca_expiry_timestamp_seconds %" PRId64 "\n", a.expires_s);
    head(out, "credfresh_service_ca_rotation_timestamp_seconds", "gauge",
         "When the newest CA is to be replaced for its age, in seconds since the epoch; 0 while there is none.");
    cfr_str_addf(out, "credfresh_service_ca_rotation_timestamp_seconds %" PRId64 "\n", a.rotates_s);
    head(out, "credfresh_service_ca_ok", "gauge", "1 when the last look at the service CA's store and age went well.");
    cfr_str_addf(out, "credfresh_service_ca_ok %d\n", a.error == NULL ? 1 : 0);
    head(out, "credfresh_service_ca_consecutive_failures", "gauge",
         "Failed looks and rotations since the last that went well.");
    cfr_str_addf(out, "credfresh_service_ca_consecutive_failures %u\n", a.failures);
    head(out, "credfresh_service_ca_inject_failing", "gauge",
         "How many entries of service_ca.inject could not be looked at or written at the last try.");
    for (size_t i = 0; i < a.injected_count; i++)
        failing += a.injected[i].error != NULL ? 1 : 0;
    cfr_str_addf(out, "credfresh_service_ca_inject_failing %zu\n", failing);
    add_signers(out, &a);
}

static void add_forgotten(struct cfr_str *out, const struct cfr_api_status *s)
{
    head(out, "credfresh_forgotten_keys", "gauge",
         "Long-lived keys that were created for a credential which is not in the configuration any more, and that work "
         "until an operator deletes them.");
    for (size_t i = 0; i < s->forgotten_count; i++) {
        cfr_api_metrics_begin(out, "credfresh_forgotten_keys", s->forgotten[i].name, NULL, NULL);
        cfr_api_metrics_end_count(out, s->forgotten[i].count);
    }
}

void cfr_api_status_metrics(const struct cfr_api_status *s, struct cfr_str *out)
{
    add_agent(out, s);
    head(out, "credfresh_log_lines_dropped_total", "counter",
         "Log lines that were dropped, because the reader of standard error did not take them in time.");
    cfr_str_addf(out, "credfresh_log_lines_dropped_total %" PRIu64 "\n", s->log_dropped);
    add_sandbox(out, s);
    add_authority(out, s);
    add_forgotten(out, s);
    add_endpoints(out, s);
    add_refused_connections(out, s);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        head(out, families[f].name, families[f].type, families[f].help);
        for (size_t i = 0; i < s->count && !out->failed; i++) {
            struct cfr_api_status_credential c = {0};

            s->get(s->ctx, i, &c);
            families[f].samples(out, families[f].name, &c, s->now_s);
        }
    }
}
