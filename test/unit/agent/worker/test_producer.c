/* SPDX-License-Identifier: MIT */
/* A worker whose source is a producer: a toy, which records its calls and answers when the test says so, with a fake
 * clock. What is granted is really published. */
#include "files_scratch.h"
#include "unit.h"

#include "agent/config/config.h"
#include "agent/loop/loop.h"
#include "agent/publish/render.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "agent/worker/worker.h"
#include "base/log.h"

static struct {
    struct cfr_now now;
    struct cfr_source_client client;
    struct cfr_source_order order; /* of the start in progress */
    cfr_source_exchange_fn *done;  /* NULL = none is */
    void *ctx;
    unsigned starts;
    unsigned cancels;
    unsigned steps;
    unsigned requests;
    unsigned rebinds;
    unsigned abandons;
    uint64_t published; /* the generation that was reported last */
    bool ends;          /* what published returns */
    int64_t due_ms;     /* what published and adopt say */
    bool settled;       /* what adopt returns */
    bool wants_start;   /* what step returns */
    bool step_failed;   /* what the last step was told */
    bool changes;
    int64_t deadline_ms;
    int may_request;
    struct cfr_source_report report;
} toy;

static struct cfr_host host;
static struct cfr_config *config;
static struct cfr_worker *worker;

struct cfr_now __wrap_cfr_clock_now(void);

struct cfr_now __wrap_cfr_clock_now(void)
{
    return toy.now;
}

/* ---- the toy ---- */

static int toy_open(const struct cfr_source_client *client, const struct cfr_config_credential *c, void **state,
                    struct cfr_err *err)
{
    (void)err;
    assert_string_equal(c->name, "toy");
    toy.client = *client;
    *state = &toy;
    return 0;
}

static void toy_close(void *state)
{
    assert_ptr_equal(state, &toy);
    toy.done = NULL;
}

static void toy_rebind(void *state, const struct cfr_config_credential *c)
{
    (void)state;
    (void)c;
    toy.rebinds++;
}

static void toy_abandon(const void *state)
{
    (void)state;
    toy.abandons++;
}

static bool toy_adopt(void *state, int64_t *due_ms)
{
    (void)state;
    *due_ms = toy.due_ms;
    return toy.settled;
}

static void toy_start(void *state, struct cfr_source_order order, cfr_source_exchange_fn *done, void *ctx)
{
    (void)state;
    assert_null(toy.done);
    toy.order = order;
    toy.done = done;
    toy.ctx = ctx;
    toy.starts++;
}

static void toy_cancel(void *state)
{
    (void)state;
    toy.done = NULL;
    toy.cancels++;
}

static bool toy_published(void *state, uint64_t generation, int64_t *due_ms)
{
    (void)state;
    toy.published = generation;
    *due_ms = toy.due_ms;
    return toy.ends;
}

static bool toy_step(void *state, bool failed)
{
    bool wants = toy.wants_start;

    (void)state;
    toy.steps++;
    toy.step_failed = failed;
    toy.wants_start = false;
    toy.deadline_ms = INT64_MAX;
    return wants;
}

static int64_t toy_deadline(void *state)
{
    (void)state;
    return toy.deadline_ms;
}

static bool toy_resume(void *state, const struct cfr_kube_where *where)
{
    (void)state;
    return where->kubeconfig == NULL;
}

static bool toy_needs(void *state, const char *name, bool due)
{
    (void)state;
    return due && strcmp(name, "admin") == 0;
}

static bool toy_changed(void *state, const char *name)
{
    (void)state;
    return toy.changes && (name == NULL || strcmp(name, "admin") == 0);
}

static int toy_may_request(const void *state, struct cfr_err *err)
{
    (void)state;
    return toy.may_request != 0 ? cfr_err_set(err, toy.may_request, "not now") : 0;
}

static void toy_request(void *state)
{
    (void)state;
    toy.requests++;
}

static void toy_report(void *state, struct cfr_source_report *out)
{
    (void)state;
    *out = toy.report;
}

static void toy_status(void *state, struct cfr_api_status_credential *out)
{
    (void)state;
    out->provider = "toys";
}

static const struct cfr_source_producer producer = {
    .open = toy_open,
    .close = toy_close,
    .rebind = toy_rebind,
    .abandon = toy_abandon,
    .adopt = toy_adopt,
    .start = toy_start,
    .cancel = toy_cancel,
    .published = toy_published,
    .step = toy_step,
    .deadline = toy_deadline,
    .resume = toy_resume,
    .needs = toy_needs,
    .changed = toy_changed,
    .may_request = toy_may_request,
    .request = toy_request,
    .report = toy_report,
    .status = toy_status,
};

static bool matches(const struct cfr_config_credential *c)
{
    return strcmp(c->name, "toy") == 0;
}

static const char *describe(const struct cfr_config_credential *c)
{
    (void)c;
    return "toy";
}

static bool send_nothing(const struct cfr_config_credential *c)
{
    (void)c;
    return false;
}

static int read_nothing(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                        struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    (void)env;
    (void)c;
    (void)out;
    (void)wait_ms;
    (void)err;
    return 0;
}

static const struct cfr_source_ops source = {
    .producer = &producer,
    .name = "toy",
    .lasting = true,
    .replaces = true,
    .matches = matches,
    .describe = describe,
    .may_send = send_nothing,
    .read = read_nothing,
};

/* ---- the worker ---- */

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* TWO: with another target. */
static struct cfr_config *load(bool two)
{
    struct cfr_config *out = NULL;
    struct cfr_err err = {0};
    char text[3 * sizeof scratch];
    char more[sizeof scratch + 128] = "";

    if (two)
        (void)snprintf(more, sizeof more, "      - {directory: %s/second, files: [{name: t, format: token}]}\n",
                       scratch);
    (void)snprintf(text, sizeof text,
                   "version: 1\nstate_dir: /var/lib/credfresh\ncredentials:\n  - name: toy\n    token: {file: /t}\n"
                   "    publish:\n      - {directory: %s/out, files: [{name: t, format: token}]}\n%s",
                   scratch, more);
    put(in("f.yaml"), text);
    if (cfr_config_load(in("f.yaml"), no_env, &out, NULL, &err) != 0)
        fail_msg("%s", err.text);
    return out;
}

static bool offer_nothing(void *ctx, const char *name, struct cfr_offer *out)
{
    (void)ctx;
    (void)name;
    (void)out;
    return false;
}

static void open_worker(void)
{
    host.config = config;
    assert_int_equal(cfr_worker_open(&host, cfr_config_at(config, 0), &worker, NULL), 0);
    cfr_worker_start(worker);
}

static int begin_with(void **state, bool two)
{
    int rc = scratch_make_fast(state);

    memset(&toy, 0, sizeof toy);
    toy.now = (struct cfr_now){.wall_ms = INT64_C(1767323045000), .boot_ms = CFR_DAY_MS};
    toy.deadline_ms = INT64_MAX;
    toy.due_ms = toy.now.wall_ms + CFR_DAY_MS;
    toy.ends = true;
    toy.report.made = true;
    host = (struct cfr_host){.state_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .offer = offer_nothing};
    config = load(two);
    open_worker();
    return rc;
}

static int begin(void **state)
{
    return begin_with(state, false);
}

static int end(void **state)
{
    if (worker != NULL)
        cfr_worker_close(worker);
    worker = NULL;
    cfr_config_free(config);
    (void)close(host.state_fd);
    return scratch_remove(state);
}

static void pass_ms(int64_t ms)
{
    toy.now.wall_ms += ms;
    toy.now.boot_ms += ms;
    for (int i = 0; i < 8; i++)
        cfr_loop_run(toy.now.boot_ms);
}

static struct cfr_api_status_credential status(void)
{
    struct cfr_api_status_credential out;

    cfr_worker_status(worker, toy.now, &out);
    return out;
}

/* Ends the start in progress: TEXT is granted, as the key ID; NULL: nothing is. */
static void answer(const char *text, const char *id, struct cfr_source_produced produced)
{
    const struct cfr_publish_minted key = {.id = id, .minted_s = toy.now.wall_ms / 1000, .number = 1};
    struct cfr_grant grant = {0};
    struct cfr_source_exchange_result r = {.retry_after_s = -1, .produced = produced};
    cfr_source_exchange_fn *done = toy.done;

    if (done == NULL) {
        fail_msg("nothing was started");
        return;
    }
    if (text != NULL) {
        assert_int_equal(cfr_grant_set(&grant, CFR_FIELD_TOKEN, cfr_view_of(text), NULL), 0);
        r.grant = &grant;
    }
    if (id != NULL)
        r.produced.key = &key;
    toy.done = NULL;
    done(toy.ctx, &r);
    cfr_grant_free(&grant);
    pass_ms(0);
}

static void refuse(int code)
{
    struct cfr_source_exchange_result r = {.rc = code, .retry_after_s = -1};
    cfr_source_exchange_fn *done = toy.done;

    if (done == NULL) {
        fail_msg("nothing was started");
        return;
    }
    (void)cfr_err_set(&r.err, code, "the toy is broken");
    toy.done = NULL;
    done(toy.ctx, &r);
}

/* With its first grant. It is no key, whose id would be published next to it. */
static void publish_first(void)
{
    pass_ms(0);
    answer("one", NULL, (struct cfr_source_produced){.counts = true});
    assert_string_equal(get(in("out/t")), "one");
    assert_int_equal(toy.published, 1);
}

/* ---- tests ---- */

static void the_first_grant_is_published(void **state)
{
    struct cfr_api_status_credential s;

    (void)state;
    pass_ms(0);
    assert_int_equal(toy.starts, 1);
    assert_true(toy.order.lost && !toy.order.again && !toy.order.wanted);
    assert_string_equal(status().state, "exchanging");
    assert_false(cfr_worker_is_ready(worker));
    answer("one", "k1", (struct cfr_source_produced){.counts = true});
    assert_int_equal(toy.published, 1);
    s = status();
    assert_string_equal(s.state, "fresh");
    assert_string_equal(s.provider, "toys");
    assert_string_equal(s.source, "toy");
    assert_int_equal(s.generation, 1);
    assert_int_equal(s.refresh_s, toy.due_ms / 1000);
    assert_true(cfr_worker_is_ready(worker));
    assert_int_equal(cfr_worker_outcome(worker), CFR_WORKER_GOOD);
    assert_string_equal(toy.client.record->key->id, "k1");
    assert_true(toy.client.used_by_all(toy.client.ctx));
}

static void it_is_started_again_when_it_is_due(void **state)
{
    (void)state;
    publish_first();
    pass_ms(CFR_DAY_MS - 1000);
    assert_int_equal(toy.starts, 1);
    pass_ms(2000);
    assert_int_equal(toy.starts, 2);
    assert_false(toy.order.lost || toy.order.again || toy.order.wanted);
    toy.due_ms += CFR_DAY_MS;
    answer("two", "k2", (struct cfr_source_produced){.counts = true});
    assert_string_equal(get(in("out/t")), "two");
    assert_int_equal(toy.published, 2);
}

/* What is published is good: the next start is at the time that the producer says. */
static void nothing_to_publish(void **state)
{
    (void)state;
    publish_first();
    pass_ms(CFR_DAY_MS + 1000);
    answer(NULL, NULL, (struct cfr_source_produced){.due_ms = toy.now.wall_ms + CFR_HOUR_MS, .ends_ms = INT64_MAX});
    assert_string_equal(status().state, "fresh");
    assert_int_equal(status().generation, 1);
    pass_ms(CFR_HOUR_MS - 1000);
    assert_int_equal(toy.starts, 2);
    pass_ms(2000);
    assert_int_equal(toy.starts, 3);
}

/* An earlier run published it, and did not record it. */
static void what_is_found_is_recorded(void **state)
{
    (void)state;
    publish_first();
    pass_ms(CFR_DAY_MS + 1000);
    toy.due_ms += 2 * CFR_DAY_MS;
    answer(NULL, "k1", (struct cfr_source_produced){.due_ms = toy.due_ms, .ends_ms = INT64_MAX});
    assert_string_equal(status().state, "fresh");
    assert_string_equal(toy.client.record->key->id, "k1");
    assert_int_equal(status().refresh_s, toy.due_ms / 1000);
}

/* What takes the place of a key is published once; the record knows it by its fingerprint. */
static void in_place_of_a_key(void **state)
{
    (void)state;
    pass_ms(0);
    toy.ends = false;
    answer("admin", NULL, (struct cfr_source_produced){.mark = 77});
    assert_string_equal(get(in("out/t")), "admin");
    assert_int_equal(toy.client.record->token_mark, 77);
    assert_null(toy.client.record->key);
    pass_ms(CFR_DAY_MS + 1000);
    assert_int_equal(toy.starts, 2);
    answer(NULL, NULL,
           (struct cfr_source_produced){.mark = 77, .due_ms = toy.now.wall_ms + CFR_HOUR_MS, .ends_ms = INT64_MAX});
    assert_string_equal(status().state, "fresh");
    assert_int_equal(status().generation, 1);
    assert_true(cfr_worker_is_ready(worker));
    pass_ms(CFR_HOUR_MS + 1000);
    toy.ends = true;
    answer("one", "k1", (struct cfr_source_produced){.counts = true});
    assert_int_equal(toy.client.record->token_mark, 0);
    assert_int_equal(status().generation, 2);
}

static void a_failure_is_tried_again(void **state)
{
    (void)state;
    publish_first();
    pass_ms(CFR_DAY_MS + 1000);
    refuse(CFR_E_NET);
    assert_string_equal(status().state, "backoff");
    assert_string_equal(status().error, "the toy is broken");
    assert_string_equal(get(in("out/t")), "one");
    pass_ms(CFR_HOUR_MS);
    assert_int_equal(toy.starts, 3);
    refuse(CFR_E_DENIED);
    /* The producer knows earlier that it is worth a try. */
    toy.wants_start = true;
    toy.deadline_ms = toy.now.boot_ms;
    toy.client.wake(toy.client.ctx);
    pass_ms(0);
    assert_true(toy.step_failed);
    assert_int_equal(toy.starts, 4);
    answer("two", "k2", (struct cfr_source_produced){.counts = true});
    assert_null(status().error);
}

static void a_step_has_it_started_early(void **state)
{
    unsigned steps;

    (void)state;
    publish_first();
    steps = toy.steps;
    toy.deadline_ms = toy.now.boot_ms + CFR_HOUR_MS;
    toy.client.wake(toy.client.ctx);
    toy.deadline_ms = toy.now.boot_ms + CFR_HOUR_MS;
    toy.client.wake(toy.client.ctx);
    pass_ms(0);
    assert_true(toy.steps > steps);
    toy.wants_start = true;
    toy.client.wake(toy.client.ctx);
    pass_ms(0);
    assert_false(toy.step_failed);
    assert_int_equal(toy.starts, 2);
}

static void a_request_of_an_operator(void **state)
{
    uint64_t replaces = 0;
    struct cfr_err err = {0};

    (void)state;
    publish_first();
    assert_int_equal(cfr_worker_rotate(worker, "ticket", &replaces, &err), 0);
    assert_int_equal(replaces, 1);
    assert_int_equal(toy.requests, 1);
    pass_ms(0);
    assert_true(toy.order.wanted);
    assert_string_equal(status().reason, "ticket");
    /* The grant belongs to an earlier request: another start follows. */
    answer("two", "k2", (struct cfr_source_produced){.counts = false});
    assert_int_equal(toy.starts, 3);
    assert_true(toy.order.wanted);
    answer("three", "k3", (struct cfr_source_produced){.counts = true});
    assert_int_equal(toy.starts, 3);
    assert_string_equal(get(in("out/t")), "three");
    assert_int_equal(cfr_worker_rotate(worker, "ticket", &replaces, &err), CFR_E_CONFLICT);
}

static void a_request_that_is_refused_is_not_used_up(void **state)
{
    uint64_t replaces = 0;
    struct cfr_err err = {0};

    (void)state;
    publish_first();
    toy.may_request = CFR_E_UNAVAILABLE;
    assert_int_equal(cfr_worker_rotate(worker, "ticket", &replaces, &err), CFR_E_UNAVAILABLE);
    assert_string_equal(err.text, "not now");
    assert_int_equal(toy.requests, 0);
    toy.may_request = 0;
    assert_int_equal(cfr_worker_rotate(worker, "ticket", &replaces, &err), 0);
}

static void published_files_that_are_removed(void **state)
{
    (void)state;
    publish_first();
    tree_remove(in("out"));
    cfr_worker_on_tick(worker);
    pass_ms(0);
    assert_int_equal(toy.starts, 2);
    assert_true(toy.order.lost);
    assert_false(cfr_worker_is_ready(worker));
    answer("one", "k1", (struct cfr_source_produced){.counts = true});
    assert_string_equal(get(in("out/t")), "one");
    assert_true(cfr_worker_is_ready(worker));
}

static void what_the_server_refuses_is_not_ready(void **state)
{
    (void)state;
    publish_first();
    toy.report.refused = true;
    assert_false(cfr_worker_is_ready(worker));
    assert_int_equal(cfr_worker_outcome(worker), CFR_WORKER_BAD);
    toy.report.refused = false;
    toy.report.continues = true;
    assert_int_equal(cfr_worker_outcome(worker), CFR_WORKER_BUSY);
    toy.report.busy = true;
    assert_true(cfr_worker_is_busy(worker));
}

static void what_it_depends_on(void **state)
{
    (void)state;
    assert_true(cfr_worker_needs(worker, "admin"));
    publish_first();
    assert_false(cfr_worker_needs(worker, "admin"));
    cfr_worker_dependency_changed(worker, "admin");
    pass_ms(0);
    assert_int_equal(toy.starts, 1);
    toy.changes = true;
    cfr_worker_dependency_changed(worker, "other");
    pass_ms(0);
    assert_int_equal(toy.starts, 1);
    cfr_worker_dependency_changed(worker, "admin");
    pass_ms(0);
    assert_int_equal(toy.starts, 2);
}

static void a_reload(void **state)
{
    struct cfr_config *next = load(false);

    (void)state;
    publish_first();
    toy.settled = true;
    toy.due_ms = toy.now.wall_ms + CFR_HOUR_MS;
    host.config = next;
    assert_int_equal(cfr_worker_rebind(worker, cfr_config_at(next, 0), NULL), 0);
    cfr_config_free(config);
    config = next;
    assert_int_equal(toy.rebinds, 1);
    assert_int_equal(status().refresh_s, toy.due_ms / 1000);
    cfr_worker_abandon(worker);
    assert_int_equal(toy.abandons, 1);
}

/* What an earlier run published is adopted if the producer says so. */
static void a_restart(void **state)
{
    (void)state;
    publish_first();
    cfr_worker_close(worker);
    assert_int_equal(toy.cancels, 1);
    toy.settled = true;
    open_worker();
    pass_ms(0);
    assert_int_equal(toy.starts, 1);
    assert_string_equal(status().state, "fresh");
    assert_int_equal(status().generation, 1);
    cfr_worker_close(worker);
    toy.settled = false;
    open_worker();
    pass_ms(0);
    assert_int_equal(toy.starts, 2);
    assert_false(toy.order.lost);
}

/* It counts as published once it is at all targets. */
static int begin_two(void **state)
{
    return begin_with(state, true);
}

static void all_targets_or_none(void **state)
{
    (void)state;
    pass_ms(0);
    put(in("second"), "a file, where the directory should be");
    answer("one", "k1", (struct cfr_source_produced){.counts = true});
    /* A child process does that work. */
    for (int i = 0; i < 5000 && strcmp(status().state, "publishing") == 0; i++) {
        (void)usleep(1000);
        cfr_worker_on_child(worker);
        pass_ms(0);
    }
    assert_int_equal(toy.published, 0);
    assert_string_equal(status().state, "backoff");
    assert_int_equal(status().generation, 0);
    assert_false(cfr_worker_is_ready(worker));
}

/* Nothing of it is kept in memory for clients. */
static void it_is_not_served(void **state)
{
    struct cfr_offer out = {0};

    (void)state;
    publish_first();
    cfr_worker_offer(worker, &out);
    assert_null(out.grant);
    assert_string_equal(out.why, "a rotated key is kept only in the published files");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_first_grant_is_published),
        TEST(it_is_started_again_when_it_is_due),
        TEST(nothing_to_publish),
        TEST(what_is_found_is_recorded),
        TEST(in_place_of_a_key),
        TEST(a_failure_is_tried_again),
        TEST(a_step_has_it_started_early),
        TEST(a_request_of_an_operator),
        TEST(a_request_that_is_refused_is_not_used_up),
        TEST(published_files_that_are_removed),
        TEST(what_the_server_refuses_is_not_ready),
        TEST(what_it_depends_on),
        TEST(a_reload),
        TEST(a_restart),
        cmocka_unit_test_setup_teardown(all_targets_or_none, begin_two, end),
        TEST(it_is_not_served),
    };

    cfr_log_setup(CFR_LOG_ERROR, CFR_LOG_TEXT, false);
    cfr_publish_register();
    cfr_source_register();
    cfr_source_add(&source);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
