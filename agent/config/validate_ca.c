/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that are about the service CA. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"

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
