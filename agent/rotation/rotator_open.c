/* SPDX-License-Identifier: MIT */
/* Rotation of one key: opening, closing and reloading. */
#include "agent/rotation/leftover.h"
#include "agent/rotation/shared_private.h"
#include "base/log.h"

#include <stdlib.h>

static void set_rules(struct cfr_rotator *m, const struct cfr_config_credential *config)
{
    const struct cfr_config_mint *c = config->mint;

    m->config = config;
    m->provider = cfr_config_mint_provider(c, &m->provider_config);
    m->r.provider = m->provider;
    m->r.credential = config->name;
    m->r.rules = (struct cfr_rotation_rules){
        .expire_after_s = c->expire_after_ms / 1000,
        .grace_s = (c->grace_ms + 999) / 1000,
        .grace_most_s = (c->grace_most_ms + 999) / 1000,
        .verify_wait_s = c->verify_wait_ms >= 0 ? (c->verify_wait_ms + 999) / 1000 : m->provider->verify_wait_s,
        .verify_most_s = (c->verify_timeout_ms + 999) / 1000,
        .inactive_s = (c->inactive_ms + 999) / 1000,
        .settle_s = (c->settle_ms + 999) / 1000,
        .lookup_s = (c->verify_every_ms + 999) / 1000,
        .replace = c->verify,
        .keep_lost = c->keep_unknown || !m->provider->sole,
        .spread = m->r.rules.spread,
    };
}

/* A key that a late request makes must be found. */
static void raise_settle(struct cfr_rotator *m)
{
    int64_t limit_s = (cfr_rotator_request_limit_ms(m) + 999) / 1000;

    if (m->shared != NULL && m->r.rules.settle_s < limit_s)
        m->r.rules.settle_s = limit_s;
}

/* Where the journal is kept may be another place than before. */
static int choose_store(struct cfr_rotator *m)
{
    const struct cfr_config_mint_state *state = m->config->mint->state;
    int rc = 0;

    cfr_rotator_hang_up(m);
    m->store->close(m);
    cfr_rotator_forget_confirmation(m);
    m->confirm.refused[0] = '\0';
    cfr_rotator_free_pending(&m->pending);
    m->save.saving = false;
    m->save.unsaved = false;
    m->save.moved = false;
    /* What was known of the former journal is not about this one. */
    m->r = (struct cfr_rotation_rotation){.provider = m->r.provider,
                                          .credential = m->r.credential,
                                          .rules = m->r.rules,
                                          .journal = {.step = CFR_ROTATION_REST}};
    m->store = &cfr_rotator_file_store;
    if (state != NULL)
        rc = cfr_rotator_shared_open(m, state, NULL);
    if (rc != 0)
        return rc;
    cfr_rotator_load(m);
    raise_settle(m);
    return 0;
}

void cfr_rotator_report_leftover(const struct cfr_rotator *m)
{
    const struct cfr_rotation_journal *j = &m->r.journal;
    struct cfr_str keys = {.limit = CFR_ROTATOR_LEFTOVER_MAX};

    cfr_rotator_leftover_keys(j, &keys);
    if (keys.len != 0)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the keys of %.200s are no longer rotated: %.700s remain until an operator deletes them", j->subject,
                keys.p);
    cfr_str_free(&keys);
}

int cfr_rotator_open(const struct cfr_rotator_context *context, const struct cfr_config_credential *config,
                     double spread, struct cfr_rotator **out, struct cfr_err *err)
{
    struct cfr_rotator *m = calloc(1, sizeof *m);

    if (m == NULL)
        return cfr_err_nomem(err);
    m->context = *context;
    m->r.rules.spread = spread;
    m->store = &cfr_rotator_file_store;
    m->deadline_boot_ms = 0;
    set_rules(m, config);
    if (choose_store(m) != 0 || m->broken.code == CFR_E_NOMEM) {
        cfr_rotator_close(m);
        return cfr_err_nomem(err);
    }
    *out = m;
    return 0;
}

void cfr_rotator_close(struct cfr_rotator *m)
{
    if (m == NULL)
        return;
    cfr_rotator_hang_up(m);
    m->store->close(m);
    cfr_rotator_forget_confirmation(m);
    cfr_rotator_free_pending(&m->pending);
    cfr_grant_free(&m->made);
    cfr_rotator_forget_found(m);
    free(m);
}

void cfr_rotator_rebind(struct cfr_rotator *m, const struct cfr_config_credential *config)
{
    /* A try borrows the former copy; another one costs nothing. */
    if (m->call.trial != NULL)
        cfr_rotator_hang_up(m);
    /* The owner ends its search. */
    if (m->adoption.state == CFR_ADOPTION_UNDER_WAY)
        m->adoption.state = CFR_ADOPTION_NEW;
    set_rules(m, config);
    m->deadline_boot_ms = 0;
    if (!cfr_rotator_shared_fits(m->shared, config->mint->state) && choose_store(m) != 0)
        cfr_rotator_load(m);
    raise_settle(m);
}
