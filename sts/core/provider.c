/* SPDX-License-Identifier: MIT */
/* Helpers that the exchange providers share. */
#include "sts/core/provider.h"

#include <stdlib.h>
#include <string.h>

/* "Name: " and the longest value that a grant can hold. */
#define HEADER_MAX (CFR_GRANT_VALUE_MAX + 64)

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

int cfr_sts_request_header(struct cfr_sts_request *r, const char *name, struct cfr_view value, struct cfr_err *err)
{
    struct cfr_secret *h;
    int rc;

    if (r->header_count == CFR_STS_HEADERS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "no room for the request header %s", name);
    /* A line break would let a value become a second header. */
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\r' || value.p[i] == '\n' || value.p[i] == '\0')
            return cfr_err_set(err, CFR_E_INTERNAL, "the request header %s would hold a control character", name);
    }
    h = &r->headers[r->header_count];
    cfr_secret_init(h, HEADER_MAX);
    rc = cfr_secret_append_str(h, name, err);
    if (rc == 0)
        rc = cfr_secret_append_str(h, ": ", err);
    if (rc == 0)
        rc = cfr_secret_append(h, value, err);
    if (rc != 0)
        cfr_secret_free(h);
    else
        r->header_count++;
    return rc;
}

void cfr_sts_request_free(struct cfr_sts_request *r)
{
    for (size_t i = 0; i < r->header_count; i++)
        cfr_secret_free(&r->headers[i]);
    cfr_secret_free(&r->body);
    cfr_secret_free(&r->client_cert);
    cfr_secret_free(&r->client_key);
    free(r->url);
    *r = (struct cfr_sts_request){0};
}

void cfr_sts_exchange_free(struct cfr_sts_exchange *x)
{
    cfr_grant_free(&x->grant);
    *x = (struct cfr_sts_exchange){0};
}
