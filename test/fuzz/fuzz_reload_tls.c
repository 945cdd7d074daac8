/* SPDX-License-Identifier: MIT */
/* A mounted certificate, key and CA bundle, each ended by a NUL: used together or refused with a reason that
 * holds nothing of them. */
#include "fuzz.h"

#include "libcredfresh/tls_set.h"

#include <string.h>

static struct cfl_tls_file next(const char *name, const uint8_t **at, size_t *left)
{
    const uint8_t *end = *left != 0 ? memchr(*at, '\0', *left) : NULL;
    struct cfl_tls_file file = {name, *left != 0 ? *at : NULL, end != NULL ? (size_t)(end - *at) : *left};

    *at += end != NULL ? file.n + 1 : *left;
    *left -= end != NULL ? file.n + 1 : *left;
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static SSL_CTX *trial;
    struct cfl_tls_input in = {.now_s = 1767323045};
    struct cfl_tls_set *set = NULL;
    char why[256] = "";
    int rc;

    if (trial == NULL)
        trial = SSL_CTX_new(TLS_method());
    CFR_FUZZ_MUST(trial != NULL);
    in.trial = trial;
    in.cert = next("tls.crt", &data, &size);
    in.key = next("tls.key", &data, &size);
    in.ca = next("ca.crt", &data, &size);
    rc = cfl_tls_set_make(&set, &in, why, sizeof why);
    if (rc == 0)
        CFR_FUZZ_MUST(set->cert != NULL && set->key != NULL && set->roots != NULL);
    else
        CFR_FUZZ_MUST(why[0] != '\0' && strstr(why, "PRIVATE") == NULL);
    CFR_FUZZ_MUST(ERR_peek_error() == 0);
    cfl_tls_set_unref(set);
    return 0;
}
