/* SPDX-License-Identifier: MIT */
/* Rotation of one key: what others ask of it. */
#include "agent/rotation/shared_private.h"

#include <stdio.h>
#include <string.h>

static bool is_followed(const struct cfr_rotator *m)
{
    return m->shared != NULL && cfr_rotator_shared_is_followed(m->shared);
}

const char *cfr_rotator_provider(const struct cfr_rotator *m)
{
    return m->provider->name;
}

bool cfr_rotator_is_settled(const struct cfr_rotator *m)
{
    enum cfr_rotation_step step = m->r.journal.step;

    return m->broken.code == 0 && m->r.journal.current[0] != '\0' &&
           (step == CFR_ROTATION_REST || step == CFR_ROTATION_PUBLISHED || step == CFR_ROTATION_RETIRING ||
            step == CFR_ROTATION_INACTIVE || step == CFR_ROTATION_DELETING);
}

bool cfr_rotator_old_is_gone(struct cfr_rotator *m)
{
    return cfr_rotator_is_settled(m) && m->r.journal.step == CFR_ROTATION_REST && m->r.journal.old[0] == '\0' &&
           !m->save.saving && (m->shared == NULL || m->shared->known) && !m->store->lags(m);
}

int64_t cfr_rotator_due_ms(const struct cfr_rotator *m)
{
    int64_t due_ms = cfr_rotation_due_s(&m->r.journal, &m->r.rules) * 1000;
    int64_t later_ms;

    if (!is_followed(m))
        return due_ms;
    /* What another agent is about to do is not asked for at once again. */
    later_ms = cfr_clock_now().wall_ms + m->shared->takeover_ms / 3;
    return due_ms > later_ms ? due_ms : later_ms;
}

int64_t cfr_rotator_ends_ms(const struct cfr_rotator *m)
{
    const struct cfr_rotation_journal *j = &m->r.journal;
    int64_t ends_s = j->step == CFR_ROTATION_VERIFIED ? j->minted_ends_s : j->current_ends_s;

    return ends_s != 0 ? ends_s * 1000 : INT64_MAX;
}

int cfr_rotator_may_be_asked(const struct cfr_rotator *m, struct cfr_err *err)
{
    return m == NULL || m->broken.code == 0 ? 0 : cfr_err_set(err, m->broken.code, "%s", m->broken.text);
}

/* A key is being made, or is on its way to the targets. */
static bool is_making(const struct cfr_rotator *m)
{
    enum cfr_rotation_step step = m->r.journal.step;

    return step == CFR_ROTATION_INTENT || step == CFR_ROTATION_MINTED || step == CFR_ROTATION_VERIFIED;
}

bool cfr_rotator_counts(struct cfr_rotator *m)
{
    return !m->store->lags(m) && (m->r.journal.asked || !is_making(m));
}

void cfr_rotator_ask(struct cfr_rotator *m)
{
    /* The journal is another agent's to change. */
    if (m == NULL || !m->r.journal.asked || !is_making(m) || (m->shared != NULL && !m->shared->holds))
        return;
    m->r.journal.asked = false;
    m->save.unsaved = true;
}

bool cfr_rotator_fresh(const struct cfr_rotator *m, struct cfr_publish_minted *out)
{
    *out = (struct cfr_publish_minted){m->given.id, m->given.minted_s, m->given.number, m->given.journal,
                                       m->given.adopted};
    return m->given.id[0] != '\0';
}

bool cfr_rotator_is_writing(const struct cfr_rotator *m)
{
    return m->files.look_boot_ms != 0;
}

int64_t cfr_rotator_deadline(struct cfr_rotator *m)
{
    int64_t store_ms = m != NULL ? m->store->deadline(m) : INT64_MAX;
    int64_t own_ms;

    if (m == NULL || cfr_rotator_is_calling(m))
        return store_ms;
    own_ms = m->deadline_boot_ms > m->error.retry_boot_ms ? m->deadline_boot_ms : m->error.retry_boot_ms;
    return own_ms < store_ms ? own_ms : store_ms;
}

/* What is shared was not read yet, or has a key that this agent does not publish yet. */
static bool wants_news(struct cfr_rotator *m)
{
    return m->shared != NULL && m->broken.code == 0 && (!m->shared->known || m->store->lags(m));
}

/* The key ID was given, and is not at all targets yet. */
static bool is_given(const struct cfr_rotator *m, const char *id)
{
    return strcmp(m->given.id, id) == 0;
}

bool cfr_rotator_has_news(struct cfr_rotator *m)
{
    const struct cfr_rotator_shared *s = m->shared;
    const struct cfr_rotation_journal *j = &m->r.journal;

    if (s == NULL)
        return false;
    /* A start that would give the same key again is no news: a target may refuse it. */
    if (s->wake || m->store->lags(m))
        return s->wake || !is_given(m, j->current);
    return s->holds && !m->save.saving && j->step == CFR_ROTATION_VERIFIED && m->waiter.done == NULL &&
           !is_given(m, j->minted);
}

bool cfr_rotator_takes_news(struct cfr_rotator *m)
{
    bool wake = m->shared != NULL && m->shared->wake;

    if (wake)
        m->shared->wake = false;
    return wake;
}

bool cfr_rotator_goes_on(struct cfr_rotator *m)
{
    return m != NULL && (wants_news(m) || cfr_rotator_is_busy(m) ||
                         (m->offer_retries != 0 && m->offer_retries <= CFR_ROTATOR_OFFER_RETRIES) || m->r.misses == 1 ||
                         m->last.found_refused || cfr_rotator_deadline(m) <= cfr_clock_now().boot_ms);
}

bool cfr_rotator_is_refused(const struct cfr_rotator *m)
{
    return m != NULL && cfr_rotation_is_refused(&m->r);
}

bool cfr_rotator_must_replace(const struct cfr_rotator *m)
{
    return cfr_rotator_may_begin(m) && cfr_rotation_must_replace(&m->r);
}

bool cfr_rotator_needs_admin(struct cfr_rotator *m)
{
    return m->broken.code == 0 && (m->r.journal.step != CFR_ROTATION_REST || m->r.journal.current[0] == '\0' ||
                                   m->store->lags(m) || cfr_rotation_must_replace(&m->r) ||
                                   cfr_clock_now().wall_ms / 1000 >= cfr_rotation_due_s(&m->r.journal, &m->r.rules));
}

bool cfr_rotator_is_busy(const struct cfr_rotator *m)
{
    return m != NULL && (cfr_rotator_is_calling(m) || cfr_rotator_is_writing(m));
}

void cfr_rotator_status(struct cfr_rotator *m, bool passed_on, struct cfr_api_status_mint *out)
{
    struct cfr_rotation_facts facts;
    const struct cfr_rotation_journal *j = &m->r.journal;
    size_t put_aside = 0;
    int64_t grace_left_s;
    bool stuck;

    for (size_t i = 0; i < j->aside_count; i++) {
        if (!j->aside[i].ours)
            m->words.put_aside[put_aside++] = j->aside[i].id;
    }
    cfr_rotator_facts(m, &facts);
    cfr_rotation_words(&m->r, &facts, m->words.wait);
    grace_left_s = cfr_rotation_grace_left_s(&m->r, &facts);
    if (j->step == CFR_ROTATION_REST && m->words.aside[0] != '\0' && put_aside == 0 && !cfr_rotation_is_full(&m->r))
        (void)snprintf(m->words.wait, sizeof m->words.wait, "%.511s", m->words.aside);
    if (is_followed(m))
        (void)snprintf(m->words.wait, sizeof m->words.wait, "another agent, which continues the rotation: %.255s",
                       m->shared->holder[0] != '\0' ? m->shared->holder : "one without name");
    if (passed_on && j->step == CFR_ROTATION_REST)
        (void)snprintf(m->words.wait, sizeof m->words.wait,
                       CFR_ROTATION_WAITS_OPERATOR "%.63s may not create keys of %.200s, so its own key is published",
                       m->config->mint->with, j->subject);
    if (cfr_rotator_is_refused(m))
        (void)snprintf(m->words.refused, sizeof m->words.refused, "the published key %s of %s %s%s%s%s", j->current,
                       j->subject, cfr_rotation_key_fate(m->r.key_state),
                       m->r.rules.replace ? "" : ", and is not replaced: `mint.verify` is false",
                       j->old[0] != '\0' ? "; kept is the old key " : "", j->old);
    stuck = m->broken.code != 0 || cfr_rotator_is_refused(m) ||
            (m->error.err.code != 0 && j->step != CFR_ROTATION_MINTED) ||
            (j->step == CFR_ROTATION_VERIFIED && !facts.pending && !facts.new_published && !is_followed(m));
    *out = (struct cfr_api_status_mint){
        .state = cfr_rotation_state(j, m->last.failed || stuck),
        .step = cfr_rotation_step_name(j->step),
        .waits_for = m->words.wait[0] != '\0'                             ? m->words.wait
                     : j->former_count != 0 && m->words.former[0] != '\0' ? m->words.former
                                                                          : NULL,
        .error = m->broken.code != 0         ? m->broken.text
                 : m->error.err.code != 0    ? m->error.err.text
                 : cfr_rotator_is_refused(m) ? m->words.refused
                                             : NULL,
        .key_state = cfr_rotation_key_state_name(m->r.key_state),
        .key_refused = cfr_rotator_is_refused(m) ? m->words.refused : NULL,
        .subject = j->subject[0] != '\0' ? j->subject : NULL,
        .role = m->shared == NULL  ? NULL
                : m->shared->holds ? "holder"
                                   : "follower",
        .holder = m->shared != NULL && m->shared->holder[0] != '\0' ? m->shared->holder : NULL,
        .passed_on = passed_on ? m->config->mint->with : NULL,
        .key = j->current[0] != '\0' ? j->current : NULL,
        .old_key = j->old[0] != '\0' ? j->old : NULL,
        .put_aside = m->words.put_aside,
        .put_aside_count = put_aside,
        .old_key_until_s = grace_left_s > 0 ? facts.now_s + grace_left_s : 0,
        .minted_s = j->current[0] != '\0' ? j->current_s : 0,
        .due_s = j->current[0] != '\0' ? cfr_rotation_due_s(j, &m->r.rules) : 0,
        .rotation = j->rotation,
        .completed = m->stats.completed,
        .undone = m->stats.undone,
    };
}
