/* SPDX-License-Identifier: MIT */
/* Rights of the caller on a service account. */
#include "rotation/gcp_private.h"
#include "rotation/rest_private.h"

#include <stdio.h>
#include <string.h>

static const char *const permissions[] = {"iam.serviceAccountKeys.list", "iam.serviceAccountKeys.create",
                                          "iam.serviceAccountKeys.disable", "iam.serviceAccountKeys.delete"};
#define PERMISSIONS (sizeof permissions / sizeof permissions[0])

void cfr_rotation_gcp_write_rights(struct cfr_writer *w)
{
    cfr_writer_array(w, "permissions");
    for (size_t i = 0; i < PERMISSIONS; i++)
        cfr_writer_string(w, NULL, cfr_view_of(permissions[i]));
    cfr_writer_close(w);
}

static bool holds(const struct cfr_json *list, const char *permission)
{
    for (const struct cfr_json *one = cfr_json_first(list); one != NULL; one = cfr_json_next(one)) {
        struct cfr_view text;

        if (cfr_json_string(one, &text) && cfr_view_is(text, permission))
            return true;
    }
    return false;
}

int cfr_rotation_gcp_read_rights(const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_json *list = cfr_json_get(doc, "permissions");

    if (list != NULL && !cfr_json_is_array(list))
        return cfr_err_set(err, CFR_E_ANSWER, "`permissions` in the answer is not a list");
    out->judged = PERMISSIONS;
    for (size_t i = 0; i < PERMISSIONS; i++) {
        size_t n = strlen(out->denied);

        if (!holds(list, permissions[i]))
            (void)snprintf(out->denied + n, sizeof out->denied - n, "%s%s", n != 0 ? ", " : "", permissions[i]);
    }
    return 0;
}
