/* SPDX-License-Identifier: MIT */
/* Keys that a child makes. */
#include "agent/pki/service_ca_key_private.h"

#include <string.h>

struct made {
    struct cfr_err err; /* code 0 = there is a key */
    size_t bytes;
    char pem[CFR_KEY_PEM_MAX];
};

/* In the child. */
static void make(void *ctx, void *result)
{
    const enum cfr_key_kind *kind = ctx;
    struct made *made = result;
    struct cfr_secret pem;

    cfr_secret_init(&pem, CFR_KEY_PEM_MAX);
    if (cfr_key_make(*kind, &pem, &made->err) == 0) {
        memcpy(made->pem, pem.p, pem.len);
        made->bytes = pem.len;
    }
    cfr_secret_free(&pem);
}

static void close_maker(struct cfr_errand **maker)
{
    cfr_errand_close(*maker);
    *maker = NULL;
}

int cfr_service_ca_key_take(struct cfr_service_ca_keys *keys, enum cfr_key_kind kind, struct cfr_secret *pem,
                            struct cfr_err *err)
{
    struct cfr_errand **maker = &keys->makers[kind];
    const struct made *made;
    int rc;

    if (!cfr_key_is_slow(kind))
        return cfr_key_make(kind, pem, err);
    if (*maker == NULL) {
        rc = cfr_errand_start(make, &kind, sizeof *made, maker, err);
        return rc != 0 ? rc : CFR_SERVICE_CA_LATER;
    }
    if (cfr_errand_look(*maker) == CFR_ERRAND_RUNNING)
        return CFR_SERVICE_CA_LATER;
    made = cfr_errand_result(*maker);
    if (cfr_errand_look(*maker) == CFR_ERRAND_FAILED)
        rc = cfr_err_set(err, CFR_E_NOMEM, "the process that makes the key was killed");
    else if (made->err.code != 0)
        rc = cfr_err_set(err, made->err.code, "%s", made->err.text);
    else
        rc = cfr_secret_append(pem, (struct cfr_view){made->pem, made->bytes}, err);
    close_maker(maker);
    return rc;
}

bool cfr_service_ca_keys_are_pending(const struct cfr_service_ca_keys *keys)
{
    for (size_t i = 0; i < CFR_KEY_KINDS; i++) {
        if (keys->makers[i] != NULL)
            return true;
    }
    return false;
}

void cfr_service_ca_keys_close(struct cfr_service_ca_keys *keys)
{
    for (size_t i = 0; i < CFR_KEY_KINDS; i++)
        close_maker(&keys->makers[i]);
}
