/* SPDX-License-Identifier: MIT */
/* Golden requests to Google's services, byte for byte but for signatures, which are verified; and whole
 * exchanges. */
#include "gcp_sample.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/str.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

/* Replaces the assertion and a bearer token that the key signed by their header and claims, decoded. */
static void add_decoded(struct cfr_str *to, struct cfr_view jwt)
{
    const char *first = memchr(jwt.p, '.', jwt.n);
    const char *second = memchr(first + 1, '.', jwt.n - (size_t)(first + 1 - jwt.p));
    struct cfr_secret out;

    cfr_secret_init(&out, 16384);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){jwt.p, (size_t)(first - jwt.p)}, &out, NULL), 0);
    assert_int_equal(cfr_secret_append_str(&out, ".", NULL), 0);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){first + 1, (size_t)(second - first - 1)}, &out, NULL), 0);
    cfr_str_add(to, cfr_secret_view(&out));
    cfr_secret_free(&out);
}

static EVP_PKEY *builder_key(void)
{
    struct cfr_view pem = data_file_read("jwt/rsa.pem");
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

    assert_non_null(key);
    BIO_free(bio);
    data_file_free(pem);
    return key;
}

static void must_verify(struct cfr_view jwt)
{
    const char *dot = memrchr(jwt.p, '.', jwt.n);
    struct cfr_view text = {jwt.p, (size_t)(dot - jwt.p)};
    EVP_PKEY *key = builder_key();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    struct cfr_secret sig;

    cfr_secret_init(&sig, 1024);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){dot + 1, jwt.n - text.n - 1}, &sig, NULL), 0);
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(
        EVP_DigestVerify(ctx, (const unsigned char *)sig.p, sig.len, (const unsigned char *)text.p, text.n), 1);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    cfr_secret_free(&sig);
}

/* TEXT up to where a token of the builder's key stands after MARK, then the token decoded. */
static void add_line(struct cfr_str *to, struct cfr_view text, const char *mark)
{
    ptrdiff_t at = cfr_view_find(text, mark);
    size_t skip = at >= 0 ? (size_t)at + strlen(mark) : text.n;
    struct cfr_view rest = {text.p + skip, text.n - skip};

    cfr_str_add(to, (struct cfr_view){text.p, skip});
    if (cfr_view_starts(rest, "eyJhbGciOiJSUzI1NiIsInR5cCI6")) {
        must_verify(rest);
        add_decoded(to, rest);
    } else {
        cfr_str_add(to, rest);
    }
    cfr_str_addz(to, "\n");
}

/* The request as text: method, URL, headers, the client's certificate, an empty line, and the body with each
 * parameter on a line. */
static void write_request(const struct cfr_wire_request *r, struct cfr_str *got)
{
    struct cfr_view body = cfr_secret_view(&r->body);

    cfr_str_addf(got, "%s %s\n", r->method, r->url);
    for (size_t i = 0; i < r->header_count; i++)
        add_line(got, cfr_secret_view(&r->headers[i]), "Bearer ");
    if (r->client_cert.len != 0)
        cfr_str_addf(got, "(certificate of %zu bytes, key of %zu)\n", r->client_cert.len, r->client_key.len);
    if (r->ca_file != NULL)
        cfr_str_addf(got, "(ca_file %s)\n", r->ca_file);
    cfr_str_addz(got, "\n");
    while (body.n != 0) {
        const char *amp = body.p[0] == '{' ? NULL : memchr(body.p + 1, '&', body.n - 1);
        struct cfr_view line = {body.p, amp != NULL ? (size_t)(amp - body.p) : body.n};

        add_line(got, line, "assertion=");
        body = (struct cfr_view){body.p + line.n, body.n - line.n};
    }
}

static void compare(struct gcp_sample *s, const char *file)
{
    char name[128];
    struct cfr_view want;
    struct cfr_str got = {.limit = 200000};
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};

    (void)snprintf(name, sizeof name, "gcp/requests/%s", file);
    if (s->x.provider->build(&s->x, &s->in, &r, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    write_request(&r, &got);
    want = data_file_read(name);
    if (!cfr_view_eq(cfr_str_view(&got), want))
        fail_msg("%s: got\n%s\nexpected\n%.*s", file, got.p, (int)want.n, want.p);
    cfr_str_free(&got);
    cfr_wire_request_free(&r);
    assert_null(r.url);
    data_file_free(want);
}

/* Compares the first request of a configuration, which must be valid. */
static void first(const char *file, const char *const *settings)
{
    struct gcp_sample s;
    struct cfr_err err = {0};

    gcp_sample(&s, settings);
    if (cfr_gcp_provider.table->check(&s.config, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    assert_int_equal(s.x.provider->local(&s.x, &s.in, &err), CFR_STS_MORE);
    compare(&s, file);
    gcp_sample_free(&s);
}

static void exchanges(void **state)
{
    (void)state;
    first("exchange-smallest.txt", LIST("audience", AUDIENCE));
    first("exchange-scopes.txt",
          LIST("audience", AUDIENCE, "scopes", "https://www.googleapis.com/auth/devstorage.read_only openid",
               "subject_token_type", "urn:ietf:params:oauth:token-type:id_token", "ca_file", "/etc/ca.pem"));
    first("exchange-impersonation.txt", LIST("audience", AUDIENCE, "service_account", ACCOUNT, "scopes",
                                             "https://www.googleapis.com/auth/devstorage.read_only"));
    first("exchange-workforce.txt", LIST("audience", WORKFORCE, "user_project", "example-project"));
    first("exchange-regional.txt", LIST("audience", AUDIENCE, "location", "europe-west1"));
    first("exchange-smallest.txt", LIST("audience", AUDIENCE, "location", "global"));
    first("exchange-universe.txt", LIST("audience", AUDIENCE, "universe_domain", "other.example"));
    first("exchange-endpoint.txt", LIST("audience", AUDIENCE, "sts_endpoint", "http://127.0.0.1:8080/"));
    first("exchange-endpoint-path.txt", LIST("audience", AUDIENCE, "sts_endpoint", "https://sts.example/a/token"));
    first("exchange-client.txt",
          LIST("audience", WORKFORCE, "client_id", "client-1", "client_secret_file", DATA "gcp/files/secret.txt"));
    first("exchange-certificate.txt",
          LIST("audience", AUDIENCE, "certificate_file", DATA "jwt/chain.pem", "key_file", DATA "jwt/rsa.pem"));
    first("exchange-mtls-jwt.txt", LIST("audience", AUDIENCE, "certificate_file", DATA "jwt/chain.pem", "key_file",
                                        DATA "jwt/rsa.pem", "subject_token_type", CFR_GCP_TYPE_JWT, "mtls", "true"));
}

static void exchanges_of_a_file(void **state)
{
    (void)state;
    first("exchange-smallest.txt", LIST("credentials_file", DATA "gcp/files/external.json"));
    first("exchange-file-impersonated.txt", LIST("credentials_file", DATA "gcp/files/external-impersonated.json"));
    first("exchange-file-workforce.txt", LIST("credentials_file", DATA "gcp/files/external-workforce.json"));
    first("exchange-file-client.txt", LIST("credentials_file", DATA "gcp/files/external-client.json"));
    first("exchange-file-certificate.txt",
          LIST("credentials_file", DATA "gcp/files/external-certificate.json", "certificate_file", DATA "jwt/chain.pem",
               "key_file", DATA "jwt/rsa.pem"));
}

static void assertions(void **state)
{
    (void)state;
    first("key-smallest.txt", LIST("credentials_file", DATA "gcp/files/key.json"));
    first("key-subject.txt",
          LIST("credentials_file", DATA "gcp/files/key.json", "subject", "user@example.com", "scopes",
               "https://www.googleapis.com/auth/admin.directory.user https://www.googleapis.com/auth/drive",
               "sts_endpoint", "http://127.0.0.1:8080"));
    first("key-id.txt",
          LIST("credentials_file", DATA "gcp/files/key.json", "id_token_audience", "https://svc.example/\"x\""));
    first("key-impersonation.txt", LIST("credentials_file", DATA "gcp/files/key.json", "service_account", ACCOUNT,
                                        "scopes", "https://www.googleapis.com/auth/drive"));
}

static void arrive(struct gcp_sample *s, unsigned step, const char *const *settings)
{
    struct cfr_err err = {0};

    gcp_sample(s, settings);
    if (cfr_gcp_provider.table->check(&s->config, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(s->x.provider->local(&s->x, &s->in, &err), CFR_STS_MORE);
    s->x.step = step;
    if (step != 0)
        assert_int_equal(cfr_grant_set(&s->x.grant, CFR_FIELD_GCP_ACCESS_TOKEN, cfr_view_of("ya29.federated"), NULL),
                         0);
}

static void impersonations(void **state)
{
    struct gcp_sample s;

    (void)state;
    arrive(&s, 1, LIST("audience", AUDIENCE, "service_account", ACCOUNT));
    compare(&s, "iam-smallest.txt");
    gcp_sample_free(&s);
    arrive(&s, 2,
           LIST("audience", AUDIENCE, "service_account", "100000000000000000001", "delegates",
                "a@example-project.iam.gserviceaccount.com b@example-project.iam.gserviceaccount.com", "lifetime",
                "12h", "scopes", "https://www.googleapis.com/auth/drive openid", "iam_endpoint",
                "http://127.0.0.1:9/base/", "id_token_audience", "https://svc.example", "include_email", "true"));
    compare(&s, "iam-everything.txt");
    s.x.step = 1;
    compare(&s, "iam-id-everything.txt");
    gcp_sample_free(&s);
    arrive(&s, 1,
           LIST("audience", AUDIENCE, "certificate_file", DATA "jwt/chain.pem", "key_file", DATA "jwt/rsa.pem",
                "service_account", ACCOUNT));
    compare(&s, "iam-certificate.txt");
    gcp_sample_free(&s);
    arrive(&s, 1, LIST("credentials_file", DATA "gcp/files/external-impersonated.json"));
    compare(&s, "iam-file.txt");
    gcp_sample_free(&s);
    arrive(&s, 1, LIST("audience", AUDIENCE, "service_account", ACCOUNT, "universe_domain", "other.example"));
    compare(&s, "iam-universe.txt");
    gcp_sample_free(&s);
}

/* A token that the key signs is shown to IAM without any request before. */
static void impersonations_by_a_key_alone(void **state)
{
    struct gcp_sample s;

    (void)state;
    arrive(&s, 0,
           LIST("credentials_file", DATA "gcp/files/key.json", "self_signed", "true", "service_account", ACCOUNT,
                "scopes", "https://www.googleapis.com/auth/drive"));
    compare(&s, "iam-self-signed.txt");
    gcp_sample_free(&s);
    arrive(&s, 0,
           LIST("credentials_file", DATA "gcp/files/key-universe.json", "universe_domain", "other.example",
                "id_token_audience", "https://svc.example"));
    compare(&s, "iam-id-universe.txt");
    gcp_sample_free(&s);
}

static void expect_fields(const struct gcp_sample *s, const char *access, const char *id, int64_t expires_s)
{
    const struct cfr_grant *g = &s->x.grant;
    struct cfr_view got_access = cfr_grant_get(g, CFR_FIELD_GCP_ACCESS_TOKEN);
    struct cfr_view got_id = cfr_grant_get(g, CFR_FIELD_GCP_ID_TOKEN);

    assert_true(access == NULL ? got_access.p == NULL : cfr_view_is(got_access, access));
    assert_true(id == NULL ? got_id.p == NULL : cfr_view_starts(got_id, id));
    assert_int_equal(g->expires_s, expires_s);
    assert_int_equal(g->issued_s, NOW);
}

#define ID "eyJhbGciOiJSUzI1NiIsImtpZCI6ImcxIn0."

/* Goes through a whole exchange: STEPS are the answers' files, up to a NULL. */
static void run(struct gcp_sample *s, const char *const *settings, const char *const *answers)
{
    struct cfr_err err = {0};
    int rc;

    gcp_sample(s, settings);
    if (cfr_gcp_provider.table->check(&s->config, &err) != 0)
        fail_msg("%s", err.text);
    rc = s->x.provider->local(&s->x, &s->in, &err);
    for (; rc == CFR_STS_MORE && *answers != NULL; answers++) {
        struct cfr_view body = data_file_read(*answers);
        struct cfr_wire_reply reply = {.status = 200, .body = body};
        struct cfr_wire_request r = {0};

        if (s->x.provider->build(&s->x, &s->in, &r, &err) != 0)
            fail_msg("%s", err.text);
        cfr_wire_request_free(&r);
        rc = s->x.provider->parse(&s->x, &s->in, &reply, &err);
        data_file_free(body);
    }
    if (rc != CFR_STS_DONE)
        fail_msg("%d %s", rc, err.text);
    assert_null(*answers);
}

static void whole_exchanges(void **state)
{
    struct gcp_sample s;

    (void)state;
    /* The federated token's end does not matter once another token is had. */
    run(&s, LIST("audience", AUDIENCE, "service_account", ACCOUNT),
        LIST("gcp/grants/federated-small.json", "gcp/grants/iam-plain.json"));
    expect_fields(&s, "ya29.c.sa", NULL, NOW + 3600);
    assert_string_equal(s.x.grant.identity, ACCOUNT);
    gcp_sample_free(&s);
    /* The earlier end of two tokens counts, whichever it is of. */
    run(&s, LIST("audience", AUDIENCE, "service_account", ACCOUNT, "id_token_audience", "x", "lifetime", "12h"),
        LIST("gcp/grants/federated-small.json", "gcp/grants/iam-id.json", "gcp/grants/iam-long.json"));
    expect_fields(&s, "ya29.c.sa", ID, NOW + 3000);
    gcp_sample_free(&s);
    run(&s, LIST("audience", AUDIENCE, "service_account", ACCOUNT, "id_token_audience", "x", "access_token", "false"),
        LIST("gcp/grants/federated.json", "gcp/grants/iam-id.json"));
    expect_fields(&s, NULL, ID, NOW + 3000);
    assert_int_equal(s.x.grant.field_count, 1);
    gcp_sample_free(&s);
    run(&s, LIST("credentials_file", DATA "gcp/files/key.json", "id_token_audience", "x"),
        LIST("gcp/grants/key-id.json", "gcp/grants/federated-small.json"));
    expect_fields(&s, "x", ID, NOW + 1);
    assert_string_equal(s.x.grant.identity, BUILDER);
    gcp_sample_free(&s);
    run(&s, LIST("credentials_file", DATA "gcp/files/key.json", "service_account", ACCOUNT, "id_token_audience", "x"),
        LIST("gcp/grants/key.json", "gcp/grants/iam-id.json", "gcp/grants/iam-plain.json"));
    expect_fields(&s, "ya29.c.sa", ID, NOW + 3000);
    assert_string_equal(s.x.grant.identity, ACCOUNT);
    gcp_sample_free(&s);
}

static void self_signed(void **state)
{
    struct cfr_str decoded = {.limit = 4096};
    struct cfr_view token;
    struct gcp_sample s;

    (void)state;
    run(&s, LIST("credentials_file", DATA "gcp/files/key.json", "self_signed", "true"), LIST(NULL));
    token = cfr_grant_get(&s.x.grant, CFR_FIELD_GCP_ACCESS_TOKEN);
    must_verify(token);
    add_decoded(&decoded, token);
    assert_string_equal(decoded.p,
                        "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"0123456789abcdef0123456789abcdef01234567\"}."
                        "{\"iss\":\"" BUILDER "\",\"sub\":\"" BUILDER "\",\"scope\":\"" CFR_GCP_SCOPE
                        "\",\"iat\":1767323035,\"exp\":1767326635}");
    assert_int_equal(s.x.grant.expires_s, NOW + 3590);
    assert_string_equal(s.x.grant.identity, BUILDER);
    cfr_str_free(&decoded);
    gcp_sample_free(&s);
    run(&s,
        LIST("credentials_file", DATA "gcp/files/key-universe.json", "universe_domain", "other.example", "scopes",
             "https://x.example/a openid"),
        LIST(NULL));
    add_decoded(&decoded, cfr_grant_get(&s.x.grant, CFR_FIELD_GCP_ACCESS_TOKEN));
    assert_contains(decoded.p, "\"scope\":\"https://x.example/a openid\"");
    cfr_str_free(&decoded);
    gcp_sample_free(&s);
    /* With an ID token, which IAM makes of the key's own account. */
    run(&s,
        LIST("credentials_file", DATA "gcp/files/key-universe.json", "universe_domain", "other.example",
             "id_token_audience", "x"),
        LIST("gcp/grants/iam-id.json"));
    must_verify(cfr_grant_get(&s.x.grant, CFR_FIELD_GCP_ACCESS_TOKEN));
    assert_int_equal(s.x.grant.expires_s, NOW + 3000);
    assert_string_equal(s.x.grant.identity, BUILDER);
    gcp_sample_free(&s);
}

static void registries(void **state)
{
    struct gcp_sample s;

    (void)state;
    run(&s, LIST("audience", AUDIENCE, "artifact_registry", "europe-docker.pkg.dev gcr.io"),
        LIST("gcp/grants/federated-small.json"));
    assert_view(cfr_grant_get(&s.x.grant, CFR_FIELD_REGISTRY_AUTHS),
                "\"europe-docker.pkg.dev\":{\"username\":\"oauth2accesstoken\",\"password\":\"x\",\"auth\":"
                "\"b2F1dGgyYWNjZXNzdG9rZW46eA==\"},\"gcr.io\":{\"username\":\"oauth2accesstoken\",\"password\":\"x\","
                "\"auth\":\"b2F1dGgyYWNjZXNzdG9rZW46eA==\"}");
    gcp_sample_free(&s);
}

static void refuses(int code, const char *why, bool token, const char *const *settings)
{
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};
    struct gcp_sample s;
    int rc;

    gcp_sample(&s, settings);
    if (!token)
        s.in.token = (struct cfr_view){NULL, 0};
    rc = s.x.provider->local(&s.x, &s.in, &err);
    if (rc == CFR_STS_MORE)
        rc = s.x.provider->build(&s.x, &s.in, &r, &err);
    if (rc != code || strstr(err.text, why) == NULL)
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, why, rc, err.text);
    cfr_wire_request_free(&r);
    gcp_sample_free(&s);
}

#define EXTERNAL     "credentials_file", DATA "gcp/files/external.json"
#define IMPERSONATED "credentials_file", DATA "gcp/files/external-impersonated.json"
#define KEY          "credentials_file", DATA "gcp/files/key.json"

static void refusals(void **state)
{
    (void)state;
    refuses(CFR_E_CONFIG, "write `token: {file: /var/run/secrets/openshift/serviceaccount/token}`", false,
            LIST(EXTERNAL));
    refuses(CFR_E_CONFIG, "write `token: {file: PATH}`", false, LIST("audience", AUDIENCE));
    refuses(CFR_E_CONFIG, "service_account: the credentials_file has", true,
            LIST(IMPERSONATED, "service_account", ACCOUNT));
    refuses(CFR_E_CONFIG, "lifetime: the credentials_file has", true, LIST(IMPERSONATED, "lifetime", "1h"));
    refuses(CFR_E_CONFIG, "self_signed: it is for a service account's key", true,
            LIST(EXTERNAL, "self_signed", "true"));
    refuses(CFR_E_CONFIG, "subject: it is for a service account's key", true, LIST(EXTERNAL, "subject", "a@b"));
    refuses(CFR_E_CONFIG, "subject: only keys of googleapis.com", true,
            LIST("credentials_file", DATA "gcp/files/key-universe.json", "universe_domain", "other.example", "subject",
                 "a@b"));
    refuses(CFR_E_CONFIG, "universe_domain: other.example is not googleapis.com", true,
            LIST("credentials_file", DATA "gcp/files/key-universe.json"));
    refuses(CFR_E_CONFIG, "universe_domain: the credential file is for googleapis.com, not for other.example", true,
            LIST(EXTERNAL, "universe_domain", "other.example"));
    refuses(CFR_E_CONFIG, "lifetime: it is for the impersonation", true, LIST(EXTERNAL, "lifetime", "1h"));
    refuses(CFR_E_CONFIG, "delegates: it is for the impersonation", true, LIST(KEY, "delegates", ACCOUNT));
    refuses(CFR_E_CONFIG, "iam_endpoint: it is for the impersonation", true, LIST(KEY, "iam_endpoint", "https://x"));
    refuses(CFR_E_CONFIG, "id_token_audience: it is for the impersonation", true,
            LIST(EXTERNAL, "id_token_audience", "x"));
    refuses(CFR_E_CONFIG, "certificate_file: the credential_source", true,
            LIST("credentials_file", DATA "gcp/files/external-certificate.json"));
    refuses(CFR_E_CONFIG, "append that file's certificates", true,
            LIST("credentials_file", DATA "gcp/files/external-certificate.json", "certificate_file",
                 DATA "gcp/files/leaf.pem", "key_file", DATA "jwt/rsa.pem"));
    refuses(CFR_E_CONFIG, "certificate_file: it holds no certificate", true,
            LIST("audience", AUDIENCE, "certificate_file", DATA "jwt/rsa.pem", "key_file", DATA "jwt/rsa.pem"));
    refuses(CFR_E_CONFIG, "credentials_file: /x is empty", true, LIST("credentials_file", "/x"));
    refuses(CFR_E_CONFIG, "client_secret_file: /x is empty", true,
            LIST("audience", WORKFORCE, "client_id", "a", "client_secret_file", "/x"));
    refuses(CFR_E_CONFIG, "credentials_file /data/jwt/rsa.pem: it is not JSON, but a private key in PEM form", true,
            LIST("credentials_file", DATA "jwt/rsa.pem"));
    refuses(CFR_E_CONFIG, "the private_key of credentials_file: it holds no private key", true,
            LIST("credentials_file", DATA "gcp/files/key-broken.json"));
}

static void steps_that_are_none(void **state)
{
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_wire_request r = {0};
    struct gcp_sample s;

    (void)state;
    gcp_sample(&s, LIST("audience", AUDIENCE, "service_account", ACCOUNT));
    s.x.step = 2;
    assert_int_equal(s.x.provider->build(&s.x, &s.in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    assert_int_equal(s.x.provider->parse(&s.x, &s.in, &reply, NULL), CFR_E_INTERNAL);
    s.x.step = 1;
    assert_int_equal(s.x.provider->build(&s.x, &s.in, &r, NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    gcp_sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges),
        cmocka_unit_test(exchanges_of_a_file),
        cmocka_unit_test(assertions),
        cmocka_unit_test(impersonations),
        cmocka_unit_test(impersonations_by_a_key_alone),
        cmocka_unit_test(whole_exchanges),
        cmocka_unit_test(self_signed),
        cmocka_unit_test(registries),
        cmocka_unit_test(refusals),
        cmocka_unit_test(steps_that_are_none),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
