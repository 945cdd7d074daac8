/* SPDX-License-Identifier: MIT */
/* Rules across the fields of what consumers acknowledge by. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"

#include <string.h>

#define HEADER_BYTES "!#$%&'*+-.^_`|~" /* beside letters and digits: RFC 9110, 5.6.2 */

int cfr_config_rules_acknowledge(const void *node, struct cfr_err *err)
{
    const struct cfr_config_acknowledge *a = node;

    if (a->file == NULL && !a->hooks)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "says not how; write `file`, or `hooks: true` for hooks that have `acknowledge_header`");
    if (a->file != NULL && a->hooks)
        return cfr_err_set(err, CFR_E_CONFIG, "hooks: cannot stand beside file; write a list with one in each item");
    return 0;
}

int cfr_config_rules_header(const char *name, struct cfr_err *err)
{
    for (const char *p = name; *p != '\0'; p++) {
        if ((*p < 'a' || *p > 'z') && (*p < 'A' || *p > 'Z') && (*p < '0' || *p > '9') &&
            strchr(HEADER_BYTES, *p) == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "acknowledge_header: is no name of a header; write one such as X-Credfresh-Generation");
    }
    return 0;
}

static const struct cfr_config_hook *hook_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_hook *)c->reload.items + i;
}

static size_t count_headers(const struct cfr_config_credential *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->reload.count; i++)
        n += hook_at(c, i)->http != NULL && hook_at(c, i)->http->acknowledge_header != NULL;
    return n;
}

int cfr_config_rules_acknowledges(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const struct cfr_config_acknowledge *all = c->acknowledge.items;

    for (size_t i = 0; i < c->acknowledge.count; i++) {
        if (all[i].hooks && count_headers(c) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "acknowledge: hooks: no hook has an acknowledge_header; write one in its `http`");
        for (size_t j = 0; j < i; j++) {
            if (all[i].hooks && all[j].hooks)
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "acknowledge: hooks: stands on lines %d and %d; keep one of the two",
                                   all[j].node.line, all[i].node.line);
        }
    }
    return 0;
}
