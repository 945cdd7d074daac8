/* SPDX-License-Identifier: MIT */
/* Confirms a key with the cloud before this agent publishes it: the cloud lists the key as an active one of the
 * configured owner, and accepts its secret. What the journal says proves neither: it may be restored from a copy, or
 * edited. */
#include "agent/rotation/rotator_private.h"

#include "rotation/found.h"

#include <stdio.h>
#include <string.h>

/* The configuration may have changed these since the key was created. */
static bool may_differ(const char *field)
{
    return strcmp(field, CFR_FIELD_AWS_REGION) == 0 || strcmp(field, CFR_FIELD_OPENSTACK_REGION_NAME) == 0 ||
           strcmp(field, CFR_FIELD_OPENSTACK_INTERFACE) == 0;
}

static bool is_granted(const struct cfr_rotation_provider *provider, const char *field)
{
    size_t i = 0;

    while (provider->grants[i] != NULL && strcmp(provider->grants[i], field) != 0)
        i++;
    return provider->grants[i] != NULL;
}

/* The fields of STORED are those of a key of the configured owner, with the configured addresses. */
static int compare(const struct cfr_rotator *m, const struct cfr_grant *stored, const struct cfr_grant *made,
                   struct cfr_err *err)
{
    const char *wrong = NULL;

    for (size_t i = 0; wrong == NULL && i < stored->field_count; i++) {
        if (!is_granted(m->provider, stored->fields[i].name))
            wrong = stored->fields[i].name;
    }
    for (size_t i = 0; wrong == NULL && i < made->field_count; i++) {
        const struct cfr_grant_field *f = &made->fields[i];

        if (!may_differ(f->name) && !cfr_view_eq(cfr_secret_view(&f->value), cfr_grant_get(stored, f->name)))
            wrong = f->name;
    }
    return wrong == NULL ? 0
                         : cfr_err_set(err, CFR_E_CONFLICT, "its field %s is not the one that the configuration gives",
                                       cfr_grant_public_name(wrong));
}

/* Finds the key in its own secret, as for an adoption. */
static int recognize(struct cfr_rotator *m, const struct cfr_rotator_pending *key, struct cfr_err *err)
{
    struct cfr_rotation_ask ask = {.now_s = cfr_clock_now().wall_ms / 1000};
    struct cfr_rotation_answer *out = &m->confirm.answer;
    struct cfr_grant fields = {0};
    int rc = cfr_rotator_find_admin(m, &ask.admin, err);

    if (rc != 0)
        return rc;
    cfr_rotation_answer_free(out);
    rc = cfr_rotator_copy_grant(&key->grant, &fields, err);
    if (rc == 0)
        rc = cfr_grant_set(&fields, CFR_ROTATION_FOUND_ID, cfr_view_of(key->key.id), err);
    if (rc == 0)
        rc = m->provider->recognize(m->provider_config, &ask, &fields, out, err);
    if (rc == 0 && strcmp(out->made.id, key->key.id) != 0)
        rc = cfr_err_set(err, CFR_E_CONFLICT, "its secret is that of another key, %s", out->made.id);
    if (rc == 0)
        rc = compare(m, &key->grant, &out->grant, err);
    cfr_grant_free(&fields);
    return rc;
}

int cfr_rotator_judge_listed(const struct cfr_rotator *m, const struct cfr_rotation_keys *keys, struct cfr_err *err)
{
    const struct cfr_rotator_confirmation *c = &m->confirm;
    enum cfr_rotation_key_state state = cfr_rotation_look_up(keys, c->id);

    for (size_t i = 0; state == CFR_ROTATION_KEY_ACTIVE && i < keys->count; i++) {
        const struct cfr_rotation_key *one = &keys->key[i];

        if (strcmp(one->id, c->id) == 0 && one->hint[0] != '\0' && c->answer.made.hint[0] != '\0' &&
            strcmp(one->hint, c->answer.made.hint) != 0)
            return cfr_err_set(err, CFR_E_CONFLICT, "its secret is that of another key");
    }
    if (state == CFR_ROTATION_KEY_ACTIVE)
        return 0;
    if (state == CFR_ROTATION_KEY_DELETED && cfr_clock_now().wall_ms / 1000 < c->listed_from_s)
        return 1;
    return state == CFR_ROTATION_KEY_DELETED
               ? cfr_err_set(err, CFR_E_MISSING, "the cloud has no such key")
               : cfr_err_set(err, CFR_E_REJECTED, "the key %s", cfr_rotation_key_fate(state));
}

void cfr_rotator_forget_confirmation(struct cfr_rotator *m)
{
    struct cfr_rotator_confirmation *c = &m->confirm;

    cfr_rotation_answer_free(&c->answer);
    c->id[0] = '\0';
    c->listed = false;
    c->list_boot_ms = 0;
}

int cfr_rotator_begin_confirmation(struct cfr_rotator *m, struct cfr_rotator_pending *key, int64_t made_s,
                                   struct cfr_err *err)
{
    struct cfr_rotator_confirmation *c = &m->confirm;
    int64_t now_s = cfr_clock_now().wall_ms / 1000;

    if (strcmp(c->id, key->key.id) != 0) {
        cfr_rotator_forget_confirmation(m);
        (void)snprintf(c->id, sizeof c->id, "%s", key->key.id);
        /* A time that is ahead of the clock says nothing. */
        c->listed_from_s = (made_s < now_s ? made_s : now_s) + m->r.rules.settle_s;
    }
    c->key = key;
    return c->listed ? 0 : recognize(m, key, err);
}
