/* SPDX-License-Identifier: MIT */
/* Golden requests and answers of the clouds that keys are minted in: walks a folder of test/data/mint. */
#ifndef CFR_TEST_MINT_GOLDEN_H
#define CFR_TEST_MINT_GOLDEN_H

#include "unit.h"

#include "base/json.h"
#include "base/str.h"
#include "data_file.h"
#include "heap_fuse.h"
#include "rotation/provider.h"

#define MINT_NOW   1767323045 /* 2026-01-02T03:04:05Z */
#define MINT_NAME  "credfresh-registry-7-0badcafe"
#define MINT_TOKEN "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"

static inline enum cfr_mint_op mint_op(struct cfr_view name)
{
    static const char *const names[] = {"list", "create", "verify", "deactivate", "last-used", "delete"};

    for (size_t i = 0; i < COUNT(names); i++) {
        if (cfr_view_is(name, names[i]))
            return (enum cfr_mint_op)i;
    }
    fail_msg("there is no operation %.*s", (int)name.n, name.p);
    return CFR_MINT_LIST;
}

static inline struct cfr_mint_ask mint_ask(enum cfr_mint_op op, const char *id, const struct cfr_grant *admin)
{
    return (struct cfr_mint_ask){
        .op = op, .id = id, .name = MINT_NAME, .now_s = MINT_NOW, .admin = admin, .fresh = admin};
}

static inline void mint_set(struct cfr_grant *g, const char *name, const char *value)
{
    assert_int_equal(cfr_grant_set(g, name, cfr_view_of(value), NULL), 0);
}

/* "METHOD URL", a line for each header and for what else it says, an empty line, the body. */
static inline void mint_request(const struct cfr_mint_provider *p, const void *config,
                                const struct cfr_mint_ask *ask, const char *want)
{
    struct cfr_str got = {.limit = 200000};
    struct cfr_mint_request r = {0};
    struct cfr_err err = {0};

    if (p->build(config, ask, "", &r, &err) != 0)
        fail_msg("%s", err.text);
    cfr_str_addf(&got, "%s %s\n", r.method, r.url);
    for (size_t i = 0; i < r.header_count; i++)
        cfr_str_addf(&got, "%s\n", r.headers[i].p);
    if (r.content_type != NULL)
        cfr_str_addf(&got, "(type: %s)\n", r.content_type);
    if (r.ca_file != NULL)
        cfr_str_addf(&got, "(CA: %s)\n", r.ca_file);
    cfr_str_addz(&got, "\n");
    cfr_str_add(&got, cfr_secret_view(&r.body));
    assert_string_equal(got.p, want);
    cfr_str_free(&got);
    cfr_mint_request_free(&r);
}

/* Not even a piece of a secret may be repeated. */
static inline void mint_no_secret(const struct cfr_err *err)
{
    static const char *const pieces[] = {"eyJzdWIiOiJhIn0", "c2lnbmF0dXJl", "hush-hush", "MIIEv"};

    assert_true(cfr_view_printable(cfr_view_of(err->text)));
    assert_true(strlen(err->text) < sizeof err->text - 1);
    for (size_t i = 0; i < COUNT(pieces); i++)
        assert_null(strstr(err->text, pieces[i]));
}

static inline struct cfr_view mint_case(const struct cfr_mint_provider *p, const char *sub,
                                        struct cfr_view file)
{
    char folder[64];

    (void)snprintf(folder, sizeof folder, "mint/%s", p->name);
    return data_file_case(folder, sub, file);
}

/* One row: file, operation, status, code, text. The code "ok" is what is as good as done. */
static inline void mint_refusal(const struct cfr_mint_provider *p, const void *config,
                                const struct cfr_grant *admin, const struct cfr_view col[5])
{
    struct cfr_view body = mint_case(p, "errors", col[0]);
    struct cfr_mint_ask ask = mint_ask(mint_op(col[1]), "key-1", admin);
    struct cfr_mint_reply reply = {.status = (long)data_file_number(col[2]), .body = body};
    struct cfr_mint_answer out = {.used_s = 0};
    struct cfr_err err = {0};
    int rc = p->parse(config, &ask, &reply, &out, &err);
    char want[400];

    (void)snprintf(want, sizeof want, "%.*s", (int)col[4].n, col[4].p);
    if (!cfr_view_is(col[3], cfr_err_name(rc)) || err.code != rc || strstr(err.text, want) == NULL)
        fail_msg("%.*s (%.*s): got %s: %s\nexpected %.*s with \"%s\"", (int)col[0].n, col[0].p, (int)col[1].n,
                 col[1].p, cfr_err_name(rc), err.text, (int)col[3].n, col[3].p, want);
    assert_true(rc == 0 || out.grant.field_count == 0);
    mint_no_secret(&err);
    cfr_mint_answer_free(&out);
    data_file_free(body);
}

static inline void mint_refusals(const struct cfr_mint_provider *p, const void *config,
                                 const struct cfr_grant *admin, unsigned at_least)
{
    char name[128];
    struct cfr_view table;
    struct cfr_view rest;
    struct cfr_view col[5];
    unsigned rows = 0;

    (void)snprintf(name, sizeof name, "mint/%s/errors.tsv", p->name);
    table = data_file_read(name);
    for (rest = table; data_file_row(&rest, col, 5); rows++)
        mint_refusal(p, config, admin, col);
    assert_true(rows >= at_least);
    data_file_free(table);
}

/* Reads FILE as the answer to OP, which must be good. */
static inline void mint_read(const struct cfr_mint_provider *p, const void *config,
                             const struct cfr_grant *admin, enum cfr_mint_op op, long status,
                             const char *file, struct cfr_mint_answer *out)
{
    struct cfr_view body = mint_case(p, "answers", cfr_view_of(file));
    struct cfr_mint_ask ask = mint_ask(op, "key-1", admin);
    struct cfr_mint_reply reply = {.status = status, .body = body};
    struct cfr_err err = {0};

    if (p->parse(config, &ask, &reply, out, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    data_file_free(body);
}

/* Every cut of a good answer is an error that tells no secret, and makes no key. */
static inline void mint_truncated(const struct cfr_mint_provider *p, const void *config,
                                  const struct cfr_grant *admin, enum cfr_mint_op op, long status,
                                  const char *file)
{
    struct cfr_view whole = mint_case(p, "answers", cfr_view_of(file));

    for (size_t n = 0; n + 2 < whole.n; n++) {
        struct cfr_mint_ask ask = mint_ask(op, "key-1", admin);
        struct cfr_mint_reply reply = {.status = status, .body = {whole.p, n}};
        struct cfr_mint_answer out = {.used_s = 0};
        struct cfr_err err = {0};

        assert_int_equal(p->parse(config, &ask, &reply, &out, &err), CFR_E_ANSWER);
        assert_true(out.keys.count == 0 && out.grant.field_count == 0);
        mint_no_secret(&err);
        cfr_mint_answer_free(&out);
    }
    data_file_free(whole);
}

/* Whatever the status, an empty body is an error to all but what answers with none. */
static inline void mint_statuses(const struct cfr_mint_provider *p, const void *config,
                                 const struct cfr_grant *admin)
{
    for (long status = 100; status < 600; status++) {
        enum cfr_mint_op op = status % 2 == 0 ? CFR_MINT_CREATE : CFR_MINT_LIST;
        struct cfr_mint_ask ask = mint_ask(op, "key-1", admin);
        struct cfr_mint_reply reply = {.status = status};
        struct cfr_mint_answer out = {.used_s = 0};
        struct cfr_err err = {0};
        int rc = p->parse(config, &ask, &reply, &out, &err);

        assert_true(rc < 0 && err.code == rc && err.text[0] != '\0');
        if (status >= 500)
            assert_int_equal(rc, CFR_E_UNAVAILABLE);
        cfr_mint_answer_free(&out);
    }
}

/* All of the above, and cut answers that list keys and (with CREATED_STATUS) make one. */
static inline void mint_bad_answers(const struct cfr_mint_provider *p, const void *config,
                                    const struct cfr_grant *admin, unsigned at_least, long created_status)
{
    mint_refusals(p, config, admin, at_least);
    mint_statuses(p, config, admin);
    mint_truncated(p, config, admin, CFR_MINT_CREATE, created_status, "created.json");
    mint_truncated(p, config, admin, CFR_MINT_LIST, 200, "list.json");
}

/* A request for OP, and FILE as its answer, with the n-th allocation failing, for every n: each failure is an
 * error that says so, and nothing leaks (the sanitizers watch). */
static inline void mint_burn(const struct cfr_mint_provider *p, const void *config,
                             const struct cfr_grant *admin, enum cfr_mint_op op, long status,
                             const char *file, int expected)
{
    struct cfr_view body = mint_case(p, expected == 0 ? "answers" : "errors", cfr_view_of(file));
    struct cfr_mint_ask ask = mint_ask(op, "key-1", admin);
    struct cfr_mint_reply reply = {.status = status, .body = body};
    bool failed = true;

    for (long n = 0; failed; n++) {
        struct cfr_mint_request r = {0};
        struct cfr_mint_answer out = {.used_s = 0};
        struct cfr_err err = {0};
        int rc;

        fuse = n;
        rc = p->build(config, &ask, "", &r, &err);
        if (rc == 0)
            rc = p->parse(config, &ask, &reply, &out, &err);
        failed = fuse < 0;
        fuse = -1;
        assert_int_equal(rc, failed ? CFR_E_NOMEM : expected);
        assert_true(rc == 0 || (err.code == rc && err.text[0] != '\0'));
        cfr_mint_request_free(&r);
        cfr_mint_answer_free(&out);
        assert_true(n < 10000);
    }
    data_file_free(body);
}

/* Sets keys and values in turn, up to a NULL, in a zeroed node and checks it; WHY NULL means that it must
 * pass. */
static inline void mint_check(const struct cfr_table *table, const char *why, const char *const *settings)
{
    void *node = calloc(1, table->size);
    struct cfr_err err = {0};
    int rc = cfr_field_defaults(table, node, &err);

    assert_int_equal(rc, 0);
    for (; rc == 0 && *settings != NULL; settings += 2) {
        const struct cfr_field *f = cfr_field_find(table, cfr_view_of(settings[0]));

        assert_non_null(f);
        rc = cfr_field_store(f, node, cfr_view_of(settings[1]), false, &err);
    }
    rc = rc != 0 ? rc : table->check(node, &err);
    if (why == NULL && rc != 0)
        fail_msg("%s", err.text);
    if (why != NULL && (rc != CFR_E_CONFIG || strstr(err.text, why) == NULL))
        fail_msg("expected \"%s\", got %d \"%s\"", why, rc, err.text);
    cfr_field_free(table, node);
    free(node);
}

/* Every key has a text for the reference page, a place in its struct, and valid limits. */
static inline void mint_table(const struct cfr_table *table)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        if (f->doc == NULL || strlen(f->doc) <= 25 || f->doc[strlen(f->doc) - 1] != '.')
            fail_msg("%s: %s", f->key, f->doc);
        assert_true(f->offset >= sizeof(struct cfr_node) && f->offset < table->size);
        assert_true(f->min <= f->max);
    }
    assert_non_null(table->doc);
}

static inline struct cfr_view mint_trial_value(const struct cfr_mint_trial_value *values, size_t count,
                                               const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i].key, key) == 0)
            return values[i].value;
    }
    return (struct cfr_view){NULL, 0};
}

#define MINT_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
