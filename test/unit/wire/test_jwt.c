/* SPDX-License-Identifier: MIT */
/* Signed tokens: each signature verified by the library's own verifier, RS256 also against what the openssl
 * command signed (test/data/jwt/rs256.txt), and what no signature is made with. */
#include "unit.h"

#include "base/base64.h"
#include "data_file.h"
#include "wire/jwt.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define CLAIMS "{\"iss\":\"a@b\",\"exp\":1767326645}"

static const char *const headers[] = {"{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k1\"}", "{\"alg\":\"PS256\"}",
                                      "{\"alg\":\"ES256\"}"};

static int sign(enum cfr_jwt_alg alg, const char *key_file, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_view key = data_file_read(key_file);
    int rc;

    cfr_secret_init(out, CFR_JWT_MAX);
    rc = cfr_jwt_sign(alg, cfr_view_of(headers[alg]), cfr_view_of(CLAIMS), key, out, err);
    data_file_free(key);
    return rc;
}

static EVP_PKEY *load_key(const char *file)
{
    struct cfr_view pem = data_file_read(file);
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

    assert_non_null(key);
    BIO_free(bio);
    data_file_free(pem);
    return key;
}

/* The library verifies DER; the token has the two numbers. */
static size_t to_der(const unsigned char *raw, unsigned char *der)
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    unsigned char *p = der;
    int n;

    assert_int_equal(ECDSA_SIG_set0(sig, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL)), 1);
    n = i2d_ECDSA_SIG(sig, &p);
    ECDSA_SIG_free(sig);
    assert_true(n > 0);
    return (size_t)n;
}

static bool verifies(enum cfr_jwt_alg alg, const char *key_file, struct cfr_view jwt)
{
    const char *dot = memrchr(jwt.p, '.', jwt.n);
    struct cfr_view text = {jwt.p, (size_t)(dot - jwt.p)};
    struct cfr_view tail = {dot + 1, jwt.n - text.n - 1};
    EVP_PKEY *key = load_key(key_file);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    unsigned char der[128];
    struct cfr_secret sig;
    const unsigned char *bytes;
    size_t n;
    int good;

    cfr_secret_init(&sig, 4096);
    assert_int_equal(cfr_base64url_decode(tail, &sig, NULL), 0);
    bytes = (const unsigned char *)sig.p;
    n = sig.len;
    if (alg == CFR_JWT_ES256) {
        assert_int_equal(n, 64);
        n = to_der(bytes, der);
        bytes = der;
    }
    assert_int_equal(EVP_DigestVerifyInit(ctx, &key_ctx, EVP_sha256(), NULL, key), 1);
    if (alg == CFR_JWT_PS256) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(key_ctx, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(key_ctx, 32), 1);
    }
    good = EVP_DigestVerify(ctx, bytes, n, (const unsigned char *)text.p, text.n);
    cfr_secret_free(&sig);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return good == 1;
}

static void every_algorithm_verifies(void **state)
{
    static const struct {
        enum cfr_jwt_alg alg;
        const char *key;
    } cases[] = {
        {CFR_JWT_RS256, "jwt/rsa.pem"},  {CFR_JWT_RS256, "jwt/rsa-traditional.pem"},
        {CFR_JWT_PS256, "jwt/rsa.pem"},  {CFR_JWT_PS256, "jwt/rsa-traditional.pem"},
        {CFR_JWT_ES256, "jwt/p256.pem"}, {CFR_JWT_ES256, "jwt/p256-sec1.pem"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        /* Numbers of ECDSA have leading zeros now and then. */
        for (int turn = 0; turn < (cases[i].alg == CFR_JWT_ES256 ? 300 : 2); turn++) {
            struct cfr_err err = {0};
            struct cfr_secret jwt;

            if (sign(cases[i].alg, cases[i].key, &jwt, &err) != 0)
                fail_msg("%s: %s", cases[i].key, err.text);
            assert_true(verifies(cases[i].alg, cases[i].key, cfr_secret_view(&jwt)));
            jwt.p[10]++;
            assert_false(verifies(cases[i].alg, cases[i].key, cfr_secret_view(&jwt)));
            cfr_secret_free(&jwt);
        }
    }
}

static void as_the_openssl_command_signs(void **state)
{
    struct cfr_view want = data_file_read("jwt/rs256.txt");
    struct cfr_secret jwt;

    (void)state;
    assert_int_equal(sign(CFR_JWT_RS256, "jwt/rsa.pem", &jwt, NULL), 0);
    assert_true(cfr_view_eq(cfr_secret_view(&jwt), want));
    cfr_secret_free(&jwt);
    data_file_free(want);
}

static void appends_and_leaves_out_alone_after_an_error(void **state)
{
    struct cfr_view key = data_file_read("jwt/p256.pem");
    struct cfr_secret out;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&out, 100);
    assert_int_equal(cfr_secret_append_str(&out, "a=", NULL), 0);
    assert_int_equal(cfr_jwt_sign(CFR_JWT_ES256, LITERAL("{}"), LITERAL("{}"), key, &out, &err), CFR_OK);
    assert_true(cfr_view_starts(cfr_secret_view(&out), "a=e30.e30."));
    assert_int_equal(cfr_jwt_sign(CFR_JWT_ES256, LITERAL("{}"), LITERAL("{}"), key, &out, &err), CFR_E_LIMIT);
    assert_int_equal(out.len, 2 + 8 + 86);
    cfr_secret_free(&out);
    data_file_free(key);
}

static void keys_that_do_not_fit(void **state)
{
    static const struct {
        enum cfr_jwt_alg alg;
        const char *key;
        const char *why;
    } cases[] = {
        {CFR_JWT_RS256, "jwt/p256.pem", "RS256 needs an RSA key"},
        {CFR_JWT_PS256, "jwt/p256.pem", "PS256 needs an RSA key"},
        {CFR_JWT_RS256, "jwt/ed25519.pem", "holds no private key in PEM form"},
        {CFR_JWT_RS256, "jwt/rsa-pss.pem", "RS256 needs a plain RSA key, and this is an RSASSA-PSS key"},
        {CFR_JWT_PS256, "jwt/rsa-pss.pem", "PS256 needs a plain RSA key, and this is an RSASSA-PSS key"},
        {CFR_JWT_ES256, "jwt/rsa.pem", "curve P-256"},
        {CFR_JWT_ES256, "jwt/p384.pem", "curve P-256"},
        {CFR_JWT_ES256, "jwt/ed25519.pem", "holds no private key in PEM form"},
        {CFR_JWT_RS256, "jwt/rsa1024.pem", "the RSA key has 1024 bits"},
        {CFR_JWT_RS256, "jwt/chain.pem", "holds no private key in PEM form"},
        {CFR_JWT_RS256, "jwt/rs256.txt", "holds no private key in PEM form"},
        {CFR_JWT_ES256, "jwt/encrypted.pem", "the private key is encrypted"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_err err = {0};
        struct cfr_secret jwt;

        assert_int_equal(sign(cases[i].alg, cases[i].key, &jwt, &err), CFR_E_CONFIG);
        assert_contains(err.text, cases[i].why);
        assert_int_equal(jwt.len, 0);
        assert_int_equal(sign(cases[i].alg, cases[i].key, &jwt, NULL), CFR_E_CONFIG);
        cfr_secret_free(&jwt);
    }
}

static int alg_of(const char *file, enum cfr_jwt_alg *alg)
{
    struct cfr_view key = data_file_read(file);
    int rc = cfr_jwt_alg_of(key, alg, NULL);

    data_file_free(key);
    return rc;
}

static void the_algorithm_of_a_key(void **state)
{
    enum cfr_jwt_alg alg;

    (void)state;
    assert_int_equal(alg_of("jwt/rsa.pem", &alg), 0);
    assert_int_equal(alg, CFR_JWT_RS256);
    assert_int_equal(alg_of("jwt/p256-sec1.pem", &alg), 0);
    assert_int_equal(alg, CFR_JWT_ES256);
    assert_int_equal(alg_of("jwt/p384.pem", &alg), CFR_E_CONFIG);
    assert_int_equal(alg_of("jwt/rsa1024.pem", &alg), CFR_E_CONFIG);
    assert_int_equal(alg_of("jwt/chain.pem", &alg), CFR_E_CONFIG);
    assert_int_equal(cfr_jwt_alg_of((struct cfr_view){NULL, 0}, &alg, NULL), CFR_E_CONFIG);
}

static void thumbprint(void **state)
{
    struct cfr_view pem = data_file_read("jwt/chain.pem");
    struct cfr_view want = data_file_read("jwt/thumbprint.txt");
    struct cfr_err err = {0};
    char got[CFR_JWT_THUMBPRINT_MAX];

    (void)state;
    assert_int_equal(cfr_jwt_thumbprint(pem, got, &err), 0);
    assert_true(cfr_view_is(want, got));
    assert_int_equal(strlen(got), CFR_JWT_THUMBPRINT_MAX - 1);
    pem.n = 200;
    assert_int_equal(cfr_jwt_thumbprint(pem, got, &err), CFR_E_CONFIG);
    assert_contains(err.text, "certificate 1 cannot be read");
    assert_string_equal(got, "");
    assert_int_equal(cfr_jwt_thumbprint(LITERAL(""), got, &err), CFR_E_CONFIG);
    assert_contains(err.text, "holds no certificate in PEM form");
    data_file_free(pem);
    data_file_free(want);
}

/* What stands between the lines of each PEM block is the base64 of its DER. */
static void chain(void **state)
{
    struct cfr_view pem = data_file_read("jwt/chain.pem");
    struct cfr_view rest = pem;
    struct cfr_view line;
    struct cfr_secret want;
    struct cfr_secret got;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&want, 8192);
    cfr_secret_init(&got, 8192);
    while (cfr_view_line(&rest, &line)) {
        if (cfr_view_starts(line, "-----BEGIN"))
            assert_int_equal(cfr_secret_append_str(&want, want.len == 0 ? "[\"" : ",\"", NULL), 0);
        else if (cfr_view_starts(line, "-----END"))
            assert_int_equal(cfr_secret_append_str(&want, "\"", NULL), 0);
        else
            assert_int_equal(cfr_secret_append(&want, line, NULL), 0);
    }
    assert_int_equal(cfr_secret_append_str(&want, "]", NULL), 0);
    assert_int_equal(cfr_jwt_chain(pem, &got, &err), 0);
    assert_true(cfr_view_eq(cfr_secret_view(&got), cfr_secret_view(&want)));
    cfr_secret_clear(&got);
    pem.n -= 100;
    assert_int_equal(cfr_jwt_chain(pem, &got, &err), CFR_E_CONFIG);
    assert_contains(err.text, "certificate 2 cannot be read");
    assert_int_equal(got.len, 0);
    assert_int_equal(cfr_jwt_chain(LITERAL("-----BEGIN NONSENSE-----"), &got, &err), CFR_E_CONFIG);
    cfr_secret_free(&want);
    cfr_secret_free(&got);
    data_file_free(pem);
}

static void uuid(void **state)
{
    unsigned char bytes[16];
    char text[CFR_JWT_UUID_MAX];

    (void)state;
    memset(bytes, 0, sizeof bytes);
    assert_string_equal(cfr_jwt_uuid(bytes, text), "00000000-0000-4000-8000-000000000000");
    memset(bytes, 255, sizeof bytes);
    assert_string_equal(cfr_jwt_uuid(bytes, text), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    for (unsigned char i = 0; i < 16; i++)
        bytes[i] = (unsigned char)(i * 16 + i);
    assert_string_equal(cfr_jwt_uuid(bytes, text), "00112233-4455-4677-8899-aabbccddeeff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_verifies),
        cmocka_unit_test(as_the_openssl_command_signs),
        cmocka_unit_test(appends_and_leaves_out_alone_after_an_error),
        cmocka_unit_test(keys_that_do_not_fit),
        cmocka_unit_test(the_algorithm_of_a_key),
        cmocka_unit_test(thumbprint),
        cmocka_unit_test(chain),
        cmocka_unit_test(uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
