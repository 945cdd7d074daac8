/* SPDX-License-Identifier: MIT */
/* Any bytes as a key set: a token is verified by a key of its own kind, or refused with a reason. */
#include "fuzz.h"

#include "base/json.h"
#include "pki/jwks.h"

#include <string.h>

static const char rs256[] =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL29pZGMuZXhhbXBsZS5uZXQvaWQvMSIsInN1YiI6InN5c3RlbTpzZ"
    "XJ2aWNlYWNjb3VudDphOmIiLCJhdWQiOlsic3RzLmFtYXpvbmF3cy5jb20iXSwiaWF0IjoxNzY3MzIzMDQ1LCJleHAiOjE3NjczMjY2NDV9.c8"
    "PBdYB4jsSFWOjKR7_NYDJSuQr8bl-V6C3Xx7ZH9eJ-hSJ9X_EFPPdseA-hzNw9S05yIrvk6a1NNgle_zRA113zQ0H2eNE56VloX4xBR2XWM4TK"
    "XLmcqMmZCU6nlS7tJtfvwJmn8Bxh2ReDUxXbAAKJIJKYsJ-P0sI0obtqRWsleHDx5oSUIzrrBPx03cc3Ppkd4YhGL1HhBH5MoGQef90RWOelk4"
    "-m9jf_-vv0wtu5B7eFfaBC5XqrMIfEMo07JGycaOcV8aiyNyzlLtx_nqDcwUy4ncIRXJqfUWPvUSALD68XdaTlPs4ygShRSBspg6xCNVGOrkwp"
    "1nWYs4LsYg";
static const char es256[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJpc3MiOiJodHRwczovL29pZGMuZXhhbXBsZS5uZXQvaWQvMSIsInN1YiI6InN5c3RlbTpzZX"
    "J2aWNlYWNjb3VudDphOmIiLCJhdWQiOlsic3RzLmFtYXpvbmF3cy5jb20iXSwiaWF0IjoxNzY3MzIzMDQ1LCJleHAiOjE3NjczMjY2NDV9.Xa5"
    "d0ic-r2vKpijy8p9TRUKFPwD12xbvjIXP9_-GSUEP6Jyg8Le9R7M2SAZ2mRFZgoDRGRnCR5hVwznaPgctsQ";

static void verify(struct cfr_view set, const char *text, const char *alg, const char *kid, const char *kty)
{
    const struct cfr_jwks_token token = {{text, strlen(text)}, {alg, strlen(alg)}, {kid, strlen(kid)}};
    struct cfr_err err = {0};
    size_t keys;
    int rc = cfr_jwks_verify(set, &token, &keys, &err);

    if (rc == 0)
        CFR_FUZZ_MUST(keys != 0 && cfr_view_find(set, kty) >= 0);
    else
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && strstr(err.text, text) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view set = {(const char *)data, size};

    cfr_json_setup();
    verify(set, rs256, "RS256", "rsa", "RSA");
    verify(set, es256, "ES256", "ec", "EC");
    verify(set, rs256, "RS256", "", "RSA");
    return 0;
}
