/* SPDX-License-Identifier: MIT */
/* Compares the tables that `credfresh status` prints for the golden JSON of serve/api with a golden file. */
#include "agent/cmd/commands_private.h"

#include "data_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_S INT64_C(1767326655) /* ten seconds after the agent's answer */

static const char *golden_path; /* where the tables are written instead of compared; NULL = nowhere */

/* Prints the tables of the status document NAME into OUT. Returns their length. */
static size_t print_tables(const char *name, char *out, size_t size)
{
    static const struct {
        bool colours;
        int columns;
        bool failed;
    } tables[] = {{false, 0, false}, {false, 0, true}, {true, 80, false}, {false, 64, false}, {true, 160, false}};
    struct cfr_view text = data_file_read(name);
    struct cfr_json *doc = NULL;
    int standard = dup(STDOUT_FILENO);
    FILE *to = tmpfile();
    struct cfr_err err;
    size_t n;

    assert_int_equal(cfr_json_parse(text, &doc, &err), 0);
    assert_non_null(to);
    (void)fflush(stdout);
    assert_true(dup2(fileno(to), STDOUT_FILENO) >= 0);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct cfr_cli_options o = {.failed = tables[i].failed};

        (void)printf("--- %s, %d columns%s%s\n", name, tables[i].columns, tables[i].colours ? ", colours" : "",
                     tables[i].failed ? ", --failed" : "");
        cfr_cmd_status_print(doc, &o, tables[i].colours, tables[i].columns, NOW_S);
    }
    (void)fflush(stdout);
    assert_true(dup2(standard, STDOUT_FILENO) >= 0);
    (void)close(standard);
    rewind(to);
    n = fread(out, 1, size, to);
    assert_true(n < size);
    (void)fclose(to);
    cfr_json_free(doc);
    data_file_free(text);
    return n;
}

static void test_golden(void **state)
{
    static char out[65536];
    size_t n = print_tables("status/rich.json", out, sizeof out);
    struct cfr_view golden;
    size_t same = 0;

    (void)state;
    n += print_tables("status/bare.json", out + n, sizeof out - n);
    if (golden_path != NULL) {
        FILE *f = fopen(golden_path, "w");

        assert_non_null(f);
        assert_int_equal(fwrite(out, 1, n, f), n);
        (void)fclose(f);
        return;
    }
    golden = data_file_read("status/table.txt");
    while (same < golden.n && same < n && golden.p[same] == out[same])
        same++;
    if (same != golden.n || same != n)
        fail_msg("not table.txt (with the file as an argument this test writes it) from byte %zu on: %.200s", same,
                 out + same);
    data_file_free(golden);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};

    golden_path = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
