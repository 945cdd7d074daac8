/* SPDX-License-Identifier: MIT */
/* Session tokens of the instance metadata. */
#include "serve/ec2_token.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#define KEY_MIN       32
#define DIGEST        32
#define EXPIRY_DIGITS 16
#define CLAIM_MAX     1024
/* The key serves other shapes, too: what is signed for one must mean nothing to another. */
#define PURPOSE "credfresh ec2 session 1\n"

static const char digits[] = "0123456789abcdef";

static int sign(struct cfr_view key, struct cfr_view claim, unsigned char digest[DIGEST])
{
    unsigned n = 0;

    if (key.n < KEY_MIN ||
        HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)claim.p, claim.n, digest, &n) == NULL ||
        n != DIGEST)
        return CFR_E_INTERNAL;
    return 0;
}

/* On the stack: a client shows its token with every request. */
static int make(struct cfr_view key, const char *credential, int64_t expires_s,
                char token[CFR_EC2_TOKEN_LENGTH + 1])
{
    unsigned char digest[DIGEST] = {0};
    char claim[CLAIM_MAX];
    char *hex = token + EXPIRY_DIGITS;
    int n = snprintf(claim, sizeof claim, PURPOSE "%016" PRIx64 "%s", (uint64_t)expires_s, credential);
    int rc = n > 0 && (size_t)n < sizeof claim ? sign(key, (struct cfr_view){claim, (size_t)n}, digest)
                                               : CFR_E_INTERNAL;

    (void)snprintf(token, EXPIRY_DIGITS + 1, "%016" PRIx64, (uint64_t)expires_s);
    for (size_t i = 0; i < DIGEST; i++) {
        *hex++ = digits[digest[i] >> 4U];
        *hex++ = digits[digest[i] & 15U];
    }
    *hex = '\0';
    cfr_secret_wipe(digest, sizeof digest);
    return rc;
}

int cfr_ec2_token_make(struct cfr_view key, const char *credential, int64_t expires_s, struct cfr_secret *to)
{
    char token[CFR_EC2_TOKEN_LENGTH + 1];
    int rc = make(key, credential, expires_s, token);

    rc = rc != 0 ? rc : cfr_secret_append_str(to, token, NULL);
    cfr_secret_wipe(token, sizeof token);
    return rc;
}

/* The expiry that TOKEN claims; 0, which has ended, if it is none. */
static int64_t claimed_expiry(struct cfr_view token)
{
    int64_t expiry = 0;

    /* The first digit is 0 until long after the sun is gone, so that this cannot overflow. */
    if (token.n != CFR_EC2_TOKEN_LENGTH || token.p[0] != '0')
        return 0;
    for (size_t i = 0; i < EXPIRY_DIGITS; i++) {
        const char *digit = token.p[i] != '\0' ? strchr(digits, token.p[i]) : NULL;

        if (digit == NULL)
            return 0;
        expiry = expiry * 16 + (digit - digits);
    }
    return expiry;
}

bool cfr_ec2_token_good(struct cfr_view key, const char *credential, struct cfr_view token, int64_t now_s)
{
    char made[CFR_EC2_TOKEN_LENGTH + 1];
    int64_t expiry = claimed_expiry(token);
    bool good;

    /* One that ends later than it could be made for is from before the clock was set back. */
    if (expiry <= now_s || expiry - now_s > CFR_EC2_TOKEN_TTL_MAX_S)
        return false;
    good = make(key, credential, expiry, made) == 0 &&
           cfr_secret_equal((struct cfr_view){made, CFR_EC2_TOKEN_LENGTH}, token);
    cfr_secret_wipe(made, sizeof made);
    return good;
}
