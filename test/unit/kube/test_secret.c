/* SPDX-License-Identifier: MIT */
/* Secrets as targets: bodies, checks, ownership and conflicts. */
#include "unit.h"

#include "base/json.h"
#include "data_file.h"
#include "kube/secret_apply.h"

static const struct cfr_k8s_secret_key keys[] = {
    {"token", {"FAKE", 4}},
    {"empty", {NULL, 0}},
    {"binary", {"\0\xff", 2}},
};

static struct cfr_k8s_secret_object object(void)
{
    return (struct cfr_k8s_secret_object){.kind = &cfr_k8s_kind_secret,
                                          .namespace_name = "ns-a",
                                          .name = "cloud-creds",
                                          .type = "Opaque",
                                          .keys = keys,
                                          .key_count = COUNT(keys),
                                          .credential = "reg\"istry",
                                          .generation = UINT64_MAX,
                                          .expires_s = 1767326645};
}

static void paths(void **state)
{
    char path[CFR_K8S_SECRET_PATH_MAX];

    (void)state;
    assert_true(cfr_k8s_secret_apply_path(&cfr_k8s_kind_secret, "ns-a", "cloud.creds", CFR_K8S_SECRET_READ, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/secrets/cloud.creds");
    assert_true(cfr_k8s_secret_apply_path(&cfr_k8s_kind_secret, "ns-a", "b", CFR_K8S_SECRET_APPLY, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/secrets/b?fieldManager=credfresh");
    assert_true(cfr_k8s_secret_apply_path(&cfr_k8s_kind_secret, "ns-a", "b", CFR_K8S_SECRET_TAKE, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/secrets/b?fieldManager=credfresh&force=true");
    assert_false(cfr_k8s_secret_apply_path(&cfr_k8s_kind_secret, "ns.a", "b", CFR_K8S_SECRET_READ, path));
    assert_false(cfr_k8s_secret_apply_path(&cfr_k8s_kind_secret, "ns-a", "b?force=true", CFR_K8S_SECRET_READ, path));
    assert_string_equal(path, "");
}

static void expect_body(const struct cfr_k8s_secret_object *o, const char *file)
{
    struct cfr_view want = data_file_read(file);
    struct cfr_secret body;
    struct cfr_err err = {0};

    cfr_secret_init(&body, CFR_K8S_SECRET_BODY_MAX);
    if (cfr_k8s_secret_apply_check(o, &err) != 0 || cfr_k8s_secret_apply_body(o, &body, &err) != 0)
        fail_msg("%s", err.text);
    want.n--; /* the file ends with a line end */
    if (!cfr_view_eq(cfr_secret_view(&body), want))
        fail_msg("%s: got %s", file, body.p);
    cfr_secret_free(&body);
    data_file_free(want);
}

static void bodies(void **state)
{
    static const struct cfr_k8s_secret_key pull = {".dockerconfigjson", {"{\"auths\":{}}", 12}};
    struct cfr_k8s_secret_object o = object();

    (void)state;
    expect_body(&o, "kube/requests/secret.json");
    o = (struct cfr_k8s_secret_object){.kind = &cfr_k8s_kind_secret,
                                       .namespace_name = "ns-a",
                                       .name = "pull",
                                       .type = "kubernetes.io/dockerconfigjson",
                                       .keys = &pull,
                                       .key_count = 1,
                                       .credential = "registry",
                                       .generation = 1};
    expect_body(&o, "kube/requests/secret-never.json");
}

static void configmaps(void **state)
{
    static const struct cfr_k8s_secret_key bundle = {"ca.crt", {"PEM \"\xc3\xa4\"\n", 9}};
    static const struct cfr_k8s_secret_key bytes = {"ca.crt", {"\xff\xfe", 2}};
    struct cfr_k8s_secret_object o = {.kind = &cfr_k8s_kind_configmap,
                                      .namespace_name = "ns-a",
                                      .name = "trust",
                                      .keys = &bundle,
                                      .key_count = 1,
                                      .credential = "bundle",
                                      .generation = 1};
    char path[CFR_K8S_SECRET_PATH_MAX];
    struct cfr_err err = {0};

    (void)state;
    expect_body(&o, "kube/requests/configmap.json");
    assert_true(cfr_k8s_secret_apply_path(o.kind, "ns-a", "trust", CFR_K8S_SECRET_READ, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/configmaps/trust");
    o.keys = &bytes;
    assert_int_equal(cfr_k8s_secret_apply_check(&o, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "UTF-8"));
}

static void largest_body_fits(void **state)
{
    char *bytes = calloc(1, CFR_K8S_SECRET_TOTAL_MAX);
    struct cfr_k8s_secret_key key = {"a", {bytes, CFR_K8S_SECRET_TOTAL_MAX}};
    struct cfr_k8s_secret_object o = object();
    struct cfr_secret body;
    struct cfr_err err = {0};

    (void)state;
    o.keys = &key;
    o.key_count = 1;
    cfr_secret_init(&body, CFR_K8S_SECRET_BODY_MAX);
    assert_int_equal(cfr_k8s_secret_apply_check(&o, &err), 0);
    assert_int_equal(cfr_k8s_secret_apply_body(&o, &body, &err), 0);
    cfr_secret_free(&body);
    free(bytes);
}

static void check_key(const char *key, int code)
{
    const struct cfr_k8s_secret_key one = {key, {"x", 1}};
    struct cfr_k8s_secret_object o = object();
    struct cfr_err err = {0};

    o.keys = &one;
    o.key_count = 1;
    if (cfr_k8s_secret_apply_check(&o, &err) != code)
        fail_msg("%s: %s", key, err.text);
    assert_true(cfr_view_printable(cfr_view_of(err.text)));
}

static void names_of_keys(void **state)
{
    char text[256];

    (void)state;
    memset(text, 'k', sizeof text);
    text[253] = '\0';
    check_key(text, 0);
    memcpy(text + 253, "k", 2);
    check_key(text, CFR_E_CONFIG);
    check_key(".dockerconfigjson", 0);
    check_key("A-z_0.9", 0);
    check_key("a..b", 0);
    check_key("", CFR_E_CONFIG);
    check_key(".", CFR_E_CONFIG);
    check_key("..", CFR_E_CONFIG);
    check_key("..data", CFR_E_CONFIG);
    check_key("a/b", CFR_E_CONFIG);
    check_key("a b", CFR_E_CONFIG);
    check_key("\xc3\xa9", CFR_E_CONFIG);
    check_key("a\n", CFR_E_CONFIG);
}

static void refuses(const struct cfr_k8s_secret_object *o, int code, const char *text)
{
    struct cfr_err err = {0};

    assert_int_equal(cfr_k8s_secret_apply_check(o, &err), code);
    assert_contains(err.text, text);
}

static void limits(void **state)
{
    const struct cfr_k8s_secret_key twice[] = {{"a", {"x", 1}}, {"b", {"x", 1}}, {"a", {"x", 1}}};
    struct cfr_k8s_secret_key large[] = {{"a", {"", CFR_K8S_SECRET_TOTAL_MAX}}, {"b", {"x", 1}}};
    struct cfr_k8s_secret_key many[65];
    struct cfr_k8s_secret_object o = object();

    (void)state;
    o.namespace_name = "a/b";
    refuses(&o, CFR_E_CONFIG, "namespace of the Secret");
    o = object();
    o.name = "A";
    refuses(&o, CFR_E_CONFIG, "name of the Secret");
    o = object();
    o.key_count = 0;
    refuses(&o, CFR_E_CONFIG, "must have at least one key");
    o.keys = twice;
    o.key_count = COUNT(twice);
    refuses(&o, CFR_E_CONFIG, "\"a\" occurs twice");
    o.keys = large;
    o.key_count = 2;
    refuses(&o, CFR_E_LIMIT, "more than 1048576 bytes");
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = twice[0];
    o.keys = many;
    o.key_count = COUNT(many);
    refuses(&o, CFR_E_LIMIT, "65 keys, more than 64");
}

struct type_case {
    const char *type;
    const char *first;
    const char *first_value;
    const char *second;
    const char *text; /* NULL = good */
};

static const struct type_case type_cases[] = {
    {"Opaque", "a", "", NULL, NULL},
    {"example.net/own", "a", "", NULL, NULL},
    {"", "a", "", NULL, "type of a Secret must be a name"},
    {"a b", "a", "", NULL, "type of a Secret must be a name"},
    {"kubernetes.io/service-account-token", "a", "", NULL, "belong to Kubernetes itself"},
    {"bootstrap.kubernetes.io/token", "a", "", NULL, "belong to Kubernetes itself"},
    {"kubernetes.io/dockerconfigjson", "a", "", NULL, "needs the key \".dockerconfigjson\""},
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", "", NULL, "must not be empty"},
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", "{", NULL, "must be a JSON object"},
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", "[]", NULL, "must be a JSON object"},
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", "{}", NULL, NULL},
    {"kubernetes.io/dockercfg", ".dockerconfigjson", "{}", NULL, "needs the key \".dockercfg\""},
    {"kubernetes.io/dockercfg", ".dockercfg", "{}", NULL, NULL},
    {"kubernetes.io/tls", "tls.crt", "x", NULL, "needs the key \"tls.key\""},
    {"kubernetes.io/tls", "tls.key", "x", NULL, "needs the key \"tls.crt\""},
    {"kubernetes.io/tls", "tls.key", "x", "tls.crt", NULL},
    {"kubernetes.io/ssh-auth", "a", "x", NULL, "needs the key \"ssh-privatekey\""},
    {"kubernetes.io/ssh-auth", "ssh-privatekey", "", NULL, "must not be empty"},
    {"kubernetes.io/ssh-auth", "ssh-privatekey", "x", NULL, NULL},
    {"kubernetes.io/basic-auth", "a", "x", NULL, "needs the key \"username\" or \"password\""},
    {"kubernetes.io/basic-auth", "password", "x", NULL, NULL},
    {"kubernetes.io/basic-auth", "username", "x", NULL, NULL},
};

static void types(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(type_cases); i++) {
        const struct type_case *c = &type_cases[i];
        const struct cfr_k8s_secret_key pair[] = {{c->first, cfr_view_of(c->first_value)}, {c->second, {"x", 1}}};
        struct cfr_k8s_secret_object o = object();
        struct cfr_err err = {0};
        int rc;

        o.type = c->type;
        o.keys = pair;
        o.key_count = c->second != NULL ? 2 : 1;
        rc = cfr_k8s_secret_apply_check(&o, &err);
        if (rc != (c->text == NULL ? 0 : CFR_E_CONFIG) || (c->text != NULL && strstr(err.text, c->text) == NULL))
            fail_msg("%s, %s: %s", c->type, c->first, err.text);
    }
}

static void check_may(const struct cfr_view col[4])
{
    struct cfr_k8s_secret_object o = object();
    struct cfr_view body;
    char name[256];
    char want[256];

    (void)snprintf(name, sizeof name, "kube/secrets/%.*s", (int)col[0].n, col[0].p);
    (void)snprintf(want, sizeof want, "%.*s", (int)col[3].n, col[3].p);
    body = data_file_read(name);
    for (int adopt = 0; adopt < 2; adopt++) {
        struct cfr_err err = {0};
        int rc = cfr_k8s_secret_apply_may(&o, body, adopt != 0, &err);

        if (!cfr_view_is(col[1 + adopt], cfr_err_name(rc)) || err.code != rc ||
            (rc != 0 && strstr(err.text, want) == NULL))
            fail_msg("%s, adopt %d: got %s: %s", name, adopt, cfr_err_name(rc), err.text);
    }
    data_file_free(body);
}

static void whose_it_is(void **state)
{
    struct cfr_view table = data_file_read("kube/secrets.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[4];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 4); rows++)
        check_may(col);
    assert_true(rows >= 17);
    data_file_free(table);
}

static void check_held(const struct cfr_view col[4])
{
    struct cfr_k8s_secret_key one[4] = {{NULL, {NULL, 0}}};
    struct cfr_k8s_secret_object o = object();
    struct cfr_err err = {0};
    struct cfr_view body;
    char name[256];
    char list[64];
    char want[256];
    int rc;

    (void)snprintf(name, sizeof name, "kube/held/%.*s", (int)col[0].n, col[0].p);
    (void)snprintf(list, sizeof list, "%.*s", (int)col[1].n, col[1].p);
    (void)snprintf(want, sizeof want, "%.*s", (int)col[3].n, col[3].p);
    o.credential = "registry";
    o.generation = 12;
    o.keys = one;
    o.key_count = 0;
    for (char *key = strcmp(list, "-") != 0 ? strtok(list, ",") : NULL; key != NULL; key = strtok(NULL, ","))
        one[o.key_count++].key = key;
    body = data_file_read(name);
    rc = cfr_k8s_secret_apply_held(&o, body, &err);
    if (!cfr_view_is(col[2], cfr_err_name(rc)) || err.code != rc || (rc != 0 && strstr(err.text, want) == NULL) ||
        !cfr_view_printable(cfr_view_of(err.text)))
        fail_msg("%s: got %s: %s", name, cfr_err_name(rc), err.text);
    data_file_free(body);
}

static void as_it_was_applied(void **state)
{
    struct cfr_view table = data_file_read("kube/held.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[4];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 4); rows++)
        check_held(col);
    assert_true(rows >= 20);
    data_file_free(table);
}

/* Of agents that share a rotation each writes the number of the key: what has a higher one is another agent's, and
 * newer. */
static void what_another_agent_knows_better(void **state)
{
    static const struct {
        uint64_t number;
        const char *rotation;
        int held;
        int may;
    } cases[] = {{11, "mint-robot", CFR_E_WORSE, CFR_E_WORSE},
                 {12, "mint-robot", 0, 0},
                 {13, "mint-robot", CFR_E_MISSING, 0},
                 {11, "mint-other", CFR_E_MISSING, 0},
                 {11, NULL, CFR_E_MISSING, 0}};
    struct cfr_view body = data_file_read("kube/held/shared.json");
    struct cfr_k8s_secret_object o = object();

    (void)state;
    o.credential = "registry";
    o.key_count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cfr_err err = {0};

        o.generation = cases[i].number;
        o.rotation = cases[i].rotation;
        assert_int_equal(cfr_k8s_secret_apply_held(&o, body, &err), cases[i].held);
        assert_int_equal(cfr_k8s_secret_apply_may(&o, body, false, &err), cases[i].may);
        if (cases[i].may != 0)
            assert_contains(err.text, "holds the key number 12 of the rotation, and this agent knows of 11 only");
    }
    /* That of another credential is not newer, but another one; and so is what an agent alone has written. */
    o.credential = "other";
    o.generation = 11;
    o.rotation = "mint-robot";
    assert_int_equal(cfr_k8s_secret_apply_held(&o, body, NULL), CFR_E_MISSING);
    data_file_free(body);
    body = data_file_read("kube/held/as-applied.json");
    o.credential = "registry";
    for (o.generation = 11; o.generation <= 12; o.generation++) {
        assert_int_equal(cfr_k8s_secret_apply_held(&o, body, NULL), CFR_E_MISSING);
        assert_int_equal(cfr_k8s_secret_apply_may(&o, body, false, NULL), 0);
    }
    data_file_free(body);
}

static void the_version_that_was_read_is_a_condition(void **state)
{
    struct cfr_k8s_secret_object o = object();
    const char *versions[] = {NULL, "", "77"};

    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct cfr_secret body;

        cfr_secret_init(&body, CFR_K8S_SECRET_BODY_MAX);
        o.version = versions[i];
        assert_int_equal(cfr_k8s_secret_apply_body(&o, &body, NULL), 0);
        assert_int_equal(cfr_view_find(cfr_secret_view(&body), "\"resourceVersion\":\"77\"") >= 0, i == 2);
        assert_int_equal(cfr_view_find(cfr_secret_view(&body), "resourceVersion") >= 0, i == 2);
        cfr_secret_free(&body);
    }
}

static void conflict(const char *file, int code, const char *text)
{
    struct cfr_k8s_secret_object o = object();
    struct cfr_view body = file != NULL ? data_file_read(file) : (struct cfr_view){NULL, 0};
    struct cfr_err err = {0};

    assert_int_equal(cfr_k8s_secret_apply_conflict(&o, body, &err), code);
    assert_int_equal(err.code, code);
    assert_contains(err.text, text);
    assert_true(cfr_view_printable(cfr_view_of(err.text)));
    data_file_free(body);
}

static void conflicts(void **state)
{
    (void)state;
    conflict("kube/errors/field-manager.json", CFR_E_CONFLICT,
             "the Secret ns-a/cloud-creds: \"helm\" owns .data.token: remove the fields there");
    conflict("kube/errors/field-managers.json", CFR_E_CONFLICT, "\"helm\" owns .data.a, \"helm\" owns .data.b: ");
    conflict("kube/errors/resource-version.json", CFR_E_UNAVAILABLE, "another client wrote it at the same time");
    conflict("kube/errors/being-deleted.json", CFR_E_UNAVAILABLE, "is still being deleted");
    conflict("kube/errors/bad-gateway.html", CFR_E_UNAVAILABLE, "at the same time");
    conflict(NULL, CFR_E_UNAVAILABLE, "at the same time");
}

static void three_are_named(void **state)
{
    char body[2048] = "{\"details\":{\"causes\":[{\"reason\":\"Other\"}";
    struct cfr_k8s_secret_object o = object();
    struct cfr_err err = {0};

    (void)state;
    for (int i = 0; i < 4; i++)
        strcat(body, ",{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
                     "\\\"m\\\"\",\"field\":\".f\"}");
    strcat(body, "]}}");
    assert_int_equal(cfr_k8s_secret_apply_conflict(&o, cfr_view_of(body), &err), CFR_E_CONFLICT);
    assert_contains(err.text, "cloud-creds: \"m\" owns .f, \"m\" owns .f, \"m\" owns .f and more: remove");
}

static void many_conflicts(void **state)
{
    char body[8192] = "{\"kind\":\"Status\",\"details\":{\"causes\":[{\"reason\":\"Other\",\"message\":\"no\"}";
    struct cfr_k8s_secret_object o = object();
    struct cfr_err err = {0};
    char part[256];

    (void)state;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(part, sizeof part,
                       ",{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
                       "\\\"a-manager-with-quite-a-long-name-of-its-own-%d\\\" using v1\",\"field\":"
                       "\".data.a-field-with-quite-a-long-name-of-its-own\"}",
                       i);
        strcat(body, part);
    }
    strcat(body, "]}}");
    assert_int_equal(cfr_k8s_secret_apply_conflict(&o, cfr_view_of(body), &err), CFR_E_CONFLICT);
    assert_contains(err.text, " and more: remove the fields there, publish under another name, or set "
                              "`adopt: true` in `publish.secret`");
}

static void values_are_read(void **state)
{
    static const char *const wanted[] = {"a", "none", "empty", "binary"};
    struct cfr_secret values[4];
    bool there[4];
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(
        cfr_k8s_secret_apply_values(cfr_view_of("{\"data\":{\"binary\":\"AP8=\",\"empty\":\"\",\"a\":\"eA==\"}}"),
                                    wanted, 4, values, there, &err),
        0);
    assert_true(there[0] && !there[1] && there[2] && there[3]);
    assert_true(cfr_view_is(cfr_secret_view(&values[0]), "x"));
    assert_int_equal(values[2].len, 0);
    assert_true(cfr_view_eq(cfr_secret_view(&values[3]), (struct cfr_view){"\0\xff", 2}));
    for (size_t i = 0; i < 4; i++)
        cfr_secret_free(&values[i]);
    assert_int_equal(
        cfr_k8s_secret_apply_values(cfr_view_of("{\"data\":{\"a\":\"no base64!\"}}"), wanted, 1, values, there, &err),
        CFR_E_ANSWER);
    cfr_secret_free(&values[0]);
    assert_int_equal(cfr_k8s_secret_apply_values(cfr_view_of("{}"), wanted, 1, values, there, &err), 0);
    assert_false(there[0]);
    cfr_secret_free(&values[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
        cmocka_unit_test(bodies),
        cmocka_unit_test(configmaps),
        cmocka_unit_test(largest_body_fits),
        cmocka_unit_test(names_of_keys),
        cmocka_unit_test(limits),
        cmocka_unit_test(types),
        cmocka_unit_test(whose_it_is),
        cmocka_unit_test(conflicts),
        cmocka_unit_test(many_conflicts),
        cmocka_unit_test(three_are_named),
        cmocka_unit_test(as_it_was_applied),
        cmocka_unit_test(what_another_agent_knows_better),
        cmocka_unit_test(the_version_that_was_read_is_a_condition),
        cmocka_unit_test(values_are_read),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
