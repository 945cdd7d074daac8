/* SPDX-License-Identifier: MIT */
/* Accessors of the defaults for credentials: what there is, and which credentials have it. */
#include "agent/config/schema_private.h"

#include <stdio.h>

/* The INDEX-th field that the defaults for rotated keys have; NULL after the last. */
static const struct cfr_field *default_mint_at(const struct cfr_config_mint *mint, size_t index)
{
    for (const struct cfr_field *f = cfr_config_default_mint_table.fields; mint != NULL && f->key != NULL; f++) {
        if (*(const int64_t *)(const void *)((const char *)mint + f->offset) >= 0 && index-- == 0)
            return f;
    }
    return NULL;
}

bool cfr_config_default_at(const struct cfr_config *config, size_t index, char key[CFR_CONFIG_DEFAULT_MAX], int *line)
{
    const struct cfr_config_defaults *d = config->defaults;
    const struct cfr_config_hook *hooks = d != NULL ? d->reload.items : NULL;
    const struct cfr_field *f;

    if (d == NULL)
        return false;
    if (hooks != NULL && index-- == 0) {
        *line = hooks->node.line;
        (void)snprintf(key, CFR_CONFIG_DEFAULT_MAX, "reload");
        return true;
    }
    f = default_mint_at(d->mint, index);
    if (f == NULL)
        return false;
    *line = d->mint->node.line;
    (void)snprintf(key, CFR_CONFIG_DEFAULT_MAX, "mint.%.32s", f->key);
    return true;
}

static bool is_defaulted(const struct cfr_table *table, const struct cfr_node *node, struct cfr_view key)
{
    const struct cfr_field *f = node != NULL ? cfr_field_find(table, key) : NULL;

    return f != NULL && (node->defaulted & 1U << (f - table->fields)) != 0;
}

bool cfr_config_has_default(const struct cfr_config_credential *c, const char *key)
{
    struct cfr_view rest = cfr_view_of(key);

    if (!cfr_view_starts(rest, "mint."))
        return is_defaulted(&cfr_config_credential_table, &c->node, rest);
    rest = (struct cfr_view){rest.p + 5, rest.n - 5};
    return is_defaulted(&cfr_config_mint_table, c->mint != NULL ? &c->mint->node : NULL, rest);
}
