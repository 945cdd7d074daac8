/* SPDX-License-Identifier: MIT */
/* The rotation of one long-lived key: its next step. */
#include "rotation/rotation_private.h"

#include <stdio.h>
#include <string.h>

#define USE_LAG_S 3600 /* until the cloud tells of the last use of a key; half of inactive_s if that is less */

void cfr_rotation_copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from);
}

bool cfr_rotation_enter(struct cfr_rotation_rotation *r, enum cfr_rotation_step step, int64_t now_s)
{
    r->journal.step = step;
    r->journal.step_s = now_s;
    r->listed_s = 0;
    r->try_s = 0;
    r->tried_s = 0;
    r->successes = 0;
    r->judged = false;
    r->suspect[0] = '\0';
    r->begun = step == CFR_ROTATION_INTENT;
    return true;
}

static void act(struct cfr_rotation_todo *out, enum cfr_rotation_action action, const char *id)
{
    out->action = action;
    out->id = id;
}

static void wait_until(struct cfr_rotation_todo *out, int64_t at_s)
{
    out->action = CFR_ROTATION_ACT_WAIT;
    out->at_s = at_s;
}

bool cfr_rotation_is_known(const struct cfr_rotation_journal *j, const char *id)
{
    for (size_t i = 0; i < j->known_count; i++) {
        if (strcmp(j->known[i], id) == 0)
            return true;
    }
    return false;
}

static bool begin_lookup(struct cfr_rotation_rotation *r, struct cfr_rotation_todo *out)
{
    r->looking_up = true;
    act(out, CFR_ROTATION_ACT_LIST, NULL);
    return false;
}

static bool wait_or_look_up(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                            struct cfr_rotation_todo *out, int64_t at_s)
{
    int64_t lookup_s = cfr_rotation_lookup_s(r, f->now_s);

    if (f->now_s >= lookup_s)
        return begin_lookup(r, out);
    wait_until(out, at_s < lookup_s ? at_s : lookup_s);
    return false;
}

/* ---- the way into a rotation ---- */

int64_t cfr_rotation_due_s(const struct cfr_rotation_journal *j, const struct cfr_rotation_rules *rules)
{
    int64_t life_s = rules->expire_after_s;

    if (j->current[0] == '\0')
        return 0;
    /* The last fifth is for what may go wrong. */
    if (j->current_ends_s > j->current_s && life_s > (j->current_ends_s - j->current_s) / 5 * 4)
        life_s = (j->current_ends_s - j->current_s) / 5 * 4;
    return j->current_s + life_s - (int64_t)(rules->spread * (double)life_s / 10);
}

bool cfr_rotation_is_full(const struct cfr_rotation_rotation *r)
{
    return r->provider->most != 0 && r->seen.count >= r->provider->most;
}

void cfr_rotation_permitted(struct cfr_rotation_rotation *r)
{
    r->permitted = true;
}

/* A right that is missing is found before there is a new key, not when the old one is to go. */
static bool begin(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    struct cfr_rotation_journal *j = &r->journal;

    if (!r->permitted && r->provider->right_count != 0) {
        act(out, CFR_ROTATION_ACT_RIGHTS, NULL);
        return false;
    }
    r->permitted = false;
    j->rotation++;
    j->published = f->number > j->published ? f->number : j->published;
    (void)snprintf(j->name, sizeof j->name, CFR_ROTATION_NAME_OURS "%.48s-%llu-%08lx", r->credential,
                   (unsigned long long)j->rotation, (unsigned long)f->chance);
    j->known_count = 0;
    for (size_t i = 0; i < r->seen.count; i++)
        cfr_rotation_copy(j->known[j->known_count++], CFR_ROTATION_ID_MAX, r->seen.key[i].id);
    j->minted[0] = '\0';
    j->minted_s = 0;
    j->minted_ends_s = 0;
    j->late_use = false;
    j->asked = f->wanted;
    j->intent_s = f->now_s;
    r->search_s = 0;
    return cfr_rotation_enter(r, CFR_ROTATION_INTENT, f->now_s);
}

/* An old list would make keys of the time since look like ours. */
static bool is_stale(const struct cfr_rotation_rotation *r, int64_t now_s, int64_t age_s)
{
    return r->listed_s == 0 || now_s >= r->listed_s + age_s || now_s < r->listed_s;
}

/* ---- keys that only the journal calls ours ---- */

static bool has_our_name(const struct cfr_rotation_rotation *r, const struct cfr_rotation_key *key)
{
    char ours[CFR_ROTATION_NAME_MAX];
    int n = snprintf(ours, sizeof ours, CFR_ROTATION_NAME_OURS "%.48s-", r->credential);

    return r->provider->names && strncmp(key->name, ours, (size_t)n) == 0;
}

/* Names are those of the last list. */
static bool is_proven(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, const char *id)
{
    if (f->is_own == NULL || f->is_own(f->ctx, id))
        return true;
    for (size_t i = 0; i < r->seen.count; i++) {
        if (strcmp(r->seen.key[i].id, id) == 0)
            return has_our_name(r, &r->seen.key[i]);
    }
    return false;
}

/* The old key stays as it is, and the rotation ends. */
static bool leave_old(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f)
{
    struct cfr_rotation_journal *j = &r->journal;

    cfr_rotation_copy(r->left, sizeof r->left, j->old);
    if (cfr_rotation_look_up(&r->seen, j->old) != CFR_ROTATION_KEY_DELETED)
        cfr_rotation_aside_put(j, j->old, false, f->now_s);
    j->old[0] = '\0';
    return cfr_rotation_enter(r, CFR_ROTATION_REST, f->now_s);
}

/* ---- keys that are put aside ---- */

/* Retires the key of ours that is aside and due, if there is one: *DONE is false then. */
static bool tidy(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out,
                 bool *done)
{
    struct cfr_rotation_journal *j = &r->journal;
    size_t at = cfr_rotation_aside_next(r);

    *done = f->now_s < cfr_rotation_aside_due_s(r);
    if (*done)
        return false;
    if (is_stale(r, f->now_s, CFR_ROTATION_LOOK_AGAIN_S)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    if (cfr_rotation_look_up(&r->seen, j->current) != CFR_ROTATION_KEY_ACTIVE) {
        j->aside[at].since_s = f->now_s;
        return true;
    }
    if (!is_proven(r, f, j->aside[at].id)) {
        cfr_rotation_copy(r->left, sizeof r->left, j->aside[at].id);
        j->aside[at].ours = false;
        j->aside[at].lost = false;
        return true;
    }
    cfr_rotation_copy(r->suspect, sizeof r->suspect, j->aside[at].id);
    act(out,
        cfr_rotation_look_up(&r->seen, r->suspect) == CFR_ROTATION_KEY_ACTIVE && r->provider->deactivates
            ? CFR_ROTATION_ACT_DEACTIVATE
            : CFR_ROTATION_ACT_DELETE,
        r->suspect);
    return false;
}

/* ---- a key that another program created ---- */

/* The listed key that was found: by its id, unless its secret begins otherwise, so that the id is another one's; else
 * by how its secret begins, if only one does so. */
static const struct cfr_rotation_key *find_found(const struct cfr_rotation_rotation *r,
                                                 const struct cfr_rotation_facts *f)
{
    const struct cfr_rotation_key *found = NULL;

    for (size_t i = 0; i < r->seen.count; i++) {
        const struct cfr_rotation_key *key = &r->seen.key[i];
        bool hinted = key->hint[0] != '\0' && f->found_hint[0] != '\0';
        bool fits = hinted && strcmp(key->hint, f->found_hint) == 0;
        bool same = f->found_id[0] != '\0' ? strcmp(key->id, f->found_id) == 0 && (fits || !hinted) : fits;

        if (same && found != NULL)
            return NULL;
        found = same ? key : found;
    }
    return found;
}

/* Until it is listed as active, and was accepted everywhere, what was found may be anything. */
static bool adopt(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    const struct cfr_rotation_key *key;

    r->unfit = CFR_ROTATION_FIT;
    if (is_stale(r, f->now_s, CFR_ROTATION_LOOK_AGAIN_S)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    key = find_found(r, f);
    r->unfit = key == NULL                          ? CFR_ROTATION_UNFIT_UNLISTED
               : key->expired                       ? CFR_ROTATION_UNFIT_EXPIRED
               : !key->active                       ? CFR_ROTATION_UNFIT_INACTIVE
               : r->try_s != 0 && r->successes == 0 ? CFR_ROTATION_UNFIT_REFUSED
                                                    : CFR_ROTATION_FIT;
    if (r->unfit != CFR_ROTATION_FIT) {
        wait_until(out, r->listed_s + CFR_ROTATION_FULL_S);
        return false;
    }
    cfr_rotation_copy(r->suspect, sizeof r->suspect, key->id);
    act(out, r->successes == 0 ? CFR_ROTATION_ACT_VERIFY : CFR_ROTATION_ACT_TAKE, r->suspect);
    return false;
}

bool cfr_rotation_taken(struct cfr_rotation_rotation *r, const char *name, int64_t found_s, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    int64_t created_s = now_s;
    size_t at = cfr_rotation_aside_find(j, r->suspect);

    /* Its owner has activated it again. */
    if (at < j->aside_count)
        cfr_rotation_aside_forget(j, at);
    j->known_count = 0;
    j->minted_ends_s = 0;
    for (size_t i = 0; i < r->seen.count; i++) {
        const struct cfr_rotation_key *key = &r->seen.key[i];

        cfr_rotation_copy(j->known[j->known_count++], CFR_ROTATION_ID_MAX, key->id);
        if (strcmp(key->id, r->suspect) != 0)
            continue;
        created_s = key->created_s != 0 ? key->created_s : found_s != 0 ? found_s : now_s;
        j->minted_ends_s = key->ends_s;
    }
    j->rotation++;
    cfr_rotation_copy(j->name, sizeof j->name, name);
    cfr_rotation_copy(j->minted, CFR_ROTATION_ID_MAX, r->suspect);
    j->minted_s = created_s < now_s ? created_s : now_s;
    j->late_use = false;
    j->asked = false;
    return cfr_rotation_enter(r, CFR_ROTATION_VERIFIED, now_s);
}

/* ---- rest ---- */

/* Like an old key: once a list that is not old has the published key as an active one. */
static void retire_former(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                          struct cfr_rotation_todo *out)
{
    const struct cfr_rotation_former *one = &r->journal.former[0];

    if (is_stale(r, f->now_s, CFR_ROTATION_LOOK_AGAIN_S))
        act(out, CFR_ROTATION_ACT_LIST, NULL);
    else if (cfr_rotation_look_up(&r->seen, r->journal.current) != CFR_ROTATION_KEY_ACTIVE)
        wait_until(out, r->listed_s + CFR_ROTATION_LOOK_AGAIN_S);
    else
        act(out,
            r->provider->deactivates && one->off_s == 0 ? CFR_ROTATION_ACT_DEACTIVATE_FORMER
                                                        : CFR_ROTATION_ACT_DELETE_FORMER,
            one->id);
}

static bool rest(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    int64_t due_s = cfr_rotation_due_s(&r->journal, &r->rules);
    bool tidied;
    bool save = tidy(r, f, out, &tidied);
    bool due = f->wanted || f->now_s >= due_s || cfr_rotation_must_replace(r);
    int64_t lookup_s = cfr_rotation_lookup_s(r, f->now_s);
    int64_t former_s = cfr_rotation_former_due_s(r);

    if (former_s < f->now_s + f->grace_left_s)
        former_s = f->now_s + f->grace_left_s;
    if (!tidied)
        return save;
    if (f->found && !f->alone && r->journal.current[0] == '\0')
        return adopt(r, f, out);
    /* Whatever waits has its answer first: a lookup that fails is not its failure. */
    if (f->alone && f->now_s >= lookup_s)
        return begin_lookup(r, out);
    if (f->alone && f->now_s >= former_s && r->key_state == CFR_ROTATION_KEY_ACTIVE &&
        (f->used_by_all || f->now_s >= r->journal.published_s + r->rules.grace_most_s)) {
        if (!is_proven(r, f, r->journal.former[0].id)) {
            cfr_rotation_copy(r->left, sizeof r->left, r->journal.former[0].id);
            return cfr_rotation_former_retired(r, true, f->now_s);
        }
        retire_former(r, f, out);
        return false;
    }
    if (f->alone || !due) {
        r->listed_s = 0;
        if (f->alone && former_s > f->now_s && former_s < lookup_s)
            lookup_s = former_s;
        if (f->alone && lookup_s < cfr_rotation_aside_due_s(r)) {
            wait_until(out, lookup_s);
            return false;
        }
        wait_until(out, f->alone || cfr_rotation_aside_due_s(r) < due_s ? cfr_rotation_aside_due_s(r) : due_s);
        return false;
    }
    if (is_stale(r, f->now_s, cfr_rotation_is_full(r) ? CFR_ROTATION_FULL_S : CFR_ROTATION_LOOK_AGAIN_S)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    if (cfr_rotation_is_full(r)) {
        wait_until(out, r->listed_s + CFR_ROTATION_FULL_S);
        return false;
    }
    return begin(r, f, out);
}

/* ---- a key that may or may not exist ---- */

bool cfr_rotation_give_up(struct cfr_rotation_rotation *r, int64_t now_s)
{
    return cfr_rotation_enter(r, r->journal.old[0] != '\0' ? CFR_ROTATION_PUBLISHED : CFR_ROTATION_REST, now_s);
}

static bool intent(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    /* It took long to write it down, and nothing was sent: what was listed then says nothing about now. */
    if (r->begun && (f->now_s < r->journal.intent_s || f->now_s > r->journal.intent_s + CFR_ROTATION_LOOK_AGAIN_S))
        return cfr_rotation_give_up(r, f->now_s);
    if (r->begun) {
        act(out, CFR_ROTATION_ACT_CREATE, NULL);
        return false;
    }
    /* An earlier run wrote it down. Whether it sent the request is unknown, unless it stored the answer. */
    if (!f->pending)
        return cfr_rotation_enter(r, CFR_ROTATION_LOST, f->now_s);
    cfr_rotation_copy(r->journal.minted, CFR_ROTATION_ID_MAX, f->pending_id);
    r->journal.minted_s = f->now_s;
    r->journal.minted_ends_s = f->pending_ends_s;
    return cfr_rotation_enter(r, CFR_ROTATION_MINTED, f->now_s);
}

/* Of a key without a name: whether it can be the one whose answer was lost. */
static bool may_be_lost(const struct cfr_rotation_rotation *r, const struct cfr_rotation_key *key)
{
    const struct cfr_rotation_journal *j = &r->journal;
    bool other = j->maker[0] != '\0' && key->maker[0] != '\0' && strcmp(j->maker, key->maker) != 0;
    bool then = key->created_s >= j->intent_s - CFR_ROTATION_SKEW_S &&
                key->created_s <= j->intent_s + r->rules.settle_s + CFR_ROTATION_SKEW_S;

    return !key->foreign && !other && (key->created_s == 0 || then);
}

static bool may_be_ours(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                        const struct cfr_rotation_key *key)
{
    const struct cfr_rotation_journal *j = &r->journal;

    if (cfr_rotation_is_known(j, key->id) || cfr_rotation_aside_find(j, key->id) != j->aside_count ||
        strcmp(key->id, j->current) == 0 || strcmp(key->id, j->old) == 0)
        return false;
    /* After UNDOING it is known which one it is. */
    if (j->minted[0] != '\0')
        return strcmp(key->id, j->minted) == 0 && is_proven(r, f, key->id);
    return r->provider->names ? strcmp(key->name, j->name) == 0 && is_proven(r, f, key->id) : may_be_lost(r, key);
}

/* Deletes the key ID if it is ours for certain: by the name that was written down before it was made, or because its
 * answer came. That it was made while an answer was lost proves nothing: it is deactivated and put aside, or left as it
 * is where the cloud cannot do that. One in use is not the lost one, whose secret is unknown. */
static bool suspect(struct cfr_rotation_rotation *r, const char *id, int64_t now_s, struct cfr_rotation_todo *out)
{
    bool certain = r->provider->names || strcmp(id, r->journal.minted) == 0;

    if (strcmp(r->suspect, id) != 0) {
        cfr_rotation_copy(r->suspect, sizeof r->suspect, id);
        r->judged = certain || !r->provider->tells_use;
    }
    if (r->judged && !certain && !r->provider->deactivates) {
        cfr_rotation_aside_put(&r->journal, id, false, now_s);
        return true;
    }
    act(out,
        !r->judged ? CFR_ROTATION_ACT_LAST_USED
        : certain  ? CFR_ROTATION_ACT_DELETE
                   : CFR_ROTATION_ACT_DEACTIVATE,
        r->suspect);
    return false;
}

static bool lost(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    int64_t begin_s = r->search_s != 0 ? r->search_s : r->journal.intent_s;
    int64_t end_s = begin_s + r->rules.settle_s;
    bool settled = f->now_s >= end_s;

    out->drop_pending = f->pending;
    /* Lists lag: what was just removed is not asked for again and again. */
    if (f->now_s < r->try_s && r->try_s <= f->now_s + CFR_ROTATION_LOOK_AGAIN_S) {
        wait_until(out, r->try_s);
        return false;
    }
    if (r->listed_s == 0 || (f->now_s >= r->listed_s + CFR_ROTATION_LOOK_AGAIN_S && !settled) ||
        (settled && r->listed_s < end_s && f->now_s >= end_s)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    for (size_t i = 0; i < r->seen.count; i++) {
        if (may_be_ours(r, f, &r->seen.key[i]))
            return suspect(r, r->seen.key[i].id, f->now_s, out);
    }
    if (settled) {
        r->journal.minted[0] = '\0';
        return cfr_rotation_give_up(r, f->now_s);
    }
    wait_until(out, r->listed_s + CFR_ROTATION_LOOK_AGAIN_S < end_s ? r->listed_s + CFR_ROTATION_LOOK_AGAIN_S : end_s);
    return false;
}

/* ---- a new key ---- */

bool cfr_rotation_has_pending(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f)
{
    return f->pending && strcmp(f->pending_id, r->journal.minted) == 0;
}

static bool minted(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    bool enough = r->successes >= r->provider->verify_count;

    if (!cfr_rotation_has_pending(r, f))
        return cfr_rotation_enter(r, CFR_ROTATION_UNDOING, f->now_s);
    if (enough && f->now_s >= r->verified_s + r->rules.verify_wait_s)
        return cfr_rotation_enter(r, CFR_ROTATION_VERIFIED, f->now_s);
    if (enough)
        wait_until(out, r->verified_s + r->rules.verify_wait_s);
    else if (r->tried_s != 0 && r->verified_s >= r->tried_s + r->rules.verify_most_s)
        return cfr_rotation_enter(r, CFR_ROTATION_UNDOING, f->now_s);
    else if (f->now_s < r->try_s)
        wait_until(out, r->try_s);
    else
        act(out, CFR_ROTATION_ACT_VERIFY, NULL);
    return false;
}

static bool verified(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    /* It may have been published just before a crash: then removing it would end what consumers use, and publishing it
     * again would notify them twice. */
    if (f->new_published)
        act(out, CFR_ROTATION_ACT_ADOPT, r->journal.minted);
    else if (f->refused && !cfr_rotation_is_known(&r->journal, r->journal.minted))
        return cfr_rotation_enter(r, CFR_ROTATION_LOST, f->now_s);
    else if (cfr_rotation_has_pending(r, f) && !f->refused)
        act(out, CFR_ROTATION_ACT_PUBLISH, r->journal.minted);
    else if (cfr_rotation_is_known(&r->journal, r->journal.minted)) {
        /* It was not created for this: where it was found, its secret is still to be had. */
        r->journal.minted[0] = '\0';
        return cfr_rotation_enter(r, CFR_ROTATION_REST, f->now_s);
    } else
        wait_until(out, f->now_s + CFR_ROTATION_LOOK_AGAIN_S);
    return false;
}

/* ---- the old key ---- */

/* The published key is gone: the old one is kept, and another one is made next to it. */
static bool replace(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    const struct cfr_rotation_journal *j = &r->journal;
    enum cfr_rotation_key_state found = cfr_rotation_look_up(&r->seen, j->current);

    if (f->alone || !(f->wanted || r->rules.replace || f->now_s >= cfr_rotation_due_s(j, &r->rules)))
        return wait_or_look_up(r, f, out, INT64_MAX);
    if (is_stale(r, f->now_s, CFR_ROTATION_LOOK_AGAIN_S)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    if (!cfr_rotation_is_full(r))
        return begin(r, f, out);
    /* Nothing works with it, and the old one may be the last that does. */
    if ((found == CFR_ROTATION_KEY_DEACTIVATED || found == CFR_ROTATION_KEY_EXPIRED) && is_proven(r, f, j->current))
        act(out, CFR_ROTATION_ACT_DELETE, j->current);
    else
        wait_until(out, r->listed_s + CFR_ROTATION_FULL_S);
    return false;
}

/* What was published is lost: another key is made next to those that consumers may still use. Where there is no room,
 * it waits for the grace of the old one; no consumer can acknowledge what it cannot read. */
static bool make_up(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out,
                    int64_t grace_end_s)
{
    bool room = !cfr_rotation_is_full(r) && r->journal.aside_count < CFR_ROTATION_ASIDE_MAX;

    if (f->now_s >= grace_end_s && !room)
        return cfr_rotation_enter(r, CFR_ROTATION_RETIRING, f->now_s);
    if (is_stale(r, f->now_s, room ? CFR_ROTATION_LOOK_AGAIN_S : CFR_ROTATION_FULL_S)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    if (room)
        return begin(r, f, out);
    wait_until(out, grace_end_s < r->listed_s + CFR_ROTATION_FULL_S ? grace_end_s : r->listed_s + CFR_ROTATION_FULL_S);
    return false;
}

static bool published(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                      struct cfr_rotation_todo *out)
{
    const struct cfr_rotation_journal *j = &r->journal;
    int64_t least_s = j->published_s + r->rules.grace_s;
    int64_t held_s = f->now_s + f->grace_left_s;
    int64_t most_s = j->published_s + r->rules.grace_most_s;

    if (held_s < least_s)
        held_s = least_s;
    if (j->old[0] == '\0')
        return cfr_rotation_enter(r, CFR_ROTATION_REST, f->now_s);
    if (cfr_rotation_is_refused(r))
        return replace(r, f, out);
    if (f->lost && !f->alone)
        return make_up(r, f, out, held_s);
    if (f->now_s < held_s)
        return wait_or_look_up(r, f, out, held_s);
    if (!f->used_by_all && f->now_s < most_s)
        return wait_or_look_up(r, f, out, most_s);
    return cfr_rotation_enter(r, CFR_ROTATION_RETIRING, f->now_s);
}

/* *SURE: a list of this step, which is not old, has the published key as an active one. */
static bool confirm(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out,
                    bool *sure)
{
    bool stale = is_stale(r, f->now_s, CFR_ROTATION_LOOK_AGAIN_S);

    *sure = !stale && cfr_rotation_look_up(&r->seen, r->journal.current) == CFR_ROTATION_KEY_ACTIVE;
    if (stale)
        act(out, CFR_ROTATION_ACT_LIST, NULL);
    else if (!*sure && cfr_rotation_is_refused(r))
        return cfr_rotation_enter(r, CFR_ROTATION_PUBLISHED, f->now_s);
    else if (!*sure)
        wait_until(out, r->listed_s + CFR_ROTATION_LOOK_AGAIN_S);
    return false;
}

static bool retiring(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    bool sure;
    bool save;

    if (!r->provider->deactivates)
        return cfr_rotation_enter(r, CFR_ROTATION_DELETING, f->now_s);
    save = confirm(r, f, out, &sure);
    if (sure && !is_proven(r, f, r->journal.old))
        return leave_old(r, f);
    if (sure)
        act(out, CFR_ROTATION_ACT_DEACTIVATE, r->journal.old);
    return save;
}

static bool inactive(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    int64_t wait_s = r->rules.inactive_s / 2 < USE_LAG_S ? r->rules.inactive_s / 2 : USE_LAG_S;
    int64_t end_s = r->journal.step_s + r->rules.inactive_s;
    bool known = r->judged || !r->provider->tells_use;

    if (cfr_rotation_is_refused(r))
        return cfr_rotation_enter(r, CFR_ROTATION_PUBLISHED, f->now_s);
    /* A request for another key needs its room, and was made knowing that. */
    if ((known && !r->journal.late_use) || f->now_s >= end_s || f->wanted)
        return cfr_rotation_enter(r, CFR_ROTATION_DELETING, f->now_s);
    if (r->journal.late_use)
        return wait_or_look_up(r, f, out, end_s);
    if (f->now_s < r->journal.step_s + wait_s)
        return wait_or_look_up(r, f, out, r->journal.step_s + wait_s);
    act(out, CFR_ROTATION_ACT_LAST_USED, r->journal.old);
    return false;
}

static bool deleting(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    bool sure;
    bool save = confirm(r, f, out, &sure);

    if (sure && !is_proven(r, f, r->journal.old))
        return leave_old(r, f);
    if (sure)
        act(out, CFR_ROTATION_ACT_DELETE, r->journal.old);
    return save;
}

static bool undoing(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, struct cfr_rotation_todo *out)
{
    struct cfr_rotation_journal *j = &r->journal;

    if (is_proven(r, f, j->minted)) {
        act(out, CFR_ROTATION_ACT_DELETE, j->minted);
        return false;
    }
    /* Its name may prove it. */
    if (r->provider->names && is_stale(r, f->now_s, CFR_ROTATION_LOOK_AGAIN_S)) {
        act(out, CFR_ROTATION_ACT_LIST, NULL);
        return false;
    }
    cfr_rotation_copy(r->left, sizeof r->left, j->minted);
    j->minted[0] = '\0';
    return cfr_rotation_give_up(r, f->now_s);
}

void cfr_rotation_next(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f, bool *save,
                       struct cfr_rotation_todo *out)
{
    *out = (struct cfr_rotation_todo){.at_s = INT64_MAX};
    *save = false;
    r->looking_up = false;
    switch (r->journal.step) {
    case CFR_ROTATION_REST:
        *save = rest(r, f, out);
        out->drop_pending = f->pending;
        break;
    case CFR_ROTATION_INTENT:
        *save = intent(r, f, out);
        break;
    case CFR_ROTATION_LOST:
        *save = lost(r, f, out);
        break;
    case CFR_ROTATION_MINTED:
        *save = minted(r, f, out);
        break;
    case CFR_ROTATION_VERIFIED:
        *save = verified(r, f, out);
        break;
    case CFR_ROTATION_PUBLISHED:
        *save = published(r, f, out);
        out->drop_pending = f->pending;
        break;
    case CFR_ROTATION_RETIRING:
        *save = retiring(r, f, out);
        break;
    case CFR_ROTATION_INACTIVE:
        *save = inactive(r, f, out);
        break;
    case CFR_ROTATION_DELETING:
        *save = deleting(r, f, out);
        break;
    default:
        *save = undoing(r, f, out);
        break;
    }
}
