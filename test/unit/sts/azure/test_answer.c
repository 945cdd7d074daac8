/* SPDX-License-Identifier: MIT */
/* Golden answers of Entra ID and of registries: what each grants, or which error it is and what its text
 * says. */
#include "refusal_row.h"

#include "azure_sample.h"
#include "base/json.h"
#include "data_file.h"

#define SECRET "Abc8Q~very+secret&value.1_2-3"

static char *scopes[] = {(char[]){SAMPLE_ARM}, (char[]){"https://vault.azure.net"}};
static char *registries[] = {(char[]){"reg.azurecr.io"}};
static struct cfr_sts_content contents[] = {{"client_secret_file", {SECRET, sizeof SECRET - 1}}};

static struct cfr_azure config_of(struct cfr_view proof)
{
    static char tenant[] = SAMPLE_TENANT;
    static char client[] = SAMPLE_CLIENT;
    static char file[] = "/file";
    struct cfr_azure c = {.tenant_id = tenant, .client_id = client, .scopes = {scopes, 2}, .acr = {registries, 1}};

    if (cfr_view_is(proof, "secret"))
        c.client_secret_file = file;
    else if (cfr_view_is(proof, "certificate"))
        c.certificate_file = file;
    return c;
}

static struct cfr_sts_input input(const struct cfr_azure *c)
{
    struct cfr_sts_input in = sample_input();

    if (c->client_secret_file != NULL) {
        in.token = (struct cfr_view){NULL, 0};
        in.subject = in.token;
        in.contents = contents;
        in.content_count = 1;
    }
    return in;
}

/* An exchange that has arrived at STEP. */
static struct cfr_sts_exchange exchange(const struct cfr_azure *c, unsigned step)
{
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = c, .step = step};

    if (step == 0)
        return x;
    assert_int_equal(cfr_grant_set(&x.grant, CFR_FIELD_AZURE_CLIENT_ID, cfr_view_of(SAMPLE_CLIENT), NULL), 0);
    assert_int_equal(
        cfr_grant_set(&x.grant, CFR_FIELD_AZURE_ACCESS_TOKEN, cfr_view_of("first/access+token/of/arm"), NULL), 0);
    x.grant.expires_s = SAMPLE_NOW_S + 3599;
    return x;
}

static void check_error(const struct cfr_view col[8])
{
    struct cfr_view body = data_file_case("azure", "errors", col[0]);
    struct cfr_azure c = config_of(col[2]);
    struct cfr_sts_exchange x = exchange(&c, (unsigned)data_file_number(col[3]));
    struct cfr_sts_input in = input(&c);
    struct cfr_wire_reply reply = {.status = (long)data_file_number(col[1]), .body = body};
    struct cfr_err err = {0};
    int rc;

    reply.content_type = cfr_view_is(col[4], "-") ? (struct cfr_view){NULL, 0} : col[4];
    rc = x.provider->parse(&x, &in, &reply, &err);
    refusal_row(col[0], rc, &err, col[5], col[6], col[7]);
    assert_int_equal(x.wait_s, cfr_view_is(col[0], "aadsts50196.json") ? 300 : 0);
    /* aadstsNNN.json is told by its code, not by its `error`. */
    if (cfr_view_starts(col[0], "aadsts")) {
        size_t digits = strspn(col[0].p + 6, "0123456789");

        assert_true(strncmp(err.text, "AADSTS", 6) == 0 && strncmp(err.text + 6, col[0].p + 6, digits) == 0);
        assert_true(err.text[6 + digits] == ':');
    }
    assert_true(cfr_view_printable(cfr_view_of(err.text)));
    assert_true(strlen(err.text) < sizeof err.text - 1);
    assert_null(strstr(err.text, "Trace ID"));
    assert_null(strstr(err.text, "Timestamp"));
    assert_null(strstr(err.text, "{who}"));
    /* Not even a piece of the token may be repeated. */
    assert_null(strstr(err.text, "eyJzdWIiOiJhIn0"));
    assert_null(strstr(err.text, "c2lnbmF0dXJlc2ln"));
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void errors(void **state)
{
    struct cfr_view table = data_file_read("azure/errors.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[8];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 8); rows++)
        check_error(col);
    assert_true(rows >= 105);
    data_file_free(table);
}

static void expect_field(const struct cfr_grant *g, const char *name, const char *want)
{
    struct cfr_view got = cfr_grant_get(g, name);

    if (!cfr_view_is(got, want))
        fail_msg("%s: got \"%.*s\", expected \"%s\"", name, (int)got.n, got.p, want);
}

static void check_grant(const struct cfr_view col[4])
{
    struct cfr_view body = data_file_case("azure", "grants", col[0]);
    struct cfr_azure c = config_of(cfr_view_of("federated"));
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = input(&c);
    struct cfr_wire_reply reply = {.status = 200, .content_type = cfr_view_of("application/json"), .body = body};
    struct cfr_err err = {0};
    char token[256];
    int rc;

    c.scopes.count = 0;
    c.acr.count = 0;
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc != CFR_STS_DONE)
        fail_msg("%.*s: %d %s", (int)col[0].n, col[0].p, rc, err.text);
    (void)snprintf(token, sizeof token, "%.*s", (int)col[1].n, col[1].p);
    expect_field(&x.grant, CFR_FIELD_AZURE_ACCESS_TOKEN, token);
    expect_field(&x.grant, CFR_FIELD_AZURE_CLIENT_ID, SAMPLE_CLIENT);
    expect_field(&x.grant, CFR_FIELD_AZURE_TENANT_ID, SAMPLE_TENANT);
    expect_field(&x.grant, CFR_FIELD_AZURE_SCOPE, SAMPLE_ARM);
    expect_field(&x.grant, CFR_FIELD_AZURE_AUTHORITY_HOST, "https://login.microsoftonline.com/");
    assert_string_equal(x.grant.identity, "client " SAMPLE_CLIENT " of tenant " SAMPLE_TENANT);
    assert_int_equal(x.grant.issued_s, SAMPLE_NOW_S);
    assert_int_equal(x.grant.expires_s, data_file_number(col[2]));
    assert_int_equal(x.grant.refresh_s, data_file_number(col[3]));
    cfr_sts_exchange_free(&x);
    data_file_free(body);
}

static void grants(void **state)
{
    struct cfr_view table = data_file_read("azure/grants.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[4];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 4); rows++)
        check_grant(col);
    assert_true(rows >= 7);
    data_file_free(table);
}

static int answer(struct cfr_sts_exchange *x, int64_t now_s, const char *body, struct cfr_err *err)
{
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = 200, .body = cfr_view_of(body)};

    in.now_s = now_s;
    return x->provider->parse(x, &in, &reply, err);
}

/* Two tokens and a login: the life is that of the first to end. */
static void a_whole_exchange(void **state)
{
    struct cfr_azure c = config_of(cfr_view_of("federated"));
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_view login = data_file_read("azure/grants/acr.json");
    struct cfr_err err = {0};
    char *body = strndup(login.p, login.n);

    (void)state;
    assert_int_equal(
        answer(&x, SAMPLE_NOW_S, "{\"access_token\":\"one\",\"expires_in\":4000,\"refresh_in\":1500}", &err),
        CFR_STS_MORE);
    assert_int_equal(x.step, 1);
    assert_int_equal(
        answer(&x, SAMPLE_NOW_S + 10, "{\"access_token\":\"two\",\"expires_in\":3000,\"refresh_in\":1400}", &err),
        CFR_STS_MORE);
    assert_int_equal(x.grant.expires_s, SAMPLE_NOW_S + 3010);
    assert_int_equal(answer(&x, SAMPLE_NOW_S + 20, body, &err), CFR_STS_DONE);
    assert_int_equal(x.grant.issued_s, SAMPLE_NOW_S);
    assert_int_equal(x.grant.expires_s, SAMPLE_NOW_S + 2000);
    assert_int_equal(x.grant.refresh_s, SAMPLE_NOW_S + 1410);
    expect_field(&x.grant, CFR_FIELD_AZURE_ACCESS_TOKEN, "one");
    expect_field(&x.grant, CFR_FIELD_AZURE_ACCESS_TOKEN ":" SAMPLE_VAULT, "two");
    assert_true(cfr_view_starts(cfr_grant_get(&x.grant, CFR_FIELD_REGISTRY_AUTHS),
                                "\"reg.azurecr.io\":{\"username\":\"00000000-0000-0000-0000-000000000000\","
                                "\"password\":\"eyJ"));
    cfr_sts_exchange_free(&x);
    free(body);
    data_file_free(login);
}

/* The same when the first answer is the one that ends first: neither a later token nor a login extends it. */
static void later_answers_do_not_extend_the_life(void **state)
{
    struct cfr_azure c = config_of(cfr_view_of("federated"));
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_view login = data_file_read("azure/grants/acr.json");
    struct cfr_err err = {0};
    char *body = strndup(login.p, login.n);

    (void)state;
    assert_int_equal(
        answer(&x, SAMPLE_NOW_S, "{\"access_token\":\"one\",\"expires_in\":1000,\"refresh_in\":500}", &err),
        CFR_STS_MORE);
    assert_int_equal(
        answer(&x, SAMPLE_NOW_S + 10, "{\"access_token\":\"two\",\"expires_in\":3000,\"refresh_in\":1400}", &err),
        CFR_STS_MORE);
    assert_int_equal(x.grant.expires_s, SAMPLE_NOW_S + 1000);
    assert_int_equal(answer(&x, SAMPLE_NOW_S + 20, body, &err), CFR_STS_DONE);
    assert_int_equal(x.grant.issued_s, SAMPLE_NOW_S);
    assert_int_equal(x.grant.expires_s, SAMPLE_NOW_S + 1000);
    assert_int_equal(x.grant.refresh_s, SAMPLE_NOW_S + 500);
    cfr_sts_exchange_free(&x);
    free(body);
    data_file_free(login);
}

/* A login that ends before the tokens want to be renewed leaves their advice without effect. */
static void advice_after_the_end(void **state)
{
    struct cfr_azure c = config_of(cfr_view_of("federated"));
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_view login = data_file_read("azure/grants/acr.json");
    struct cfr_err err = {0};
    char *body = strndup(login.p, login.n);

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            answer(&x, SAMPLE_NOW_S, "{\"access_token\":\"t\",\"expires_in\":4000,\"refresh_in\":2000}", &err),
            CFR_STS_MORE);
    assert_int_equal(answer(&x, SAMPLE_NOW_S, body, &err), CFR_STS_DONE);
    assert_int_equal(x.grant.expires_s, SAMPLE_NOW_S + 2000);
    assert_int_equal(x.grant.refresh_s, 0);
    cfr_sts_exchange_free(&x);
    free(body);
    data_file_free(login);
}

static void the_text_of_a_refusal(void **state)
{
    struct cfr_view body = data_file_read("azure/errors/aadsts700213.json");
    struct cfr_azure c = config_of(cfr_view_of("federated"));
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = 401, .body = body};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_IDP);
    assert_non_null(strstr(err.text, "AADSTS700213: No matching federated identity record"));
    assert_non_null(strstr(err.text,
                           "(HTTP 401, request 3f2504e0-4f89-41d3-9a0c-0305e82c3301, correlation "
                           "9b2b1c7e-0a4d-4a5e-8d4f-6a3f2a1b0c9d): no federated credential of the client fits"));
    assert_non_null(strstr(err.text, "A new one takes minutes to take effect"));
    assert_null(strstr(err.text, "learn.microsoft.com"));
    /* The longest subject leaves the advice whole, too. */
    in.subject = cfr_view_of("system:serviceaccount:a-namespace-with-a-very-long-name-that-is-63-characters-long-0123:"
                             "a-service-account-whose-name-is-so-long-that-nobody-would-want-to-type-it-0123456789");
    assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_IDP);
    assert_non_null(strstr(err.text, "A new one takes minutes to take effect"));
    assert_non_null(strstr(err.text, "correlation 9b2b1c7e-0a4d-4a5e-8d4f-6a3f2a1b0c9d)"));
    /* Without ids in the body that of the header serves. */
    reply.body = cfr_view_of("{\"error\":\"server_error\"}");
    reply.request_id = cfr_view_of("from-the-header");
    assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_UNAVAILABLE);
    assert_string_equal(
        err.text,
        "server_error (HTTP 401, request from-the-header): Entra ID is unavailable; this is usually temporary");
    data_file_free(body);
}

/* Whatever the server repeats, and in which place, no secret comes out. */
static void echoed_secrets(void **state)
{
    static const char *const places[] = {
        "{\"error\":\"%s\"}",
        "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS700016: bad %s value\"}",
        "{\"error\":\"invalid_client\",\"error_description\":\"'%s'\",\"error_codes\":[7000215]}",
        "{\"error\":\"x\",\"trace_id\":\"%s\",\"correlation_id\":\"%s\"}",
        "{\"errors\":[{\"code\":\"%s\",\"message\":\"%s\"}]}",
    };
    static const char *const secrets[] = {SAMPLE_TOKEN, "c2lnbmF0dXJlc2lnbmF0dXJl", SECRET,
                                          "first/access+token/of/arm"};
    struct cfr_azure c = config_of(cfr_view_of("secret"));

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0] * 4 * 3; i++) {
        struct cfr_sts_exchange x = exchange(&c, (unsigned)(i % 3));
        struct cfr_sts_input in = input(&c);
        struct cfr_wire_reply reply = {.status = 400};
        struct cfr_err err = {0};
        const char *secret = secrets[i / 3 % 4];
        char body[1024] = "";

        in.token = cfr_view_of(SAMPLE_TOKEN);
        for (const char *p = places[i / 12]; *p != '\0'; p++) {
            bool mark = p[0] == '%' && p[1] == 's';

            (void)snprintf(body + strlen(body), sizeof body - strlen(body), mark ? "%s" : "%.1s", mark ? secret : p);
            p += mark ? 1 : 0;
        }
        if (i % 3 == 0 && i / 3 % 4 == 3)
            continue; /* in the first step there is no such token yet */
        reply.body = cfr_view_of(body);
        assert_true(x.provider->parse(&x, &in, &reply, &err) < 0);
        assert_null(strstr(err.text, "c2lnbmF0"));
        assert_null(strstr(err.text, "very+secret"));
        if (i % 3 != 0)
            assert_null(strstr(err.text, "access+token"));
        cfr_sts_exchange_free(&x);
    }
}

/* Every cut of a good answer is an error, and the exchange stays where it was. */
static void truncated_anywhere(void **state)
{
    struct cfr_azure c = config_of(cfr_view_of("federated"));
    static const char *const files[] = {"azure/grants/refresh-in.json", "azure/grants/acr.json"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct cfr_view whole = data_file_read(files[i]);

        for (size_t n = 0; n < whole.n; n++) {
            struct cfr_sts_exchange x = exchange(&c, 2 * i);
            struct cfr_sts_input in = sample_input();
            struct cfr_wire_reply reply = {.status = 200, .body = {whole.p, n}};
            struct cfr_err err = {0};

            assert_int_equal(x.provider->parse(&x, &in, &reply, &err), CFR_E_ANSWER);
            assert_true(x.step == 2 * i && cfr_grant_get(&x.grant, CFR_FIELD_REGISTRY_AUTHS).n == 0);
            cfr_sts_exchange_free(&x);
        }
        data_file_free(whole);
    }
}

static void every_status_without_a_body(void **state)
{
    struct cfr_azure c = config_of(cfr_view_of("federated"));

    (void)state;
    for (long status = 100; status < 600; status++) {
        int want = status < 300                                      ? CFR_E_ANSWER
                   : status < 400                                    ? CFR_E_REDIRECT
                   : status == 401 || status == 403 || status == 407 ? CFR_E_DENIED
                   : status == 429                                   ? CFR_E_THROTTLED
                   : status >= 500 || status == 408                  ? CFR_E_UNAVAILABLE
                                                                     : CFR_E_REJECTED;

        for (unsigned step = 0; step < 3; step++) {
            struct cfr_sts_exchange x = exchange(&c, step);
            struct cfr_sts_input in = sample_input();
            struct cfr_wire_reply reply = {.status = status};
            struct cfr_err err = {0};

            assert_int_equal(x.provider->parse(&x, &in, &reply, &err), want);
            cfr_sts_exchange_free(&x);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(grants),
        cmocka_unit_test(a_whole_exchange),
        cmocka_unit_test(later_answers_do_not_extend_the_life),
        cmocka_unit_test(advice_after_the_end),
        cmocka_unit_test(the_text_of_a_refusal),
        cmocka_unit_test(echoed_secrets),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(every_status_without_a_body),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
