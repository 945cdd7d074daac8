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

static const char rendered[] = "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"}}}\n";

/* What a file of content THERE holds after a publish, or the error. */
static int merge(const char *there, struct cfr_secret *out, struct cfr_err *err)
{
    cfr_secret_free(out);
    cfr_secret_init(out, CFR_FORMAT_OUTPUT_MAX);
    assert_int_equal(cfr_secret_append_str(out, rendered, NULL), 0);
    *err = (struct cfr_err){0};
    return cfr_format_find(cfr_view_of("docker-config"))->merge(cfr_view_of(there), out, err);
}

static void a_config_of_other_programs(void **state)
{
    static const struct {
        const char *there;
        const char *merged;
    } cases[] = {
        {"", "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"}}}\n"},
        {" \n", "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"}}}\n"},
        {"{}", "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"}}}\n"},
        {"{\"auths\":null}", "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"}}}\n"},
        /* Its own login is replaced, also where its name is escaped; the bytes of all others remain. */
        {"\xef\xbb\xbf{\n\t\"credsStore\": \"desktop\", \"n\" : [1.0e3, {\"a\": \"]}\\\"\"}] ,\"auths\": "
         "{\"\\u0072.example\": "
         "{\"auth\":\"b2xk\"},\n\t\t\"s.example\": {\"auth\": \"\\u0061\"}, \"t\":{}},\"proxies\":{\"default\":{}}}",
         "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"},\"s.example\":{\"auth\": \"\\u0061\"},\"t\":{}},"
         "\"credsStore\":\"desktop\",\"n\":[1.0e3, {\"a\": \"]}\\\"\"}],\"proxies\":{\"default\":{}}}\n"},
        {"{\"auths\":{\"a\":{}},\"x\":1,\"auths\":{\"b\":{}}}",
         "{\"auths\":{\"r.example\":{\"auth\":\"bmV3\"},\"a\":{},\"b\":{}},\"x\":1}\n"},
    };
    struct cfr_secret out = {0};
    struct cfr_secret again = {0};
    struct cfr_err err;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(merge(cases[i].there, &out, &err), 0);
        assert_view(cfr_secret_view(&out), cases[i].merged);
        assert_int_equal(merge(out.p, &again, &err), 0);
        assert_view(cfr_secret_view(&again), cases[i].merged);
    }
    cfr_secret_free(&out);
    cfr_secret_free(&again);
}

static void a_config_that_cannot_be_kept(void **state)
{
    static const char *const cases[][2] = {
        {"auths: {}", "not JSON"},
        {"{\"auths\":{}} {}", "not JSON"},
        {"[]", "not an object"},
        {"{\"auths\":[]}", "`auths` is not an object"},
    };
    struct cfr_secret out = {0};
    struct cfr_err err;
    static char large[262144 + 2];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(merge(cases[i][0], &out, &err), CFR_E_CONFLICT);
        assert_contains(err.text, cases[i][1]);
        assert_contains(err.text, "the logins of other registries in it cannot be kept: correct it, or remove it");
        assert_view(cfr_secret_view(&out), rendered);
    }
    memset(large, ' ', sizeof large - 1);
    memcpy(large, "{}", 2);
    assert_int_equal(merge(large, &out, &err), CFR_E_LIMIT);
    assert_contains(err.text, "larger than 256 KiB");
    assert_view(cfr_secret_view(&out), rendered);
    cfr_secret_free(&out);
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
        cmocka_unit_test(a_config_of_other_programs),
        cmocka_unit_test(a_config_that_cannot_be_kept),
        cmocka_unit_test(access_token),
        cmocka_unit_test(nothing_to_write),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
