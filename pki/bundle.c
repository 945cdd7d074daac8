/* SPDX-License-Identifier: MIT */
/* The trust bundle of clients, and the chain of serving certificates. */
#include "pki/bundle_private.h"

#include "base/hash.h"

#include <string.h>

/* Calls FN for each certificate of the bundle, or of the chain, in order. */
static void each(const struct cfr_ca *a, size_t generations, int64_t now_s, bool chain,
                 void (*fn)(void *ctx, const struct cfr_cert *c), void *ctx)
{
    size_t count = a->count < generations ? a->count : generations;

    if (!chain && a->count != 0)
        fn(ctx, &a->generations[0].root);
    for (size_t i = chain ? 0 : 1; i < (chain && count != 0 ? count - 1 : count); i++) {
        const struct cfr_cert *c = chain ? &a->generations[i].incoming : &a->generations[i].outgoing;

        if (c->pem != NULL && c->ends_s >= now_s)
            fn(ctx, c);
        else if (chain)
            break; /* what leads on from there is of no use */
    }
}

static void append(void *ctx, const struct cfr_cert *c)
{
    cfr_str_addz(ctx, c->pem);
}

static int check_text(const struct cfr_str *out, struct cfr_err *err)
{
    if (!out->failed)
        return 0;
    return cfr_err_set(err, out->len + CFR_CERT_PEM_MAX > out->limit ? CFR_E_LIMIT : CFR_E_NOMEM,
                       "there is no room for the certificates");
}

int cfr_bundle_trust(const struct cfr_ca *a, size_t generations, int64_t now_s, struct cfr_str *out,
                     struct cfr_err *err)
{
    each(a, generations, now_s, false, append, out);
    return check_text(out, err);
}

int cfr_bundle_chain(const struct cfr_ca *a, size_t generations, int64_t now_s, struct cfr_str *out,
                     struct cfr_err *err)
{
    each(a, generations, now_s, true, append, out);
    return check_text(out, err);
}

static void count_one(void *ctx, const struct cfr_cert *c)
{
    size_t *count = ctx;

    (void)c;
    (*count)++;
}

size_t cfr_bundle_count(const struct cfr_ca *a, size_t generations, int64_t now_s)
{
    size_t count = 0;

    each(a, generations, now_s, false, count_one, &count);
    return count;
}

static void mix(void *ctx, const struct cfr_cert *c)
{
    uint64_t *mark = ctx;

    *mark = cfr_hash_add(*mark, c->pem, strlen(c->pem));
}

uint64_t cfr_bundle_fingerprint(const struct cfr_ca *a, size_t generations, int64_t now_s)
{
    uint64_t mark = CFR_HASH_START;

    each(a, generations, now_s, false, mix, &mark);
    each(a, generations, now_s, true, mix, &mark);
    return mark != 0 ? mark : 1;
}
