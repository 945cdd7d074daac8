/* SPDX-License-Identifier: MIT */
/* Any bytes as a certificate request of a consumer, or of a pod in its two forms: what is taken is one public key, for
 * which a certificate can be made. */
#include "fuzz.h"

#include "pki/csr.h"

#include <string.h>

static void check_pod_key(int rc, const struct cfr_err *err, struct cfr_str *key)
{
    if (rc != 0)
        CFR_FUZZ_MUST(err->code == rc && err->text[0] != '\0' && key->len == 0);
    else
        CFR_FUZZ_MUST(strncmp(key->p, "-----BEGIN PUBLIC KEY-----\n", 27) == 0);
    cfr_str_free(key);
}

static void read_pod_keys(struct cfr_view der)
{
    static const struct cfr_view proof = {"proof", 5};
    struct cfr_str key = {.limit = 65536};
    struct cfr_err err = {0};

    check_pod_key(cfr_cert_request_pod_key(der, &key, &err), &err, &key);
    check_pod_key(cfr_cert_request_pod_key_proved(der, proof, cfr_view_of("uid"), &key, &err), &err, &key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_str key = {.limit = 65536};
    struct cfr_err err = {0};
    int rc = cfr_cert_request_key((struct cfr_view){(const char *)data, size}, &key, &err);

    if (rc != 0)
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && key.len == 0);
    else
        CFR_FUZZ_MUST(strncmp(key.p, "-----BEGIN PUBLIC KEY-----\n", 27) == 0 && size <= CFR_CSR_PEM_MAX);
    cfr_str_free(&key);
    read_pod_keys((struct cfr_view){(const char *)data, size});
    return 0;
}
