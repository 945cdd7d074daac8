/* SPDX-License-Identifier: MIT */
/* A toy hook kind in place of the real ones: what a kind must provide, and the schedule around it. */
#include "unit.h"

#include "agent/hook/hook_private.h"
#include "agent/loop/loop.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the toy was asked to do, and what it is to answer. */
static struct {
    unsigned started;
    unsigned cancelled;
    unsigned reaped;
    int holds; /* its process ends when this is closed */
    unsigned late;
    unsigned inspected;
    int answer;
    uint64_t generation;
    struct cfr_hook_run *run;
} toy;

struct toy_config {
    struct cfr_node node;
    char *word;
};

double __wrap_cfr_clock_chance(void);

/* The longest pause, so that each is known. */
double __wrap_cfr_clock_chance(void)
{
    return 1;
}

static int check_toy(const void *node, struct cfr_err *err)
{
    const struct toy_config *c = node;

    return strcmp(c->word, "rude") != 0 ? 0 : cfr_err_set(err, CFR_E_CONFIG, "word: is rude; write another");
}

#define AT(member) offsetof(struct toy_config, member)
static const struct cfr_field toy_fields[] = {
    {FIELD(word, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 8},
    {.key = NULL},
};

static const struct cfr_table toy_table = {
    .name = "toy",
    .size = sizeof(struct toy_config),
    .fields = toy_fields,
    .check = check_toy,
};

static const char *word_of(const void *config)
{
    return ((const struct toy_config *)config)->word;
}

static void describe_toy(const void *config, char text[CFR_HOOK_NAME_MAX])
{
    (void)snprintf(text, CFR_HOOK_NAME_MAX, "toy %s", word_of(config));
}

static const char *toy_header(const void *config)
{
    return strcmp(word_of(config), "answers") == 0 ? "X-Toy" : NULL;
}

static struct cfr_now now = {1000000, 1000};

struct cfr_now __wrap_cfr_clock_now(void);
struct cfr_now __wrap_cfr_clock_now(void)
{
    return now;
}

static int start_toy(struct cfr_hook_run *run, struct cfr_now at, struct cfr_err *err)
{
    int ends[2];

    toy.started++;
    toy.generation = run->generation;
    toy.run = run;
    if (toy.answer < 0)
        return cfr_err_set(err, toy.answer, "the toy is broken");
    assert_int_equal(pipe(ends), 0);
    run->pid = fork();
    if (run->pid == 0) {
        (void)close(ends[1]);
        _exit(read(ends[0], ends, 1) == 0 ? 0 : 1);
    }
    (void)close(ends[0]);
    toy.holds = ends[1];
    assert_string_equal(word_of(run->config), "answers");
    run->deadline_ms = at.boot_ms + run->timeout_ms;
    return toy.answer;
}

static void reap_toy(struct cfr_hook_run *run, struct cfr_now at)
{
    (void)at;
    toy.reaped++;
    assert_int_equal(waitpid(run->pid, NULL, 0), run->pid);
    run->pid = 0;
    run->ended(run->ctx, 0, &(struct cfr_err){0}, cfr_view_of("2"));
}

static void end_toy(struct cfr_hook_run *run, struct cfr_now at)
{
    (void)run;
    (void)at;
    toy.late++;
}

static void cancel_toy(struct cfr_hook_run *run)
{
    assert_ptr_equal(run, toy.run);
    toy.cancelled++;
}

static void inspect_toy(const void *config, const struct cfr_hook_inspection *inspection)
{
    toy.inspected++;
    cfr_finding_report(inspection->sink, CFR_FINDING_OK, "hook.toy", NULL, "%s", word_of(config));
}

static const struct cfr_hook_ops toy_kind = {
    .kind = {.variant = {.key = "toy", .table = &toy_table}, .acknowledge_header = toy_header},
    .describe = describe_toy,
    .start = start_toy,
    .on_child = reap_toy,
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

#define HEAD                                                                                                           \
    "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"                                             \
    "    publish: {directory: /d, files: [{name: t, format: token}]}\n    reload:\n      - "

static struct cfr_config *loaded; /* with the toy as its hook */

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* A configuration whose one hook is written as HOOK; 0 or the error. */
static int load(const char *hook, struct cfr_config **out, struct cfr_err *err)
{
    char path[64];
    int fd;
    int rc;

    (void)snprintf(path, sizeof path, "/tmp/cfr_hook_kinds.%d", (int)getpid());
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, HEAD "%s\n", hook), strlen(HEAD) + strlen(hook) + 1);
    assert_int_equal(close(fd), 0);
    rc = cfr_config_load(path, no_env, out, NULL, err);
    assert_int_equal(unlink(path), 0);
    return rc;
}

static int load_toy(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    cfr_hook_register();
    return load("{toy: {word: answers}, timeout: 1s}", &loaded, &err);
}

static int free_toy(void **state)
{
    (void)state;
    cfr_config_free(loaded);
    return 0;
}

static struct cfr_hooks *open_toy(struct heard *heard, unsigned max_attempts, int answer)
{
    struct cfr_hooks *h = NULL;
    struct cfr_err err = {0};

    memset(&toy, 0, sizeof toy);
    toy.answer = answer;
    assert_int_equal(cfr_hook_open(cfr_config_at(loaded, 0), NULL, NULL, max_attempts, on_ended, heard, &h, &err), 0);
    assert_string_equal(cfr_hook_name(h, 0), "toy answers");
    assert_true(cfr_hook_acknowledges(h, 0));
    return h;
}

static void turn(void)
{
    cfr_loop_children();
    cfr_loop_run(now.boot_ms);
}

static void child_ends(void)
{
    (void)close(toy.holds);
    for (unsigned before = toy.reaped; toy.reaped == before; turn())
        (void)usleep(1000);
}

static void runs_once_for_a_generation(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 0, CFR_HOOK_STARTED);

    (void)state;
    turn();
    assert_int_equal(toy.started, 0);
    cfr_hook_request(h, 2, true, now);
    turn();
    turn();
    assert_int_equal(toy.started, 1);
    assert_int_equal(toy.generation, 2);
    assert_true(cfr_hook_running(h));
    assert_int_equal(cfr_loop_next(), now.boot_ms + 1000);
    assert_string_equal(cfr_hook_status(h)[0].result, "running");
    child_ends();
    assert_false(cfr_hook_pending(h));
    assert_int_equal(cfr_loop_next(), INT64_MAX);
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

    (void)state;
    cfr_hook_request(h, 2, false, now);
    turn();
    cfr_hook_request(h, 3, false, now);
    cfr_hook_request(h, 4, false, now);
    child_ends();
    assert_int_equal(heard.generation, 2);
    assert_true(cfr_hook_pending(h));
    turn();
    assert_int_equal(toy.started, 2);
    assert_int_equal(toy.generation, 4);
    /* The answer still names 2, so that it has to be run again. */
    child_ends();
    assert_true(heard.failed);
    assert_true(cfr_hook_pending(h));
    cfr_hook_close(h);
}

static void a_failure_is_repeated_and_is_news_once(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 3, CFR_E_DENIED);

    (void)state;
    cfr_hook_request(h, 2, false, now);
    turn();
    assert_int_equal(cfr_loop_next(), now.boot_ms + 1000);
    turn();
    assert_int_equal(toy.started, 1);
    now.boot_ms += 1000;
    turn();
    assert_int_equal(toy.started, 2);
    assert_int_equal(cfr_loop_next(), now.boot_ms + 2000);
    now.boot_ms += 1999;
    turn();
    assert_int_equal(toy.started, 2);
    assert_false(cfr_hook_failed(h));
    now.boot_ms += 1;
    turn();
    assert_int_equal(toy.started, 3);
    assert_true(cfr_hook_failed(h));
    assert_int_equal(heard.count, 3);
    assert_int_equal(heard.news, 1);
    assert_false(cfr_hook_pending(h));
    assert_string_equal(cfr_hook_status(h)[0].result, "failed");
    /* A new generation is a new beginning. */
    cfr_hook_request(h, 3, false, now);
    turn();
    assert_int_equal(toy.started, 4);
    assert_int_equal(heard.news, 1);
    assert_int_equal(cfr_loop_next(), now.boot_ms + 1000);
    cfr_hook_close(h);
}

static void the_kind_ends_what_takes_too_long(void **state)
{
    struct heard heard = {0};
    struct cfr_hooks *h = open_toy(&heard, 0, CFR_HOOK_STARTED);

    (void)state;
    cfr_hook_request(h, 2, false, now);
    turn();
    now.boot_ms += 999;
    turn();
    assert_int_equal(toy.late, 0);
    now.boot_ms += 1;
    turn();
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
    cfr_hook_inspect(cfr_config_at(loaded, 0)->reload.items, &(struct cfr_hook_inspection){.sink = &sink});
    assert_int_equal(toy.inspected, 1);
}

static void a_hook_of_no_kind_is_an_error(void **state)
{
    struct cfr_config_hook none = {.timeout_ms = 1000};
    struct cfr_config_credential c = {.reload = {.items = &none, .count = 1}};
    struct cfr_hooks *h = NULL;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_hook_open(&c, NULL, NULL, 0, on_ended, NULL, &h, &err), CFR_E_INTERNAL);
    assert_null(h);
}

/* The real kinds are not registered here: the keys are those of the table alone. */
static void the_kind_brings_its_key(void **state)
{
    static const char *const cases[][2] = {
        {"{toy: {word: rude}}", ":7: credential a: reload.toy.word: is rude; write another"},
        {"{toy: {}}", ":7: credential a: reload.toy.word: is missing; this toy needs it"},
        {"{toy: {wort: x}}", ":7: credential a: reload.toy: unknown key wort; did you mean word?"},
        {"{toys: {word: x}}", ":7: credential a: reload: unknown key toys; did you mean toy?"},
        {"{exec: [/x]}", ":7: credential a: reload: unknown key exec; this reload hook has: toy, timeout, on_first"},
        {"{}", ":7: credential a: reload: does nothing; write one of `toy`"},
        {"{toy: {word: answers}, on_first: skip}", ":7: credential a: reload.on_first: skip makes no request"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_config *config = NULL;
        struct cfr_err err = {0};

        assert_int_equal(load(cases[i][0], &config, &err), CFR_E_CONFIG);
        assert_contains(err.text, cases[i][1]);
    }
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
        cmocka_unit_test(the_kind_brings_its_key),
    };

    return cmocka_run_group_tests(tests, load_toy, free_toy);
}
