/* SPDX-License-Identifier: MIT */
/* `or: pass_on`: publishes the key of `with` while the cloud refuses to create keys. The record has that key's
 * fingerprint as its token_mark, which is 0 for a key that was created. */
#include "agent/rotation/rotated_key_private.h"

#include "agent/rotation/rotator_private.h"
#include "base/hash.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define RETRY_MS       CFR_HOUR_MS
#define RETRY_LEAST_MS CFR_MINUTE_MS

bool cfr_rotator_has_key(const struct cfr_rotator *m)
{
    const struct cfr_rotation_journal *j = &m->r.journal;

    /* The journal that is broken may name one. A verified one may be published by now. */
    return m->broken.code != 0 || j->step == CFR_ROTATION_VERIFIED || j->current[0] != '\0' || j->old[0] != '\0' ||
           j->former_count != 0;
}

/* The last attempt ended because the cloud refuses `with` the right, and no key was ever published. */
static bool may_not_create(const struct cfr_rotator *m)
{
    return m->last.may_not && m->r.journal.step == CFR_ROTATION_REST && !cfr_rotator_has_key(m);
}

/* Fills the empty OUT with the key of `with`, as one that was created would be published. */
static int copy_admin(const struct cfr_rotator *m, struct cfr_grant *out, struct cfr_err *err)
{
    struct cfr_rotation_ask ask = {.now_s = cfr_clock_now().wall_ms / 1000};
    char identity[128];
    int rc;

    if (m->provider->pass_on == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "`with` has %s, which is not a key", m->provider->admin_has);
    rc = cfr_rotator_find_admin(m, &ask.admin, err);
    if (rc == 0)
        rc = m->provider->pass_on(m->provider_config, &ask, out, err);
    (void)snprintf(identity, sizeof identity, "the key of %.63s, passed on", m->config->mint->with);
    return rc == 0 ? cfr_grant_set_identity(out, cfr_view_of(identity), err) : rc;
}

void cfr_rotator_clear_failure(struct cfr_rotator *m)
{
    m->last.failed = false;
}

bool cfr_rotator_key_is_passed_on(const struct cfr_rotator_key *k)
{
    const struct cfr_publish_record *r = k->client.record;

    /* With another configuration the mark is of another source. */
    return r->generation != 0 && r->token_mark != 0 && r->digest_material == k->config->digest_material &&
           !cfr_rotator_has_key(k->rotator);
}

/* Never 0. */
static uint64_t mark_of(const struct cfr_grant *grant)
{
    uint64_t h = CFR_HASH_START;

    for (size_t i = 0; i < grant->field_count; i++) {
        struct cfr_view value = cfr_grant_get(grant, grant->fields[i].name);

        h = cfr_hash_add(h, grant->fields[i].name, strlen(grant->fields[i].name) + 1);
        h = cfr_hash_add(h, value.p, value.n);
    }
    return h != 0 ? h : 1;
}

/* Full jitter, so that a fleet does not ask at once. */
int64_t cfr_rotator_key_retry_ms(void)
{
    int64_t delay_ms = (int64_t)(cfr_clock_chance() * RETRY_MS);

    return cfr_clock_now().wall_ms + (delay_ms > RETRY_LEAST_MS ? delay_ms : RETRY_LEAST_MS);
}

static void report(struct cfr_rotator_key *k, const struct cfr_err *err)
{
    const char *with = k->config->mint->with;
    char subject[CFR_ROTATION_SUBJECT_MAX];

    cfr_config_mint_subject(k->config->mint, subject);
    cfr_log(k->pass_on_logged ? CFR_LOG_DEBUG : CFR_LOG_WARN, k->config->name, "exchanging",
            "%s may not create keys of %s: publishing its own key until it may; consumers have the rights of %s (%s)",
            with, subject, with, err->text);
    k->pass_on_logged = true;
}

/* The key with MARK is published everywhere. */
static bool is_published(const struct cfr_rotator_key *k, uint64_t mark)
{
    const struct cfr_source_client *c = &k->client;

    return mark == c->record->token_mark && !k->again && !cfr_publish_secret_lost(c->delivery) &&
           cfr_publisher_verify(c->targets, c->record, NULL) == 0;
}

void cfr_rotator_key_pass_on(struct cfr_rotator_key *k, struct cfr_source_exchange_result *r, struct cfr_grant *grant)
{
    bool already = cfr_rotator_key_is_passed_on(k);
    bool refused = may_not_create(k->rotator) && !cfr_publisher_holds_made_key(k->client.targets);
    uint64_t mark;
    bool same;

    if (k->config->mint->otherwise == NULL || (!refused && !already) || copy_admin(k->rotator, grant, NULL) != 0)
        return;
    mark = mark_of(grant);
    same = already && is_published(k, mark);
    /* Another failure than the refusal is reported as any other. */
    if (same && !refused)
        return;
    if (refused)
        report(k, &r->err);
    if (same)
        cfr_rotator_clear_failure(k->rotator);
    *r = (struct cfr_source_exchange_result){
        .grant = same ? NULL : grant,
        .retry_after_s = -1,
        .duration_s = r->duration_s,
        .produced = {.mark = mark, .due_ms = cfr_rotator_key_retry_ms(), .ends_ms = INT64_MAX},
    };
}
