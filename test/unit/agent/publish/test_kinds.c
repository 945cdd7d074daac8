/* SPDX-License-Identifier: MIT */
/* Toy target kinds in place of the real ones: what a kind must provide, and the order of a publish. */
#include "unit.h"

#include "agent/publish/target_private.h"

static struct {
    char calls[256]; /* one word for each */
    size_t fails_at; /* index of the target that cannot be rendered */
    bool changes;
} toy;

static void note(const char *what, size_t index)
{
    size_t n = strlen(toy.calls);

    (void)snprintf(toy.calls + n, sizeof toy.calls - n, "%s%s%zu", n != 0 ? " " : "", what, index);
}

static bool is_near(const struct cfr_config_publish *t)
{
    return t->directory != NULL;
}

static bool is_far(const struct cfr_config_publish *t)
{
    return t->directory == NULL;
}

static const char *path_of_near(const struct cfr_config_publish *t)
{
    return t->directory;
}

static int render_toy(const struct cfr_target *t, const struct cfr_publish_render *job, struct cfr_target_content *out,
                      struct cfr_err *err)
{
    struct cfr_secret *secret = cfr_publish_content_add(out);

    assert_string_equal(job->credential, "demo");
    note("render", t->index);
    if (t->index == toy.fails_at)
        return cfr_err_set(err, CFR_E_CONFIG, "does not fit");
    assert_int_equal(cfr_secret_append_str(secret, "content", err), 0);
    out->files[out->count++] = (struct cfr_file){.name = "toy", .content = cfr_secret_view(secret)};
    return 0;
}

static int publish_toy(const struct cfr_target *t, const struct cfr_publish_job *job,
                       struct cfr_target_content *content, struct cfr_publish_record *record, bool *changed,
                       struct cfr_err *err)
{
    (void)err;
    assert_view(content->files[0].content, "content");
    assert_int_equal(job->render.generation, 7);
    note("publish", t->index);
    record->rendered[t->index] = t->index + 1;
    *changed = toy.changes;
    return 0;
}

static int current_toy(const struct cfr_target *t, uint64_t *number, struct cfr_err *err)
{
    (void)err;
    *number = 10 + t->index;
    return 0;
}

static int verify_toy(const struct cfr_target *t, const struct cfr_publish_record *record, struct cfr_err *err)
{
    return record->rendered[t->index] != 0 ? 0 : cfr_err_set(err, CFR_E_MISSING, "toy %zu", t->index);
}

static const struct cfr_target_ops near_kind = {
    .name = "near",
    .is_configured = is_near,
    .path = path_of_near,
    .render = render_toy,
    .publish = publish_toy,
    .verify = verify_toy,
    .current = current_toy,
};

/* With as little as a kind may have. */
static const struct cfr_target_ops far_kind = {
    .name = "far",
    .is_remote = true,
    .is_configured = is_far,
    .render = render_toy,
    .publish = publish_toy,
};

/* In place of agent/publish/kinds.c. */
const struct cfr_target_ops *const cfr_publish_kinds[] = {&near_kind, &far_kind, NULL};

static char directory[] = "/near";
static struct cfr_config_publish configs[] = {{.directory = directory}, {.owner = NULL}, {.directory = directory}};
static const struct cfr_config_credential credential = {.publish = {.items = configs, .count = COUNT(configs)}};
static const struct cfr_publish_job job = {.render = {.credential = "demo", .generation = 7}};

static void begin(size_t fails_at, bool changes)
{
    memset(&toy, 0, sizeof toy);
    toy.fails_at = fails_at;
    toy.changes = changes;
}

static void renders_all_then_publishes_each_and_the_remote_last(void **state)
{
    struct cfr_publish_record record = {0};
    struct cfr_err err = {0};
    bool changed = false;

    (void)state;
    begin(SIZE_MAX, true);
    assert_int_equal(cfr_publish(&credential, &job, &record, &changed, &err), 0);
    assert_string_equal(toy.calls, "render0 render1 render2 publish0 publish2 publish1");
    assert_true(changed);
    assert_int_equal(record.target_count, 3);
    assert_int_equal(record.rendered[2], 3);
    begin(SIZE_MAX, false);
    assert_int_equal(cfr_publish(&credential, &job, &record, &changed, &err), 0);
    assert_false(changed);
}

static void publishes_nothing_if_one_does_not_fit(void **state)
{
    struct cfr_publish_record record = {0};
    struct cfr_err err = {0};
    bool changed = true;

    (void)state;
    begin(1, true);
    assert_int_equal(cfr_publish(&credential, &job, &record, &changed, &err), CFR_E_CONFIG);
    assert_string_equal(toy.calls, "render0 render1");
    assert_false(changed);
    begin(2, true);
    assert_int_equal(cfr_publish_rehearse(&credential, &job.render, &err), CFR_E_CONFIG);
    assert_string_equal(toy.calls, "render0 render1 render2");
    begin(SIZE_MAX, true);
    assert_int_equal(cfr_publish_rehearse(&credential, &job.render, &err), 0);
    assert_string_equal(toy.calls, "render0 render1 render2");
}

static void a_kind_does_not_need_what_it_cannot_do(void **state)
{
    struct cfr_publish_record record = {.target_count = 3, .rendered = {1, 0, 1}};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_publish_recover(&credential, &err), 0);
    assert_int_equal(cfr_publish_verify(&credential, &record, &err), 0);
    assert_int_equal(cfr_publish_present(&credential, &err), 0);
    assert_int_equal(cfr_publish_retire(&credential, &err), 0);
    assert_int_equal(cfr_publish_newest(&credential), 12);
    assert_int_equal(cfr_publish_time_ns(&credential), 0);
    assert_false(cfr_publish_holds_key(&credential, "key"));
    assert_string_equal(cfr_publish_path(&configs[0]), "/near");
    assert_null(cfr_publish_path(&configs[1]));
    record.rendered[2] = 0;
    assert_int_equal(cfr_publish_verify(&credential, &record, &err), CFR_E_MISSING);
    record.target_count = 2;
    assert_int_equal(cfr_publish_verify(&credential, &record, &err), CFR_E_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renders_all_then_publishes_each_and_the_remote_last),
        cmocka_unit_test(publishes_nothing_if_one_does_not_fit),
        cmocka_unit_test(a_kind_does_not_need_what_it_cannot_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
