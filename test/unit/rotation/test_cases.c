/* SPDX-License-Identifier: MIT */
/* What the rotation protocol decides where it cannot know: without its pending secret, and about keys that may be
 * somebody else's. */
#include "unit.h"

#include "rotation/rotation.h"

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
    assert_true(todo.at_s == INT64_MAX);
    cfr_rotation_words(&r, &f, words);
    assert_contains(words, "key-1");
    /* It is: then the old one may go, in its time. */
    f.new_published = true;
    cfr_rotation_next(&r, &f, &save, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_ADOPT);
    assert_string_equal(todo.id, "key-1");
    assert_true(cfr_rotation_published(&r, 7, f.now_s));
    assert_int_equal(r.journal.step, CFR_ROTATION_PUBLISHED);
    assert_string_equal(r.journal.current, "key-1");
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

/* At rest, NOW_S, with a list in which the key that is aside is active or not. */
static bool look_at_rest(struct cfr_rotation_rotation *r, int64_t now_s, bool active, struct cfr_rotation_todo *todo)
{
    struct cfr_rotation_facts f = {.now_s = now_s, .alone = true};
    struct cfr_rotation_keys keys = {.count = 1};
    bool save;

    keys.key[0] = (struct cfr_rotation_key){.id = "key-1", .active = active};
    cfr_rotation_next(r, &f, &save, todo);
    if (todo->action != CFR_ROTATION_ACT_LIST)
        return save;
    (void)cfr_rotation_listed(r, &keys, now_s);
    cfr_rotation_next(r, &f, &save, todo);
    return save;
}

static void what_is_aside_is_removed_unless_it_is_brought_back(void **state)
{
    struct cfr_rotation_provider provider = {.verify_count = 1, .deactivates = true};
    const int64_t now_s = 1700000000;
    const struct cfr_rotation_rotation begin = {.provider = &provider,
                                                .credential = "robot",
                                                .rules = {.settle_s = SETTLE, .inactive_s = ASIDE},
                                                .journal = {.aside = {{"key-1", now_s}}, .aside_count = 1}};
    struct cfr_rotation_rotation r = begin;
    struct cfr_rotation_todo todo;

    (void)state;
    assert_false(look_at_rest(&r, now_s + ASIDE - 1, false, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == now_s + ASIDE);
    assert_false(look_at_rest(&r, now_s + ASIDE, false, &todo));
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    assert_string_equal(todo.id, "key-1");
    assert_true(cfr_rotation_deleted(&r, now_s + ASIDE));
    assert_int_equal(r.journal.aside_count, 0);
    r = begin;
    assert_true(look_at_rest(&r, now_s + ASIDE, true, &todo));
    assert_int_equal(r.journal.aside_count, 0);
}

static void what_is_aside_is_written_down(void **state)
{
    const struct cfr_rotation_journal journal = {.step = CFR_ROTATION_REST,
                                                 .maker = "admin",
                                                 .aside = {{"key-1", 1700000000}, {"key-2", 1700000001}},
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
    assert_int_equal(back.aside_count, 2);
    assert_string_equal(back.aside[1].id, "key-2");
    assert_true(back.aside[1].since_s == 1700000001);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verified_key_without_its_pending_secret_is_left_alone),
        cmocka_unit_test(what_is_not_ours_for_certain_is_put_aside),
        cmocka_unit_test(what_is_aside_is_removed_unless_it_is_brought_back),
        cmocka_unit_test(what_is_aside_is_written_down),
        cmocka_unit_test(a_key_that_was_used_late_goes_when_another_is_asked_for),
        cmocka_unit_test(what_ends_by_itself_is_replaced_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
