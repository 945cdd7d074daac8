/* SPDX-License-Identifier: MIT */
/* Any bytes as the files of a CA that is taken over, certificate and key with a NUL between them: what is taken can be
 * stored, read back and rotated. */
#include "fuzz.h"

#include "base/json.h"
#include "pki/ca_import.h"

#include <string.h>

#define NOW_S INT64_C(1800000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cfr_ca_rules rules = {
        .subject = "x", .validity_s = 31536000, .rotate_below_s = 2592000, .generations = 3};
    const char *end = size != 0 ? memchr(data, '\0', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - (const char *)data) : size;
    struct cfr_view certificate = {(const char *)data, n};
    struct cfr_view key = {(const char *)data + n, size - n};
    struct cfr_err err = {0};
    struct cfr_ca again;
    struct cfr_ca a;
    int rc;

    cfr_json_setup();
    rc = cfr_ca_import(&a, certificate, key, 3, NOW_S, &err);
    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && a.count == 0 && a.key.p == NULL);
        return 0;
    }
    CFR_FUZZ_MUST(a.count == 1 && cfr_cert_verify(&a.generations[0].root, &a.generations[0].root, NULL) == 0);
    CFR_FUZZ_MUST(cfr_ca_copy(&a, &again, NULL) == 0);
    CFR_FUZZ_MUST(cfr_ca_rotate(&again, &rules, NOW_S, NULL) == 0 && again.count == 2);
    CFR_FUZZ_MUST(cfr_cert_verify(&again.generations[0].incoming, &a.generations[0].root, NULL) == 0);
    cfr_ca_free(&again);
    cfr_ca_free(&a);
    return 0;
}
