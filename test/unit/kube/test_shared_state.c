/* SPDX-License-Identifier: MIT */
/* The Secret that holds the state of a shared rotation: what is read of it, what is refused, and the write. */
#include "unit.h"

#include "base/json.h"
#include "kube/shared_state.h"

static const struct cfr_k8s_shared_place place = {"ns-a", "robot"};

#define SECRET(metadata, data)                                                                                         \
    "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"robot\",\"namespace\":\"ns-a\"," metadata     \
    "\"resourceVersion\":\"12\"}," data "\"type\":\"Opaque\"}"
#define WHOLE                                                                                                          \
    "\"data\":{\"journal\":\"e30=\",\"holder\":\"YQ==\",\"nonce\":\"YS4x\",\"takeover\":\"OTAwMDA=\",\"pending\":"     \
    "\"cA==\",\"published\":\"cQ=="                                                                                    \
    "\"},"

static void paths(void **state)
{
    const struct cfr_k8s_shared_place bad = {"ns-a", "robot?x"};
    char path[CFR_K8S_SHARED_PATH_MAX];

    (void)state;
    assert_true(cfr_k8s_shared_path(&place, false, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/secrets/robot");
    assert_true(cfr_k8s_shared_path(&place, true, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/secrets/robot?fieldManager=credfresh");
    assert_false(cfr_k8s_shared_path(&bad, false, path));
}

static void whole(void **state)
{
    struct cfr_k8s_shared_state s;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_shared_read(&place, cfr_view_of(SECRET("", WHOLE)), &s, &err), 0);
    assert_string_equal(s.version, "12");
    assert_string_equal(s.holder, "a");
    assert_string_equal(s.nonce, "a.1");
    assert_int_equal(s.takeover_ms, 90000);
    assert_string_equal(s.journal.p, "{}");
    assert_string_equal(s.pending.p, "p");
    assert_string_equal(s.published.p, "q");
    cfr_k8s_shared_free(&s);
    assert_null(s.pending.p);
}

static void new_one(void **state)
{
    static const char *const bodies[] = {SECRET("", ""), SECRET("", "\"data\":null,"), SECRET("", "\"data\":{},"),
                                         SECRET("", "\"data\":{\"other\":\"eA==\"},")};
    struct cfr_k8s_shared_state s;
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        assert_int_equal(cfr_k8s_shared_read(&place, cfr_view_of(bodies[i]), &s, &err), 0);
        assert_int_equal(s.journal.len, 0);
        assert_string_equal(s.version, "12");
        cfr_k8s_shared_free(&s);
    }
}

static void refuse(const char *body, int code, const char *words)
{
    struct cfr_k8s_shared_state s;
    struct cfr_err err = {0};

    assert_int_equal(cfr_k8s_shared_read(&place, cfr_view_of(body), &s, &err), code);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s: %s", words, err.text);
    assert_string_equal(s.version, "");
    assert_null(s.journal.p);
    assert_null(s.pending.p);
    assert_null(s.published.p);
}

static void refusals(void **state)
{
    (void)state;
    refuse("{}", CFR_E_ANSWER, "not a Secret");
    refuse("[", CFR_E_ANSWER, "");
    refuse("{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"other\",\"namespace\":\"ns-a\"}}",
           CFR_E_ANSWER, "another Secret than ns-a/robot");
    refuse("{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"robot\",\"namespace\":\"ns-a\"}}",
           CFR_E_ANSWER, "no resourceVersion");
    refuse(SECRET("", "\"immutable\":true," WHOLE), CFR_E_CONFLICT, "is immutable");
    refuse(SECRET("\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",", WHOLE), CFR_E_UNAVAILABLE, "being deleted");
    /* The journal is gone, and what is left tells that there was one. */
    refuse(SECRET("", "\"data\":{\"published\":\"cQ==\"},"), CFR_E_ANSWER, "lost its key journal");
    refuse(SECRET("", "\"data\":{\"nonce\":\"YS4x\"},"), CFR_E_ANSWER, "lost its key journal");
    refuse(SECRET("", "\"data\":{\"pending\":\"\"},"), CFR_E_ANSWER, "lost its key journal");
    refuse(SECRET("", "\"data\":{\"journal\":\"\"},"), CFR_E_ANSWER, "the key journal");
    refuse(SECRET("", "\"data\":{\"journal\":\"e30\"},"), CFR_E_ANSWER, "the key journal");
    refuse(SECRET("", "\"data\":{\"journal\":\"e30=\",\"holder\":\"CgA=\"},"), CFR_E_ANSWER, "the key holder");
    refuse(SECRET("", "\"data\":{\"journal\":\"e30=\",\"takeover\":\"MA==\"},"), CFR_E_ANSWER, "the key takeover");
    refuse(SECRET("", "\"data\":{\"journal\":\"e30=\",\"takeover\":\"OTk5OTk5OTk5OTk5\"},"), CFR_E_ANSWER,
           "the key takeover");
    refuse(SECRET("", "\"data\":{\"journal\":\"e30=\",\"pending\":7},"), CFR_E_ANSWER, "the key pending");
}

static void put(struct cfr_secret *s, const char *text)
{
    cfr_secret_init(s, CFR_K8S_SHARED_TEXT_MAX);
    assert_int_equal(cfr_secret_append_str(s, text, NULL), 0);
}

static void expect_write(const struct cfr_k8s_shared_state *s, const char *wanted)
{
    struct cfr_secret body;
    struct cfr_err err = {0};

    cfr_secret_init(&body, CFR_K8S_SHARED_BODY_MAX);
    assert_int_equal(cfr_k8s_shared_write(s, &body, &err), 0);
    assert_string_equal(body.p, wanted);
    cfr_secret_free(&body);
}

static void writes(void **state)
{
    struct cfr_k8s_shared_state s = {.version = "12", .holder = "a", .nonce = "a.1", .takeover_ms = 90000};

    (void)state;
    put(&s.journal, "{}");
    expect_write(&s, "{\"metadata\":{\"resourceVersion\":\"12\"},\"data\":{\"journal\":\"e30=\",\"holder\":\"YQ==\","
                     "\"nonce\":\"YS4x\",\"takeover\":\"OTAwMDA=\",\"pending\":null}}");
    put(&s.pending, "p");
    put(&s.published, "q");
    expect_write(&s, "{\"metadata\":{\"resourceVersion\":\"12\"},\"data\":{\"journal\":\"e30=\",\"holder\":\"YQ==\","
                     "\"nonce\":\"YS4x\",\"takeover\":\"OTAwMDA=\",\"pending\":\"cA==\",\"published\":\"cQ==\"}}");
    cfr_k8s_shared_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),    cmocka_unit_test(whole),  cmocka_unit_test(new_one),
        cmocka_unit_test(refusals), cmocka_unit_test(writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
