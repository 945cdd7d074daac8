/* SPDX-License-Identifier: MIT */
/* What the rotation protocol decides where it cannot know: without its pending secret, and about keys that may be
 * another user's. */
#include "unit.h"

#include "rotation/rotation_private.h"

#define SETTLE 60
#define ASIDE  300

/* It may be published already, so it is neither removed nor published from nothing. */
static void a_verified_key_without_its_pending_secret_is_left_alone(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1};
    struct cfr_rotation_rotation r = {
        .provider = &provider, .credential = "robot", .journal = {.step = CFR_ROTATION_VERIFIED}};
    struct cfr_rotation_facts f = {.now_s = 1700000000};
    struct cfr_rotation_todo todo;
    char words[CFR_ROTATION_WORDS_MAX];
    bool save;

    (void)state;
    (void)snprintf(r.journal.minted, sizeof r.journal.minted, "key-1");
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_false(save);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == f.now_s + 10);
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "key-1");
    /* It is: then the old one may go, in its time. */
    f.new_published = true;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_ADOPT);
    assert_string_equal(todo.id, "key-1");
    r.journal.published = 4;
    assert_true(cfr_rotation_published(&r, 7, f.now_s));
    assert_true(r.journal.published == 5);
    assert_int_equal(r.journal.step, CFR_ROTATION_PUBLISHED);
    assert_string_equal(r.journal.current, "key-1");
}

/* The program, or the machine, was stopped for a day: the new key is tried for as long as any other, and undone only
 * after a try that failed that late. */
static void a_stop_says_nothing_about_a_new_key(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1};
    const int64_t made_s = 1700000000;
    struct cfr_rotation_rotation r = {
        .provider = &provider,
        .credential = "robot",
        .rules = {.verify_most_s = 300},
        .journal = {.step = CFR_ROTATION_MINTED, .minted = "key-1", .minted_s = made_s, .step_s = made_s}};
    struct cfr_rotation_facts f = {.now_s = made_s + 86400, .pending = true, .pending_id = "key-1"};
    struct cfr_rotation_todo todo;
    bool save;

    (void)state;
    for (int tries = 0; tries < 2; tries++, f.now_s += 86400) {
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_true(!save && todo.action == CFR_ROTATION_ACT_VERIFY);
        if (tries == 0)
            assert_false(cfr_rotation_verified(&r, false, f.now_s));
    }
    assert_false(cfr_rotation_verified(&r, false, f.now_s));
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(save);
    assert_int_equal(r.journal.step, CFR_ROTATION_UNDOING);
}

/* What LOST does about KEY, of a cloud whose keys have no names and whose use nobody tells. */
static enum cfr_rotation_action judge(struct cfr_rotation_rotation *r, const struct cfr_rotation_key *key,
                                      int64_t now_s)
{
    struct cfr_rotation_facts f = {.now_s = now_s};
    struct cfr_rotation_keys keys = {.count = 1};
    struct cfr_rotation_todo todo;
    bool save;

    keys.key[0] = *key;
    r->journal.step = CFR_ROTATION_LOST;
    (void)cfr_rotation_listed(r, &keys, now_s);
    cfr_rotation_next(r, &f, &save, &todo);
    return todo.action;
}

static void what_is_not_ours_for_certain_is_put_aside(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};
    const int64_t now_s = 1700000000;
    struct cfr_rotation_rotation r = {.provider = &provider,
                                      .credential = "robot",
                                      .rules = {.settle_s = SETTLE, .inactive_s = ASIDE},
                                      .journal = {.intent_s = now_s, .maker = "admin"}};
    struct cfr_rotation_key key = {.id = "key-1", .created_s = now_s + 1, .active = true};
    struct cfr_rotation_key other = key;
    struct cfr_rotation_facts f = {.now_s = now_s + 2};
    char words[CFR_ROTATION_WORDS_MAX];

    (void)state;
    assert_int_equal(judge(&r, &key, now_s + 2), CFR_ROTATION_ACT_DEACTIVATE);
    (void)snprintf(other.maker, sizeof other.maker, "admin");
    assert_int_equal(judge(&r, &other, now_s + 2), CFR_ROTATION_ACT_DEACTIVATE);
    (void)snprintf(other.maker, sizeof other.maker, "somebody");
    assert_int_equal(judge(&r, &other, now_s + 2), CFR_ROTATION_ACT_WAIT);
    other = key;
    other.foreign = true;
    assert_int_equal(judge(&r, &other, now_s + 2), CFR_ROTATION_ACT_WAIT);
    other = key;
    other.created_s = now_s + 3 * 86400;
    assert_int_equal(judge(&r, &other, now_s + 2), CFR_ROTATION_ACT_WAIT);
    /* What was undone was ours. */
    (void)snprintf(r.journal.minted, sizeof r.journal.minted, "key-1");
    assert_int_equal(judge(&r, &key, now_s + 2), CFR_ROTATION_ACT_DELETE);
    r.journal.minted[0] = '\0';
    assert_int_equal(judge(&r, &key, now_s + 2), CFR_ROTATION_ACT_DEACTIVATE);
    assert_true(cfr_rotation_deactivated(&r, now_s + 2));
    assert_int_equal(r.journal.step, CFR_ROTATION_LOST);
    assert_int_equal(judge(&r, &key, now_s + 3), CFR_ROTATION_ACT_WAIT);
    r.journal.step = CFR_ROTATION_REST;
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "key-1");
}

/* Where the cloud cannot deactivate it, it is left as it is; one that is in use is not the lost one. */
static void what_cannot_be_deactivated_is_left(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .tells_use = true};
    const int64_t now_s = 1700000000;
    struct cfr_rotation_rotation r = {.provider = &provider,
                                      .credential = "robot",
                                      .rules = {.settle_s = SETTLE, .inactive_s = ASIDE},
                                      .journal = {.step = CFR_ROTATION_LOST, .intent_s = now_s}};
    struct cfr_rotation_facts f = {.now_s = now_s + 2};
    struct cfr_rotation_keys keys = {.count = 2};
    struct cfr_rotation_todo todo;
    char words[CFR_ROTATION_WORDS_MAX];
    bool save;

    (void)state;
    keys.key[0] = (struct cfr_rotation_key){.id = "used", .created_s = now_s, .active = true};
    keys.key[1] = (struct cfr_rotation_key){.id = "idle", .created_s = now_s, .active = true};
    assert_false(cfr_rotation_listed(&r, &keys, now_s + 2));
    for (int i = 0; i < 2; i++) {
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_false(save);
        assert_int_equal(todo.action, CFR_ROTATION_ACT_LAST_USED);
        assert_string_equal(todo.id, keys.key[i].id);
        assert_int_equal(cfr_rotation_used(&r, i == 0 ? now_s + 1 : 0, now_s + 2), i == 0);
    }
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(save);
    assert_int_equal(r.journal.aside_count, 1);
    assert_string_equal(r.journal.aside[0].id, "idle");
    assert_false(r.journal.aside[0].ours);
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    r.journal.step = CFR_ROTATION_REST;
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "idle");
    assert_contains(words, "left as it is and never deleted");
}

enum { GONE, OFF, ENDED, ON };

static struct cfr_rotation_key key_that_is(const char *id, int how)
{
    struct cfr_rotation_key key = {.active = how == ON, .expired = how == ENDED};

    (void)snprintf(key.id, sizeof key.id, "%s", id);
    return key;
}

/* Looks at rest, at NOW_S, at a list in which the published key and the one that is aside are GONE, OFF, ENDED or
 * ON. True if the journal was changed. */
static bool look_at_rest(struct cfr_rotation_rotation *r, int64_t now_s, int published, int aside,
                         struct cfr_rotation_todo *todo)
{
    struct cfr_rotation_facts f = {.now_s = now_s, .alone = true};
    struct cfr_rotation_keys keys = {.count = 0};
    bool save = false;

    if (published != GONE)
        keys.key[keys.count++] = key_that_is("key-2", published);
    if (aside != GONE)
        keys.key[keys.count++] = key_that_is("key-1", aside);
    for (int i = 0; !save && i < 3; i++) {
        cfr_rotation_next(r, &f, &save, todo);
        if (todo->action != CFR_ROTATION_ACT_LIST)
            break;
        save = cfr_rotation_listed(r, &keys, now_s) || save;
    }
    return save;
}

static struct cfr_rotation_rotation with_one_aside(const struct cfr_rotation_provider *provider, bool ours)
{
    return (struct cfr_rotation_rotation){
        .provider = provider,
        .credential = "robot",
        .rules = {.settle_s = SETTLE, .inactive_s = ASIDE, .expire_after_s = 100 * 86400},
        .journal = {.current = "key-2",
                    .current_s = 1600000000,
                    .aside = {{"key-1", 1700000000, ours, false}},
                    .aside_count = 1}};
}

static void what_may_be_anothers_is_never_deleted(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true, .tells_use = true};
    const int64_t now_s = 1700000000;
    struct cfr_rotation_todo todo;

    (void)state;
    for (int days = 1; days < 100; days++) {
        struct cfr_rotation_rotation r = with_one_aside(&provider, false);

        assert_false(look_at_rest(&r, now_s + days * 86400, ON, OFF, &todo));
        assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
        assert_int_equal(r.journal.aside_count, 1);
    }
    for (int how = GONE; how <= ON; how++) {
        struct cfr_rotation_rotation r = with_one_aside(&provider, false);

        /* Lists lag behind the deactivation. */
        assert_false(look_at_rest(&r, now_s + SETTLE - 1, ON, how, &todo));
        assert_int_equal(r.journal.aside_count, 1);
        assert_int_equal(look_at_rest(&r, now_s + 2 * 3600, ON, how, &todo), how == GONE || how == ON);
        assert_int_equal(r.journal.aside_count, how == OFF || how == ENDED);
    }
}

/* Where the owner has no keys of others, a key that may be the lost one goes when its time has come, unless somebody
 * has activated it. */
static void what_may_be_lost_is_deleted_later(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true, .sole = true};
    const int64_t now_s = 1700000000;
    struct cfr_rotation_rotation r = with_one_aside(&provider, false);
    struct cfr_rotation_facts f = {.now_s = now_s};
    struct cfr_rotation_todo todo;
    char words[CFR_ROTATION_WORDS_MAX];

    (void)state;
    r.journal.aside[0].lost = true;
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "key-1, which may be a lost key and is set aside, to be deleted in ");
    assert_false(look_at_rest(&r, now_s + ASIDE - 1, ON, OFF, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_false(look_at_rest(&r, now_s + ASIDE, ON, OFF, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    assert_string_equal(todo.id, "key-1");
    assert_true(cfr_rotation_deleted(&r, now_s + ASIDE));
    assert_int_equal(r.journal.aside_count, 0);
    /* Activated: it is in use. */
    r = with_one_aside(&provider, false);
    r.journal.aside[0].lost = true;
    assert_true(look_at_rest(&r, now_s + ASIDE, ON, ON, &todo));
    assert_int_equal(r.journal.aside_count, 0);
    /* keep_unknown */
    r = with_one_aside(&provider, false);
    r.journal.aside[0].lost = true;
    r.rules.keep_lost = true;
    assert_false(look_at_rest(&r, now_s + 100 * ASIDE, ON, OFF, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_int_equal(r.journal.aside_count, 1);
}

/* A key of ours that is aside goes when its time has come, and what is published is there. */
static void what_is_ours_and_aside_is_retired(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};
    const int64_t now_s = 1700000000;
    struct cfr_rotation_rotation r = with_one_aside(&provider, true);
    struct cfr_rotation_todo todo;

    (void)state;
    assert_false(look_at_rest(&r, now_s + ASIDE - 1, ON, OFF, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == now_s + ASIDE);
    assert_false(look_at_rest(&r, now_s + ASIDE, ON, OFF, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    assert_string_equal(todo.id, "key-1");
    assert_true(cfr_rotation_deleted(&r, now_s + ASIDE));
    assert_int_equal(r.journal.aside_count, 0);
    /* An operator has activated it again: it is deactivated once more, and has its time again. */
    r = with_one_aside(&provider, true);
    assert_false(look_at_rest(&r, now_s + ASIDE, ON, ON, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DEACTIVATE);
    assert_true(cfr_rotation_deactivated(&r, now_s + ASIDE));
    assert_int_equal(r.journal.step, CFR_ROTATION_REST);
    assert_true(cfr_rotation_aside_due_s(&r) == now_s + 2 * ASIDE);
    /* It may be the last one. */
    for (int how = GONE; how < ON; how++) {
        r = with_one_aside(&provider, true);
        assert_true(look_at_rest(&r, now_s + ASIDE, how, ON, &todo));
        assert_true(cfr_rotation_aside_due_s(&r) == now_s + 2 * ASIDE);
    }
}

/* Its owner has activated it, and wants it to be adopted. */
static void what_was_aside_is_adopted(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};
    const int64_t now_s = 1700000000;
    struct cfr_rotation_rotation r = with_one_aside(&provider, false);
    struct cfr_rotation_keys keys = {.count = 1, .key = {{.id = "key-1", .active = true}}};
    struct cfr_rotation_journal back;
    struct cfr_str text = {.limit = 65536};

    (void)state;
    r.journal.current[0] = '\0';
    assert_false(cfr_rotation_listed(&r, &keys, now_s));
    (void)snprintf(r.suspect, sizeof r.suspect, "key-1");
    assert_true(cfr_rotation_taken(&r, "adopted", 0, now_s));
    assert_true(cfr_rotation_published(&r, 1, now_s));
    assert_string_equal(r.journal.current, "key-1");
    assert_int_equal(cfr_rotation_journal_write(&r.journal, &text), 0);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&text), &back, NULL), 0);
    assert_int_equal(back.aside_count, 0);
    cfr_str_free(&text);
}

/* ---- an old key, and a published one that is gone ---- */

/* In STEP, with "key-2" published and "key-1" as the old one, the grace over. */
static struct cfr_rotation_rotation with_old(const struct cfr_rotation_provider *provider, enum cfr_rotation_step step)
{
    return (struct cfr_rotation_rotation){.provider = provider,
                                          .credential = "robot",
                                          .rules = {.settle_s = SETTLE,
                                                    .grace_s = 10,
                                                    .grace_most_s = 20,
                                                    .inactive_s = ASIDE,
                                                    .expire_after_s = 100 * 86400,
                                                    .replace = true},
                                          .journal = {.step = step,
                                                      .current = "key-2",
                                                      .current_s = 1699990000,
                                                      .published_s = 1699990000,
                                                      .old = "key-1",
                                                      .rotation = 2}};
}

/* Goes on from *NOW_S until the step changes or something is done, with the published key GONE, OFF, ENDED or ON, and
 * the old one there. */
static enum cfr_rotation_action go_on(struct cfr_rotation_rotation *r, int64_t *now_s, bool alone, int published,
                                      struct cfr_rotation_todo *todo)
{
    enum cfr_rotation_step before = r->journal.step;
    struct cfr_rotation_keys keys = {.count = 1};

    keys.key[0] = (struct cfr_rotation_key){.id = "key-1", .active = before != CFR_ROTATION_INACTIVE};
    if (published != GONE)
        keys.key[keys.count++] = key_that_is("key-2", published);
    for (int i = 0; i < 32; i++) {
        struct cfr_rotation_facts f = {.now_s = *now_s, .alone = alone, .used_by_all = true};
        bool save;

        cfr_rotation_next(r, &f, &save, todo);
        if (r->journal.step != before)
            return CFR_ROTATION_ACT_WAIT;
        assert_false(save);
        if (todo->action == CFR_ROTATION_ACT_LIST)
            assert_false(cfr_rotation_listed(r, &keys, *now_s));
        else if (todo->action == CFR_ROTATION_ACT_WAIT && todo->at_s < *now_s + 3600)
            *now_s = todo->at_s;
        else
            return todo->action;
    }
    fail_msg("nothing is done");
    return CFR_ROTATION_ACT_WAIT;
}

static void the_old_key_goes_once_the_published_one_is_listed(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true, .most = 2};
    struct cfr_rotation_todo todo;
    int64_t now_s = 1700000000;

    (void)state;
    for (int how = GONE; how <= ON; how++) {
        struct cfr_rotation_rotation r = with_old(&provider, CFR_ROTATION_RETIRING);
        char words[CFR_ROTATION_WORDS_MAX];
        struct cfr_rotation_facts f = {.now_s = now_s};
        bool save;

        assert_int_equal(go_on(&r, &now_s, true, how, &todo),
                         how == ON ? CFR_ROTATION_ACT_DEACTIVATE : CFR_ROTATION_ACT_WAIT);
        assert_int_equal(r.journal.step, how == ON ? CFR_ROTATION_RETIRING : CFR_ROTATION_PUBLISHED);
        assert_string_equal(r.journal.old, "key-1");
        r = with_old(&provider, CFR_ROTATION_DELETING);
        assert_int_equal(go_on(&r, &now_s, true, how, &todo),
                         how == ON ? CFR_ROTATION_ACT_DELETE : CFR_ROTATION_ACT_WAIT);
        assert_int_equal(r.journal.step, how == ON ? CFR_ROTATION_DELETING : CFR_ROTATION_PUBLISHED);
        assert_string_equal(r.journal.old, "key-1");
        if (how == ON)
            continue;
        cfr_rotation_words(&r, &f, words);
        assert_contains(words, how == OFF     ? "key-2 was deactivated in the cloud"
                               : how == ENDED ? "key-2 has expired"
                                              : "key-2 was deleted in the cloud");
        assert_contains(words, "the old key key-1 is kept");
        /* Nothing is begun without a waiter. */
        f = (struct cfr_rotation_facts){.now_s = now_s, .alone = true};
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_true(!save && todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s > now_s);
        /* Another one is made; for one that is listed still there is room only without it. */
        if (how != GONE) {
            assert_int_equal(go_on(&r, &now_s, false, how, &todo), CFR_ROTATION_ACT_DELETE);
            assert_string_equal(todo.id, "key-2");
            assert_false(cfr_rotation_deleted(&r, now_s));
        }
        (void)go_on(&r, &now_s, false, GONE, &todo);
        assert_int_equal(r.journal.step, CFR_ROTATION_INTENT);
        assert_int_equal(r.journal.rotation, 3);
        assert_string_equal(r.journal.old, "key-1");
        /* Nothing came of it: the old one is kept still. */
        assert_true(cfr_rotation_refused(&r, now_s));
        assert_int_equal(r.journal.step, CFR_ROTATION_PUBLISHED);
    }
}

/* A list that lags behind does not have a young key: that says nothing, but the old one waits for it. */
static void a_young_key_that_is_not_listed_yet(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};
    struct cfr_rotation_rotation r = with_old(&provider, CFR_ROTATION_RETIRING);
    struct cfr_rotation_facts f = {.now_s = 1700000000, .alone = true};
    struct cfr_rotation_keys keys = {.count = 0};
    struct cfr_rotation_todo todo;
    char words[CFR_ROTATION_WORDS_MAX];
    bool save;

    (void)state;
    r.journal.current_s = f.now_s - SETTLE / 2;
    for (int i = 0; i < 3; i++, f.now_s += 10) {
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
        assert_false(cfr_rotation_listed(&r, &keys, f.now_s));
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_true(todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == f.now_s + 10);
        assert_int_equal(r.key_state, CFR_ROTATION_KEY_UNKNOWN);
    }
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "to list the published key key-2 as active");
}

/* What replaces it is published: the old one is still the one before it, and what was gone is aside, also where lists
 * said that it was deleted: they may have been wrong. */
static void what_was_replaced_in_its_grace_is_put_aside(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};

    (void)state;
    for (int gone = CFR_ROTATION_KEY_DEACTIVATED; gone <= CFR_ROTATION_KEY_DELETED; gone++) {
        struct cfr_rotation_rotation r = with_old(&provider, CFR_ROTATION_VERIFIED);
        struct cfr_rotation_facts f = {.now_s = 1700000000 + 86400, .alone = true};
        struct cfr_rotation_keys keys = {.count = 2,
                                         .key = {{.id = "key-3", .active = true}, {.id = "key-2", .active = true}}};
        struct cfr_rotation_todo todo;
        bool save;

        (void)snprintf(r.journal.minted, sizeof r.journal.minted, "key-3");
        r.key_state = (enum cfr_rotation_key_state)gone;
        assert_true(cfr_rotation_published(&r, 3, 1700000000));
        assert_string_equal(r.journal.current, "key-3");
        assert_string_equal(r.journal.old, "key-1");
        assert_int_equal(r.journal.aside_count, 1);
        assert_string_equal(r.journal.aside[0].id, "key-2");
        assert_true(r.journal.aside[0].ours);
        assert_int_equal(r.journal.step, CFR_ROTATION_PUBLISHED);
        /* At rest it is retired if it lives on, and forgotten if it does not. */
        r.journal.step = CFR_ROTATION_REST;
        r.journal.old[0] = '\0';
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
        assert_false(cfr_rotation_listed(&r, &keys, f.now_s));
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_int_equal(todo.action, CFR_ROTATION_ACT_DEACTIVATE);
        assert_string_equal(todo.id, "key-2");
        keys.count = 1;
        assert_true(cfr_rotation_listed(&r, &keys, f.now_s));
        assert_int_equal(r.journal.aside_count, 0);
    }
}

/* ---- a clock that is set ---- */

#define YEAR INT64_C(31536000)

/* In STEP since NOW_S, which is the time by the clock, with lookups that are not due. */
static struct cfr_rotation_rotation since(const struct cfr_rotation_provider *provider, enum cfr_rotation_step step,
                                          int64_t now_s)
{
    struct cfr_rotation_rotation r = with_old(provider, step);

    r.rules.verify_wait_s = 30;
    r.rules.verify_most_s = 300;
    (void)cfr_rotation_set_clock(&r, now_s, 7);
    r.journal.current_s = now_s - 3 * YEAR;
    r.journal.step_s = r.journal.published_s = r.journal.intent_s = r.listed_s = r.looked_s = now_s;
    r.look_pause_s = 86400;
    return r;
}

/* Waits for as long as it would if the clock had not been set, LEFT_S, and goes on then. */
static void check_wait(struct cfr_rotation_rotation *r, struct cfr_rotation_facts f, int64_t left_s,
                       enum cfr_rotation_step after)
{
    struct cfr_rotation_todo todo;
    bool save;

    cfr_rotation_next(r, &f, &save, &todo);
    assert_true(!save && todo.action == CFR_ROTATION_ACT_WAIT);
    assert_int_equal(todo.at_s - f.now_s, left_s);
    f.now_s += left_s;
    cfr_rotation_next(r, &f, &save, &todo);
    assert_int_equal(r->journal.step, after);
}

static void nothing_lasts_longer_or_shorter_when_the_clock_is_set(void **state)
{
    static const int64_t by[] = {-2 * YEAR, -800, -2, 2, 400, YEAR};
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true, .tells_use = true};
    const int64_t begun_s = 1700000000;

    (void)state;
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++) {
        const int64_t now_s = begun_s + by[i];
        struct cfr_rotation_facts f = {.now_s = now_s, .alone = true, .pending_id = ""};
        struct cfr_rotation_rotation r = since(&provider, CFR_ROTATION_PUBLISHED, begun_s);
        struct cfr_rotation_todo todo;
        bool save;

        assert_true(cfr_rotation_set_clock(&r, now_s, 7 + by[i]));
        assert_false(cfr_rotation_set_clock(&r, now_s, 8 + by[i]));
        check_wait(&r, f, r.rules.grace_s, CFR_ROTATION_PUBLISHED);
        f.now_s = now_s + r.rules.grace_s;
        check_wait(&r, f, r.rules.grace_most_s - r.rules.grace_s, CFR_ROTATION_RETIRING);
        f.now_s = now_s;
        r = since(&provider, CFR_ROTATION_INACTIVE, begun_s);
        r.journal.late_use = true;
        (void)cfr_rotation_set_clock(&r, now_s, 7 + by[i]);
        check_wait(&r, f, ASIDE, CFR_ROTATION_DELETING);
        r = since(&provider, CFR_ROTATION_MINTED, begun_s);
        f.pending = true;
        assert_false(cfr_rotation_verified(&r, true, begun_s));
        (void)cfr_rotation_set_clock(&r, now_s, 7 + by[i]);
        check_wait(&r, f, 30, CFR_ROTATION_VERIFIED);
        r = since(&provider, CFR_ROTATION_MINTED, begun_s);
        assert_false(cfr_rotation_verified(&r, false, begun_s));
        (void)cfr_rotation_set_clock(&r, now_s, 7 + by[i]);
        assert_false(cfr_rotation_verified(&r, false, now_s + 1));
        check_wait(&r, f, 4, CFR_ROTATION_MINTED);
        r = since(&provider, CFR_ROTATION_LOST, begun_s);
        f.pending = false;
        (void)cfr_rotation_set_clock(&r, now_s, 7 + by[i]);
        check_wait(&r, f, 10, CFR_ROTATION_LOST);
        f.now_s += SETTLE - 1;
        r.listed_s = f.now_s;
        check_wait(&r, f, 1, CFR_ROTATION_LOST);
        r.listed_s = f.now_s + 1;
        f.now_s++;
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_true(save && r.journal.step == CFR_ROTATION_PUBLISHED);
        r = since(&provider, CFR_ROTATION_REST, begun_s);
        r.journal.old[0] = '\0';
        r.journal.former_count = 1;
        r.key_state = CFR_ROTATION_KEY_ACTIVE;
        r.rules.expire_after_s = 100 * YEAR;
        f.now_s = now_s;
        f.used_by_all = true;
        (void)cfr_rotation_set_clock(&r, now_s, 7 + by[i]);
        check_wait(&r, f, r.rules.grace_s, CFR_ROTATION_REST);
    }
}

/* An earlier run wrote it down by a clock that was ahead. A little is no setting. */
static void what_is_ahead_of_the_clock_begins_again(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};
    const int64_t now_s = 1700000000;

    (void)state;
    for (int64_t by_s = 901; by_s < 2 * YEAR; by_s *= 7) {
        struct cfr_rotation_facts f = {.now_s = now_s, .alone = true, .pending_id = ""};
        struct cfr_rotation_rotation r = since(&provider, CFR_ROTATION_PUBLISHED, now_s + by_s);

        r.clocked = false;
        r.looked_s = now_s;
        assert_true(cfr_rotation_set_clock(&r, now_s, 7));
        check_wait(&r, f, r.rules.grace_s, CFR_ROTATION_PUBLISHED);
        r = since(&provider, CFR_ROTATION_LOST, now_s + by_s);
        r.clocked = false;
        r.listed_s = f.now_s = now_s + SETTLE - 1;
        (void)cfr_rotation_set_clock(&r, now_s, 7);
        check_wait(&r, f, 1, CFR_ROTATION_LOST);
    }
    for (int64_t by_s = -YEAR; by_s <= 900; by_s += YEAR / 2) {
        struct cfr_rotation_rotation r = since(&provider, CFR_ROTATION_PUBLISHED, now_s + by_s);

        r.clocked = false;
        assert_false(cfr_rotation_set_clock(&r, now_s, 7));
        assert_true(r.journal.published_s == now_s + by_s);
    }
}

/* ---- what is written down ---- */

/* The number KEY, which is there, has VALUE; the journal is read or refused as WANTED says. */
static void check_number(const struct cfr_str *whole, const char *key, const char *value, int wanted)
{
    struct cfr_str text = {.limit = 65536};
    struct cfr_rotation_journal back;
    struct cfr_err err = {0};
    char mark[64];
    char *at;
    char *end;

    (void)snprintf(mark, sizeof mark, "\"%s\":\"", key);
    at = strstr(whole->p, mark);
    assert_non_null(at);
    at += strlen(mark);
    end = strchr(at, '"');
    cfr_str_addf(&text, "%.*s%s%s", (int)(at - whole->p), whole->p, value, end);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&text), &back, &err), wanted);
    if (wanted != 0)
        assert_contains(err.text, "out of range");
    cfr_str_free(&text);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const char *const times[] = {"current_s", "current_ends_s", "minted_s", "minted_ends_s",
                                        "intent_s",  "step_s",         "since_s",  "published_s"};
    static const char *const wrong[] = {"9223372036854775807",
                                        "9223372036854775808",
                                        "99999999999999999999",
                                        "253402300800",
                                        "-1",
                                        " 5",
                                        "+5",
                                        "5x",
                                        ""};
    const struct cfr_rotation_journal journal = {.step = CFR_ROTATION_REST,
                                                 .current = "key-2",
                                                 .aside = {{"key-1", 1700000000, false, false}},
                                                 .aside_count = 1};
    struct cfr_str whole = {.limit = 65536};

    (void)state;
    assert_int_equal(cfr_rotation_journal_write(&journal, &whole), 0);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        check_number(&whole, times[i], "253402300799", 0);
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
            check_number(&whole, times[i], wrong[k], CFR_E_ANSWER);
    }
    check_number(&whole, "rotation", "9007199254740992", 0);
    check_number(&whole, "rotation", "9007199254740993", CFR_E_ANSWER);
    check_number(&whole, "generation", "18446744073709551615", CFR_E_ANSWER);
    check_number(&whole, "published", "9007199254740993", CFR_E_ANSWER);
    cfr_str_free(&whole);
}

static void what_is_aside_is_written_down(void **state)
{
    const struct cfr_rotation_journal journal = {
        .step = CFR_ROTATION_REST,
        .maker = "admin",
        .account = "111122223333",
        .aside = {{"key-1", 1700000000, false, false}, {"key-2", 1700000001, true, false}},
        .aside_count = 2};
    struct cfr_rotation_journal wrong = journal;
    struct cfr_rotation_journal back;
    struct cfr_str text = {.limit = 65536};
    struct cfr_err err = {0};
    char *at;

    (void)state;
    assert_int_equal(cfr_rotation_journal_write(&journal, &text), 0);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&text), &back, &err), 0);
    assert_string_equal(back.maker, "admin");
    assert_string_equal(back.account, "111122223333");
    assert_int_equal(back.aside_count, 2);
    assert_string_equal(back.aside[1].id, "key-2");
    assert_true(back.aside[1].since_s == 1700000001);
    assert_true(back.aside[1].ours && !back.aside[0].ours);
    /* Earlier versions did not say whose it is. */
    at = strstr(text.p, ",\"ours\":true");
    assert_non_null(at);
    memmove(at, at + 12, strlen(at + 12) + 1);
    assert_int_equal(cfr_rotation_journal_read(cfr_view_of(text.p), &back, &err), 0);
    assert_true(back.aside_count == 2 && !back.aside[1].ours);
    /* Without a name nothing is removed. */
    at = strstr(text.p, "key-2");
    assert_non_null(at);
    memmove(at, at + 5, strlen(at + 5) + 1);
    assert_int_equal(cfr_rotation_journal_read(cfr_view_of(text.p), &back, &err), CFR_E_ANSWER);
    /* As it was before there was such a thing. */
    at = strstr(text.p, ",\"aside\"");
    assert_non_null(at);
    (void)snprintf(at, 4, "}");
    assert_int_equal(cfr_rotation_journal_read(cfr_view_of(text.p), &back, &err), 0);
    assert_int_equal(back.aside_count, 0);
    cfr_str_free(&text);
    text = (struct cfr_str){.limit = 65536};
    (void)snprintf(wrong.current, sizeof wrong.current, "key-1");
    assert_int_equal(cfr_rotation_journal_write(&wrong, &text), 0);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&text), &back, &err), CFR_E_ANSWER);
    cfr_str_free(&text);
}

static void a_key_that_was_used_late_goes_when_another_is_asked_for(void **state)
{
    struct cfr_rotation_provider provider = {.deactivates = true, .tells_use = true};
    struct cfr_rotation_rotation r = {
        .provider = &provider,
        .rules = {.inactive_s = 86400},
        .journal = {.step = CFR_ROTATION_INACTIVE, .old = "key-1", .step_s = 1700000000, .late_use = true}};
    struct cfr_rotation_facts f = {.now_s = 1700000060};
    struct cfr_rotation_todo todo;
    bool save;

    (void)state;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_false(save);
    assert_true(todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == 1700086400);
    f.wanted = true;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(save);
    assert_int_equal(r.journal.step, CFR_ROTATION_DELETING);
}

/* The cloud tells of it late: it is asked for after a while. If there is no answer, the key has its whole time. */
static void the_last_use_is_asked_for_late(void **state)
{
    struct cfr_rotation_provider provider = {.deactivates = true, .tells_use = true};
    const int64_t off_s = 1700000000;
    const struct cfr_rotation_rotation begun = {
        .provider = &provider,
        .rules = {.inactive_s = 86400, .grace_s = 600},
        .journal = {.step = CFR_ROTATION_INACTIVE, .old = "key-1", .step_s = off_s, .published_s = off_s - 600}};
    struct cfr_rotation_rotation r = begun;
    struct cfr_rotation_facts f = {.now_s = off_s};
    struct cfr_rotation_todo todo;
    char words[CFR_ROTATION_WORDS_MAX];
    bool save;

    (void)state;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(!save && todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == off_s + 3600);
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "the last use of the old key key-1");
    f.now_s = off_s + 3600;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(!save && todo.action == CFR_ROTATION_ACT_LAST_USED);
    assert_string_equal(todo.id, "key-1");
    assert_true(cfr_rotation_used(&r, off_s - 1, f.now_s));
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(!save && todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == off_s + 86400);
    r = begun;
    assert_false(cfr_rotation_used(&r, off_s - 599, f.now_s));
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(save && r.journal.step == CFR_ROTATION_DELETING);
    for (int wanted = 0; wanted <= 1; wanted++) {
        r = begun;
        f = (struct cfr_rotation_facts){.now_s = wanted ? off_s : off_s + 86400, .wanted = wanted};
        cfr_rotation_next(&r, &f, &save, &todo);
        assert_true(save && r.journal.step == CFR_ROTATION_DELETING);
    }
    r = begun;
    r.rules.inactive_s = 10;
    f = (struct cfr_rotation_facts){.now_s = off_s};
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(!save && todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == off_s + 5);
}

static void what_ends_by_itself_is_replaced_before(void **state)
{
    const int64_t now_s = 1700000000;
    struct cfr_rotation_rules rules = {.expire_after_s = 30 * 86400};
    struct cfr_rotation_rotation r = {.journal = {.step = CFR_ROTATION_INTENT}};
    struct cfr_rotation_key key = {.id = "key-1", .ends_s = now_s + 86400};
    struct cfr_rotation_journal read;
    struct cfr_str text = {.limit = 65536};

    (void)state;
    assert_true(cfr_rotation_made(&r, &key, now_s));
    r.journal.step = CFR_ROTATION_VERIFIED;
    assert_true(cfr_rotation_published(&r, 1, now_s + 10));
    assert_int_equal(cfr_rotation_due_s(&r.journal, &rules), now_s + 86400 / 5 * 4);
    assert_int_equal(cfr_rotation_journal_write(&r.journal, &text), 0);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&text), &read, NULL), 0);
    assert_int_equal(cfr_rotation_due_s(&read, &rules), now_s + 86400 / 5 * 4);
    cfr_str_free(&text);
    /* A long life leaves it to expire_after, and a key without an end, too. */
    r.journal.current_ends_s = now_s + INT64_C(365) * 86400;
    assert_int_equal(cfr_rotation_due_s(&r.journal, &rules), now_s + rules.expire_after_s);
    r.journal.current_ends_s = 0;
    assert_int_equal(cfr_rotation_due_s(&r.journal, &rules), now_s + rules.expire_after_s);
}

/* What follows the list that a former key's removal needs. */
static void list_former(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                        const struct cfr_rotation_keys *keys, struct cfr_rotation_todo *todo)
{
    bool changed;

    cfr_rotation_next(r, f, &changed, todo);
    assert_true(todo->action == CFR_ROTATION_ACT_LIST && !r->looking_up);
    assert_false(cfr_rotation_listed(r, keys, f->now_s));
    cfr_rotation_next(r, f, &changed, todo);
    assert_false(changed);
}

/* Another owner: its predecessor's keys are written down, retired once the new key is active and its grace is over, and
 * not before an hour after a refusal. */
static void another_owner(void **state)
{
    const struct cfr_rotation_provider provider = {.deactivates = true};
    struct cfr_rotation_rotation r = {
        .provider = &provider,
        .credential = "robot",
        .rules = {.expire_after_s = 1000000, .grace_s = 100, .grace_most_s = 200, .inactive_s = 50, .settle_s = 1},
        .journal = {.step = CFR_ROTATION_PUBLISHED, .subject = "aws/a", .current = "one", .old = "two", .rotation = 3}};
    struct cfr_rotation_facts f = {.now_s = 1700000000, .alone = true, .pending_id = "", .used_by_all = true};
    struct cfr_rotation_keys keys = {.count = 1, .key = {{.id = "new", .active = true}}};
    struct cfr_rotation_keys none = {.count = 0};
    struct cfr_str text = {.limit = 65536};
    struct cfr_rotation_todo todo;
    struct cfr_err err = {0};
    bool changed;

    (void)state;
    assert_false(cfr_rotation_change_owner(&r.journal, "aws/a", NULL));
    assert_true(cfr_rotation_change_owner(&r.journal, "aws/b", NULL));
    assert_int_equal(cfr_rotation_journal_write(&r.journal, &text), 0);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&text), &r.journal, &err), 0);
    cfr_str_free(&text);
    assert_int_equal(r.journal.former_count, 2);
    assert_string_equal(r.journal.former[1].id, "two");
    assert_string_equal(r.journal.former[1].subject, "aws/a");
    assert_string_equal(r.journal.subject, "aws/b");
    assert_int_equal(r.journal.step, CFR_ROTATION_REST);
    assert_true(cfr_rotation_former_due_s(&r) == INT64_MAX);
    (void)snprintf(r.journal.current, sizeof r.journal.current, "new");
    r.journal.current_s = r.journal.published_s = f.now_s - 10;
    /* Looked up, and in its grace. */
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
    assert_false(cfr_rotation_listed(&r, &keys, f.now_s));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == f.now_s + 90);
    /* The clock was set: by one that cannot be, the grace is not over. */
    f.now_s += 90;
    f.grace_left_s = 30;
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == f.now_s + 30);
    f.grace_left_s = 0;
    /* A list that lags behind does not have the new one: the former one stays. */
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
    r.journal.current_s = f.now_s;
    assert_false(cfr_rotation_listed(&r, &none, f.now_s));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == f.now_s + 10);
    f.now_s += 10;
    list_former(&r, &f, &keys, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DEACTIVATE_FORMER);
    assert_string_equal(todo.id, "one");
    /* It cannot be: the other one has its turn after a while, and then it again. */
    assert_true(cfr_rotation_former_failed(&r, f.now_s));
    assert_string_equal(r.journal.former[0].id, "two");
    assert_string_equal(r.journal.former[1].id, "one");
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(cfr_rotation_former_failed(&r, f.now_s));
    assert_string_equal(r.journal.former[0].id, "one");
    r.former_try_s = 0;
    assert_true(cfr_rotation_former_retired(&r, false, f.now_s));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(todo.action == CFR_ROTATION_ACT_WAIT && todo.at_s == f.now_s + 50);
    f.now_s += 50;
    list_former(&r, &f, &keys, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE_FORMER);
    /* Not while the new one is gone. */
    r.key_state = CFR_ROTATION_KEY_DELETED;
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(cfr_rotation_former_retired(&r, true, f.now_s));
    assert_string_equal(r.journal.former[0].id, "two");
    assert_false(cfr_rotation_former_failed(&r, f.now_s));
    assert_string_equal(r.journal.former[0].id, "two");
}

/* What is not credfresh's for certain stays another owner's, and what there is no room for is named. */
static void what_another_owner_leaves(void **state)
{
    struct cfr_rotation_journal j = {.step = CFR_ROTATION_VERIFIED,
                                     .subject = "aws/a",
                                     .current = "one",
                                     .minted = "found",
                                     .known = {"found"},
                                     .known_count = 1,
                                     .aside = {{"theirs", 1700000000, false, false}, {"ours", 1700000001, true, false}},
                                     .aside_count = 2};
    struct cfr_rotation_journal made = {.step = CFR_ROTATION_MINTED, .subject = "aws/a", .minted = "new"};
    struct cfr_str left = {.limit = 256};

    (void)state;
    assert_true(cfr_rotation_change_owner(&j, "aws/b", &left));
    assert_int_equal(j.former_count, 2);
    assert_string_equal(j.former[0].id, "one");
    assert_string_equal(j.former[1].id, "ours");
    assert_int_equal(j.aside_count, 0);
    assert_string_equal(left.p, "found, theirs");
    cfr_str_free(&left);
    assert_true(cfr_rotation_change_owner(&made, "aws/b", &left));
    assert_int_equal(made.former_count, 1);
    assert_string_equal(made.former[0].id, "new");
    assert_int_equal(left.len, 0);
    /* As full as it can be, it can be written down and read. */
    for (int i = 0; j.former_count < CFR_ROTATION_FORMER_MAX; i++) {
        (void)snprintf(j.current, sizeof j.current, "key-%d", i);
        assert_true(cfr_rotation_change_owner(&j, i % 2 == 0 ? "aws/a" : "aws/b", &left));
        assert_int_equal(left.len, 0);
    }
    (void)snprintf(j.current, sizeof j.current, "last");
    assert_true(cfr_rotation_change_owner(&j, "aws/c", &left));
    assert_int_equal(j.former_count, CFR_ROTATION_FORMER_MAX);
    assert_string_equal(left.p, "last");
    cfr_str_free(&left);
    left.limit = 65536;
    assert_int_equal(cfr_rotation_journal_write(&j, &left), 0);
    assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&left), &made, NULL), 0);
    assert_int_equal(made.former_count, CFR_ROTATION_FORMER_MAX);
    cfr_str_free(&left);
}

/* ---- a journal that others may write ---- */

static bool is_mine(void *ctx, const char *id)
{
    return strcmp(ctx, id) == 0;
}

/* One step of a rotation whose journal calls the key "x" ours, and whose agent knows OWN as its own. The cloud lists
 * "x" as NAME, and the published key. */
static struct cfr_rotation_todo step_with(struct cfr_rotation_rotation *r, const char *name, char *own)
{
    struct cfr_rotation_facts f = {
        .now_s = 1700000000, .alone = true, .used_by_all = true, .is_own = is_mine, .ctx = own};
    struct cfr_rotation_keys keys = {.count = 2,
                                     .key = {{.id = "current", .active = true}, {.id = "x", .active = true}}};
    struct cfr_rotation_todo todo;
    bool save = false;

    (void)snprintf(keys.key[1].name, sizeof keys.key[1].name, "%s", name);
    r->credential = "robot";
    (void)snprintf(r->journal.current, sizeof r->journal.current, "current");
    for (int turns = 0; turns < 4; turns++) {
        cfr_rotation_next(r, &f, &save, &todo);
        if (!save && todo.action == CFR_ROTATION_ACT_LIST)
            (void)cfr_rotation_listed(r, &keys, f.now_s);
        else if (!save)
            break;
    }
    return todo;
}

static void what_only_the_journal_calls_ours_is_left(void **state)
{
    static const struct cfr_rotation_provider unnamed = {.deactivates = true};
    static const struct cfr_rotation_provider named = {.names = true};
    static const struct cfr_rotation_journal journals[] = {
        {.step = CFR_ROTATION_RETIRING, .old = "x"},
        {.step = CFR_ROTATION_DELETING, .old = "x"},
        {.step = CFR_ROTATION_UNDOING, .minted = "x"},
        {.step = CFR_ROTATION_LOST, .minted = "x"},
        {.step = CFR_ROTATION_LOST, .name = "ops"},
        {.step = CFR_ROTATION_REST, .aside = {{.id = "x", .ours = true}}, .aside_count = 1},
        {.step = CFR_ROTATION_REST, .former = {{.id = "x", .subject = "toy/robot"}}, .former_count = 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof journals / sizeof journals[0]; i++) {
        for (int names = 0; names < 2; names++) {
            struct cfr_rotation_rotation r = {.provider = names != 0 ? &named : &unnamed, .journal = journals[i]};
            bool lost = r.journal.step == CFR_ROTATION_LOST;
            struct cfr_rotation_todo todo = step_with(&r, "ops", (char[]){"other"});

            /* Where keys have no names, any key may be a lost one, which is deactivated, and never deleted. */
            if (lost && names == 0 && journals[i].minted[0] == '\0') {
                assert_int_equal(todo.action, CFR_ROTATION_ACT_DEACTIVATE);
                continue;
            }
            assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
            assert_int_equal(r.journal.step, CFR_ROTATION_REST);
            assert_string_equal(r.left, lost ? "" : "x");
            assert_string_equal(r.journal.old, "");
            assert_string_equal(r.journal.minted, "");
            assert_int_equal(r.journal.former_count, 0);
            for (size_t k = 0; k < r.journal.aside_count; k++)
                assert_false(r.journal.aside[k].ours);
        }
    }
}

static void what_is_proven_is_removed(void **state)
{
    static const struct cfr_rotation_provider unnamed = {.deactivates = true};
    static const struct cfr_rotation_provider named = {.names = true};
    struct cfr_rotation_rotation r = {.provider = &unnamed, .journal = {.step = CFR_ROTATION_DELETING, .old = "x"}};
    struct cfr_rotation_todo todo;

    (void)state;
    todo = step_with(&r, "", (char[]){"x"});
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    /* By its name in the cloud. */
    r = (struct cfr_rotation_rotation){.provider = &named, .journal = {.step = CFR_ROTATION_DELETING, .old = "x"}};
    todo = step_with(&r, "credfresh-robot-7-0123", (char[]){"other"});
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    r = (struct cfr_rotation_rotation){.provider = &named, .journal = {.step = CFR_ROTATION_UNDOING, .minted = "x"}};
    todo = step_with(&r, "credfresh-robot-7-0123", (char[]){"other"});
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
}

/* A new key that the cloud refuses is looked for, and another one is made. */
static void a_new_key_that_is_refused_is_given_up(void **state)
{
    static const struct cfr_rotation_provider provider = {.verify_count = 1};
    struct cfr_rotation_rotation r = {
        .provider = &provider, .credential = "robot", .journal = {.step = CFR_ROTATION_VERIFIED, .minted = "key-1"}};
    struct cfr_rotation_facts f = {.now_s = 1700000000, .pending = true, .pending_id = "key-1", .refused = true};
    struct cfr_rotation_todo todo;
    bool save;

    (void)state;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(save);
    assert_int_equal(r.journal.step, CFR_ROTATION_LOST);
    /* One that was to be adopted is its maker's. */
    r.journal.step = CFR_ROTATION_VERIFIED;
    (void)snprintf(r.journal.known[0], sizeof r.journal.known[0], "key-1");
    r.journal.known_count = 1;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_true(save);
    assert_int_equal(r.journal.step, CFR_ROTATION_REST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_the_journal_calls_ours_is_left),
        cmocka_unit_test(what_is_proven_is_removed),
        cmocka_unit_test(a_new_key_that_is_refused_is_given_up),
        cmocka_unit_test(another_owner),
        cmocka_unit_test(what_another_owner_leaves),
        cmocka_unit_test(a_verified_key_without_its_pending_secret_is_left_alone),
        cmocka_unit_test(a_stop_says_nothing_about_a_new_key),
        cmocka_unit_test(what_is_not_ours_for_certain_is_put_aside),
        cmocka_unit_test(what_cannot_be_deactivated_is_left),
        cmocka_unit_test(what_may_be_anothers_is_never_deleted),
        cmocka_unit_test(what_may_be_lost_is_deleted_later),
        cmocka_unit_test(what_is_ours_and_aside_is_retired),
        cmocka_unit_test(what_was_aside_is_adopted),
        cmocka_unit_test(the_old_key_goes_once_the_published_one_is_listed),
        cmocka_unit_test(a_young_key_that_is_not_listed_yet),
        cmocka_unit_test(what_was_replaced_in_its_grace_is_put_aside),
        cmocka_unit_test(nothing_lasts_longer_or_shorter_when_the_clock_is_set),
        cmocka_unit_test(what_is_ahead_of_the_clock_begins_again),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(what_is_aside_is_written_down),
        cmocka_unit_test(a_key_that_was_used_late_goes_when_another_is_asked_for),
        cmocka_unit_test(the_last_use_is_asked_for_late),
        cmocka_unit_test(what_ends_by_itself_is_replaced_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
