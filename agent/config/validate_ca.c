/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that are about the service CA. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "kube/ca_bundle.h"
#include "kube/pod_policy.h"

int cfr_config_rules_ca_inject(const void *node, struct cfr_err *err)
{
    const struct cfr_config_ca_inject *c = node;

    if ((c->name != NULL) == c->annotated)
        return cfr_err_set(err, CFR_E_CONFIG, "needs either `name` or `annotated: true`");
    if (!c->annotated && c->kind == CFR_K8S_CA_CONFIG_MAP)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "name: a ConfigMap is found by its annotation: write `annotated: true`, or publish one by "
                           "its name with a credential's `ca_bundle` and `publish: {configmap: ...}`");
    if (c->annotated && c->kind == CFR_K8S_CA_TRUST_BUNDLE)
        return cfr_err_set(err, CFR_E_CONFIG, "annotated: a ClusterTrustBundle is made here; write its `name`");
    if (c->kind == CFR_K8S_CA_TRUST_BUNDLE && !cfr_k8s_ca_is_name(CFR_K8S_CA_TRUST_BUNDLE, c->name))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "name: \"%.80s\" cannot be a ClusterTrustBundle's: write SIGNER:NAME with the signer's slash as "
            "a colon, such as example.com:service:ca",
            c->name);
    if (c->name != NULL && !cfr_k8s_ca_is_name((enum cfr_k8s_ca_kind)c->kind, c->name))
        return cfr_err_set(err, CFR_E_CONFIG, "name: \"%.80s\" cannot be the name of an object (RFC 1123)", c->name);
    if (c->webhooks.count != 0 && (c->name == NULL || !cfr_k8s_ca_has_webhooks((enum cfr_k8s_ca_kind)c->kind)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "webhooks: only a named MutatingWebhookConfiguration or ValidatingWebhookConfiguration has "
                           "some; remove it");
    if (c->context != NULL && c->kubeconfig == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "context: needs `kubeconfig`");
    return 0;
}

/* One apply takes away what another one had set and it leaves out: each object is to be in one of them. */
static int check_injects(const struct cfr_list *list, struct cfr_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct cfr_config_ca_inject *a = (const struct cfr_config_ca_inject *)list->items + i;

        for (size_t k = 0; k < i; k++) {
            const struct cfr_config_ca_inject *b = (const struct cfr_config_ca_inject *)list->items + k;

            if (a->kind == b->kind && cfr_view_same(a->name, b->name) && cfr_view_same(a->kubeconfig, b->kubeconfig) &&
                cfr_view_same(a->context, b->context))
                return cfr_err_set(err, CFR_E_CONFIG, "inject: lines %d and %d are about the same %s; make them one",
                                   b->node.line, a->node.line, cfr_k8s_ca_kinds[a->kind]);
        }
    }
    return 0;
}

int cfr_config_rules_service_ca(const void *node, struct cfr_err *err)
{
    const struct cfr_config_service_ca *c = node;

    for (const char *at = c->subject; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            return cfr_err_set(err, CFR_E_CONFIG, "subject: control characters are not allowed; remove the character");
    }
    if (c->rotate_below_ms >= c->validity_ms)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "rotate_below: must be less than validity, or the CA is old when it is made; half of it is usual");
    if (check_injects(&c->inject, err) != 0)
        return CFR_E_CONFIG;
    return cfr_k8s_pod_policies_check(&c->pod_certificates, err);
}
