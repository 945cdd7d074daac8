/* SPDX-License-Identifier: MIT */
/* Which configurations have commands, and the report of files and variables where there is no configuration file. */
#include "daemon_fixture.h"

#include "agent/daemon/commands_private.h"

#define HEAD  "version: 1\nstate_dir: @/state\ncredentials:\n"
#define TOKEN "  - {name: a, token: {file: @/token}, publish: {file: {path: @/a, format: token}}"

static int begin(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    put(in("token"), "x");
    return begin_test(state);
}

static bool has_commands(const char *text)
{
    struct cfr_config *config = load_text(text);
    bool has = cfr_daemon_has_commands(config);

    cfr_config_free(config);
    return has;
}

static void test_commands(void **state)
{
    (void)state;
    assert_false(has_commands(HEAD TOKEN "}\n"));
    assert_false(has_commands(HEAD TOKEN ", reload: [{signal: {signal: HUP, pid_file: @/pid}}]}\n"));
    assert_true(has_commands(HEAD TOKEN ", reload: [{exec: [/bin/true]}]}\n"));
    assert_true(
        has_commands(HEAD TOKEN ", reload: [{signal: {signal: HUP, pid_file: @/pid}}, {exec: [/bin/true, x]}]}\n"));
    assert_true(
        has_commands(HEAD TOKEN ", reload: [{exec: [/bin/true, x]}, {signal: {signal: HUP, pid_file: @/pid}}]}\n"));
}

/* The process that starts commands reads the configuration itself, as it is then. */
static void test_the_list(void **state)
{
    struct cfr_secret list = {.limit = 65536};
    struct cfr_err err = {0};

    (void)state;
    cfr_config_free(load_text(HEAD TOKEN ", reload: [{exec: [/bin/true, first]}]}\n"));
    assert_int_equal(cfr_daemon_read_commands(in("config.yaml"), &list, &err), 0);
    assert_true(memmem(list.p, list.len, "/bin/true", 9) != NULL);
    assert_true(memmem(list.p, list.len, "first", 5) != NULL);
    cfr_secret_clear(&list);
    put_config("version: 1\ncredentials: [\n");
    assert_int_equal(cfr_daemon_read_commands(in("config.yaml"), &list, &err), CFR_E_CONFIG);
    assert_int_equal(list.len, 0);
    cfr_secret_free(&list);
}

static void test_variables(void **state)
{
    struct cfr_config *config = load_text(
        HEAD
        "  - {name: a, token: {file: @/token}, exchange: {aws: {role_arn: \"arn:aws:iam::123456789012:role/r\", "
        "region: us-east-1}}, publish: {directory: @/aws, files: [{name: credentials, format: aws-credentials}]}}\n"
        "  - {name: b, token: {file: @/token}, publish: {directory: @/b, files: [{name: t, format: token}]}}\n"
        "  - {name: c, token: {file: @/token}, publish: {file: {path: @/c, format: token}}}\n");

    (void)state;
    cfr_daemon_report_variables(config);
    assert_contains(test_log, "INFO a: published as ");
    assert_contains(test_log, "/aws/credentials; set in the application's environment: AWS_SHARED_CREDENTIALS_FILE=");
    assert_contains(test_log, "/b/t; SDKs find no such file by a variable: name the path to the application\n");
    assert_null(strstr(test_log, "INFO c: "));
    cfr_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commands, begin, scratch_remove),
        cmocka_unit_test_setup_teardown(test_the_list, begin, scratch_remove),
        cmocka_unit_test_setup_teardown(test_variables, begin, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
