/* SPDX-License-Identifier: MIT */
/* Any bytes as the service CA's store: what is taken belongs together, is written back the same, and makes
 * bundles of nothing but certificates. */
#include "fuzz.h"
#include "utf8.h"

#include "base/json.h"
#include "pki/bundle_private.h"
#include "pki/cert_private.h"

#include <string.h>

static void check_cert(const struct cfr_cert *c)
{
    struct cfr_cert again;

    if (c->pem == NULL)
        return;
    CFR_FUZZ_MUST(strncmp(c->pem, "-----BEGIN CERTIFICATE-----\n", 28) == 0);
    CFR_FUZZ_MUST(cfr_cert_read(cfr_view_of(c->pem), &again, NULL) == 0);
    CFR_FUZZ_MUST(cfr_cert_same_key(c, &again) && cfr_cert_is_by(c, &again) == cfr_cert_is_by(c, c) &&
                  strcmp(c->pem, again.pem) == 0);
    cfr_cert_free(&again);
}

static void check_all(const struct cfr_ca *a)
{
    const struct cfr_cert *newest = &a->generations[0].root;

    CFR_FUZZ_MUST(a->number >= 1 && a->count >= 1 && a->count <= CFR_CA_GENERATIONS_MAX);
    CFR_FUZZ_MUST(a->reason_count <= CFR_CA_REASONS_MAX);
    CFR_FUZZ_MUST(cfr_cert_check_key(newest, cfr_secret_view(&a->key), NULL) == 0);
    for (size_t i = 0; i < a->count; i++) {
        CFR_FUZZ_MUST(cfr_cert_verify(&a->generations[i].root, &a->generations[i].root, NULL) == 0);
        CFR_FUZZ_MUST(i == 0 || cfr_cert_verify(&a->generations[i].outgoing, newest, NULL) == 0);
        CFR_FUZZ_MUST(a->generations[i].root.pem != NULL && (i == 0) == (a->generations[i].outgoing.pem == NULL));
        check_cert(&a->generations[i].root);
        check_cert(&a->generations[i].outgoing);
        check_cert(&a->generations[i].incoming);
    }
}

static void use(const struct cfr_ca *a)
{
    static const struct cfr_ca_rules rules = {
        .subject = "x", .validity_s = 31536000, .rotate_below_s = 2592000, .generations = 3};
    struct cfr_str out = {.limit = 1 << 20};
    int64_t now_s = a->generations[0].root.begins_s;

    CFR_FUZZ_MUST(cfr_bundle_trust(a, CFR_CA_GENERATIONS_MAX, now_s, &out, NULL) == 0);
    CFR_FUZZ_MUST(cfr_view_starts(cfr_str_view(&out), a->generations[0].root.pem));
    CFR_FUZZ_MUST(cfr_bundle_chain(a, CFR_CA_GENERATIONS_MAX, now_s, &out, NULL) == 0);
    CFR_FUZZ_MUST(cfr_bundle_fingerprint(a, 3, now_s) != 0);
    CFR_FUZZ_MUST(cfr_ca_next_s(a, &rules, now_s) > now_s);
    (void)cfr_ca_need(a, &rules, now_s);
    cfr_str_free(&out);
}

static void round_trip(const struct cfr_ca *a)
{
    struct cfr_ca again;
    struct cfr_secret once;
    struct cfr_secret twice;

    cfr_secret_init(&once, 1 << 20);
    cfr_secret_init(&twice, 1 << 20);
    CFR_FUZZ_MUST(cfr_ca_store(a, &once, NULL) == 0);
    CFR_FUZZ_MUST(cfr_ca_load(cfr_secret_view(&once), &again, NULL) == 0);
    CFR_FUZZ_MUST(cfr_ca_store(&again, &twice, NULL) == 0);
    CFR_FUZZ_MUST(cfr_view_eq(cfr_secret_view(&once), cfr_secret_view(&twice)));
    cfr_ca_free(&again);
    cfr_secret_free(&once);
    cfr_secret_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    struct cfr_ca a;
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_ca_load(text, &a, &err);
    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && a.count == 0 && a.key.p == NULL &&
                      strstr(err.text, "MIGHAgEAMBMGByqGSM49") == NULL);
        return 0;
    }
    check_all(&a);
    use(&a);
    if (is_utf8(text))
        round_trip(&a);
    cfr_ca_free(&a);
    return 0;
}
