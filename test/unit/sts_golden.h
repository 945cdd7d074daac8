/* SPDX-License-Identifier: MIT */
/* Golden requests and answers of providers: walks a folder of test/data. A row's `case` names the
 * configuration and the step that it is about, which the test's own `begin` sets up. */
#ifndef CFR_TEST_STS_GOLDEN_H
#define CFR_TEST_STS_GOLDEN_H

#include "unit.h"

#include "base/json.h"
#include "base/str.h"
#include "data_file.h"
#include "refusal_row.h"
#include "sts/core/provider.h"

#define GOLDEN_NOW    1767323045 /* 2026-01-02T03:04:05Z */
#define GOLDEN_TOKEN  "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
#define GOLDEN_KEY    "AKIDEXAMPLE0000000AA"
#define GOLDEN_SECRET "c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"
#define GOLDEN_ARN    "arn:aws:sts::123456789012:assumed-role/reporting/ns-a.sa-b"

/* Sets up what CASE is about. */
typedef void golden_begin(struct cfr_view name, struct cfr_sts_exchange *x, struct cfr_sts_input *in);

static inline const char *golden_no_env(const char *name)
{
    (void)name;
    return NULL;
}

static inline struct cfr_sts_input golden_input(void)
{
    static const unsigned char nonce[CFR_STS_NONCE_BYTES] = {1, 2, 3};

    return (struct cfr_sts_input){.credential = "registry",
                                  .token = cfr_view_of(GOLDEN_TOKEN),
                                  .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                                  .now_s = GOLDEN_NOW,
                                  .nonce = nonce,
                                  .env = golden_no_env};
}

/* A session's keys, as the step before left them. */
static inline void golden_session(struct cfr_grant *g)
{
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_ACCESS_KEY_ID, cfr_view_of(GOLDEN_KEY), NULL), 0);
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY, cfr_view_of(GOLDEN_SECRET), NULL), 0);
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_SESSION_TOKEN, cfr_view_of("FAKESESSIONTOKEN//=="), NULL),
                     0);
    assert_int_equal(cfr_grant_set(g, CFR_FIELD_AWS_ACCOUNT_ID, cfr_view_of("123456789012"), NULL), 0);
    assert_int_equal(cfr_grant_set_identity(g, cfr_view_of(GOLDEN_ARN), NULL), 0);
    g->expires_s = 1767326645;
}

/* The request as text: method, URL, headers, what else it asks of the agent, an empty line, and the body with
 * each parameter on a line. */
static inline void golden_request(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                                  const char *file)
{
    struct cfr_view want = data_file_read(file);
    struct cfr_str got = {.limit = 200000};
    struct cfr_sts_request r = {0};
    struct cfr_err err = {0};

    if (x->provider->build(x, in, &r, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    cfr_str_addf(&got, "%s %s\n", r.method, r.url);
    for (size_t i = 0; i < r.header_count; i++)
        cfr_str_addf(&got, "%s\n", r.headers[i].p);
    if (r.answer_header != NULL)
        cfr_str_addf(&got, "(answer header: %s)\n", r.answer_header);
    if (r.link_local)
        cfr_str_addz(&got, "(link local)\n");
    if (r.ca_file != NULL)
        cfr_str_addf(&got, "(CA: %s)\n", r.ca_file);
    cfr_str_addz(&got, "\n");
    for (const char *p = r.body.p; p != NULL && *p != '\0'; p++)
        cfr_str_addf(&got, *p == '&' ? "\n&" : "%c", *p);
    cfr_str_addz(&got, "\n");
    if (!cfr_view_eq(cfr_str_view(&got), want))
        fail_msg("%s: got\n%s\nexpected\n%.*s", file, got.p, (int)want.n, want.p);
    cfr_str_free(&got);
    cfr_sts_request_free(&r);
    data_file_free(want);
}

/* Not even a piece of a secret may be repeated. */
static inline void golden_no_secret(const struct cfr_err *err)
{
    static const char *const pieces[] = {"eyJzdWIiOiJhIn0", "c2lnbmF0dXJl", "c2VjcmV0LWtleS1mb3I",
                                         "FAKESESSION", "horse"};

    assert_true(cfr_view_printable(cfr_view_of(err->text)));
    assert_true(strlen(err->text) < sizeof err->text - 1);
    for (size_t i = 0; i < COUNT(pieces); i++)
        assert_null(strstr(err->text, pieces[i]));
}

/* One row of errors: file, status, case, header, code, class, text. */
static inline void golden_error(const char *folder, const char *sub, golden_begin *begin,
                                const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case(folder, sub, col[0]);
    struct cfr_sts_exchange x = {0};
    struct cfr_sts_input in = golden_input();
    struct cfr_sts_reply reply = {.status = (long)data_file_number(col[1]), .body = body};
    struct cfr_err err = {0};
    int rc;

    if (!cfr_view_is(col[3], "-"))
        reply.header = col[3];
    begin(col[2], &x, &in);
    rc = x.provider->parse(&x, &in, &reply, &err);
    refusal_row(col[0], rc, &err, col[4], col[5], col[6]);
    golden_no_secret(&err);
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static inline void golden_errors(const char *folder, const char *sub, golden_begin *begin, unsigned at_least)
{
    char name[128];
    struct cfr_view table;
    struct cfr_view rest;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)snprintf(name, sizeof name, "%s/%s.tsv", folder, sub);
    table = data_file_read(name);
    for (rest = table; data_file_row(&rest, col, 7); rows++)
        golden_error(folder, sub, begin, col);
    assert_true(rows >= at_least);
    data_file_free(table);
}

/* FIELDS is NAME=VALUE;NAME=VALUE; an empty value means that there is no such field. */
static inline void golden_fields(struct cfr_view file, const struct cfr_grant *g, struct cfr_view fields)
{
    while (fields.n != 0) {
        const char *end = memchr(fields.p, ';', fields.n);
        size_t n = end != NULL ? (size_t)(end - fields.p) : fields.n;
        const char *equals = memchr(fields.p, '=', n);
        struct cfr_view got;
        char name[64];

        assert_non_null(equals);
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - fields.p), fields.p);
        got = cfr_grant_get(g, name);
        if (!cfr_view_eq(got, (struct cfr_view){equals + 1, n - (size_t)(equals + 1 - fields.p)}))
            fail_msg("%.*s: %s is \"%.*s\"", (int)file.n, file.p, name, (int)got.n, got.p);
        fields.p += end != NULL ? n + 1 : n;
        fields.n -= end != NULL ? n + 1 : n;
    }
}

/* One row of grants: file, case, status, outcome, fields, identity, expiry. */
static inline void golden_grant(const char *folder, const char *sub, golden_begin *begin,
                                const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case(folder, sub, col[0]);
    struct cfr_sts_exchange x = {0};
    struct cfr_sts_input in = golden_input();
    struct cfr_sts_reply reply = {.status = (long)data_file_number(col[2]), .body = body};
    struct cfr_err err = {0};
    int rc;

    begin(col[1], &x, &in);
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc != (cfr_view_is(col[3], "more") ? CFR_STS_MORE : CFR_STS_DONE))
        fail_msg("%.*s: %d %s", (int)col[0].n, col[0].p, rc, err.text);
    golden_fields(col[0], &x.grant, col[4]);
    if (!cfr_view_is(col[5], x.grant.identity != NULL ? x.grant.identity : "-"))
        fail_msg("%.*s: identity %s", (int)col[0].n, col[0].p, x.grant.identity);
    if (x.grant.expires_s != data_file_number(col[6]))
        fail_msg("%.*s: expires %ld", (int)col[0].n, col[0].p, (long)x.grant.expires_s);
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static inline void golden_grants(const char *folder, const char *sub, golden_begin *begin, unsigned at_least)
{
    char name[128];
    struct cfr_view table;
    struct cfr_view rest;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)snprintf(name, sizeof name, "%s/%s.tsv", folder, sub);
    table = data_file_read(name);
    for (rest = table; data_file_row(&rest, col, 7); rows++)
        golden_grant(folder, sub, begin, col);
    assert_true(rows >= at_least);
    data_file_free(table);
}

/* Every key has a text for the reference page, a place in its struct, and valid limits. */
static inline void golden_table(const struct cfr_table *table)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        if (f->doc == NULL || strlen(f->doc) <= 25 || f->doc[strlen(f->doc) - 1] != '.')
            fail_msg("%s: %s", f->key, f->doc);
        assert_true(f->offset >= sizeof(struct cfr_node) && f->offset < table->size);
        assert_true(f->min <= f->max);
    }
}

/* Sets keys and values in turn, up to a NULL, in a zeroed NODE; a list gets one element. Freed with
 * cfr_field_free. */
static inline void golden_set(const struct cfr_table *table, void *node, const char *const *settings)
{
    struct cfr_err err = {0};

    assert_int_equal(cfr_field_defaults(table, node, &err), 0);
    for (; *settings != NULL; settings += 2) {
        const struct cfr_field *f = cfr_field_find(table, cfr_view_of(settings[0]));
        struct cfr_strings *list;

        if (f == NULL)
            fail_msg("there is no key %s", settings[0]);
        list = (struct cfr_strings *)(void *)((char *)node + f->offset);
        if (f->type == CFR_FIELD_STRINGS) {
            list->items = realloc(list->items, (list->count + 1) * sizeof *list->items);
            list->items[list->count++] = strdup(settings[1]);
        } else if (f->type == CFR_FIELD_PAIRS) {
            struct cfr_pairs *pairs = (struct cfr_pairs *)(void *)list;

            pairs->items = calloc(1, sizeof *pairs->items);
            pairs->items[0] = (struct cfr_pair){strdup(settings[1]), strdup("v")};
            pairs->count = 1;
        } else if (cfr_field_store(f, node, cfr_view_of(settings[1]), false, &err) != 0) {
            fail_msg("%s: %s", settings[0], err.text);
        }
    }
}

/* Both checks of PROVIDER on such a configuration; WHY NULL means that they must pass. */
static inline void golden_check(const struct cfr_sts_provider *provider, const char *(*env)(const char *),
                                const char *why, const char *const *settings)
{
    void *node = calloc(1, provider->table->size);
    struct cfr_err err = {0};
    int rc;

    golden_set(provider->table, node, settings);
    rc = provider->table->check(node, &err);
    if (rc == 0 && provider->check != NULL)
        rc = provider->check(node, env, &err);
    if (why == NULL && rc != 0)
        fail_msg("%s", err.text);
    if (why != NULL && (rc != CFR_E_CONFIG || strstr(err.text, why) == NULL))
        fail_msg("expected \"%s\", got %d \"%s\"", why, rc, err.text);
    cfr_field_free(provider->table, node);
    free(node);
}

#define GOLDEN_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
