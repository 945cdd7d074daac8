/* SPDX-License-Identifier: MIT */
/* Rules about long-lived keys that are rotated. */
#include "agent/config/kinds.h"
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "kube/name.h"

#include <string.h>

/* Those that are absent are -1. */
static int check_times(const struct cfr_config_mint *c, struct cfr_err *err)
{
    if (c->grace_ms < 0)
        return 0;
    if (c->grace_most_ms >= 0 && c->grace_most_ms < c->grace_ms)
        return cfr_err_set(err, CFR_E_CONFIG, "grace_most: must be as long as grace at least");
    if (c->expire_after_ms >= 0 && c->expire_after_ms < 2 * c->grace_ms)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "expire_after: must be twice the grace at least, or a key is old before the one "
                           "before it may go");
    return 0;
}

int cfr_config_rules_default_mint(const void *node, struct cfr_err *err)
{
    return check_times(node, err);
}

int cfr_config_rules_mint_state(const void *node, struct cfr_err *err)
{
    const struct cfr_config_mint_state *s = node;

    if (!cfr_k8s_name_is_subdomain(s->secret))
        return cfr_err_set(err, CFR_E_CONFIG, "secret: \"%.80s\" cannot be the name of a Secret", s->secret);
    if (s->context != NULL && s->kubeconfig == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "context: has no effect without `kubeconfig`; add it");
    return 0;
}

int cfr_config_rules_mint(const void *node, struct cfr_err *err)
{
    const struct cfr_config_mint *c = node;

    if (c->provider.variant.key == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "names no provider; write one such as `aws:` with its keys below it");
    if (c->adopt != NULL && c->adopt[0] != '/' && strcmp(c->adopt, CFR_ADOPT_TARGET) != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "adopt: must be `" CFR_ADOPT_TARGET "`, or the absolute path of a mounted Secret or a file, "
                           "got \"%.200s\"",
                           c->adopt);
    if (c->otherwise != NULL && strcmp(c->otherwise, CFR_MINT_PASS_ON) != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "or: must be `" CFR_MINT_PASS_ON "`, got \"%.31s\"", c->otherwise);
    if (c->otherwise != NULL && c->adopt != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "or: cannot be combined with `adopt`, which waits for the rights to list keys; remove one");
    if (c->otherwise != NULL && c->state != NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "or: cannot be combined with `state`, because each agent would publish a different key; remove one");
    return check_times(c, err);
}

/* Refuses names that credfresh itself writes next to what is rotated. KEY is that of FILES, of which each name may have
 * LONGEST characters. */
static int check_files(const char *key, const struct cfr_list *list, size_t longest, struct cfr_err *err)
{
    const struct cfr_config_file *files = list->items;
    const size_t n = sizeof CFR_MINT_OLD_SUFFIX - 1;

    if (list->count > CFR_MINT_FILES_MAX)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: a minted key has %d at the most; write a second target for the others", key,
                           CFR_MINT_FILES_MAX);
    for (size_t i = 0; i < list->count; i++) {
        size_t length = files[i].name != NULL ? strlen(files[i].name) : 0;

        if (length > n && strcmp(files[i].name + length - n, CFR_MINT_OLD_SUFFIX) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: %.200s ends with " CFR_MINT_OLD_SUFFIX
                               ", which is where the previous files are moved; choose another name",
                               key, files[i].name);
        if (length != 0 && strcmp(files[i].name, CFR_ROTATION_FILE) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: " CFR_ROTATION_FILE " is where the time of minting is put; choose another name",
                               key);
        if (length > longest - n)
            return cfr_err_set(err, CFR_E_CONFIG, "%s: %.40s... is too long for its copy with " CFR_MINT_OLD_SUFFIX,
                               key, files[i].name);
    }
    return 0;
}

int cfr_config_rules_minted(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const void *config;
    const struct cfr_config_source_kind *source = cfr_config_source_kind(c, &config);
    int rc = 0;

    if (c->mint == NULL)
        return 0;
    if (c->token != NULL || c->secret != NULL || c->exchange != NULL || source != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "mint: makes the credential by itself; remove `%s`",
                           c->token != NULL      ? "token"
                           : c->secret != NULL   ? "secret"
                           : c->exchange != NULL ? "exchange"
                                                 : source->key(config));
    if (c->allow != NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "allow: a rotated key is kept only in the published files, so it cannot be served from memory; remove it");
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)c->publish.items + i;

        rc = p->secret != NULL ? check_files("publish.secret.keys", &p->secret->keys, 253, err)
                               : check_files("publish.files", &p->files, 255, err);
    }
    return rc;
}
