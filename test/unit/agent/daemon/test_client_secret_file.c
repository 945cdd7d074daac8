/* SPDX-License-Identifier: MIT */
/* Client secret files of the local endpoints: made, read again, written again, and never given when they are not as
 * they should be. */
#include "daemon_fixture.h"

#include "agent/daemon/client_secret_file_private.h"

#include <unistd.h>

#define HEAD                                                                                                           \
    "version: 1\nstate_dir: @/state\ncredentials:\n"                                                                   \
    "  - {name: a, token: {file: @/token}, exchange: {aws: {role_arn: \"arn:aws:iam::123456789012:role/r\", "          \
    "region: us-east-1}}}\nendpoints:\n  - listen: 127.0.0.1:9911\n"
#define OURS(more)     HEAD "    aws_container: {credential: a, authorization: {file: @/auth" more "}}\n"
#define EXISTING       HEAD "    aws_container: {credential: a, authorization: {file: @/auth, existing: true}}\n"
#define CONTENT_LENGTH 43 /* of 32 bytes in base64url */

static struct cfr_daemon_client_secrets *secrets;

static int begin(void **state)
{
    if (scratch_make_fast(state) != 0)
        return -1;
    put(in("token"), "x");
    return begin_test(state);
}

static int end(void **state)
{
    cfr_daemon_client_secret_close(secrets);
    secrets = NULL;
    return scratch_remove(state);
}

static void open_with(const char *text)
{
    struct cfr_config *config = load_text(text);
    struct cfr_err err = {0};

    if (cfr_daemon_client_secret_open(config, &secrets, &err) != 0)
        fail_msg("%s", err.text);
    cfr_config_free(config);
}

/* What clients must show; "(none)" if they are not served. A child that writes may take a moment. */
static const char *secret(void)
{
    static char text[128];
    struct cfr_view content = cfr_daemon_client_secret_get(secrets, in("auth"));

    for (int i = 0; i < 200 && content.p == NULL && cfr_daemon_client_secret_is_making(secrets); i++) {
        (void)usleep(10000);
        content = cfr_daemon_client_secret_get(secrets, in("auth"));
    }
    (void)snprintf(text, sizeof text, "%.*s", content.p != NULL ? (int)content.n : 6,
                   content.p != NULL ? content.p : "(none)");
    return text;
}

static void make(void)
{
    cfr_daemon_client_secret_make(secrets);
    (void)secret();
}

static void test_it_is_made(void **state)
{
    char first[128];

    (void)state;
    open_with(OURS(""));
    assert_false(exists(in("auth"))); /* to open touches nothing */
    make();
    assert_int_equal(strlen(get(in("auth"))), CONTENT_LENGTH);
    assert_int_equal(mode_of(in("auth")), 0600);
    (void)snprintf(first, sizeof first, "%s", secret());
    assert_string_equal(first, get(in("auth")));
    assert_contains(test_log, "INFO made ");
    /* Another one has another content. */
    cfr_daemon_client_secret_close(secrets);
    (void)unlink(in("auth"));
    open_with(OURS(", mode: \"0640\""));
    make();
    assert_string_not_equal(secret(), first);
    assert_int_equal(mode_of(in("auth")), 0640);
}

/* Clients know its content, so a restart does not change it. */
static void test_it_is_kept(void **state)
{
    char first[128];

    (void)state;
    open_with(OURS(""));
    make();
    (void)snprintf(first, sizeof first, "%s", secret());
    cfr_daemon_client_secret_close(secrets);
    forget();
    open_with(OURS(""));
    make();
    assert_string_equal(secret(), first);
    assert_string_equal(test_log, "");
}

/* Others may have read it with another mode, or have written it. */
static void test_it_is_not_kept(void **state)
{
    char first[128];

    (void)state;
    open_with(OURS(""));
    make();
    (void)snprintf(first, sizeof first, "%s", secret());
    cfr_daemon_client_secret_close(secrets);
    assert_int_equal(chmod(in("auth"), 0644), 0);
    open_with(OURS(""));
    make();
    assert_string_not_equal(secret(), first);
    assert_int_equal(mode_of(in("auth")), 0600);
    cfr_daemon_client_secret_close(secrets);
    put(in("auth"), "known to all");
    assert_int_equal(chmod(in("auth"), 0600), 0);
    open_with(OURS(""));
    make();
    assert_int_equal(strlen(secret()), CONTENT_LENGTH);
}

static void test_a_removed_or_changed_file_is_written_again(void **state)
{
    char first[128];

    (void)state;
    open_with(OURS(""));
    make();
    (void)snprintf(first, sizeof first, "%s", secret());
    (void)unlink(in("auth"));
    /* It is read again after a second. */
    test_now.boot_ms += 999;
    assert_string_equal(secret(), first);
    assert_false(exists(in("auth")));
    test_now.boot_ms += 1;
    (void)secret();
    assert_string_equal(get(in("auth")), first);
    put(in("auth"), "changed");
    test_now.boot_ms += 1000;
    assert_string_equal(secret(), first);
    assert_string_equal(get(in("auth")), first);
}

/* Where it cannot be made nobody is served, and it is said once. */
static void test_it_cannot_be_made(void **state)
{
    (void)state;
    open_with(OURS(""));
    assert_int_equal(mkdir(in("auth"), 0700), 0);
    make();
    assert_string_equal(secret(), "(none)");
    assert_contains(test_log, "WARN clients that must show the content of ");
    forget();
    test_now.boot_ms += 5000;
    assert_string_equal(secret(), "(none)");
    assert_string_equal(test_log, "");
    assert_int_equal(rmdir(in("auth")), 0);
    test_now.boot_ms += 1000;
    assert_int_equal(strlen(secret()), CONTENT_LENGTH);
    assert_contains(test_log, "are served again\n");
}

static void test_an_existing_file_is_only_read(void **state)
{
    (void)state;
    put(in("auth"), " token-of-the-pod\n");
    open_with(EXISTING);
    make();
    assert_string_equal(secret(), "token-of-the-pod");
    put(in("auth"), "another\n");
    test_now.boot_ms += 999;
    assert_string_equal(secret(), "token-of-the-pod");
    test_now.boot_ms += 1;
    assert_string_equal(secret(), "another");
    assert_string_equal(get(in("auth")), "another\n");
    /* Without content it is no proof. */
    put(in("auth"), "\n");
    test_now.boot_ms += 1000;
    assert_string_equal(secret(), "(none)");
    (void)unlink(in("auth"));
    test_now.boot_ms += 1000;
    assert_string_equal(secret(), "(none)");
    assert_false(exists(in("auth")));
    assert_contains(test_log, "WARN clients that must show the content of ");
}

static void test_unknown_paths(void **state)
{
    (void)state;
    open_with(OURS(""));
    make();
    assert_null(cfr_daemon_client_secret_get(secrets, in("token")).p);
    cfr_daemon_client_secret_close(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_made),        TEST(test_it_is_kept),
        TEST(test_it_is_not_kept),    TEST(test_a_removed_or_changed_file_is_written_again),
        TEST(test_it_cannot_be_made), TEST(test_an_existing_file_is_only_read),
        TEST(test_unknown_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
