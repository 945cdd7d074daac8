/* SPDX-License-Identifier: MIT */
/* Configuration of acknowledgements. */
#include "agent/config/config_private.h"

#include "config_text.h"

#define HEAD "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"
#define PUB  "    publish: {directory: /d, files: [{name: t, format: token}]}\n"
#define HOOK "    reload:\n      - {http: {url: \"http://127.0.0.1/\", acknowledge_header: X-Gen}}\n"
#define ACK  HEAD PUB "    acknowledge: "

static void one_with_defaults(void **state)
{
    struct cfr_config *config = parse(ACK "{file: /c/in-use}\n");
    const struct cfr_config_acknowledge *a = cfr_config_at(config, 0)->acknowledge.items;

    (void)state;
    assert_int_equal(cfr_config_at(config, 0)->acknowledge.count, 1);
    assert_string_equal(a->file, "/c/in-use");
    assert_false(a->hooks || a->wait);
    assert_int_equal(a->limit_ms, 3600000);
    assert_int_equal(a->behind_after_ms, 300000);
    cfr_config_free(config);
}

static void several(void **state)
{
    struct cfr_config *config = parse(HEAD PUB HOOK "    acknowledge:\n"
                                                    "      - {file: /c/one, wait: true, limit: 2h}\n"
                                                    "      - {file: /c/two, behind_after: 90s}\n"
                                                    "      - {hooks: true, wait: true}\n");
    const struct cfr_config_credential *c = cfr_config_at(config, 0);
    const struct cfr_config_acknowledge *a = c->acknowledge.items;
    const struct cfr_config_hook *h = c->reload.items;
    const void *config_of_hook;

    (void)state;
    assert_int_equal(c->acknowledge.count, 3);
    assert_true(a[0].wait && a[0].limit_ms == 7200000 && a[1].behind_after_ms == 90000);
    assert_true(a[2].hooks && a[2].wait && a[2].file == NULL);
    assert_string_equal(cfr_config_hook_kind(h, &config_of_hook)->acknowledge_header(config_of_hook), "X-Gen");
    cfr_config_free(config);
}

static void changes_nothing_that_is_published(void **state)
{
    struct cfr_config *without = parse(HEAD PUB);
    struct cfr_config *with = parse(ACK "{file: /c/in-use}\n");
    const struct cfr_config_credential *a = cfr_config_at(without, 0);
    const struct cfr_config_credential *b = cfr_config_at(with, 0);

    (void)state;
    assert_true(a->digest_material == b->digest_material);
    assert_true(a->digest != b->digest);
    cfr_config_free(without);
    cfr_config_free(with);
}

static void what_cannot_be(void **state)
{
    static const char *const cases[][2] = {
        {ACK "{wait: true}\n", "acknowledge: does not say how; write `file`, or `hooks: true`"},
        {ACK "{file: /c/x, hooks: true}\n", "acknowledge.hooks: cannot be used with file"},
        {ACK "{file: in-use}\n", "acknowledge.file"},
        {ACK "{file: /c/x, limit: 8d}\n", "acknowledge.limit"},
        {ACK "{file: /c/x, behind_after: 0s}\n", "acknowledge.behind_after"},
        {ACK "[]\n", "acknowledge"},
        {ACK "{hooks: true}\n", "acknowledge: hooks: no hook of `reload` has an acknowledge_header"},
        {HEAD PUB HOOK "    acknowledge: [{hooks: true}, {hooks: true}]\n",
         "acknowledge: hooks: occurs on lines 8 and 8"},
        {ACK "[{file: /c/x}, {file: /c/x}]\n", "acknowledge.file: /c/x is the acknowledgement file of credential a"},
        {ACK "{file: /d/in-use}\n", "acknowledge.file: /d/in-use is in the directory of credential a"},
        {ACK "{file: /t/token}\n", "acknowledge.file: /t/token is the token file of credential a"},
        {HEAD PUB "    reload: [{http: {url: \"http://127.0.0.1/\", acknowledge_header: \"X: y\"}}]\n",
         "acknowledge_header: is not the name of a header"},
        {HEAD PUB "    reload: [{on_first: skip, http: {url: \"http://127.0.0.1/\", acknowledge_header: X}}]\n",
         "on_first: skip makes no request after the first publish"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_config *config = NULL;
        struct cfr_err err = {0};

        if (cfr_config_parse("f", cfr_view_of(cases[i][0]), no_env, &config, NULL, &err) != CFR_E_CONFIG)
            fail_msg("taken:\n%s", cases[i][0]);
        assert_contains(err.text, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_with_defaults),
        cmocka_unit_test(several),
        cmocka_unit_test(changes_nothing_that_is_published),
        cmocka_unit_test(what_cannot_be),
    };

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
