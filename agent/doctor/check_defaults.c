/* SPDX-License-Identifier: MIT */
/* Check of the configuration's defaults: which credentials have them, and those that no credential has. */
#include "agent/doctor/doctor_private.h"
#include "base/str.h"

#include <string.h>

static bool is_used(const struct cfr_config *config, const char *key)
{
    size_t i = 0;

    while (i < config->credentials.count && !cfr_config_has_default(cfr_config_at(config, i), key))
        i++;
    return i < config->credentials.count;
}

void cfr_doctor_unused_defaults(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    char key[CFR_CONFIG_DEFAULT_MAX];
    int line;

    (void)c;
    for (size_t i = 0; cfr_config_default_at(d->config, i, key, &line); i++) {
        if (is_used(d->config, key))
            continue;
        cfr_doctor_at(d, NULL, line);
        cfr_doctor_report(d, CFR_FINDING_WARNING, "config.defaults", "remove it",
                          "defaults.%s: has no effect: no credential has `%s` without a value for it", key,
                          strcmp(key, "reload") == 0 ? "publish" : "mint");
    }
}

void cfr_doctor_defaults(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct cfr_str keys = {.limit = 256};
    char key[CFR_CONFIG_DEFAULT_MAX];
    int line;

    for (size_t i = 0; cfr_config_default_at(d->config, i, key, &line); i++) {
        if (cfr_config_has_default(c->credential, key))
            cfr_str_addf(&keys, "%s`%s` (line %d)", keys.len == 0 ? "" : ", ", key, line);
    }
    if (keys.len != 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "config.defaults", NULL, "has from `defaults`: %s", keys.p);
    cfr_str_free(&keys);
}
