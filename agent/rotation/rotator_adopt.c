/* SPDX-License-Identifier: MIT */
/* Adoption of a key that another program created. */
#include "agent/rotation/rotator_private.h"

#include "base/log.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

bool cfr_rotator_adopts(const struct cfr_rotator *m)
{
    return m->config->mint->adopt != NULL && m->broken.code == 0 && m->r.journal.step == CFR_ROTATION_REST &&
           m->r.journal.current[0] == '\0' && m->r.journal.former_count == 0;
}

bool cfr_rotator_has_found(const struct cfr_rotator *m)
{
    return cfr_rotator_adopts(m) && m->adoption.state == CFR_ADOPTION_DONE && m->adoption.answer.grant.field_count != 0;
}

void cfr_rotator_forget_found(struct cfr_rotator *m)
{
    /* What is under way still ends, and is of use then. */
    if (m->adoption.state == CFR_ADOPTION_UNDER_WAY)
        return;
    cfr_grant_free(&m->adoption.found.values);
    cfr_rotation_answer_free(&m->adoption.answer);
    m->adoption = (struct cfr_rotator_adoption){.state = CFR_ADOPTION_NEW};
}

void cfr_rotator_found(struct cfr_rotator *m, int rc, struct cfr_rotation_found *found, struct cfr_err *err)
{
    m->adoption.state = CFR_ADOPTION_READ;
    if (rc == 0)
        m->adoption.err = (struct cfr_err){0};
    else
        m->adoption.err = *err;
    m->adoption.found.since_s = found->since_s;
    cfr_grant_move(&m->adoption.found.values, &found->values);
    m->deadline_boot_ms = 0;
}

/* Finds the key in what was read. */
static int recognize(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotator_adoption *a = &m->adoption;
    struct cfr_rotation_ask ask = {.now_s = cfr_clock_now().wall_ms / 1000};
    struct cfr_grant fields = {0};
    int rc = a->err.code;

    if (rc != 0)
        *err = a->err;
    else
        rc = cfr_rotation_found_fields(&a->found, &fields, err);
    if (rc == 0)
        rc = cfr_rotator_find_admin(m, &ask.admin, err);
    if (rc == 0)
        rc = m->provider->recognize(m->provider_config, &ask, &fields, &a->answer, err);
    cfr_grant_free(&fields);
    if (rc != 0)
        cfr_rotation_answer_free(&a->answer);
    return rc;
}

int cfr_rotator_find_key(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotator_adoption *a = &m->adoption;
    bool target = m->config->mint->adopt != NULL && strcmp(m->config->mint->adopt, CFR_ADOPT_TARGET) == 0;
    struct cfr_rotation_found found = {0};
    struct cfr_err why = {0};
    int rc;

    if (!cfr_rotator_adopts(m) || m->waiter.done == NULL || a->state == CFR_ADOPTION_DONE)
        return 0;
    if (a->state == CFR_ADOPTION_UNDER_WAY)
        return 1;
    /* 1. Read what is there. */
    if (a->state == CFR_ADOPTION_NEW) {
        rc = m->context.find(m->context.ctx, &found, &why);
        if (rc == 1) {
            a->state = CFR_ADOPTION_UNDER_WAY;
            return 1;
        }
        cfr_rotator_found(m, rc, &found, &why);
    }
    /* 2. Find the key in it. Where there is none, a target has had none yet. */
    rc = recognize(m, err);
    if (rc == CFR_E_MISSING && target) {
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "found no key to adopt, creating the first one: %s", err->text);
        *err = (struct cfr_err){0};
        rc = 0;
    }
    /* What was read is kept until `with` is there. */
    if (rc == CFR_E_UNAVAILABLE && a->err.code == 0)
        return rc;
    cfr_grant_free(&a->found.values);
    a->state = rc == 0 ? CFR_ADOPTION_DONE : CFR_ADOPTION_NEW;
    return rc == 0
               ? 0
               : cfr_err_prefix(err, "cannot adopt a key from %.200s", target ? "the targets" : m->config->mint->adopt);
}

#define ADOPTED CFR_ROTATION_NAME_OURS "%.48s-adopted-" /* and a number: the name that we give it */

bool cfr_rotator_has_adopted_name(const struct cfr_rotator *m)
{
    char start[sizeof ADOPTED + 48];

    (void)snprintf(start, sizeof start, ADOPTED, m->config->name);
    return strncmp(m->r.journal.name, start, strlen(start)) == 0;
}

/* What is kept of the key that is to be taken. */
static int prepare(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotator_pending *p = &m->pending;
    char identity[CFR_ROTATION_ID_MAX + CFR_ROTATION_SUBJECT_MAX + 8];
    int rc;

    cfr_rotator_free_pending(p);
    (void)snprintf(p->name, sizeof p->name, ADOPTED "%08lx", m->config->name,
                   (unsigned long)(cfr_clock_chance() * UINT32_MAX));
    for (size_t i = 0; i < m->r.seen.count; i++) {
        if (strcmp(m->r.seen.key[i].id, m->r.suspect) == 0)
            p->key = m->r.seen.key[i];
    }
    (void)snprintf(identity, sizeof identity, "%s of %s", p->key.id, m->r.journal.subject);
    p->confirmed = true;
    rc = cfr_rotator_copy_grant(&m->adoption.answer.grant, &p->grant, err);
    return rc == 0 ? cfr_grant_set_identity(&p->grant, cfr_view_of(identity), err) : rc;
}

int cfr_rotator_take(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotator_pending *p = &m->pending;
    int64_t now_s = cfr_rotator_now_s(m);
    char age[CFR_TIME_WORDS_MAX];
    int rc = 0;

    /* 1. Keep its secret: where it was found it may be gone in a moment. */
    if (p->held || p->name[0] == '\0' || strcmp(p->key.id, m->r.suspect) != 0)
        rc = prepare(m, err);
    if (rc == 0)
        rc = m->store->save_pending(m, err);
    if (rc == CFR_ROTATOR_UNDER_WAY)
        return rc;
    if (rc != 0) {
        cfr_rotator_free_pending(p);
        return rc;
    }
    p->held = true;
    /* 2. From here on it is the new key. */
    m->save.unsaved = cfr_rotation_taken(&m->r, p->name, m->adoption.found.since_s, now_s);
    cfr_rotator_note_account(m);
    cfr_rotator_note_own(m, m->r.journal.minted);
    cfr_rotator_forget_found(m);
    cfr_log(CFR_LOG_INFO, m->config->name, NULL, "adopted the key %s of %s, which is %s old", m->r.journal.minted,
            m->r.journal.subject, cfr_time_words((now_s - m->r.journal.minted_s) * 1000, age));
    return 0;
}
