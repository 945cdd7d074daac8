/* SPDX-License-Identifier: MIT */
/* The table of sources: which row a credential has, and that a further source needs nothing but a row. */
#include "unit.h"

#include "agent/source/inputs_private.h"

#include <string.h>

static const char *label(const struct cfr_config_credential *c)
{
    (void)c;
    return "toy";
}

static bool is_toy(const struct cfr_config_credential *c)
{
    return strncmp(c->name, "toy-", 4) == 0;
}

static bool never(const struct cfr_config_credential *c)
{
    (void)c;
    return false;
}

static int read_name(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                     struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    if (env->now.wall_ms < 1000) {
        *wait_ms = 1000 - env->now.wall_ms;
        return cfr_err_set(err, CFR_E_TOKEN, "%s is not ready", c->name);
    }
    cfr_secret_init(&out->token, 64);
    cfr_source_add_mark(out, strlen(c->name));
    return cfr_secret_append_str(&out->token, c->name, err);
}

static int grant_name(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                      const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    out->expires_s = env->now.wall_ms / 1000 + 60;
    return c == NULL ? cfr_err_set(err, CFR_E_CONFIG, "only in an agent")
                     : cfr_grant_set(out, CFR_FIELD_TOKEN, cfr_secret_view(&m->token), err);
}

static const struct cfr_source_ops toy = {
    .name = "toy",
    .matches = is_toy,
    .describe = label,
    .may_send = never,
    .read = read_name,
    .grant = grant_name,
};

static char name_a[] = "a";
static char name_toy[] = "toy-1";
static char path[] = "/t";

static const struct cfr_source_ops *const rows[] = {&toy, &cfr_source_provider_only};

static void a_further_source_is_a_row(void **state)
{
    struct cfr_config_credential c = {.name = name_toy};
    const struct cfr_source_ops *found = cfr_source_find(rows, 2, &c);
    struct cfr_source_env env = {.now = {.wall_ms = 400}, .in_agent = true};
    struct cfr_source_inputs m;
    struct cfr_grant grant = {0};
    struct cfr_err err = {0};
    int64_t wait_ms = -1;

    (void)state;
    assert_ptr_equal(found, &toy);
    m = (struct cfr_source_inputs){.source = found};
    assert_int_equal(found->read(&env, &c, &m, &wait_ms, &err), CFR_E_TOKEN);
    assert_int_equal(wait_ms, 600);
    cfr_source_inputs_free(&m);

    env.now.wall_ms = 2000;
    m = (struct cfr_source_inputs){.source = found};
    assert_int_equal(found->read(&env, &c, &m, &wait_ms, &err), 0);
    assert_int_equal(m.mark, 5);
    assert_true(cfr_source_inputs_is_final(&m));
    assert_int_equal(cfr_source_inputs_grant(&m, &grant, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_source_grant(&env, &c, &m, &grant, &err), 0);
    assert_true(cfr_view_is(cfr_grant_get(&grant, CFR_FIELD_TOKEN), "toy-1"));
    assert_int_equal(grant.expires_s, 62);
    cfr_grant_free(&grant);
    cfr_source_inputs_free(&m);

    c.name = name_a;
    assert_ptr_equal(cfr_source_find(rows, 2, &c), &cfr_source_provider_only);
    assert_null(cfr_source_find(rows, 1, &c));
}

/* A credential has one source, the most particular. */
static void each_credential_has_its_row(void **state)
{
    struct cfr_config_mounted secret = {.directory = path, .pass_on = true};
    struct cfr_config_request request = {.service_account = name_a};
    struct cfr_config_token token = {.file = path};
    struct cfr_config_token requested = {.request = &request};
    struct cfr_config_token both = {.file = path, .request = &request};
    struct cfr_config_mint mint = {.with = name_a};
    const struct {
        struct cfr_config_credential c;
        const struct cfr_source_ops *source;
        const char *text;
        bool may_send;
    } cases[] = {
        {{.name = name_a, .token = &token}, &cfr_source_token_in_file, "file", false},
        {{.name = name_a, .token = &both}, &cfr_source_token_in_file, "file or request", true},
        {{.name = name_a, .token = &requested}, &cfr_source_token_requested, "request", true},
        {{.name = name_a, .secret = &secret}, &cfr_source_mounted, "secret", false},
        {{.name = name_a, .secret = &secret, .token = &both}, &cfr_source_mounted, "secret", true},
        {{.name = name_a, .ca_bundle = true}, &cfr_source_service_ca, "service_ca", false},
        {{.name = name_a, .mint = &mint}, &cfr_source_rotated_key, "mint", false},
        {{.name = name_a}, &cfr_source_provider_only, "provider", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cfr_source_ops *source = cfr_source_of(&cases[i].c);

        assert_ptr_equal(source, cases[i].source);
        assert_string_equal(source->describe(&cases[i].c), cases[i].text);
        assert_int_equal(source->may_send(&cases[i].c), cases[i].may_send);
    }
}

/* Only a running agent has what these are made by. */
static void what_an_agent_makes_is_not_granted_elsewhere(void **state)
{
    struct cfr_config_mint mint = {.with = name_a};
    const struct cfr_config_credential all[] = {{.name = name_a, .ca_bundle = true}, {.name = name_a, .mint = &mint}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cfr_source_inputs m;
        struct cfr_grant grant = {0};
        struct cfr_err err = {0};
        int64_t wait_ms;

        assert_int_equal(cfr_source_inputs_read(&all[i], 0, false, &m, &wait_ms, &err), 0);
        assert_int_equal(cfr_source_inputs_grant(&m, &grant, &err), CFR_E_CONFIG);
        assert_non_null(strstr(err.text, "is published by a running agent alone"));
        cfr_source_inputs_free(&m);
        cfr_grant_free(&grant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_further_source_is_a_row),
        cmocka_unit_test(each_credential_has_its_row),
        cmocka_unit_test(what_an_agent_makes_is_not_granted_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
