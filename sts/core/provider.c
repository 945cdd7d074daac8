/* SPDX-License-Identifier: MIT */
/* Helpers that the exchange providers share. */
#include "sts/core/provider.h"

#include <string.h>

bool cfr_sts_needs_token(const struct cfr_sts_provider *provider, const void *config)
{
    return provider->needs_token == NULL || provider->needs_token(config);
}

struct cfr_view cfr_sts_input_content(const struct cfr_sts_input *in, const char *key)
{
    for (size_t i = 0; i < in->content_count; i++) {
        if (strcmp(in->contents[i].key, key) == 0)
            return in->contents[i].bytes;
    }
    return (struct cfr_view){NULL, 0};
}

void cfr_sts_exchange_free(struct cfr_sts_exchange *x)
{
    cfr_grant_free(&x->grant);
    *x = (struct cfr_sts_exchange){0};
}
