/* SPDX-License-Identifier: MIT */
/* Toy target kinds in place of the real ones: what a kind must provide, and the order of a publish. */
#include "unit.h"

#include "publish_work.h"

#include "agent/publish/target_private.h"

#include <fcntl.h>
#include <unistd.h>

static struct {
    char calls[256]; /* one word for each */
    size_t fails_at; /* index of the target that cannot be rendered */
    bool changes;
    bool knows; /* what is there after a publish */
    int looks;
    uint64_t size;
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
                       struct cfr_target_content *content, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    (void)err;
    assert_view(content->files[0].content, "content");
    assert_int_equal(job->render.generation, 7);
    note("publish", t->index);
    seen->hash = t->index + 1;
    seen->changed = toy.changes;
    seen->known = toy.knows;
    seen->mark = (struct cfr_file_fingerprint){.size = 9};
    return 0;
}

static int look_at_toy(const struct cfr_target *t, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    toy.looks++;
    seen->current = 10 + t->index;
    seen->mark = (struct cfr_file_fingerprint){.size = toy.size};
    return toy.size != 0 ? 0 : cfr_err_set(err, CFR_E_MISSING, "toy %zu", t->index);
}

static const struct cfr_target_ops near_kind = {
    .has_generations = true,
    .is_configured = is_near,
    .path = path_of_near,
    .render = render_toy,
    .publish = publish_toy,
    .look = look_at_toy,
};

/* With as little as a kind may have. */
static const struct cfr_target_ops far_kind = {
    .is_remote = true,
    .is_configured = is_far,
    .render = render_toy,
    .publish = publish_toy,
};

/* One that brings its key. */
struct box {
    struct cfr_node node;
    char *path;
    char *word;
};

#define AT(member) offsetof(struct box, member)
static const struct cfr_field box_fields[] = {
    {.key = "path", .type = CFR_FIELD_STRING, .offset = AT(path), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH},
    {.key = "word", .type = CFR_FIELD_STRING, .offset = AT(word), .fallback = "content"},
    {.key = NULL},
};

static int check_box(const void *node, struct cfr_err *err)
{
    const struct box *b = node;

    return strcmp(b->word, "rude") != 0 ? 0 : cfr_err_set(err, CFR_E_CONFIG, "word: is rude; write another");
}

static const struct cfr_table box_table = {
    .name = "box", .size = sizeof(struct box), .fields = box_fields, .check = check_box};

static void describe_box(const void *config, struct cfr_config_target_use *out)
{
    const struct box *b = config;

    *out =
        (struct cfr_config_target_use){.key = "publish.box.path", .path = b->path, .format = -1, .line = b->node.line};
}

static int render_box(const struct cfr_target *t, const struct cfr_publish_render *job, struct cfr_target_content *out,
                      struct cfr_err *err)
{
    assert_string_equal(((const struct box *)t->own)->word, "content");
    return render_toy(t, job, out, err);
}

static void inspect_box(const struct cfr_target *t, const struct cfr_publish_inspection *i)
{
    i->parent(i->ctx, ((const struct box *)t->own)->path);
}

static const struct cfr_target_ops box_kind = {
    .kind = {.variant = {.key = "box", .table = &box_table}, .describe = describe_box},
    .inspect = inspect_box,
    .render = render_box,
    .publish = publish_toy,
};

/* In place of agent/publish/kinds.c. */
const struct cfr_target_ops *const cfr_publish_kinds[] = {&near_kind, &box_kind, &far_kind, NULL};

static char directory[] = "/dev/shm/near";
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
    struct cfr_publisher_outcome out;

    (void)state;
    begin(SIZE_MAX, true);
    assert_int_equal(cfr_test_work(&credential, CFR_PUBLISHER_PUBLISH, &job, &record, &out, &err), 0);
    assert_string_equal(toy.calls, "render0 render1 render2 publish0 publish2 publish1");
    assert_true(out.changed);
    assert_int_equal(record.target_count, 3);
    assert_int_equal(record.rendered[2], 3);
    begin(SIZE_MAX, false);
    assert_int_equal(cfr_test_work(&credential, CFR_PUBLISHER_PUBLISH, &job, &record, &out, &err), 0);
    assert_false(out.changed);
    cfr_publish_record_free(&record);
}

static void looks_only_at_what_a_kind_does_not_know(void **state)
{
    struct cfr_publish_record record = {0};
    struct cfr_err err = {0};
    struct cfr_publisher_outcome out;

    (void)state;
    begin(SIZE_MAX, true);
    toy.size = 5;
    assert_int_equal(cfr_test_work(&credential, CFR_PUBLISHER_PUBLISH, &job, &record, &out, &err), 0);
    assert_true(toy.looks != 0);
    assert_int_equal(record.targets[0].size, 5);
    begin(SIZE_MAX, true);
    toy.knows = true;
    assert_int_equal(cfr_test_work(&credential, CFR_PUBLISHER_PUBLISH, &job, &record, &out, &err), 0);
    assert_int_equal(toy.looks, 0);
    assert_int_equal(record.targets[0].size, 9);
    cfr_publish_record_free(&record);
}

static void publishes_nothing_if_one_does_not_fit(void **state)
{
    struct cfr_publish_record record = {0};
    struct cfr_err err = {0};
    struct cfr_publisher_outcome out;

    (void)state;
    begin(1, true);
    assert_int_equal(cfr_test_work(&credential, CFR_PUBLISHER_PUBLISH, &job, &record, &out, &err), CFR_E_CONFIG);
    assert_string_equal(toy.calls, "render0 render1");
    assert_false(out.changed);
    begin(2, true);
    assert_int_equal(cfr_publish_rehearse(&credential, &job.render, &err), CFR_E_CONFIG);
    assert_string_equal(toy.calls, "render0 render1 render2");
    begin(SIZE_MAX, true);
    assert_int_equal(cfr_publish_rehearse(&credential, &job.render, &err), 0);
    assert_string_equal(toy.calls, "render0 render1 render2");
    cfr_publish_record_free(&record);
}

static struct cfr_publisher *open_after_work(struct cfr_publish_record *record)
{
    static struct cfr_publisher_crew crew;
    struct cfr_publisher_outcome out;
    struct cfr_publisher *p;
    struct cfr_err err = {0};

    toy.size = 5;
    assert_int_equal(cfr_test_work(&credential, CFR_PUBLISHER_RECOVER | CFR_PUBLISHER_RETIRE, NULL, record, &out, &err),
                     0);
    assert_int_equal(cfr_publisher_open(&credential, &crew, cfr_test_work_done, NULL, &p, &err), 0);
    return p;
}

static void a_kind_does_not_need_what_it_cannot_do(void **state)
{
    struct cfr_publish_record record = {.generation = 12, .target_count = 3};
    struct cfr_publisher *p = open_after_work(&record);
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_publisher_verify(p, &record, &err), 0);
    assert_int_equal(cfr_publisher_newest(p), 12);
    assert_int_equal(cfr_publisher_time_ns(p), 0);
    assert_false(cfr_publisher_holds_key(p, &record, "key"));
    assert_string_equal(cfr_publish_path(&configs[0]), "/dev/shm/near");
    assert_null(cfr_publish_path(&configs[1]));
    cfr_publisher_found(p, &record);
    assert_int_equal(cfr_publisher_verify(p, &record, &err), 0);
    toy.size = 6;
    assert_int_equal(cfr_publisher_verify(p, &record, &err), CFR_E_MISSING);
    assert_string_equal(err.text, "/dev/shm/near was changed by another program, or another credfresh publishes there");
    toy.size = 0;
    assert_int_equal(cfr_publisher_verify(p, &record, &err), CFR_E_MISSING);
    assert_string_equal(err.text, "toy 0");
    toy.size = 5;
    record.generation = 9;
    assert_int_equal(cfr_publisher_verify(p, &record, &err), CFR_E_MISSING);
    assert_string_equal(
        err.text,
        "/dev/shm/near holds generation 10, and this agent has published 9: another credfresh publishes there, "
        "or the record in state_dir is older");
    record.generation = 12;
    record.target_count = 2;
    assert_int_equal(cfr_publisher_verify(p, &record, &err), CFR_E_MISSING);
    record.target_count = 3;
    cfr_publisher_close(p);
    cfr_publish_record_free(&record);
}

/* A kind that does not say which key it holds is taken by the record: if it was not touched since, and the cluster was
 * seen to hold that generation. */
static void which_key_is_held_is_on_record(void **state)
{
    struct cfr_publish_record record = {.generation = 12, .target_count = 3};
    struct cfr_publisher *p = open_after_work(&record);
    struct cfr_err err = {0};

    (void)state;
    cfr_publisher_found(p, &record);
    record.delivered_count = 1;
    record.delivered[0] = 12;
    assert_int_equal(cfr_publish_record_set_key(&record, &(struct cfr_publish_minted){"key", 1, 1, 0, false}, &err), 0);
    assert_true(cfr_publisher_holds_key(p, &record, "key"));
    assert_false(cfr_publisher_holds_key(p, &record, "other"));
    assert_false(cfr_publisher_holds_key(p, &record, ""));
    record.delivered[0] = 11;
    assert_false(cfr_publisher_holds_key(p, &record, "key"));
    record.delivered[0] = 12;
    record.delivered_count = 0;
    assert_false(cfr_publisher_holds_key(p, &record, "key"));
    record.delivered_count = 1;
    toy.size = 6;
    assert_false(cfr_publisher_holds_key(p, &record, "key"));
    cfr_publisher_close(p);
    cfr_publish_record_free(&record);
}

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* A configuration with the target that is written as TARGET; 0 or the error. */
static int load(const char *target, struct cfr_config **out, struct cfr_err *err)
{
    static const char head[] = "version: 1\ncredentials:\n  - name: demo\n    token: {file: /t/token}\n    publish:\n"
                               "      - ";
    char path[64];
    int fd;
    int rc;

    (void)snprintf(path, sizeof path, "/tmp/cfr_publish_kinds.%d", (int)getpid());
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "%s%s\n", head, target), strlen(head) + strlen(target) + 1);
    assert_int_equal(close(fd), 0);
    rc = cfr_config_load(path, no_env, out, NULL, err);
    assert_int_equal(unlink(path), 0);
    return rc;
}

static void see_parent(void *ctx, const char *path)
{
    assert_string_equal(path, "/dev/shm/box");
    ++*(int *)ctx;
}

static void a_kind_brings_its_key(void **state)
{
    static const char *const refused[][2] = {
        {"{box: {path: /b, word: rude}}", ":6: credential demo: publish.box.word: is rude; write another"},
        {"{box: {}}", ":6: credential demo: publish.box.path: is missing; this box needs it"},
        {"{boxes: {path: /b}}", ":6: credential demo: publish: unknown key boxes; did you mean box?"},
        {"{profile: {path: /b}}", ":6: credential demo: publish: unknown key profile; did you mean file?"},
        {"{}", ":6: credential demo: publish: does not say where to publish; write one of `directory`, `file`, `box`, "
               "`secret` or `configmap`"},
        {"{box: {path: /b}, file: {path: /f, format: token}}",
         ":6: credential demo: publish: has more than one of `directory`, `file`, `box`, `secret` and `configmap`"},
        {"{box: {path: /t/token}}", "publish.box.path: /t/token is the token file of credential demo"},
    };
    struct cfr_publish_record record = {0};
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    struct cfr_publisher_outcome out;
    int seen = 0;
    const struct cfr_publish_inspection looks = {.ctx = &seen, .parent = see_parent};

    (void)state;
    cfr_publish_register();
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_int_equal(load(refused[i][0], &config, &err), CFR_E_CONFIG);
        assert_contains(err.text, refused[i][1]);
    }
    assert_int_equal(load("{box: {path: /dev/shm/box}}", &config, &err), 0);
    begin(SIZE_MAX, true);
    assert_int_equal(cfr_test_work(cfr_config_at(config, 0), CFR_PUBLISHER_PUBLISH, &job, &record, &out, &err), 0);
    assert_string_equal(toy.calls, "render0 publish0");
    assert_true(out.changed);
    assert_string_equal(cfr_publish_path(cfr_config_at(config, 0)->publish.items), "/dev/shm/box");
    cfr_publish_inspect(cfr_config_at(config, 0), 0, &looks);
    assert_int_equal(seen, 1);
    cfr_config_free(config);
    cfr_publish_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renders_all_then_publishes_each_and_the_remote_last),
        cmocka_unit_test(looks_only_at_what_a_kind_does_not_know),
        cmocka_unit_test(publishes_nothing_if_one_does_not_fit),
        cmocka_unit_test(which_key_is_held_is_on_record),
        cmocka_unit_test(a_kind_does_not_need_what_it_cannot_do),
        cmocka_unit_test(a_kind_brings_its_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
