/* SPDX-License-Identifier: MIT */
/* Helpers that the rotation providers share. */
#include "rotation/provider.h"

#include <stdio.h>
#include <stdlib.h>

struct cfr_view cfr_rotation_admin_field(const struct cfr_grant *g, const char *name)
{
    struct cfr_view value = cfr_grant_get(g, name);
    char key[sizeof CFR_FIELD_SECRET_PREFIX + 64];

    if (value.n != 0)
        return value;
    (void)snprintf(key, sizeof key, CFR_FIELD_SECRET_PREFIX "%s", name);
    return cfr_view_trim(cfr_grant_get(g, key));
}

bool cfr_rotation_is_certain(long status)
{
    return status >= 400 && status < 500 && status != 408 && status != 425 && status != 429 && status != 499;
}

int cfr_rotation_request_header(struct cfr_rotation_request *r, const char *name, struct cfr_view value,
                                struct cfr_err *err)
{
    struct cfr_secret *h = &r->headers[r->header_count];
    int rc;

    if (r->header_count == CFR_ROTATION_HEADERS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "no room for the header %s", name);
    cfr_secret_init(h, 65536);
    r->header_count++;
    rc = cfr_secret_append_str(h, name, err);
    rc = rc != 0 ? rc : cfr_secret_append_str(h, ": ", err);
    return rc != 0 ? rc : cfr_secret_append(h, value, err);
}

void cfr_rotation_request_free(struct cfr_rotation_request *r)
{
    free(r->url);
    for (size_t i = 0; i < r->header_count; i++)
        cfr_secret_free(&r->headers[i]);
    cfr_secret_free(&r->body);
    *r = (struct cfr_rotation_request){.method = NULL};
}

void cfr_rotation_answer_free(struct cfr_rotation_answer *a)
{
    cfr_grant_free(&a->grant);
    *a = (struct cfr_rotation_answer){.used_s = 0};
}
