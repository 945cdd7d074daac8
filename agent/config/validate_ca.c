/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that are about the service CA. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "pki/cert.h"

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
    return 0;
}

int cfr_config_rules_certificate(const void *node, struct cfr_err *err)
{
    const struct cfr_config_certificate *c = node;

    if (c->dns_names.count == 0 && c->ip_addresses.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "has no name; write `dns_names`, `ip_addresses` or both");
    for (size_t i = 0; i < c->dns_names.count; i++) {
        if (cfr_cert_check_dns_name(c->dns_names.items[i], err) != 0)
            return cfr_err_prefix(err, "dns_names");
    }
    for (size_t i = 0; i < c->ip_addresses.count; i++) {
        if (cfr_cert_check_ip_address(c->ip_addresses.items[i], err) != 0)
            return cfr_err_prefix(err, "ip_addresses");
    }
    return 0;
}

int cfr_config_rules_issued(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const char *key = c->certificate != NULL ? "certificate" : "ca_bundle";

    if (!cfr_config_is_issued(c))
        return 0;
    if (c->certificate != NULL && c->ca_bundle)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "ca_bundle: is part of what a `certificate` gives already (format ca-bundle); remove it");
    if (c->token != NULL || c->secret != NULL || c->exchange != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: comes from the service CA; remove `%s`", key,
                           c->token != NULL    ? "token"
                           : c->secret != NULL ? "secret"
                                               : "exchange");
    return 0;
}
