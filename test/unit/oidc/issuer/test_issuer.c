/* SPDX-License-Identifier: MIT */
/* The OIDC issuer's documents, and the order of the steps of a key rotation. */
#include "unit.h"

#include "data_file.h"

#include "base/json.h"
#include "oidc/issuer/issuer.h"
#include "oidc/issuer/issuer_private.h"
#include "pki/key.h"

#define BEGIN INT64_C(1790000000)
#define HOUR  3600

/* The key of Kubernetes' own form, with the kid that was computed by other means. */
static const char vector_pem[] = "-----BEGIN PUBLIC KEY-----\n"
                                 "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZXpwYZ5SOmzLwRbfWQGSw3od0iDn\n"
                                 "bUHy0DsP7/RcfVk6n40M+8bibv89mzf6X0bqc5jZzOUwkAVZq1ZKkS4VqA==\n"
                                 "-----END PUBLIC KEY-----\n";

static void kid_of_kubernetes(void **state)
{
    char kid[CFR_KEY_KID_MAX];
    struct cfr_str out = {.limit = 4096};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_key_kid(cfr_view_of(vector_pem), kid, &err), 0);
    assert_string_equal(kid, "xhtGfmDNBxQJzZLmxoRGnxemUkjVd7hdxVLwn1kXNoQ");
    assert_int_equal(cfr_jwks_key(cfr_view_of(vector_pem), (struct cfr_view){NULL, 0}, &out, &err), 0);
    assert_string_equal(out.p,
                        "{\"use\":\"sig\",\"kty\":\"EC\",\"kid\":\"xhtGfmDNBxQJzZLmxoRGnxemUkjVd7hdxVLwn1kXNoQ\","
                        "\"crv\":\"P-256\",\"alg\":\"ES256\",\"x\":\"ZXpwYZ5SOmzLwRbfWQGSw3od0iDnbUHy0DsP7_RcfVk\","
                        "\"y\":\"Op-NDPvG4m7_PZs3-l9G6nOY2czlMJAFWatWSpEuFag\"}");
    cfr_str_free(&out);
    assert_int_equal(cfr_key_kid(cfr_view_of("none"), kid, &err), CFR_E_CONFIG);
}

static void other_keys_are_named(void **state)
{
    static const struct {
        const char *file;
        const char *why;
    } cases[] = {
        {"jwt/rsa-pss.pem", "the key is an RSASSA-PSS key, which cannot sign as RS256; use a plain RSA key"},
        {"jwt/ed25519.pem", "the key is ED25519; use an RSA key, or an EC key on P-256 or P-384"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_view pem = data_file_read(cases[i].file);
        struct cfr_str jwk = {.limit = 4096};
        const char *algorithm = NULL;
        struct cfr_err err = {0};

        assert_int_equal(cfr_jwks_key(pem, (struct cfr_view){NULL, 0}, &jwk, &err), CFR_E_CONFIG);
        assert_contains(err.text, cases[i].why);
        err.text[0] = '\0';
        assert_int_equal(cfr_jwks_algorithm(pem, &algorithm, &err), CFR_E_CONFIG);
        assert_contains(err.text, cases[i].why);
        assert_null(algorithm);
        cfr_str_free(&jwk);
        data_file_free(pem);
    }
}

/* RSA keys, which take long to make, are looked at by integ_oidc. */
static void kinds_of_keys(void **state)
{
    static const struct {
        enum cfr_key_kind kind;
        const char *type;
        const char *algorithm;
    } cases[] = {
        {CFR_KEY_ECDSA_P256, "EC", "ES256"},
        {CFR_KEY_ECDSA_P384, "EC", "ES384"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_secret pem;
        struct cfr_str jwk = {.limit = 4096};
        const char *algorithm = NULL;
        struct cfr_json *doc;
        struct cfr_view v;
        struct cfr_err err = {0};

        cfr_secret_init(&pem, CFR_KEY_PEM_MAX);
        assert_int_equal(cfr_key_make(cases[i].kind, &pem, &err), 0);
        assert_int_equal(cfr_jwks_key(cfr_secret_view(&pem), (struct cfr_view){NULL, 0}, &jwk, &err), 0);
        assert_int_equal(cfr_jwks_algorithm(cfr_secret_view(&pem), &algorithm, &err), 0);
        assert_string_equal(algorithm, cases[i].algorithm);
        assert_int_equal(cfr_json_parse(cfr_str_view(&jwk), &doc, &err), 0);
        assert_true(cfr_json_string(cfr_json_get(doc, "kty"), &v) && cfr_view_is(v, cases[i].type));
        assert_true(cfr_json_string(cfr_json_get(doc, "kid"), &v) && v.n == 43);
        /* Nothing of the private half. */
        assert_null(cfr_json_get(doc, "d"));
        cfr_json_free(doc);
        cfr_str_free(&jwk);
        cfr_secret_free(&pem);
    }
}

static void urls(void **state)
{
    static const char *const good[] = {"https://a", "https://oidc.example.net/id/1", "https://h:8443/x"};
    static const char *const bad[] = {"",
                                      "http://a",
                                      "https://",
                                      "https://a/",
                                      "https://a?x",
                                      "https://a#x",
                                      "https:///x",
                                      "https://u@a",
                                      "https://a b",
                                      "https://a\"",
                                      "a"};
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_int_equal(cfr_oidc_issuer_check_url(good[i], &err), 0);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(cfr_oidc_issuer_check_url(bad[i], &err), CFR_E_CONFIG);
}

static void make(struct cfr_oidc_issuer *i, int64_t lag_s)
{
    struct cfr_err err = {0};

    *i = (struct cfr_oidc_issuer){
        .url = strdup("https://oidc.test/c"),
        .web_root = strdup("/w"),
        .key = CFR_KEY_ECDSA_P256,
        .token_life_s = 24 * HOUR,
        .settle_s = 2 * HOUR,
        .lag_s = lag_s,
    };
    assert_int_equal(cfr_oidc_issuer_begin(i, BEGIN, &err), 0);
    assert_true(cfr_oidc_issuer_is_intent(i));
    cfr_oidc_issuer_done(i, BEGIN);
    assert_int_equal(i->phase, CFR_OIDC_ISSUER_STEADY);
}

static char *jwks(const struct cfr_oidc_issuer *i)
{
    struct cfr_str out = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};
    struct cfr_err err = {0};

    assert_int_equal(cfr_oidc_issuer_jwks(i, &out, &err), 0);
    return out.p;
}

static size_t keys_in(const char *document)
{
    struct cfr_json *doc;
    struct cfr_err err = {0};
    size_t n;

    assert_int_equal(cfr_json_parse(cfr_view_of(document), &doc, &err), 0);
    n = cfr_json_count(cfr_json_get(doc, "keys"));
    cfr_json_free(doc);
    return n;
}

static void next(struct cfr_oidc_issuer *i, int64_t now_s, enum cfr_oidc_issuer_phase intent,
                 enum cfr_oidc_issuer_phase after)
{
    struct cfr_err err = {0};

    if (cfr_oidc_issuer_next(i, now_s, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(i->phase, intent);
    assert_true(cfr_oidc_issuer_is_intent(i));
    assert_int_equal(cfr_oidc_issuer_next(i, now_s, &err), CFR_E_INTERNAL);
    cfr_oidc_issuer_done(i, now_s);
    assert_int_equal(i->phase, after);
}

static void the_whole_rotation(void **state)
{
    struct cfr_oidc_issuer i;
    struct cfr_err err = {0};
    char first_kid[CFR_KEY_KID_MAX];
    char *one;
    char *both;
    char *still;
    int64_t now_s = BEGIN;
    int64_t last_s;

    (void)state;
    make(&i, -1);
    memcpy(first_kid, i.signing.kid, sizeof first_kid);
    one = jwks(&i);
    assert_int_equal(keys_in(one), 1);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), -1);
    next(&i, now_s, CFR_OIDC_ISSUER_PUBLISHING, CFR_OIDC_ISSUER_PUBLISHED);
    both = jwks(&i);
    assert_int_equal(keys_in(both), 2);
    assert_string_equal(i.signing.kid, first_kid);
    /* Not before all verifiers have read it. */
    assert_int_equal(cfr_oidc_issuer_next(&i, now_s + 2 * HOUR - 1, &err), CFR_E_CONFLICT);
    assert_contains(err.text, "too recently");
    assert_int_equal(cfr_oidc_issuer_confirm(&i, now_s, &err), CFR_E_CONFLICT);
    now_s += 2 * HOUR;
    next(&i, now_s, CFR_OIDC_ISSUER_SWITCHING, CFR_OIDC_ISSUER_SWITCHED);
    assert_string_not_equal(i.signing.kid, first_kid);
    assert_string_equal(i.other.kid, first_kid);
    assert_int_equal(i.other.private_pem.len, 0);
    still = jwks(&i);
    assert_string_equal(both, still);
    /* Not while nobody has said that the signers have followed, however long that takes. */
    assert_int_equal(cfr_oidc_issuer_next(&i, now_s + 1000 * HOUR, &err), CFR_E_CONFLICT);
    assert_contains(err.text, "--confirm");
    now_s += 5 * HOUR;
    assert_int_equal(cfr_oidc_issuer_confirm(&i, now_s, &err), 0);
    assert_int_equal(cfr_oidc_issuer_confirm(&i, now_s + HOUR, &err), 0);
    last_s = now_s + 24 * HOUR + CFR_OIDC_ISSUER_LEEWAY_S;
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), last_s);
    assert_int_equal(cfr_oidc_issuer_next(&i, last_s - 1, &err), CFR_E_CONFLICT);
    assert_contains(err.text, "may be in use until");
    next(&i, last_s, CFR_OIDC_ISSUER_RETIRING, CFR_OIDC_ISSUER_STEADY);
    assert_int_equal(i.rotations, 1);
    free(still);
    still = jwks(&i);
    assert_int_equal(keys_in(still), 1);
    assert_null(strstr(still, first_kid));
    free(one);
    free(both);
    free(still);
    cfr_oidc_issuer_free(&i);
}

static bool finds(const struct cfr_oidc_issuer *i, const struct cfr_oidc_issuer *before, const char *text)
{
    struct cfr_str kid = {.limit = 256};
    bool unknown = cfr_oidc_issuer_finds_unknown(i, before, cfr_view_of(text), &kid);

    assert_int_equal(unknown, kid.len != 0);
    cfr_str_free(&kid);
    return unknown;
}

/* In a key set or in PEM form; the key that is being retired is known until that is done. */
static void keys_that_are_unknown(void **state)
{
    static const struct cfr_oidc_issuer none = {.url = NULL};
    struct cfr_oidc_issuer i;
    char *both;

    (void)state;
    make(&i, 0);
    next(&i, BEGIN, CFR_OIDC_ISSUER_PUBLISHING, CFR_OIDC_ISSUER_PUBLISHED);
    next(&i, BEGIN + 2 * HOUR, CFR_OIDC_ISSUER_SWITCHING, CFR_OIDC_ISSUER_SWITCHED);
    both = jwks(&i);
    i.phase = CFR_OIDC_ISSUER_RETIRING;
    assert_false(finds(&i, NULL, both));
    assert_false(finds(&none, &i, both));
    assert_false(finds(&i, NULL, i.other.public_pem));
    assert_true(finds(&none, NULL, both));
    assert_true(finds(&i, NULL, vector_pem));
    assert_true(finds(&i, NULL, "{\"keys\":[{\"kty\":\"EC\"},{\"kid\":\"x\\u001b\"}]}"));
    assert_true(finds(&i, NULL, "{\"keys\":[{\"kty\":\"EC\"}]}"));
    assert_true(finds(&i, NULL, "{\"keys\":[{\"kty\":\"EC\",\"kid\":1}]}"));
    assert_false(finds(&i, NULL, "{\"keys\":[]}"));
    assert_false(finds(&i, NULL, "{\"keys\":[1,{}]}"));
    assert_false(finds(&i, NULL, "<html>"));
    assert_false(finds(&i, NULL, ""));
    cfr_oidc_issuer_done(&i, BEGIN + 100 * HOUR);
    assert_true(finds(&i, NULL, both));
    free(both);
    cfr_oidc_issuer_free(&i);
}

/* A verifier that read what was there instead has a key set without the new key: the time is counted again. */
static void documents_that_were_lost(void **state)
{
    struct cfr_oidc_issuer i;
    struct cfr_err err = {0};

    (void)state;
    make(&i, 0);
    cfr_oidc_issuer_set_lost(&i);
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_STEADY);
    next(&i, BEGIN, CFR_OIDC_ISSUER_PUBLISHING, CFR_OIDC_ISSUER_PUBLISHED);
    cfr_oidc_issuer_set_lost(&i);
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_PUBLISHING);
    cfr_oidc_issuer_done(&i, BEGIN + 2 * HOUR);
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_PUBLISHED);
    assert_int_equal(cfr_oidc_issuer_next(&i, BEGIN + 2 * HOUR, &err), CFR_E_CONFLICT);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), BEGIN + 4 * HOUR);
    next(&i, BEGIN + 4 * HOUR, CFR_OIDC_ISSUER_SWITCHING, CFR_OIDC_ISSUER_SWITCHED);
    cfr_oidc_issuer_set_lost(&i);
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_SWITCHED);
    cfr_oidc_issuer_free(&i);
}

/* A key that only the disk has does not count as published, and the time is counted from the upload. */
static void documents_in_a_store(void **state)
{
    struct cfr_oidc_issuer i;
    struct cfr_err err = {0};
    int64_t uploaded_s = BEGIN + 3 * HOUR;

    (void)state;
    make(&i, 0);
    assert_true(cfr_oidc_issuer_is_uploaded(&i)); /* there is no store */
    assert_int_equal(cfr_oidc_issuer_set_store(&i, "gcs:https://s.test/b", &err), 0);
    assert_false(cfr_oidc_issuer_is_uploaded(&i));
    assert_int_equal(cfr_oidc_issuer_set_uploaded(&i, true, BEGIN, &err), 0);
    assert_true(cfr_oidc_issuer_is_uploaded(&i));
    next(&i, BEGIN, CFR_OIDC_ISSUER_PUBLISHING, CFR_OIDC_ISSUER_PUBLISHED);
    assert_false(cfr_oidc_issuer_is_uploaded(&i));
    assert_true(cfr_oidc_issuer_knows(&i, cfr_view_of(i.signing.kid)) &&
                cfr_oidc_issuer_knows(&i, cfr_view_of(i.other.kid)));
    assert_false(cfr_oidc_issuer_knows(&i, cfr_view_of("")) || cfr_oidc_issuer_knows(&i, cfr_view_of("x")));
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), -1);
    assert_int_equal(cfr_oidc_issuer_next(&i, BEGIN + 1000 * HOUR, &err), CFR_E_CONFLICT);
    assert_contains(err.text, "is not in gcs:https://s.test/b yet");
    assert_int_equal(cfr_oidc_issuer_set_uploaded(&i, false, uploaded_s, &err), 0);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), uploaded_s + 2 * HOUR);
    /* Looked at again and unchanged: the time goes on; written again: it restarts; elsewhere: all of it. */
    assert_int_equal(cfr_oidc_issuer_set_uploaded(&i, false, uploaded_s + 1, &err), 0);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), uploaded_s + 2 * HOUR);
    assert_int_equal(cfr_oidc_issuer_set_uploaded(&i, true, uploaded_s + 1, &err), 0);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), uploaded_s + 1 + 2 * HOUR);
    assert_int_equal(cfr_oidc_issuer_set_store(&i, "gcs:https://s.test/b", &err), 0);
    assert_true(cfr_oidc_issuer_is_uploaded(&i));
    assert_int_equal(cfr_oidc_issuer_set_store(&i, "gcs:https://s.test/other", &err), 0);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), -1);
    assert_int_equal(cfr_oidc_issuer_set_uploaded(&i, true, BEGIN, &err), 0);
    /* Gone again: all of it, even if the next upload finds it there. */
    assert_true(cfr_oidc_issuer_set_not_uploaded(&i));
    assert_false(cfr_oidc_issuer_set_not_uploaded(&i));
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), -1);
    assert_int_equal(cfr_oidc_issuer_set_uploaded(&i, false, uploaded_s, &err), 0);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), uploaded_s + 2 * HOUR);
    next(&i, uploaded_s + 2 * HOUR, CFR_OIDC_ISSUER_SWITCHING, CFR_OIDC_ISSUER_SWITCHED);
    assert_true(cfr_oidc_issuer_is_uploaded(&i)); /* the switch changes no document */
    assert_false(cfr_oidc_issuer_set_not_uploaded(&i));
    cfr_oidc_issuer_free(&i);
}

static void a_cluster_that_keeps_its_keys(void **state)
{
    struct cfr_view private_pem = data_file_read("jwt/rsa.pem");
    struct cfr_str public_pem = {.limit = CFR_KEY_PEM_MAX};
    struct cfr_oidc_issuer i = {.url = strdup("https://a"),
                                .web_root = strdup("/w"),
                                .token_life_s = HOUR,
                                .settle_s = HOUR,
                                .lag_s = -1,
                                .cluster_key = true};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_key_public(private_pem, &public_pem, &err), 0);
    assert_int_equal(cfr_oidc_issuer_begin_with(&i, private_pem, BEGIN, &err), CFR_E_CONFIG);
    assert_null(i.signing.public_pem);
    assert_int_equal(cfr_oidc_issuer_begin_with(&i, cfr_str_view(&public_pem), BEGIN, &err), 0);
    assert_int_equal(i.signing.private_pem.len, 0);
    assert_int_equal(i.key, CFR_KEY_RSA_2048);
    cfr_oidc_issuer_done(&i, BEGIN);
    assert_int_equal(cfr_oidc_issuer_next(&i, BEGIN, &err), CFR_E_CONFLICT);
    assert_int_equal(cfr_oidc_issuer_next_with(&i, cfr_str_view(&public_pem), &err), CFR_E_CONFLICT);
    assert_int_equal(cfr_oidc_issuer_next_with(&i, cfr_view_of(vector_pem), &err), 0);
    cfr_oidc_issuer_done(&i, BEGIN);
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_PUBLISHED);
    assert_int_equal(cfr_oidc_issuer_next(&i, BEGIN + 2 * HOUR, &err), CFR_E_CONFLICT);
    assert_contains(err.text, "--confirm");
    assert_int_equal(cfr_oidc_issuer_confirm(&i, BEGIN + 2 * HOUR, &err), 0);
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_SWITCHED);
    assert_string_equal(i.signing.kid, "xhtGfmDNBxQJzZLmxoRGnxemUkjVd7hdxVLwn1kXNoQ");
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), BEGIN + 3 * HOUR + CFR_OIDC_ISSUER_LEEWAY_S);
    next(&i, BEGIN + 4 * HOUR, CFR_OIDC_ISSUER_RETIRING, CFR_OIDC_ISSUER_STEADY);
    cfr_str_free(&public_pem);
    data_file_free(private_pem);
    cfr_oidc_issuer_free(&i);
}

static void signers_that_follow_the_file(void **state)
{
    struct cfr_oidc_issuer i;
    struct cfr_err err = {0};
    int64_t now_s = BEGIN + 2 * HOUR;

    (void)state;
    make(&i, 60);
    next(&i, BEGIN, CFR_OIDC_ISSUER_PUBLISHING, CFR_OIDC_ISSUER_PUBLISHED);
    next(&i, now_s, CFR_OIDC_ISSUER_SWITCHING, CFR_OIDC_ISSUER_SWITCHED);
    assert_int_equal(cfr_oidc_issuer_ready_s(&i), now_s + 60 + 24 * HOUR + CFR_OIDC_ISSUER_LEEWAY_S);
    assert_int_equal(cfr_oidc_issuer_next(&i, now_s + 24 * HOUR, &err), CFR_E_CONFLICT);
    /* A clock that was set back only makes it later. */
    assert_int_equal(cfr_oidc_issuer_next(&i, 0, &err), CFR_E_CONFLICT);
    cfr_oidc_issuer_free(&i);
}

/* A clock that is behind could shorten a wait; one that was ahead makes it endless until it is begun again. */
static void clocks_that_are_wrong(void **state)
{
    struct cfr_oidc_issuer issuer = {
        .phase = CFR_OIDC_ISSUER_SWITCHED, .since_s = BEGIN, .token_life_s = HOUR, .lag_s = -1};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_oidc_issuer_check_clock(&issuer, BEGIN - CFR_OIDC_ISSUER_LEEWAY_S, &err), 0);
    assert_int_equal(cfr_oidc_issuer_check_clock(&issuer, BEGIN - CFR_OIDC_ISSUER_LEEWAY_S - 1, &err), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, "set the clock right"));
    assert_false(cfr_oidc_issuer_recount(&issuer, BEGIN));
    assert_int_equal(cfr_oidc_issuer_confirm(&issuer, BEGIN + 999 * HOUR, &err), 0);
    assert_int_equal(cfr_oidc_issuer_check_clock(&issuer, BEGIN + HOUR, &err), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, "--recount"));
    assert_true(cfr_oidc_issuer_recount(&issuer, BEGIN + HOUR));
    assert_int_equal(cfr_oidc_issuer_check_clock(&issuer, BEGIN + HOUR, &err), 0);
    assert_int_equal(issuer.since_s, BEGIN);
    assert_int_equal(cfr_oidc_issuer_ready_s(&issuer), BEGIN + 2 * HOUR + CFR_OIDC_ISSUER_LEEWAY_S);
    issuer.uploaded_s = BEGIN + 9 * HOUR;
    assert_int_equal(cfr_oidc_issuer_check_clock(&issuer, BEGIN + HOUR, &err), CFR_E_CONFLICT);
    assert_true(cfr_oidc_issuer_recount(&issuer, BEGIN + HOUR));
    assert_int_equal(issuer.uploaded_s, BEGIN + HOUR);
    issuer.phase =
        CFR_OIDC_ISSUER_PUBLISHING; /* done by a clock that is a little behind: no wait is shorter for that */
    cfr_oidc_issuer_done(&issuer, BEGIN - 60);
    assert_int_equal(issuer.since_s, BEGIN);
}

static void the_discovery_document(void **state)
{
    struct cfr_oidc_issuer i;
    struct cfr_str out = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};
    struct cfr_err err = {0};

    (void)state;
    make(&i, 0);
    assert_int_equal(cfr_oidc_issuer_discovery(&i, &out, &err), 0);
    assert_string_equal(out.p,
                        "{\"issuer\":\"https://oidc.test/c\",\"jwks_uri\":\"https://oidc.test/c/openid/v1/jwks\","
                        "\"response_types_supported\":[\"id_token\"],\"subject_types_supported\":[\"public\"],"
                        "\"id_token_signing_alg_values_supported\":[\"ES256\"]}\n");
    /* Another kind of key: both algorithms while both are in use. */
    i.key = CFR_KEY_ECDSA_P384;
    next(&i, BEGIN, CFR_OIDC_ISSUER_PUBLISHING, CFR_OIDC_ISSUER_PUBLISHED);
    cfr_str_free(&out);
    assert_int_equal(cfr_oidc_issuer_discovery(&i, &out, &err), 0);
    assert_contains(out.p, "\"ES256\"");
    assert_contains(out.p, "\"ES384\"");
    cfr_str_free(&out);
    assert_int_equal(cfr_oidc_issuer_public_keys(&i, &out, &err), 0);
    assert_contains(out.p, i.signing.public_pem);
    assert_contains(out.p, i.other.public_pem);
    assert_null(strstr(out.p, "PRIVATE"));
    cfr_str_free(&out);
    cfr_oidc_issuer_free(&i);
}

static void store(const struct cfr_oidc_issuer *i, struct cfr_secret *out)
{
    struct cfr_err err = {0};

    cfr_secret_init(out, CFR_OIDC_ISSUER_STORE_MAX);
    if (cfr_oidc_issuer_store(i, out, &err) != 0)
        fail_msg("%s", err.text);
}

/* Whatever is written down comes back, in every phase, and goes on from there. */
static void the_journal(void **state)
{
    static const int64_t at_s[] = {BEGIN, BEGIN + 2 * HOUR, BEGIN + 100 * HOUR};
    struct cfr_oidc_issuer i;
    struct cfr_err err = {0};

    (void)state;
    make(&i, 0);
    for (size_t k = 0; k < 2 * COUNT(at_s) + 1; k++) {
        struct cfr_secret before;
        struct cfr_secret after;

        store(&i, &before);
        cfr_oidc_issuer_free(&i);
        if (cfr_oidc_issuer_load(cfr_secret_view(&before), &i, &err) != 0)
            fail_msg("phase %zu: %s", k, err.text);
        store(&i, &after);
        assert_true(cfr_view_eq(cfr_secret_view(&before), cfr_secret_view(&after)));
        cfr_secret_free(&before);
        cfr_secret_free(&after);
        if (cfr_oidc_issuer_is_intent(&i))
            cfr_oidc_issuer_done(&i, at_s[k / 2]);
        else if (k / 2 < COUNT(at_s))
            assert_int_equal(cfr_oidc_issuer_next(&i, at_s[k / 2], &err), 0);
    }
    assert_int_equal(i.phase, CFR_OIDC_ISSUER_STEADY);
    assert_int_equal(i.rotations, 1);
    cfr_oidc_issuer_free(&i);
}

static void a_journal_that_is_none(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"\"version\":1", "\"version\":9"},
        {"\"phase\":\"steady\"", "\"phase\":\"stEady\""},
        {"https:", "httpz:"},
        {"\"private\"", "\"privatE\""},
        {"\"signing\"", "\"siGning\""},
        {"\"lag\":0", "\"lag\":x"},
        {"\"token_life\"", "\"token_liFe\""},
        {"ecdsa-p256", "ecdsa-p257"},
        {"steady", "switch"},
    };
    struct cfr_oidc_issuer i;
    struct cfr_oidc_issuer out;
    struct cfr_secret text;
    struct cfr_err err = {0};

    (void)state;
    make(&i, 0);
    for (size_t k = 0; k < COUNT(cases); k++) {
        char *at;

        store(&i, &text);
        at = strstr(text.p, cases[k].from);
        assert_non_null(at);
        memcpy(at, cases[k].to, strlen(cases[k].to));
        if (cfr_oidc_issuer_load(cfr_secret_view(&text), &out, &err) == 0)
            fail_msg("case %zu", k);
        assert_null(out.url);
        cfr_secret_free(&text);
    }
    cfr_oidc_issuer_free(&i);
}

/* Puts MORE after the first END in the member NAME of the first key; TEXT has JSON's `\n` for a line feed. */
static void add_junk(struct cfr_secret *text, const char *name, const char *more, struct cfr_str *out)
{
    const char *at = strstr(text->p, name);
    const char *end = at != NULL ? strstr(at, "-----END") : NULL;

    assert_non_null(end);
    end = strchr(end, '"');
    cfr_str_add(out, (struct cfr_view){text->p, (size_t)(end - text->p)});
    cfr_str_addz(out, more);
    cfr_str_addz(out, end);
    assert_false(out->failed);
}

/* A second public key in the store would be published with the first, and API servers would take tokens of it. */
static void nothing_around_a_key_remains(void **state)
{
    static const char *const names[] = {"\"public\"", "\"private\""};
    static const char *const junk[] = {
        "# remark",
        "-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\\n-----END PUBLIC KEY-----\\n",
        "-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n",
    };
    struct cfr_oidc_issuer i;
    struct cfr_secret text;

    (void)state;
    make(&i, 0);
    store(&i, &text);
    for (size_t k = 0; k < COUNT(names) * COUNT(junk); k++) {
        struct cfr_str changed = {.limit = 65536};
        struct cfr_oidc_issuer again;
        struct cfr_secret second;
        struct cfr_err err = {0};

        add_junk(&text, names[k % COUNT(names)], junk[k / COUNT(names)], &changed);
        if (cfr_oidc_issuer_load((struct cfr_view){changed.p, changed.len}, &again, &err) != 0)
            fail_msg("case %zu: %s", k, err.text);
        store(&again, &second);
        assert_true(cfr_view_eq(cfr_secret_view(&text), cfr_secret_view(&second)));
        cfr_secret_free(&second);
        cfr_oidc_issuer_free(&again);
        cfr_str_free(&changed);
    }
    cfr_secret_free(&text);
    cfr_oidc_issuer_free(&i);
}

/* Each half in the other's place: the private one is not published, and the public one does not sign. */
static void halves_of_a_key_in_the_wrong_place(void **state)
{
    struct cfr_oidc_issuer i;
    struct cfr_oidc_issuer out;
    struct cfr_secret text;
    struct cfr_err err = {0};
    char *right;

    (void)state;
    make(&i, 0);
    right = i.signing.public_pem;
    i.signing.public_pem = strndup(i.signing.private_pem.p, i.signing.private_pem.len);
    store(&i, &text);
    assert_int_equal(cfr_oidc_issuer_load(cfr_secret_view(&text), &out, &err), 0);
    assert_string_equal(out.signing.public_pem, right);
    cfr_oidc_issuer_free(&out);
    cfr_secret_free(&text);
    cfr_secret_clear(&i.signing.private_pem);
    assert_int_equal(cfr_secret_append_str(&i.signing.private_pem, right, &err), 0);
    store(&i, &text);
    assert_int_equal(cfr_oidc_issuer_load(cfr_secret_view(&text), &out, &err), CFR_E_CONFIG);
    assert_contains(err.text, "holds no private key");
    cfr_secret_free(&text);
    free(right);
    cfr_oidc_issuer_free(&i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kid_of_kubernetes),
        cmocka_unit_test(other_keys_are_named),
        cmocka_unit_test(kinds_of_keys),
        cmocka_unit_test(urls),
        cmocka_unit_test(the_whole_rotation),
        cmocka_unit_test(documents_that_were_lost),
        cmocka_unit_test(keys_that_are_unknown),
        cmocka_unit_test(documents_in_a_store),
        cmocka_unit_test(a_cluster_that_keeps_its_keys),
        cmocka_unit_test(signers_that_follow_the_file),
        cmocka_unit_test(clocks_that_are_wrong),
        cmocka_unit_test(the_discovery_document),
        cmocka_unit_test(the_journal),
        cmocka_unit_test(a_journal_that_is_none),
        cmocka_unit_test(nothing_around_a_key_remains),
        cmocka_unit_test(halves_of_a_key_in_the_wrong_place),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
