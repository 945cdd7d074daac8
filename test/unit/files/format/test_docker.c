/* SPDX-License-Identifier: MIT */
/* The formats docker-config and oauth-access-token. */
#include "unit.h"

#include "base/json.h"
#include "files/format/format.h"

static int render(const char *name, const struct cfr_grant *g, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_format *f = cfr_format_find(cfr_view_of(name));
    struct cfr_format_input in = {.credential = "registry", .grant = g};

    assert_non_null(f);
    cfr_secret_init(out, CFR_FORMAT_OUTPUT_MAX);
    return f->render(&in, out, err);
}

static void set(struct cfr_grant *g, const char *field, const char *value)
{
    assert_int_equal(cfr_grant_set(g, field, cfr_view_of(value), NULL), 0);
}

static void docker_config(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_secret out;
    struct cfr_json *doc;

    (void)state;
    set(&g, CFR_FIELD_REGISTRY_AUTHS,
        "\"r.example\":{\"username\":\"u\",\"password\":\"p\",\"auth\":\"dTpw\"},\"s.example\":{\"auth\":"
        "\"dTpw\"}");
    assert_int_equal(render("docker-config", &g, &out, NULL), 0);
    assert_view(cfr_secret_view(&out),
                "{\"auths\":{\"r.example\":{\"username\":\"u\",\"password\":\"p\",\"auth\":\"dTpw\"},"
                "\"s.example\":{\"auth\":\"dTpw\"}}}\n");
    assert_int_equal(cfr_json_parse(cfr_secret_view(&out), &doc, NULL), 0);
    assert_int_equal(cfr_json_members(cfr_json_get(doc, "auths")), 2);
    cfr_json_free(doc);
    cfr_secret_free(&out);
    cfr_grant_free(&g);
}

static void access_token(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_secret out;

    (void)state;
    set(&g, CFR_FIELD_OAUTH_ACCESS_TOKEN, "abc.def");
    assert_int_equal(render("oauth-access-token", &g, &out, NULL), 0);
    assert_view(cfr_secret_view(&out), "abc.def");
    cfr_secret_free(&out);
    cfr_grant_free(&g);
}

static void nothing_to_write(void **state)
{
    static const char *const formats[][2] = {{"docker-config", "registry_auths"},
                                             {"oauth-access-token", "oauth_access_token"}};
    struct cfr_grant g = {0};

    (void)state;
    set(&g, CFR_FIELD_TOKEN, "t");
    for (size_t i = 0; i < COUNT(formats); i++) {
        struct cfr_secret out;
        struct cfr_err err = {0};

        assert_int_equal(render(formats[i][0], &g, &out, &err), CFR_E_CONFIG);
        assert_contains(err.text, formats[i][1]);
        assert_int_equal(out.len, 0);
        assert_string_equal(cfr_format_find(cfr_view_of(formats[i][0]))->needs, formats[i][1]);
        cfr_secret_free(&out);
    }
    cfr_grant_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docker_config),
        cmocka_unit_test(access_token),
        cmocka_unit_test(nothing_to_write),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
