/* SPDX-License-Identifier: MIT */
/* A grant and what an output format makes of it. */
#ifndef CFR_TEST_FORMAT_SAMPLE_H
#define CFR_TEST_FORMAT_SAMPLE_H

#include "unit.h"

#include "files/format/format.h"

static struct cfr_err err;
static struct cfr_secret out;
static struct cfr_grant grant;
static struct cfr_format_input input;

static void set(const char *field, const char *value)
{
    assert_int_equal(cfr_grant_set(&grant, field, cfr_view_of(value), &err), 0);
}

static void format_begin(void)
{
    err = (struct cfr_err){0};
    cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
}

static int teardown(void **state)
{
    (void)state;
    cfr_secret_free(&out);
    cfr_grant_free(&grant);
    return 0;
}

static int render(const char *format)
{
    const struct cfr_format *f = cfr_format_find(cfr_view_of(format));

    assert_non_null(f);
    cfr_secret_clear(&out);
    return f->render(&input, &out, &err);
}

static void check(const char *format, const char *want)
{
    if (render(format) != 0)
        fail_msg("%s: %s", format, err.text);
    assert_non_null(out.p);
    assert_string_equal(out.p, want);
    assert_int_equal(out.len, strlen(want));
}

#endif
