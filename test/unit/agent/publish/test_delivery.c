/* SPDX-License-Identifier: MIT */
/* How often a Secret of the cluster is read: with a fake API server, watch and clock. */
#include "unit.h"

#include "agent/publish/delivery_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINUTE INT64_C(60000)

/* The runs' first publish is at 2026-11-18T11:06:40Z. */
#define NOW_MS       INT64_C(1795000000000)
#define OTHER        "00000000000000ff"
#define WRITTEN      "\"2026-11-18T11:06:40Z\""
#define EXPIRES      "\"credfresh.io/expires\":\"2026-11-18T12:06:40Z\""
#define PUBLISHED(s) ",\"credfresh.io/publisher\":\"" s "\""
#define LATER        "2026-11-18T11:07:00Z/" OTHER
#define EARLIER      "2026-11-18T11:06:00Z/" OTHER

static struct {
    struct cfr_now now;
    bool live;
    unsigned reads;
    unsigned applies;
    cfr_kube_watch_fn *report;
    void *report_ctx;
    cfr_kube_fn *done;
    void *done_ctx;
    unsigned losses;
    unsigned conflicts;
    const char *annotations; /* of the Secret, besides those of its credential and generation; NULL = none */
    char body[1024];         /* of the last apply */
} fake;

struct cfr_now __wrap_cfr_clock_now(void);
int __wrap_cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where,
                          const struct cfr_kube_request *request, cfr_kube_fn *done, void *ctx,
                          struct cfr_kube_call **out, struct cfr_err *err);
int __wrap_cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report,
                                void *ctx, struct cfr_kube_watch **out, struct cfr_err *err);
bool __wrap_cfr_kube_watch_is_live(const struct cfr_kube_watch *w);
void __wrap_cfr_kube_watch_end(struct cfr_kube_watch *w);
void __wrap_cfr_kube_cancel(struct cfr_kube_call *c);

struct cfr_now __wrap_cfr_clock_now(void)
{
    return fake.now;
}

int __wrap_cfr_kube_start(struct cfr_kube *k, const struct cfr_kube_where *where,
                          const struct cfr_kube_request *request, cfr_kube_fn *done, void *ctx,
                          struct cfr_kube_call **out, struct cfr_err *err)
{
    (void)k;
    (void)where;
    (void)err;
    fake.applies += strcmp(request->method, "PATCH") == 0;
    if (request->body != NULL)
        (void)snprintf(fake.body, sizeof fake.body, "%s", request->body->p);
    fake.reads += strcmp(request->method, "GET") == 0;
    assert_true(cfr_view_starts(cfr_view_of(request->path), "/api/v1/namespaces/apps/secrets/creds"));
    fake.done = done;
    fake.done_ctx = ctx;
    *out = (void *)&fake;
    return 0;
}

int __wrap_cfr_kube_watch_start(struct cfr_kube *k, const struct cfr_kube_object *object, cfr_kube_watch_fn *report,
                                void *ctx, struct cfr_kube_watch **out, struct cfr_err *err)
{
    (void)k;
    (void)object;
    (void)err;
    fake.report = report;
    fake.report_ctx = ctx;
    *out = (void *)&fake;
    return 0;
}

bool __wrap_cfr_kube_watch_is_live(const struct cfr_kube_watch *w)
{
    assert_non_null(w);
    return fake.live;
}

void __wrap_cfr_kube_watch_end(struct cfr_kube_watch *w)
{
    (void)w;
}

void __wrap_cfr_kube_cancel(struct cfr_kube_call *c)
{
    (void)c;
}

static void on_ended(void *ctx, const char *name, uint64_t generation, const struct cfr_err *err, bool news)
{
    (void)ctx;
    (void)generation;
    (void)news;
    assert_string_equal(name, "Secret apps/creds");
    fake.losses += err != NULL && err->code == CFR_E_MISSING;
    fake.conflicts += err != NULL && err->code == CFR_E_CONFLICT;
}

/* Answers the read: VERSION of the Secret as it was applied; NULL: there is none. */
static void answer(const char *version)
{
    char body[1024];
    struct cfr_kube_answer a = {.status = version != NULL ? 200 : 404, .retry_after_s = -1, .warning = ""};
    cfr_kube_fn *done = fake.done;

    assert_non_null(done);
    (void)snprintf(
        body, sizeof body,
        "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"type\":\"Opaque\",\"metadata\":{\"name\":\"creds\","
        "\"namespace\":\"apps\","
        "\"resourceVersion\":\"%s\",\"labels\":{\"app.kubernetes.io/managed-by\":\"credfresh\"},"
        "\"annotations\":{\"credfresh.io/credential\":\"demo\","
        "\"credfresh.io/generation\":\"3\"%s},\"managedFields\":[{\"manager\":\"credfresh\",\"time\":" WRITTEN
        ",\"operation\":\"Apply\",\"fieldsV1\":{\"f:data\":{\"f:token\":{}}}}]}}",
        version != NULL ? version : "", fake.annotations != NULL ? fake.annotations : "");
    a.body = cfr_view_of(version != NULL ? body : "{}");
    /* It may send the next request. */
    fake.done = NULL;
    done(fake.done_ctx, &a);
}

/* Lets COUNT minutes pass, in which each read finds VERSION. Returns how many reads there were. */
static unsigned pass_minutes(struct cfr_delivery *d, unsigned count, const char *version)
{
    unsigned before = fake.reads;

    for (unsigned i = 0; i < count; i++) {
        fake.now.boot_ms += MINUTE;
        fake.now.wall_ms += MINUTE;
        cfr_publish_secret_step(d, fake.now);
        if (fake.done != NULL)
            answer(version);
    }
    return fake.reads - before;
}

/* A delivery whose Secret has generation 3, as version 7. */
static struct cfr_delivery *open_delivery(struct cfr_config_credential *c)
{
    uint64_t delivered = 3;
    struct cfr_publish_record record = {
        .generation = 3, .expires_ms = INT64_MAX, .delivered = &delivered, .delivered_count = 1};
    struct cfr_delivery *d;

    memset(&fake, 0, sizeof fake);
    fake.now = (struct cfr_now){.wall_ms = NOW_MS, .boot_ms = INT64_C(5000000)};
    assert_int_equal(cfr_publish_secret_open(c, NULL, on_ended, NULL, &d, NULL), 0);
    cfr_publish_secret_restore(d, &record, false);
    cfr_publish_secret_step(d, fake.now);
    assert_int_equal(fake.reads, 1);
    answer("7");
    return d;
}

static char apps[] = "apps";
static char creds[] = "creds";
static char opaque[] = "Opaque";
static char demo[] = "demo";
static struct cfr_config_secret secret = {.namespace_name = apps, .name = creds, .type = opaque};
static struct cfr_config_publish target = {.secret = &secret};
static struct cfr_config_credential credential = {.name = demo, .publish = {.items = &target, .count = 1}};

static void test_a_watch_that_works_replaces_reads(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    fake.live = true;
    fake.report(fake.report_ctx, "7");
    assert_int_equal(pass_minutes(d, 60, "7"), 0);
    /* Without it the Secret is read once a minute. */
    fake.live = false;
    assert_int_equal(pass_minutes(d, 60, "7"), 60);
    /* A change is read once. */
    fake.live = true;
    fake.report(fake.report_ctx, "8");
    assert_int_equal(pass_minutes(d, 60, "8"), 1);
    assert_int_equal(fake.losses, 0);
    cfr_publish_secret_close(d);
}

static void test_what_the_watch_has_not_reported_is_read(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    fake.live = true;
    assert_int_equal(pass_minutes(d, 3, "7"), 3);
    cfr_publish_secret_close(d);
}

static void test_a_loss_is_noticed_at_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct cfr_delivery *d = open_delivery(&credential);

        fake.live = true;
        fake.report(fake.report_ctx, "7");
        /* However often it was changed before. */
        for (unsigned k = 0; k < i; k++) {
            fake.report(fake.report_ctx, "8");
            (void)pass_minutes(d, 1, "8");
            fake.report(fake.report_ctx, "7");
            (void)pass_minutes(d, 1, "7");
        }
        fake.now.boot_ms += 1000;
        fake.report(fake.report_ctx, NULL);
        assert_true(cfr_publish_secret_deadline(d) <= fake.now.boot_ms);
        cfr_publish_secret_step(d, fake.now);
        answer(NULL);
        assert_int_equal(fake.losses, 1);
        assert_true(cfr_publish_secret_lost(d));
        cfr_publish_secret_close(d);
    }
}

/* The answer is older than what the watch has reported meanwhile. */
static void test_a_loss_during_a_read_is_noticed_after_it(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    fake.live = true;
    fake.report(fake.report_ctx, "7");
    fake.now.boot_ms += 1000;
    fake.report(fake.report_ctx, "8");
    cfr_publish_secret_step(d, fake.now);
    fake.report(fake.report_ctx, NULL);
    answer("8");
    fake.now.boot_ms += 1000;
    assert_true(cfr_publish_secret_deadline(d) <= fake.now.boot_ms);
    cfr_publish_secret_step(d, fake.now);
    answer(NULL);
    assert_int_equal(fake.losses, 1);
    cfr_publish_secret_close(d);
}

static void test_a_read_is_not_compared_with_what_was_queued_during_it(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    fake.now.boot_ms += MINUTE;
    cfr_publish_secret_step(d, fake.now);
    d->targets[0].loaded = true;
    d->targets[0].wanted = 4;
    answer("7");
    assert_int_equal(fake.losses, 0);
    assert_null(cfr_publish_secret_error(d));
    assert_int_equal(cfr_publish_secret_stuck(d), 0);
    cfr_publish_secret_close(d);
}

static void test_an_object_that_changes_all_the_time_is_read_once_a_second(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    fake.live = true;
    fake.report(fake.report_ctx, "7");
    for (unsigned i = 0; i < 100; i++) {
        fake.now.boot_ms += 100;
        fake.report(fake.report_ctx, i % 2 == 0 ? "8" : "9");
        cfr_publish_secret_step(d, fake.now);
        if (fake.done != NULL)
            answer("7");
    }
    assert_in_range(fake.reads, 10, 12);
    cfr_publish_secret_close(d);
}

/* A new generation is to be applied. */
static void queue(struct cfr_delivery_object *t)
{
    assert_int_equal(cfr_publish_keys_add(&t->keys, "token", 16, NULL), 0);
    assert_int_equal(cfr_secret_append_str(&t->keys.items[0].value, "next", NULL), 0);
    t->own_count = 1;
    t->loaded = true;
    t->wanted = 4;
    t->next_boot_ms = fake.now.boot_ms;
}

/* Another owner has taken its fields, which nobody has read yet, when a new generation is applied. */
static void test_what_others_own_is_no_longer_published(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);
    struct cfr_delivery_object *t = &d->targets[0];
    struct cfr_kube_answer conflict = {
        .status = 409,
        .retry_after_s = -1,
        .warning = "",
        .body = cfr_view_of("{\"kind\":\"Status\",\"reason\":\"Conflict\",\"details\":{\"causes\":[{\"reason\":"
                            "\"FieldManagerConflict\",\"message\":\"conflict with \\\"rival\\\" using v1\","
                            "\"field\":\".data.token\"}]},\"code\":409}")};

    (void)state;
    assert_true(cfr_publish_secret_valid(d, fake.now));
    queue(t);
    cfr_publish_secret_step(d, fake.now);
    answer("7");
    assert_int_equal(fake.applies, 1);
    fake.done(fake.done_ctx, &conflict);
    assert_non_null(strstr(cfr_publish_secret_error(d), "rival"));
    assert_false(cfr_publish_secret_valid(d, fake.now));
    cfr_publish_secret_close(d);
}

/* The error of a delivery whose Secret another agent has replaced. */
static const char *look_at(struct cfr_delivery *d, const char *annotations)
{
    fake.annotations = annotations;
    (void)pass_minutes(d, 1, "8");
    fake.annotations = NULL;
    return cfr_publish_secret_error(d);
}

static void test_an_agent_that_started_later_prevails(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    /* An earlier one does not, and what has no mark is from a version without marks. */
    assert_null(look_at(d, NULL));
    assert_null(look_at(d, PUBLISHED("yesterday")));
    assert_null(look_at(d, PUBLISHED("2026-11-18T11:07:00Z/00ff")));
    assert_int_equal(fake.losses, 0);
    assert_contains(look_at(d, PUBLISHED(EARLIER)), "was written by another agent, started at 2026-11-18T11:06:00Z");
    assert_int_equal(fake.losses, 1);
    cfr_publish_secret_close(d);

    d = open_delivery(&credential);
    assert_contains(look_at(d, PUBLISHED(LATER)), "another agent, started at 2026-11-18T11:07:00Z, publishes demo to "
                                                  "the Secret apps/creds: stop one of the two, or publish under "
                                                  "another name. If that agent has ended, remove the annotation "
                                                  "credfresh.io/publisher");
    assert_int_equal(fake.losses, 0);
    assert_int_equal(fake.conflicts, 1);
    assert_true(cfr_publish_secret_lost(d));
    cfr_publish_secret_close(d);
}

/* Applies what is queued, where the Secret has ANNOTATIONS. True if it was written. */
static bool applies(struct cfr_delivery *d, const char *annotations)
{
    unsigned before = fake.applies;

    d->targets[0].next_boot_ms = fake.now.boot_ms;
    cfr_publish_secret_step(d, fake.now);
    fake.annotations = annotations;
    answer("8");
    fake.annotations = NULL;
    if (fake.applies != before)
        answer("9");
    return fake.applies != before;
}

static void test_it_writes_again_when_the_other_has_ended(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);
    char own[96];

    (void)state;
    queue(&d->targets[0]);
    assert_false(applies(d, PUBLISHED(LATER)));
    assert_false(applies(d, PUBLISHED(LATER) "," EXPIRES));
    assert_contains(cfr_publish_secret_error(d), "this one takes over shortly before the content expires");
    /* At 80 % of the lifetime it is renewed. */
    fake.now.wall_ms = NOW_MS + 53 * MINUTE;
    assert_false(applies(d, PUBLISHED(LATER) "," EXPIRES));
    fake.now.wall_ms = NOW_MS + 54 * MINUTE;
    assert_true(applies(d, PUBLISHED(LATER) "," EXPIRES));
    assert_null(cfr_publish_secret_error(d));
    (void)snprintf(own, sizeof own, "\"credfresh.io/publisher\":\"2026-11-18T11:06:40Z/%016llx\"",
                   (unsigned long long)cfr_publish_delivery_run());
    assert_contains(fake.body, own);
    cfr_publish_secret_close(d);

    d = open_delivery(&credential);
    queue(&d->targets[0]);
    assert_true(applies(d, NULL));
    cfr_publish_secret_close(d);
    d = open_delivery(&credential);
    queue(&d->targets[0]);
    assert_true(applies(d, PUBLISHED(EARLIER)));
    cfr_publish_secret_close(d);
}

/* In a child: a process has one. */
static uint64_t number_of_run_at(int64_t wall_ms)
{
    uint64_t number = 0;
    int ends[2];
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        fake.now.wall_ms = wall_ms;
        number = cfr_publish_delivery_run();
        _exit(write(ends[1], &number, sizeof number) == (ssize_t)sizeof number ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &number, sizeof number), sizeof number);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return number;
}

/* An agent that is restarted at once would take what it wrote before for another agent's. */
static void test_of_one_second_the_later_run_has_the_greater_number(void **state)
{
    uint64_t before = 0;

    (void)state;
    for (int i = 1; i < 10; i++) {
        uint64_t number = number_of_run_at(NOW_MS + 100 * (int64_t)i);

        assert_true(number > before);
        before = number;
    }
}

/* Whose clock was set back meanwhile. */
static void test_an_earlier_run_of_the_same_agent_is_no_other(void **state)
{
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    d->run = 0xff;
    assert_null(look_at(d, PUBLISHED(LATER)));
    assert_true(cfr_publish_secret_run(d) == 0xff);
    queue(&d->targets[0]);
    assert_true(applies(d, PUBLISHED(LATER)));
    /* For the record. */
    assert_true(cfr_publish_secret_run(d) == cfr_publish_delivery_run());
    cfr_publish_secret_close(d);
}

/* What a service CA issued, and what a shared rotation keeps, has other marks. */
static void test_what_has_another_mark_has_no_publisher(void **state)
{
    struct cfr_config_mint_state shared = {.secret = demo, .takeover_ms = MINUTE};
    struct cfr_config_mint mint = {.state = &shared};
    struct cfr_config_credential c = credential;
    struct cfr_delivery *d = open_delivery(&credential);

    (void)state;
    queue(&d->targets[0]);
    strcpy(d->targets[0].ca_keys, "ab");
    assert_true(applies(d, PUBLISHED(LATER)));
    assert_null(strstr(fake.body, "credfresh.io/publisher"));
    cfr_publish_secret_close(d);
    c.mint = &mint;
    d = open_delivery(&credential);
    cfr_publish_secret_rebind(d, &c);
    queue(&d->targets[0]);
    d->targets[0].number = 4;
    assert_true(applies(d, PUBLISHED(LATER)));
    assert_null(strstr(fake.body, "credfresh.io/publisher"));
    cfr_publish_secret_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Before this process has a number. */
        cmocka_unit_test(test_of_one_second_the_later_run_has_the_greater_number),
        cmocka_unit_test(test_a_watch_that_works_replaces_reads),
        cmocka_unit_test(test_what_the_watch_has_not_reported_is_read),
        cmocka_unit_test(test_a_loss_is_noticed_at_once),
        cmocka_unit_test(test_a_loss_during_a_read_is_noticed_after_it),
        cmocka_unit_test(test_a_read_is_not_compared_with_what_was_queued_during_it),
        cmocka_unit_test(test_an_object_that_changes_all_the_time_is_read_once_a_second),
        cmocka_unit_test(test_what_others_own_is_no_longer_published),
        cmocka_unit_test(test_an_agent_that_started_later_prevails),
        cmocka_unit_test(test_it_writes_again_when_the_other_has_ended),
        cmocka_unit_test(test_an_earlier_run_of_the_same_agent_is_no_other),
        cmocka_unit_test(test_what_has_another_mark_has_no_publisher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
