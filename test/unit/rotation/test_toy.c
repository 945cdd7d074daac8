/* SPDX-License-Identifier: MIT */
/* Rotation of a toy cloud's keys: a provider written as any other, driven by the rotation protocol. */
#include "unit.h"

#include "base/json.h"
#include "base/str.h"
#include "rotation/rotation.h"

#include <limits.h>

#define VERIFY_COUNT 2
#define GRACE_S      600
#define TURNS        60

/* ---- the provider ---- */

struct toy {
    struct cfr_node node;
    char *url;
};

static const struct cfr_field fields[] = {
    {.key = "url",
     .type = CFR_FIELD_STRING,
     .offset = offsetof(struct toy, url),
     .fallback = "https://toys.example",
     .doc = "URL of the toy service."},
    {.key = NULL},
};

static const struct cfr_table table = {
    .name = "toy rotation", .size = sizeof(struct toy), .fields = fields, .doc = "A toy."};

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    static const char *const methods[] = {"GET", "POST", "HEAD", "PATCH", "OPTIONS", "DELETE"};
    const struct toy *t = config;
    const char *last = ask->op == CFR_ROTATION_CREATE   ? ask->name
                       : ask->op == CFR_ROTATION_VERIFY ? ask->fresh->identity
                       : ask->op == CFR_ROTATION_LIST   ? page
                                                        : ask->id;
    struct cfr_str url = {.limit = 256};

    if (ask->op != CFR_ROTATION_VERIFY && cfr_grant_get(ask->admin, "toy_admin").n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "`with` grants no toy_admin");
    cfr_str_addf(&url, "%s/%s", t->url, last);
    out->method = methods[ask->op];
    out->url = url.p;
    return out->url != NULL ? 0 : cfr_err_nomem(err);
}

static int read_list(const struct cfr_json *list, struct cfr_rotation_keys *keys)
{
    for (size_t i = 0; i < cfr_json_count(list) && keys->count < CFR_ROTATION_KEYS_MAX; i++) {
        struct cfr_rotation_key *key = &keys->key[keys->count++];
        struct cfr_view id = {NULL, 0};

        (void)cfr_json_string(cfr_json_at(list, i), &id);
        (void)snprintf(key->id, sizeof key->id, "%.*s", (int)id.n, id.p);
        key->active = true;
    }
    return 0;
}

static int parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                 struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view id;
    int rc = 0;

    (void)config;
    if (reply->status != 200)
        return cfr_err_set(err, CFR_E_DENIED, "the toy service answers %ld", reply->status);
    if (ask->op == CFR_ROTATION_LIST || ask->op == CFR_ROTATION_CREATE)
        rc = cfr_json_parse(reply->body, &doc, err);
    if (rc == 0 && ask->op == CFR_ROTATION_LIST)
        rc = read_list(doc, &out->keys);
    if (rc == 0 && ask->op == CFR_ROTATION_CREATE) {
        if (cfr_json_string(cfr_json_get(doc, "id"), &id)) {
            (void)snprintf(out->made.id, sizeof out->made.id, "%.*s", (int)id.n, id.p);
            rc = cfr_grant_set_identity(&out->grant, id, err);
        } else {
            rc = cfr_err_set(err, CFR_E_ANSWER, "the answer has no id");
        }
    }
    cfr_json_free(doc);
    return rc;
}

/* One place, no trial: what most clouds are. */
static const struct cfr_rotation_provider toy_provider = {
    .name = "toy",
    .table = &table,
    .doc = "A toy.",
    .names = true,
    .deactivates = true,
    .most = 3,
    .verify_count = VERIFY_COUNT,
    .build = build,
    .parse = parse,
};

/* ---- the cloud ---- */

struct cloud {
    char key[4][16]; /* ids; "" = no such key */
    bool active[4];
    unsigned made;
    unsigned refusals; /* of the next tries of a new key */
    struct cfr_str log;
};

static unsigned find_key(const struct cloud *c, const char *id)
{
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(c->key[i], id) == 0)
            return i;
    }
    fail_msg("there is no key \"%s\"", id);
    return 0;
}

/* Answers as a server does, from what is in the request alone. */
static long serve(struct cloud *c, const struct cfr_wire_request *request, struct cfr_str *body)
{
    const char *id = strrchr(request->url, '/') + 1;
    unsigned i;

    cfr_str_addf(&c->log, "%s %s\n", request->method, id);
    if (strcmp(request->method, "GET") == 0) {
        cfr_str_addz(body, "[");
        for (i = 0; i < 4; i++)
            if (c->key[i][0] != '\0')
                cfr_str_addf(body, "%s\"%s\"", body->len > 1 ? "," : "", c->key[i]);
        cfr_str_addz(body, "]");
        return 200;
    }
    if (strcmp(request->method, "POST") == 0) {
        i = find_key(c, "");
        (void)snprintf(c->key[i], sizeof c->key[i], "bear-%u", ++c->made);
        c->active[i] = true;
        cfr_str_addf(body, "{\"id\":\"%s\"}", c->key[i]);
        return 200;
    }
    i = find_key(c, id);
    if (strcmp(request->method, "PATCH") == 0)
        c->active[i] = false;
    else if (strcmp(request->method, "DELETE") == 0)
        c->key[i][0] = '\0';
    else if (c->refusals != 0 && c->refusals-- != 0)
        return 403;
    return strcmp(request->method, "HEAD") != 0 || c->active[i] ? 200 : 403;
}

/* ---- the rotation ---- */

struct world {
    struct cloud cloud;
    struct toy config;
    struct cfr_rotation_rotation r;
    struct cfr_rotation_answer answer; /* of the last CREATE: what is pending */
    struct cfr_grant admin;
    char pending[CFR_ROTATION_ID_MAX];
    char published[CFR_ROTATION_ID_MAX];
    uint64_t generation;
    int64_t now_s;
};

/* The outcome of one request, by way of the provider's functions alone. */
static int call(struct world *w, enum cfr_rotation_op op, const char *id, struct cfr_rotation_answer *out)
{
    struct cfr_rotation_ask ask = {.op = op,
                                   .id = id,
                                   .name = w->r.journal.name,
                                   .now_s = w->now_s,
                                   .admin = op == CFR_ROTATION_VERIFY ? NULL : &w->admin,
                                   .fresh = &w->answer.grant};
    const struct cfr_rotation_provider *p = w->r.provider;
    struct cfr_wire_request request = {0};
    struct cfr_wire_reply reply = {0};
    struct cfr_str body = {.limit = CFR_ROTATION_ANSWER_MAX};
    struct cfr_err err = {0};
    int rc = p->build(&w->config, &ask, "", &request, &err);

    if (rc != 0)
        fail_msg("%s", err.text);
    reply.status = serve(&w->cloud, &request, &body);
    reply.body = cfr_str_view(&body);
    rc = p->parse(&w->config, &ask, &reply, out, &err);
    cfr_str_free(&body);
    cfr_wire_request_free(&request);
    return rc;
}

static void act(struct world *w, const struct cfr_rotation_todo *todo)
{
    struct cfr_rotation_answer answer = {.used_s = 0};

    switch (todo->action) {
    case CFR_ROTATION_ACT_WAIT:
        w->now_s = todo->at_s;
        break;
    case CFR_ROTATION_ACT_LIST:
        assert_int_equal(call(w, CFR_ROTATION_LIST, NULL, &answer), 0);
        (void)cfr_rotation_listed(&w->r, &answer.keys, w->now_s);
        break;
    case CFR_ROTATION_ACT_CREATE:
        cfr_rotation_answer_free(&w->answer);
        assert_int_equal(call(w, CFR_ROTATION_CREATE, NULL, &w->answer), 0);
        assert_true(cfr_rotation_is_new(&w->r, w->answer.made.id));
        (void)snprintf(w->pending, sizeof w->pending, "%s", w->answer.made.id);
        (void)cfr_rotation_made(&w->r, &w->answer.made, w->now_s);
        break;
    case CFR_ROTATION_ACT_VERIFY:
        (void)cfr_rotation_verified(&w->r, call(w, CFR_ROTATION_VERIFY, NULL, &answer) == 0, w->now_s);
        break;
    case CFR_ROTATION_ACT_PUBLISH:
        (void)snprintf(w->published, sizeof w->published, "%s", w->pending);
        (void)cfr_rotation_published(&w->r, ++w->generation, w->now_s);
        break;
    case CFR_ROTATION_ACT_DEACTIVATE:
        assert_string_not_equal(todo->id, w->published);
        assert_int_equal(call(w, CFR_ROTATION_DEACTIVATE, todo->id, &answer), 0);
        (void)cfr_rotation_deactivated(&w->r, w->now_s);
        break;
    case CFR_ROTATION_ACT_DELETE:
        assert_string_not_equal(todo->id, w->published);
        assert_int_equal(call(w, CFR_ROTATION_DELETE, todo->id, &answer), 0);
        (void)cfr_rotation_deleted(&w->r, w->now_s);
        break;
    case CFR_ROTATION_ACT_DEACTIVATE_FORMER:
    case CFR_ROTATION_ACT_DELETE_FORMER:
    case CFR_ROTATION_ACT_RIGHTS:
    case CFR_ROTATION_ACT_TAKE:
    case CFR_ROTATION_ACT_ADOPT:
    case CFR_ROTATION_ACT_LAST_USED:
        fail_msg("action %d is not one of this provider", (int)todo->action);
    }
    cfr_rotation_answer_free(&answer);
}

/* Runs one rotation until nothing is under way, and returns its length. */
static int64_t rotate(struct world *w)
{
    int64_t start_s = w->now_s;
    uint64_t rotation = w->r.journal.rotation;

    for (int i = 0; i < TURNS; i++) {
        bool begun = w->r.journal.rotation != rotation;
        struct cfr_rotation_facts facts = {.now_s = w->now_s,
                                           .wanted = !begun,
                                           .pending = w->pending[0] != '\0',
                                           .pending_id = w->pending,
                                           .used_by_all = true};
        struct cfr_rotation_todo todo;
        bool save;

        if (begun && w->r.journal.step == CFR_ROTATION_REST)
            return w->now_s - start_s;
        cfr_rotation_next(&w->r, &facts, &save, &todo);
        if (save)
            continue;
        if (todo.drop_pending)
            w->pending[0] = '\0';
        act(w, &todo);
    }
    fail_msg("the rotation does not end: step %s", cfr_rotation_step_name(w->r.journal.step));
    return 0;
}

static void set_up(struct world *w)
{
    struct cfr_err err = {0};

    *w = (struct world){.now_s = 1000000,
                        .cloud.log.limit = 4096,
                        .r = {.provider = &toy_provider,
                              .credential = "doll",
                              .rules = {.expire_after_s = 86400,
                                        .grace_s = GRACE_S,
                                        .grace_most_s = 2 * GRACE_S,
                                        .verify_most_s = 300,
                                        .settle_s = 60}}};
    assert_int_equal(cfr_field_defaults(toy_provider.table, &w->config, &err), 0);
    assert_int_equal(cfr_grant_set(&w->admin, "toy_admin", cfr_view_of("yes"), &err), 0);
}

static void tear_down(struct world *w)
{
    cfr_rotation_answer_free(&w->answer);
    cfr_grant_free(&w->admin);
    cfr_field_free(toy_provider.table, &w->config);
    cfr_str_free(&w->cloud.log);
}

static void a_key_takes_the_place_of_another(void **state)
{
    struct world w;
    const char *log;

    (void)state;
    set_up(&w);
    (void)rotate(&w);
    log = w.cloud.log.p;
    assert_string_equal(w.published, "bear-1");
    assert_int_equal(strncmp(log, "GET \nPOST credfresh-doll-1-", 26), 0);
    assert_non_null(strstr(log, "\nHEAD bear-1\nHEAD bear-1\n"));
    assert_null(strstr(log, "DELETE"));
    cfr_str_free(&w.cloud.log);
    /* The old key works for the whole grace, then it is deactivated and deleted, each after another look. */
    assert_true(rotate(&w) >= GRACE_S);
    assert_string_equal(w.published, "bear-2");
    log = w.cloud.log.p;
    assert_non_null(strstr(log, "\nHEAD bear-2\nHEAD bear-2\nGET \nPATCH bear-1\nGET \nDELETE bear-1\n"));
    cfr_str_free(&w.cloud.log);
    assert_string_equal(w.cloud.key[0], "");
    assert_string_equal(w.cloud.key[1], "bear-2");
    assert_true(w.cloud.active[1]);
    tear_down(&w);
}

static void a_key_that_is_refused_is_undone(void **state)
{
    struct world w;

    (void)state;
    set_up(&w);
    (void)rotate(&w);
    cfr_str_free(&w.cloud.log);
    /* A new key may be refused at first: it is tried again. */
    w.cloud.refusals = 1;
    (void)rotate(&w);
    assert_string_equal(w.published, "bear-2");
    assert_non_null(strstr(w.cloud.log.p, "\nHEAD bear-2\nHEAD bear-2\nHEAD bear-2\nGET \nPATCH bear-1\n"));
    cfr_str_free(&w.cloud.log);
    w.cloud.refusals = UINT_MAX;
    w.r.rules.verify_most_s = 10;
    (void)rotate(&w);
    assert_string_equal(w.published, "bear-2");
    assert_int_equal(w.generation, 2);
    for (unsigned i = 0; i < 4; i++)
        assert_string_not_equal(w.cloud.key[i], "bear-3");
    tear_down(&w);
}

static void an_admin_that_does_not_fit_sends_nothing(void **state)
{
    struct cfr_grant empty = {0};
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_DELETE, .id = "bear-1", .admin = &empty};
    struct cfr_wire_request request = {0};
    struct cfr_err err = {0};
    struct world w;

    (void)state;
    set_up(&w);
    assert_int_equal(toy_provider.build(&w.config, &ask, "", &request, &err), CFR_E_CONFIG);
    cfr_wire_request_free(&request);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_takes_the_place_of_another),
        cmocka_unit_test(a_key_that_is_refused_is_undone),
        cmocka_unit_test(an_admin_that_does_not_fit_sends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
