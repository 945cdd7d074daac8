/* SPDX-License-Identifier: MIT */
/* Ini files: sections, settings with either sign, comments, and lines that are nothing. */
#include "base/view.h"
#include "unit.h"

#include "sts/core/ini.h"

#include <stdio.h>

static void reads_every_line(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "early = 1\r\n# no\n;no = 1\n\n[ default ]\n  a=b=c\n b : c # why\nd = e;f #g\n"
                               "nothing\n[open\nx =\n[profile p] ; comment\n= y\n[]";
    static const char *const want[] = {
        "|early|1|0", "default|||1",   "default|a|b=c|0", "default|b|c|0", "default|d|e;f|0", "default|||0", "|||1",
        "|x||0",      "profile p|||1", "profile p||y|0",  "|||1",
    };
    struct cfr_sts_ini ini = {.rest = {text, sizeof text - 1}};
    size_t n = 0;

    (void)state;
    for (; cfr_sts_ini_next(&ini); n++) {
        char line[200];

        (void)snprintf(line, sizeof line, "%.*s|%.*s|%.*s|%d", (int)ini.section.n, ini.section.p, (int)ini.key.n,
                       ini.key.p, (int)ini.value.n, ini.value.p, ini.head);
        assert_true(n < sizeof want / sizeof want[0]);
        assert_string_equal(line, want[n]);
        assert_int_equal(ini.section.p == NULL, n == 0);
    }
    assert_int_equal(n, sizeof want / sizeof want[0]);
    assert_false(cfr_sts_ini_next(&ini));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_every_line)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
