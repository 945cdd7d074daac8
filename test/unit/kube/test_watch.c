/* SPDX-License-Identifier: MIT */
/* Lists and events of watches: names, versions, chunks, bookmarks, 410. */
#include "unit.h"

#include "kube/watch_answer.h"

static char seen[256];

static void on_seen(void *ctx, struct cfr_view space, struct cfr_view name, const char *version)
{
    size_t n = strlen(seen);

    assert_ptr_equal(ctx, seen);
    (void)snprintf(seen + n, sizeof seen - n, "%.*s%s%.*s=%s ", (int)space.n, space.n != 0 ? space.p : "",
                   space.n != 0 ? "/" : "", (int)name.n, name.p, version != NULL ? version : "gone");
}

static void lists(void **state)
{
    char version[CFR_K8S_VERSION_MAX] = "";
    char next[CFR_K8S_CONTINUE_MAX] = "";
    struct cfr_err err = {0};

    (void)state;
    seen[0] = '\0';
    assert_int_equal(cfr_k8s_watch_list(cfr_view_of("{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{"
                                                    "\"resourceVersion\":\"7\",\"continue\":\"abc\"},\"items\":[{"
                                                    "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}},{"
                                                    "\"metadata\":{\"namespace\":\"s\",\"name\":\"b\","
                                                    "\"resourceVersion\":\"6\"}}]}"),
                                        on_seen, seen, version, next, &err),
                     0);
    assert_string_equal(seen, "a=5 s/b=6 ");
    assert_string_equal(version, "7");
    assert_string_equal(next, "abc");
    assert_int_equal(cfr_k8s_watch_list(cfr_view_of("{\"metadata\":{\"resourceVersion\":\"8\"},\"items\":[]}"), on_seen,
                                        seen, version, next, &err),
                     0);
    assert_string_equal(version, "8");
    assert_int_equal(cfr_k8s_watch_list(cfr_view_of("{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{"
                                                    "\"resourceVersion\":\"9\"},\"items\":null}"),
                                        on_seen, seen, version, next, &err),
                     0);
    assert_string_equal(version, "9");
    assert_string_equal(next, "");
}

static void no_lists(void **state)
{
    static const char *const bad[] = {
        "",
        "<html>",
        "{}",
        "{\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"\"},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"a\\nb\"},\"items\":[]}",
        ("{\"metadata\":{\"resourceVersion\":\"12345678901234567890123456789012345678901234567890123456789012345\"},"
         "\"items\":[]}"),
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char version[CFR_K8S_VERSION_MAX] = "";
        char next[CFR_K8S_CONTINUE_MAX] = "";
        struct cfr_err err = {0};

        assert_int_equal(cfr_k8s_watch_list(cfr_view_of(bad[i]), on_seen, seen, version, next, &err), CFR_E_ANSWER);
    }
}

static int read_event(const char *line, char version[CFR_K8S_VERSION_MAX], struct cfr_err *err)
{
    seen[0] = '\0';
    return cfr_k8s_watch_event(cfr_view_of(line), on_seen, seen, version, err);
}

static void events(void **state)
{
    char version[CFR_K8S_VERSION_MAX] = "";
    struct cfr_err err = {0};

    (void)state;
#define OBJECT(name, number) "\"object\":{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" number "\"}}}"
    assert_int_equal(read_event("{\"type\":\"MODIFIED\"," OBJECT("a", "9"), version, &err), 0);
    assert_string_equal(seen, "a=9 ");
    assert_int_equal(read_event("{\"type\":\"DELETED\"," OBJECT("a", "10"), version, &err), 0);
    assert_string_equal(seen, "a=gone ");
    assert_int_equal(read_event("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"s\",\"name\":\"b\","
                                "\"resourceVersion\":\"10\"}}}",
                                version, &err),
                     0);
    assert_string_equal(seen, "s/b=10 ");
    assert_int_equal(read_event("{\"type\":\"BOOKMARK\"," OBJECT("", "11"), version, &err), 0);
    assert_string_equal(seen, "");
    assert_string_equal(version, "11");
    assert_int_equal(read_event("{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"old\"}}", version, &err),
                     CFR_E_UNAVAILABLE);
    assert_int_equal(
        read_event("{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"x\\u001by\"}}", version, &err),
        CFR_E_ANSWER);
    assert_null(strchr(err.text, 0x1b));
    assert_int_equal(read_event("{\"type\":\"MODIFIED\",\"object\":{}}", version, &err), CFR_E_ANSWER);
    assert_int_equal(read_event("{\"type\":\"MODI", version, &err), CFR_E_ANSWER);
    assert_string_equal(version, "11");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(no_lists),
        cmocka_unit_test(events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
