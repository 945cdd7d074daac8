/* SPDX-License-Identifier: MIT */
/* Helpers that the rotation providers share. */
#include "rotation/provider_private.h"

#include <stdio.h>

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

void cfr_rotation_answer_free(struct cfr_rotation_answer *a)
{
    cfr_grant_free(&a->grant);
    *a = (struct cfr_rotation_answer){.used_s = 0};
}
