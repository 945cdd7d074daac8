/* SPDX-License-Identifier: MIT */
/* Redaction of a cloud's answer about keys. */
#include "base/redact.h"
#include "rotation/provider.h"

#include <stdio.h>
#include <string.h>

static bool has_secret(const char *id, const struct cfr_view *secrets, size_t count)
{
    char text[CFR_ROTATION_ID_MAX];

    (void)snprintf(text, sizeof text, "%s", id);
    return strcmp(cfr_redact_secrets(text, secrets, count), id) != 0;
}

int cfr_rotation_hide(struct cfr_rotation_answer *a, const struct cfr_view *secrets, size_t count, int rc,
                      struct cfr_err *err)
{
    bool repeated = has_secret(a->made.id, secrets, count);

    for (size_t i = 0; i < a->keys.count; i++) {
        repeated = repeated || has_secret(a->keys.key[i].id, secrets, count);
        (void)cfr_redact_secrets(a->keys.key[i].maker, secrets, count);
    }
    (void)cfr_redact_secrets(a->made.maker, secrets, count);
    (void)cfr_redact_secrets(a->caller, secrets, count);
    (void)cfr_redact_secrets(a->denied, secrets, count);
    if (a->grant.identity != NULL)
        (void)cfr_redact_secrets(a->grant.identity, secrets, count);
    if (rc == 0 && repeated)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer repeats a secret as the id of a key");
    if (rc != 0)
        (void)cfr_redact_secrets(err->text, secrets, count);
    return rc;
}
