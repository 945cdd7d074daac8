/* SPDX-License-Identifier: MIT */
/* Golden requests to Entra ID, AD FS and registries, byte for byte; signed assertions, verified by the
 * library's own verifier. */
#include "sts_golden.h"

#include "azure_sample.h"
#include "base/base64.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static char tenant[] = SAMPLE_TENANT;
static char client[] = SAMPLE_CLIENT;
static char file[] = "/file";

static struct cfr_azure base(void)
{
    return (struct cfr_azure){.tenant_id = tenant, .client_id = client};
}

static struct cfr_wire_request build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in)
{
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};

    if (x->provider->build(x, in, &r, &err) != 0)
        fail_msg("%s", err.text);
    return r;
}

static void compare_input(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "azure/requests/%s", name);
    golden_request(x, in, path);
}

static void compare(const struct cfr_sts_exchange *x, const char *name)
{
    struct cfr_sts_input in = sample_input();

    compare_input(x, &in, name);
}

static void smallest(void **state)
{
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};

    (void)state;
    compare(&x, "smallest.txt");
}

static void from_the_environment(void **state)
{
    struct cfr_azure c = {0};
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};

    (void)state;
    sample_environment = (const char *const[]){"AZURE_TENANT_ID",
                                               "contoso.onmicrosoft.com",
                                               "AZURE_CLIENT_ID",
                                               SAMPLE_CLIENT,
                                               "AZURE_AUTHORITY_HOST",
                                               "https://login.microsoftonline.us/",
                                               NULL};
    compare(&x, "environment.txt");
    sample_environment = NULL;
}

static void sovereign_clouds(void **state)
{
    static const struct {
        int cloud;
        const char *name;
    } rows[] = {{CFR_AZURE_PUBLIC, "smallest.txt"},     {CFR_AZURE_USGOV, "cloud-usgov.txt"},
                {CFR_AZURE_CHINA, "cloud-china.txt"},   {CFR_AZURE_SOV_DE, "cloud-sov-de.txt"},
                {CFR_AZURE_SOV_FR, "cloud-sov-fr.txt"}, {CFR_AZURE_SOV_SG, "cloud-sov-sg.txt"}};
    char *scopes[] = {(char[]){"https://vault.example"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cfr_azure c = base();
        struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};

        c.cloud = rows[i].cloud;
        if (c.cloud >= CFR_AZURE_SOV_DE)
            c.scopes = (struct cfr_strings){scopes, 1};
        compare(&x, rows[i].name);
    }
}

static void private_authority(void **state)
{
    char *scopes[] = {(char[]){"api://a"}, (char[]){"https://database.windows.net/"},
                      (char[]){"2ff814a6-3304-4ab8-85cb-cd0e6f879c1d"}};
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c, .step = 1};

    (void)state;
    c.authority_host = (char[]){"http://127.0.0.1:8443/entra//"};
    c.scopes = (struct cfr_strings){scopes, 3};
    compare(&x, "double-slash.txt");
    x.step = 2;
    compare(&x, "guid-resource.txt");
}

static void a_secret(void **state)
{
    static const char secret[] = "Abc8Q~a+b&c=d e/f%g\"h";
    struct cfr_sts_content contents[] = {{"client_secret_file", {secret, sizeof secret - 1}}};
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = sample_input();

    (void)state;
    c.client_secret_file = file;
    in.token = (struct cfr_view){NULL, 0};
    in.contents = contents;
    in.content_count = 1;
    assert_false(cfr_sts_needs_token(&cfr_azure_provider, &c));
    compare_input(&x, &in, "secret.txt");
    c.tenant_id = (char[]){"ADFS"};
    c.authority_host = (char[]){"https://adfs.contoso.example/"};
    c.scopes = (struct cfr_strings){(char *[]){(char[]){"https://app.example//.default"}}, 1};
    compare_input(&x, &in, "adfs-secret.txt");
}

static void registries(void **state)
{
    char *hosts[] = {(char[]){"myregistry.azurecr.io"}, (char[]){"other.azurecr.us:5000"}};
    char *scopes[] = {(char[]){SAMPLE_ARM}, (char[]){"https://containerregistry.azure.net"}};
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c, .step = 1};

    (void)state;
    c.acr = (struct cfr_strings){hosts, 2};
    assert_int_equal(cfr_grant_set(&x.grant, CFR_FIELD_AZURE_ACCESS_TOKEN, cfr_view_of("arm.token+/="), NULL), 0);
    compare(&x, "registry.txt");
    c.acr_endpoint = (char[]){"http://127.0.0.1:5000/acr/"};
    c.scopes = (struct cfr_strings){scopes, 2};
    assert_int_equal(cfr_grant_set(&x.grant,
                                   CFR_FIELD_AZURE_ACCESS_TOKEN ":https://containerregistry.azure.net/.default",
                                   cfr_view_of("acr.token"), NULL),
                     0);
    x.step = 3;
    compare(&x, "registry-endpoint.txt");
    cfr_sts_exchange_free(&x);
}

static EVP_PKEY *public_key(struct cfr_view pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    EVP_PKEY *key = X509_get_pubkey(certificate);

    assert_non_null(key);
    X509_free(certificate);
    BIO_free(bio);
    return key;
}

static bool verifies(struct cfr_view pem, bool pss, struct cfr_view text, struct cfr_view signature)
{
    EVP_PKEY *key = public_key(pem);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *pctx = NULL;
    bool ok;

    assert_int_equal(EVP_DigestVerifyInit(ctx, &pctx, EVP_sha256(), NULL, key), 1);
    if (pss) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, 32), 1);
    }
    ok = EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n, (const unsigned char *)text.p,
                          text.n) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return ok;
}

/* The JWT in the form body: its signature is good, and its header and claims are as given. */
static void check_assertion(struct cfr_view pem, const char *body, bool pss, const char *header, const char *claims)
{
    const char *at = strstr(body, "&client_assertion=");
    const char *dot = at != NULL ? strchr(at, '.') : NULL;
    const char *end = dot != NULL ? strchr(dot + 1, '.') : NULL;
    struct cfr_secret part;

    assert_non_null(end);
    at += strlen("&client_assertion=");
    assert_null(strpbrk(end, "&%"));
    cfr_secret_init(&part, 20000);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){at, (size_t)(dot - at)}, &part, NULL), 0);
    if (header != NULL)
        assert_string_equal(part.p, header);
    else
        assert_true(cfr_view_starts(cfr_secret_view(&part), "{\"alg\":\"PS256\",\"typ\":\"JWT\",\"x5t#S256\":\""));
    cfr_secret_clear(&part);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){dot + 1, (size_t)(end - dot - 1)}, &part, NULL), 0);
    assert_string_equal(part.p, claims);
    cfr_secret_clear(&part);
    assert_int_equal(cfr_base64url_decode(cfr_view_of(end + 1), &part, NULL), 0);
    assert_true(verifies(pem, pss, (struct cfr_view){at, (size_t)(end - at)}, cfr_secret_view(&part)));
    /* The other padding, and another text, do not. */
    assert_false(verifies(pem, !pss, (struct cfr_view){at, (size_t)(end - at)}, cfr_secret_view(&part)));
    assert_false(verifies(pem, pss, (struct cfr_view){at, (size_t)(end - at) - 1}, cfr_secret_view(&part)));
    cfr_secret_free(&part);
}

#define CLAIMS(aud)                                                                                                    \
    "{\"aud\":\"" aud "\",\"iss\":\"" SAMPLE_CLIENT "\",\"sub\":\"" SAMPLE_CLIENT                                      \
    "\",\"jti\":\"3f2504e0-4f89-41d3-9a0c-0305e82c3301\",\"iat\":1767323045,\"nbf\":1767323045,\"exp\":"               \
    "1767323645}"

static void a_certificate(void **state)
{
    struct cfr_view cert = data_file_read("jwt/chain.pem");
    struct cfr_view key = data_file_read("jwt/rsa.pem");
    struct cfr_view thumbprint = data_file_read("jwt/thumbprint.txt");
    struct cfr_sts_content contents[] = {{"certificate_file", cert}, {"key_file", key}};
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r;
    char header[256];

    (void)state;
    c.certificate_file = file;
    c.key_file = file;
    in.token = (struct cfr_view){NULL, 0};
    in.contents = contents;
    in.content_count = 2;
    assert_false(cfr_sts_needs_token(&cfr_azure_provider, &c));
    thumbprint = cfr_view_trim(thumbprint);
    (void)snprintf(header, sizeof header, "{\"alg\":\"PS256\",\"typ\":\"JWT\",\"x5t#S256\":\"%.*s\"}",
                   (int)thumbprint.n, thumbprint.p);
    r = build(&x, &in);
    assert_true(cfr_view_starts(cfr_secret_view(&r.body),
                                "grant_type=client_credentials&client_id=" SAMPLE_CLIENT
                                "&scope=https%3A%2F%2Fmanagement.azure.com%2F.default&client_assertion_type="
                                "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion="));
    check_assertion(cert, r.body.p, true, header,
                    CLAIMS("https://login.microsoftonline.com/" SAMPLE_TENANT "/oauth2/v2.0/token"));
    cfr_wire_request_free(&r);
    data_file_free(cert);
    data_file_free(key);
    data_file_free(thumbprint);
}

/* One file with both, the chain sent along. */
static void a_chain(void **state)
{
    struct cfr_view cert = data_file_read("jwt/chain.pem");
    struct cfr_view key = data_file_read("jwt/rsa.pem");
    char *both = malloc(cert.n + key.n);
    struct cfr_sts_content contents[] = {{"certificate_file", {both, cert.n + key.n}}};
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r;
    struct cfr_secret header;
    struct cfr_json *doc = NULL;
    const char *at;

    (void)state;
    memcpy(both, key.p, key.n);
    memcpy(both + key.n, cert.p, cert.n);
    c.certificate_file = file;
    c.send_certificate_chain = true;
    in.contents = contents;
    in.content_count = 1;
    r = build(&x, &in);
    check_assertion(cert, r.body.p, true, NULL,
                    CLAIMS("https://login.microsoftonline.com/" SAMPLE_TENANT "/oauth2/v2.0/token"));
    at = strstr(r.body.p, "&client_assertion=") + strlen("&client_assertion=");
    cfr_secret_init(&header, 20000);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){at, strcspn(at, ".")}, &header, NULL), 0);
    assert_int_equal(cfr_json_parse(cfr_secret_view(&header), &doc, NULL), 0);
    assert_int_equal(cfr_json_count(cfr_json_get(doc, "x5c")), 2);
    cfr_json_free(doc);
    cfr_secret_free(&header);
    cfr_wire_request_free(&r);
    free(both);
    data_file_free(cert);
    data_file_free(key);
}

/* AD FS: RS256, the SHA-1 of the certificate, another path. */
static void an_adfs_certificate(void **state)
{
    struct cfr_view cert = data_file_read("jwt/chain.pem");
    struct cfr_view key = data_file_read("jwt/rsa.pem");
    struct cfr_sts_content contents[] = {{"certificate_file", cert}, {"key_file", key}};
    char *scopes[] = {(char[]){"https://app.example"}};
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r;
    BIO *bio = BIO_new_mem_buf(cert.p, (int)cert.n);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    unsigned char digest[20];
    struct cfr_secret thumbprint;
    char header[256];

    (void)state;
    assert_int_equal(X509_digest(certificate, EVP_sha1(), digest, NULL), 1);
    cfr_secret_init(&thumbprint, 100);
    assert_int_equal(cfr_base64url_encode((struct cfr_view){(const char *)digest, 20}, &thumbprint, NULL), 0);
    (void)snprintf(header, sizeof header, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"x5t\":\"%s\"}", thumbprint.p);
    c.tenant_id = (char[]){"adfs"};
    c.authority_host = (char[]){"https://adfs.contoso.example"};
    c.scopes = (struct cfr_strings){scopes, 1};
    c.certificate_file = file;
    c.key_file = file;
    in.contents = contents;
    in.content_count = 2;
    r = build(&x, &in);
    assert_string_equal(r.url, "https://adfs.contoso.example/adfs/oauth2/token");
    check_assertion(cert, r.body.p, false, header, CLAIMS("https://adfs.contoso.example/adfs/oauth2/token"));
    cfr_wire_request_free(&r);
    cfr_secret_free(&thumbprint);
    X509_free(certificate);
    BIO_free(bio);
    data_file_free(cert);
    data_file_free(key);
}

static void refused(const struct cfr_azure *c, struct cfr_sts_content *contents, size_t count, int code,
                    const char *why)
{
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = c};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};
    int rc;

    in.token = (struct cfr_view){NULL, 0};
    in.contents = contents;
    in.content_count = count;
    rc = x.provider->build(&x, &in, &r, &err);
    if (rc != code || err.code != rc || strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\", got %d \"%s\"", why, rc, err.text);
    cfr_wire_request_free(&r);
    in.nonce = NULL;
    assert_int_not_equal(x.provider->build(&x, &in, &r, NULL), 0);
    cfr_wire_request_free(&r);
}

static void unusable_proofs(void **state)
{
    struct cfr_view cert = data_file_read("jwt/chain.pem");
    struct cfr_view ec = data_file_read("jwt/p256.pem");
    struct cfr_view encrypted = data_file_read("jwt/encrypted.pem");
    struct cfr_view small = data_file_read("jwt/rsa1024.pem");
    struct cfr_sts_content contents[] = {
        {"client_secret_file", {NULL, 0}}, {"certificate_file", cert}, {"key_file", ec}};
    struct cfr_azure c = base();

    (void)state;
    refused(&c, NULL, 0, CFR_E_TOKEN, "the token is empty");
    c.client_secret_file = file;
    refused(&c, contents, 0, CFR_E_CONFIG, "client_secret_file: the file is empty");
    refused(&c, contents, 1, CFR_E_CONFIG, "client_secret_file: the file is empty");
    contents[0].bytes = cfr_view_of("one\ntwo");
    refused(&c, contents, 1, CFR_E_CONFIG, "client_secret_file: the file holds more than one line");
    c.client_secret_file = NULL;
    c.certificate_file = file;
    refused(&c, contents, 1, CFR_E_CONFIG, "certificate_file: it holds no certificate");
    refused(&c, contents, 2, CFR_E_CONFIG, "certificate_file: it holds no private key");
    c.key_file = file;
    refused(&c, contents, 2, CFR_E_CONFIG, "key_file: it holds no private key");
    refused(&c, contents, 3, CFR_E_CONFIG, "key_file: PS256 needs an RSA key");
    contents[2].bytes = encrypted;
    refused(&c, contents, 3, CFR_E_CONFIG, "key_file: the private key is encrypted");
    contents[2].bytes = small;
    refused(&c, contents, 3, CFR_E_CONFIG, "key_file: the RSA key has 1024 bits");
    contents[1].bytes = ec;
    refused(&c, contents, 3, CFR_E_CONFIG, "certificate_file: it holds no certificate");
    data_file_free(cert);
    data_file_free(ec);
    data_file_free(encrypted);
    data_file_free(small);
}

static void no_such_step(void **state)
{
    struct cfr_azure c = base();
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c, .step = 1};
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = 200, .body = cfr_view_of("{}")};
    struct cfr_wire_request r = {0};

    (void)state;
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL);
    assert_int_equal(x.provider->parse(&x, &in, &reply, NULL), CFR_E_INTERNAL);
    c.acr = (struct cfr_strings){(char *[]){(char[]){"reg.azurecr.io"}}, 1};
    assert_int_equal(x.provider->build(&x, &in, &r, NULL), CFR_E_INTERNAL); /* no token before */
    cfr_wire_request_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest),
        cmocka_unit_test(from_the_environment),
        cmocka_unit_test(sovereign_clouds),
        cmocka_unit_test(private_authority),
        cmocka_unit_test(a_secret),
        cmocka_unit_test(registries),
        cmocka_unit_test(a_certificate),
        cmocka_unit_test(a_chain),
        cmocka_unit_test(an_adfs_certificate),
        cmocka_unit_test(unusable_proofs),
        cmocka_unit_test(no_such_step),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
