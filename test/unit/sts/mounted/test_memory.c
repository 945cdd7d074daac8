/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through every mounted Secret of test/data/mounted: each failure is
 * an error that says so, and nothing leaks or is left half done. Linked with --wrap for the allocators. */
#include "mounted_sample.h"

#include "base/json.h"
#include "heap_fuse.h"

/* True if an allocation failed. */
static bool one_try(const struct mounted_sample *s, long n, const char *name)
{
    struct cfr_mounted m;
    struct cfr_err err = {0};
    bool failed;
    int rc;

    fuse = n;
    rc = cfr_mounted_read(s->keys, s->count, &s->options, &m, &err);
    failed = fuse < 0;
    fuse = -1;
    if (failed && rc != CFR_E_NOMEM)
        fail_msg("%s: allocation %ld failed, and the result is %d: %s", name, n, rc, err.text);
    cfr_mounted_free(&m);
    return failed;
}

static void every_allocation(void **state)
{
    struct cfr_view table = data_file_read("mounted/cases.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[3];
    long total = 0;

    (void)state;
    while (data_file_row(&rest, col, 3)) {
        struct mounted_sample s = {.count = 0};
        char folder[128];
        long n = 0;

        (void)snprintf(folder, sizeof folder, "%.*s", (int)col[0].n, col[0].p);
        mounted_load(&s, folder);
        mounted_options(&s, col[1]);
        while (one_try(&s, n, folder))
            n++;
        total += n;
        mounted_free(&s);
    }
    assert_true(total > 400);
    data_file_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation)};

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
