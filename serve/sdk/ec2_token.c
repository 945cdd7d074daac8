/* SPDX-License-Identifier: MIT */
/* Session tokens of the instance metadata. */
#include "serve/sdk/ec2_token_private.h"

#include <inttypes.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST        32
#define EXPIRY_DIGITS 16
#define CLAIM_MAX     1024
/* The key serves other shapes, too: what is signed for one must mean nothing to another. */
#define PURPOSE "credfresh ec2 session 1\n"

static const char digits[] = "0123456789abcdef";

struct cfr_ec2_signer {
    EVP_MAC_CTX *mac;
    struct cfr_secret key; /* empty where the library starts over without the key */
};

static int sign(struct cfr_ec2_signer *s, struct cfr_view claim, unsigned char digest[DIGEST])
{
    size_t n = 0;

    if (s == NULL || EVP_MAC_init(s->mac, (const unsigned char *)s->key.p, s->key.len, NULL) != 1 ||
        EVP_MAC_update(s->mac, (const unsigned char *)claim.p, claim.n) != 1 ||
        EVP_MAC_final(s->mac, digest, &n, DIGEST) != 1 || n != DIGEST)
        return CFR_E_INTERNAL;
    return 0;
}

/* Drops the key if the library can restart without it, which also costs less per token. OpenSSL up to 3.0.2 reports
 * a restart that it does not do, so the result is compared; a provider may have another version than the library. */
static int drop_key(struct cfr_ec2_signer *s)
{
    const struct cfr_view probe = {PURPOSE, sizeof PURPOSE - 1};
    unsigned char first[DIGEST] = {0};
    unsigned char second[DIGEST] = {0};
    struct cfr_secret key = s->key;
    int rc = sign(s, probe, first);

    if (rc != 0)
        return rc;
    s->key = (struct cfr_secret){0};
    if (sign(s, probe, second) == 0 && memcmp(first, second, DIGEST) == 0)
        cfr_secret_free(&key);
    s->key = key;
    return 0;
}

/* Fetches the algorithm, which is what costs most, once and for all. */
static int prepare(struct cfr_ec2_signer *s)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);

    s->mac = hmac != NULL ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac);
    if (s->mac == NULL || EVP_MAC_init(s->mac, (const unsigned char *)s->key.p, s->key.len, params) != 1)
        return CFR_E_INTERNAL;
    return drop_key(s);
}

int cfr_sdk_ec2_signer_open(struct cfr_view key, struct cfr_ec2_signer **out, struct cfr_err *err)
{
    struct cfr_ec2_signer *s;
    int rc;

    *out = NULL;
    if (key.n != CFR_SDK_EC2_KEY_BYTES)
        return cfr_err_set(err, CFR_E_INTERNAL, "the key of session tokens must have %d bytes", CFR_SDK_EC2_KEY_BYTES);
    s = malloc(sizeof *s);
    if (s == NULL)
        return cfr_err_nomem(err);
    *s = (struct cfr_ec2_signer){.key = {.limit = CFR_SDK_EC2_KEY_BYTES}};
    rc = cfr_secret_append(&s->key, key, err);
    if (rc == 0 && prepare(s) != 0)
        rc = cfr_err_set(
            err, CFR_E_INTERNAL,
            "no session tokens can be signed: OpenSSL is out of memory, or its configuration (openssl.cnf) loads no "
            "provider of HMAC-SHA-256");
    if (rc != 0) {
        cfr_sdk_ec2_signer_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void cfr_sdk_ec2_signer_close(struct cfr_ec2_signer *s)
{
    if (s == NULL)
        return;
    /* It wipes its copies of the key itself. */
    EVP_MAC_CTX_free(s->mac);
    cfr_secret_free(&s->key);
    free(s);
}

/* On the stack: a client shows its token with every request. */
static int make(struct cfr_ec2_signer *signer, const char *credential, int64_t expires_s,
                char token[CFR_SDK_EC2_TOKEN_LENGTH + 1])
{
    unsigned char digest[DIGEST] = {0};
    char claim[CLAIM_MAX];
    char *hex = token + EXPIRY_DIGITS;
    int n = snprintf(claim, sizeof claim, PURPOSE "%016" PRIx64 "%s", (uint64_t)expires_s, credential);
    int rc =
        n > 0 && (size_t)n < sizeof claim ? sign(signer, (struct cfr_view){claim, (size_t)n}, digest) : CFR_E_INTERNAL;

    (void)snprintf(token, EXPIRY_DIGITS + 1, "%016" PRIx64, (uint64_t)expires_s);
    for (size_t i = 0; i < DIGEST; i++) {
        *hex++ = digits[digest[i] >> 4U];
        *hex++ = digits[digest[i] & 15U];
    }
    *hex = '\0';
    cfr_secret_wipe(digest, sizeof digest);
    return rc;
}

int cfr_sdk_ec2_token_make(struct cfr_ec2_signer *signer, const char *credential, int64_t expires_s,
                           struct cfr_secret *to)
{
    char token[CFR_SDK_EC2_TOKEN_LENGTH + 1];
    int rc = make(signer, credential, expires_s, token);

    rc = rc != 0 ? rc : cfr_secret_append_str(to, token, NULL);
    cfr_secret_wipe(token, sizeof token);
    return rc;
}

/* The expiry that TOKEN claims; 0, which has ended, if it is none. */
static int64_t claimed_expiry(struct cfr_view token)
{
    int64_t expiry = 0;

    /* The first digit is 0 until long after the sun is gone, so that this cannot overflow. */
    if (token.n != CFR_SDK_EC2_TOKEN_LENGTH || token.p[0] != '0')
        return 0;
    for (size_t i = 0; i < EXPIRY_DIGITS; i++) {
        const char *digit = token.p[i] != '\0' ? strchr(digits, token.p[i]) : NULL;

        if (digit == NULL)
            return 0;
        expiry = expiry * 16 + (digit - digits);
    }
    return expiry;
}

bool cfr_sdk_ec2_token_good(struct cfr_ec2_signer *signer, const char *credential, struct cfr_view token, int64_t now_s)
{
    char made[CFR_SDK_EC2_TOKEN_LENGTH + 1];
    int64_t expiry = claimed_expiry(token);
    bool good;

    /* One that ends later than it could be made for is from before the clock was set back. */
    if (expiry <= now_s || expiry - now_s > CFR_SDK_EC2_TOKEN_TTL_MAX_S)
        return false;
    good = make(signer, credential, expiry, made) == 0 &&
           cfr_secret_equal((struct cfr_view){made, CFR_SDK_EC2_TOKEN_LENGTH}, token);
    cfr_secret_wipe(made, sizeof made);
    return good;
}
