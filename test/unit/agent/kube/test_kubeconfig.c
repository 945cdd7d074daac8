/* SPDX-License-Identifier: MIT */
/* Kubeconfigs: values, refusals and their texts, and the masking of secrets. */
#include "unit.h"

#include "agent/kube/kubeconfig_private.h"
#include "agent/kube/yaml_mask_private.h"
#include "base/str.h"

#define PEM_64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFiYwo="
#define PEM    "-----BEGIN CERTIFICATE-----\nabc\n"
#define KEY_64 "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmRlZgo="
#define KEY    "-----BEGIN PRIVATE KEY-----\ndef\n"
/* Deeper than credfresh's own configuration may be. */
#define DEEP_20 "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]"
#define TOKEN   "eyJhbGciOiJSUzI1NiJ9.SESAME-SESAME-SESAME-SESAME.c2lnbmF0dXJl"

static const char main_config[] =
    "apiVersion: v1\n"
    "kind: Config\n"
    "preferences: {}\n"
    "current-context: staging\n"
    "clusters:\n"
    "- name: one\n"
    "  cluster:\n"
    "    server: https://one.example:6443/\n"
    "    certificate-authority-data: " PEM_64 "\n"
    "    certificate-authority: not-looked-at.pem\n"
    "    disable-compression: true\n"
    "    insecure-skip-tls-verify: false\n"
    "- name: two\n"
    "  cluster: {server: 'https://two.example/k8s/clusters/c-1', certificate-authority: ca/two.pem,\n"
    "    tls-server-name: kubernetes.default, proxy-url: 'http://user:SESAME@proxy.example:3128'}\n"
    "contexts:\n"
    "- name: staging\n"
    "  context: {cluster: one, user: ann, namespace: team-a}\n"
    "- name: a-context-with-a-long-name@two\n"
    "  context:\n"
    "    cluster: two\n"
    "    user: files\n"
    "- name: plugin\n"
    "  context: {cluster: two, user: runner}\n"
    "- name: password\n"
    "  context: {cluster: one, user: old}\n"
    "- name: nobody\n"
    "  context: {cluster: one}\n"
    "users:\n"
    "- name: ann\n"
    "  user:\n"
    "    token: " TOKEN "\n"
    "    as: bob\n"
    "    as-uid: '17'\n"
    "    as-groups: [system:masters, \"a b\"]\n"
    "    as-user-extra: {example.com/scope: [read, write]}\n"
    "- name: files\n"
    "  user: {client-certificate: /abs/cert.pem, client-key: keys/key.pem, tokenFile: ./token, token: "
    "unused}\n"
    "- name: data\n"
    "  user: {client-certificate-data: " PEM_64 ", client-key-data: " KEY_64 "}\n"
    "- name: old\n"
    "  user: {username: admin, password: 'p w:SESAME'}\n"
    "- name: runner\n"
    "  user:\n"
    "    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1\n"
    "      command: bin/get-token\n"
    "      args: [--cluster, \"x y\", '']\n"
    "      env:\n"
    "      - {name: PROFILE, value: prod}\n"
    "      - {name: EMPTY, value: ''}\n"
    "      interactiveMode: IfAvailable\n"
    "      installHint: |\n"
    "        get it from\n"
    "        https://example.com\n";

static struct cfr_kube_config read_context(const char *text, const char *context)
{
    struct cfr_kube_config c;
    struct cfr_err err = {0};

    if (cfr_kube_config_parse(cfr_view_of(text), "/etc/kube/config", context, &c, &err) != 0)
        fail_msg("%s", err.text);
    return c;
}

static void test_current_context(void **state)
{
    struct cfr_kube_config c = read_context(main_config, NULL);
    static const char *const headers[] = {"Impersonate-User: bob",
                                          "Impersonate-Uid: 17",
                                          "Impersonate-Group: system:masters",
                                          "Impersonate-Group: a b",
                                          "Impersonate-Extra-example.com%2Fscope: read",
                                          "Impersonate-Extra-example.com%2Fscope: write"};

    (void)state;
    assert_string_equal(c.server, "https://one.example:6443");
    assert_view(cfr_secret_view(&c.ca), PEM);
    assert_null(c.ca_file);
    assert_string_equal(c.namespace_name, "team-a");
    assert_view(cfr_secret_view(&c.token), TOKEN);
    assert_null(c.server_name);
    assert_int_equal(c.proxy.len, 0);
    assert_null(c.plugin);
    assert_int_equal(c.header_count, COUNT(headers));
    for (size_t i = 0; i < COUNT(headers); i++)
        assert_view(cfr_secret_view(&c.headers[i]), headers[i]);
    cfr_kube_config_free(&c);
    assert_null(c.server);
}

static void test_paths_and_names(void **state)
{
    struct cfr_kube_config c = read_context(main_config, "a-context-with-a-long-name@two");

    (void)state;
    assert_string_equal(c.server, "https://two.example/k8s/clusters/c-1");
    assert_string_equal(c.ca_file, "/etc/kube/ca/two.pem");
    assert_string_equal(c.server_name, "kubernetes.default");
    assert_view(cfr_secret_view(&c.proxy), "http://user:SESAME@proxy.example:3128");
    assert_string_equal(c.cert_file, "/abs/cert.pem");
    assert_string_equal(c.key_file, "/etc/kube/keys/key.pem");
    assert_string_equal(c.token_file, "/etc/kube/token");
    assert_int_equal(c.token.len, 0);
    assert_null(c.namespace_name);
    cfr_kube_config_free(&c);
}

static void test_plugin(void **state)
{
    struct cfr_kube_config c = read_context(main_config, "plugin");

    (void)state;
    assert_non_null(c.plugin);
    assert_string_equal(c.plugin->api_version, "client.authentication.k8s.io/v1");
    assert_string_equal(c.plugin->command, "/etc/kube/bin/get-token");
    assert_int_equal(c.plugin->arg_count, 3);
    assert_string_equal(c.plugin->args[1], "x y");
    assert_string_equal(c.plugin->args[2], "");
    assert_int_equal(c.plugin->env_count, 2);
    assert_view(cfr_secret_view(&c.plugin->env[0]), "PROFILE=prod");
    assert_view(cfr_secret_view(&c.plugin->env[1]), "EMPTY=");
    assert_false(c.plugin->cluster_info);
    assert_string_equal(c.plugin->install_hint, "get it from https://example.com");
    cfr_kube_config_free(&c);
}

static void test_password_and_nobody(void **state)
{
    struct cfr_kube_config c = read_context(main_config, "password");

    (void)state;
    assert_view(cfr_secret_view(&c.basic), "admin:p w:SESAME");
    cfr_kube_config_free(&c);
    c = read_context(main_config, "nobody");
    assert_int_equal(c.token.len + c.basic.len + c.cert.len, 0);
    cfr_kube_config_free(&c);
}

static void test_json_with_cluster_extension(void **state)
{
    static const char json[] =
        "{\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}],\"current-context\":"
        "\"c\",\n"
        "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"https://k\",\"extensions\":["
        "{\"name\":\"other\",\"extension\":{}},{\"name\":\"client.authentication.k8s.io/exec\",\"extension\":"
        "{\"audience\":\"06e3fbd18de8\",\"n\":[1,-2,\"3\",007,null,true],\"long-key-long-key-long-key\":{"
        "\"a\":\"\\\"\"}}}]}}],\n"
        "\"users\":[{\"name\":\"u\",\"user\":{\"client-certificate-data\":\"" PEM_64 "\",\"client-key-data\":\"" KEY_64
        "\","
        "\"exec\":{\"apiVersion\":\"client.authentication.k8s.io/"
        "v1beta1\",\"command\":\"bare\",\"args\":null,"
        "\"provideClusterInfo\":true}}}]}";
    struct cfr_kube_config c = read_context(json, NULL);

    (void)state;
    assert_view(cfr_secret_view(&c.cert), PEM);
    assert_view(cfr_secret_view(&c.key), KEY);
    assert_string_equal(c.plugin->command, "bare");
    assert_true(c.plugin->cluster_info);
    assert_string_equal(c.plugin->cluster_config, "{\"audience\":\"06e3fbd18de8\",\"n\":[1,-2,\"3\",\"007\",null,true],"
                                                  "\"long-key-long-key-long-key\":{\"a\":\"\\\"\"}}");
    cfr_kube_config_free(&c);
}

static void test_data_over_several_lines(void **state)
{
    static const char text[] = "contexts: [{name: c, context: {cluster: k}}]\ncurrent-context: c\n"
                               "clusters:\n- name: k\n  cluster:\n    server: http://127.0.0.1:8001\n"
                               "    certificate-authority-data: |\n      LS0tLS1CRUdJTiBDRVJUSUZJQ0FU\n"
                               "      RS0tLS0tCmFiYwo=\n";
    struct cfr_kube_config c = read_context(text, NULL);

    (void)state;
    assert_view(cfr_secret_view(&c.ca), PEM);
    cfr_kube_config_free(&c);
}

#define HEAD           "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
#define CLUSTER        "clusters:\n- {name: k, cluster: {server: https://k}}\n"
#define USER(inside)   HEAD CLUSTER "users:\n- name: u\n  user: " inside "\n"
#define EXEC(inside)   USER("{exec: {apiVersion: client.authentication.k8s.io/v1, " inside "}}")
#define SERVER(inside) HEAD "clusters:\n- name: k\n  cluster: " inside "\nusers: [{name: u, user: {}}]\n"

static void test_refusals(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"", "line 1: it is empty"},
        {" \n", "line 1: it is empty"},
        {"a: [", "line 2: expected a value here"},
        {"hello", "not a kubeconfig"},
        {"a: b", "not a kubeconfig"},
        {"contexts: [{name: c, context: {cluster: k}}]", "line 1: current-context: is missing"},
        {"contexts: []\ncurrent-context: c", "context \"c\": contexts: none has the name \"c\""},
        {"contexts: [{name: a}, {name: b}]\ncurrent-context: c", "there are: a, b"},
        {"contexts: {}\ncurrent-context: c", "contexts: must be a list"},
        {"contexts: [{name: c, context: []}]\ncurrent-context: c", "context: must be a mapping"},
        {"contexts: [{name: c}]\ncurrent-context: c", "\"c\" has no context"},
        {"contexts: [{name: c, context: {user: u}}]\ncurrent-context: c", "cluster: is missing"},
        {"contexts: [{name: c, context: {}}, {name: c, context: {}}]\ncurrent-context: c",
         "has two with the name \"c\""},
        {HEAD, "line 1: context \"c\": clusters: none has the name \"k\""},
        {HEAD CLUSTER, "users: none has the name \"u\""},
        {SERVER("{}"), "line 6: context \"c\", cluster \"k\": server: is missing"},
        {SERVER("{server: k:6443}"), "server: must be https://HOST:PORT"},
        {SERVER("{server: 'http://k.example'}"), "plain http is only for loopback"},
        {SERVER("{server: 'http://localhost.evil'}"), "plain http is only for loopback"},
        {SERVER("{server: 'http://127.evil.example:1'}"), "plain http is only for loopback"},
        {SERVER("{server: 'http://[::1].evil'}"), "server: must be"},
        {SERVER("{server: 'https://k?x'}"), "server: must be"},
        {SERVER("{server: 'https://k/?x'}"), "without a query"},
        {SERVER("{server: 'https://u:SESAME@k'}"), "a user or password"},
        {SERVER("{server: 'https:///x'}"), "server: must be"},
        {SERVER("{server: 'https://'}"), "server: must be"},
        {SERVER("{server: [a]}"), "server: must be text"},
        {SERVER("{server: \"https://a\\nb\"}"), "one line of text"},
        {SERVER("{server: https://k, insecure-skip-tls-verify: true}"),
         "insecure-skip-tls-verify: tokens are not sent"},
        {SERVER("{server: https://k, insecure-skip-tls-verify: maybe}"), "must be true or false"},
        {SERVER("{server: https://k, insecure-skip-tls-verify: 'yes'}"), "must be true or false"},
        {SERVER("{server: https://k, insecure-skip-tls-verify: yEs}"), "must be true or false"},
        {SERVER("{server: https://k, certificate-authority-data: SESAME}"),
         "certificate-authority-data: is not base64"},
        {SERVER("{server: https://k, certificate-authority-data: YWJj}"), "is not the base64 of a text in PEM form"},
        {SERVER("{server: https://k, proxy-url: 'socks5://u:SESAME@p'}"),
         "proxy-url: must be the URL of an http or https"},
        {SERVER("{server: https://k, server: https://evil}"),
         "line 6: the key \"server\" occurs twice in one mapping; remove one"},
        {SERVER("\n    server: https://k\n    certificate-authority-data: " PEM_64
                "\n    \"certificate-authority-data\": " PEM_64),
         "line 9: the key \"certificate-authority-data\" occurs twice"},
        {"current-context: c\n" HEAD CLUSTER "users: [{name: u, user: {}}]",
         "line 2: the key \"current-context\" occurs twice"},
        {USER("{}\n  name: v"), "line 9: the key \"name\" occurs twice"},
        {USER("{token: SESAME, \"tok\\x65n\": ~}"), "the key \"token\" occurs twice"},
        {USER("{as: a, as-user-extra: {a: [b], c: [d], a: [e]}}"), "line 8: the key \"a\" occurs twice"},
        /* Also where nothing is looked up. */
        {"kind: Config\nkind: Config\n" HEAD CLUSTER, "line 2: the key \"kind\" occurs twice"},
        {USER("{}\npreferences: {}\npreferences: {}"), "line 10: the key \"preferences\" occurs twice"},
        {USER("{token: a}\n- name: v\n  user: {token: SESAME, x: y, token: SESAME}"),
         "line 10: the key \"token\" occurs twice"},
        {SERVER("\n    server: https://k\n    certificate-authority-data: " PEM_64
                "\n    certificate-authority: a\n    certificate-authority: b"),
         "line 10: the key \"certificate-authority\" occurs twice"},
        {USER("{}\nextensions: [{name: e, extension: {a: [{b: 1, 'b': 2}]}}]"), "line 9: the key \"b\" occurs twice"},
        {USER("{}\nx: {'': 1, '': 2}"), "line 9: the key \"\" occurs twice"},
        {USER("{auth-provider: {name: gcp}}"), "line 8: context \"c\", user \"u\": auth-provider: only oidc is left"},
        {USER("{auth-provider: {name: oidc, config: {id-token: SESAME}}}"),
         "auth-provider: oidc renews its token by writing into the kubeconfig"},
        {USER("{client-certificate-data: " PEM_64 "}"), "must both be there"},
        {USER("{client-key: k.pem}"), "must both be there"},
        {USER("{token: SESAME, username: x}"), "both a token and a username"},
        {USER("{password: SESAME}"), "password: needs a username"},
        {USER("{username: 'a:b', password: SESAME}"), "username: must not hold a colon"},
        {USER("{token: \"SESAME\\nX: y\"}"), "token: must be one line"},
        {USER("{token: \"SESAME \"}"), "without blanks around it"},
        {USER("{as-groups: [a]}"), "need `as`"},
        {USER("{as: \"a\\nb\"}"), "as: holds control characters"},
        {USER("{as: '', as-groups: [a]}"), "need `as`"},
        {USER("{as: x, as-groups: ['']}"), "as-groups: must not be empty"},
        {USER("{as: []}"), "as: must be text"},
        {USER("{as: x, as-groups: a}"), "as-groups: must be a list"},
        {USER("{as: x, as-user-extra: {a: b}}"), "as-user-extra: must map names to lists"},
        {USER("{exec: {command: x}}"), "exec.apiVersion: must be client.authentication.k8s.io/v1"},
        {USER("{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}"), "exec.apiVersion: must be"},
        {USER("{exec: []}"), "exec: must be a mapping"},
        {EXEC("args: [x]"), "exec: has no command"},
        {EXEC("command: x, interactiveMode: Always"), "requires a terminal"},
        {EXEC("command: x, interactiveMode: sometimes"), "must be Never, IfAvailable or Always"},
        {EXEC("command: x, args: x"), "args: must be a list"},
        {EXEC("command: x, args: [\"a\\0b\"]"), "exec.args: holds a NUL"},
        {EXEC("command: x, env: [{value: SESAME}]"), "exec.env: each must have a name"},
        {EXEC("command: x, env: [{name: 'a=b', value: SESAME}]"), "exec.env: each must have a name"},
        {EXEC("command: x, env: [{name: a, value: \"SESAME\\0\"}]"), "exec.env: holds a NUL"},
        {USER("{token: SESAME, exec: {apiVersion: client.authentication.k8s.io/v1, command: x}}"),
         "both exec and a token"},
        {"~", "line 1: it is empty"},
        {"---\n---\n" HEAD CLUSTER, "line 1: it is empty"},
        {"contexts: *a", "line 1: an alias (*) without its anchor (&)"},
        {"contexts: &a [*a]", "an alias (*) is inside the value of its anchor (&)"},
        {"<<: x", "the value of a merge key (<<) must be a mapping"},
        {"<<: [{}, []]", "the value of a merge key (<<) must be a mapping"},
        {"<<: {}\n<<: {}", "line 2: a second merge key (<<)"},
        {"server: x\n<<: {server: y}", "line 2: the merge key (<<) comes after a key that it also has; write it first"},
        {USER("{token: !!str SESAME}"), "tags (!) are not supported"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_kube_config c;
        struct cfr_err err = {0};

        if (cfr_kube_config_parse(cfr_view_of(cases[i].text), "/etc/kube/config", NULL, &c, &err) != CFR_E_CONFIG)
            fail_msg("case %zu was taken: %s", i, cases[i].words);
        assert_contains(err.text, cases[i].words);
        assert_null(strstr(err.text, "SESAME"));
        assert_null(c.server);
        assert_int_equal(cfr_kube_config_parse(cfr_view_of(cases[i].text), "/c", NULL, &c, NULL), CFR_E_CONFIG);
    }
}

static void test_schemes_in_capitals(void **state)
{
    struct cfr_kube_config c =
        read_context(SERVER("{server: 'HTTPS://K.example:6443/A/', proxy-url: 'Http://U:P@Proxy.example'}"), NULL);

    (void)state;
    assert_string_equal(c.server, "https://K.example:6443/A");
    assert_view(cfr_secret_view(&c.proxy), "http://U:P@Proxy.example");
    cfr_kube_config_free(&c);
}

/* As kubectl reads them: the first document, what anchors stand for, and any other program's deep extensions. */
static void test_whole_yaml(void **state)
{
    static const char text[] =
        "---\n"
        "templates:\n"
        "- &a-cluster-of-the-first-region\n"
        "  certificate-authority-data: &long-name-of-an-authority " PEM_64 "\n"
        "  insecure-skip-tls-verify: false\n"
        "  server: https://default.example\n"
        "- &second {tls-server-name: second.example, server: https://other.example}\n"
        "current-context: &name c\n"
        "contexts:\n"
        "- {name: *name, context: {cluster: k, user: u, namespace: *name}}\n"
        "clusters:\n"
        "- name: k\n"
        "  cluster:\n"
        "    <<: [*a-cluster-of-the-first-region, *second]\n"
        "    server: https://own.example\n"
        "- name: l\n"
        "  cluster: *a-cluster-of-the-first-region\n"
        "- {name: m, cluster: {proxy-url: 'http://p', <<: *second}}\n"
        "extensions: {deep: " DEEP_20 "}\n"
        "users: [{name: u, user: {client-certificate-data: *long-name-of-an-authority, client-key-data: " KEY_64 "}}]\n"
        "---\n"
        "current-context: other\n"
        "\t@ not even YAML\n";
    static const char also[] = "contexts: [{name: l, context: {cluster: l}}, {name: m, context: {cluster: m}}]\n";
    struct cfr_kube_config c = read_context(text, NULL);
    char others[sizeof text + sizeof also];

    (void)state;
    assert_string_equal(c.server, "https://own.example");
    assert_string_equal(c.server_name, "second.example");
    assert_string_equal(c.namespace_name, "c");
    assert_view(cfr_secret_view(&c.ca), PEM);
    assert_view(cfr_secret_view(&c.cert), PEM);
    cfr_kube_config_free(&c);
    (void)snprintf(others, sizeof others, "%.*s%s%s", (int)(strstr(text, "contexts:\n") - text), text, also,
                   strstr(text, "clusters:\n"));
    c = read_context(others, "l");
    assert_string_equal(c.server, "https://default.example");
    assert_view(cfr_secret_view(&c.ca), PEM);
    cfr_kube_config_free(&c);
    c = read_context(others, "m");
    assert_string_equal(c.server, "https://other.example");
    assert_view(cfr_secret_view(&c.proxy), "http://p");
    assert_int_equal(c.ca.len, 0);
    cfr_kube_config_free(&c);
}

static void refuses_long(const struct cfr_str *text, const char *why)
{
    struct cfr_kube_config c;
    struct cfr_err err = {0};

    assert_false(text->failed);
    assert_int_equal(cfr_kube_config_parse(cfr_str_view(text), "/c", NULL, &c, &err), CFR_E_CONFIG);
    assert_contains(err.text, why);
}

/* A few aliases of aliases stand for more than any memory or stack holds. */
static void test_bombs(void **state)
{
    static const char plugin[] = HEAD "clusters: [{name: k, cluster: {server: https://k, extensions: [{name: "
                                      "client.authentication.k8s.io/exec, extension: *a9}]}}]\n"
                                      "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
                                      "command: x, provideClusterInfo: true}}}]\n";
    struct cfr_str text = {.limit = 1048576};

    (void)state;
    cfr_str_addz(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 10; i++)
        cfr_str_addf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1,
                     i - 1, i - 1, i - 1, i - 1);
    cfr_str_addz(&text, plugin);
    refuses_long(&text, "the one of client.authentication.k8s.io/exec is too large");
    cfr_str_free(&text);
    cfr_str_addz(&text, "a: &a0 [x]\n");
    for (int i = 1; i < 99; i++)
        cfr_str_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    refuses_long(&text, "line 64: nested too deeply");
    cfr_str_free(&text);
    for (int i = 0; i < 65; i++)
        cfr_str_addz(&text, "[");
    refuses_long(&text, "line 1: nested too deeply");
    cfr_str_free(&text);
    cfr_str_addz(&text, "a: &a {b: c}\nd: [");
    for (int i = 0; i < 4097; i++)
        cfr_str_addz(&text, "*a,");
    cfr_str_addz(&text, "]\n");
    refuses_long(&text, "too many aliases (*)");
    cfr_str_free(&text);
    for (int i = 0; i < 1025; i++)
        cfr_str_addz(&text, "- &a b\n");
    refuses_long(&text, "line 1025: too many anchors (&)");
    cfr_str_free(&text);
}

/* Those of YAML 1.1, as kubectl reads them. */
static void test_booleans(void **state)
{
    static const char *const no[] = {"n", "No", "OFF", "False"};
    static const char *const yes[] = {"y", "YES", "On", "TRUE"};
    struct cfr_kube_config c;

    (void)state;
    for (size_t i = 0; i < COUNT(no); i++) {
        char text[512];
        struct cfr_err err = {0};

        (void)snprintf(text, sizeof text, SERVER("{server: https://k, insecure-skip-tls-verify: %s}"), no[i]);
        c = read_context(text, NULL);
        cfr_kube_config_free(&c);
        (void)snprintf(text, sizeof text, SERVER("{server: https://k, insecure-skip-tls-verify: %s}"), yes[i]);
        assert_int_equal(cfr_kube_config_parse(cfr_view_of(text), "/c", NULL, &c, &err), CFR_E_CONFIG);
        assert_contains(err.text, "tokens are not sent");
    }
    c = read_context(HEAD "clusters: [{name: k, cluster: {server: https://k, extensions: [{name: "
                          "client.authentication.k8s.io/exec, extension: [yes, 'no', off, 0, 10, -07]}]}}]\n"
                          "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                          "provideClusterInfo: on}}}]",
                     NULL);
    assert_string_equal(c.plugin->cluster_config, "[true,\"no\",false,0,10,\"-07\"]");
    cfr_kube_config_free(&c);
}

/* As kubectl takes them. */
static void test_empty_impersonation(void **state)
{
    static const char *const users[] = {
        USER("{as: '', as-uid: \"\", as-groups: [], as-user-extra: {}, username: '', password: ''}"),
        USER("{as-uid: , as-groups: ~, as-user-extra: null}"),
    };
    struct cfr_kube_config c;

    (void)state;
    for (size_t i = 0; i < COUNT(users); i++) {
        c = read_context(users[i], NULL);
        assert_int_equal(c.header_count, 0);
        cfr_kube_config_free(&c);
    }
    c = read_context(USER("{as: ann, as-uid: '', as-groups: [], as-user-extra: {a: [], b: , c: [d]}}"), NULL);
    assert_int_equal(c.header_count, 2);
    assert_view(cfr_secret_view(&c.headers[0]), "Impersonate-User: ann");
    assert_view(cfr_secret_view(&c.headers[1]), "Impersonate-Extra-c: d");
    cfr_kube_config_free(&c);
}

/* As in kubectl, which then sends requests without an identity. */
static void test_a_user_without_settings(void **state)
{
    static const char *const users[] = {"[{name: u, user: {}}]", "[{name: u, user: null}]", "[{name: u, user: }]",
                                        "[{name: u}]", "[{name: v}, {user: ~, name: u}]"};

    (void)state;
    for (size_t i = 0; i < COUNT(users); i++) {
        char text[512];
        struct cfr_kube_config c;

        (void)snprintf(text, sizeof text, "%susers: %s\n", HEAD CLUSTER, users[i]);
        c = read_context(text, NULL);
        assert_string_equal(c.server, "https://k");
        assert_true(c.token.len == 0 && c.token_file == NULL && c.basic.len == 0 && c.cert.len == 0 &&
                    c.cert_file == NULL && c.header_count == 0 && c.plugin == NULL);
        cfr_kube_config_free(&c);
    }
}

static void test_unknown_context_is_named(void **state)
{
    struct cfr_kube_config c;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_kube_config_parse(cfr_view_of(main_config), "/c", "prod", &c, &err), CFR_E_CONFIG);
    assert_contains(err.text, "none has the name \"prod\"; there are: staging, a-context-with-a-long-name@two, plugin");
}

static void unveil(struct cfr_view veiled, struct cfr_view original, char *out, size_t size)
{
    struct cfr_view piece;
    size_t n = 0;

    while (cfr_kube_yaml_mask_next(&veiled, original, &piece)) {
        assert_true(n + piece.n < size);
        memcpy(out + n, piece.p, piece.n);
        n += piece.n;
    }
    out[n] = '\0';
}

static void test_veil(void **state)
{
    static const struct {
        const char *text;
        const char *gone; /* NULL: everything is still there */
    } cases[] = {
        {"", NULL},
        {"token: short", NULL},
        {"token: fifteen-letters", NULL},
        {"token: sixteen--letters", "sixteen--letters"},
        {"a: sixteen--letters\nb: 'another-long-word-here'", "another-long"},
        {"{\"token\":\"sixteen--letters\"}", "sixteen--letters"},
        {"\"a\\nsixteen--letters\"", "sixteen--letters"},
        {"\"a\\u0041sixteen--letters\"", "sixteen--letters"},
        {"\"a\\x41\"", NULL},
        {"\\", NULL},
        {"\\U", NULL},
        {"sixteen--letters#and", "sixteen"},
        {"CFRVEIL0000000000000005 sixteen--letters", NULL},
        {"certificate-authority-data: short", NULL},
        {"[&sixteen--letters a, *sixteen--letters ]", NULL},
        {"a&sixteen--letters", "sixteen--letters"},
        {"'*sixteen--letters'", "sixteen--letters"},
        {"xxxCFRVEIL", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_view original;
        struct cfr_secret out;
        char back[256];

        cfr_secret_init(&out, 1024);
        assert_int_equal(cfr_kube_yaml_mask(cfr_view_of(cases[i].text), &out, &original, NULL), 0);
        unveil(cfr_secret_view(&out), original, back, sizeof back);
        assert_string_equal(back, cases[i].text);
        if (cases[i].gone != NULL)
            assert_true(cfr_view_find(cfr_secret_view(&out), cases[i].gone) < 0);
        else
            assert_view(cfr_secret_view(&out), cases[i].text);
        cfr_secret_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_current_context),
        cmocka_unit_test(test_paths_and_names),
        cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_password_and_nobody),
        cmocka_unit_test(test_json_with_cluster_extension),
        cmocka_unit_test(test_data_over_several_lines),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_schemes_in_capitals),
        cmocka_unit_test(test_whole_yaml),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_booleans),
        cmocka_unit_test(test_empty_impersonation),
        cmocka_unit_test(test_a_user_without_settings),
        cmocka_unit_test(test_unknown_context_is_named),
        cmocka_unit_test(test_veil),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
