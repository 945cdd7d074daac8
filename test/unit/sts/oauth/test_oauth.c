/* SPDX-License-Identifier: MIT */
/* The generic OAuth provider: each grant type and client authentication, answers, and rules. */
#include "sts_golden.h"

#include "base/base64.h"
#include "base/str.h"
#include "sts/oauth/oauth.h"
#include "sts/providers.h"

#define URL "https://login.example/oauth2/token"

static struct cfr_oauth exchange = {.token_url = (char[]){URL}, .default_lifetime_ms = -1};
static struct cfr_oauth client = {.token_url = (char[]){URL},
                                  .grant = CFR_OAUTH_CLIENT_CREDENTIALS,
                                  .client_authentication = CFR_OAUTH_TOKEN_ASSERTION,
                                  .client_id = (char[]){"my client"},
                                  .default_lifetime_ms = 900000};
static const struct cfr_sts_content horse = {"client_secret_file", {"correct-horse-battery", 21}};

static void begin(struct cfr_view name, struct cfr_sts_exchange *x, struct cfr_sts_input *in)
{
    x->provider = &cfr_oauth_provider;
    x->config = &exchange;
    if (cfr_view_is(name, "secret")) {
        in->contents = &horse;
        in->content_count = 1;
    }
    if (cfr_view_is(name, "client")) {
        x->config = &client;
        in->subject = (struct cfr_view){NULL, 0};
    }
}

static void errors(void **state)
{
    (void)state;
    golden_errors("oauth", "errors", begin, 45);
}

/* A server that is busy refuses nothing, whatever its answer says. */
static void errors_of_a_busy_server(void **state)
{
    struct cfr_view table = data_file_read("oauth/errors.tsv");
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
        golden_error("oauth", "errors", begin, col);
        col[1] = cfr_view_of("503");
        col[4] = cfr_view_of("unavailable");
        col[6] = cfr_view_of("is unavailable; this is usually temporary");
        golden_error("oauth", "errors", begin, col);
        rows++;
    }
    assert_true(rows >= 20);
    data_file_free(table);
}

static void grants(void **state)
{
    (void)state;
    golden_grants("oauth", "grants", begin, 8);
}

static void request(const struct cfr_oauth *c, const struct cfr_sts_content *contents, size_t count, const char *file)
{
    struct cfr_sts_exchange x = {.provider = &cfr_oauth_provider, .config = c};
    struct cfr_sts_input in = golden_input();

    in.contents = contents;
    in.content_count = count;
    golden_request(&x, &in, file);
}

static void requests(void **state)
{
    const struct cfr_sts_content contents[] = {{"client_secret_file", {"s3cret &value+", 14}},
                                               {"actor_token_file", {"actor.of.it", 11}}};
    char *audience[] = {(char[]){"a"}, (char[]){"b c"}};
    char *resource[] = {(char[]){"https://r.example/1"}};
    char *scopes[] = {(char[]){"one"}, (char[]){"two:three"}};
    struct cfr_pair parameters[] = {{(char[]){"tenant"}, (char[]){"t&1"}}};
    struct cfr_oauth all = {.token_url = (char[]){URL},
                            .audience = {audience, 2},
                            .resource = {resource, 1},
                            .scopes = {scopes, 2},
                            .subject_token_type = (char[]){"id_token"},
                            .requested_token_type = (char[]){"access_token"},
                            .actor_token_file = (char[]){"/actor"},
                            .actor_token_type = (char[]){"urn:x:y"},
                            .client_authentication = CFR_OAUTH_POST,
                            .client_id = (char[]){"my client"},
                            .client_secret_file = (char[]){"/secret"},
                            .parameters = {parameters, 1}};
    struct cfr_oauth bearer = {.token_url = (char[]){URL},
                               .grant = CFR_OAUTH_JWT_BEARER,
                               .scopes = {scopes, 1},
                               .client_authentication = CFR_OAUTH_BASIC,
                               .client_id = (char[]){"my client"},
                               .client_secret_file = (char[]){"/secret"}};
    struct cfr_oauth by_token = client;
    struct cfr_pair profile[] = {{(char[]){"profile_id"}, (char[]){"Profile-1"}}};
    struct cfr_oauth custom = {.token_url = (char[]){URL},
                               .grant = CFR_OAUTH_CUSTOM,
                               .grant_type = (char[]){"urn:ibm:params:oauth:grant-type:cr-token"},
                               .token_parameter = (char[]){"cr_token"},
                               .parameters = {profile, 1}};

    (void)state;
    assert_true(cfr_sts_needs_token(&cfr_oauth_provider, &custom));
    by_token.audience = (struct cfr_strings){audience, 1};
    request(&exchange, NULL, 0, "oauth/requests/exchange.txt");
    request(&all, contents, 2, "oauth/requests/exchange-everything.txt");
    request(&bearer, contents, 2, "oauth/requests/bearer-basic.txt");
    bearer.client_authentication = CFR_OAUTH_BASIC_PLAIN;
    request(&bearer, contents, 2, "oauth/requests/bearer-basic-plain.txt");
    request(&by_token, NULL, 0, "oauth/requests/client-token.txt");
    request(&custom, NULL, 0, "oauth/requests/custom.txt");
    custom.grant_type = (char[]){"urn:ibm:params:oauth:grant-type:apikey"};
    custom.token_parameter = NULL;
    custom.secret_parameter = (char[]){"apikey"};
    custom.parameters.count = 0;
    assert_false(cfr_sts_needs_token(&cfr_oauth_provider, &custom));
    request(&custom, contents, 2, "oauth/requests/custom-secret.txt");
}

/* The part of a JWT that begins at TEXT, decoded. */
static void part_is(const char *text, const char *want)
{
    struct cfr_secret out;

    cfr_secret_init(&out, 4096);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){text, strcspn(text, ".&")}, &out, NULL), 0);
    assert_string_equal(out.p, want);
    cfr_secret_free(&out);
}

static void private_key(const char *key_file, const char *alg, const char *key_id, const char *audience)
{
    struct cfr_view key = data_file_read(key_file);
    const struct cfr_sts_content content = {"client_key_file", key};
    struct cfr_oauth c = client;
    struct cfr_sts_exchange x = {.provider = &cfr_oauth_provider, .config = &c};
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};
    const char *jwt;
    char want[512];

    c.client_authentication = CFR_OAUTH_PRIVATE_KEY_JWT;
    c.client_key_id = (char *)(uintptr_t)key_id;
    c.assertion_audience = (char *)(uintptr_t)audience;
    in.token.n = 0;
    in.contents = &content;
    in.content_count = 1;
    assert_false(cfr_sts_needs_token(x.provider, &c));
    if (x.provider->build(&x, &in, &r, &err) != 0)
        fail_msg("%s", err.text);
    assert_contains(r.body.p,
                    "grant_type=client_credentials&client_id=my%20client&client_assertion_type=urn%3Aietf%3A");
    jwt = strstr(r.body.p, "client_assertion=");
    assert_non_null(jwt);
    jwt += strlen("client_assertion=");
    (void)snprintf(want, sizeof want, "{\"alg\":\"%s\",\"typ\":\"JWT\"%s%s%s}", alg,
                   key_id != NULL ? ",\"kid\":\"" : "", key_id != NULL ? key_id : "", key_id != NULL ? "\"" : "");
    part_is(jwt, want);
    (void)snprintf(want, sizeof want,
                   "{\"iss\":\"my client\",\"sub\":\"my client\",\"aud\":\"%s\",\"jti\":"
                   "\"01020300-0000-4000-8000-000000000000\",\"iat\":1767323045,\"exp\":1767323345}",
                   audience != NULL ? audience : URL);
    part_is(strchr(jwt, '.') + 1, want);
    cfr_wire_request_free(&r);
    data_file_free(key);
}

static void private_keys(void **state)
{
    (void)state;
    private_key("jwt/rsa.pem", "RS256", "key-1", NULL);
    private_key("jwt/p256.pem", "ES256", NULL, "https://login.example/");
}

static void bad_file(enum cfr_oauth_client how, const char *key, const char *content, const char *why)
{
    const struct cfr_sts_content contents[] = {{key, cfr_view_of(content)}};
    struct cfr_oauth c = client;
    struct cfr_sts_exchange x = {.provider = &cfr_oauth_provider, .config = &c};
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};

    c.client_authentication = (int)how;
    c.grant = CFR_OAUTH_TOKEN_EXCHANGE;
    c.actor_token_file = how == CFR_OAUTH_NONE ? (char[]){"/actor"} : NULL;
    in.contents = contents;
    in.content_count = 1;
    assert_int_equal(x.provider->build(&x, &in, &r, &err), CFR_E_CONFIG);
    assert_contains(err.text, why);
    golden_no_secret(&err);
    cfr_wire_request_free(&r);
}

static void files(void **state)
{
    struct cfr_sts_exchange x = {.provider = &cfr_oauth_provider, .config = &exchange, .step = 1};
    struct cfr_sts_input in = golden_input();
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_wire_request r = {0};

    (void)state;
    bad_file(CFR_OAUTH_POST, "client_secret_file", "", "client_secret_file: the file is empty");
    bad_file(CFR_OAUTH_BASIC, "client_secret_file", "horse\nx",
             "client_secret_file: the file holds more than one line");
    bad_file(CFR_OAUTH_NONE, "actor_token_file", "", "actor_token_file: the file is empty");
    bad_file(CFR_OAUTH_PRIVATE_KEY_JWT, "client_key_file", "", "client_key_file: the file is empty");
    bad_file(CFR_OAUTH_PRIVATE_KEY_JWT, "client_key_file", "horse", "client_key_file: ");
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_E_INTERNAL);
    x.step = 0;
    in.token.n = 0;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_TOKEN);
    cfr_wire_request_free(&r);
}

static void checks(const char *why, const char *const *settings)
{
    golden_check(&cfr_oauth_provider, golden_no_env, why, settings);
}

#define AT     "token_url", URL
#define SECRET "client_secret_file", "/s"
#define KEY    "client_key_file", "/k"
#define ID     "client_id", "me"
#define AUTH   "client_authentication"

static void rules_of_clients(void **state)
{
    (void)state;
    checks(NULL, GOLDEN_LIST(AT, AUTH, "basic", ID, SECRET));
    checks(NULL, GOLDEN_LIST(AT, AUTH, "post", ID, SECRET));
    checks(NULL, GOLDEN_LIST(AT, AUTH, "private_key_jwt", ID, KEY, "client_key_id", "k", "assertion_audience", "a"));
    checks(NULL, GOLDEN_LIST(AT, AUTH, "token", "grant", "client-credentials"));
    checks(NULL, GOLDEN_LIST(AT, ID));
    checks("client_secret_file: `client_authentication: basic` needs it", GOLDEN_LIST(AT, AUTH, "basic", ID));
    checks("client_secret_file: it has no effect with `client_authentication: none`", GOLDEN_LIST(AT, ID, SECRET));
    checks("client_secret_file: it has no effect", GOLDEN_LIST(AT, AUTH, "token", ID, SECRET));
    checks("client_key_file: `client_authentication: private_key_jwt` needs it",
           GOLDEN_LIST(AT, AUTH, "private_key_jwt", ID));
    checks("client_key_file: it has no effect", GOLDEN_LIST(AT, ID, KEY));
    checks("client_key_id: it has no effect", GOLDEN_LIST(AT, ID, "client_key_id", "k"));
    checks("assertion_audience: it has no effect",
           GOLDEN_LIST(AT, AUTH, "post", ID, SECRET, "assertion_audience", "a"));
    checks("client_id: `client_authentication: post` needs it", GOLDEN_LIST(AT, AUTH, "post", SECRET));
    checks(NULL, GOLDEN_LIST(AT, AUTH, "basic_plain", ID, SECRET));
    checks("client_id: a colon ends it", GOLDEN_LIST(AT, AUTH, "basic_plain", "client_id", "a:b", SECRET));
    checks("client_id: `client_authentication: private_key_jwt`", GOLDEN_LIST(AT, AUTH, "private_key_jwt", KEY));
    checks("client_authentication: `grant: client-credentials` is for",
           GOLDEN_LIST(AT, ID, "grant", "client-credentials"));
}

/* Which is not sent, by RFC 6749, 3.2. */
static void an_empty_parameter(void **state)
{
    struct cfr_pair tenant = {(char[]){"tenant"}, (char[]){""}};
    struct cfr_oauth c = {.token_url = (char[]){URL}, .parameters = {&tenant, 1}, .default_lifetime_ms = -1};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_oauth_provider.table->check(&c, &err), CFR_E_CONFIG);
    assert_contains(err.text, "parameters: tenant is empty");
    tenant.value = (char[]){"t"};
    assert_int_equal(cfr_oauth_provider.table->check(&c, &err), 0);
}

static void rules(void **state)
{
    (void)state;
    checks(NULL, GOLDEN_LIST(AT));
    checks(NULL, GOLDEN_LIST("token_url", "http://127.0.0.1:8080/token"));
    checks(NULL, GOLDEN_LIST(AT, "default_lifetime", "15m", "ca_file", "/ca.pem", "parameters", "tenant"));
    checks("token_url: ", GOLDEN_LIST("token_url", "http://login.example/"));
    checks(NULL, GOLDEN_LIST("token_url", "http://login.example/", "plain_http", "true"));
    checks("plain_http: it has no effect", GOLDEN_LIST("token_url", "https://login.example/", "plain_http", "true"));
    checks("token_url: ", GOLDEN_LIST("token_url", "https://user@login.example/"));
    checks("token_url: ", GOLDEN_LIST("token_url", "login.example"));
    checks("ca_file: it has no effect", GOLDEN_LIST("token_url", "http://127.0.0.1:1/", "ca_file", "/ca.pem"));
    checks("subject_token_type: it must be a URI", GOLDEN_LIST(AT, "subject_token_type", "JWT"));
    checks("requested_token_type: it must be a URI", GOLDEN_LIST(AT, "requested_token_type", "x"));
    checks("actor_token_type: it must be a URI", GOLDEN_LIST(AT, "actor_token_file", "/a", "actor_token_type", "x"));
    checks("actor_token_type: it needs actor_token_file", GOLDEN_LIST(AT, "actor_token_type", "jwt"));
    checks("subject_token_type: it has no effect with `grant: jwt-bearer`",
           GOLDEN_LIST(AT, "grant", "jwt-bearer", "subject_token_type", "jwt"));
    checks("actor_token_file: it has no effect", GOLDEN_LIST(AT, "grant", "jwt-bearer", "actor_token_file", "/a"));
    checks("scopes: element 1 is empty or has a blank", GOLDEN_LIST(AT, "scopes", "a b"));
    checks("audience: element 2 is empty", GOLDEN_LIST(AT, "audience", "a", "audience", ""));
    checks("resource: element 1 must be an absolute URI", GOLDEN_LIST(AT, "resource", "name"));
    checks("resource: element 1 must be", GOLDEN_LIST(AT, "resource", "https://x.example/#y"));
    checks("parameters: grant_type cannot be set here", GOLDEN_LIST(AT, "parameters", "grant_type"));
    checks("parameters: the name of parameter 1", GOLDEN_LIST(AT, "parameters", ""));
    checks(NULL, GOLDEN_LIST(AT, "grant", "custom", "grant_type", "urn:x:y", "token_parameter", "cr_token"));
    checks(NULL, GOLDEN_LIST(AT, "grant", "custom", "grant_type", "urn:x:y", "secret_parameter", "apikey", SECRET));
    checks("client_secret_file: `secret_parameter` needs it",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "urn:x:y", "secret_parameter", "apikey"));
    checks("client_secret_file: it has no effect",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "urn:x:y", "token_parameter", "t", SECRET));
    checks("secret_parameter: it has no effect with `client_authentication: post`",
           GOLDEN_LIST(AT, ID, SECRET, AUTH, "post", "grant", "custom", "grant_type", "g", "secret_parameter", "a"));
    checks("secret_parameter: it has no effect with `grant: token-exchange`",
           GOLDEN_LIST(AT, "secret_parameter", "apikey", SECRET));
    checks("secret_parameter: must be a name",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "g", "secret_parameter", "client_secret", SECRET));
    checks(
        "secret_parameter: must be another one",
        GOLDEN_LIST(AT, "grant", "custom", "grant_type", "g", "token_parameter", "t", "secret_parameter", "t", SECRET));
    checks("parameters: apikey cannot be set here",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "g", "secret_parameter", "apikey", SECRET, "parameters",
                       "apikey"));
    checks("token_parameter: `grant: custom` needs it", GOLDEN_LIST(AT, "grant", "custom", "grant_type", "urn:x:y"));
    checks("grant_type: `grant: custom` needs it", GOLDEN_LIST(AT, "grant", "custom", "token_parameter", "t"));
    checks("grant_type: it has no effect with `grant: token-exchange`", GOLDEN_LIST(AT, "grant_type", "urn:x:y"));
    checks("token_parameter: it has no effect", GOLDEN_LIST(AT, "grant", "jwt-bearer", "token_parameter", "cr_token"));
    checks("token_parameter: must be a name",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "g", "token_parameter", "scope"));
    checks("grant_type: must be a name",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "a b", "token_parameter", "t"));
    checks("parameters: t cannot be set here",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "g", "token_parameter", "t", "parameters", "t"));
    checks("subject_token_type: it has no effect with `grant: custom`",
           GOLDEN_LIST(AT, "grant", "custom", "grant_type", "g", "token_parameter", "t", "subject_token_type", "jwt"));
    checks("default_lifetime: it must be in whole seconds", GOLDEN_LIST(AT, "default_lifetime", "60s1ms"));
    golden_table(cfr_oauth_provider.table);
    assert_true(cfr_sts_needs_token(&cfr_oauth_provider, &client));
    assert_ptr_equal(cfr_sts_find(cfr_view_of("oauth")), &cfr_oauth_provider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(errors_of_a_busy_server),
        cmocka_unit_test(grants),
        cmocka_unit_test(requests),
        cmocka_unit_test(private_keys),
        cmocka_unit_test(files),
        cmocka_unit_test(rules_of_clients),
        cmocka_unit_test(an_empty_parameter),
        cmocka_unit_test(rules),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
