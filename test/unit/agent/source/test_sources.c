/* SPDX-License-Identifier: MIT */
/* The table of sources: which row a credential has, and that a further source needs nothing but a row. */
#include "unit.h"

#include "agent/pki/service_ca.h"
#include "agent/source/inputs_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *label(const struct cfr_config_credential *c)
{
    (void)c;
    return "toy";
}

struct toy_config {
    struct cfr_node node;
    char *word;
};

#define AT(member) offsetof(struct toy_config, member)
static const struct cfr_field toy_fields[] = {
    {.key = "word", .type = CFR_FIELD_STRING, .offset = AT(word), .flags = CFR_FIELD_REQUIRED},
    {.key = NULL},
};

static int check_toy(const void *node, struct cfr_err *err)
{
    const struct toy_config *c = node;

    return strcmp(c->word, "rude") != 0 ? 0 : cfr_err_set(err, CFR_E_CONFIG, "word: is rude; write another");
}

static const struct cfr_field_gone toy_gone[] = {{"words", "was removed; write one `word`"}, {NULL, NULL}};
static const struct cfr_table toy_table = {
    .name = "toy", .size = sizeof(struct toy_config), .fields = toy_fields, .gone = toy_gone, .check = check_toy};

static const char *key_of_toy(const void *config)
{
    (void)config;
    return "toy";
}

static bool grants_toy(const void *config, const char *field)
{
    (void)config;
    return strcmp(field, "toy_word") == 0;
}

/* The toy's words; `toy` as the key of a credential. */
static const char *word_of(const struct cfr_config_credential *c)
{
    const void *config;

    return cfr_config_source_kind(c, &config) != NULL ? ((const struct toy_config *)config)->word : "";
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
    cfr_source_add_mark(out, strlen(word_of(c)));
    return cfr_secret_append_str(&out->token, word_of(c), err);
}

static int grant_name(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                      const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    out->expires_s = env->now.wall_ms / 1000 + 60;
    return c == NULL ? cfr_err_set(err, CFR_E_CONFIG, "only in an agent")
                     : cfr_grant_set(out, CFR_FIELD_TOKEN, cfr_secret_view(&m->token), err);
}

static const struct cfr_source_ops toy = {
    .kind = {.variant = {.key = "toy", .table = &toy_table},
             .origin = "a toy",
             .key = key_of_toy,
             .grants = grants_toy},
    .name = "toy",
    .describe = label,
    .may_send = never,
    .read = read_name,
    .grant = grant_name,
};

static char name_a[] = "a";
static char path[] = "/t";

static const struct cfr_source_ops *const rows[] = {&toy, &cfr_source_provider_only};

static struct cfr_service_ca_issued issued = {.ca_bundle = true};
static struct cfr_one_of bundle = {
    {.row = &cfr_source_service_ca.kind, .table = &cfr_service_ca_issued_table}, &issued, 0};

static const struct cfr_config_source_kind *toy_at(size_t index)
{
    return index == 0 ? &toy.kind : NULL;
}

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* A configuration with SOURCE as what its credential begins with; 0 or the error. */
static int load(const char *source, struct cfr_config **out, struct cfr_err *err)
{
    static const char head[] = "version: 1\ncredentials:\n  - name: a\n    ";
    static const char tail[] = "\n    publish: {directory: /d, files: [{name: t, format: json}]}\n";
    char file[64];
    int fd;
    int rc;

    cfr_config_register_sources(toy_at);
    (void)snprintf(file, sizeof file, "/tmp/cfr_source_sources.%d", (int)getpid());
    (void)unlink(file);
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "%s%s%s", head, source, tail) > 0);
    assert_int_equal(close(fd), 0);
    rc = cfr_config_load(file, no_env, out, NULL, err);
    assert_int_equal(unlink(file), 0);
    return rc;
}

static void a_further_source_is_a_row(void **state)
{
    struct cfr_config *config = NULL;
    const struct cfr_config_credential *c;
    const struct cfr_config_credential other = {.name = name_a};
    const struct cfr_source_ops *found;
    struct cfr_source_env env = {.now = {.wall_ms = 400}, .in_agent = true};
    struct cfr_source_inputs m;
    struct cfr_grant grant = {0};
    struct cfr_err err = {0};
    int64_t wait_ms = -1;

    (void)state;
    assert_int_equal(load("toy: {word: toy-1}", &config, &err), 0);
    c = cfr_config_at(config, 0);
    found = cfr_source_find(rows, 2, c);
    assert_ptr_equal(found, &toy);
    m = (struct cfr_source_inputs){.source = found};
    assert_int_equal(found->read(&env, c, &m, &wait_ms, &err), CFR_E_TOKEN);
    assert_int_equal(wait_ms, 600);
    cfr_source_inputs_free(&m);

    env.now.wall_ms = 2000;
    m = (struct cfr_source_inputs){.source = found};
    assert_int_equal(found->read(&env, c, &m, &wait_ms, &err), 0);
    assert_int_equal(m.mark, 5);
    assert_true(cfr_source_inputs_is_final(&m));
    assert_int_equal(cfr_source_inputs_grant(&m, &grant, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_source_grant(&env, c, &m, &grant, &err), 0);
    assert_true(cfr_view_is(cfr_grant_get(&grant, CFR_FIELD_TOKEN), "toy-1"));
    assert_int_equal(grant.expires_s, 62);
    cfr_grant_free(&grant);
    cfr_source_inputs_free(&m);

    assert_ptr_equal(cfr_source_find(rows, 2, &other), &cfr_source_provider_only);
    assert_null(cfr_source_find(rows, 1, &other));
    cfr_config_free(config);
}

static void the_toy_brings_its_key(void **state)
{
    static const char *const cases[][2] = {
        {"toy: {word: rude}", ":4: credential a: toy.word: is rude; write another"},
        {"toy: {}", ":4: credential a: toy.word: is missing; this toy needs it"},
        {"toy: {word: x, words: [y]}", ":4: credential a: toy.words: was removed; write one `word`"},
        {"toys: {word: x}", ":4: credential a: unknown key toys; did you mean toy?"},
        {"ca_bundle: true", ":4: credential a: unknown key ca_bundle; this credential has: name, required, token, "
                            "secret, exchange, toy, mint"},
        {"toy: {word: x}\n    token: {file: /t}", ":4: credential a: toy: comes from a toy; remove `token`"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cfr_config *config = NULL;
        struct cfr_err err = {0};

        assert_int_equal(load(cases[i][0], &config, &err), CFR_E_CONFIG);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s\n%s", cases[i][1], err.text);
    }
}

/* A credential has one source, the most particular. */
static void each_credential_has_its_row(void **state)
{
    struct cfr_config_mounted secret = {.directory = path, .pass_on = true};
    struct cfr_config_request request = {.service_account = name_a};
    struct cfr_config_mounted exchanged = {.directory = path};
    struct cfr_config_token token = {.file = path};
    struct cfr_config_token requested = {.request = &request};
    struct cfr_config_token both = {.file = path, .request = &request};
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
        {{.name = name_a, .secret = &exchanged, .token = &both}, &cfr_source_mounted, "secret", true},
        {{.name = name_a, .source = {&bundle, 1}}, &cfr_source_service_ca, "service_ca", false},
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
    const struct cfr_config_credential c = {.name = name_a, .source = {&bundle, 1}};
    struct cfr_source_inputs m;
    struct cfr_grant grant = {0};
    struct cfr_err err = {0};
    int64_t wait_ms;

    (void)state;
    assert_int_equal(cfr_source_inputs_read(&c, 0, false, &m, &wait_ms, &err), 0);
    assert_int_equal(cfr_source_inputs_grant(&m, &grant, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "only a running agent publishes "));
    cfr_source_inputs_free(&m);
    cfr_grant_free(&grant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_further_source_is_a_row),
        cmocka_unit_test(the_toy_brings_its_key),
        cmocka_unit_test(each_credential_has_its_row),
        cmocka_unit_test(what_an_agent_makes_is_not_granted_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
