/* SPDX-License-Identifier: MIT */
/* HTTP request: its headers, and its end. */
#include "wire/request.h"

#include <stdlib.h>

int cfr_wire_request_url(struct cfr_wire_request *r, struct cfr_str *url, struct cfr_err *err)
{
    if (url->failed) {
        cfr_str_free(url);
        return cfr_err_nomem(err);
    }
    r->url = url->p;
    return 0;
}

int cfr_wire_request_header(struct cfr_wire_request *r, const char *name, struct cfr_view value, struct cfr_err *err)
{
    struct cfr_secret *h;
    int rc;

    if (r->header_count == CFR_WIRE_HEADERS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "no room for the request header %s", name);
    /* A line break would let a value become a second header. */
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\r' || value.p[i] == '\n' || value.p[i] == '\0')
            return cfr_err_set(err, CFR_E_INTERNAL, "the request header %s would hold a control character", name);
    }
    h = &r->headers[r->header_count];
    cfr_secret_init(h, CFR_WIRE_HEADER_MAX);
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

void cfr_wire_request_free(struct cfr_wire_request *r)
{
    for (size_t i = 0; i < r->header_count; i++)
        cfr_secret_free(&r->headers[i]);
    cfr_secret_free(&r->body);
    cfr_secret_free(&r->client_cert);
    cfr_secret_free(&r->client_key);
    free(r->url);
    *r = (struct cfr_wire_request){0};
}
