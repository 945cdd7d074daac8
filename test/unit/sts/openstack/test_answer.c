/* SPDX-License-Identifier: MIT */
/* Golden answers of Keystone: what each grants, or which error it is and what its text says. */
#include "openstack_sample.h"
#include "refusal_row.h"

/* Not even a piece of a secret may be repeated. */
static void expect_no_secret(const struct cfr_err *err)
{
    assert_null(strstr(err->text, "eyJzdWIiOiJhIn0"));
    assert_null(strstr(err->text, "c2lnbmF0dXJlc2ln"));
    assert_null(strstr(err->text, "ZWNyZXQtb2YtdGhl"));
    assert_null(strstr(err->text, "horse"));
    assert_null(strstr(err->text, "unscoped-token"));
}

static void check_error(const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case("openstack", "errors", col[0]);
    struct cfr_sts_exchange x = sample_exchange(col[2]);
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = (long)data_file_number(col[1]), .body = body};
    struct cfr_err err = {0};
    int rc;

    if (!cfr_view_is(col[3], "-"))
        reply.content_type = col[3];
    if (reply.status < 300)
        reply.header = cfr_view_of(SAMPLE_HEADER);
    rc = x.provider->parse(&x, &in, &reply, &err);
    refusal_row(col[0], rc, &err, col[4], col[5], col[6]);
    expect_no_secret(&err);
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void errors(void **state)
{
    struct cfr_view table = data_file_read("openstack/errors.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 7); rows++)
        check_error(col);
    assert_true(rows >= 89);
    data_file_free(table);
}

/* FIELDS is NAME=VALUE;NAME=VALUE. */
static void expect_fields(const char *file, const struct cfr_grant *g, struct cfr_view fields)
{
    while (fields.n != 0) {
        const char *end = memchr(fields.p, ';', fields.n);
        size_t n = end != NULL ? (size_t)(end - fields.p) : fields.n;
        const char *equals = memchr(fields.p, '=', n);
        char name[64];
        struct cfr_view want;

        assert_non_null(equals);
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - fields.p), fields.p);
        want = (struct cfr_view){equals + 1, n - (size_t)(equals + 1 - fields.p)};
        if (!cfr_view_eq(cfr_grant_get(g, name), want))
            fail_msg("%s: %s is \"%.*s\"", file, name, (int)cfr_grant_get(g, name).n, cfr_grant_get(g, name).p);
        fields.p += end != NULL ? n + 1 : n;
        fields.n -= end != NULL ? n + 1 : n;
    }
}

static void check_grant(const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case("openstack", "grants", col[0]);
    struct cfr_sts_exchange x = sample_exchange(col[1]);
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {
        .status = (long)data_file_number(col[2]), .body = body, .header = cfr_view_of(" " SAMPLE_HEADER "\r\n")};
    struct cfr_err err = {0};
    char file[128];

    (void)snprintf(file, sizeof file, "%.*s", (int)col[0].n, col[0].p);
    if (x.provider->parse(&x, &in, &reply, &err) != CFR_STS_DONE)
        fail_msg("%s: %s", file, err.text);
    assert_true(cfr_view_is(cfr_grant_get(&x.grant, CFR_FIELD_OPENSTACK_TOKEN), SAMPLE_HEADER));
    assert_true(cfr_grant_get(&x.grant, CFR_FIELD_OPENSTACK_AUTH_URL).n > 10);
    expect_fields(file, &x.grant, col[3]);
    if (!cfr_view_is(col[4], x.grant.identity))
        fail_msg("%s: %s", file, x.grant.identity);
    assert_int_equal(x.grant.issued_s, data_file_number(col[5]));
    assert_int_equal(x.grant.expires_s, data_file_number(col[6]));
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void grants(void **state)
{
    struct cfr_view table = data_file_read("openstack/grants.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 7); rows++)
        check_grant(col);
    assert_true(rows >= 12);
    data_file_free(table);
}

/* The first step keeps the unscoped token and nothing else, and the second shows it. */
static void two_steps(void **state)
{
    struct cfr_view body = data_file_read("openstack/unscoped.json");
    struct cfr_sts_exchange x = sample_exchange(cfr_view_of("federation"));
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = 201, .body = body, .header = cfr_view_of("gAAAAABfirst")};
    struct cfr_wire_request r = {0};

    (void)state;
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_STS_MORE);
    assert_int_equal(x.step, 1);
    assert_int_equal(x.grant.field_count, 1);
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), 0);
    assert_non_null(strstr(r.body.p, "{\"id\":\"gAAAAABfirst\"}"));
    cfr_wire_request_free(&r);
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void without_a_usable_header(void **state)
{
    static const char *const bad[] = {"", "  ", "two words", "a\tb", "caf\xc3\xa9"};
    struct cfr_view body = data_file_read("openstack/grants/application-credential.json");
    char *large = calloc(1, 65538);

    (void)state;
    assert_non_null(large);
    memset(large, 'a', 65537);
    for (size_t i = 0; i <= sizeof bad / sizeof bad[0]; i++) {
        struct cfr_sts_exchange x = sample_exchange(cfr_view_of("id"));
        struct cfr_sts_input in = sample_input();
        struct cfr_wire_reply reply = {
            .status = 201, .body = body, .header = cfr_view_of(i < sizeof bad / sizeof bad[0] ? bad[i] : large)};
        struct cfr_err err = {0};

        assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_ANSWER);
        assert_non_null(strstr(err.text, i < 2 ? "X-Subject-Token" : "the token in the answer"));
        assert_int_equal(x.grant.field_count, 0);
        cfr_sts_exchange_free(&x);
    }
    free(large);
    data_file_free(body);
}

/* Every cut of a good answer is an error, and the exchange stays where it was. */
static void truncated_anywhere(void **state)
{
    struct cfr_view whole = data_file_read("openstack/grants/application-credential.json");

    (void)state;
    for (size_t n = 0; n + 2 < whole.n; n++) {
        struct cfr_sts_exchange x = sample_exchange(cfr_view_of("id"));
        struct cfr_sts_input in = sample_input();
        struct cfr_wire_reply reply = {.status = 201, .body = {whole.p, n}, .header = cfr_view_of(SAMPLE_HEADER)};

        assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_E_ANSWER);
        assert_true(x.step == 0 && x.grant.field_count == 0);
        cfr_sts_exchange_free(&x);
    }
    data_file_free(whole);
}

static void the_whole_text(void **state)
{
    struct cfr_view body = data_file_read("openstack/errors/deleted.json");
    struct cfr_sts_exchange x = sample_exchange(cfr_view_of("id"));
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = 404, .body = body, .request_id = cfr_view_of("req-8a0e")};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_DENIED);
    assert_string_equal(
        err.text,
        "Not Found: Could not find Application Credential: 0a1b2c3d. (HTTP 404, request req-8a0e): application "
        "credential \"0a1b2c3d\", its owner, its project or one of its roles was deleted; create a new one");
    data_file_free(body);
}

/* Whatever is repeated, and in which place, no secret comes out. */
static void echoed_secrets(void **state)
{
    static const char *const places[] = {
        "{\"error\":{\"title\":\"%s\"}}",
        "{\"error\":{\"title\":\"Unauthorized\",\"message\":\"bad %s value\"}}",
        "{\"message\":\"'%s'\"}",
    };
    static const char *const secrets[] = {SAMPLE_TOKEN, SAMPLE_SECRET, SAMPLE_UNSCOPED, "correct horse \\\"battery\\\"",
                                          SAMPLE_HEADER};
    static const char *const ways[] = {"id", "password", "federation", "scope"};
    char body[1024];

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0] * (sizeof secrets / sizeof secrets[0]) * 4; i++) {
        const char *place = places[i / 4 % 3];
        const char *at = strstr(place, "%s");
        struct cfr_sts_exchange x = sample_exchange(cfr_view_of(ways[i % 4]));
        struct cfr_sts_input in = sample_input();
        struct cfr_wire_reply reply = {.status = i % 2 == 0 ? 401 : 400, .header = cfr_view_of(SAMPLE_HEADER)};
        struct cfr_err err = {0};

        if (strcmp(secrets[i / 12 % 5], SAMPLE_UNSCOPED) == 0 && x.step == 0)
            continue; /* nobody has it yet */
        (void)snprintf(body, sizeof body, "%.*s%s%s", (int)(at - place), place, secrets[i / 12 % 5], at + 2);
        reply.body = cfr_view_of(body);
        assert_true(x.provider->parse(&x, &in, &reply, &err) < 0);
        expect_no_secret(&err);
        assert_null(strstr(err.text, "in-an_answer"));
        cfr_sts_exchange_free(&x);
    }
}

static void every_status_without_a_body(void **state)
{
    static const char *const ways[] = {"id", "password", "federation", "scope"};

    (void)state;
    for (long status = 100; status < 600; status++) {
        struct cfr_sts_exchange x = sample_exchange(cfr_view_of(ways[status % 4]));
        struct cfr_sts_input in = sample_input();
        struct cfr_wire_reply reply = {.status = status};
        struct cfr_err err = {0};
        int want = status < 300                                      ? CFR_E_ANSWER
                   : status < 400                                    ? CFR_E_REDIRECT
                   : status == 401 || status == 403 || status == 407 ? CFR_E_DENIED
                   : status == 429                                   ? CFR_E_THROTTLED
                   : status >= 500 || status == 408                  ? CFR_E_UNAVAILABLE
                                                                     : CFR_E_REJECTED;

        if (x.provider->parse(&x, &in, &reply, &err) != want)
            fail_msg("%ld: %s", status, err.text);
        cfr_sts_exchange_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(grants),
        cmocka_unit_test(two_steps),
        cmocka_unit_test(without_a_usable_header),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(the_whole_text),
        cmocka_unit_test(echoed_secrets),
        cmocka_unit_test(every_status_without_a_body),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
