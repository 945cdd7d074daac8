/* SPDX-License-Identifier: MIT */
/* Golden answers of Google's services: what each grants, or which error it is and what its text says. */
#include "gcp_sample.h"

#include "base/json.h"
#include "refusal_row.h"

#define FEDERATED "ya29.federated-token-of-the-first-step"

/* Configurations in which a step is the one that is under way. */
static const struct {
    const char *name;
    const char *const *settings;
    unsigned step;
} steps[] = {
    {"sts", (const char *const[]){"audience", AUDIENCE, "service_account", ACCOUNT, NULL}, 0},
    {"sts-only", (const char *const[]){"audience", AUDIENCE, NULL}, 0},
    {"key-access", (const char *const[]){"credentials_file", DATA "gcp/files/key.json", NULL}, 0},
    {"key-id",
     (const char *const[]){"credentials_file", DATA "gcp/files/key.json", "access_token", "false", "id_token_audience",
                           "https://svc.example", NULL},
     0},
    {"iam-access", (const char *const[]){"audience", AUDIENCE, "service_account", ACCOUNT, NULL}, 1},
    {"iam-id",
     (const char *const[]){"audience", AUDIENCE, "service_account", ACCOUNT, "access_token", "false",
                           "id_token_audience", "https://svc.example", NULL},
     1},
};

/* An exchange that has arrived at the step named STEP. */
static void arrive(struct gcp_sample *s, struct cfr_view step)
{
    size_t i = 0;

    while (i < COUNT(steps) && !cfr_view_is(step, steps[i].name))
        i++;
    assert_true(i < COUNT(steps));
    gcp_sample(s, steps[i].settings);
    assert_int_equal(s->x.provider->local(&s->x, &s->in, NULL), CFR_STS_MORE);
    s->x.step = steps[i].step;
    if (s->x.step != 0)
        assert_int_equal(cfr_grant_set(&s->x.grant, CFR_FIELD_GCP_ACCESS_TOKEN, cfr_view_of(FEDERATED), NULL), 0);
}

static void check_error(const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case("gcp", "errors", col[0]);
    struct cfr_wire_reply reply = {.status = (long)data_file_number(col[1]), .body = body};
    struct gcp_sample s;
    struct cfr_err err = {0};
    int rc;

    arrive(&s, col[2]);
    reply.content_type = cfr_view_is(col[3], "-") ? (struct cfr_view){NULL, 0} : col[3];
    rc = s.x.provider->parse(&s.x, &s.in, &reply, &err);
    refusal_row(col[0], rc, &err, col[4], col[5], col[6]);
    /* Not even a piece of a token may be repeated. */
    assert_null(strstr(err.text, "eyJzdWIiOiJhIn0"));
    assert_null(strstr(err.text, "federated-token"));
    gcp_sample_free(&s);
    data_file_free(body);
}

static void errors(void **state)
{
    struct cfr_view table = data_file_read("gcp/errors.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 7); rows++)
        check_error(col);
    assert_true(rows >= 98);
    data_file_free(table);
}

/* A service that is busy refuses nothing, whatever its answer says. */
static void errors_of_a_busy_service(void **state)
{
    struct cfr_view table = data_file_read("gcp/errors.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)state;
    while (data_file_row(&rest, col, 7)) {
        if (!cfr_view_is(col[5], "stop") || col[1].p[0] != '4')
            continue;
        col[1] = cfr_view_of("429");
        col[4] = cfr_view_of("throttled");
        col[5] = cfr_view_of("retry");
        col[6] = cfr_view_of("limits the rate of calls");
        check_error(col);
        col[1] = cfr_view_of("503");
        col[4] = cfr_view_of("unavailable");
        col[6] = cfr_view_of("is unavailable; this is usually temporary");
        check_error(col);
        rows++;
    }
    assert_true(rows >= 50);
    data_file_free(table);
}

static void expect(const struct cfr_grant *g, const char *name, struct cfr_view want)
{
    struct cfr_view got = cfr_grant_get(g, name);

    if (cfr_view_is(want, "-"))
        assert_null(got.p);
    else if (!cfr_view_eq(got, want))
        fail_msg("%s: got \"%.*s\", expected \"%.*s\"", name, (int)got.n, got.p, (int)want.n, want.p);
}

static void check_grant(const struct cfr_view col[6])
{
    struct cfr_view body = data_file_case("gcp", "grants", col[0]);
    struct cfr_wire_reply reply = {.status = 200, .body = body};
    struct gcp_sample s;
    struct cfr_err err = {0};

    arrive(&s, col[1]);
    if (s.x.provider->parse(&s.x, &s.in, &reply, &err) != CFR_STS_DONE)
        fail_msg("%.*s: %s", (int)col[0].n, col[0].p, err.text);
    expect(&s.x.grant, CFR_FIELD_GCP_ACCESS_TOKEN, col[2]);
    expect(&s.x.grant, CFR_FIELD_GCP_ID_TOKEN, col[3]);
    assert_int_equal(s.x.grant.expires_s, data_file_number(col[4]));
    assert_int_equal(s.x.grant.issued_s, NOW);
    assert_true(cfr_view_is(col[5], s.x.grant.identity));
    assert_int_equal(s.x.grant.field_count, 1);
    gcp_sample_free(&s);
    data_file_free(body);
}

static void grants(void **state)
{
    struct cfr_view table = data_file_read("gcp/grants.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[6];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 6); rows++)
        check_grant(col);
    assert_true(rows >= 13);
    data_file_free(table);
}

/* What cannot be said of the subject is left out of the identity. */
static void identities_without_a_subject(void **state)
{
    struct cfr_view body = data_file_read("gcp/grants/federated.json");
    struct cfr_wire_reply reply = {.status = 200, .body = body};
    static const char *const subjects[] = {"", "tab\tinside"};

    (void)state;
    for (size_t i = 0; i < COUNT(subjects); i++) {
        struct gcp_sample s;

        arrive(&s, cfr_view_of("sts-only"));
        s.in.subject = cfr_view_of(subjects[i]);
        assert_int_equal(s.x.provider->parse(&s.x, &s.in, &reply, NULL), CFR_STS_DONE);
        assert_string_equal(s.x.grant.identity, AUDIENCE);
        gcp_sample_free(&s);
    }
    data_file_free(body);
}

/* Every cut of a good answer is an error, and the exchange stays where it was. */
static void truncated_anywhere(void **state)
{
    static const struct {
        const char *file;
        const char *step;
    } cases[] = {{"gcp/grants/federated.json", "sts"},
                 {"gcp/grants/iam-plain.json", "iam-access"},
                 {"gcp/grants/iam-id.json", "iam-id"},
                 {"gcp/grants/key-id.json", "key-id"}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_view whole = data_file_read(cases[i].file);

        for (size_t n = 0; n + 2 < whole.n; n++) {
            struct cfr_wire_reply reply = {.status = 200, .body = {whole.p, n}};
            struct gcp_sample s;
            unsigned step;

            arrive(&s, cfr_view_of(cases[i].step));
            step = s.x.step;
            assert_int_equal(s.x.provider->parse(&s.x, &s.in, &reply, NULL), CFR_E_ANSWER);
            assert_int_equal(s.x.step, step);
            gcp_sample_free(&s);
        }
        data_file_free(whole);
    }
}

static void every_status_without_a_body(void **state)
{
    (void)state;
    for (long status = 100; status < 600; status++) {
        struct cfr_wire_reply reply = {.status = status};
        int want = status < 300                                      ? CFR_E_ANSWER
                   : status < 400                                    ? CFR_E_REDIRECT
                   : status == 401 || status == 403 || status == 407 ? CFR_E_DENIED
                   : status == 429                                   ? CFR_E_THROTTLED
                   : status >= 500 || status == 408                  ? CFR_E_UNAVAILABLE
                                                                     : CFR_E_REJECTED;
        struct gcp_sample s;

        arrive(&s, cfr_view_of("sts"));
        assert_int_equal(s.x.provider->parse(&s.x, &s.in, &reply, NULL), want);
        gcp_sample_free(&s);
    }
}

/* Whatever the server repeats, and in which place, no secret comes out. */
static void echoed_secrets(void **state)
{
    static const char *const places[] = {
        "{\"error\":\"%s\"}",
        "{\"error\":\"invalid_grant\",\"error_description\":\"bad '%s' value\"}",
        "{\"error\":{\"status\":\"%s\",\"message\":\"x\"}}",
        "{\"error\":{\"status\":\"PERMISSION_DENIED\",\"message\":\"%s\"}}",
    };
    static const char *const secrets[] = {TOKEN, FEDERATED, "c2lnbmF0dXJlc2lnbmF0dXJl", "hidden+secret/of"};
    char body[512];

    (void)state;
    for (size_t i = 0; i < COUNT(places) * COUNT(secrets); i++) {
        const char *place = places[i / COUNT(secrets)];
        const char *at = strstr(place, "%s");
        struct cfr_wire_reply reply = {.status = 400};
        struct cfr_err err = {0};
        struct gcp_sample s;

        gcp_sample(&s, LIST("credentials_file", DATA "gcp/files/external-client.json", "service_account", ACCOUNT));
        s.x.step = 1;
        assert_int_equal(cfr_grant_set(&s.x.grant, CFR_FIELD_GCP_ACCESS_TOKEN, cfr_view_of(FEDERATED), NULL), 0);
        (void)snprintf(body, sizeof body, "%.*s%s%s", (int)(at - place), place, secrets[i % COUNT(secrets)], at + 2);
        reply.body = cfr_view_of(body);
        assert_true(s.x.provider->parse(&s.x, &s.in, &reply, &err) < 0);
        assert_null(strstr(err.text, "c2lnbmF0"));
        assert_null(strstr(err.text, "federated-token"));
        assert_null(strstr(err.text, "hidden+"));
        gcp_sample_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(errors_of_a_busy_service),
        cmocka_unit_test(grants),
        cmocka_unit_test(identities_without_a_subject),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(every_status_without_a_body),
        cmocka_unit_test(echoed_secrets),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
