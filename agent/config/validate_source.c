/* SPDX-License-Identifier: MIT */
/* Rules across the fields of what a credential begins with. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"

int cfr_config_rules_bound(const void *node, struct cfr_err *err)
{
    const struct cfr_config_bound *b = node;

    if ((b->name == NULL) == (b->name_env == NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           b->name == NULL ? "does not name the object; write `name`, or `name_env`"
                                           : "name_env: cannot be used with name; keep one of the two");
    if (b->uid != NULL && b->uid_env != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "uid_env: cannot be used with uid; keep one of the two");
    return 0;
}

int cfr_config_rules_request(const void *node, struct cfr_err *err)
{
    const struct cfr_config_request *r = node;

    if (r->context != NULL && r->kubeconfig == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "context: has no effect without `kubeconfig`; add it");
    if (r->expiration_ms % 1000 != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "expiration: it must be in whole seconds");
    for (size_t i = 0; i < r->audiences.count; i++) {
        if (r->audiences.items[i][0] == '\0')
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "audiences: one is empty, which would be a token for the API server itself; write the audience");
    }
    return 0;
}

int cfr_config_rules_token(const void *node, struct cfr_err *err)
{
    const struct cfr_config_token *t = node;

    if (t->file == NULL && t->request == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "does not say where the token comes from; write `file`, `request`, or both");
    if (t->json_field != NULL && t->file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "json_field: belongs to a file; add `file`");
    if (t->request != NULL && t->audience == NULL && t->request->audiences.count == 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "audience: is missing, which would be a token for the API server itself; write the audience");
    return 0;
}

int cfr_config_rules_exchange(const void *node, struct cfr_err *err)
{
    const struct cfr_config_exchange *x = node;

    if (x->provider.variant.key == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "names no provider; write one such as `aws:` with its keys below it, or remove `exchange` "
                           "to publish the token itself");
    return 0;
}
