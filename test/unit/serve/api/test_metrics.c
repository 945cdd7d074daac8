/* SPDX-License-Identifier: MIT */
/* The metrics page: its samples, and the rules of the text format that a scraper relies on. */
#include "serve/api/status_private.h"

#include "serve_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cfr_str page(const struct cfr_api_status *s)
{
    struct cfr_str out = {.limit = CFR_API_STATUS_PAGE_MAX};

    cfr_api_status_metrics(s, &out);
    assert_false(out.failed);
    return out;
}

/* WANT must stand in PAGE as a whole line. */
static void has_line(const struct cfr_str *page, const char *want)
{
    struct cfr_view rest = cfr_str_view(page);
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        if (cfr_view_is(line, want))
            return;
    }
    fail_msg("no line %s in\n%s", want, page->p);
}

static void test_samples(void **state)
{
    static const char *const lines[] = {
        "credfresh_build_info{version=\"1.2.3\"} 1",
        "credfresh_start_time_seconds 1767240245",
        "credfresh_config_last_reload_successful 1",
        "credfresh_credential_expiry_timestamp_seconds{credential=\"registry\"} 1767329465",
        "credfresh_credential_info{credential=\"registry\",provider=\"aws\",source=\"file or request\"} 1",
        "credfresh_credential_issued_timestamp_seconds{credential=\"registry\"} 1767325865",
        "credfresh_credential_next_refresh_timestamp_seconds{credential=\"registry\"} 1767328145",
        "credfresh_credential_tries_left{credential=\"registry\"} 21",
        "credfresh_credential_tries_left{credential=\"cache\"} 0",
        "credfresh_exchange_clock_skew_seconds{credential=\"registry\"} -3",
        "credfresh_credential_ready{credential=\"registry\"} 1",
        "credfresh_credential_ready{credential=\"cache\"} 0",
        "credfresh_credential_published{credential=\"cache\"} 1",
        "credfresh_credential_published{credential=\"t\xc3\xb6ken\"} 0",
        "credfresh_credential_required{credential=\"cache\"} 0",
        "credfresh_credential_generation{credential=\"registry\"} 7",
        "credfresh_credential_last_success_timestamp_seconds{credential=\"registry\"} 1767325865",
        "credfresh_credential_consecutive_failures{credential=\"t\xc3\xb6ken\"} 4",
        "credfresh_refresh_total{credential=\"registry\",result=\"ok\"} 7",
        "credfresh_refresh_total{credential=\"registry\",result=\"retry\"} 3",
        "credfresh_refresh_total{credential=\"registry\",result=\"stop\"} 2",
        "credfresh_refresh_total{credential=\"registry\",result=\"local\"} 1",
        "credfresh_refresh_total{credential=\"cache\",result=\"ok\"} 0",
        "credfresh_exchange_duration_seconds_bucket{credential=\"registry\",le=\"0.01\"} 0",
        "credfresh_exchange_duration_seconds_bucket{credential=\"registry\",le=\"0.025\"} 1",
        "credfresh_exchange_duration_seconds_bucket{credential=\"registry\",le=\"0.1\"} 3",
        "credfresh_exchange_duration_seconds_bucket{credential=\"registry\",le=\"10\"} 3",
        "credfresh_exchange_duration_seconds_bucket{credential=\"registry\",le=\"+Inf\"} 4",
        "credfresh_exchange_duration_seconds_sum{credential=\"registry\"} 12.25",
        "credfresh_exchange_duration_seconds_count{credential=\"registry\"} 4",
        "credfresh_token_expiry_timestamp_seconds{credential=\"registry\"} 1767329245",
        "credfresh_token_overdue{credential=\"t\xc3\xb6ken\"} 1",
        "credfresh_source_missing{credential=\"t\xc3\xb6ken\"} 1",
        "credfresh_source_missing{credential=\"registry\"} 0",
        "credfresh_hook_runs_total{credential=\"registry\",hook=\"signal HUP to "
        "/run/app.pid\",result=\"ok\"} 7",
        "credfresh_hook_runs_total{credential=\"registry\",hook=\"exec "
        "\\\"a\\\\b\\\"\\nc\",result=\"failed\"} 1",
        "credfresh_hook_generation{credential=\"registry\",hook=\"exec \\\"a\\\\b\\\"\\nc\"} 6",
        "credfresh_hook_last_run_timestamp_seconds{credential=\"registry\",hook=\"signal HUP to "
        "/run/app.pid\"} "
        "1767326585",
        "credfresh_consumer_generation{credential=\"registry\",consumer=\"file /run/app/in-use\"} 7",
        "credfresh_consumer_behind{credential=\"registry\",consumer=\"file /run/app/in-use\"} 0",
        "credfresh_consumer_generation{credential=\"registry\",consumer=\"http POST http://127.0.0.1:1/\"} 6",
        "credfresh_consumer_behind{credential=\"registry\",consumer=\"http POST http://127.0.0.1:1/\"} 1",
    };
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = page(&s);

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        has_line(&out, lines[i]);
    /* No number may stand for "never" or "not yet" where it would be read as a time. */
    assert_null(strstr(out.p, "expiry_timestamp_seconds{credential=\"static\"}"));
    assert_null(strstr(out.p, "expiry_timestamp_seconds{credential=\"t\xc3\xb6ken\"}"));
    assert_null(strstr(out.p, "tries_left{credential=\"static\"}"));
    assert_null(strstr(out.p, "tries_left{credential=\"t\xc3\xb6ken\"}"));
    assert_null(strstr(out.p, "next_refresh_timestamp_seconds{credential=\"static\"}"));
    assert_null(strstr(out.p, "clock_skew_seconds{credential=\"cache\"}"));
    cfr_str_free(&out);
}

static void test_refused_configuration(void **state)
{
    const struct cfr_api_status_sandbox parts[CFR_API_SANDBOX_PARTS] = {
        {.part = "seccomp", .on = true}, {.part = "landlock", .why = "the kernel has no Landlock"}};
    struct cfr_api_status s = sample_status(0);
    struct cfr_str out;

    (void)state;
    s.config_ok = false;
    s.sandbox = parts;
    out = page(&s);
    has_line(&out, "credfresh_config_last_reload_successful 0");
    has_line(&out, "credfresh_sandbox{part=\"seccomp\"} 1");
    has_line(&out, "credfresh_sandbox{part=\"landlock\"} 0");
    cfr_str_free(&out);
}

static void test_service_ca(void **state)
{
    struct cfr_api_status s = sample_status(0);
    struct cfr_str out;

    (void)state;
    s.get_authority = sample_authority;
    out = page(&s);
    has_line(&out, "credfresh_service_ca_number 3");
    has_line(&out, "credfresh_service_ca_generations 2");
    has_line(&out, "credfresh_service_ca_expiry_timestamp_seconds 1767413045");
    has_line(&out, "credfresh_service_ca_rotation_timestamp_seconds 1767330245");
    has_line(&out, "credfresh_service_ca_made_timestamp_seconds 1767240245");
    has_line(&out, "credfresh_service_ca_ok 0");
    has_line(&out, "credfresh_service_ca_consecutive_failures 7");
    cfr_str_free(&out);
}

/* The family that a sample line belongs to: its name without a histogram's suffix. */
static struct cfr_view family_of(struct cfr_view line)
{
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
    struct cfr_view name = {line.p, strcspn(line.p, "{ ")};

    if (!cfr_view_starts(name, "credfresh_exchange_duration_seconds"))
        return name;
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(suffixes[i]);

        if (name.n > n && memcmp(name.p + name.n - n, suffixes[i], n) == 0)
            name.n -= n;
    }
    return name;
}

/* HELP, TYPE, then all samples of one family, each family once, and no series twice. */
static void test_format(void **state)
{
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = page(&s);
    struct cfr_view rest = cfr_str_view(&out);
    struct cfr_view line;
    struct cfr_view family = {0};
    char seen[8192] = " ";
    size_t families = 0;

    (void)state;
    assert_int_equal(out.p[out.len - 1], '\n');
    while (cfr_view_line(&rest, &line)) {
        char word[160];

        assert_true(line.n > 0);
        if (!cfr_view_starts(line, "# HELP ")) {
            assert_true(cfr_view_eq(family_of(line), family));
            continue;
        }
        family = (struct cfr_view){line.p + 7, strcspn(line.p + 7, " ")};
        families++;
        (void)snprintf(word, sizeof word, " %.*s ", (int)family.n, family.p);
        assert_null(strstr(seen, word));
        (void)strcat(seen, word + 1);
        assert_true(cfr_view_line(&rest, &line));
        (void)snprintf(word, sizeof word, "# TYPE %.*s ", (int)family.n, family.p);
        assert_true(cfr_view_starts(line, word));
    }
    assert_true(families >= 17);
    cfr_str_free(&out);
}

static int by_text(const void *a, const void *b)
{
    const struct cfr_view *x = a;
    const struct cfr_view *y = b;
    int d = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

static void test_no_series_twice(void **state)
{
    static struct cfr_view series[1000];
    struct cfr_api_status s = sample_status(4);
    struct cfr_str out = page(&s);
    struct cfr_view rest = cfr_str_view(&out);
    struct cfr_view line;
    size_t n = 0;

    (void)state;
    while (cfr_view_line(&rest, &line)) {
        const char *end = memrchr(line.p, ' ', line.n);

        assert_true(n < 1000);
        assert_non_null(end);
        if (line.p[0] != '#')
            series[n++] = (struct cfr_view){line.p, (size_t)(end - line.p)};
    }
    qsort(series, n, sizeof series[0], by_text);
    for (size_t i = 1; i < n; i++)
        assert_false(cfr_view_eq(series[i - 1], series[i]));
    cfr_str_free(&out);
}

static void test_histogram(void **state)
{
    struct cfr_api_status_histogram h = {0};

    (void)state;
    cfr_api_status_observe(&h, 0);
    cfr_api_status_observe(&h, 0.01); /* a bound belongs to its bucket */
    cfr_api_status_observe(&h, 0.0100001);
    cfr_api_status_observe(&h, 10);
    cfr_api_status_observe(&h, 10.5);
    assert_int_equal(h.buckets[0], 2);
    assert_int_equal(h.buckets[1], 1);
    assert_int_equal(h.buckets[CFR_API_STATUS_BUCKETS - 1], 1);
    assert_int_equal(h.buckets[CFR_API_STATUS_BUCKETS], 1);
    assert_int_equal(h.count, 5);
    assert_true(h.sum_s > 20.52 && h.sum_s < 20.53);
    for (size_t i = 1; i < CFR_API_STATUS_BUCKETS; i++)
        assert_true(cfr_api_status_bounds[i] > cfr_api_status_bounds[i - 1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples), cmocka_unit_test(test_refused_configuration), cmocka_unit_test(test_service_ca),
        cmocka_unit_test(test_format),  cmocka_unit_test(test_no_series_twice),       cmocka_unit_test(test_histogram),
    };

    (void)argv;
    /* With any argument: prints the page, for `promtool check metrics`. */
    if (argc > 1) {
        struct cfr_api_status s = sample_status(4);
        struct cfr_str out = page(&s);

        (void)fputs(out.p, stdout);
        cfr_str_free(&out);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
