/* SPDX-License-Identifier: MIT */
/* The signers of PodCertificateRequests: for each entry of the configuration, one request at a time. */
#include "agent/pki/service_ca_pod_signer.h"

#include "agent/config/schema.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "agent/pki/service_ca_pod_policy_private.h"
#include "agent/pki/service_ca_sign_private.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_NAME     "service-ca"
#define LOOK_MS      5000
#define PAUSE_MAX_MS 30000 /* pods wait for their certificates */
#define REQUESTS_MAX 20000 /* of one signer */
#define AGAIN_MAX    2     /* times that a request is read again at once after it was changed meanwhile */
#define BACKDATE_S   60    /* the API server refuses what is 5 minutes or more from its own clock */
#define WHAT         "pod certificates"

/* One request, as it was when it was looked at last. */
struct seen {
    char *path; /* NAMESPACE/NAME */
    char *version;
    bool done; /* it has its result, as of this version */
    struct cfr_backoff backoff;
    int64_t next_boot_ms;
};

enum step { REST, LISTING, READING, WRITING };

/* One entry of the configuration. */
struct entry {
    struct cfr_service_ca_pod_signer *all;
    const struct cfr_k8s_pod_policy *config;
    enum step step;
    bool beta;     /* the API server knows this version of the kind */
    bool switched; /* to it, or from it, in this pass */
    struct cfr_kube_call *call;
    struct cfr_secret body; /* of the call */
    char *next;             /* the list's next page */
    struct seen *found;     /* by the list under way */
    size_t found_count;
    struct seen *seen; /* by the last list, by their paths */
    size_t count;
    size_t at;  /* the request that is looked at */
    int again;  /* times that it was read again */
    bool older; /* it is read by v1beta1, which alone shows its key */
    struct cfr_k8s_pod_cert request;
    char *denied; /* what the call writes: why, NULL = a certificate */
    char names[256];
    struct cfr_err failed; /* the first failure of this pass; code 0 = none */
    int64_t retry_after_s;
    struct cfr_backoff backoff; /* of the list */
    struct cfr_log_once logged;
    char *error;
    int error_code;
    int64_t last_s;
    bool looked; /* a pass has ended */
    uint64_t issued;
    uint64_t denied_count;
    int64_t next_boot_ms;
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

static void free_seen(struct seen **list, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        free((*list)[i].path);
        free((*list)[i].version);
    }
    free(*list);
    *list = NULL;
    *count = 0;
}

void cfr_service_ca_pod_signer_close(struct cfr_service_ca_pod_signer *s)
{
    if (s == NULL)
        return;
    for (size_t k = 0; s->entries != NULL && k < s->count; k++) {
        struct entry *e = &s->entries[k];

        cfr_kube_cancel(e->call);
        cfr_secret_free(&e->body);
        cfr_k8s_pod_cert_free(&e->request);
        free_seen(&e->found, &e->found_count);
        free_seen(&e->seen, &e->count);
        free(e->next);
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

/* ---- a pass ---- */

static void note_failure(struct entry *e, const struct cfr_err *err, int64_t retry_after_s)
{
    if (e->failed.code != 0)
        return;
    e->failed = *err;
    e->retry_after_s = retry_after_s;
    if (e->step != LISTING && e->at < e->count)
        (void)cfr_err_prefix(&e->failed, "%s", e->seen[e->at].path);
    (void)cfr_err_prefix(&e->failed, "%s", e->config->signer);
}

/* A request that failed before, and waits for its turn. */
static bool has_waiting(const struct entry *e)
{
    for (size_t i = 0; i < e->count; i++) {
        if (!e->seen[i].done && e->seen[i].backoff.failures != 0)
            return true;
    }
    return false;
}

static void end_pass(struct entry *e)
{
    bool listed = e->step != LISTING;
    struct cfr_now now = cfr_clock_now();

    e->step = REST;
    e->looked = true;
    e->last_s = now.wall_ms / 1000;
    e->next_boot_ms = now.boot_ms + LOOK_MS;
    if (listed)
        e->backoff = (struct cfr_backoff){0};
    if (e->failed.code == 0) {
        if (has_waiting(e))
            return;
        free(e->error);
        e->error = NULL;
        e->logged = (struct cfr_log_once){0};
        return;
    }
    free(e->error);
    e->error = strdup(e->failed.text);
    e->error_code = e->failed.code;
    if (cfr_log_once_is_news(&e->logged, &e->failed))
        cfr_log(CFR_LOG_ERROR, LOG_NAME, NULL, WHAT " of %s [%s, %s]", e->failed.text, cfr_err_name(e->failed.code),
                cfr_err_class_name(cfr_err_class(e->failed.code)));
    if (!listed) {
        struct cfr_backoff_cause cause = {
            .class = cfr_err_class(e->failed.code), .retry_after_s = e->retry_after_s, .max_ms = PAUSE_MAX_MS};

        e->next_boot_ms = now.boot_ms + cfr_backoff_failed(&e->backoff, &cause, cfr_clock_chance());
    }
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer);

static int ask(struct entry *e, enum step step, struct cfr_err *err)
{
    char path[CFR_K8S_POD_CERT_PATH_MAX];
    const struct cfr_k8s_pod_cert *r = &e->request;
    struct cfr_kube_where at = {e->config->kubeconfig, e->config->context};
    struct cfr_kube_request request = {
        .method = step == WRITING ? "PUT" : "GET",
        .path = path,
        .accept = step == LISTING ? CFR_K8S_POD_CERT_LIST_ACCEPT : NULL,
        .content_type = step == WRITING ? "application/json" : NULL,
        .body = step == WRITING ? &e->body : NULL,
        .answer_max = step == LISTING ? CFR_K8S_POD_CERT_LIST_MAX : CFR_K8S_POD_CERT_ANSWER_MAX,
    };
    bool beta = e->beta || (e->older && step != LISTING);
    bool named;

    e->step = step;
    if (step == LISTING) {
        named = cfr_k8s_pod_cert_list_path(beta, e->config->signer, e->next, path);
    } else if (step == WRITING) {
        named = cfr_k8s_pod_cert_path(beta, r->namespace_name, r->name, true, path);
    } else {
        const char *of = e->seen[e->at].path;
        size_t n = strcspn(of, "/");
        char space[CFR_K8S_LABEL_MAX + 1];

        (void)snprintf(space, sizeof space, "%.*s", (int)n, of);
        named = cfr_k8s_pod_cert_path(beta, space, of + n + 1, false, path);
    }
    if (!named)
        return cfr_err_set(err, CFR_E_ANSWER, "the API server named an object that cannot be one");
    return cfr_kube_start(e->all->kube, &at, &request, on_answer, e, &e->call, err);
}

static void fail_request(struct entry *e, const struct cfr_err *err, int64_t retry_after_s)
{
    struct seen *s = &e->seen[e->at];
    struct cfr_backoff_cause cause = {
        .class = cfr_err_class(err->code), .retry_after_s = retry_after_s, .max_ms = PAUSE_MAX_MS};

    note_failure(e, err, retry_after_s);
    s->next_boot_ms = cfr_clock_now().boot_ms + cfr_backoff_failed(&s->backoff, &cause, cfr_clock_chance());
}

/* Asks for the next request that has no result yet, or ends the pass. */
static void look_at_next(struct entry *e)
{
    int64_t now = cfr_clock_now().boot_ms;
    struct cfr_err err = {0};

    cfr_k8s_pod_cert_free(&e->request);
    cfr_secret_clear(&e->body);
    e->again = 0;
    e->older = false;
    for (; e->at < e->count; e->at++) {
        if (e->seen[e->at].done || e->seen[e->at].next_boot_ms > now)
            continue;
        if (ask(e, READING, &err) == 0)
            return;
        fail_request(e, &err, -1);
    }
    end_pass(e);
}

static void go_on(struct entry *e)
{
    e->at++;
    look_at_next(e);
}

static void finish_request(struct entry *e)
{
    e->seen[e->at].done = true;
    e->seen[e->at].backoff = (struct cfr_backoff){0};
    go_on(e);
}

/* ---- the list ---- */

static int add_found(void *ctx, struct cfr_view namespace_name, struct cfr_view name, struct cfr_view version,
                     struct cfr_err *err)
{
    struct entry *e = ctx;
    struct cfr_str path = {.limit = CFR_K8S_LABEL_MAX + CFR_K8S_NAME_MAX + 2};
    struct seen *list;
    struct seen *one;

    if (e->found_count == REQUESTS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "it has more than %d requests", REQUESTS_MAX);
    cfr_str_add(&path, namespace_name);
    cfr_str_addz(&path, "/");
    cfr_str_add(&path, name);
    if (path.failed || namespace_name.n == 0 || name.n == 0) {
        cfr_str_free(&path);
        return cfr_err_set(err, CFR_E_ANSWER, "the API server's answer has an object without a name");
    }
    list = realloc(e->found, (e->found_count + 1) * sizeof *list);
    if (list != NULL)
        e->found = list;
    one = list != NULL ? &list[e->found_count] : NULL;
    if (one == NULL) {
        cfr_str_free(&path);
        return cfr_err_nomem(err);
    }
    *one = (struct seen){.path = path.p, .version = cfr_str_dup(version)};
    e->found_count++;
    return one->version != NULL ? 0 : cfr_err_nomem(err);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct seen *)a)->path, ((const struct seen *)b)->path);
}

/* What was found becomes what is seen, with what is known of those that are as they were. */
static void take_found(struct entry *e)
{
    if (e->found_count != 0)
        qsort(e->found, e->found_count, sizeof *e->found, compare_paths);
    for (size_t i = 0; e->count != 0 && i < e->found_count; i++) {
        struct seen *now = &e->found[i];
        const struct seen *old = bsearch(now, e->seen, e->count, sizeof *e->seen, compare_paths);

        if (old == NULL || strcmp(old->version, now->version) != 0)
            continue;
        now->done = old->done;
        now->backoff = old->backoff;
        now->next_boot_ms = old->next_boot_ms;
    }
    free_seen(&e->seen, &e->count);
    e->seen = e->found;
    e->count = e->found_count;
    e->found = NULL;
    e->found_count = 0;
}

static int after_list(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    char *next = NULL;
    int rc = cfr_k8s_pod_cert_read_list(answer->body, add_found, e, &next, err);

    free(e->next);
    e->next = next;
    if (rc == 0 && next != NULL)
        return ask(e, LISTING, err);
    /* Above the limit those that were found get their results, at least. */
    if (rc != 0 && rc != CFR_E_LIMIT)
        return rc;
    if (rc == CFR_E_LIMIT)
        note_failure(e, err, -1);
    take_found(e);
    e->at = 0;
    e->step = READING;
    look_at_next(e);
    return 0;
}

static int after_unknown(struct entry *e, struct cfr_err *err)
{
    if (e->switched)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "this API server has no PodCertificateRequests: they need its feature gate "
                           "PodCertificateRequest and the API certificates.k8s.io/v1beta1 (--runtime-config), or a "
                           "later version");
    e->switched = true;
    e->beta = !e->beta;
    return ask(e, LISTING, err);
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

static int after_read(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    const char *path = e->seen[e->at].path;
    size_t n = strcspn(path, "/");
    char space[CFR_K8S_LABEL_MAX + 1];
    int rc;

    (void)snprintf(space, sizeof space, "%.*s", (int)n, path);
    cfr_k8s_pod_cert_free(&e->request);
    rc = cfr_k8s_pod_cert_read(answer->body, e->config->signer, space, path + n + 1, &e->request, err);
    if (rc != 0)
        return rc;
    if (e->request.decided) {
        finish_request(e);
        return 0;
    }
    if (!e->beta && !e->older && e->request.request.len == 0 && e->request.public_key.len == 0) {
        e->older = true;
        return ask(e, READING, err);
    }
    return answer_request(e, err);
}

static void after_write(struct entry *e)
{
    const struct cfr_k8s_pod_cert *r = &e->request;

    if (e->denied != NULL) {
        e->denied_count++;
        cfr_log(CFR_LOG_WARN, LOG_NAME, NULL, "pod certificate of %s/%s (service account %s, signer %s) was denied: %s",
                r->namespace_name, r->pod, r->service_account, e->config->signer, e->denied);
    } else {
        e->issued++;
        cfr_log(CFR_LOG_INFO, LOG_NAME, NULL, "pod certificate of %s/%s (service account %s, signer %s) was issued: %s",
                r->namespace_name, r->pod, r->service_account, e->config->signer, e->names);
    }
    finish_request(e);
}

static int refuse(struct entry *e, const struct cfr_kube_answer *answer, int64_t *retry_after_s, struct cfr_err *err)
{
    struct cfr_k8s_asked asked = {
        .what = "a pod's certificate",
        .verb = e->step == LISTING   ? "list"
                : e->step == READING ? "get"
                                     : "update",
        .resource = e->step == WRITING ? CFR_K8S_POD_CERT_RESOURCE "/status.certificates.k8s.io"
                                       : CFR_K8S_POD_CERT_RESOURCE ".certificates.k8s.io",
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };

    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

/* Another program has changed or answered it, or the pod is gone: it is read again, and never overwritten. */
static bool look_again(struct entry *e, long status)
{
    struct cfr_err err = {0};

    if (status == 404 && e->step != LISTING && !e->older) {
        go_on(e);
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
        rc = e->step == LISTING
                 ? after_unknown(e, &err)
                 : cfr_err_set(&err, CFR_E_CONFIG,
                               "its key is in the form of certificates.k8s.io/v1beta1, which this API server does not "
                               "serve (--runtime-config)");
    else if (rc == 0 && answer->status != 200 && answer->status != 201)
        rc = refuse(e, answer, &retry_after_s, &err);
    else if (rc == 0 && e->step == WRITING)
        after_write(e);
    else if (rc == 0)
        rc = e->step == LISTING ? after_list(e, answer, &err) : after_read(e, answer, &err);
    if (rc == 0)
        return;
    if (e->step == LISTING) {
        note_failure(e, &err, retry_after_s);
        end_pass(e);
    } else {
        fail_request(e, &err, retry_after_s);
        go_on(e);
    }
}

static void begin_pass(struct entry *e)
{
    struct cfr_err err = {0};

    e->failed = (struct cfr_err){0};
    e->retry_after_s = -1;
    e->switched = false;
    free_seen(&e->found, &e->found_count);
    free(e->next);
    e->next = NULL;
    if (ask(e, LISTING, &err) != 0) {
        note_failure(e, &err, -1);
        end_pass(e);
    }
}

/* ---- the loop's side ---- */

void cfr_service_ca_pod_signer_step(struct cfr_service_ca_pod_signer *s, struct cfr_service_ca *ca, struct cfr_now now)
{
    uint64_t mark;

    if (s == NULL)
        return;
    s->ca = ca;
    s->ready = cfr_service_ca_fingerprint(ca, now, &mark, NULL) == 0;
    for (size_t k = 0; s->ready && k < s->count; k++) {
        struct entry *e = &s->entries[k];

        if (e->step == REST && e->next_boot_ms <= now.boot_ms)
            begin_pass(e);
    }
}

int64_t cfr_service_ca_pod_signer_deadline(const struct cfr_service_ca_pod_signer *s)
{
    int64_t at = INT64_MAX;

    for (size_t k = 0; s != NULL && s->ready && k < s->count; k++) {
        if (s->entries[k].step == REST && s->entries[k].next_boot_ms < at)
            at = s->entries[k].next_boot_ms;
    }
    return at;
}

bool cfr_service_ca_pod_signer_is_busy(const struct cfr_service_ca_pod_signer *s)
{
    for (size_t k = 0; s != NULL && s->ready && k < s->count; k++) {
        const struct entry *e = &s->entries[k];
        bool waits = e->error != NULL && cfr_err_class(e->error_code) != CFR_CLASS_STOP;

        if (!e->looked || e->step != REST || waits)
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
