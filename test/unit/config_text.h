/* SPDX-License-Identifier: MIT */
/* Configurations as text, for the tests of what is read and of what every mistake is told. */
#ifndef CFR_TEST_CONFIG_TEXT_H
#define CFR_TEST_CONFIG_TEXT_H

#include "agent/config/config.h"
#include "unit.h"

static inline const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static inline struct cfr_config *parse_with(const char *(*env)(const char *), const char *text)
{
    struct cfr_config *config = NULL;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};

    if (cfr_config_parse("f", cfr_view_of(text), env, &config, &all, &err) != 0)
        fail_msg("refused: %s\n%s", all.p, text);
    assert_non_null(config);
    assert_int_equal(all.len, 0);
    assert_int_equal(err.code, 0);
    cfr_str_free(&all);
    return config;
}

static inline struct cfr_config *parse(const char *text)
{
    return parse_with(no_env, text);
}

/* Every line that TEXT is told, which must begin with the one in ERR. */
static inline void refused(const struct cfr_view text, const char *lines)
{
    struct cfr_config *config = (struct cfr_config *)(void *)&config;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    int rc = cfr_config_parse("f", text, no_env, &config, &all, &err);

    assert_null(config);
    if (rc == 0 || all.p == NULL || strcmp(all.p, lines) != 0)
        fail_msg("%.*s\nis told:\n%s\nnot:\n%s", (int)text.n, text.p, all.p != NULL ? all.p : "(nothing)",
                 lines);
    assert_int_equal(rc, CFR_E_CONFIG);
    assert_int_equal(err.code, rc);
    assert_int_equal(strncmp(lines, err.text, strlen(err.text)), 0);
    assert_int_equal(lines[strlen(err.text)], '\n');
    cfr_str_free(&all);
    assert_int_equal(cfr_config_parse("f", text, no_env, &config, NULL, NULL), CFR_E_CONFIG);
}

struct refusal {
    const char *text;
    const char *lines;
};

static inline void all_refused(const struct refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refused(cfr_view_of(cases[i].text), cases[i].lines);
}

#endif
