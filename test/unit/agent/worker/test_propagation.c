/* SPDX-License-Identifier: MIT */
/* What was granted a moment ago is refused until all of a cloud's servers know of it: the pace of the tries meanwhile,
 * with simulated clocks, for the refusal of each cloud that means it. */
#include "unit.h"

#include "agent/worker/lifecycle_private.h"
#include "base/json.h"
#include "data_file.h"
#include "sts/core/config.h"
#include "sts/providers.h"

#define MINUTE   INT64_C(60000)
#define SOONEST  5000
#define LATEST   30000
#define PACE_END (10 * MINUTE)

static const struct cfr_now start = {INT64_C(1795000000000), INT64_C(5000000)};

static const struct {
    const char *provider;
    const char *file; /* below test/data/PROVIDER/errors */
    long status;
    unsigned step;
    const char *code;
} refusals[] = {
    {"aws", "access-denied.xml", 403, 0, "AccessDenied"},
    {"gcp", "sts-permission.json", 403, 0, "PERMISSION_DENIED"},
    {"gcp", "iam-permission.json", 403, 1, "PERMISSION_DENIED"},
    {"azure", "aadsts700016.json", 400, 0, "AADSTS700016"},
};

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* The class that an exchange's failure has: what the provider reads out of the cloud's answer. */
static enum cfr_err_class class_of(size_t i)
{
    const struct cfr_sts_provider *provider = cfr_sts_find(cfr_view_of(refusals[i].provider));
    struct cfr_view body = data_file_case(refusals[i].provider, "errors", cfr_view_of(refusals[i].file));
    struct cfr_sts_exchange x = {.provider = provider, .step = refusals[i].step};
    const struct cfr_sts_input in = {.credential = "one",
                                     .token = cfr_view_of("e30.e30.e30"),
                                     .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                                     .now_s = start.wall_ms / 1000,
                                     .env = no_env};
    const struct cfr_wire_reply reply = {.status = refusals[i].status, .body = body};
    struct cfr_err err = {0};
    void *config = NULL;
    int rc;

    assert_non_null(provider);
    assert_int_equal(cfr_sts_config_new(provider, NULL, &config, &err), 0);
    if (strcmp(refusals[i].provider, "gcp") == 0)
        assert_int_equal(
            cfr_sts_config_set(provider, config, "service_account", cfr_view_of("a@p.iam.gserviceaccount.com"), &err),
            0);
    x.config = config;
    rc = provider->parse(&x, &in, &reply, &err);
    assert_int_equal(rc, CFR_E_DENIED);
    assert_contains(err.text, refusals[i].code);
    cfr_sts_exchange_free(&x);
    cfr_sts_config_free(provider, config);
    data_file_free(body);
    return cfr_err_class(rc);
}

static struct cfr_now later(struct cfr_now now, int64_t ms)
{
    return (struct cfr_now){now.wall_ms + ms, now.boot_ms + ms};
}

/* A first try that fails, and those after it. Returns how many there were in the first 10 minutes; *AFTER is the last
 * pause of the hour. */
static unsigned try_for_an_hour(enum cfr_err_class class, double chance, int64_t *after)
{
    struct cfr_lifecycle c;
    struct cfr_now now = start;
    unsigned tries = 0;

    cfr_lifecycle_init(&c, false);
    while (now.boot_ms < start.boot_ms + 60 * MINUTE) {
        int64_t pause_ms = cfr_lifecycle_failed(&c, now, class, -1, chance);

        if (now.boot_ms < start.boot_ms + PACE_END) {
            assert_in_range(pause_ms, SOONEST, LATEST);
            tries++;
        }
        *after = pause_ms;
        now = later(now, pause_ms);
    }
    return tries;
}

static void refusals_that_are_propagation_are_retried_soon(void **state)
{
    static const double chances[] = {0.0, 0.25, 0.5, 0.75, 1.0};

    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        enum cfr_err_class class = class_of(i);

        for (size_t k = 0; k < COUNT(chances); k++) {
            int64_t after;
            unsigned tries = try_for_an_hour(class, chances[k], &after);

            assert_in_range(tries, PACE_END / LATEST, PACE_END / SOONEST);
            assert_true(after >= SOONEST);
        }
    }
}

/* By then it is known that the refusal is no matter of time: the pauses of one that an operator has to end. */
static void the_pace_ends_after_ten_minutes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        enum cfr_err_class class = class_of(i);
        struct cfr_lifecycle c;
        int64_t after;

        (void)try_for_an_hour(class, 1.0, &after);
        assert_true(after > LATEST);
        cfr_lifecycle_init(&c, false);
        for (unsigned n = 0; n < 20; n++)
            (void)cfr_lifecycle_failed(&c, start, class, -1, 1.0);
        assert_int_equal(cfr_lifecycle_failed(&c, later(start, PACE_END - 1), class, -1, 1.0), LATEST);
        assert_true(cfr_lifecycle_failed(&c, later(start, PACE_END), class, -1, 1.0) > LATEST);
    }
}

/* While something valid is held, no consumer waits: the usual backoff. */
static void what_is_held_needs_no_hurry(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        enum cfr_err_class class = class_of(i);
        struct cfr_lifecycle c;
        int64_t pause_ms = 0;

        cfr_lifecycle_init(&c, false);
        cfr_lifecycle_renewed(&c, start, 60 * MINUTE, 20 * MINUTE, (struct cfr_refresh_jitter){0, 0, false});
        for (unsigned n = 0; n < 8; n++)
            pause_ms = cfr_lifecycle_failed(&c, later(start, MINUTE), class, -1, 1.0);
        assert_int_equal(pause_ms, 10 * MINUTE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_that_are_propagation_are_retried_soon),
        cmocka_unit_test(the_pace_ends_after_ten_minutes),
        cmocka_unit_test(what_is_held_needs_no_hurry),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
