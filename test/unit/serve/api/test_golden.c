/* SPDX-License-Identifier: MIT */
/* Compares the status as JSON, as metrics and as a page with golden files, for every member and kind of credential. */
#include "serve/api/status_private.h"

#include "data_file.h"
#include "serve_states.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const char *directory; /* where the texts are written instead of compared; NULL = nowhere */

static void write_json(const struct cfr_api_status *s, struct cfr_str *out)
{
    cfr_api_status_json(s, NULL, out);
}

static void assert_golden(const char *name, void (*write)(const struct cfr_api_status *, struct cfr_str *),
                          struct cfr_api_status s)
{
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    char path[4096];
    struct cfr_view golden;
    size_t same = 0;

    write(&s, &out);
    assert_false(out.failed);
    if (directory != NULL) {
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s", directory, name);
        f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(out.p, 1, out.len, f), out.len);
        (void)fclose(f);
        cfr_str_free(&out);
        return;
    }
    (void)snprintf(path, sizeof path, "status/%s", name);
    golden = data_file_read(path);
    while (same < golden.n && same < out.len && golden.p[same] == out.p[same])
        same++;
    if (same != golden.n || same != out.len)
        fail_msg("not %s (with a directory as an argument this test writes it) from byte %zu on: %.200s", path, same,
                 out.p + same);
    data_file_free(golden);
    cfr_str_free(&out);
}

static void test_json(void **state)
{
    (void)state;
    assert_golden("rich.json", write_json, states_rich());
    assert_golden("bare.json", write_json, states_bare());
}

static void test_metrics(void **state)
{
    (void)state;
    assert_golden("rich.metrics", cfr_api_status_metrics, states_rich());
    assert_golden("bare.metrics", cfr_api_status_metrics, states_bare());
}

static void test_page(void **state)
{
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};
    struct cfr_api_status s = states_rich();

    (void)state;
    /* Everyone on the network may read the page. */
    cfr_api_status_page(&s, &out);
    assert_null(strstr(out.p, "is not a provider"));
    assert_null(strstr(out.p, "AKIA"));
    cfr_str_free(&out);
    assert_golden("rich.html", cfr_api_status_page, states_rich());
    assert_golden("bare.html", cfr_api_status_page, states_bare());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_page),
    };

    directory = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
