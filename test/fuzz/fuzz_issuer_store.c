/* SPDX-License-Identifier: MIT */
/* Any bytes as an issuer's journal: what is taken is written back the same, and its documents are JSON that
 * hold no private key. */
#include "fuzz.h"
#include "utf8.h"

#include "base/json.h"
#include "oidc/issuer/issuer.h"

#include <string.h>

static void check_json(int rc, struct cfr_str *out, const char *key)
{
    struct cfr_json *doc = NULL;

    CFR_FUZZ_MUST(rc == 0 || rc == CFR_E_CONFIG);
    if (rc == 0) {
        CFR_FUZZ_MUST(cfr_json_parse(cfr_str_view(out), &doc, NULL) == 0 && cfr_json_get(doc, key) != NULL);
        CFR_FUZZ_MUST(cfr_view_find(cfr_str_view(out), "\"d\"") < 0);
    }
    cfr_json_free(doc);
    cfr_str_free(out);
}

static void check_documents(const struct cfr_oidc_issuer *i)
{
    struct cfr_str out = {.limit = 1 << 20};

    check_json(cfr_oidc_issuer_jwks(i, &out, NULL), &out, "keys");
    check_json(cfr_oidc_issuer_discovery(i, &out, NULL), &out, "jwks_uri");
    CFR_FUZZ_MUST(cfr_oidc_issuer_public_keys(i, &out, NULL) == 0);
    CFR_FUZZ_MUST(cfr_view_find(cfr_str_view(&out), "PRIVATE KEY") < 0);
    cfr_str_free(&out);
}

static void round_trip(const struct cfr_oidc_issuer *i)
{
    struct cfr_oidc_issuer again;
    struct cfr_secret once;
    struct cfr_secret twice;

    cfr_secret_init(&once, 1 << 20);
    cfr_secret_init(&twice, 1 << 20);
    CFR_FUZZ_MUST(cfr_oidc_issuer_store(i, &once, NULL) == 0);
    CFR_FUZZ_MUST(cfr_oidc_issuer_load(cfr_secret_view(&once), &again, NULL) == 0);
    CFR_FUZZ_MUST(cfr_oidc_issuer_store(&again, &twice, NULL) == 0);
    CFR_FUZZ_MUST(cfr_view_eq(cfr_secret_view(&once), cfr_secret_view(&twice)));
    cfr_oidc_issuer_free(&again);
    cfr_secret_free(&once);
    cfr_secret_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    struct cfr_oidc_issuer i;
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_oidc_issuer_load(text, &i, &err);
    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && i.url == NULL && i.signing.private_pem.p == NULL);
        return 0;
    }
    CFR_FUZZ_MUST(i.phase < CFR_OIDC_ISSUER_PHASE_COUNT && i.cluster_key == (i.signing.private_pem.len == 0) &&
                  strncmp(i.url, "https://", 8) == 0);
    CFR_FUZZ_MUST(cfr_oidc_issuer_ready_s(&i) >= -1);
    check_documents(&i);
    if (is_utf8(text))
        round_trip(&i);
    cfr_oidc_issuer_free(&i);
    return 0;
}
