/* SPDX-License-Identifier: MIT */
/* Expiries in the published formats, and none where there is none. */
#include "reload_volume.h"

#include "libcredfresh/timestamp.h"

static int64_t expiry(const char *text)
{
    int64_t at = -7;

    /* In memory of exactly this size, so that a sanitizer sees a step too far. */
    size_t n = strlen(text);
    char *exact = malloc(n + (n == 0));

    assert_non_null(exact);
    memcpy(exact, text, n);
    int rc = credfresh_expiry(exact, n, &at);

    free(exact);
    assert_int_equal(rc, at == -7 ? CREDFRESH_E_NO_EXPIRY : 0);
    return at;
}

static void test_moments(void **state)
{
    static const struct {
        const char *text;
        int64_t at;
    } cases[] = {
        {"2026-01-02T03:04:05Z", 1767323045},
        {"2026-01-02t03:04:05z", 1767323045},
        {"2026-01-02 03:04:05Z", 1767323045},
        {"2026-01-02T03:04:05.123456Z", 1767323045},
        {"2026-01-02T05:04:05+02:00", 1767323045},
        {"2026-01-01T22:34:05-04:30", 1767323045},
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T00:00:00Z", 951782400},
        {"9999-12-31T23:59:59Z", 253402300799},
        {"1767323045", 1767323045},
        {"1767323045.9", 1767323045},
        {"0", 0},
        {"", -1},
        {"2026-01-02T03:04:05", -1},
        {"2026-01-02T03:04:05.Z", -1},
        {"2026-02-29T00:00:00Z", -1},
        {"2026-13-01T00:00:00Z", -1},
        {"2026-01-02T24:00:00Z", -1},
        {"2026-01-02T03:04:05+2:00", -1},
        {"2026-01-02T03:04:05Zx", -1},
        {"1970-01-01T00:00:00+00:01", -1},
        {"1969-12-31T23:59:59Z", -1},
        {"1767323045000", -1},
        {"99999999999999999999999999", -1},
        {"-1", -1},
        {"1e9", -1},
        {"1.", -1},
        {".5", -1},
        {"null", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t at = -1;
        bool good = cfl_timestamp_parse(cases[i].text, strlen(cases[i].text), &at);

        if (good != (cases[i].at >= 0) || (good && at != cases[i].at))
            fail_msg("%s: %d, %lld", cases[i].text, good, (long long)at);
    }
}

static void test_json(void **state)
{
    (void)state;
    assert_int_equal(expiry("{\"Version\":1,\"AccessKeyId\":\"A\",\"Expiration\":\"2026-01-02T03:04:05Z\"}\n"),
                     1767323045);
    assert_int_equal(expiry(" { \"expires_on\" : \"1767323045\" } "), 1767323045);
    assert_int_equal(expiry("{\"access_token\":\"x\",\"expiry\":\"2026-01-02T03:04:05Z\",\"expires_at\":1767323044}"),
                     1767323044);
    assert_int_equal(expiry("{\"expires_at\":1767323045.25}"), 1767323045);
    assert_int_equal(expiry("{\"expiration_time\":1767323045}"), 1767323045);
    assert_int_equal(
        expiry("{\"kind\":\"ExecCredential\",\"status\":{\"expirationTimestamp\":\"2026-01-02T03:04:05Z\"}}"),
        1767323045);
    assert_int_equal(expiry("{\"version\":1,\"generation\":3,\"issued\":\"2026-01-01T03:04:05Z\",\"expires\":"
                            "\"2026-01-02T03:04:05Z\",\"fields\":{\"a\":\"b\"}}\n"),
                     1767323045);
    assert_int_equal(expiry("[1]"), -7);
    assert_int_equal(expiry("{\"expires\":null}"), -7);
    assert_int_equal(expiry("{\"expires\":[\"2026-01-02T03:04:05Z\"]}"), -7);
    assert_int_equal(expiry("{\"expires_in\":3600}"), -7);
    assert_int_equal(expiry("{\"note\":\"\\\"expires_at\\\":5\"}"), -7);
    assert_int_equal(expiry("{\"note\":\"expires_at\",\"x\":1767323045}"), -7);
    assert_int_equal(expiry("{\"a\":[\"expires_at\",\"1767323045\"]}"), -7);
    assert_int_equal(expiry("{\"expires_at\":1767323045"), -7);
    assert_int_equal(expiry("{\"expires_at\":1767323045}}"), -7);
    assert_int_equal(expiry("{\"expires_at\":1767323045}{}"), -7);
    assert_int_equal(expiry("{\"expires_at"), -7);
    assert_int_equal(expiry("{\"a\\"), -7);
    assert_int_equal(expiry("{"), -7);
    assert_int_equal(expiry("{}"), -7);
}

/* The payloads are {"exp":1767323045}, {"exp":1767323045,"nested":{"exp":5}} and {"nested":{"exp":5}}. */
static void test_jwt(void **state)
{
    (void)state;
    assert_int_equal(expiry("eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjE3NjczMjMwNDV9.c2ln"), 1767323045);
    assert_int_equal(expiry("eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjE3NjczMjMwNDV9.c2ln\n"), 1767323045);
    assert_int_equal(expiry("h.eyJleHAiOjE3NjczMjMwNDUsIm5lc3RlZCI6eyJleHAiOjV9fQ.s"), 1767323045);
    assert_int_equal(expiry("h.eyJuZXN0ZWQiOnsiZXhwIjo1fX0.s"), -7);
    assert_int_equal(expiry("h.eyJleHAiOjE3NjczMjMwNDV9"), -7);
    assert_int_equal(expiry("h.eyJleHAiOjE3NjczMjMwNDV9.s.t"), -7);
    assert_int_equal(expiry("h.eyJleHAiOjE3NjczMjMw+DV9.s"), -7);
    assert_int_equal(expiry("h..s"), -7);
    assert_int_equal(expiry(".."), -7);
}

static void test_lines(void **state)
{
    (void)state;
    assert_int_equal(expiry("AWS_ACCESS_KEY_ID=A\nAWS_CREDENTIAL_EXPIRATION=2026-01-02T03:04:05Z\nX=1\n"), 1767323045);
    assert_int_equal(expiry("[default]\naws_access_key_id = A\r\naws_credential_expiration = 2026-01-02T03:04:05Z\r\n"),
                     1767323045);
    assert_int_equal(expiry("export AWS_CREDENTIAL_EXPIRATION='2026-01-02T03:04:05Z'"), 1767323045);
    assert_int_equal(expiry("aws_credential_expiration=1767323046\naws_credential_expiration=\"1767323045\"\n"),
                     1767323045);
    assert_int_equal(expiry("#aws_credential_expiration=1767323045"), -7);
    assert_int_equal(expiry("my_aws_credential_expiration=1767323045"), -7);
    assert_int_equal(expiry("aws_credential_expirations=1767323045"), -7);
    assert_int_equal(expiry("aws_credential_expiration"), -7);
    assert_int_equal(expiry("aws_credential_expiration=\""), -7);
    assert_int_equal(expiry("-----BEGIN CERTIFICATE-----\nMIIB\n"), -7);
    assert_int_equal(expiry(""), -7);
    assert_int_equal(expiry(" \n"), -7);
    assert_int_equal(credfresh_expiry(NULL, 0, &(int64_t){0}), CREDFRESH_E_NO_EXPIRY);
}

static void test_of_a_snapshot(void **state)
{
    const char *volume = volume_make();
    int64_t at = 0;

    (void)state;
    update(volume, 1,
           (const char *const[]){"a", "{\"expires_on\":\"1767323046\"}", "b", "none", "c",
                                 "{\"Expiration\":\"2026-01-02T03:04:05Z\"}", NULL});
    struct credfresh *w = follow(volume, NULL);
    const struct credfresh_snapshot *s = credfresh_acquire(w);

    assert_int_equal(credfresh_snapshot_expiry(s, &at), 0);
    assert_int_equal(at, 1767323045);
    credfresh_release(s);
    update_token(volume, 2, "none");
    assert_true(changes(w));
    s = credfresh_acquire(w);
    assert_int_equal(credfresh_snapshot_expiry(s, &at), CREDFRESH_E_NO_EXPIRY);
    credfresh_release(s);
    credfresh_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_jwt),
        cmocka_unit_test(test_lines),
        cmocka_unit_test_setup_teardown(test_of_a_snapshot, scratch_make, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
