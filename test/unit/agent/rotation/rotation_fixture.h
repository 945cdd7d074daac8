/* SPDX-License-Identifier: MIT */
/* Agents that rotate a key of a cloud, driven through the row of the source: with a fake clock, a fake loop, a fake
 * cloud that answers each request at the operation's level, and a fake Secret of a cluster. An agent publishes as a
 * worker does. Days pass in milliseconds. */
#ifndef CFR_TEST_ROTATION_FIXTURE_H
#define CFR_TEST_ROTATION_FIXTURE_H

#include "files_scratch.h"
#include "unit.h"

#include "agent/kube/client.h"
#include "agent/kube/watch.h"
#include "agent/publish/publisher.h"
#include "agent/publish/record.h"
#include "agent/rotation/rotated_key.h"
#include "agent/rotation/verify_private.h"
#include "base/json.h"
#include "rotation/found.h"
#include "base/log.h"
#include "rotation/providers.h"

#define START_MS  INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */
#define SECOND_MS INT64_C(1000)
#define KEYS_MAX  32
#define CALLS_MAX 8
#define AGENTS    2

struct fake_key {
    char id[16];
    char name[CFR_ROTATION_NAME_MAX];
    int64_t made_ms;
    bool exists;
    bool active;
    bool foreign; /* another user created it */
    bool hidden;  /* missing in lists */
};

/* What happens to the next requests for one operation. */
struct fake_fault {
    unsigned count;
    int rc;       /* of the answer; CFR_E_NET: none comes */
    bool done;    /* the cloud carries it out before that */
    bool may_not; /* CFR_E_DENIED: for a missing right */
    long status;  /* 0 = 200 */
};

struct fake_call {
    bool open;
    cfr_http_done_fn *http; /* or */
    cfr_kube_fn *kube;      /* or */
    cfr_source_exchange_fn *trial;
    void *ctx;
    enum cfr_rotation_op op;
    bool write;
    char *body;
};

struct agent {
    struct cfr_config_credential config;
    struct cfr_config_mint mint;
    void *key; /* the source's state; NULL = the agent is stopped */
    int state_fd;
    struct cfr_publish_record record;
    bool published_elsewhere; /* its targets have lost what was published */
    bool waiting;
    bool wanted;
    bool replace;
    bool failed;
    bool no_publish; /* its targets cannot take anything */
    struct cfr_err err;
    int64_t due_ms;
    int64_t retry_boot_ms;
    unsigned grants;
    unsigned answered; /* requests of an operator */
    bool adopted;      /* the published key is one */
    uint64_t mark;
};

static struct {
    struct cfr_now now;
    double chance;
    struct fake_key keys[KEYS_MAX];
    unsigned made;
    struct fake_fault faults[CFR_ROTATION_RIGHTS + 1];
    enum cfr_rotation_op op; /* of the request that was built last */
    unsigned asked[CFR_ROTATION_RIGHTS + 1];
    bool no_admin;
    bool unusable; /* new keys are not accepted */
    bool draining;
    struct fake_call calls[CALLS_MAX];
    struct cfr_rotation_provider provider;
    struct cfr_grant admin;
    struct agent agents[AGENTS];
    char events[8192]; /* what was done to keys: "+key-1 ^key-1 -key-1 ~key-1", created, published, deactivated, deleted
                        */
    unsigned steps;
    struct {
        bool exists;
        unsigned version;
        char *data[6];
        struct {
            cfr_kube_watch_fn *report;
            void *ctx;
        } watchers[AGENTS];
        bool fails;
    } secret;
    struct cfr_grant found; /* of an adoption */
    int find_rc;
} fake;

/* ---- the clock ---- */

struct cfr_now __wrap_cfr_clock_now(void);
double __wrap_cfr_clock_chance(void);

struct cfr_now __wrap_cfr_clock_now(void)
{
    return fake.now;
}

double __wrap_cfr_clock_chance(void)
{
    fake.chance = fake.chance > 0.9 ? 0.05 : fake.chance + 0.0371;
    return fake.chance;
}

static void pass_ms(int64_t ms)
{
    fake.now.boot_ms += ms;
    fake.now.wall_ms += ms;
}

static void note(char what, const char *id)
{
    size_t n = strlen(fake.events);

    (void)snprintf(fake.events + n, sizeof fake.events - n, "%s%c%s", n != 0 ? " " : "", what, id);
}

/* ---- requests ---- */

static struct fake_call *add_call(void *ctx)
{
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (!fake.calls[i].open) {
            fake.calls[i] = (struct fake_call){.open = true, .ctx = ctx};
            return &fake.calls[i];
        }
    }
    fail_msg("too many requests");
    return NULL;
}

static void drop_call(struct fake_call *c)
{
    if (c != NULL) {
        free(c->body);
        *c = (struct fake_call){.open = false};
    }
}

int __wrap_cfr_http_start(struct cfr_http *h, const struct cfr_http_request *request, cfr_http_done_fn *done, void *ctx,
                          void **handle, struct cfr_err *err);
void __wrap_cfr_http_cancel(struct cfr_http *h, void *handle);
int __wrap_cfr_rotator_verify_start(struct cfr_http *http, const struct cfr_config_credential *credential,
                                    const struct cfr_rotation_trial *what, cfr_source_exchange_fn *done, void *ctx,
                                    struct cfr_trial **out, struct cfr_err *err);
void __wrap_cfr_rotator_verify_cancel(struct cfr_trial *t);

int __wrap_cfr_http_start(struct cfr_http *h, const struct cfr_http_request *request, cfr_http_done_fn *done, void *ctx,
                          void **handle, struct cfr_err *err)
{
    struct fake_call *c = add_call(ctx);

    (void)h;
    (void)request;
    (void)err;
    c->http = done;
    c->op = fake.op;
    *handle = c;
    return 0;
}

void __wrap_cfr_http_cancel(struct cfr_http *h, void *handle)
{
    (void)h;
    drop_call(handle);
}

int __wrap_cfr_rotator_verify_start(struct cfr_http *http, const struct cfr_config_credential *credential,
                                    const struct cfr_rotation_trial *what, cfr_source_exchange_fn *done, void *ctx,
                                    struct cfr_trial **out, struct cfr_err *err)
{
    struct fake_call *c = add_call(ctx);

    (void)http;
    (void)credential;
    (void)what;
    (void)err;
    c->trial = done;
    *out = (void *)c;
    return 0;
}

void __wrap_cfr_rotator_verify_cancel(struct cfr_trial *t)
{
    drop_call((void *)t);
}

/* ---- the cloud ---- */

static struct fake_key *find_key(const char *id)
{
    for (unsigned i = 0; i < fake.made; i++) {
        if (strcmp(fake.keys[i].id, id) == 0 && fake.keys[i].exists)
            return &fake.keys[i];
    }
    return NULL;
}

static bool is_active(const char *id)
{
    const struct fake_key *k = find_key(id);

    return k != NULL && k->active;
}

static size_t count_keys(void)
{
    size_t count = 0;

    for (unsigned i = 0; i < fake.made; i++)
        count += fake.keys[i].exists && !fake.keys[i].foreign;
    return count;
}

static struct fake_key *make_key(const char *name)
{
    struct fake_key *k = &fake.keys[fake.made++];

    assert_true(fake.made < KEYS_MAX);
    *k = (struct fake_key){.made_ms = fake.now.wall_ms, .exists = true, .active = true};
    (void)snprintf(k->id, sizeof k->id, "key-%u", fake.made);
    (void)snprintf(k->name, sizeof k->name, "%s", name != NULL ? name : "");
    return k;
}

/* The fields of a key tell it by their values. */
static void fill_grant(const struct fake_key *k, struct cfr_grant *out)
{
    for (size_t i = 0; fake.provider.grants[i] != NULL; i++) {
        char value[64];

        (void)snprintf(value, sizeof value, "value-%zu-of-%s", i, k->id);
        assert_int_equal(cfr_grant_set(out, fake.provider.grants[i], cfr_view_of(value), NULL), 0);
    }
}

static void fill_key(const struct fake_key *k, struct cfr_rotation_key *out)
{
    *out = (struct cfr_rotation_key){.created_s = k->made_ms / 1000, .active = k->active, .foreign = k->foreign};
    (void)snprintf(out->id, sizeof out->id, "%s", k->id);
    if (fake.provider.names)
        (void)snprintf(out->name, sizeof out->name, "%s", k->name);
}

static void carry_out(const struct cfr_rotation_ask *ask, struct cfr_rotation_answer *out)
{
    struct fake_key *k = ask->id != NULL ? find_key(ask->id) : NULL;

    switch (ask->op) {
    case CFR_ROTATION_LIST:
        for (unsigned i = 0; i < fake.made; i++) {
            if (fake.keys[i].exists && !fake.keys[i].hidden)
                fill_key(&fake.keys[i], &out->keys.key[out->keys.count++]);
        }
        break;
    case CFR_ROTATION_CREATE:
        k = make_key(ask->name);
        note('+', k->id);
        fill_key(k, &out->made);
        fill_grant(k, &out->grant);
        break;
    case CFR_ROTATION_DEACTIVATE:
        if (k != NULL && k->active)
            note('~', ask->id);
        if (k != NULL)
            k->active = false;
        break;
    case CFR_ROTATION_DELETE:
        if (k != NULL) {
            k->exists = false;
            note('-', ask->id);
        }
        break;
    case CFR_ROTATION_VERIFY:
    case CFR_ROTATION_LAST_USED:
    case CFR_ROTATION_RIGHTS:
        break;
    }
}

static int answer_op(const struct cfr_rotation_ask *ask, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct fake_fault *f = &fake.faults[ask->op];
    struct cfr_rotation_answer ignored = {0};

    fake.asked[ask->op]++;
    if (f->count != 0) {
        f->count--;
        if (f->done)
            carry_out(ask, &ignored);
        cfr_rotation_answer_free(&ignored);
        out->may_not = f->may_not;
        return cfr_err_set(err, f->rc, "the cloud refuses operation %d", (int)ask->op);
    }
    if (ask->op == CFR_ROTATION_VERIFY && fake.unusable)
        return cfr_err_set(err, CFR_E_REJECTED, "the key is not accepted");
    carry_out(ask, out);
    return 0;
}

static int fake_build(const void *config, const struct cfr_rotation_ask *ask, const char *page,
                      struct cfr_wire_request *out, struct cfr_err *err)
{
    (void)config;
    (void)page;
    (void)out;
    (void)err;
    fake.op = ask->op;
    return 0;
}

static int fake_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                      struct cfr_rotation_answer *out, struct cfr_err *err)
{
    (void)config;
    (void)reply;
    return answer_op(ask, out, err);
}

/* Its first field tells which key it is. */
static int fake_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                          struct cfr_rotation_answer *out, struct cfr_err *err)
{
    (void)config;
    (void)ask;
    for (unsigned i = 0; i < fake.made; i++) {
        char value[64];

        (void)snprintf(value, sizeof value, "value-0-of-%s", fake.keys[i].id);
        if (!cfr_view_is(cfr_grant_get(fields, fake.provider.grants[0]), value))
            continue;
        fill_key(&fake.keys[i], &out->made);
        fill_grant(&fake.keys[i], &out->grant);
        return 0;
    }
    return cfr_err_set(err, CFR_E_MISSING, "there is no key");
}

static int fake_trial(const void *config, const struct cfr_rotation_ask *ask, struct cfr_rotation_trial *out,
                      struct cfr_err *err)
{
    (void)config;
    (void)ask;
    (void)out;
    (void)err;
    return 0;
}

static int fake_pass_on(const void *config, const struct cfr_rotation_ask *ask, struct cfr_grant *out,
                        struct cfr_err *err)
{
    (void)config;
    return cfr_grant_set(out, fake.provider.grants[0], cfr_grant_get(ask->admin, CFR_FIELD_TOKEN), err);
}

static const char *fake_subject(const void *config)
{
    (void)config;
    return "robot-user";
}

static size_t two_places(const void *config)
{
    (void)config;
    return 2;
}

static bool offer(void *ctx, const char *name, struct cfr_offer *out)
{
    (void)ctx;
    assert_string_equal(name, "admin");
    out->grant = fake.no_admin ? NULL : &fake.admin;
    out->why = fake.no_admin ? "it is being exchanged" : NULL;
    return true;
}

/* ---- the Secret of a shared rotation ---- */

static const char *const data_keys[] = {"journal", "holder", "nonce", "takeover", "pending", "published"};

int __wrap_cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where,
                          const struct cfr_kube_request *request, cfr_kube_fn *done, void *ctx,
                          struct cfr_kube_call **out, struct cfr_err *err);
void __wrap_cfr_kube_cancel(struct cfr_kube_call *c);
int __wrap_cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report,
                                void *ctx, struct cfr_kube_watch **out, struct cfr_err *err);
bool __wrap_cfr_kube_watch_is_live(const struct cfr_kube_watch *w);
void __wrap_cfr_kube_watch_end(struct cfr_kube_watch *w);

int __wrap_cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where,
                          const struct cfr_kube_request *request, cfr_kube_fn *done, void *ctx,
                          struct cfr_kube_call **out, struct cfr_err *err)
{
    struct fake_call *c = add_call(ctx);

    (void)k;
    (void)where;
    (void)err;
    c->kube = done;
    c->write = strcmp(request->method, "PATCH") == 0;
    c->body = request->body != NULL ? strndup(request->body->p, request->body->len) : NULL;
    *out = (void *)c;
    return 0;
}

void __wrap_cfr_kube_cancel(struct cfr_kube_call *c)
{
    drop_call((void *)c);
}

int __wrap_cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report,
                                void *ctx, struct cfr_kube_watch **out, struct cfr_err *err)
{
    size_t i = 0;

    (void)k;
    (void)object;
    (void)err;
    while (i + 1 < AGENTS && fake.secret.watchers[i].report != NULL)
        i++;
    fake.secret.watchers[i].report = report;
    fake.secret.watchers[i].ctx = ctx;
    *out = (void *)&fake.secret.watchers[i];
    return 0;
}

bool __wrap_cfr_kube_watch_is_live(const struct cfr_kube_watch *w)
{
    return w != NULL;
}

void __wrap_cfr_kube_watch_end(struct cfr_kube_watch *w)
{
    for (size_t i = 0; i < AGENTS; i++) {
        if ((const void *)w == &fake.secret.watchers[i])
            fake.secret.watchers[i].report = NULL;
    }
}

/* Applies the merge patch. False: it is of another version. */
static bool write_secret(const char *body)
{
    struct cfr_json *doc = NULL;
    char version[24];
    bool same;

    assert_int_equal(cfr_json_parse(cfr_view_of(body), &doc, NULL), 0);
    (void)snprintf(version, sizeof version, "%u", fake.secret.version);
    same = cfr_view_is(cfr_json_text(cfr_json_get(doc, "metadata"), "resourceVersion"), version);
    for (size_t i = 0; same && i < COUNT(data_keys); i++) {
        const struct cfr_json *value = cfr_json_get(cfr_json_get(doc, "data"), data_keys[i]);
        struct cfr_view text;

        if (value == NULL)
            continue;
        free(fake.secret.data[i]);
        fake.secret.data[i] = cfr_json_string(value, &text) ? strndup(text.p, text.n) : NULL;
    }
    fake.secret.version += same ? 1 : 0;
    cfr_json_free(doc);
    return same;
}

static char *show_secret(void)
{
    struct cfr_str out = {.limit = 1 << 20};
    const char *comma = "";

    cfr_str_addf(&out,
                 "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"state\",\"namespace\":\"apps\","
                 "\"resourceVersion\":\"%u\"},\"data\":{",
                 fake.secret.version);
    for (size_t i = 0; i < COUNT(data_keys); i++) {
        if (fake.secret.data[i] != NULL) {
            cfr_str_addf(&out, "%s\"%s\":\"%s\"", comma, data_keys[i], fake.secret.data[i]);
            comma = ",";
        }
    }
    cfr_str_addz(&out, "}}");
    return out.p;
}

static void answer_kube(const struct fake_call *c)
{
    struct cfr_kube_answer a = {.status = 200, .retry_after_s = -1, .warning = ""};
    char *text = NULL;
    bool changed = false;

    if (fake.secret.fails) {
        a.error = cfr_err_set(&a.err, CFR_E_NET, "no answer");
    } else if (!fake.secret.exists) {
        a.status = 404;
        a.body = cfr_view_of("{}");
    } else {
        changed = c->write && write_secret(c->body);
        a.status = c->write && !changed ? 409 : 200;
        text = show_secret();
        a.body = cfr_view_of(text);
    }
    c->kube(c->ctx, &a);
    for (size_t i = 0; changed && i < AGENTS; i++) {
        char version[24];

        (void)snprintf(version, sizeof version, "%u", fake.secret.version);
        if (fake.secret.watchers[i].report != NULL)
            fake.secret.watchers[i].report(fake.secret.watchers[i].ctx, version);
    }
    free(text);
}

/* ---- publishing ---- */

bool __wrap_cfr_publisher_holds_key(const struct cfr_publisher *p, const struct cfr_publish_record *record,
                                    const char *id);
bool __wrap_cfr_publisher_holds_made_key(const struct cfr_publisher *p);
int __wrap_cfr_publisher_verify(const struct cfr_publisher *p, const struct cfr_publish_record *record,
                                struct cfr_err *err);
int __wrap_cfr_publish_find(const struct cfr_config_credential *c, struct cfr_kube *kube, void *done, void *ctx,
                            void **out, struct cfr_rotation_found *found, struct cfr_err *err);
void __wrap_cfr_publish_search_end(void *s);
int __wrap_cfr_rotation_found_fields(struct cfr_rotation_found *found, struct cfr_grant *out, struct cfr_err *err);

static const struct agent *agent_of(const struct cfr_publisher *p)
{
    return (const void *)p;
}

bool __wrap_cfr_publisher_holds_key(const struct cfr_publisher *p, const struct cfr_publish_record *record,
                                    const char *id)
{
    return !agent_of(p)->published_elsewhere && record->key != NULL && strcmp(record->key->id, id) == 0;
}

bool __wrap_cfr_publisher_holds_made_key(const struct cfr_publisher *p)
{
    return !agent_of(p)->published_elsewhere && agent_of(p)->record.key != NULL;
}

int __wrap_cfr_publisher_verify(const struct cfr_publisher *p, const struct cfr_publish_record *record,
                                struct cfr_err *err)
{
    (void)record;
    return agent_of(p)->published_elsewhere ? cfr_err_set(err, CFR_E_MISSING, "it is lost") : 0;
}

int __wrap_cfr_publish_find(const struct cfr_config_credential *c, struct cfr_kube *kube, void *done, void *ctx,
                            void **out, struct cfr_rotation_found *found, struct cfr_err *err)
{
    (void)c;
    (void)kube;
    (void)done;
    (void)ctx;
    (void)out;
    if (fake.find_rc != 0)
        return cfr_err_set(err, fake.find_rc, "there is nothing");
    found->since_s = fake.now.wall_ms / 1000 - 3600;
    return cfr_grant_copy(&found->values, &fake.found, err);
}

void __wrap_cfr_publish_search_end(void *s)
{
    (void)s;
}

/* test/unit/rotation tests in which forms they are found. */
int __wrap_cfr_rotation_found_fields(struct cfr_rotation_found *found, struct cfr_grant *out, struct cfr_err *err)
{
    return cfr_grant_copy(out, &found->values, err);
}

/* ---- agents ---- */

static const struct cfr_source_producer *row(void)
{
    return cfr_rotator_source.producer;
}

static bool used_by_all(void *ctx)
{
    (void)ctx;
    return true;
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void open_agent(struct agent *a)
{
    const struct cfr_source_client client = {
        .state_fd = a->state_fd,
        .spread = 0.5,
        .draining = &fake.draining,
        .offer = offer,
        .record = &a->record,
        .targets = (const void *)a,
        .used_by_all = used_by_all,
        .save = ignore,
        .wake = ignore,
        .ctx = a,
    };

    assert_int_equal(row()->open(&client, &a->config, &a->key, NULL), 0);
    a->waiting = false;
    a->failed = false;
    a->due_ms = fake.now.wall_ms;
    if (!row()->adopt(a->key, &a->due_ms) || a->record.key == NULL || a->wanted)
        a->due_ms = fake.now.wall_ms;
}

/* As a kill does: nothing more is done, and what was requested is still on its way to the cloud. */
static void kill_agent(struct agent *a)
{
    row()->close(a->key);
    a->key = NULL;
}

static void end_start(struct agent *a)
{
    int64_t due_ms;
    bool ended = row()->published(a->key, a->record.generation, &due_ms);

    if (ended || due_ms != INT64_MAX)
        a->due_ms = ended && a->wanted ? fake.now.wall_ms : due_ms;
}

static void on_produced(void *ctx, struct cfr_source_exchange_result *r)
{
    struct agent *a = ctx;
    const struct cfr_source_produced *p = &r->produced;

    a->waiting = false;
    a->failed = r->rc != 0 || (r->grant != NULL && a->no_publish);
    a->err = r->err;
    if (a->failed) {
        a->retry_boot_ms = fake.now.boot_ms + CFR_MINUTE_MS;
        return;
    }
    a->mark = p->mark;
    a->answered += a->wanted && p->counts;
    a->wanted = a->wanted && !p->counts;
    if (r->grant == NULL && p->key == NULL) {
        a->due_ms = p->due_ms;
        return;
    }
    if (r->grant != NULL) {
        a->grants++;
        a->record.generation++;
        a->published_elsewhere = false;
        a->replace = false;
        a->record.token_mark = p->mark;
        a->record.issued_ms = fake.now.wall_ms;
        a->record.digest_material = a->config.digest_material;
    }
    if (p->key != NULL) {
        assert_true(is_active(p->key->id));
        if (r->grant != NULL)
            note('^', p->key->id);
        a->adopted = p->key->adopted;
    }
    assert_int_equal(cfr_publish_record_set_key(&a->record, p->key, NULL), 0);
    end_start(a);
}

static void start_agent(struct agent *a)
{
    const struct cfr_source_order order = {
        .wanted = a->wanted,
        .again = a->replace,
        .lost = !a->replace && (a->record.generation == 0 || a->published_elsewhere),
    };

    a->waiting = true;
    a->failed = false;
    row()->start(a->key, order, on_produced, a);
}

/* An operator requests a rotation. */
static void request_rotation(struct agent *a)
{
    struct cfr_err err = {0};

    assert_int_equal(row()->may_request(a->key, &err), 0);
    a->wanted = true;
    row()->request(a->key);
    a->due_ms = fake.now.wall_ms;
}

/* ---- the loop ---- */

static bool answer_one(void)
{
    for (size_t i = 0; i < CALLS_MAX; i++) {
        struct fake_call c = fake.calls[i];

        if (!c.open)
            continue;
        fake.calls[i] = (struct fake_call){.open = false};
        pass_ms(20);
        if (c.kube != NULL) {
            answer_kube(&c);
        } else if (c.trial != NULL) {
            struct cfr_source_exchange_result r = {.retry_after_s = -1};
            const struct cfr_rotation_ask ask = {.op = CFR_ROTATION_VERIFY};
            struct cfr_rotation_answer none = {0};

            r.rc = answer_op(&ask, &none, &r.err);
            c.trial(c.ctx, &r);
        } else {
            const struct fake_fault *f = &fake.faults[c.op];
            struct cfr_http_answer a = {.status = f->count != 0 && f->status != 0 ? f->status : 200,
                                        .retry_after_s = -1};

            c.http(c.ctx, &a);
        }
        free(c.body);
        return true;
    }
    return false;
}

static bool is_due(const struct agent *a)
{
    return a->key != NULL && !a->waiting && !fake.draining &&
           (a->failed ? a->retry_boot_ms <= fake.now.boot_ms : a->due_ms <= fake.now.wall_ms);
}

static int64_t next_boot_ms(const struct agent *a)
{
    int64_t at = a->key != NULL ? row()->deadline(a->key) : INT64_MAX;
    int64_t start = a->failed ? a->retry_boot_ms : a->due_ms - fake.now.wall_ms + fake.now.boot_ms;

    return a->key != NULL && !a->waiting && !fake.draining && start < at ? start : at;
}

/* One event: an answer, a step, a start; or time passes until the next, until END_MS at most. False: there is none. */
static bool turn(int64_t end_ms)
{
    int64_t at = INT64_MAX;

    fake.steps++;
    if (answer_one())
        return true;
    for (size_t i = 0; i < AGENTS; i++) {
        struct agent *a = &fake.agents[i];

        if (is_due(a)) {
            start_agent(a);
            return true;
        }
        if (a->key != NULL && row()->deadline(a->key) <= fake.now.boot_ms) {
            if (row()->step(a->key, a->failed) && !a->waiting) {
                a->due_ms = fake.now.wall_ms;
                a->retry_boot_ms = fake.now.boot_ms;
            }
            return true;
        }
        at = next_boot_ms(a) < at ? next_boot_ms(a) : at;
    }
    if (at == INT64_MAX || fake.now.wall_ms + (at - fake.now.boot_ms) > end_ms) {
        if (end_ms > fake.now.wall_ms)
            pass_ms(end_ms - fake.now.wall_ms);
        return false;
    }
    pass_ms(at - fake.now.boot_ms);
    return true;
}

static void run_for(int64_t ms)
{
    int64_t end_ms = fake.now.wall_ms + ms;
    unsigned limit = fake.steps + 1000000;

    while (turn(end_ms)) {
        if (fake.steps > limit)
            fail_msg("it does not come to rest: %s", fake.events);
    }
}

/* ---- setting up ---- */

static char admin_text[] = "admin";
static char robot_text[] = "robot";

/* The rows of the clouds keep their facts (names, limits, order of steps), and get this cloud's answers. */
static void use_cloud(const char *name)
{
    const struct cfr_rotation_provider *real = NULL;

    for (size_t i = 0; real == NULL && cfr_rotation_variant(i).key != NULL; i++) {
        if (strcmp(cfr_rotation_variant(i).key, name) == 0)
            real = cfr_rotation_variant(i).row;
    }
    if (real == NULL) {
        fail_msg("%s is not a cloud", name);
        return;
    }
    fake.provider = *real;
    fake.provider.account = NULL;
    fake.provider.build = fake_build;
    fake.provider.parse = fake_parse;
    fake.provider.recognize = fake_recognize;
    fake.provider.trial = real->trial != NULL ? fake_trial : NULL;
    fake.provider.pass_on = fake_pass_on;
    fake.provider.subject = fake_subject;
    fake.provider.places = real->places != NULL ? two_places : NULL;
}

static void add_agent(size_t index, struct cfr_config_mint_state *shared)
{
    struct agent *a = &fake.agents[index];
    char directory[8];

    (void)snprintf(directory, sizeof directory, "%zu", index);
    assert_int_equal(mkdir(in(directory), 0700), 0);
    a->state_fd = open(in(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(a->state_fd >= 0);
    a->mint = (struct cfr_config_mint){
        .with = admin_text,
        .provider = {.variant = {.key = fake.provider.name, .row = &fake.provider}, .config = &fake},
        .expire_after_ms = 30 * CFR_DAY_MS,
        .grace_ms = CFR_HOUR_MS,
        .grace_most_ms = 2 * CFR_HOUR_MS,
        .settle_ms = 5 * CFR_MINUTE_MS,
        .inactive_ms = CFR_DAY_MS,
        .verify_wait_ms = -1,
        .verify_timeout_ms = 10 * CFR_MINUTE_MS,
        .verify_every_ms = CFR_HOUR_MS,
        .verify = true,
        .state = shared,
    };
    a->config = (struct cfr_config_credential){.name = robot_text, .mint = &a->mint, .digest_material = 1};
}

static int begin(void **state)
{
    memset(&fake, 0, sizeof fake);
    fake.now = (struct cfr_now){.wall_ms = START_MS, .boot_ms = CFR_DAY_MS};
    fake.secret.exists = true;
    fake.secret.version = 1;
    (void)cfr_grant_set(&fake.admin, CFR_FIELD_TOKEN, cfr_view_of("the-key-of-the-administrator"), NULL);
    for (size_t i = 0; i < AGENTS; i++)
        fake.agents[i].state_fd = -1;
    return scratch_make_fast(state);
}

static int end(void **state)
{
    for (size_t i = 0; i < AGENTS; i++) {
        struct agent *a = &fake.agents[i];

        if (a->key != NULL)
            kill_agent(a);
        if (a->state_fd >= 0)
            (void)close(a->state_fd);
        cfr_publish_record_free(&a->record);
    }
    for (size_t i = 0; i < COUNT(data_keys); i++)
        free(fake.secret.data[i]);
    for (size_t i = 0; i < CALLS_MAX; i++)
        drop_call(&fake.calls[i]);
    cfr_grant_free(&fake.admin);
    cfr_grant_free(&fake.found);
    return scratch_remove(state);
}

/* The id of the key that A has published; "" = none. */
static const char *published_by(const struct agent *a)
{
    return a->record.key != NULL ? a->record.key->id : "";
}

static inline struct cfr_source_report report_of(const struct agent *a)
{
    struct cfr_source_report report;

    row()->report(a->key, &report);
    return report;
}

static struct cfr_api_status_mint status_of(const struct agent *a)
{
    struct cfr_api_status_credential out = {.name = robot_text};

    row()->status(a->key, &out);
    assert_string_equal(out.provider, fake.provider.name);
    return out.mint;
}

#endif
