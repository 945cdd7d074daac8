/* SPDX-License-Identifier: MIT */
/* The CA bundle in objects of the cluster: for each entry of the configuration, one request at a time. */
#include "agent/pki/service_ca_injector_private.h"

#include "agent/config/schema.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "agent/pki/service_ca_owner_private.h"
#include "base/log.h"
#include "files/format/format.h"
#include "kube/ca_bundle.h"
#include "kube/secret_apply.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_NAME "service-ca"
#define LOOK_MS  60000
/* From the creation of an object until it is ours if it still has our mark: another agent may have created it at the
 * same time. One that found it created after it had found none replaced the other one's, which notices at its next
 * look. */
#define CONFIRM_MS  2000
#define OVERTAKE_MS (2 * LOOK_MS)
#define SHOWN_MAX   320
#define PAGES_MAX   1000 /* of a list */
#define FEWER       4    /* after a page that is too large, the next request is for so many times fewer objects */

/* One object, as it was when its field had been set last. */
struct place {
    char *name;
    char version[CFR_K8S_CA_TEXT_MAX]; /* empty = not yet in this run */
    uint64_t mark;                     /* of the bundle in it */
    bool same;                         /* as it was, by the list */
    bool ours;                         /* no other agent has claimed it, as of the last look */
    int64_t confirm_boot_ms;           /* not ours before; 0 = it was not created */
};

enum step { REST, LISTING, READING, APPLYING };

/* One entry of the configuration. */
struct entry {
    struct cfr_service_ca_injector *all;
    const struct cfr_config_ca_inject *config;
    char shown[SHOWN_MAX];
    enum step step;
    bool beta;     /* the API server knows this version of the kind */
    bool switched; /* to it, or from it, in this pass */
    struct cfr_kube_call *call;
    struct cfr_secret body;   /* of the call */
    struct cfr_strings found; /* by the list under way */
    struct cfr_strings found_versions;
    char *next;    /* its next page */
    int pages;     /* that were read */
    unsigned page; /* objects of one */
    struct place *places;
    size_t count;
    size_t at; /* the place that is looked at */
    struct cfr_k8s_ca_object object;
    struct cfr_err failed; /* the first failure of this pass; code 0 = none */
    int64_t retry_after_s;
    bool wrote;         /* in this pass */
    uint64_t body_mark; /* of the bundle in BODY */
    uint64_t pass_mark; /* of the bundle when the last pass began */
    struct cfr_backoff backoff;
    struct cfr_log_once logged;
    char *error;
    int error_code;
    int64_t last_s;
    uint64_t passes_ok;
    uint64_t passes_failed;
    int64_t next_boot_ms;
};

struct cfr_service_ca_injector {
    struct cfr_config_service_ca config; /* a copy */
    struct cfr_kube *kube;
    struct cfr_service_ca *ca; /* borrowed, as of the last step */
    struct entry *entries;
    struct cfr_api_status_hook *status;
    size_t count;
    uint64_t mark; /* of the bundle; 0 = there is none yet */
    struct cfr_str bundle;
};

static struct cfr_kube_where where(const struct entry *e)
{
    return (struct cfr_kube_where){e->config->kubeconfig, e->config->context};
}

static enum cfr_k8s_ca_kind kind_of(const struct entry *e)
{
    return (enum cfr_k8s_ca_kind)e->config->kind;
}

/* ---- opening ---- */

static void free_places(struct entry *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->places[i].name);
    free(e->places);
    e->places = NULL;
    e->count = 0;
}

void cfr_service_ca_injector_close(struct cfr_service_ca_injector *i)
{
    if (i == NULL)
        return;
    for (size_t k = 0; i->entries != NULL && k < i->count; k++) {
        struct entry *e = &i->entries[k];

        cfr_kube_cancel(e->call);
        cfr_secret_free(&e->body);
        cfr_k8s_ca_free_names(&e->found);
        cfr_k8s_ca_free_names(&e->found_versions);
        cfr_k8s_ca_object_free(&e->object);
        free_places(e);
        free(e->next);
        free(e->error);
    }
    free(i->entries);
    free(i->status);
    cfr_str_free(&i->bundle);
    cfr_field_free(&cfr_config_service_ca_table, &i->config);
    free(i);
}

/* Makes the places NAMES, with what is known of those that were there before. VERSIONS: as they were listed; NULL: they
 * were not. */
static int set_places(struct entry *e, const struct cfr_strings *names, const struct cfr_strings *versions,
                      struct cfr_err *err)
{
    struct place *places = calloc(names->count + 1, sizeof *places);

    if (places == NULL)
        return cfr_err_nomem(err);
    for (size_t i = 0; i < names->count; i++) {
        for (size_t k = 0; k < e->count; k++) {
            if (strcmp(e->places[k].name, names->items[i]) == 0)
                places[i] = e->places[k];
        }
        places[i].name = strdup(names->items[i]);
        places[i].same =
            versions != NULL && places[i].version[0] != '\0' && strcmp(places[i].version, versions->items[i]) == 0;
    }
    free_places(e);
    e->places = places;
    e->count = names->count;
    for (size_t i = 0; i < names->count; i++) {
        if (places[i].name == NULL) {
            e->count = i;
            return cfr_err_nomem(err);
        }
    }
    return 0;
}

static int open_entry(struct cfr_service_ca_injector *i, size_t index, struct cfr_err *err)
{
    struct entry *e = &i->entries[index];
    const struct cfr_config_ca_inject *c = (const struct cfr_config_ca_inject *)i->config.inject.items + index;
    struct cfr_strings one = {(char **)(void *)(uintptr_t)&c->name, 1};

    *e = (struct entry){.all = i, .config = c};
    cfr_secret_init(&e->body, CFR_K8S_CA_BODY_MAX);
    if (c->name == NULL)
        (void)snprintf(e->shown, sizeof e->shown, "annotated objects of the kind %s", cfr_k8s_ca_kinds[c->kind]);
    else
        (void)snprintf(e->shown, sizeof e->shown, "%s %s", cfr_k8s_ca_kinds[c->kind], c->name);
    return c->name != NULL ? set_places(e, &one, NULL, err) : 0;
}

int cfr_service_ca_injector_configure(struct cfr_service_ca_injector **i, const struct cfr_config *config,
                                      struct cfr_kube *kube, struct cfr_err *err)
{
    const struct cfr_config_service_ca *c = config->service_ca;
    struct cfr_service_ca_injector *next = NULL;
    int rc = 0;

    if (c != NULL && c->inject.count != 0) {
        next = calloc(1, sizeof *next);
        if (next == NULL)
            return cfr_err_nomem(err);
        *next = (struct cfr_service_ca_injector){
            .kube = kube,
            .entries = calloc(c->inject.count, sizeof *next->entries),
            .status = calloc(c->inject.count, sizeof *next->status),
            .bundle = {.limit = CFR_K8S_CA_BODY_MAX / 2},
        };
        if (next->entries == NULL || next->status == NULL) {
            cfr_service_ca_injector_close(next);
            return cfr_err_nomem(err);
        }
        rc = cfr_field_copy(&cfr_config_service_ca_table, c, &next->config, err);
        for (; rc == 0 && next->count < c->inject.count; next->count++)
            rc = open_entry(next, next->count, err);
    }
    if (rc != 0) {
        cfr_service_ca_injector_close(next);
        return rc;
    }
    cfr_service_ca_injector_close(*i);
    *i = next;
    return 0;
}

/* ---- a pass ---- */

static void note_failure(struct entry *e, const struct cfr_err *err, int64_t retry_after_s)
{
    const char *name = e->step != LISTING && e->config->name == NULL && e->at < e->count ? e->places[e->at].name : NULL;

    if (e->failed.code != 0)
        return;
    e->failed = *err;
    e->retry_after_s = retry_after_s;
    if (name != NULL)
        (void)cfr_err_prefix(&e->failed, "%s", name);
    (void)cfr_err_prefix(&e->failed, "%s", e->shown);
}

/* Boot time of the look that tells whether the one object that E created is still ours; INT64_MAX: none. */
static int64_t confirmed_at(const struct entry *e)
{
    const struct place *p = e->config->name != NULL && e->count != 0 ? &e->places[0] : NULL;

    return p != NULL && !p->ours && p->confirm_boot_ms != 0 ? p->confirm_boot_ms : INT64_MAX;
}

static void end_pass(struct entry *e)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_backoff_cause cause = {
        .class = cfr_err_class(e->failed.code), .retry_after_s = e->retry_after_s, .max_ms = CFR_KUBE_PAUSE_MAX_MS};

    e->step = REST;
    e->last_s = now.wall_ms / 1000;
    free(e->error);
    e->error = NULL;
    if (e->failed.code == 0) {
        e->passes_ok++;
        e->backoff = (struct cfr_backoff){0};
        e->logged = (struct cfr_log_once){0};
        e->next_boot_ms = now.boot_ms + (e->pass_mark == e->all->mark ? LOOK_MS : 0);
        if (confirmed_at(e) < e->next_boot_ms)
            e->next_boot_ms = confirmed_at(e);
        return;
    }
    e->passes_failed++;
    e->error = strdup(e->failed.text);
    e->error_code = e->failed.code;
    if (cfr_log_once_is_news(&e->logged, &e->failed))
        cfr_log(CFR_LOG_ERROR, LOG_NAME, NULL, "caBundle of %s [%s, %s]", e->failed.text, cfr_err_name(e->failed.code),
                cfr_err_class_name(cause.class));
    e->next_boot_ms = now.boot_ms + cfr_backoff_failed(&e->backoff, &cause, cfr_clock_chance());
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer);

static int ask(struct entry *e, enum step step, struct cfr_err *err)
{
    const char *name = step == LISTING ? NULL : e->places[e->at].name;
    char path[CFR_K8S_CA_PATH_MAX];
    struct cfr_kube_where at = where(e);
    struct cfr_kube_request request = {
        .method = step == APPLYING ? "PATCH" : "GET",
        .path = path,
        .accept = cfr_k8s_ca_accept(kind_of(e), step == LISTING),
        .content_type = step == APPLYING ? CFR_K8S_SECRET_APPLY_TYPE : NULL,
        .body = step == APPLYING ? &e->body : NULL,
        .answer_max = CFR_K8S_CA_ANSWER_MAX,
    };

    e->step = step;
    if (name == NULL ? !cfr_k8s_ca_list_path(kind_of(e), e->page, e->next, path)
                     : !cfr_k8s_ca_path(kind_of(e), e->beta, name, step == APPLYING, path))
        return cfr_err_set(err, CFR_E_ANSWER, "the API server named an object that cannot be one");
    return cfr_kube_start(e->all->kube, &at, &request, on_answer, e, &e->call, err);
}

/* True if an entry of its own is about the object NAME of this cluster, which then is not that of the annotation. */
static bool is_named_elsewhere(const struct entry *e, const char *name)
{
    for (size_t i = 0; i < e->all->count; i++) {
        const struct cfr_config_ca_inject *c = e->all->entries[i].config;

        if (c->kind == e->config->kind && cfr_view_same(c->name, name) &&
            cfr_view_same(c->kubeconfig, e->config->kubeconfig) && cfr_view_same(c->context, e->config->context))
            return true;
    }
    return false;
}

/* Asks for the next place of the pass that needs it, or ends the pass. */
static void look_at_next(struct entry *e)
{
    struct cfr_err err = {0};

    for (; e->at < e->count; e->at++) {
        if (e->config->name == NULL && is_named_elsewhere(e, e->places[e->at].name))
            continue;
        if (e->places[e->at].same && e->places[e->at].mark == e->all->mark)
            continue;
        if (ask(e, READING, &err) == 0)
            return;
        note_failure(e, &err, -1);
    }
    end_pass(e);
}

static void go_on(struct entry *e)
{
    cfr_k8s_ca_object_free(&e->object);
    cfr_secret_clear(&e->body);
    e->at++;
    look_at_next(e);
}

static int list_from_start(struct entry *e, unsigned page, struct cfr_err *err)
{
    e->page = page;
    e->pages = 0;
    cfr_k8s_ca_free_names(&e->found);
    cfr_k8s_ca_free_names(&e->found_versions);
    free(e->next);
    e->next = NULL;
    return ask(e, LISTING, err);
}

static int after_list(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    char *next = NULL;
    int rc = cfr_k8s_ca_read_list(answer->body, &e->found, &e->found_versions, &next, err);

    free(e->next);
    e->next = next;
    if (rc == 0 && next != NULL && ++e->pages >= PAGES_MAX)
        rc = cfr_err_set(err, CFR_E_LIMIT, "the list has no end after %d parts", PAGES_MAX);
    if (rc == 0 && next != NULL)
        return ask(e, LISTING, err);
    if (rc == 0)
        rc = set_places(e, &e->found, &e->found_versions, err);
    cfr_k8s_ca_free_names(&e->found);
    cfr_k8s_ca_free_names(&e->found_versions);
    if (rc != 0)
        return rc;
    e->at = 0;
    look_at_next(e);
    return 0;
}

/* Nothing has touched it since the field was set: nothing is written. */
static bool is_as_it_was(const struct entry *e)
{
    const struct place *p = &e->places[e->at];

    return p->mark == e->all->mark && strcmp(p->version, e->object.version) == 0;
}

static int apply_bundle(struct entry *e, struct cfr_err *err)
{
    struct cfr_k8s_ca_content content = {cfr_str_view(&e->all->bundle), cfr_service_ca_key_id(e->all->ca)};
    int rc;

    cfr_secret_clear(&e->body);
    e->body_mark = e->all->mark;
    rc = cfr_k8s_ca_body(kind_of(e), e->beta, e->places[e->at].name, &e->object, &e->config->webhooks, &content,
                         &e->body, err);
    return rc != 0 ? rc : ask(e, APPLYING, err);
}

/* Refuses an object that another CA has marked as its own: two agents would replace each other's bundle. */
static int check_owner(struct entry *e, struct cfr_err *err)
{
    struct place *p = &e->places[e->at];

    e->object.owned = cfr_service_ca_has_key(e->all->ca, e->object.owner);
    if (e->object.owned) {
        p->ours = cfr_clock_now().boot_ms >= p->confirm_boot_ms;
        return 0;
    }
    p->ours = false;
    p->confirm_boot_ms = 0;
    if (e->object.owner[0] == '\0')
        return 0;
    return cfr_err_set(
        err, CFR_E_CONFLICT,
        "it has the bundle of another service CA, with the key id %.40s; this agent's is %s. Agents that "
        "share an object need one store: stop one of them, or publish to another object. If that CA no "
        "longer exists, remove the annotation " CFR_K8S_CA_OWNER " from the object",
        e->object.owner, cfr_service_ca_key_id(e->all->ca));
}

static int after_read(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    bool no_webhooks;
    int rc;

    cfr_k8s_ca_object_free(&e->object);
    rc = cfr_k8s_ca_read(kind_of(e), e->places[e->at].name, answer->body, &e->object, err);
    if (rc == 0)
        rc = check_owner(e, err);
    if (rc != 0)
        return rc;
    no_webhooks = cfr_k8s_ca_has_webhooks(kind_of(e)) && e->object.webhooks.count == 0;
    if (is_as_it_was(e) || (no_webhooks && e->config->webhooks.count == 0)) {
        go_on(e);
        return 0;
    }
    return apply_bundle(e, err);
}

/* A ClusterTrustBundle is made, by the version of the API that there is; of every other kind an object is waited for.
 */
static int after_absence(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    if (kind_of(e) != CFR_K8S_CA_TRUST_BUNDLE)
        return cfr_err_set(err, CFR_E_MISSING, "there is no such object yet");
    if (!cfr_k8s_ca_is_unknown(e->places[e->at].name, answer->body)) {
        e->object = (struct cfr_k8s_ca_object){.webhooks = {NULL, 0}};
        e->places[e->at].ours = false;
        return apply_bundle(e, err);
    }
    if (e->switched)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "this API server has no ClusterTrustBundles: they need its feature gate ClusterTrustBundle "
                           "and the API certificates.k8s.io/v1beta1 (--runtime-config), or a later version");
    e->switched = true;
    e->beta = !e->beta;
    return ask(e, READING, err);
}

static int after_apply(struct entry *e, const struct cfr_kube_answer *answer, struct cfr_err *err)
{
    struct place *p = &e->places[e->at];
    struct cfr_k8s_ca_object now;
    bool first = p->version[0] == '\0';
    int rc = cfr_k8s_ca_read(kind_of(e), p->name, answer->body, &now, err);

    if (rc != 0)
        return rc;
    if (strcmp(now.version, e->object.version) != 0)
        cfr_log(CFR_LOG_INFO, LOG_NAME, NULL, "caBundle of %s %s %s", cfr_k8s_ca_kinds[e->config->kind], p->name,
                first || p->mark != e->body_mark ? "was set" : "was changed by another program, and is set again");
    p->mark = e->body_mark;
    memcpy(p->version, now.version, sizeof p->version);
    if (e->object.version[0] != '\0')
        p->ours = p->ours || !e->object.owned;
    else
        p->confirm_boot_ms = cfr_clock_now().boot_ms + (answer->status == 201 ? CONFIRM_MS : OVERTAKE_MS);
    cfr_k8s_ca_object_free(&now);
    go_on(e);
    return 0;
}

static int refuse(struct entry *e, const struct cfr_kube_answer *answer, int64_t *retry_after_s, struct cfr_err *err)
{
    char signer[CFR_K8S_NAME_MAX + 1];
    struct cfr_k8s_asked asked = {
        .what = "caBundle",
        .verb = e->step == LISTING   ? "list"
                : e->step == READING ? "get"
                                     : "patch",
        .resource = cfr_k8s_ca_resource(kind_of(e)),
        .name = e->step == LISTING ? NULL : e->places[e->at].name,
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };

    if (kind_of(e) == CFR_K8S_CA_TRUST_BUNDLE && asked.name != NULL) {
        cfr_k8s_ca_signer(asked.name, signer);
        asked.signer = signer;
    }
    return cfr_k8s_refusal(answer->status, answer->body, &asked, retry_after_s, err);
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct entry *e = ctx;
    struct cfr_err err = answer->err;
    int64_t retry_after_s = answer->retry_after_s;
    int rc = answer->error;

    e->call = NULL;
    if (rc == 0 && answer->status == 404 && e->step == READING)
        rc = after_absence(e, answer, &err);
    else if (rc == 0 && answer->status != 200 && answer->status != 201)
        rc = refuse(e, answer, &retry_after_s, &err);
    else if (rc == 0)
        rc = e->step == LISTING   ? after_list(e, answer, &err)
             : e->step == READING ? after_read(e, answer, &err)
                                  : after_apply(e, answer, &err);
    if (rc == CFR_E_LIMIT && e->step == LISTING && e->page > 1)
        rc = list_from_start(e, e->page > FEWER ? e->page / FEWER : 1, &err);
    if (rc == 0)
        return;
    if (rc == CFR_E_CONFLICT && e->step != LISTING)
        e->places[e->at].ours = false;
    note_failure(e, &err, retry_after_s);
    if (e->step == LISTING)
        end_pass(e);
    else
        go_on(e);
}

static void begin_pass(struct entry *e)
{
    struct cfr_err err = {0};

    e->failed = (struct cfr_err){0};
    e->retry_after_s = -1;
    e->switched = false;
    e->at = 0;
    e->pass_mark = e->all->mark;
    if (e->config->name != NULL) {
        look_at_next(e);
    } else if (list_from_start(e, kind_of(e) == CFR_K8S_CA_CONFIG_MAP ? CFR_K8S_CA_PAGE_MANY : CFR_K8S_CA_PAGE, &err) !=
               0) {
        note_failure(e, &err, -1);
        end_pass(e);
    }
}

/* ---- the loop's side ---- */

/* The bundle as it is now; what is under way with the one before ends first. Where memory is short the one before
 * stays, and the next step tries again. */
static void follow_bundle(struct cfr_service_ca_injector *i, struct cfr_service_ca *ca, struct cfr_now now)
{
    static const struct cfr_service_ca_issued bundle = {.ca_bundle = true};
    struct cfr_str next = {.limit = i->bundle.limit};
    struct cfr_grant grant = {0};
    uint64_t mark = 0;

    if (cfr_service_ca_fingerprint(ca, now, &mark, NULL) != 0 || mark == i->mark)
        return;
    if (cfr_service_ca_grant(ca, &bundle, now, &grant, NULL) == 0)
        cfr_str_add(&next, cfr_grant_get(&grant, CFR_FIELD_SERVICE_BUNDLE));
    cfr_grant_free(&grant);
    if (next.failed || next.len == 0) {
        cfr_str_free(&next);
        return;
    }
    cfr_str_free(&i->bundle);
    i->bundle = next;
    i->mark = mark;
    for (size_t k = 0; k < i->count; k++)
        i->entries[k].next_boot_ms = now.boot_ms;
}

void cfr_service_ca_injector_step(struct cfr_service_ca_injector *i, struct cfr_service_ca *ca, struct cfr_now now)
{
    if (i == NULL)
        return;
    i->ca = ca;
    follow_bundle(i, ca, now);
    for (size_t k = 0; i->mark != 0 && k < i->count; k++) {
        struct entry *e = &i->entries[k];

        if (e->step == REST && e->next_boot_ms <= now.boot_ms)
            begin_pass(e);
    }
}

void cfr_service_ca_injector_resume(struct cfr_service_ca_injector *i, const struct cfr_kube_where *at,
                                    struct cfr_now now)
{
    for (size_t k = 0; i != NULL && k < i->count; k++) {
        struct entry *e = &i->entries[k];
        const struct cfr_kube_where own = where(e);

        if (e->backoff.failures == 0 || !cfr_kube_where_is(&own, at))
            continue;
        e->backoff = (struct cfr_backoff){0};
        e->next_boot_ms = now.boot_ms;
    }
}

int64_t cfr_service_ca_injector_deadline(const struct cfr_service_ca_injector *i)
{
    int64_t at = INT64_MAX;

    for (size_t k = 0; i != NULL && i->mark != 0 && k < i->count; k++) {
        if (i->entries[k].step == REST && i->entries[k].next_boot_ms < at)
            at = i->entries[k].next_boot_ms;
    }
    return at;
}

static bool is_final(int code)
{
    return code == CFR_E_CONFLICT || cfr_err_class(code) == CFR_CLASS_STOP;
}

bool cfr_service_ca_injector_is_busy(const struct cfr_service_ca_injector *i)
{
    for (size_t k = 0; i != NULL && i->mark != 0 && k < i->count; k++) {
        const struct entry *e = &i->entries[k];
        bool waits = e->failed.code != 0 && !is_final(e->failed.code);

        if (e->step != REST || e->pass_mark != i->mark || waits || (e->error == NULL && confirmed_at(e) != INT64_MAX))
            return true;
    }
    return false;
}

bool cfr_service_ca_injector_is_failing(const struct cfr_service_ca_injector *i)
{
    for (size_t k = 0; i != NULL && k < i->count; k++) {
        if (i->entries[k].error != NULL)
            return true;
    }
    return false;
}

static bool is_of_signer(const struct entry *e, const char *signer, const struct cfr_kube_where *at)
{
    char own[CFR_K8S_NAME_MAX + 1];

    if (kind_of(e) != CFR_K8S_CA_TRUST_BUNDLE || !cfr_view_same(e->config->kubeconfig, at->kubeconfig) ||
        !cfr_view_same(e->config->context, at->context))
        return false;
    cfr_k8s_ca_signer(e->config->name, own);
    return strcmp(own, signer) == 0;
}

int cfr_service_ca_injector_may_sign(const struct cfr_service_ca_injector *i, const char *signer,
                                     const struct cfr_kube_where *at, struct cfr_err *err)
{
    for (size_t k = 0; i != NULL && k < i->count; k++) {
        const struct entry *e = &i->entries[k];

        if (!is_of_signer(e, signer, at) || e->places[0].ours)
            continue;
        if (e->error != NULL && e->error_code == CFR_E_CONFLICT)
            return cfr_err_set(err, CFR_E_CONFLICT, "no certificates are issued, because they would not verify: %s",
                               e->error);
        /* Where bundles cannot be published, pods may get this one in another way. */
        if (e->error == NULL || !is_final(e->error_code))
            return cfr_err_set(err, CFR_E_UNAVAILABLE, "%s is not published yet", e->shown);
    }
    return 0;
}

void cfr_service_ca_injector_status(struct cfr_service_ca_injector *i, struct cfr_api_status_authority *out)
{
    for (size_t k = 0; i != NULL && k < i->count; k++) {
        const struct entry *e = &i->entries[k];

        i->status[k] = (struct cfr_api_status_hook){
            .name = e->shown,
            .result = e->error != NULL    ? "failed"
                      : e->passes_ok != 0 ? "ok"
                                          : "pending",
            .error = e->error,
            .last_run_s = e->last_s,
            .generation = e->error == NULL && e->pass_mark == i->mark ? out->number : 0,
            .runs_ok = e->passes_ok,
            .runs_failed = e->passes_failed,
        };
    }
    out->injected = i != NULL ? i->status : NULL;
    out->injected_count = i != NULL ? i->count : 0;
}
