/* SPDX-License-Identifier: MIT */
/* Form bodies. */
#include "wire/form.h"

#include <string.h>

static int begin(struct cfr_secret *body, const char *key, size_t value_bytes, struct cfr_err *err)
{
    struct cfr_err local = {0};
    int rc = 0;

    if (err == NULL)
        err = &local;
    /* Room for it at once, rather than growing, copying and wiping on the way. */
    if (cfr_secret_reserve(body, value_bytes + strlen(key) + 2, err) == NULL)
        return err->code;
    if (body->len != 0)
        rc = cfr_secret_append_str(body, "&", err);
    if (rc == 0)
        rc = cfr_secret_append_percent(body, cfr_view_of(key), err);
    return rc != 0 ? rc : cfr_secret_append_str(body, "=", err);
}

int cfr_form_add(struct cfr_secret *body, const char *key, struct cfr_view value, struct cfr_err *err)
{
    int rc;

    if (value.n == 0)
        return 0;
    rc = begin(body, key, value.n, err);
    return rc != 0 ? rc : cfr_secret_append_percent(body, value, err);
}

int cfr_form_add_joined(struct cfr_secret *body, const char *key, char *const *items, size_t count, struct cfr_err *err)
{
    bool begun = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct cfr_view item = cfr_view_of(items[i]);

        if (item.n == 0)
            continue;
        rc = begun ? cfr_secret_append_str(body, "%20", err) : begin(body, key, item.n, err);
        begun = true;
        if (rc == 0)
            rc = cfr_secret_append_percent(body, item, err);
    }
    return rc;
}
