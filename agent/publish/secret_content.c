/* SPDX-License-Identifier: MIT */
/* What a Secret is applied with beyond what was rendered: the previous values of a rotated key, and what other programs
 * have in a key whose format they write, too. */
#include "agent/publish/delivery_private.h"

#include "agent/publish/target_private.h"
#include "files/format/format.h"

#include <stdio.h>

/* KEY.old of the rendered key INDEX is VALUE, which is moved. */
static int add_old(struct cfr_delivery_object *t, size_t index, struct cfr_secret *value, struct cfr_err *err)
{
    char name[CFR_K8S_SECRET_KEY_MAX + sizeof CFR_MINT_OLD_SUFFIX];
    int rc;

    (void)snprintf(name, sizeof name, "%s" CFR_MINT_OLD_SUFFIX, t->keys.items[index].name);
    rc = cfr_publish_keys_add(&t->keys, name, CFR_K8S_SECRET_TOTAL_MAX, err);
    if (rc == 0)
        cfr_secret_move(&t->keys.items[t->keys.count - 1].value, value);
    return rc;
}

int cfr_publish_delivery_add_previous(struct cfr_delivery_object *t, struct cfr_view body, struct cfr_err *err)
{
    char old[CFR_MINT_FILES_MAX][CFR_K8S_SECRET_KEY_MAX + sizeof CFR_MINT_OLD_SUFFIX];
    const char *names[2 * CFR_MINT_FILES_MAX + 1] = {CFR_ROTATION_FILE};
    struct cfr_secret values[2 * CFR_MINT_FILES_MAX + 1];
    bool there[2 * CFR_MINT_FILES_MAX + 1];
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o;
    size_t files = t->own_count - 1;
    bool same;
    int rc;

    for (size_t i = 0; i < files; i++) {
        (void)snprintf(old[i], sizeof old[i], "%s" CFR_MINT_OLD_SUFFIX, t->keys.items[i].name);
        names[1 + i] = t->keys.items[i].name;
        names[1 + files + i] = old[i];
    }
    rc = cfr_k8s_secret_apply_values(body, names, 1 + 2 * files, values, there, err);
    same =
        rc == 0 && there[0] && cfr_view_eq(cfr_secret_view(&values[0]), cfr_secret_view(&t->keys.items[files].value));
    for (size_t i = 0; rc == 0 && there[0] && i < files; i++) {
        size_t from = 1 + i + (same ? files : 0);

        if (there[from])
            rc = add_old(t, i, &values[from], err);
    }
    for (size_t i = 0; i < 1 + 2 * files; i++)
        cfr_secret_free(&values[i]);
    if (rc != 0)
        return rc;
    o = cfr_publish_delivery_content(t, keys);
    return cfr_k8s_secret_apply_check(&o, err);
}

int cfr_publish_delivery_merge(struct cfr_delivery_object *t, struct cfr_view body, struct cfr_err *err)
{
    struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX];
    struct cfr_k8s_secret_object o;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < t->config->keys.count && i < t->own_count; i++) {
        const struct cfr_format *format = &cfr_formats[cfr_publish_file_at(&t->config->keys, i)->format];
        struct cfr_publish_key *key = &t->keys.items[i];
        const char *name = key->name;
        struct cfr_secret there;
        bool found = false;

        cfr_secret_free(&key->merged);
        if (format->merge == NULL || t->absent)
            continue;
        cfr_secret_init(&key->merged, CFR_K8S_SECRET_TOTAL_MAX);
        rc = cfr_k8s_secret_apply_values(body, &name, 1, &there, &found, err);
        if (rc == 0 && found)
            rc = cfr_secret_append(&key->merged, cfr_secret_view(&key->value), err);
        if (rc == 0 && found)
            rc = format->merge(cfr_secret_view(&there), &key->merged, err);
        if (rc != 0)
            (void)cfr_err_prefix(err, "%s: %s", t->name, name);
        cfr_secret_free(&there);
    }
    o = cfr_publish_delivery_content(t, keys);
    return rc != 0 ? rc : cfr_k8s_secret_apply_check(&o, err);
}

int cfr_publish_delivery_read_back(struct cfr_delivery_object *t, struct cfr_view body, bool *none, struct cfr_err *err)
{
    size_t own = t->config->keys.count + 1;
    size_t count = 2 * own - 1;
    char old[CFR_MINT_FILES_MAX][CFR_K8S_SECRET_KEY_MAX + sizeof CFR_MINT_OLD_SUFFIX];
    const char *names[2 * CFR_MINT_FILES_MAX + 1] = {NULL};
    struct cfr_secret values[2 * CFR_MINT_FILES_MAX + 1];
    bool there[2 * CFR_MINT_FILES_MAX + 1];
    int rc;

    *none = true;
    for (size_t i = 0; i + 1 < own; i++) {
        names[i] = cfr_publish_file_at(&t->config->keys, i)->name;
        (void)snprintf(old[i], sizeof old[i], "%s" CFR_MINT_OLD_SUFFIX, names[i]);
        names[own + i] = old[i];
    }
    names[own - 1] = CFR_ROTATION_FILE;
    rc = cfr_k8s_secret_apply_values(body, names, count, values, there, err);
    for (size_t i = own; rc == 0 && i < count; i++)
        *none = *none && !there[i];
    if (rc == 0 && !*none)
        cfr_publish_keys_cut(&t->keys, 0);
    for (size_t i = 0; rc == 0 && !*none && i < own; i++) {
        rc = there[i] ? cfr_publish_keys_add(&t->keys, names[i], CFR_K8S_SECRET_TOTAL_MAX, err)
                      : cfr_err_set(err, CFR_E_MISSING, "%s has no key %s", t->name, names[i]);
        if (rc == 0)
            cfr_secret_move(&t->keys.items[i].value, &values[i]);
    }
    for (size_t i = 0; i < count; i++)
        cfr_secret_free(&values[i]);
    if (rc == 0)
        t->own_count = own;
    return rc;
}
