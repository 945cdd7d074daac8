/* SPDX-License-Identifier: MIT */
/* Keys of the hook kinds: what the configuration says, as its hooks describe it. */
#include "unit.h"

#include "agent/hook/hook_private.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define HEAD                                                                                                           \
    "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"                                             \
    "    publish: {directory: /d, files: [{name: t, format: token}]}\n    reload: ["

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void on_ended(void *ctx, const char *name, uint64_t generation, const char *error, bool news)
{
    (void)ctx;
    (void)name;
    (void)generation;
    (void)error;
    (void)news;
}

static struct cfr_config *load(const char *hook)
{
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    char path[64];
    int fd;

    (void)snprintf(path, sizeof path, "/tmp/cfr_hook_config.%d", (int)getpid());
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, HEAD "%s]\n", hook), strlen(HEAD) + strlen(hook) + 2);
    assert_int_equal(close(fd), 0);
    if (cfr_config_load(path, no_env, &config, NULL, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(unlink(path), 0);
    return config;
}

static void each_kind_has_its_keys(void **state)
{
    static const struct {
        const char *text;
        const char *name;
        bool acknowledges;
        bool runs_program;
    } cases[] = {
        {"{signal: {pid_file: /run/r.pid, signal: USR1}}", "signal USR1 to /run/r.pid", false, false},
        {"{signal: {executable: registry}}", "signal HUP to registry", false, false},
        {"{exec: [/usr/bin/registry, reload, \"\"]}", "exec /usr/bin/registry", false, true},
        {"{http: {url: \"https://r.example:5000/-/reload?x=a@b\", method: PUT}}",
         "http PUT https://r.example:5000/-/reload", false, false},
        {"{timeout: 1s, http: {url: \"http://127.0.0.1/\", acknowledge_header: X-Gen}}", "http POST http://127.0.0.1/",
         true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_config *config = load(cases[i].text);
        const struct cfr_config_credential *c = cfr_config_at(config, 0);
        struct cfr_hooks *h = NULL;
        struct cfr_err err = {0};
        const void *unused;

        assert_int_equal(cfr_hook_open(c, NULL, NULL, 0, on_ended, NULL, &h, &err), 0);
        assert_string_equal(cfr_hook_name(h, 0), cases[i].name);
        assert_int_equal(cfr_hook_acknowledges(h, 0), cases[i].acknowledges);
        assert_int_equal(cfr_config_hook_kind(c->reload.items, &unused)->runs_program, cases[i].runs_program);
        cfr_hook_close(h);
        cfr_config_free(config);
    }
}

static void signals(void **state)
{
    (void)state;
    for (int i = 0; cfr_hook_signal_names[i] != NULL; i++)
        assert_true(cfr_hook_signal_number(i) > 0);
    assert_string_equal(cfr_hook_signal_names[0], "HUP");
    assert_int_equal(cfr_hook_signal_number(0), SIGHUP);
    assert_int_equal(cfr_hook_signal_number(-1), 0);
    assert_int_equal(cfr_hook_signal_number(100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_keys),
        cmocka_unit_test(signals),
    };

    cfr_hook_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
