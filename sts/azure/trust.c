/* SPDX-License-Identifier: MIT */
/* Advice on federated credentials of Entra ID. */
#include "sts/azure/azure_private.h"

#include "sts/azure/settings.h"
#include "sts/azure/token_proxy_private.h"
#include "sts/core/trust.h"

#include <stdio.h>
#include <string.h>

/* The command for an application's client. */
static void add_command(struct cfr_str *out, const char *client, const struct cfr_sts_trust *t)
{
    struct cfr_str parameters = {.limit = CFR_STS_TRUST_PASTE_MAX};
    char audience[CFR_STS_TRUST_SHOWN_MAX];

    cfr_str_addz(&parameters, "{\"name\": \"credfresh\", \"issuer\": ");
    cfr_str_add_json(&parameters, cfr_view_of(t->shown_iss));
    cfr_str_addz(&parameters, ", \"subject\": ");
    cfr_str_add_json(&parameters, cfr_view_of(t->shown_sub));
    cfr_str_addz(&parameters, ", \"audiences\": [");
    cfr_str_add_json(&parameters, cfr_view_of(cfr_sts_trust_audience(t, audience)));
    cfr_str_addz(&parameters, "]}");
    cfr_str_addz(out, "az ad app federated-credential create --id ");
    cfr_sts_trust_add_quoted(out, client);
    cfr_str_addz(out, " \\\n    --parameters ");
    cfr_sts_trust_add_quoted(out, parameters.failed ? "" : parameters.p);
    cfr_str_addz(out, "\n");
    out->failed = out->failed || parameters.failed;
    cfr_str_free(&parameters);
}

/* The proxy exchanges the token, so the identity needs no federated credential. */
static void report_binding(const struct cfr_azure_settings *place, const struct cfr_azure_token_proxy_settings *proxy,
                           const struct cfr_sts_trust *t)
{
    cfr_finding_report(
        t->sink, CFR_FINDING_NOTE, CFR_STS_TRUST_NEEDED,
        "compare with the identity bindings of the cluster, and with the ClusterRole that lets the subject use them",
        "the token goes to %.200s, whose cluster must have an identity binding for the client %.64s; the "
        "subject \"%s\" must be allowed to use it, and the audience is %s (usual here: "
        "api://AKSIdentityBinding)",
        proxy->url, place->client, t->shown_sub, t->shown_aud);
}

void cfr_azure_trust_needed(const void *config, const struct cfr_sts_trust *t)
{
    struct cfr_azure_settings place;
    struct cfr_str paste = {.limit = (size_t)2 * CFR_STS_TRUST_PASTE_MAX};
    const char *usual = "api://AzureADTokenExchange";
    struct cfr_azure_token_proxy_settings proxy;

    if (cfr_azure_settings_of(config, t->env, &place, NULL) != 0 ||
        cfr_azure_token_proxy_of(config, t->env, &proxy, NULL) != 0)
        return;
    if (proxy.url != NULL) {
        report_binding(&place, &proxy, t);
        return;
    }
    if (strstr(place.authority, "microsoftonline.us") != NULL)
        usual = "api://AzureADTokenExchangeUSGov";
    else if (strstr(place.authority, "partner.microsoftonline.cn") != NULL)
        usual = "api://AzureADTokenExchangeChina";
    add_command(&paste, place.client, t);
    cfr_finding_report_paste(
        t->sink, CFR_STS_TRUST_NEEDED,
        "for a managed identity use `az identity federated-credential create`; compare with `az ad app "
        "federated-credential list --id CLIENT_ID`, or give its output: --federated-credential FILE",
        paste.failed ? NULL : paste.p,
        "the client %.64s in the tenant %.64s must have a federated credential with the issuer \"%s\", the "
        "subject \"%s\" and the audience %s (usual here: %s), all letter by letter",
        place.client, place.tenant, t->shown_iss, t->shown_sub, t->shown_aud, usual);
    cfr_str_free(&paste);
}

static void presented(const char *text, const char *what, struct cfr_view has, const struct cfr_sts_trust *t)
{
    char words[64];
    char shown[CFR_STS_TRUST_SHOWN_MAX];
    char own[CFR_STS_TRUST_SHOWN_MAX];
    struct cfr_view named;

    (void)snprintf(words, sizeof words, "presented assertion %s '", what);
    named = cfr_sts_trust_after(text, words, "'");
    if (named.n == 0)
        return;
    if (cfr_view_eq(named, has))
        cfr_finding_report(t->sink, CFR_FINDING_WRONG, CFR_STS_TRUST_REFUSED,
                           "set it in the client's federated credential to exactly this, letter by letter; "
                           "--federated-credential FILE shows the difference",
                           "no federated credential of the client has the %s \"%s\", which is what your token says",
                           what, cfr_view_show(named, shown, sizeof shown));
    else
        cfr_finding_report(t->sink, CFR_FINDING_WRONG, CFR_STS_TRUST_REFUSED,
                           "run it again: the token may have been replaced meanwhile",
                           "Entra ID received the %s \"%s\", but the present token has \"%s\"", what,
                           cfr_view_show(named, shown, sizeof shown), cfr_view_show(has, own, sizeof own));
}

void cfr_azure_trust_refused(const char *text, const struct cfr_sts_trust *t)
{
    struct cfr_view first = t->aud_count != 0 ? t->aud[0] : (struct cfr_view){NULL, 0};

    presented(text, "issuer", t->iss, t);
    presented(text, "subject", t->sub, t);
    presented(text, "audience", first, t);
}
