/* SPDX-License-Identifier: MIT */
/* A toy hook kind in place of the real ones: what a kind must provide, and the schedule around it. */
#include "unit.h"

#include "agent/hook/hook_private.h"

/* What the toy was asked to do, and what it is to answer. */
static struct {
    unsigned started;
    unsigned cancelled;
    unsigned readable;
    unsigned late;
    unsigned inspected;
    int answer;
    uint64_t generation;
    struct cfr_hook_run *run;
} toy;

static bool is_toy(const struct cfr_config_hook *c)
{
    return c->exec.count == 1;
}

static void describe_toy(const struct cfr_config_hook *c, char text[CFR_HOOK_NAME_MAX])
{
    (void)snprintf(text, CFR_HOOK_NAME_MAX, "toy %s", c->exec.items[0]);
}

static const char *toy_header(const struct cfr_config_hook *c)
{
    return strcmp(c->exec.items[0], "answers") == 0 ? "X-Toy" : NULL;
}

static int start_toy(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err)
{
    toy.started++;
    toy.generation = run->generation;
    toy.run = run;
    if (toy.answer < 0)
        return cfr_err_set(err, toy.answer, "the toy is broken");
    run->fd = 7;
    run->deadline_ms = now.boot_ms + run->config->timeout_ms;
    return toy.answer;
}

static void read_toy(struct cfr_hook_run *run, struct cfr_now now)
{
    (void)now;
    toy.readable++;
    run->ended(run->ctx, 0, &(struct cfr_err){0}, cfr_view_of("2"));
}

static void end_toy(struct cfr_hook_run *run, struct cfr_now now)
{
    (void)run;
    (void)now;
    toy.late++;
}

static void cancel_toy(struct cfr_hook_run *run)
{
    assert_ptr_equal(run, toy.run);
    toy.cancelled++;
}

static void inspect_toy(const struct cfr_config_hook *c, const struct cfr_hook_inspection *inspection)
{
    toy.inspected++;
    cfr_finding_say(inspection->sink, CFR_FINDING_OK, "hook.toy", NULL, "%s", c->exec.items[0]);
}

static const struct cfr_hook_ops toy_kind = {
    .name = "toy",
    .is_configured = is_toy,
    .describe = describe_toy,
    .acknowledge_header = toy_header,
    .start = start_toy,
    .on_readable = read_toy,
    .on_deadline = end_toy,
    .cancel = cancel_toy,
    .inspect = inspect_toy,
};

/* In place of agent/hook/kinds.c. */
const struct cfr_hook_ops *const cfr_hook_kinds[] = {&toy_kind, NULL};

struct heard {
    unsigned count;
    unsigned news;
    uint64_t generation;
    bool failed;
};

static void on_ended(void *ctx, const char *name, uint64_t generation, const char *error, bool news)
{
    struct heard *heard = ctx;

    assert_string_equal(name, "toy answers");
    heard->count++;
    heard->news += news;
    heard->generation = generation;
    heard->failed = error != NULL;
}

static char argument[] = "answers";
static char *arguments[] = {argument};
static struct cfr_config_hook config = {.exec = {.items = arguments, .count = 1}, .timeout_ms = 1000};
static const struct cfr_config_credential credential = {.reload = {.items = &config, .count = 1}};

static struct cfr_hooks *open_toy(struct heard *heard, unsigned max_attempts, int answer)
{
    struct cfr_hooks *h = NULL;
    struct cfr_err err = {0};

    memset(&toy, 0, sizeof toy);
    toy.answer = answer;
    assert_int_equal(cfr_hook_open(&credential, NULL, max_attempts, on_ended, heard, &h, &err), 0);
    assert_string_equal(cfr_hook_name(h, 0), "toy answers");
    assert_true(cfr_hook_acknowledges(h, 0));
    return h;
}

static void runs_once_for_a_generation(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 0, CFR_HOOK_STARTED);
    struct cfr_now now = cfr_clock_now();

    (void)state;
    cfr_hook_step(h, now);
    assert_int_equal(toy.started, 0);
    cfr_hook_request(h, 2, true, now);
    cfr_hook_step(h, now);
    cfr_hook_step(h, now);
    assert_int_equal(toy.started, 1);
    assert_int_equal(toy.generation, 2);
    assert_true(cfr_hook_running(h));
    assert_int_equal(cfr_hook_pidfd(h), 7);
    assert_int_equal(cfr_hook_deadline(h), now.boot_ms + 1000);
    assert_string_equal(cfr_hook_status(h)[0].result, "running");
    cfr_hook_child(h, now);
    assert_int_equal(cfr_hook_pidfd(h), -1);
    assert_false(cfr_hook_pending(h));
    assert_int_equal(cfr_hook_deadline(h), INT64_MAX);
    assert_int_equal(cfr_hook_done(h, 0), 2);
    assert_int_equal(cfr_hook_said(h, 0), 2);
    assert_int_equal(heard.count, 1);
    assert_false(heard.failed);
    cfr_hook_close(h);
    assert_int_equal(toy.cancelled, 0);
}

static void only_the_newest_generation_is_run(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 0, CFR_HOOK_STARTED);
    struct cfr_now now = cfr_clock_now();

    (void)state;
    cfr_hook_request(h, 2, false, now);
    cfr_hook_step(h, now);
    cfr_hook_request(h, 3, false, now);
    cfr_hook_request(h, 4, false, now);
    cfr_hook_child(h, now);
    assert_int_equal(heard.generation, 2);
    assert_true(cfr_hook_pending(h));
    cfr_hook_step(h, now);
    assert_int_equal(toy.started, 2);
    assert_int_equal(toy.generation, 4);
    /* The answer still names 2, so that it has to be run again. */
    cfr_hook_child(h, now);
    assert_true(heard.failed);
    assert_true(cfr_hook_pending(h));
    cfr_hook_close(h);
}

static void a_failure_is_repeated_and_is_news_once(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 3, CFR_E_DENIED);
    struct cfr_now now = cfr_clock_now();

    (void)state;
    cfr_hook_request(h, 2, false, now);
    cfr_hook_step(h, now);
    assert_in_range(cfr_hook_deadline(h), now.boot_ms + 500, now.boot_ms + 1000);
    cfr_hook_step(h, now);
    assert_int_equal(toy.started, 1);
    while (!cfr_hook_failed(h)) {
        now.boot_ms = cfr_hook_deadline(h);
        cfr_hook_step(h, now);
    }
    assert_int_equal(toy.started, 3);
    assert_int_equal(heard.count, 3);
    assert_int_equal(heard.news, 1);
    assert_false(cfr_hook_pending(h));
    assert_string_equal(cfr_hook_status(h)[0].result, "failed");
    /* A new generation is a new beginning. */
    cfr_hook_request(h, 3, false, now);
    cfr_hook_step(h, now);
    assert_int_equal(toy.started, 4);
    assert_int_equal(heard.news, 1);
    cfr_hook_close(h);
}

static void the_kind_ends_what_takes_too_long(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 0, CFR_HOOK_STARTED);
    struct cfr_now now = cfr_clock_now();

    (void)state;
    cfr_hook_request(h, 2, false, now);
    cfr_hook_step(h, now);
    now.boot_ms += 999;
    cfr_hook_step(h, now);
    assert_int_equal(toy.late, 0);
    now.boot_ms += 1;
    cfr_hook_step(h, now);
    assert_int_equal(toy.late, 1);
    cfr_hook_close(h);
    assert_int_equal(toy.cancelled, 1);
}

static void take_finding(void *ctx, const struct cfr_finding *finding)
{
    (void)ctx;
    assert_string_equal(finding->check, "hook.toy");
}

static void the_kind_is_inspected(void **state)
{
    struct cfr_finding_sink sink = {take_finding, NULL};

    (void)state;
    memset(&toy, 0, sizeof toy);
    cfr_hook_inspect(&config, &(struct cfr_hook_inspection){.sink = &sink});
    assert_int_equal(toy.inspected, 1);
}

static void a_hook_of_no_kind_is_an_error(void **state)
{
    struct cfr_config_hook none = {.timeout_ms = 1000};
    struct cfr_config_credential c = {.reload = {.items = &none, .count = 1}};
    struct cfr_hooks *h = NULL;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_hook_open(&c, NULL, 0, on_ended, NULL, &h, &err), CFR_E_INTERNAL);
    assert_null(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_once_for_a_generation),
        cmocka_unit_test(only_the_newest_generation_is_run),
        cmocka_unit_test(a_failure_is_repeated_and_is_news_once),
        cmocka_unit_test(the_kind_ends_what_takes_too_long),
        cmocka_unit_test(the_kind_is_inspected),
        cmocka_unit_test(a_hook_of_no_kind_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
