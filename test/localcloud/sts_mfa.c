/* SPDX-License-Identifier: MIT */
/* What AssumeRole and GetSessionToken take next to a signature: the code of an MFA device, and provided contexts. */
#include "sts_call.h"

#include <string.h>

enum { MOST_CONTEXTS = 5 };

static int refuse(struct lc_call *call, const char *why)
{
    return lc_refuse(&call->refusal, 403, "AccessDenied", "MultiFactorAuthentication failed%s", why);
}

/* Each code is good for one use. */
static bool use_code(const struct lc_iam_key *key, const char *code)
{
    for (size_t i = 0; i < json_array_size(key->mfa_codes); i++) {
        const char *one = json_string_value(json_array_get(key->mfa_codes, i));

        if (one != NULL && strcmp(one, code) == 0) {
            (void)json_array_remove(key->mfa_codes, i);
            return true;
        }
    }
    return false;
}

int lc_call_mfa(struct lc_call *call, const struct lc_caller *caller, bool *shown)
{
    const char *serial = lc_params_get(&call->params, "SerialNumber");
    const char *code = lc_params_get(&call->params, "TokenCode");
    const struct lc_iam_key *key = lc_trust_iam_key(call->cloud->trust, caller->access_key_id);

    *shown = false;
    if (serial == NULL && code == NULL) {
        return 0;
    }
    if (serial == NULL || code == NULL) {
        return refuse(call, ", must provide both MFA serial number and one time pass code.");
    }
    /* Sessions have no device. */
    if (caller->session || key == NULL || key->mfa_serial == NULL || strcmp(key->mfa_serial, serial) != 0) {
        return refuse(call, ", unable to validate MFA code.  Please verify your MFA serial number is valid and "
                            "associated with this user.");
    }
    *shown = use_code(key, code);
    return *shown ? 0 : refuse(call, " with invalid MFA one time pass code. ");
}

void lc_call_check_contexts(struct lc_call *call, struct lc_checks *checks)
{
    static const struct lc_rule arn = {"ProviderArn", "providedContexts.providerArn", 20, 2048, NULL, NULL, true,
                                       false};
    static const struct lc_rule assertion = {
        "ContextAssertion", "providedContexts.contextAssertion", 4, 2048, NULL, NULL, true, true};
    unsigned arns = lc_params_members(&call->params, "ProvidedContexts", ".ProviderArn");
    unsigned assertions = lc_params_members(&call->params, "ProvidedContexts", ".ContextAssertion");
    unsigned count = arns > assertions ? arns : assertions;

    if (count > MOST_CONTEXTS) {
        lc_checks_add(checks, "providedContexts", "[...]", "Member must have length less than or equal to 5");
    }
    for (unsigned n = 1; n <= count; n++) {
        lc_checks_value(checks, &arn, lc_params_member(&call->params, "ProvidedContexts", n, ".ProviderArn"));
        lc_checks_value(checks, &assertion,
                        lc_params_member(&call->params, "ProvidedContexts", n, ".ContextAssertion"));
    }
}

bool lc_call_contexts_allowed(struct lc_call *call, const struct lc_statement *statement)
{
    unsigned count = lc_params_members(&call->params, "ProvidedContexts", ".ProviderArn");

    for (unsigned n = 1; n <= count; n++) {
        const char *arn = lc_params_member(&call->params, "ProvidedContexts", n, ".ProviderArn");
        const char *assertion = lc_params_member(&call->params, "ProvidedContexts", n, ".ContextAssertion");

        if (!lc_text_like("arn:*:iam::aws:contextProvider/IdentityCenter", arn) ||
            !lc_json_holds(statement->contexts, assertion)) {
            return false;
        }
    }
    return true;
}
