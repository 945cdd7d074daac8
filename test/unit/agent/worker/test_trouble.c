/* SPDX-License-Identifier: MIT */
/* What is said while a credential cannot be renewed. */
#include "unit.h"

#include "agent/worker/trouble_private.h"

#define MIN INT64_C(60000)

/* Of an hour, until minute 60. */
static struct cfr_trouble_life hour(int64_t now_ms)
{
    return (struct cfr_trouble_life){true, now_ms < 60 * MIN, 60 * MIN, 60 * MIN};
}

struct word {
    enum cfr_trouble_word word;
    int64_t at_ms;
};

/* Goes from word to word until END_MS, each at its deadline, and checks them. */
static void expect_words(struct cfr_trouble *t, struct cfr_trouble_life (*life_at)(int64_t), int64_t end_ms,
                         const struct word *words)
{
    int64_t now_ms = 0;

    for (;;) {
        struct cfr_trouble_life life = life_at(now_ms);
        enum cfr_trouble_word word;

        now_ms = cfr_trouble_deadline(t, &life);
        if (now_ms > end_ms)
            break;
        life = life_at(now_ms);
        word = cfr_trouble_due(t, &life, now_ms);
        assert_int_equal(word, words->word);
        assert_int_equal(now_ms, words->at_ms);
        assert_int_equal(cfr_trouble_due(t, &life, now_ms), CFR_TROUBLE_NOTHING);
        words++;
    }
    assert_int_equal(words->word, CFR_TROUBLE_NOTHING);
}

static void an_outage_has_a_word_for_each_turn(void **state)
{
    static const struct word words[] = {
        {CFR_TROUBLE_EXPIRING, 50 * MIN},      {CFR_TROUBLE_EXPIRED, 60 * MIN},
        {CFR_TROUBLE_STILL_EXPIRED, 70 * MIN}, {CFR_TROUBLE_STILL_EXPIRED, 80 * MIN},
        {CFR_TROUBLE_STILL_EXPIRED, 90 * MIN}, {CFR_TROUBLE_NOTHING, 0},
    };
    struct cfr_trouble t = {.failures = 0};
    struct cfr_trouble was;

    (void)state;
    cfr_trouble_failed(&t, 45 * MIN);
    cfr_trouble_failed(&t, 46 * MIN);
    expect_words(&t, hour, 95 * MIN, words);
    assert_true(cfr_trouble_ended(&t, &was));
    assert_int_equal(was.failures, 2);
    assert_int_equal(was.since_boot_ms, 45 * MIN);
    assert_int_equal(was.expired_boot_ms, 60 * MIN);
    assert_false(cfr_trouble_ended(&t, &was));
}

static struct cfr_trouble_life never(int64_t now_ms)
{
    (void)now_ms;
    return (struct cfr_trouble_life){true, true, INT64_MAX, INT64_MAX};
}

static struct cfr_trouble_life none(int64_t now_ms)
{
    (void)now_ms;
    return (struct cfr_trouble_life){false, false, 0, INT64_MAX};
}

static void what_lasts_is_repeated_at_a_falling_pace(void **state)
{
    static const struct word words[] = {
        {CFR_TROUBLE_LASTS, 15 * MIN}, {CFR_TROUBLE_LASTS, 35 * MIN}, {CFR_TROUBLE_LASTS, 65 * MIN},
        {CFR_TROUBLE_LASTS, 95 * MIN}, {CFR_TROUBLE_NOTHING, 0},
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cfr_trouble t = {.failures = 0};

        cfr_trouble_failed(&t, 5 * MIN);
        expect_words(&t, i == 0 ? never : none, 100 * MIN, words);
    }
}

static void an_expiry_without_a_failure_is_said_when_it_lasts(void **state)
{
    static const struct word words[] = {
        {CFR_TROUBLE_EXPIRED, 60 * MIN + 5000},
        {CFR_TROUBLE_STILL_EXPIRED, 70 * MIN + 5000},
        {CFR_TROUBLE_NOTHING, 0},
    };
    static const struct word late[] = {{CFR_TROUBLE_EXPIRED, 65 * MIN + 5000}, {CFR_TROUBLE_NOTHING, 0}};
    struct cfr_trouble t = {.failures = 0};
    struct cfr_trouble started = {.begun_boot_ms = 65 * MIN};

    (void)state;
    expect_words(&t, hour, 75 * MIN, words);
    expect_words(&started, hour, 70 * MIN, late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outage_has_a_word_for_each_turn),
        cmocka_unit_test(what_lasts_is_repeated_at_a_falling_pace),
        cmocka_unit_test(an_expiry_without_a_failure_is_said_when_it_lasts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
