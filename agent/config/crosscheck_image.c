/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that concern image credentials as a whole. */
#include "agent/config/crosscheck_private.h"

#include "agent/config/schema.h"
#include "agent/config/image.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

void cfr_config_check_image_names(const struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < config->image_credentials.count; i++) {
        const struct cfr_config_image *c = cfr_config_image_at(config, i);
        size_t k = 0;

        while (k < i && !same(cfr_config_image_at(config, k)->name, c->name))
            k++;
        if (k < i)
            cfr_config_diagnostics_add(
                ps, c->node.line,
                "image credential %.63s: name: another image credential has it, on line %d; rename one of "
                "them",
                c->name, cfr_config_image_at(config, k)->node.line);
    }
}

void cfr_config_check_images(const struct cfr_config *config, const char *(*env)(const char *),
                             struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < config->image_credentials.count && !ps->nomem; i++) {
        const struct cfr_config_image *c = cfr_config_image_at(config, i);
        struct cfr_config_exchange x;
        struct cfr_err err = {0};
        void *provider_config = NULL;
        const struct cfr_sts_provider *provider = cfr_config_exchange_provider(c->exchange, &provider_config);
        int rc = cfr_config_image_settle(c, NULL, env, &x, &err);

        if (rc == CFR_E_NOMEM)
            ps->nomem = true;
        else if (rc != 0)
            cfr_config_diagnostics_add(ps, ((const struct cfr_node *)provider_config)->line,
                                       "image credential %s: exchange.%s: %s", c->name, provider->name, err.text);
        cfr_field_free(&cfr_config_exchange_table, &x);
    }
}
