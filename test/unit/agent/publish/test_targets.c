/* SPDX-License-Identifier: MIT */
/* Kinds of targets on this machine: what each says that it needs, and what a publish leaves of what was there. */
#include "publisher_fixture.h"

#define HEAD                                                                                                           \
    "version: 1\nstate_dir: @/state\ncredentials:\n  - name: a\n    token: {file: @/token}\n    exchange: {aws: "      \
    "{role_arn: \"arn:aws:iam::123456789012:role/r\", region: eu-west-1}}\n    publish:\n"
#define PROFILE   "      - {profile: {path: @/aws/credentials, name: work, mode: \"0640\", group: \"7\"}}\n"
#define DIRECTORY "      - {directory: @/set, owner: \"0\", files: [{name: key, format: json}]}\n"
#define IN_PLACE  "      - {file: {path: @/place, format: json, in_place: true}}\n"
#define PLAIN     "      - {file: {path: @/plain, format: json}}\n"

static void grant_keys(const char *id)
{
    cfr_grant_free(&grant);
    set_field("aws_access_key_id", id);
    set_field("aws_secret_access_key", "the-secret");
    set_field("aws_session_token", "the-session");
    grant.expires_s = 1767330000;
}

static int publish(const char *id, uint64_t generation, struct cfr_publisher_outcome *out)
{
    grant_keys(id);
    return publish_grant(generation, out);
}

/* ---- what they need ---- */

static char needs[4096];

static void note(const char *what, const char *a, const char *b)
{
    size_t n = strlen(needs);

    if (a != NULL && strncmp(a, scratch, strlen(scratch)) == 0)
        a += strlen(scratch);
    (void)snprintf(needs + n, sizeof needs - n, "%s %s %s\n", what, a != NULL ? a : "-", b != NULL ? b : "-");
}

static void on_owner(void *ctx, const char *owner, const char *group)
{
    (void)ctx;
    note("owner", owner, group);
}

static void on_directory(void *ctx, const char *path)
{
    (void)ctx;
    note("directory", path, NULL);
}

static void on_file(void *ctx, const char *path, bool in_place)
{
    (void)ctx;
    note("file", path, in_place ? "in place" : NULL);
}

static void on_parent(void *ctx, const char *path)
{
    (void)ctx;
    note("parent", path, NULL);
}

static void on_cluster(void *ctx, const struct cfr_kube_where *where)
{
    (void)ctx;
    (void)where;
    note("cluster", NULL, NULL);
}

static void on_secret_file(void *ctx, const char *path, mode_t mode)
{
    char octal[8];

    (void)ctx;
    (void)snprintf(octal, sizeof octal, "%04o", (unsigned)mode);
    note("secret file", path, octal);
}

static void on_loss(void *ctx, const char *text)
{
    (void)ctx;
    note("loss", text, NULL);
}

static const char *inspect(size_t index)
{
    const struct cfr_publish_inspection i = {NULL,      on_owner,   on_directory,   on_file,
                                             on_parent, on_cluster, on_secret_file, on_loss};

    needs[0] = '\0';
    cfr_publish_inspect(credential, index, &i);
    return needs;
}

static void test_what_they_need(void **state)
{
    (void)state;
    configure(HEAD DIRECTORY PLAIN IN_PLACE PROFILE);
    assert_string_equal(inspect(0), "owner 0 -\nowner - -\ndirectory /set -\n");
    assert_string_equal(inspect(1), "file /plain -\nowner - -\n");
    assert_string_equal(inspect(2), "file /place in place\nowner - -\n");
    assert_string_equal(inspect(3), "parent /aws/credentials -\nowner - 7\nsecret file /aws/credentials 0640\n");
}

static const struct cfr_config_publish *target_at(size_t index)
{
    return (const struct cfr_config_publish *)credential->publish.items + index;
}

static void test_paths(void **state)
{
    (void)state;
    configure(HEAD DIRECTORY PLAIN PROFILE
              "      - {secret: {name: s, namespace: n, keys: [{name: k, format: json}]}}\n");
    assert_string_equal(cfr_publish_path(target_at(0)), in("set"));
    assert_string_equal(cfr_publish_path(target_at(1)), in("plain"));
    assert_string_equal(cfr_publish_path(target_at(2)), in("aws/credentials"));
    assert_null(cfr_publish_path(target_at(3)));
}

static void test_rehearsal(void **state)
{
    const struct cfr_publish_from from = {.provider = NULL};
    struct cfr_publish_render render = {.credential = "a", .from = &from, .grant = &grant, .generation = 1};
    struct cfr_err err = {0};

    (void)state;
    configure(HEAD DIRECTORY PROFILE);
    grant_keys("AKIA1");
    assert_int_equal(cfr_publish_rehearse(credential, &render, &err), 0);
    assert_false(exists(in("set")));
    assert_false(exists(in("aws")));
    cfr_grant_free(&grant);
    assert_int_not_equal(cfr_publish_rehearse(credential, &render, &err), 0);
}

/* ---- profiles ---- */

static void test_a_profile(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err = {0};

    (void)state;
    configure(HEAD "      - {profile: {path: @/credentials, name: work}}\n");
    put(in("credentials"), "# mine\n[default]\naws_access_key_id = MINE\n\n[other]\nregion = x\n");
    assert_int_equal(chmod(in("credentials"), 0600), 0);
    assert_int_equal(publish("AKIA1", 1, &out), 0);
    assert_true(out.changed);
    assert_contains(get(in("credentials")), "# mine\n[default]\naws_access_key_id = MINE\n");
    assert_contains(get(in("credentials")), "[other]\nregion = x\n");
    assert_contains(get(in("credentials")), "[work]\n");
    assert_contains(get(in("credentials")), "aws_access_key_id = AKIA1\n");
    assert_int_equal(mode_of(in("credentials")), 0600);
    assert_int_equal(publish("AKIA1", 1, &out), 0);
    assert_false(out.changed);
    assert_int_equal(publish("AKIA2", 2, &out), 0);
    assert_null(strstr(get(in("credentials")), "AKIA1"));
    assert_contains(get(in("credentials")), "aws_access_key_id = MINE\n");
    assert_int_equal(cfr_publisher_verify(look(), &record, &err), 0);
}

/* Only the section counts: other programs may write the rest. */
static void test_a_profile_that_others_write(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err = {0};
    char text[4096];

    (void)state;
    configure(HEAD "      - {profile: {path: @/credentials, name: work}}\n");
    assert_int_equal(publish("AKIA1", 1, &out), 0);
    (void)snprintf(text, sizeof text, "[new]\nregion = y\n\n%s", get(in("credentials")));
    put(in("credentials"), text);
    assert_int_equal(cfr_publisher_verify(look(), &record, &err), 0);
    put(in("credentials"), "[new]\nregion = y\n");
    assert_int_not_equal(cfr_publisher_verify(look(), &record, &err), 0);
    assert_contains(err.text, in("credentials"));
}

/* ---- files ---- */

/* A reader that has the old file open never sees a part of the new one. `in_place` matters only at a mount point. */
static void test_files_are_replaced(void **state)
{
    struct cfr_publisher_outcome out;
    char text[4096];
    ssize_t n;
    int fd;

    (void)state;
    configure(HEAD IN_PLACE PLAIN);
    assert_int_equal(publish("AKIA1", 1, &out), 0);
    fd = open(in("place"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(publish("AKIA2", 2, &out), 0);
    n = read(fd, text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_contains(text, "AKIA1");
    assert_contains(get(in("place")), "AKIA2");
    assert_contains(get(in("plain")), "AKIA2");
    assert_int_equal(mode_of(in("plain")), 0600);
    (void)close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_they_need),     TEST(test_paths),
        TEST(test_rehearsal),          TEST(test_a_profile),
        TEST(test_files_are_replaced), TEST(test_a_profile_that_others_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
