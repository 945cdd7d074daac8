/* SPDX-License-Identifier: MIT */
/* Capabilities and directories that a configuration needs. */
#include "daemon_fixture.h"

#include "agent/daemon/needs_private.h"

#include <linux/capability.h>
#include <unistd.h>

#define HEAD  "version: 1\nstate_dir: @/state\n"
#define PLAIN "credentials:\n  - {name: a, token: {file: @/token}, publish: {file: {path: @/out/a, format: token}}}\n"
#define WITH(more)                                                                                                     \
    "credentials:\n  - {name: a, token: {file: @/token}, publish: {file: {path: @/out/a, format: token" more "}}}\n"
#define HOOK(hook)                                                                                                     \
    "credentials:\n  - {name: a, token: {file: @/token}, publish: {file: {path: @/out/a, format: token}}, reload: "    \
    "[" hook "]}\n"
#define CAP(name) (UINT64_C(1) << CAP_##name)
#define GIVING    (CAP(CHOWN) | CAP(FOWNER) | CAP(FSETID))
#define AS_OTHERS (CAP(SETUID) | CAP(SETGID) | CAP(KILL))

static int begin(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    put(in("token"), "x");
    return begin_test(state);
}

static uint64_t needs(const char *text)
{
    struct cfr_config *config = load_text(text);
    uint64_t needed = cfr_daemon_needs_capabilities(config, NULL);

    cfr_config_free(config);
    return needed;
}

static void test_capabilities(void **state)
{
    static const struct {
        const char *text;
        uint64_t more;
    } cases[] = {
        {HEAD PLAIN, 0},
        {HEAD "listen: 127.0.0.1:9080\n" PLAIN, 0},
        {HEAD "listen: 127.0.0.1:80\n" PLAIN, CAP(NET_BIND_SERVICE)},
        {HEAD "listen: \"[::1]:1023\"\n" PLAIN, CAP(NET_BIND_SERVICE)},
        {HEAD "exit_with: {process: app}\n" PLAIN, CAP(SYS_PTRACE)},
        {HEAD "exit_with: {pid_file: @/pid}\n" PLAIN, 0},
        {HEAD WITH(", group: \"7\""), GIVING},
        {HEAD WITH(", owner: \"0\""), GIVING},
        {HEAD WITH(", owner: \"1234\""), GIVING | AS_OTHERS},
        {HEAD HOOK("{signal: {signal: HUP, pid_file: @/pid}}"), CAP(KILL)},
        {HEAD HOOK("{signal: {signal: HUP, executable: /usr/bin/app}}"), CAP(KILL) | CAP(SYS_PTRACE)},
        {HEAD HOOK("{exec: [/bin/true]}"), CAP(KILL)},
        {HEAD HOOK("{http: {url: \"http://127.0.0.1:1/\"}}"), 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t needed = needs(cases[i].text);

        if (needed != (CAP(DAC_OVERRIDE) | cases[i].more))
            fail_msg("%s needs %jx, not %jx", cases[i].text, (uintmax_t)needed,
                     (uintmax_t)(CAP(DAC_OVERRIDE) | cases[i].more));
    }
}

/* A directory that another user owns is read and written with that user's rights. */
static void test_paths_of_others(void **state)
{
    struct cfr_config *config;
    struct cfr_config *now;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(in("theirs"), 0755), 0);
    put(in("theirs/token"), "x");
    assert_int_equal(chown(in("theirs"), 1234, 1234), 0);
    config = load_text(HEAD "credentials:\n  - {name: a, token: {file: @/theirs/token}, publish: {file: {path: @/a, "
                            "format: token}}}\n");
    now = load_text(HEAD PLAIN);
    assert_int_equal(cfr_daemon_needs_capabilities(config, NULL) & AS_OTHERS, AS_OTHERS);
    assert_int_equal(cfr_daemon_needs_capabilities(config, now) & AS_OTHERS, AS_OTHERS);
    /* A path that is in use already is no reason to refuse a reload. */
    assert_int_equal(cfr_daemon_needs_capabilities(config, config) & AS_OTHERS, 0);
    cfr_config_free(config);
    cfr_config_free(now);
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(cfr_daemon_needs_explain(CAP(NET_BIND_SERVICE) | CAP(KILL)), "it listens on a port below 1024");
    assert_string_equal(cfr_daemon_needs_explain(CAP(SYS_PTRACE)), "it looks for processes by their executables");
    assert_string_equal(cfr_daemon_needs_explain(CAP(FOWNER)), "it gives files to an owner or a group");
    assert_string_equal(cfr_daemon_needs_explain(AS_OTHERS), "it has files in directories of other users");
    assert_string_equal(cfr_daemon_needs_explain(CAP(KILL)), "it signals processes or runs programs");
}

/* ---- directories ---- */

static char found[65536]; /* each directory below the scratch directory, without that, and " " */

static void add_directory(void *ctx, const char *directory, const char *path)
{
    size_t n = strlen(scratch);

    (void)ctx;
    (void)path;
    if (strncmp(directory, scratch, n) != 0 || (directory[n] != '/' && directory[n] != '\0'))
        return;
    (void)strcat(found, directory[n] != '\0' ? directory + n : "/");
    (void)strcat(found, " ");
}

static void has(const char *directory)
{
    char word[256];
    char all[sizeof found + 1];

    (void)snprintf(word, sizeof word, " %s ", directory);
    (void)snprintf(all, sizeof all, " %s", found);
    if (strstr(all, word) == NULL)
        fail_msg("no %s in %s", directory, found);
}

static void test_written(void **state)
{
    struct cfr_config *config = load_text(
        HEAD "control_socket: @/run/c.sock\ntoken_socket: @/run2/t.sock\ncredentials:\n"
             "  - {name: a, token: {file: @/in/token}, allow: {}, publish: [{file: {path: @/out/a, format: token}}, "
             "{directory: @/deep/set, files: [{name: t, format: token}]}]}\n");

    (void)state;
    found[0] = '\0';
    cfr_daemon_needs_written(config, add_directory, NULL);
    assert_string_equal(found, "/state /run /run2 /out /deep ");
    cfr_config_free(config);
}

static void test_read(void **state)
{
    struct cfr_config *config =
        load_text(HEAD "credentials:\n  - {name: a, token: {file: @/a/b/token}, publish: {file: {path: @/out/deep/a, "
                       "format: token}}, reload: [{signal: {signal: HUP, pid_file: @/pids/x/pid}}]}\n");

    (void)state;
    found[0] = '\0';
    cfr_daemon_needs_read(config, add_directory, NULL);
    /* One directory above, because the one that the file is in may be mounted again. */
    has("/a");
    has("/pids");
    cfr_config_free(config);
}

/* At the start links lead to where the files are. */
static void test_links(void **state)
{
    struct cfr_config *config;

    (void)state;
    assert_int_equal(mkdir(in("real"), 0700), 0);
    assert_int_equal(mkdir(in("real/deep"), 0700), 0);
    assert_int_equal(mkdir(in("by"), 0700), 0);
    put(in("real/deep/token"), "x");
    assert_int_equal(symlink(in("real/deep/token"), in("by/token")), 0);
    config =
        load_text(HEAD "credentials:\n  - {name: a, token: {file: @/by/token}, publish: {file: {path: @/a, format: "
                       "token}}}\n");
    found[0] = '\0';
    cfr_daemon_needs_read_at_start(config, in("config.yaml"), add_directory, NULL);
    has("/real");
    cfr_config_free(config);
}

/* ---- sets of paths ---- */

static void test_known(void **state)
{
    struct cfr_daemon_known k = {.count = 0};
    char path[32];

    (void)state;
    assert_false(cfr_daemon_known_has(&k, "/0"));
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(path, sizeof path, "/%d", i);
        assert_false(cfr_daemon_known_has(&k, path));
        assert_true(cfr_daemon_known_add(&k, path));
        assert_false(cfr_daemon_known_add(&k, path));
        assert_true(cfr_daemon_known_has(&k, path));
    }
    assert_int_equal(k.count, 1000);
    assert_true(cfr_daemon_known_has(&k, "/0"));
    cfr_daemon_known_free(&k);
    assert_int_equal(k.count, 0);
    assert_false(cfr_daemon_known_has(&k, "/0"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_capabilities), TEST(test_paths_of_others), TEST(test_words), TEST(test_written),
        TEST(test_read),         TEST(test_links),           TEST(test_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
