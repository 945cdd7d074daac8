/* SPDX-License-Identifier: MIT */
/* The signers of PodCertificateRequests: for each entry of the configuration, one request at a time. */
#include "agent/pki/service_ca_pod_signer_private.h"

#include "agent/config/schema.h"
#include "agent/kube/stream.h"
#include "agent/loop/log_once.h"
#include "agent/pki/service_ca_owner_private.h"
#include "agent/pki/service_ca_pod_policy_private.h"
#include "agent/pki/service_ca_pod_seen_private.h"
#include "agent/pki/service_ca_sign_private.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_NAME     "service-ca"
#define POLL_MS      5000 /* where requests may not be watched; documented in docs/service-ca.md */
#define PAUSE_MAX_MS CFR_KUBE_PAUSE_MAX_MS
#define AGAIN_MAX    2  /* times that a request is read again at once after it was changed meanwhile */
#define BACKDATE_S   60 /* the API server refuses what is 5 minutes or more from its own clock */
#define WHAT         "pod certificates"

enum step { REST, READING, WRITING };

/* One entry of the configuration. */
struct entry {
    struct cfr_service_ca_pod_signer *all;
    const struct cfr_k8s_pod_policy *config;
    struct cfr_kube_stream *requests;
    int64_t open_boot_ms; /* of the next try to open it */
    bool beta;            /* the API server knows this version of the kind */
    bool turn;            /* to the other one, at the next step */
    bool turned;          /* since the last list that was good */
    bool listed;          /* since the last round */
    int held;             /* why what it would issue would not verify, as of the last step; 0: it would */
    bool listing_fails;
    enum step step;
    struct cfr_kube_call *call;
    struct cfr_secret body; /* of the call */
    struct cfr_service_ca_pod_seen seen;
    char at[CFR_SERVICE_CA_POD_PATH_MAX]; /* the request that is looked at */
    int again;                            /* times that it was read again */
    bool older;                           /* it is read by v1beta1, which alone shows its key */
    struct cfr_k8s_pod_cert request;
    char *denied; /* what the call writes: why, NULL = a certificate */
    char names[256];
    struct cfr_err failed; /* the first failure of this round; code 0 = none */
    struct cfr_log_once logged;
    char *error;
    int error_code;
    int64_t last_s;
    bool looked; /* a round has ended, or nothing could be listed */
    uint64_t issued;
    uint64_t denied_count;
};

struct cfr_service_ca_pod_signer {
    struct cfr_config_service_ca config; /* a copy */
    struct cfr_kube *kube;
    struct cfr_service_ca *ca;
    bool ready; /* there is a CA */
    struct entry *entries;
    struct cfr_api_status_signer *status;
    size_t count;
};

/* ---- opening ---- */

void cfr_service_ca_pod_signer_close(struct cfr_service_ca_pod_signer *s)
{
    if (s == NULL)
        return;
    for (size_t k = 0; s->entries != NULL && k < s->count; k++) {
        struct entry *e = &s->entries[k];

        cfr_kube_cancel(e->call);
        cfr_kube_stream_end(e->requests);
        cfr_secret_free(&e->body);
        cfr_k8s_pod_cert_free(&e->request);
        cfr_service_ca_pod_seen_free(&e->seen);
        free(e->denied);
        free(e->error);
    }
    free(s->entries);
    free(s->status);
    cfr_field_free(&cfr_config_service_ca_table, &s->config);
    free(s);
}

int cfr_service_ca_pod_signer_configure(struct cfr_service_ca_pod_signer **s, const struct cfr_config *config,
                                        struct cfr_kube *kube, struct cfr_err *err)
{
    const struct cfr_config_service_ca *c = config->service_ca;
    struct cfr_service_ca_pod_signer *next = NULL;

    if (c != NULL && c->pod_certificates.count != 0) {
        next = calloc(1, sizeof *next);
        if (next == NULL)
            return cfr_err_nomem(err);
        next->kube = kube;
        next->entries = calloc(c->pod_certificates.count, sizeof *next->entries);
        next->status = calloc(c->pod_certificates.count, sizeof *next->status);
        if (next->entries == NULL || next->status == NULL ||
            cfr_field_copy(&cfr_config_service_ca_table, c, &next->config, err) != 0) {
            cfr_service_ca_pod_signer_close(next);
            return cfr_err_nomem(err);
        }
        for (; next->count < c->pod_certificates.count; next->count++) {
            struct entry *e = &next->entries[next->count];

            e->all = next;
            e->config = (const struct cfr_k8s_pod_policy *)next->config.pod_certificates.items + next->count;
            cfr_secret_init(&e->body, CFR_K8S_POD_CERT_BODY_MAX);
        }
    }
    cfr_service_ca_pod_signer_close(*s);
    *s = next;
    return 0;
}

/* ---- a round: all requests that are due ---- */

static void note_failure(struct entry *e, const char *path, const struct cfr_err *err)
{
    if (e->failed.code != 0)
        return;
    e->failed = *err;
    if (path != NULL)
        (void)cfr_err_prefix(&e->failed, "%s", path);
    (void)cfr_err_prefix(&e->failed, "%s", e->config->signer);
}

static void report_failure(struct entry *e)
{
    free(e->error);
    e->error = strdup(e->failed.text);
    e->error_code = e->failed.code;
    if (cfr_log_once_is_news(&e->logged, &e->failed))
        cfr_log(CFR_LOG_ERROR, LOG_NAME, NULL, WHAT " of %s [%s, %s]", e->failed.text, cfr_err_name(e->failed.code),
                cfr_err_class_name(cfr_err_class(e->failed.code)));
}

static void end_round(struct entry *e)
{
    e->step = REST;
    e->looked = true;
    e->last_s = cfr_clock_now().wall_ms / 1000;
    if (e->failed.code != 0) {
        report_failure(e);
    } else if (!e->listing_fails && !cfr_service_ca_pod_seen_waits(&e->seen)) {
        free(e->error);
        e->error = NULL;
        e->logged = (struct cfr_log_once){0};
    }
    e->failed = (struct cfr_err){0};
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer);

static int ask(struct entry *e, enum step step, struct cfr_err *err)
{
    char path[CFR_K8S_POD_CERT_PATH_MAX];
    char space[CFR_K8S_LABEL_MAX + 1];
    size_t n = strcspn(e->at, "/");
    struct cfr_kube_where at = {e->config->kubeconfig, e->config->context};
    struct cfr_kube_request request = {
        .method = step == WRITING ? "PUT" : "GET",
        .path = path,
        .content_type = step == WRITING ? "application/json" : NULL,
        .body = step == WRITING ? &e->body : NULL,
        .answer_max = CFR_K8S_POD_CERT_ANSWER_MAX,
    };

    e->step = step;
    (void)snprintf(space, sizeof space, "%.*s", (int)n, e->at);
    if (!cfr_k8s_pod_cert_path(e->beta || e->older, space, e->at + n + 1, step == WRITING, path))
        return cfr_err_set(err, CFR_E_ANSWER, "the API server named an object that cannot be one");
    return cfr_kube_start(e->all->kube, &at, &request, on_answer, e, &e->call, err);
}

static void fail_request(struct entry *e, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_service_ca_pod_seen_one *one = cfr_service_ca_pod_seen_find(&e->seen, e->at);
    struct cfr_backoff_cause cause = {
        .class = cfr_err_class(err->code), .retry_after_s = retry_after_s, .max_ms = PAUSE_MAX_MS};

    if (one == NULL)
        return;
    note_failure(e, e->at, err);
    cfr_service_ca_pod_seen_put_back(
        &e->seen, one, cfr_clock_now().boot_ms + cfr_backoff_failed(&one->backoff, &cause, cfr_clock_chance()));
}

/* Asks for the next request that has no result yet, or ends the round. */
static void look_at_next(struct entry *e)
{
    const struct cfr_service_ca_pod_seen_one *one;
    struct cfr_err err = {0};

    cfr_k8s_pod_cert_free(&e->request);
    cfr_secret_clear(&e->body);
    e->again = 0;
    e->older = false;
    while (e->held == 0 && (one = cfr_service_ca_pod_seen_due(&e->seen, cfr_clock_now().boot_ms)) != NULL) {
        (void)snprintf(e->at, sizeof e->at, "%s", one->path);
        if (ask(e, READING, &err) == 0)
            return;
        fail_request(e, &err, -1);
    }
    end_round(e);
}

static void finish_request(struct entry *e, const char *version)
{
    struct cfr_service_ca_pod_seen_one *one = cfr_service_ca_pod_seen_find(&e->seen, e->at);

    if (one != NULL)
        cfr_service_ca_pod_seen_finish(one, version);
    look_at_next(e);
}

/* ---- what there is ---- */

static void on_begun(void *ctx)
{
    struct entry *e = ctx;

    cfr_service_ca_pod_seen_begin(&e->seen);
}

static void on_seen(void *ctx, struct cfr_view space, struct cfr_view name, const char *version)
{
    struct entry *e = ctx;
    struct cfr_err err = {0};

    if (version == NULL)
        cfr_service_ca_pod_seen_drop(&e->seen, space, name);
    else if (cfr_service_ca_pod_seen_note(&e->seen, space, name, version, &err) != 0)
        note_failure(e, NULL, &err);
}

static void on_listed(void *ctx)
{
    struct entry *e = ctx;

    cfr_service_ca_pod_seen_end(&e->seen);
    e->listed = true;
    e->turned = false;
    e->listing_fails = false;
}

/* True: the API server may know the other version. */
static bool is_unknown(struct entry *e, struct cfr_err *err)
{
    e->turn = !e->turned;
    e->turned = e->turn;
    if (!e->turn)
        (void)cfr_err_set(err, CFR_E_CONFIG,
                          "this API server has no PodCertificateRequests: they need its feature gate "
                          "PodCertificateRequest and the API certificates.k8s.io/v1beta1 (--runtime-config), or a "
                          "later version");
    return e->turn;
}

static bool on_failed(void *ctx, const struct cfr_kube_trouble *trouble)
{
    struct entry *e = ctx;
    struct cfr_err err = *trouble->err;

    if (!trouble->listing) {
        cfr_log(trouble->news ? CFR_LOG_WARN : CFR_LOG_DEBUG, LOG_NAME, NULL,
                WHAT " of %s: %s; until a watch works, requests are looked for every %d s [%s, %s]", e->config->signer,
                err.text, POLL_MS / 1000, cfr_err_name(err.code), cfr_err_class_name(cfr_err_class(err.code)));
        return false;
    }
    if (trouble->status == 404 && is_unknown(e, &err))
        return true;
    e->listing_fails = true;
    e->looked = true;
    e->last_s = cfr_clock_now().wall_ms / 1000;
    note_failure(e, NULL, &err);
    if (e->step == REST) {
        report_failure(e);
        e->failed = (struct cfr_err){0};
    }
    return false;
}

static const struct cfr_kube_stream_ops ops = {on_begun, on_seen, on_listed, on_failed};

static int follow_requests(struct entry *e, struct cfr_err *err)
{
    struct cfr_kube_selection selection = {
        .where = {e->config->kubeconfig, e->config->context},
        .collection = cfr_k8s_pod_cert_collection(e->beta),
        .what = "a pod's certificate",
        .pause_max_ms = PAUSE_MAX_MS,
        .poll_ms = POLL_MS,
        .ops = &ops,
        .ctx = e,
    };
    char fields[sizeof CFR_K8S_POD_CERT_FIELD + CFR_K8S_POD_CERT_SIGNER_MAX];
    int rc;

    (void)snprintf(fields, sizeof fields, CFR_K8S_POD_CERT_FIELD "%s", e->config->signer);
    rc = cfr_kube_stream_open(e->all->kube, &selection, &e->requests, err);
    return rc != 0 ? rc : cfr_kube_stream_select(e->requests, fields, NULL, NULL, err);
}

/* ---- one request ---- */

static int sign(struct entry *e, const struct cfr_service_ca_pod_decision *d, struct cfr_now now, struct cfr_str *chain,
                struct cfr_k8s_pod_cert_result *out, struct cfr_err *err)
{
    int64_t life_s;
    struct cfr_serving_cert_order order = {
        .dns_names = &d->names.dns,
        .uris = &d->names.uris,
        .client = true,
        .backdate_s = BACKDATE_S,
        .validity_s = d->life_s,
        .public_key = cfr_str_view(&d->public_key),
    };
    int rc = cfr_service_ca_sign(e->all->ca, &order, now, chain, &out->ends_s, err);

    out->begins_s = now.wall_ms / 1000 - BACKDATE_S;
    life_s = out->ends_s - out->begins_s;
    if (rc == 0 && life_s < CFR_K8S_POD_CERT_LIFE_MIN_S)
        return cfr_err_set(err, CFR_E_UNAVAILABLE,
                           "the CA ends within the hour that a certificate has to live; wait for its rotation, or "
                           "raise `rotate_below`");
    out->refresh_s = out->begins_s + life_s / 3 * 2;
    out->chain = cfr_str_view(chain);
    return rc;
}

static void keep_names(struct entry *e, const struct cfr_service_ca_pod_decision *d)
{
    const char *first = d->names.uris.count != 0  ? d->names.uris.items[0]
                        : d->names.dns.count != 0 ? d->names.dns.items[0]
                                                  : "";

    (void)snprintf(e->names, sizeof e->names, "%s", first);
}

/* Decides about the request that was read, and writes the result. */
static int answer_request(struct entry *e, struct cfr_err *err)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_service_ca_pod_decision d;
    struct cfr_str chain = {.limit = CFR_K8S_POD_CERT_CHAIN_MAX};
    struct cfr_k8s_pod_cert_result result = {.message = "issued by credfresh"};
    int rc = cfr_service_ca_pod_decide(e->config, &e->request, &d, err);

    free(e->denied);
    e->denied = NULL;
    keep_names(e, &d);
    if (rc == 0 && d.denied != NULL) {
        result.denied = d.denied;
        result.message = d.why.text;
        e->denied = strdup(d.why.text);
        rc = e->denied != NULL ? 0 : cfr_err_nomem(err);
    } else if (rc == 0) {
        rc = sign(e, &d, now, &chain, &result, err);
    }
    cfr_secret_clear(&e->body);
    if (rc == 0)
        rc = cfr_k8s_pod_cert_body(e->beta || e->older, &e->request, &result, now.wall_ms / 1000, &e->body, err);
    if (rc == 0)
        rc = ask(e, WRITING, err);
    cfr_service_ca_pod_decision_free(&d);
    cfr_str_free(&chain);
    return rc;
}

static int read_answer(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_k8s_pod_cert *out,
                       struct cfr_err *err)
{
    size_t n = strcspn(e->at, "/");
    char space[CFR_K8S_LABEL_MAX + 1];

    (void)snprintf(space, sizeof space, "%.*s", (int)n, e->at);
    return cfr_k8s_pod_cert_read(answer->body, e->config->signer, space, e->at + n + 1, out, err);
}

static int after_read(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    int rc;

    cfr_k8s_pod_cert_free(&e->request);
    rc = read_answer(e, answer, &e->request, err);
    if (rc != 0)
        return rc;
    if (e->request.decided) {
        finish_request(e, e->request.version);
        return 0;
    }
    if (!e->beta && !e->older && e->request.request.len == 0 && e->request.public_key.len == 0) {
        e->older = true;
        return ask(e, READING, err);
    }
    return answer_request(e, err);
}

static void after_write(struct entry *e, const struct cfr_kube_answer *answer)
{
    const struct cfr_k8s_pod_cert *r = &e->request;
    struct cfr_k8s_pod_cert written;

    if (e->denied != NULL) {
        e->denied_count++;
        cfr_log(CFR_LOG_WARN, LOG_NAME, NULL, "pod certificate of %s/%s (service account %s, signer %s) was denied: %s",
                r->namespace_name, r->pod, r->service_account, e->config->signer, e->denied);
    } else {
        e->issued++;
        cfr_log(CFR_LOG_INFO, LOG_NAME, NULL, "pod certificate of %s/%s (service account %s, signer %s) was issued: %s",
                r->namespace_name, r->pod, r->service_account, e->config->signer, e->names);
    }
    /* Its own write is no news. */
    if (read_answer(e, answer, &written, NULL) == 0) {
        finish_request(e, written.version);
        cfr_k8s_pod_cert_free(&written);
    } else {
        finish_request(e, r->version);
    }
}

static int refuse(struct entry *e, const struct cfr_kube_answer *answer, int64_t *retry_after_s, struct cfr_err *err)
{
    struct cfr_k8s_asked asked = {
        .what = "a pod's certificate",
        .verb = e->step == READING ? "get" : "update",
        .resource = e->step == WRITING ? CFR_K8S_POD_CERT_RESOURCE "/status.certificates.k8s.io"
                                       : CFR_K8S_POD_CERT_RESOURCE ".certificates.k8s.io",
        .signer = e->config->signer,
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };

    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

/* Another program has changed or answered it, or the pod is gone: it is read again, and never overwritten. */
static bool look_again(struct entry *e, long status)
{
    struct cfr_err err = {0};
    size_t n;

    if (status == 404 && !e->older) {
        n = strcspn(e->at, "/");
        cfr_service_ca_pod_seen_drop(&e->seen, (struct cfr_view){e->at, n}, cfr_view_of(e->at + n + 1));
        look_at_next(e);
        return true;
    }
    if (status != 409 || e->step != WRITING || e->again >= AGAIN_MAX)
        return false;
    e->again++;
    return ask(e, READING, &err) == 0;
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct entry *e = ctx;
    struct cfr_err err = answer->err;
    int64_t retry_after_s = answer->retry_after_s;
    int rc = answer->error;

    e->call = NULL;
    if (rc == 0 && look_again(e, answer->status))
        return;
    if (rc == 0 && answer->status == 404)
        rc = cfr_err_set(&err, CFR_E_CONFIG,
                         "its key is in the form of certificates.k8s.io/v1beta1, which this API server does not serve "
                         "(--runtime-config)");
    else if (rc == 0 && answer->status != 200 && answer->status != 201)
        rc = refuse(e, answer, &retry_after_s, &err);
    else if (rc == 0 && e->step == WRITING)
        after_write(e, answer);
    else if (rc == 0)
        rc = after_read(e, answer, &err);
    if (rc == 0)
        return;
    fail_request(e, &err, retry_after_s);
    look_at_next(e);
}

/* ---- the loop's side ---- */

static void follow_version(struct entry *e, struct cfr_now now)
{
    struct cfr_err err = {0};

    if (e->turn) {
        cfr_kube_stream_end(e->requests);
        e->requests = NULL;
        e->beta = !e->beta;
        e->turn = false;
    }
    if (e->requests != NULL || e->open_boot_ms > now.boot_ms)
        return;
    if (follow_requests(e, &err) == 0)
        return;
    cfr_kube_stream_end(e->requests);
    e->requests = NULL;
    e->open_boot_ms = now.boot_ms + PAUSE_MAX_MS;
    note_failure(e, NULL, &err);
    if (e->step == REST)
        end_round(e);
}

static int held_by(const struct entry *e, const struct cfr_service_ca_injector *bundles, struct cfr_err *err)
{
    struct cfr_kube_where at = {e->config->kubeconfig, e->config->context};

    return cfr_service_ca_injector_may_sign(bundles, e->config->signer, &at, err);
}

static void follow_bundles(struct entry *e, const struct cfr_service_ca_injector *bundles)
{
    struct cfr_err err = {0};
    bool was_held = e->held != 0;

    e->held = held_by(e, bundles, &err);
    e->listed = e->listed || (was_held && e->held == 0); /* a round clears the error */
    if (e->held != CFR_E_CONFLICT || e->step != REST)
        return;
    e->looked = true;
    note_failure(e, NULL, &err);
    report_failure(e);
    e->failed = (struct cfr_err){0};
}

void cfr_service_ca_pod_signer_step(struct cfr_service_ca_pod_signer *s, struct cfr_service_ca *ca,
                                    const struct cfr_service_ca_injector *bundles, struct cfr_now now)
{
    uint64_t mark;

    if (s == NULL)
        return;
    s->ca = ca;
    s->ready = cfr_service_ca_fingerprint(ca, now, &mark, NULL) == 0;
    for (size_t k = 0; s->ready && k < s->count; k++) {
        struct entry *e = &s->entries[k];

        follow_version(e, now);
        follow_bundles(e, bundles);
        if (e->held != 0 || e->step != REST ||
            (!e->listed && cfr_service_ca_pod_seen_due(&e->seen, now.boot_ms) == NULL))
            continue;
        e->listed = false;
        look_at_next(e);
    }
}

static int64_t deadline_of(const struct entry *e)
{
    bool held = e->held != 0;

    if (e->turn || (e->step == REST && e->listed && !held))
        return 0;
    if (e->requests == NULL)
        return e->open_boot_ms;
    return e->step == REST && !held ? cfr_service_ca_pod_seen_next(&e->seen) : INT64_MAX;
}

void cfr_service_ca_pod_signer_resume(struct cfr_service_ca_pod_signer *s, const struct cfr_kube_where *where,
                                      struct cfr_now now)
{
    for (size_t k = 0; s != NULL && k < s->count; k++) {
        struct entry *e = &s->entries[k];
        const struct cfr_kube_where own = {e->config->kubeconfig, e->config->context};

        if (cfr_kube_where_is(&own, where))
            cfr_service_ca_pod_seen_resume(&e->seen, now.boot_ms);
    }
}

int64_t cfr_service_ca_pod_signer_deadline(const struct cfr_service_ca_pod_signer *s,
                                           const struct cfr_service_ca_injector *bundles)
{
    int64_t at = INT64_MAX;

    for (size_t k = 0; s != NULL && s->ready && k < s->count; k++) {
        const struct entry *e = &s->entries[k];
        int64_t one = held_by(e, bundles, NULL) != e->held ? 0 : deadline_of(e);

        at = one < at ? one : at;
    }
    return at;
}

bool cfr_service_ca_pod_signer_is_busy(const struct cfr_service_ca_pod_signer *s)
{
    for (size_t k = 0; s != NULL && s->ready && k < s->count; k++) {
        const struct entry *e = &s->entries[k];
        bool final = e->error_code == CFR_E_CONFLICT || cfr_err_class(e->error_code) == CFR_CLASS_STOP;
        bool waits = e->error != NULL && !final;

        if (!e->looked || (e->listed && e->held == 0) || e->step != REST || waits)
            return true;
    }
    return false;
}

bool cfr_service_ca_pod_signer_is_failing(const struct cfr_service_ca_pod_signer *s)
{
    for (size_t k = 0; s != NULL && k < s->count; k++) {
        if (s->entries[k].error != NULL)
            return true;
    }
    return false;
}

void cfr_service_ca_pod_signer_status(struct cfr_service_ca_pod_signer *s, struct cfr_api_status_authority *out)
{
    for (size_t k = 0; s != NULL && k < s->count; k++) {
        const struct entry *e = &s->entries[k];

        s->status[k] = (struct cfr_api_status_signer){
            .name = e->config->signer,
            .result = e->error != NULL ? "failed"
                      : e->looked      ? "ok"
                                       : "pending",
            .error = e->error,
            .last_run_s = e->last_s,
            .issued = e->issued,
            .denied = e->denied_count,
        };
    }
    out->signers = s != NULL ? s->status : NULL;
    out->signer_count = s != NULL ? s->count : 0;
}
