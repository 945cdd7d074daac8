/* SPDX-License-Identifier: MIT */
/* Any bytes as a consumer's certificate request: what is taken is one public key, for which a certificate can be made.
 */
#include "fuzz.h"

#include "pki/csr.h"

#include <string.h>

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
    return 0;
}
