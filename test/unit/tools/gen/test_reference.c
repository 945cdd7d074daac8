/* SPDX-License-Identifier: MIT */
/* The configuration reference, compared with the parser's tables. */
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "tools/gen/reference_private.h"

#include "files/format/format.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* A key that the parser takes and the page leaves out would be a key that nobody knows. */
static void check_page(const char *page, const struct cfr_table *table)
{
    struct cfr_field f;

    for (size_t i = 0; cfr_field_at(table, i, &f); i++) {
        char row[128];

        (void)snprintf(row, sizeof row, "\n| `%s` | ", f.key);
        assert_contains(page, row);
        assert_true(f.doc != NULL && f.doc[0] != '\0' && f.doc[strlen(f.doc) - 1] == '.');
        assert_contains(page, f.doc);
        /* Without the flag the agent would not check and watch the file. */
        assert_int_equal((f.flags & CFR_FIELD_CA_FILE) != 0, strcmp(f.key, "ca_file") == 0);
        assert_int_equal((f.flags & CFR_FIELD_KUBECONFIG) != 0, strcmp(f.key, "kubeconfig") == 0);
        if (f.table != NULL)
            check_page(page, f.table);
    }
}

static void the_reference_has_every_key_and_format(void **state)
{
    struct cfr_str page = {.limit = 262144};
    struct cfr_view rest;
    struct cfr_view line;

    (void)state;
    for (size_t i = 0; cfr_gen_reference_page(i) != NULL; i++)
        cfr_gen_reference_markdown(&page, i);
    assert_false(page.failed);
    check_page(page.p, &cfr_config_table);
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++)
        assert_contains(page.p, f->doc);
    assert_contains(page.p, "\n## `credentials[].exchange.aws.then_assume[]`\n");
    assert_contains(page.p, "| `mode` | mode | `\"0600\"` | ");
    assert_contains(page.p, "| `version` | integer, 1 | **required** | ");
    rest = cfr_str_view(&page);
    while (cfr_view_line(&rest, &line)) {
        size_t bars = 0;

        for (size_t i = 0; i < line.n; i++)
            bars += line.p[i] == '|' && (i == 0 || line.p[i - 1] != '\\') ? 1 : 0;
        assert_true(bars == 0 || bars == 5);
    }
    cfr_str_free(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_reference_has_every_key_and_format)};

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
