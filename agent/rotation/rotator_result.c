/* SPDX-License-Identifier: MIT */
/* Results of requests: what they change in the rotation, and when it is tried again after a failure. */
#include "agent/rotation/shared_private.h"

#include "base/log.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

#define NEVER_S       (INT64_C(100) * 365 * 86400)
#define LIST_AGAIN_MS 10000 /* for a key that lists do not have yet */

void cfr_rotator_report(struct cfr_rotator *m, const struct cfr_err *err, int64_t retry_after_s)
{
    m->last.failed = true;
    if (m->waiter.done != NULL)
        cfr_rotator_finish(
            m, &(struct cfr_source_exchange_result){.rc = err->code, .err = *err, .retry_after_s = retry_after_s});
    else
        cfr_log(CFR_LOG_WARN, m->config->name, NULL, "%s [%s]", err->text, cfr_err_name(err->code));
}

static bool is_waited_for(const struct cfr_rotator *m)
{
    enum cfr_rotation_step step = m->r.journal.step;

    return m->waiter.done != NULL && (m->broken.code != 0 || step == CFR_ROTATION_REST || step == CFR_ROTATION_INTENT);
}

void cfr_rotator_note_error(struct cfr_rotator *m, int at, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_now now = cfr_clock_now();
    struct cfr_backoff_cause cause = {.class = cfr_err_class(err->code), .retry_after_s = retry_after_s};
    bool news;
    char words[CFR_TIME_WORDS_MAX];
    int64_t delay_ms;

    if (is_waited_for(m)) {
        cfr_rotator_report(m, err, retry_after_s);
        return;
    }
    delay_ms = cfr_backoff_failed(&m->error.backoff, &cause, cfr_clock_chance());
    news = cfr_log_once_is_news(&m->error.logged, err);
    m->error.err = *err;
    m->error.at = at;
    m->error.step = m->r.journal.step;
    m->error.retry_boot_ms = now.boot_ms + delay_ms;
    m->deadline_boot_ms = m->error.retry_boot_ms;
    cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, m->config->name, NULL, "%s [%s, %s]; next try in %s", err->text,
            cfr_err_name(err->code), cfr_err_class_name(cfr_err_class(err->code)), cfr_time_words(delay_ms, words));
    if (m->waiter.done != NULL)
        cfr_rotator_finish(
            m, &(struct cfr_source_exchange_result){.rc = err->code, .err = *err, .retry_after_s = retry_after_s});
}

void cfr_rotator_clear_error(struct cfr_rotator *m, int at)
{
    if (m->error.err.code != 0 && m->error.at != at && m->error.step == m->r.journal.step)
        return;
    m->error.backoff = (struct cfr_backoff){0};
    m->error.logged = (struct cfr_log_once){0};
    m->error.retry_boot_ms = 0;
    m->error.err = (struct cfr_err){0};
}

void cfr_rotator_lookup_failed(struct cfr_rotator *m, const struct cfr_err *err)
{
    bool news = cfr_log_once_is_news(&m->log.lookup, err);

    cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, m->config->name, NULL,
            "cannot look up the published key %s: %s [%s]; retrying, the key remains published", m->r.journal.current,
            err->text, cfr_err_name(err->code));
    cfr_rotation_lookup_failed(&m->r, cfr_rotator_now_s(m));
}

/* Reports which of the keys that were aside in BEFORE are no longer. */
static void report_aside(struct cfr_rotator *m, const struct cfr_rotation_journal *before)
{
    const struct cfr_rotation_journal *j = &m->r.journal;

    for (size_t i = 0; i < before->aside_count; i++) {
        const char *id = before->aside[i].id;
        bool there = false;

        for (size_t k = 0; k < j->aside_count; k++)
            there = there || strcmp(j->aside[k].id, id) == 0;
        if (there)
            continue;
        m->words.aside[0] = '\0';
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "the key %s, which was set aside, is %s", id,
                cfr_rotation_look_up(&m->call.answer.keys, id) == CFR_ROTATION_KEY_ACTIVE ? "active again: ignoring it"
                                                                                          : "gone");
    }
}

/* Before the first key is created, not when the next one has no room. */
static void warn_of_room(struct cfr_rotator *m)
{
    bool lacks = cfr_rotation_lacks_room(&m->r) && !cfr_rotator_has_found(m);

    if (lacks && !m->log.room_warned)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "%s has the key %s, which is not credfresh's: the cloud allows %u keys, and a rotation needs 2 of them "
                "for a while, so the next one will wait; delete that key, or let `adopt` take it over before the first "
                "rotation",
                m->r.journal.subject, m->r.other, m->provider->most);
    m->log.room_warned = lacks;
}

static void on_listed(struct cfr_rotator *m, int64_t now_s)
{
    const struct cfr_rotation_journal before = m->r.journal;
    enum cfr_rotation_key_state state = m->r.key_state;
    const char *key = m->r.journal.current;

    m->save.unsaved = cfr_rotation_listed(&m->r, &m->call.answer.keys, now_s) || m->save.unsaved;
    /* That of a key that was adopted by an earlier version is not known. */
    if (key[0] != '\0' && cfr_rotation_look_up(&m->call.answer.keys, key) != CFR_ROTATION_KEY_DELETED)
        cfr_rotator_note_account(m);
    m->log.lookup = (struct cfr_log_once){0};
    report_aside(m, &before);
    warn_of_room(m);
    if (m->r.key_state == state)
        return;
    if (cfr_rotation_is_refused(&m->r)) {
        m->last.found_refused = m->r.rules.replace;
        cfr_log(CFR_LOG_ERROR, m->config->name, NULL, "the published key %s of %s %s%s; consumers are refused. %s%s%s",
                key, m->r.journal.subject, cfr_rotation_key_fate(m->r.key_state),
                m->r.key_state == CFR_ROTATION_KEY_EXPIRED ? "" : ", and not by credfresh",
                m->r.rules.replace ? "It is replaced now"
                                   : "It is not replaced, because `mint.verify` is false: run `credfresh rotate`",
                m->r.journal.old[0] != '\0' ? "; kept is the old key " : "", m->r.journal.old);
    } else if (state != CFR_ROTATION_KEY_UNKNOWN) {
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "the published key %s is active again", key);
    }
}

static void on_created(struct cfr_rotator *m, struct cfr_rotator_outcome *o, int64_t now_s)
{
    if (o->rc == 0 && !cfr_rotation_is_new(&m->r, m->call.answer.made.id)) {
        o->rc = cfr_err_set(&o->err, CFR_E_ANSWER, "the answer has the key %s, which there was before",
                            m->call.answer.made.id);
        o->status = 0;
    }
    if (o->rc == 0) {
        (void)snprintf(m->pending.name, sizeof m->pending.name, "%s", m->r.journal.name);
        m->pending.key = m->call.answer.made;
        /* Google's keys that do not end, end in the year 9999. */
        if (m->call.answer.grant.expires_s < now_s + NEVER_S)
            m->pending.key.ends_s = m->call.answer.grant.expires_s;
        cfr_grant_move(&m->pending.grant, &m->call.answer.grant);
        m->pending.held = true;
        m->pending.confirmed = true;
        cfr_rotator_note_own(m, m->pending.key.id);
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "made the key %s; it is tried before it is published",
                m->pending.key.id);
        return;
    }
    if (cfr_rotation_is_certain(o->status) && o->rc != CFR_E_CONFLICT) {
        m->save.unsaved = cfr_rotation_refused(&m->r, now_s) || m->save.unsaved;
    } else {
        (void)cfr_err_prefix(&o->err, "whether a key was made is not known, so it is looked for");
        m->save.unsaved = cfr_rotation_unknown(&m->r, now_s) || m->save.unsaved;
    }
    cfr_rotator_report(m, &o->err, o->retry_after_s);
}

static void on_verified(struct cfr_rotator *m, const struct cfr_rotator_outcome *o, int64_t now_s)
{
    if (o->rc != 0) {
        cfr_log(CFR_LOG_DEBUG, m->config->name, NULL, "%s", o->err.text);
        m->error.err = o->err;
    } else {
        m->error.err = (struct cfr_err){0};
    }
    m->save.unsaved = cfr_rotation_verified(&m->r, o->rc == 0, now_s) || m->save.unsaved;
}

/* A key that the cloud does not have any more is one that is removed, which providers answer with success. */
static bool was_absent(const struct cfr_rotator_outcome *o)
{
    return o->status >= 400;
}

static void on_deleted(struct cfr_rotator *m, const struct cfr_rotator_outcome *o, int64_t now_s)
{
    enum cfr_rotation_step step = m->r.journal.step;
    const char *done = step == CFR_ROTATION_DELETING ? ": the rotation is complete" : "";

    if (was_absent(o))
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "the key %s, which was to be removed, was not found%s", m->call.id,
                done);
    else
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "removed the key %s%s", m->call.id,
                step == CFR_ROTATION_PUBLISHED ? ", which was deactivated, to make room for another one" : done);
    m->stats.completed += step == CFR_ROTATION_DELETING ? 1 : 0;
    m->stats.undone += step == CFR_ROTATION_UNDOING || step == CFR_ROTATION_LOST ? 1 : 0;
    m->save.unsaved = cfr_rotation_deleted(&m->r, now_s) || m->save.unsaved;
}

static void on_deactivated(struct cfr_rotator *m, int64_t now_s)
{
    bool lost = m->r.journal.step == CFR_ROTATION_LOST;
    bool made = strcmp(m->call.asked_name, m->r.journal.name) == 0;
    char words[CFR_TIME_WORDS_MAX];

    /* This run wrote down which keys there were before, and sent the request. */
    if (lost && made)
        cfr_rotator_note_own(m, m->call.id);
    if (lost && !m->r.rules.keep_lost && (made || m->shared == NULL))
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "deactivated the key %s of %s and set it aside: it may be the one whose answer was lost; it is deleted "
                "in %s, unless it is activated",
                m->call.id, m->r.journal.subject, cfr_time_words(m->r.rules.inactive_s * 1000, words));
    else if (lost)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "deactivated the key %s of %s and set it aside: it may be one whose answer was lost, or another "
                "user's, so credfresh never deletes it; delete it, or activate it if it is in use",
                m->call.id, m->r.journal.subject);
    m->save.unsaved = cfr_rotation_deactivated(&m->r, now_s) || m->save.unsaved;
}

/* Where there is no key to ask the last use of, a refusal may only mean that. */
static void on_rights(struct cfr_rotator *m, struct cfr_rotator_outcome *o)
{
    bool unsure = m->call.op == CFR_ROTATION_LAST_USED && m->r.seen.count == 0;

    if (o->rc != 0 && (!unsure || o->rc != CFR_E_DENIED)) {
        (void)cfr_err_prefix(&o->err, "no key is created, because the rotation could not be finished");
        cfr_rotator_note_error(m, (int)m->call.op, &o->err, o->retry_after_s);
        return;
    }
    if (o->rc != 0)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL, "%s [%s]", o->err.text, cfr_err_name(o->err.code));
    cfr_rotation_permitted(&m->r);
}

void cfr_rotator_former_failed(struct cfr_rotator *m, const struct cfr_err *err)
{
    const struct cfr_rotation_former *one = &m->r.journal.former[0];
    bool news = m->words.former[0] == '\0';

    (void)snprintf(m->words.former, sizeof m->words.former, "the key %.130s of the former owner %.200s remains: %.200s",
                   one->id, one->subject, err->text);
    cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, m->config->name, NULL, "%s [%s]; delete it in the cloud",
            m->words.former, cfr_err_name(err->code));
    m->save.unsaved = cfr_rotation_former_failed(&m->r, cfr_rotator_now_s(m)) || m->save.unsaved;
}

static void on_former(struct cfr_rotator *m, const struct cfr_rotator_outcome *o, int64_t now_s)
{
    const struct cfr_rotation_former *one = &m->r.journal.former[0];
    bool deleted = m->call.op == CFR_ROTATION_DELETE;

    if (o->rc != 0) {
        cfr_rotator_former_failed(m, &o->err);
        return;
    }
    m->words.former[0] = '\0';
    if (was_absent(o))
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "the key %s of the former owner %s was not found", one->id,
                one->subject);
    else
        cfr_log(CFR_LOG_INFO, m->config->name, NULL, "%s the key %s of the former owner %s",
                deleted ? "removed" : "deactivated", one->id, one->subject);
    m->save.unsaved = cfr_rotation_former_retired(&m->r, deleted, now_s) || m->save.unsaved;
}

void cfr_rotator_refuse_key(struct cfr_rotator *m, struct cfr_err *err, bool certain, int64_t retry_after_s)
{
    struct cfr_rotator_confirmation *c = &m->confirm;

    if (certain)
        (void)snprintf(c->refused, sizeof c->refused, "%s", c->id);
    (void)cfr_err_prefix(err, "not published: the key %s%s", c->id,
                         certain ? ", which the journal names, is refused" : " could not be confirmed");
    cfr_rotator_forget_confirmation(m);
    m->error.err = *err;
    m->error.at = CFR_ROTATOR_AT_CONFIRM;
    m->error.step = m->r.journal.step;
    cfr_rotator_report(m, err, retry_after_s);
}

static void on_confirm(struct cfr_rotator *m, struct cfr_rotator_outcome *o)
{
    struct cfr_rotator_confirmation *c = &m->confirm;
    bool listing = m->call.op == CFR_ROTATION_LIST;
    int found = listing && o->rc == 0 ? cfr_rotator_judge_listed(m, &m->call.answer.keys, &o->err) : 0;

    c->list_boot_ms = found == 1 ? cfr_clock_now().boot_ms + LIST_AGAIN_MS : 0;
    if (found < 0 || o->rc != 0) {
        cfr_rotator_refuse_key(m, &o->err, found < 0, o->retry_after_s);
    } else if (found == 0 && listing) {
        c->listed = true;
    } else if (found == 0) {
        c->key->confirmed = true;
        cfr_rotator_note_own(m, c->id);
        cfr_rotator_forget_confirmation(m);
        cfr_rotator_clear_error(m, CFR_ROTATOR_AT_CONFIRM);
    }
}

/* The request is about a key of ours that is aside: no rotation depends on it. */
static bool is_aside(const struct cfr_rotator *m)
{
    return m->r.journal.step == CFR_ROTATION_REST && !m->call.rights && !m->call.former &&
           (m->call.op == CFR_ROTATION_DEACTIVATE || m->call.op == CFR_ROTATION_DELETE);
}

static void on_aside_failed(struct cfr_rotator *m, const struct cfr_err *err, int64_t now_s)
{
    bool news = m->words.aside[0] == '\0';

    (void)snprintf(m->words.aside, sizeof m->words.aside, "the key %.130s, which was set aside, remains: %.200s",
                   m->call.id, err->text);
    cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, m->config->name, NULL,
            "%s [%s]; it is tried again in an hour, unless it is deleted in the cloud", m->words.aside,
            cfr_err_name(err->code));
    m->save.unsaved = cfr_rotation_aside_failed(&m->r, now_s) || m->save.unsaved;
}

/* Also what is refused is known, so that the key's id is recognized in the lists that follow. */
static void keep_made(struct cfr_rotator *m)
{
    cfr_grant_free(&m->made);
    /* Without memory for it, later answers are searched for the other secrets only. */
    (void)cfr_rotator_copy_grant(&m->call.answer.grant, &m->made, NULL);
}

/* A cloud may repeat any secret in any field. */
static void hide_secrets(struct cfr_rotator *m, struct cfr_rotator_outcome *o)
{
    const struct cfr_grant *grants[] = {NULL, &m->pending.grant, &m->made, &m->adoption.answer.grant,
                                        m->shared != NULL ? &m->shared->published.grant : NULL};
    struct cfr_view secrets[sizeof grants / sizeof grants[0] * CFR_GRANT_FIELDS_MAX];
    size_t count = 0;
    int rc = o->rc;

    if (m->call.answer.grant.field_count != 0)
        keep_made(m);
    (void)cfr_rotator_find_admin(m, &grants[0], NULL);
    for (size_t i = 0; i < sizeof grants / sizeof grants[0]; i++)
        count += grants[i] != NULL ? cfr_grant_list_secrets(grants[i], secrets + count) : 0;
    o->rc = cfr_rotation_hide(&m->call.answer, secrets, count, rc, &o->err);
    if (rc == 0 && o->rc != 0)
        o->status = 0;
}

void cfr_rotator_on_outcome(struct cfr_rotator *m, struct cfr_rotator_outcome *o)
{
    int64_t now_s = cfr_rotator_now_s(m);
    bool lookup = m->call.op == CFR_ROTATION_LIST && m->r.looking_up;
    bool own = lookup || m->call.rights || m->call.former || m->call.confirming || m->call.op == CFR_ROTATION_CREATE ||
               m->call.op == CFR_ROTATION_VERIFY;

    hide_secrets(m, o);
    m->last.may_not = o->rc == CFR_E_DENIED && m->call.answer.may_not;
    if (o->rc == 0 && m->error.at == CFR_ROTATOR_AT_START)
        cfr_rotator_clear_error(m, CFR_ROTATOR_AT_START);
    else if (o->rc == 0 && !own)
        cfr_rotator_clear_error(m, (int)m->call.op);
    if (o->rc == 0 && is_aside(m))
        m->words.aside[0] = '\0';
    if (m->call.confirming)
        on_confirm(m, o);
    else if (m->call.former)
        on_former(m, o, now_s);
    else if (m->call.rights)
        on_rights(m, o);
    else if (m->call.op == CFR_ROTATION_CREATE)
        on_created(m, o, now_s);
    else if (m->call.op == CFR_ROTATION_VERIFY)
        on_verified(m, o, now_s);
    else if (lookup && o->rc != 0)
        cfr_rotator_lookup_failed(m, &o->err);
    else if (o->rc != 0 && is_aside(m))
        on_aside_failed(m, &o->err, now_s);
    else if (o->rc != 0)
        cfr_rotator_note_error(m, (int)m->call.op, &o->err, o->retry_after_s);
    else if (m->call.op == CFR_ROTATION_LIST)
        on_listed(m, now_s);
    else if (m->call.op == CFR_ROTATION_DEACTIVATE)
        on_deactivated(m, now_s);
    else if (m->call.op == CFR_ROTATION_LAST_USED)
        m->save.unsaved = cfr_rotation_used(&m->r, m->call.answer.used_s, now_s) || m->save.unsaved;
    else
        on_deleted(m, o, now_s);
    cfr_rotator_hang_up(m);
    if (m->r.journal.step == CFR_ROTATION_REST)
        cfr_grant_free(&m->made);
    cfr_rotator_run(m);
    m->context.replan(m->context.ctx);
}
