/* SPDX-License-Identifier: MIT */
/* Rotation of one key: the steps it takes. */
#include "agent/rotation/shared_private.h"

#include "agent/rotation/leftover.h"
#include "base/log.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFER_RETRY_MS 250
#define STEPS_MOST     32 /* without a request between them: more are a fault of the program */

/* ---- what there is ---- */

/* The owner was WAS: each key has a line of its own, so that none is cut off. */
static void report_change(const struct cfr_rotator *m, const char *was, size_t former, const struct cfr_str *left,
                          bool unknown)
{
    const struct cfr_rotation_journal *j = &m->r.journal;

    for (size_t i = former; i < j->former_count; i++)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the owner is %.200s now: the key %s of %.200s is removed once the new owner's is published and its "
                "grace is over",
                j->subject, j->former[i].id, was);
    if (left->len != 0)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the owner is now %.200s; these keys of %.200s remain until an operator deletes them, because they may "
                "be another user's, or there are too many: %s",
                j->subject, was, left->p);
    if (unknown)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the owner is now %.200s; one more key of %.200s may have been created a moment ago: it remains until "
                "an operator deletes it",
                j->subject, was);
}

void cfr_rotator_check_subject(struct cfr_rotator *m)
{
    struct cfr_rotation_journal *j = &m->r.journal;
    struct cfr_str left = {.limit = CFR_ROTATOR_LEFTOVER_MAX};
    bool answered = j->step == CFR_ROTATION_INTENT && m->pending.held && strcmp(m->pending.name, j->name) == 0;
    bool unknown = !answered && (j->step == CFR_ROTATION_INTENT || j->step == CFR_ROTATION_LOST);
    size_t former = j->former_count;
    size_t n = strlen(m->provider->name);
    char subject[CFR_ROTATION_SUBJECT_MAX];
    char was[CFR_ROTATION_SUBJECT_MAX];
    bool changed;

    cfr_config_mint_subject(m->config->mint, subject);
    (void)snprintf(was, sizeof was, "%s", j->subject);
    /* The answer came, and was not written down in the journal any more. */
    if (answered && strcmp(was, subject) != 0)
        (void)snprintf(j->minted, sizeof j->minted, "%s", m->pending.key.id);
    changed = cfr_rotation_change_owner(j, subject, &left);
    if (changed) {
        /* Only where the former owner's keys are asked for does it matter where they are. */
        if (!m->provider->asks_owner || strncmp(was, m->provider->name, n) != 0 || was[n] != '/')
            j->account[0] = '\0';
        if (!m->save.moved)
            report_change(m, was, former, &left, unknown);
    }
    m->save.moved = changed;
    cfr_str_free(&left);
}

/* What is shared is read later, and its secret kept until then. */
void cfr_rotator_load(struct cfr_rotator *m)
{
    m->broken = (struct cfr_err){0};
    if (m->shared == NULL && m->config->mint->state != NULL) {
        (void)cfr_err_set(&m->broken, CFR_E_NOMEM, "out of memory for the shared rotation; reload again");
        return;
    }
    if (m->store->load(m, &m->broken) == 0)
        m->broken.code = 0;
    if (m->shared == NULL)
        cfr_rotator_check_subject(m);
}

/* ---- steps ---- */

void cfr_rotator_finish(struct cfr_rotator *m, struct cfr_source_exchange_result *result)
{
    struct cfr_rotator_waiter waiter = m->waiter;

    m->waiter = (struct cfr_rotator_waiter){.done = NULL};
    result->duration_s = m->stats.duration_s;
    m->stats.duration_s = 0;
    waiter.done(waiter.ctx, result);
}

/* The secret is not to be lost: what cannot be kept is tried again until it can. */
static int store_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    int rc = m->store->save_pending(m, err);

    if (rc == 0)
        m->save.unsaved = cfr_rotation_made(&m->r, &m->pending.key, cfr_rotator_now_s(m)) || m->save.unsaved;
    return rc;
}

void cfr_rotator_facts(struct cfr_rotator *m, struct cfr_rotation_facts *out)
{
    struct cfr_now now = cfr_clock_now();
    int64_t held_ms = m->published_boot_ms != 0 ? m->published_boot_ms + m->r.rules.grace_s * 1000 - now.boot_ms : 0;

    *out = (struct cfr_rotation_facts){
        .now_s = cfr_rotator_now_s(m),
        .chance = (uint32_t)(cfr_clock_chance() * UINT32_MAX),
        .wanted = m->waiter.done != NULL && m->waiter.wanted,
        .lost = m->waiter.done != NULL && m->waiter.lost,
        .alone = m->waiter.done == NULL,
        .pending = m->pending.held && m->pending.stored && strcmp(m->pending.name, m->r.journal.name) == 0,
        .pending_id = m->pending.key.id,
        .pending_ends_s = m->pending.key.ends_s,
        .grace_left_s = held_ms > 0 ? (held_ms + 999) / 1000 : 0,
        .used_by_all = m->context.used_by_all(m->context.ctx),
        .number = m->shared != NULL ? m->shared->own_number : 0,
        .refused = m->confirm.refused[0] != '\0' && strcmp(m->confirm.refused, m->r.journal.minted) == 0,
        .is_own = m->shared != NULL ? m->context.is_own : NULL,
        .ctx = m->context.ctx,
    };
    if (cfr_rotator_has_found(m)) {
        out->found = true;
        out->found_id = m->adoption.answer.made.id;
        out->found_hint = m->adoption.answer.made.hint;
    }
    if (m->r.journal.step == CFR_ROTATION_VERIFIED)
        out->new_published = m->context.is_published(m->context.ctx, m->r.journal.minted);
}

/* What changes while it is under way is saved after it. */
static int save_journal(struct cfr_rotator *m, struct cfr_err *err)
{
    int rc;

    m->save.unsaved = false;
    rc = m->store->save_journal(m, err);
    m->save.saving = rc == CFR_ROTATOR_UNDER_WAY;
    m->save.moved = m->save.moved && rc < 0;
    m->save.unsaved = m->save.unsaved || (rc != 0 && !m->save.saving);
    if (rc == 0)
        cfr_rotator_clear_error(m, CFR_ROTATOR_AT_STORE);
    return rc;
}

void cfr_rotator_save(struct cfr_rotator *m)
{
    struct cfr_err err = {0};

    if (save_journal(m, &err) < 0)
        cfr_rotator_note_error(m, CFR_ROTATOR_AT_STORE, &err, -1);
}

/* What must be written before anything else is done: 0 or CFR_ROTATOR_UNDER_WAY, or an error. */
static int save_changes(struct cfr_rotator *m, struct cfr_err *err)
{
    bool stale = m->pending.stored && (!m->pending.held || strcmp(m->pending.name, m->r.journal.name) != 0);
    int rc = 0;

    /* Until a key of the new owner is about to be made, the former one may be set back: it may have been a mistake. */
    if (m->save.moved && m->r.journal.step == CFR_ROTATION_REST)
        return 0;
    /* The former owner's journal needs its pending secret. */
    if (m->save.moved && m->save.unsaved)
        rc = save_journal(m, err);
    if (rc == 0 && stale)
        rc = m->store->drop_pending(m, err);
    if (rc == 0 && m->pending.held && !m->pending.stored)
        rc = store_pending(m, err);
    return rc == 0 && m->save.unsaved ? save_journal(m, err) : rc;
}

/* Nothing is begun or published without a waiter. */
static bool is_idle(const struct cfr_rotator *m, int64_t now_s)
{
    enum cfr_rotation_step step = m->r.journal.step;

    return step == CFR_ROTATION_REST &&
           (*m->context.draining ||
            (m->waiter.done == NULL && !m->pending.stored && m->r.journal.aside_count == 0 &&
             now_s < cfr_rotation_former_due_s(&m->r) && now_s < cfr_rotation_lookup_s(&m->r, now_s)));
}

/* The waiter is about to be given the new key, or told that it is published. */
static void note_given(struct cfr_rotator *m)
{
    const struct cfr_rotation_journal *j = &m->r.journal;

    (void)snprintf(m->given.id, sizeof m->given.id, "%s", j->minted);
    m->given.minted_s = j->minted_s;
    m->given.number = j->published + 1;
    m->given.journal = m->shared != NULL ? m->shared->mark : 0;
    m->given.adopted = cfr_rotator_has_adopted_name(m);
}

/* `with` may come a moment later, at a start. */
static bool comes_soon(struct cfr_rotator *m, const struct cfr_err *err)
{
    if (err->code != CFR_E_UNAVAILABLE || m->offer_retries++ >= CFR_ROTATOR_OFFER_RETRIES)
        return false;
    m->deadline_boot_ms = cfr_clock_now().boot_ms + OFFER_RETRY_MS;
    return true;
}

bool cfr_rotator_is_confirmed(struct cfr_rotator *m, struct cfr_rotator_pending *key, int64_t made_s)
{
    const struct cfr_rotator_confirmation *c = &m->confirm;
    struct cfr_err err = {0};
    int rc;

    if (key->confirmed || *m->context.draining)
        return key->confirmed;
    if (strcmp(c->id, key->key.id) == 0 && cfr_clock_now().boot_ms < c->list_boot_ms) {
        m->deadline_boot_ms = c->list_boot_ms;
        return false;
    }
    /* 1. Whose key is it, does the cloud list it? 2. Is its secret accepted? */
    rc = cfr_rotator_begin_confirmation(m, key, made_s, &err);
    if (rc == 0)
        rc = cfr_rotator_call_to_confirm(m, c->listed ? CFR_ROTATION_VERIFY : CFR_ROTATION_LIST, c->id, &err);
    if (rc == 0)
        m->offer_retries = 0;
    else if (!comes_soon(m, &err))
        cfr_rotator_refuse_key(m, &err, rc == CFR_E_CONFLICT || rc == CFR_E_MISSING || rc == CFR_E_ANSWER, -1);
    return false;
}

static void publish(struct cfr_rotator *m)
{
    struct cfr_grant grant = {0};
    struct cfr_source_exchange_result result = {.grant = &grant, .retry_after_s = -1};

    m->pending.confirmed = false;
    result.rc = cfr_rotator_copy_grant(&m->pending.grant, &grant, &result.err);
    grant.expires_s = m->r.journal.minted_ends_s;
    cfr_rotator_finish(m, &result);
    cfr_grant_free(&grant);
}

static void undone(struct cfr_rotator *m)
{
    struct cfr_err err = {0};
    char words[CFR_TIME_WORDS_MAX];

    (void)cfr_err_set(&err, CFR_E_UNAVAILABLE,
                      "the new key %s was not accepted within %s; deleting it; the last good credentials remain%s%s",
                      m->r.journal.minted, cfr_time_words(m->r.rules.verify_most_s * 1000, words),
                      m->error.err.code != 0 ? ": " : "", m->error.err.text);
    m->error.err = (struct cfr_err){0};
    cfr_rotator_report(m, &err, -1);
}

/* There is no room for another key. */
static void full(struct cfr_rotator *m, const struct cfr_rotation_facts *facts)
{
    struct cfr_err err = {0};

    cfr_rotation_words(&m->r, facts, m->words.wait);
    (void)cfr_err_set(&err, CFR_E_LIMIT, "the rotation waits for %s", m->words.wait);
    cfr_rotator_report(m, &err, -1);
}

static void wait_until(struct cfr_rotator *m, int64_t at_s)
{
    struct cfr_now now = cfr_clock_now();

    m->deadline_boot_ms = at_s == INT64_MAX ? INT64_MAX : now.boot_ms + (at_s * 1000 - now.wall_ms);
}

/* The key that was found is not adopted. */
static void refuse_found(struct cfr_rotator *m, const struct cfr_rotation_facts *facts)
{
    struct cfr_err err = {0};

    cfr_rotation_words(&m->r, facts, m->words.wait);
    (void)cfr_err_set(&err, CFR_E_CONFIG, "the adoption waits for %s%s%s", m->words.wait,
                      m->r.unfit == CFR_ROTATION_UNFIT_REFUSED ? ": " : "",
                      m->r.unfit == CFR_ROTATION_UNFIT_REFUSED ? m->error.err.text : "");
    m->error.err = (struct cfr_err){0};
    cfr_rotator_report(m, &err, -1);
}

static int call_for(struct cfr_rotator *m, const struct cfr_rotation_todo *todo, struct cfr_err *err)
{
    static const enum cfr_rotation_op ops[] = {
        [CFR_ROTATION_ACT_LIST] = CFR_ROTATION_LIST,           [CFR_ROTATION_ACT_CREATE] = CFR_ROTATION_CREATE,
        [CFR_ROTATION_ACT_VERIFY] = CFR_ROTATION_VERIFY,       [CFR_ROTATION_ACT_DEACTIVATE] = CFR_ROTATION_DEACTIVATE,
        [CFR_ROTATION_ACT_LAST_USED] = CFR_ROTATION_LAST_USED, [CFR_ROTATION_ACT_DELETE] = CFR_ROTATION_DELETE,
    };
    int rc = todo->action == CFR_ROTATION_ACT_RIGHTS ? cfr_rotator_try_rights(m, err)
                                                     : cfr_rotator_call(m, ops[todo->action], todo->id, err);

    if (rc == 0 && todo->action == CFR_ROTATION_ACT_CREATE)
        (void)snprintf(m->call.asked_name, sizeof m->call.asked_name, "%s", m->r.journal.name);
    /* Nothing was sent. */
    if (rc != 0 && todo->action == CFR_ROTATION_ACT_CREATE)
        m->save.unsaved = cfr_rotation_refused(&m->r, cfr_rotator_now_s(m)) || m->save.unsaved;
    return rc;
}

/* In the steps from which a rotation begins, if it is due. */
bool cfr_rotator_may_begin(const struct cfr_rotator *m)
{
    enum cfr_rotation_step step = m->r.journal.step;

    return step == CFR_ROTATION_REST || (step == CFR_ROTATION_PUBLISHED && cfr_rotation_is_refused(&m->r));
}

static bool changes_cloud(enum cfr_rotation_action action)
{
    return action == CFR_ROTATION_ACT_CREATE || action == CFR_ROTATION_ACT_DEACTIVATE ||
           action == CFR_ROTATION_ACT_DELETE || action == CFR_ROTATION_ACT_DEACTIVATE_FORMER ||
           action == CFR_ROTATION_ACT_DELETE_FORMER;
}

/* True if there is more to do now. */
static bool act(struct cfr_rotator *m, const struct cfr_rotation_todo *todo, const struct cfr_rotation_facts *facts)
{
    struct cfr_err err = {0};

    m->deadline_boot_ms = INT64_MAX;
    if (todo->action == CFR_ROTATION_ACT_PUBLISH || todo->action == CFR_ROTATION_ACT_ADOPT) {
        bool waited_for = m->waiter.done != NULL;

        if (waited_for && todo->action == CFR_ROTATION_ACT_PUBLISH &&
            !cfr_rotator_is_confirmed(m, &m->pending, m->r.journal.minted_s))
            return false;
        if (waited_for)
            note_given(m);
        if (waited_for && todo->action == CFR_ROTATION_ACT_PUBLISH)
            publish(m);
        else if (waited_for)
            cfr_rotator_finish(m, &(struct cfr_source_exchange_result){.retry_after_s = -1});
        return waited_for;
    }
    if (todo->action == CFR_ROTATION_ACT_WAIT) {
        wait_until(m, todo->at_s);
        if (!cfr_rotator_may_begin(m) || m->waiter.done == NULL)
            return false;
        /* Keys that are aside, and the lookup of the published one, need no waiter. */
        m->deadline_boot_ms = 0;
        if (facts->found && m->r.unfit != CFR_ROTATION_FIT)
            refuse_found(m, facts);
        else if (m->r.listed_s == 0 || !cfr_rotation_is_full(&m->r))
            cfr_rotator_finish(m, &(struct cfr_source_exchange_result){.retry_after_s = -1});
        else
            full(m, facts);
        return false;
    }
    if (*m->context.draining)
        return false;
    if (changes_cloud(todo->action) && !m->store->may_change(m)) {
        m->save.unsaved = true;
        return true;
    }
    if (todo->action == CFR_ROTATION_ACT_DEACTIVATE_FORMER || todo->action == CFR_ROTATION_ACT_DELETE_FORMER) {
        bool off = todo->action == CFR_ROTATION_ACT_DEACTIVATE_FORMER;

        if (cfr_rotator_call_former(m, off ? CFR_ROTATION_DEACTIVATE : CFR_ROTATION_DELETE, &err) != 0) {
            cfr_rotator_former_failed(m, &err);
            return true;
        }
        return false;
    }
    if (todo->action == CFR_ROTATION_ACT_TAKE) {
        int taken = cfr_rotator_take(m, &err);

        if (taken < 0)
            cfr_rotator_note_error(m, CFR_ROTATOR_AT_START, &err, -1);
        else if (taken != 0)
            m->deadline_boot_ms = INT64_MAX;
        return taken == 0;
    }
    if (call_for(m, todo, &err) == 0) {
        m->offer_retries = 0;
        return false;
    }
    if (comes_soon(m, &err))
        return false;
    if (!m->r.looking_up) {
        cfr_rotator_note_error(m, CFR_ROTATOR_AT_START, &err, -1);
        return false;
    }
    cfr_rotator_lookup_failed(m, &err);
    return true;
}

static void log_left(struct cfr_rotator *m)
{
    if (m->r.left[0] == '\0')
        return;
    cfr_log(
        CFR_LOG_WARN, m->config->name, NULL,
        "the key %s remains: the journal says that credfresh created it, and nothing proves it to this agent; delete "
        "it in the cloud if nothing uses it",
        m->r.left);
    m->r.left[0] = '\0';
}

/* The journal has changed: BEFORE was its step, and it had ASIDE keys that are put aside. */
static void log_progress(struct cfr_rotator *m, enum cfr_rotation_step before, size_t aside)
{
    const struct cfr_rotation_journal *j = &m->r.journal;
    bool retired =
        before == CFR_ROTATION_RETIRING || before == CFR_ROTATION_INACTIVE || before == CFR_ROTATION_DELETING;

    if (j->step == CFR_ROTATION_PUBLISHED && retired)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL, "the old key %s is kept, because the published key %s %s", j->old,
                j->current, cfr_rotation_key_fate(m->r.key_state));
    else if (j->step != before)
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "rotation %llu continues: %s", (unsigned long long)j->rotation,
                cfr_rotation_step_name(j->step));
    else if (j->aside_count > aside)
        cfr_log(
            CFR_LOG_WARN, m->config->name, NULL,
            "the key %s of %s may be the one whose answer was lost, or another user's: this cloud cannot deactivate "
            "it, so it is left as it is; delete it if nothing uses it",
            m->r.suspect, j->subject);
    if (j->step == CFR_ROTATION_UNDOING && before != CFR_ROTATION_UNDOING)
        undone(m);
}

static int64_t next_look_s(const struct cfr_rotation_rotation *r, int64_t now_s)
{
    int64_t lookup_s = cfr_rotation_lookup_s(r, now_s);
    int64_t former_s = cfr_rotation_former_due_s(r);

    return former_s < lookup_s ? former_s : lookup_s;
}

/* RC of the store, which is not 0: there is nothing to do until it has ended, or is tried again. */
static bool wait_for_store(struct cfr_rotator *m, int rc, const struct cfr_err *err)
{
    m->deadline_boot_ms = INT64_MAX;
    if (rc != CFR_ROTATOR_UNDER_WAY)
        cfr_rotator_note_error(m, CFR_ROTATOR_AT_STORE, err, -1);
    return false;
}

/* True if there is more to do now. */
static bool step(struct cfr_rotator *m)
{
    enum cfr_rotation_step before = m->r.journal.step;
    size_t aside = m->r.journal.aside_count;
    struct cfr_rotation_facts facts;
    struct cfr_rotation_todo todo;
    struct cfr_err err = {0};
    int64_t now_s;
    int looking;
    bool changed;
    int saved;

    if (!m->store->may_go_on(m))
        return false;
    saved = save_changes(m, &err);
    if (saved != 0)
        return wait_for_store(m, saved, &err);
    now_s = cfr_rotator_now_s(m);
    if (is_idle(m, now_s)) {
        wait_until(m, *m->context.draining ? INT64_MAX : next_look_s(&m->r, now_s));
        return false;
    }
    looking = cfr_rotator_find_key(m, &err);
    if (looking != 0) {
        m->deadline_boot_ms = INT64_MAX;
        if (looking != 1 && !comes_soon(m, &err))
            cfr_rotator_note_error(m, CFR_ROTATOR_AT_START, &err, -1);
        return false;
    }
    cfr_rotator_facts(m, &facts);
    cfr_rotation_next(&m->r, &facts, &changed, &todo);
    m->save.unsaved = m->save.unsaved || changed;
    if (changed) {
        log_left(m);
        log_progress(m, before, aside);
        return true;
    }
    saved = todo.drop_pending ? m->store->drop_pending(m, &err) : 0;
    if (saved != 0)
        return wait_for_store(m, saved, &err);
    return todo.drop_pending || act(m, &todo, &facts);
}

void cfr_rotator_run(struct cfr_rotator *m)
{
    int steps = 0;

    m->store->step(m);
    if (cfr_rotator_is_calling(m))
        return;
    if (m->broken.code != 0) {
        m->deadline_boot_ms = INT64_MAX;
        if (m->waiter.done != NULL)
            cfr_rotator_report(m, &m->broken, -1);
        return;
    }
    while (steps++ < STEPS_MOST && cfr_clock_now().boot_ms >= m->error.retry_boot_ms && !cfr_rotator_is_calling(m) &&
           step(m)) {
    }
}

void cfr_rotator_saved(struct cfr_rotator *m, int rc, const struct cfr_err *err)
{
    m->save.saving = false;
    m->deadline_boot_ms = rc == 0 ? 0 : INT64_MAX;
    if (rc == 0) {
        cfr_rotator_clear_error(m, CFR_ROTATOR_AT_STORE);
        cfr_rotator_run(m);
    } else {
        m->save.unsaved = true;
        cfr_rotator_note_error(m, CFR_ROTATOR_AT_STORE, err, -1);
    }
    m->context.replan(m->context.ctx);
}

void cfr_rotator_step(struct cfr_rotator *m)
{
    cfr_rotator_run(m);
}

void cfr_rotator_start(struct cfr_rotator *m, bool wanted, bool again, bool lost, cfr_source_exchange_fn *done,
                       void *ctx)
{
    m->waiter = (struct cfr_rotator_waiter){done, ctx, wanted, lost};
    m->given = (struct cfr_rotator_given){.id = ""};
    if (m->broken.code != 0)
        cfr_rotator_load(m);
    m->waiter.wanted = m->store->start(m, again || lost) || wanted;
    /* Once room was made, the rotation must not wait for the list to be old. */
    if (cfr_rotator_may_begin(m) || lost)
        m->r.listed_s = 0;
    m->r.permitted = false;
    if (m->r.journal.step == CFR_ROTATION_REST) {
        m->r.try_s = 0;
        m->r.successes = 0;
        m->r.unfit = CFR_ROTATION_FIT;
        cfr_rotator_forget_found(m);
    }
    /* The published key may be known to be gone. */
    if (m->waiter.wanted && m->r.misses == 0)
        m->r.looked_s = 0;
    m->last.failed = false;
    m->last.may_not = false;
    m->last.found_refused = false;
    m->deadline_boot_ms = 0;
}

void cfr_rotator_cancel(struct cfr_rotator *m)
{
    m->waiter = (struct cfr_rotator_waiter){.done = NULL};
}

void cfr_rotator_published(struct cfr_rotator *m, uint64_t generation)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_err err = {0};

    m->deadline_boot_ms = 0;
    if (!m->store->published(m) || m->r.journal.step != CFR_ROTATION_VERIFIED)
        return;
    m->published_boot_ms = now.boot_ms;
    m->save.unsaved = cfr_rotation_published(&m->r, generation, cfr_rotator_now_s(m)) || m->save.unsaved;
    m->deadline_boot_ms = 0;
    if (!m->save.saving && save_changes(m, &err) < 0)
        cfr_rotator_note_error(m, CFR_ROTATOR_AT_STORE, &err, -1);
}
