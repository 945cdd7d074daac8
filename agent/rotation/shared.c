/* SPDX-License-Identifier: MIT */
/* A rotation that several agents share: who goes on with it, and what the others publish. */
#include "agent/rotation/shared_private.h"

#include "base/hash.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 60000 /* for what a watch has missed */

/* The holder's own memory may be ahead of what is there. */
static bool is_under_way(const struct cfr_rotator_shared *s)
{
    return s->there != CFR_ROTATION_REST || (s->holds && s->m->r.journal.step != CFR_ROTATION_REST);
}

/* ---- opening ---- */

static const struct cfr_rotator_store store;

static char *copy_text(const char *text, bool *failed)
{
    char *copy = text != NULL ? strdup(text) : NULL;

    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

bool cfr_rotator_shared_fits(struct cfr_rotator_shared *s, const struct cfr_config_mint_state *c)
{
    if (s == NULL || c == NULL)
        return s == NULL && c == NULL;
    if (!cfr_view_same(s->name, c->secret) || !cfr_view_same(s->given_namespace, c->namespace_name) ||
        !cfr_view_same(s->kubeconfig, c->kubeconfig) || !cfr_view_same(s->context, c->context))
        return false;
    s->takeover_ms = c->takeover_ms;
    return true;
}

static void destroy(struct cfr_rotator_shared *s)
{
    if (s == NULL)
        return;
    cfr_rotator_shared_hang_up(s);
    cfr_kube_watch_end(s->watch);
    cfr_rotator_free_pending(&s->published);
    free(s->name);
    free(s->given_namespace);
    free(s->kubeconfig);
    free(s->context);
    free(s);
}

int cfr_rotator_shared_open(struct cfr_rotator *m, const struct cfr_config_mint_state *c, struct cfr_err *err)
{
    struct cfr_rotator_shared *s = calloc(1, sizeof *s);
    char host[65] = "";
    bool failed = s == NULL;

    if (s != NULL) {
        s->m = m;
        s->takeover_ms = c->takeover_ms;
        s->name = copy_text(c->secret, &failed);
        s->given_namespace = copy_text(c->namespace_name, &failed);
        s->kubeconfig = copy_text(c->kubeconfig, &failed);
        s->context = copy_text(c->context, &failed);
    }
    if (failed) {
        destroy(s);
        return cfr_err_nomem(err);
    }
    s->mark = cfr_hash_add(CFR_HASH_START, s->name, strlen(s->name) + 1);
    if (s->given_namespace != NULL)
        s->mark = cfr_hash_add(s->mark, s->given_namespace, strlen(s->given_namespace));
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(s->instance, sizeof s->instance, "%08lx%08lx", (unsigned long)(cfr_clock_chance() * UINT32_MAX),
                   (unsigned long)(cfr_clock_chance() * UINT32_MAX));
    (void)snprintf(s->me, sizeof s->me, "%s %s", host[0] != '\0' ? host : "credfresh", s->instance);
    m->shared = s;
    m->store = &store;
    return 0;
}

static void close_store(struct cfr_rotator *m)
{
    destroy(m->shared);
    m->shared = NULL;
}

/* Two journals would each know half of the keys. */
static int load(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_rotator_shared *s = m->shared;

    s->barred = cfr_rotator_has_file(m);
    if (!s->barred) {
        s->look_boot_ms = 0;
        s->known = s->known && m->save.saving;
        return 0;
    }
    return cfr_err_set(
        err, CFR_E_CONFIG,
        "mint.state: state_dir has the journal %.63s+mint.json of an unshared rotation, which a shared one does not "
        "continue; remove it once its keys are deleted or adopted (`adopt`), or remove `state`",
        m->config->name);
}

/* ---- what was read ---- */

static bool is_published(const struct cfr_rotator_shared *s, const char *id)
{
    return id[0] != '\0' && strcmp(s->own, id) != 0 && s->m->context.is_published(s->m->context.ctx, id);
}

/* What this agent publishes is checked at its targets once it may have changed. */
static const char *own_key(struct cfr_rotator_shared *s)
{
    const struct cfr_rotator_context *context = &s->m->context;
    const struct cfr_rotation_journal *j = &s->m->r.journal;
    struct cfr_publish_minted recorded = {.id = ""};

    if (s->known_own)
        return s->own;
    s->known_own = true;
    s->own_number = 0;
    if (context->published_key(context->ctx, &recorded) && recorded.journal == s->mark) {
        (void)snprintf(s->own, sizeof s->own, "%s", recorded.id);
        s->own_number = recorded.number;
    }
    if (is_published(s, j->current))
        (void)snprintf(s->own, sizeof s->own, "%s", j->current);
    else if (j->step == CFR_ROTATION_VERIFIED && is_published(s, j->minted))
        (void)snprintf(s->own, sizeof s->own, "%s", j->minted);
    return s->own;
}

/* The new key takes the place of the published one: this agent publishes it already, or is about to. */
static bool is_ahead(struct cfr_rotator_shared *s)
{
    const struct cfr_rotator *m = s->m;

    return m->r.journal.step == CFR_ROTATION_VERIFIED &&
           ((s->holds && m->pending.held) || strcmp(own_key(s), m->r.journal.minted) == 0);
}

/* The journal was restored from a copy: this agent publishes a newer key. */
static bool is_older(struct cfr_rotator_shared *s)
{
    const struct cfr_rotation_journal *j = &s->m->r.journal;

    return strcmp(own_key(s), j->current) != 0 && s->own_number > j->published && !is_ahead(s);
}

/* The secret of the published key is available, and neither the cloud nor what this agent publishes speaks against
 * it. */
static bool has_secret(struct cfr_rotator_shared *s)
{
    const char *current = s->m->r.journal.current;

    return s->published.held && strcmp(s->published.key.id, current) == 0 &&
           strcmp(s->m->confirm.refused, current) != 0 && !is_older(s);
}

/* The Secret has a newer key than what this agent publishes. */
static bool lags(struct cfr_rotator_shared *s)
{
    const char *current = s->m->r.journal.current;

    return s->known && current[0] != '\0' && has_secret(s) && !is_ahead(s) && strcmp(own_key(s), current) != 0;
}

/* A text that cannot be used is as good as none: the key is then found again in the cloud. */
static void read_pending(struct cfr_rotator_shared *s, const char *what, const struct cfr_secret *text,
                         struct cfr_rotator_pending *out)
{
    struct cfr_err err = {0};

    cfr_rotator_free_pending(out);
    if (text->len == 0)
        return;
    out->held = cfr_rotator_pending_read(cfr_secret_view(text), out, &err) == 0;
    out->stored = true;
    if (out->held)
        return;
    cfr_rotator_free_pending(out);
    cfr_log(CFR_LOG_WARN, s->m->config->name, NULL, "the key %s of the Secret %s/%s cannot be used: %s", what,
            s->namespace_name, s->name, err.text);
}

/* Everything that this run knew of the former journal is forgotten, but what the cloud said of a published key that is
 * still the same. */
static void begin_again(struct cfr_rotator *m, const struct cfr_rotation_journal *j)
{
    struct cfr_rotation_rotation next = {
        .provider = m->r.provider, .credential = m->r.credential, .rules = m->r.rules, .journal = *j};

    if (strcmp(j->current, m->r.journal.current) == 0) {
        next.key_state = m->r.key_state;
        next.misses = m->r.misses;
        next.looked_s = m->r.looked_s;
        next.look_pause_s = m->r.look_pause_s;
    }
    m->r = next;
}

/* An emptied Secret is no new one to an agent that knows a key of it. */
static int read_journal(struct cfr_rotator_shared *s, const struct cfr_k8s_shared_state *state,
                        struct cfr_rotation_journal *out, struct cfr_err *err)
{
    struct cfr_rotator *m = s->m;
    char subject[CFR_ROTATION_SUBJECT_MAX];
    int rc;

    *out = (struct cfr_rotation_journal){.step = CFR_ROTATION_REST};
    if (state->journal.len == 0 &&
        (s->begun || (m->config->mint->adopt == NULL && m->context.has_published(m->context.ctx))))
        return cfr_err_set(
            err, CFR_E_ANSWER,
            "the Secret %s/%s is empty, although keys were rotated with it: without the journal the existing keys are "
            "unknown; restore it, or, to begin again, remove the published files and restart",
            s->namespace_name, s->name);
    rc = state->journal.len != 0 ? cfr_rotation_journal_read(cfr_secret_view(&state->journal), out, err) : 0;
    if (rc != 0)
        return cfr_err_prefix(err, "the journal in the Secret %s/%s cannot be used, and without it nothing is done",
                              s->namespace_name, s->name);
    if (out->rotation < s->rotation || out->published < s->number)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the journal in the Secret %s/%s is older than the one read before (rotation %llu and %llu "
                           "published keys, not %llu and %llu), and its keys may be deleted; restore a newer one, or "
                           "restart to continue with it",
                           s->namespace_name, s->name, (unsigned long long)out->rotation,
                           (unsigned long long)out->published, (unsigned long long)s->rotation,
                           (unsigned long long)s->number);
    cfr_config_mint_subject(m->config->mint, subject);
    if (!s->owned || out->subject[0] == '\0' || strcmp(out->subject, subject) == 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "the Secret %s/%s is about keys of %s now, and this agent's configuration names %s; give all "
                       "agents the same configuration",
                       s->namespace_name, s->name, out->subject, subject);
}

/* The journal is that of the configured owner, if a change of it does not interrupt another agent's rotation. */
static void check_owner(struct cfr_rotator_shared *s)
{
    char subject[CFR_ROTATION_SUBJECT_MAX];

    cfr_config_mint_subject(s->m->config->mint, subject);
    s->owned = s->owned || strcmp(s->m->r.journal.subject, subject) == 0;
    if (!s->owned && !cfr_rotator_shared_is_followed(s))
        cfr_rotator_check_subject(s->m);
}

/* What this agent publishes remains. */
static void report_older(struct cfr_rotator_shared *s)
{
    struct cfr_rotator *m = s->m;
    const struct cfr_rotation_journal *j = &m->r.journal;

    if (!is_older(s))
        return;
    (void)cfr_err_set(&m->error.err, CFR_E_CONFLICT,
                      "the journal in the Secret %s/%s is older than the published key %s, which remains: its last "
                      "published key is number %llu of the rotation, and not %llu; restore a newer one, or run "
                      "`credfresh rotate` to continue with it",
                      s->namespace_name, s->name, s->own, (unsigned long long)j->published,
                      (unsigned long long)s->own_number);
    m->error.at = CFR_ROTATOR_AT_CONFIRM;
    m->error.step = j->step;
    cfr_log(cfr_log_once_is_news(&s->older_log, &m->error.err) ? CFR_LOG_WARN : CFR_LOG_DEBUG, m->config->name, NULL,
            "%s", m->error.err.text);
}

static void lose(struct cfr_rotator_shared *s, const char *holder)
{
    struct cfr_rotator *m = s->m;

    if (s->holds && is_under_way(s))
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the agent %s has taken over the rotation: this agent follows, and drops its pending step", holder);
    s->holds = false;
    m->call.asked_name[0] = '\0';
    m->save.unsaved = false;
    m->error.retry_boot_ms = 0;
    m->error.err = (struct cfr_err){0};
    cfr_rotator_hang_up(m);
    cfr_rotator_forget_confirmation(m);
    cfr_rotator_free_pending(&m->pending);
    cfr_rotator_forget_found(m);
}

/* There is something for a start; a waiter that is there gets it without one. */
static void wake(struct cfr_rotator_shared *s)
{
    s->wake = s->wake || s->m->waiter.done == NULL;
}

/* Another agent's journal, or what there was before a write of ours that has not arrived. */
static void follow(struct cfr_rotator_shared *s, struct cfr_k8s_shared_state *state)
{
    struct cfr_rotator *m = s->m;
    struct cfr_rotation_journal j;
    struct cfr_err err = {0};
    /* What else touches the Secret is no sign of life of the holder. */
    bool news = !s->known || strcmp(state->nonce, s->nonce) != 0;
    bool repaired;

    if (read_journal(s, state, &j, &err) != 0) {
        cfr_rotator_shared_unread(s, &err, true, -1);
        return;
    }
    lose(s, state->holder);
    repaired = m->broken.code != 0 || !s->known;
    m->broken = (struct cfr_err){0};
    begin_again(m, &j);
    s->begun = s->begun || state->journal.len != 0;
    s->rotation = j.rotation;
    s->number = j.published;
    s->there = j.step;
    s->known = true;
    s->stale = false;
    s->known_own = false;
    if (news)
        s->changed_boot_ms = cfr_clock_now().boot_ms;
    (void)snprintf(s->version, sizeof s->version, "%s", state->version);
    (void)snprintf(s->holder, sizeof s->holder, "%s", state->holder);
    (void)snprintf(s->nonce, sizeof s->nonce, "%s", state->nonce);
    s->silence_ms = state->takeover_ms;
    s->pending_there = state->pending.len != 0;
    read_pending(s, "published", &state->published, &s->published);
    check_owner(s);
    report_older(s);
    if (repaired || (lags(s) && strcmp(m->given.id, j.current) != 0))
        wake(s);
    m->deadline_boot_ms = 0;
}

/* ---- taking over ---- */

/* As after a crash. What others wrote down by their clocks is not relied on: waiting begins again. */
static void claim(struct cfr_rotator_shared *s, struct cfr_k8s_shared_state *state)
{
    struct cfr_rotator *m = s->m;
    struct cfr_now now = cfr_clock_now();

    cfr_log(CFR_LOG_WARN, m->config->name, NULL,
            "the agent %s has been silent for %lld s during a rotation: this agent takes over",
            s->holder[0] != '\0' ? s->holder : "without name", (long long)((now.boot_ms - s->changed_boot_ms) / 1000));
    read_pending(s, "pending", &state->pending, &m->pending);
    cfr_rotator_check_subject(m);
    m->r.journal.step_s = cfr_rotator_now_s(m);
    /* Later, the last use of the old key is compared with the time when the new one was published. */
    if (m->r.journal.step == CFR_ROTATION_PUBLISHED || m->r.journal.step == CFR_ROTATION_REST)
        m->r.journal.published_s = m->r.journal.step_s;
    m->r.search_s = m->r.journal.step_s;
    m->published_boot_ms = now.boot_ms;
    wake(s);
    cfr_rotator_save(m);
}

static int64_t claim_at(const struct cfr_rotator_shared *s)
{
    /* The holder lives by its own configuration, which may be another one for a while. */
    int64_t at = s->changed_boot_ms + (s->silence_ms > s->takeover_ms ? s->silence_ms : s->takeover_ms);

    if (!s->known || s->m->broken.code != 0 || s->m->save.saving || s->claiming || !cfr_rotator_shared_is_followed(s) ||
        *s->m->context.draining)
        return INT64_MAX;
    return at > s->retry_boot_ms ? at : s->retry_boot_ms;
}

/* ---- results ---- */

static void plan_look(struct cfr_rotator_shared *s)
{
    int64_t pause_ms = cfr_rotator_shared_is_followed(s) && s->takeover_ms / 3 < LOOK_MS ? s->takeover_ms / 3 : LOOK_MS;
    bool newer = s->news[0] != '\0' && strcmp(s->news, s->version) != 0;

    s->news[0] = '\0';
    s->look_boot_ms = newer ? 0 : cfr_clock_now().boot_ms + pause_ms;
}

void cfr_rotator_shared_read(struct cfr_rotator_shared *s, struct cfr_k8s_shared_state *state)
{
    struct cfr_rotator *m = s->m;
    bool saving = m->save.saving;
    bool same = s->known && !s->stale && strcmp(state->version, s->version) == 0;
    bool claiming = s->claiming && s->known && !s->stale && strcmp(state->nonce, s->nonce) == 0;
    /* The write was refused, though nobody else has written. */
    bool failed = saving && s->known && strcmp(state->version, s->version) == 0;

    s->backoff = (struct cfr_backoff){0};
    s->logged = (struct cfr_log_once){0};
    s->claiming = false;
    if (saving && cfr_rotator_shared_is_last(s, state->nonce)) {
        cfr_rotator_shared_written(s, state->version);
        return;
    }
    m->save.saving = false;
    if (s->holds &&
        (same || (saving && cfr_rotator_shared_is_own(s, state->nonce)) || cfr_rotator_shared_is_untouched(s, state))) {
        /* The last write has not arrived, or an earlier one has, late; or only a label is another one. */
        m->save.unsaved = m->save.unsaved || saving;
        (void)snprintf(s->version, sizeof s->version, "%s", state->version);
        s->known = true;
        m->broken = (struct cfr_err){0};
        m->deadline_boot_ms = 0;
    } else if (!same || saving || m->save.unsaved || m->broken.code != 0) {
        follow(s, state);
    }
    plan_look(s);
    if (failed) {
        cfr_rotator_shared_pause_writes(s, &s->write_err, s->write_retry_after_s);
        cfr_rotator_note_error(m, CFR_ROTATOR_AT_STORE, &s->write_err, s->write_retry_after_s);
    }
    if (claiming && cfr_rotator_shared_is_followed(s) && !m->save.saving)
        claim(s, state);
}

/* The waiter is told of what keeps it waiting. */
void cfr_rotator_shared_unread(struct cfr_rotator_shared *s, const struct cfr_err *err, bool certain,
                               int64_t retry_after_s)
{
    struct cfr_rotator *m = s->m;
    struct cfr_backoff_cause cause = {
        .class = cfr_err_class(err->code), .retry_after_s = retry_after_s, .max_ms = s->takeover_ms / 3};
    bool news = cfr_log_once_is_news(&s->logged, err);

    s->claiming = false;
    s->look_boot_ms = cfr_clock_now().boot_ms + cfr_backoff_failed(&s->backoff, &cause, cfr_clock_chance());
    cfr_log(news ? CFR_LOG_WARN : CFR_LOG_DEBUG, m->config->name, NULL,
            "the shared rotation pauses: %s [%s]; the last good credentials remain", err->text,
            cfr_err_name(err->code));
    if (s->known && !certain && !m->save.saving)
        return;
    if (!s->known || certain)
        m->broken = *err;
    if (m->waiter.done != NULL)
        cfr_rotator_report(m, err, retry_after_s);
}

void cfr_rotator_shared_written(struct cfr_rotator_shared *s, const char *version)
{
    struct cfr_rotator *m = s->m;

    (void)snprintf(s->version, sizeof s->version, "%s", version);
    (void)snprintf(s->holder, sizeof s->holder, "%s", s->me);
    cfr_rotator_shared_last_nonce(s, s->nonce);
    s->silence_ms = s->takeover_ms;
    s->there = s->sending;
    s->rotation = s->sending_rotation;
    s->number = s->sending_number;
    s->begun = true;
    s->holds = true;
    s->owned = true;
    s->changed_boot_ms = cfr_clock_now().boot_ms;
    s->sent_boot_ms = s->sending_boot_ms;
    s->write_backoff = (struct cfr_backoff){0};
    s->write_boot_ms = 0;
    m->broken = (struct cfr_err){0};
    if (s->writes_published) {
        cfr_rotator_free_pending(&s->published);
        s->published = m->pending;
        m->pending = (struct cfr_rotator_pending){.held = false};
    }
    s->writes_published = false;
    plan_look(s);
    cfr_rotator_saved(m, 0, &(struct cfr_err){0});
}

void cfr_rotator_shared_pause_writes(struct cfr_rotator_shared *s, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_backoff_cause cause = {
        .class = cfr_err_class(err->code), .retry_after_s = retry_after_s, .max_ms = s->takeover_ms / 3};

    s->write_boot_ms = cfr_clock_now().boot_ms + cfr_backoff_failed(&s->write_backoff, &cause, cfr_clock_chance());
}

void cfr_rotator_shared_unwritten(struct cfr_rotator_shared *s, const struct cfr_err *err, int64_t retry_after_s)
{
    struct cfr_rotator *m = s->m;

    /* What is in memory alone is forgotten, unless we hold the rotation. */
    s->stale = !s->holds;
    cfr_rotator_shared_pause_writes(s, err, retry_after_s);
    s->look_boot_ms = s->write_boot_ms;
    cfr_rotator_saved(m, err->code, err);
}

/* ---- what is due ---- */

static void on_watch(void *ctx, const char *version)
{
    struct cfr_rotator_shared *s = ctx;

    if (version != NULL && strcmp(version, s->version) == 0)
        return;
    if (s->call != NULL)
        (void)snprintf(s->news, sizeof s->news, "%s", version != NULL ? version : "none");
    else
        s->look_boot_ms = 0;
    s->m->context.replan(s->m->context.ctx);
}

/* Without memory for it, the periodic look remains. */
static void watch(struct cfr_rotator_shared *s)
{
    char collection[128];
    struct cfr_kube_object object = {
        .where = cfr_rotator_shared_where(s), .collection = collection, .name = s->name, .alone = true};

    if (s->watch != NULL || s->namespace_name[0] == '\0')
        return;
    (void)snprintf(collection, sizeof collection, "/api/v1/namespaces/%s/secrets", s->namespace_name);
    (void)cfr_kube_watch_start(s->m->context.kube, &object, on_watch, s, &s->watch, NULL);
}

/* The hold is renewed, unless this agent is not able to go on itself. */
static int64_t renew_at(struct cfr_rotator_shared *s)
{
    int64_t at = s->sent_boot_ms + s->takeover_ms / 3;

    if (!s->holds || !is_under_way(s) || s->m->save.saving || s->m->broken.code != 0 || lags(s))
        return INT64_MAX;
    return at > s->write_boot_ms ? at : s->write_boot_ms;
}

static int64_t next_at(struct cfr_rotator *m)
{
    struct cfr_rotator_shared *s = m->shared;
    int64_t at = renew_at(s);

    if (s->call != NULL || s->barred)
        return INT64_MAX;
    at = claim_at(s) < at ? claim_at(s) : at;
    return s->look_boot_ms < at ? s->look_boot_ms : at;
}

static void step(struct cfr_rotator *m)
{
    struct cfr_rotator_shared *s = m->shared;
    int64_t now_ms = cfr_clock_now().boot_ms;

    if (s->barred)
        return;
    watch(s);
    if (now_ms >= renew_at(s)) {
        cfr_rotator_save(m);
        return;
    }
    if (s->call != NULL)
        return;
    if (now_ms >= claim_at(s)) {
        s->claiming = true;
        s->retry_boot_ms = now_ms + s->takeover_ms / 3;
        cfr_rotator_shared_look(s);
    } else if (now_ms >= s->look_boot_ms) {
        cfr_rotator_shared_look(s);
    }
}

bool cfr_rotator_resume(struct cfr_rotator *m, const struct cfr_kube_where *where)
{
    struct cfr_rotator_shared *s = m != NULL ? m->shared : NULL;
    struct cfr_kube_where own;

    if (s == NULL || (s->backoff.failures == 0 && s->write_backoff.failures == 0))
        return false;
    own = cfr_rotator_shared_where(s);
    if (!cfr_kube_where_is(&own, where))
        return false;
    s->backoff = (struct cfr_backoff){0};
    s->write_backoff = (struct cfr_backoff){0};
    s->look_boot_ms = 0;
    s->write_boot_ms = 0;
    if (m->error.at == CFR_ROTATOR_AT_STORE)
        m->error.retry_boot_ms = 0;
    m->deadline_boot_ms = 0;
    return true;
}

/* ---- what the others publish ---- */

static void give(struct cfr_rotator_shared *s)
{
    struct cfr_rotator *m = s->m;
    struct cfr_grant grant = {0};
    struct cfr_source_exchange_result result = {.grant = &grant, .retry_after_s = -1};

    if (!cfr_rotator_is_confirmed(m, &s->published, m->r.journal.current_s))
        return;
    s->published.confirmed = false;
    result.rc = cfr_rotator_copy_grant(&s->published.grant, &grant, &result.err);
    grant.expires_s = m->r.journal.current_ends_s;
    (void)snprintf(m->given.id, sizeof m->given.id, "%s", m->r.journal.current);
    m->given.minted_s = m->r.journal.current_s;
    m->given.number = m->r.journal.published;
    m->given.journal = s->mark;
    cfr_rotator_finish(m, &result);
    cfr_grant_free(&grant);
}

static bool may_go_on(struct cfr_rotator *m)
{
    struct cfr_rotator_shared *s = m->shared;
    bool waits = m->waiter.done != NULL;

    m->deadline_boot_ms = INT64_MAX;
    if (!s->known || s->stale || s->barred)
        return false;
    if (lags(s)) {
        if (waits)
            give(s);
        return false;
    }
    /* Its secret is lost to all agents: another key takes its place. */
    m->waiter.wanted = m->waiter.wanted || (waits && s->again && !has_secret(s));
    if (!cfr_rotator_shared_is_followed(s)) {
        bool paused = cfr_clock_now().boot_ms < s->write_boot_ms;

        m->deadline_boot_ms = paused ? s->write_boot_ms : INT64_MAX;
        return !paused;
    }
    /* What is published goes on; a rotation that was asked for begins when this one is over. */
    if (waits && !m->waiter.wanted && m->r.journal.current[0] != '\0' && strcmp(own_key(s), m->r.journal.current) == 0)
        cfr_rotator_finish(m, &(struct cfr_source_exchange_result){.retry_after_s = -1});
    return false;
}

/* Whether the secret of the published key is still available is known once the Secret was read. */
static bool on_start(struct cfr_rotator *m, bool again)
{
    struct cfr_rotator_shared *s = m->shared;

    s->wake = false;
    s->known_own = again;
    s->again = again;
    if (again)
        s->own[0] = '\0';
    return false;
}

static bool on_published(struct cfr_rotator *m)
{
    struct cfr_rotator_shared *s = m->shared;

    if (m->given.id[0] != '\0') {
        (void)snprintf(s->own, sizeof s->own, "%s", m->given.id);
        s->own_number = m->given.number;
        s->known_own = true;
    }
    return !cfr_rotator_shared_is_followed(s) && strcmp(s->own, m->r.journal.minted) == 0;
}

/* Another agent may go on with the rotation, unless ours was the last word in it a moment ago. */
static bool may_change(const struct cfr_rotator *m)
{
    const struct cfr_rotator_shared *s = m->shared;

    return s->holds && cfr_clock_now().boot_ms < s->sent_boot_ms + s->takeover_ms / 3;
}

/* ---- the store ---- */

/* It goes into the Secret with the step that follows. */
static int save_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    (void)err;
    m->pending.stored = true;
    return 0;
}

static int drop_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    (void)err;
    cfr_rotator_free_pending(&m->pending);
    m->save.unsaved = m->save.unsaved || m->shared->pending_there;
    return 0;
}

static bool lags_behind(struct cfr_rotator *m)
{
    return lags(m->shared);
}

static const struct cfr_rotator_store store = {
    .load = load,
    .save_journal = cfr_rotator_shared_save_journal,
    .save_pending = save_pending,
    .drop_pending = drop_pending,
    .close = close_store,
    .step = step,
    .deadline = next_at,
    .may_go_on = may_go_on,
    .may_change = may_change,
    .lags = lags_behind,
    .start = on_start,
    .published = on_published,
};
