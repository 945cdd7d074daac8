/* SPDX-License-Identifier: MIT */
/* Any bytes as the PEM file of a key and certificates: what is taken signs, and is told in JSON. */
#include "fuzz.h"

#include "base/json.h"
#include "wire/jwt.h"

#include <string.h>

static void sign(struct cfr_view pem)
{
    static const struct cfr_view claims = {"{\"iss\":\"a\"}", 11};
    static const char *const headers[] = {"{\"alg\":\"RS256\"}", "{\"alg\":\"PS256\"}", "{\"alg\":\"ES256\"}"};
    enum cfr_jwt_alg alg;
    struct cfr_secret out;
    struct cfr_err err = {0};

    if (cfr_jwt_alg_of(pem, &alg, &err) != 0) {
        CFR_FUZZ_MUST(err.code == CFR_E_CONFIG && err.text[0] != '\0');
        return;
    }
    cfr_secret_init(&out, CFR_JWT_MAX);
    if (cfr_jwt_sign(alg, cfr_view_of(headers[alg]), claims, pem, &out, &err) == 0)
        CFR_FUZZ_MUST(cfr_view_starts(cfr_secret_view(&out), "eyJhbGciOi") &&
                      cfr_view_printable(cfr_secret_view(&out)));
    else
        CFR_FUZZ_MUST(err.text[0] != '\0');
    cfr_secret_free(&out);
}

static void certificates(struct cfr_view pem)
{
    char thumbprint[CFR_JWT_THUMBPRINT_MAX];
    char older[CFR_JWT_THUMBPRINT_MAX];
    struct cfr_secret chain;
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};
    int rc = cfr_jwt_thumbprint(pem, thumbprint, &err);

    CFR_FUZZ_MUST(rc == 0 ? strlen(thumbprint) == 43 : err.code == CFR_E_CONFIG && err.text[0] != '\0');
    CFR_FUZZ_MUST((cfr_jwt_thumbprint_sha1(pem, older, NULL) == 0) == (rc == 0));
    cfr_secret_init(&chain, 1 << 20);
    if (cfr_jwt_chain(pem, &chain, NULL) == 0) {
        CFR_FUZZ_MUST(rc == 0 && cfr_json_parse(cfr_secret_view(&chain), &doc, NULL) == 0 && cfr_json_count(doc) != 0);
        cfr_json_free(doc);
    }
    cfr_secret_free(&chain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view pem = {(const char *)data, size};

    cfr_json_setup();
    sign(pem);
    certificates(pem);
    return 0;
}
