/* SPDX-License-Identifier: MIT */
/* Configuration of local endpoints and of the token socket: values, and the error for each mistake. */
#include "agent/config/config_private.h"

#include "config_text.h"

#include "agent/bind/bind.h"
#include "agent/config/sdk_environment.h"

#include <stdlib.h>

#define HEAD  "version: 1\ncredentials:\n"
#define TOKEN "token: {file: /t/token}"
#define AWS                                                                                                            \
    "  - {name: a, " TOKEN ", exchange: {aws: {role_arn: \"arn:aws:iam::123456789012:role/r\", region: us-east-1}}}\n"
#define AZURE                                                                                                          \
    "  - {name: z, " TOKEN ", exchange: {azure: {tenant_id: 11111111-2222-3333-4444-555555555555, "                    \
    "client_id: 11111111-2222-3333-4444-555555555555, scopes: [https://vault.azure.net/.default]}}}\n"
#define POOL "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/p/providers/q"
#define GCP(more)                                                                                                      \
    "  - {name: g, " TOKEN ", exchange: {gcp: {audience: \"" POOL                                                      \
    "\", service_account: s@demo-project.iam.gserviceaccount.com" more "}}}\n"
#define PLAIN              "  - {name: p, " TOKEN ", publish: {file: {path: /run/p, format: token}}}\n"
#define AT                 "endpoints:\n  - listen: 127.0.0.1:9911\n"
#define PROOF              "authorization: {file: /run/auth}"
#define OF_A               "    aws_container: {credential: a, " PROOF "}\n"

#define ALL_REFUSED(cases) all_refused(cases, sizeof(cases) / sizeof((cases)[0]))

static const char everything[] = HEAD AWS AZURE GCP(", id_token_audience: https://app.example, access_token: true")
    PLAIN "endpoints:\n"
          "  - listen: 127.0.0.1:9911\n"
          "    aws_container:\n"
          "      - {credential: a, authorization: {file: /run/auth, mode: \"0640\", group: \"7\"}}\n"
          "      - {credential: a, path: /v1/creds, authorization: {file: /run/pod-token, existing: true}}\n"
          "    ec2_imds: {credential: a, role: registry, region: eu-west-1}\n"
          "    gce_metadata:\n"
          "      project_id: demo-project\n"
          "      numeric_project_id: \"123456789\"\n"
          "      zone: europe-west1-b\n"
          "      accounts:\n"
          "        - credential: g\n"
          "          email: s@demo-project.iam.gserviceaccount.com\n"
          "          aliases: [worker]\n"
          "          scopes: [https://www.googleapis.com/auth/cloud-platform]\n"
          "          identities: [{audience: https://app.example, credential: g}]\n"
          "    azure_imds: {identities: [{credential: z}]}\n"
          "    azure_app_service: {identities: [{credential: z, client_id: c}], header: {file: /run/header}}\n"
          "  - listen: \"[fd00:ec2::23]:80\"\n"
          "    aws_container: {credential: a, authorization: {file: /run/auth2}}\n";

/* The INDEX-th configuration of the shape NAME at E. */
static const void *shape_of(const struct cfr_config_endpoint *e, const char *name, size_t index)
{
    const struct cfr_sdk_shape *shape;
    void *found;

    for (size_t i = 0; (shape = cfr_config_shape_at(e, i, &found)) != NULL; i++) {
        if (strcmp(shape->name, name) == 0 && index-- == 0)
            return found;
    }
    fail_msg("no %s number %zu", name, index);
    abort();
}

static void test_everything_is_read(void **state)
{
    struct cfr_config *c = parse(everything);
    const struct cfr_config_endpoint *e = cfr_config_endpoint_at(c, 0);
    const struct cfr_sdk_aws_container *first = shape_of(e, "aws_container", 0);
    const struct cfr_sdk_aws_container *second = shape_of(e, "aws_container", 1);
    const struct cfr_sdk_gce_metadata *gce = shape_of(e, "gce_metadata", 0);
    const struct cfr_sdk_gce_account *account = gce->accounts.items;
    const struct cfr_sdk_gce_identity *identity = account->identities.items;
    const struct cfr_sdk_azure *imds = shape_of(e, "azure_imds", 0);

    (void)state;
    assert_int_equal(c->endpoints.count, 2);
    assert_null(cfr_config_endpoint_at(c, 2));
    assert_string_equal(e->listen, "127.0.0.1:9911");
    assert_int_equal(e->shapes.count, 6);
    assert_string_equal(first->path, "/aws/a");
    assert_string_equal(first->authorization->file, "/run/auth");
    assert_int_equal(first->authorization->mode, 0640);
    assert_int_equal(second->authorization->mode, -1);
    assert_string_equal(second->path, "/v1/creds");
    assert_true(second->authorization->existing);
    assert_string_equal(((const struct cfr_sdk_ec2_imds *)shape_of(e, "ec2_imds", 0))->role, "registry");
    assert_string_equal(gce->numeric_project_id, "123456789");
    assert_string_equal(account->aliases.items[0], "worker");
    assert_string_equal(identity->audience, "https://app.example");
    assert_int_equal(imds->identities.count, 1);
    assert_null(imds->header);
    assert_string_equal(((const struct cfr_sdk_azure *)shape_of(e, "azure_app_service", 0))->header->file,
                        "/run/header");
    for (size_t i = 0; i < 3; i++)
        assert_true(cfr_config_at(c, i)->served);
    assert_false(cfr_config_at(c, 3)->served);
    cfr_config_free(c);
}

static void test_who_may_ask(void **state)
{
    struct cfr_config *c = parse("version: 1\ntoken_socket: /run/tokens.sock\ncredentials:\n"
                                 "  - {name: a, " TOKEN ", allow: {users: [\"1000\", app], groups: [staff]}}\n"
                                 "  - {name: b, " TOKEN ", allow: {}}\n");

    (void)state;
    assert_string_equal(c->token_socket, "/run/tokens.sock");
    assert_int_equal(cfr_config_at(c, 0)->allow->users.count, 2);
    assert_int_equal(cfr_config_at(c, 1)->allow->users.count, 0);
    assert_true(cfr_config_at(c, 0)->served && cfr_config_at(c, 1)->served);
    cfr_config_free(c);
    /* Without a socket of its own the control socket has it. */
    cfr_config_free(parse(HEAD "  - {name: b, " TOKEN ", allow: {}}\n"));
    ALL_REFUSED(((const struct refusal[]){
        {HEAD "  - {name: b, " TOKEN ", allow: {users: [app]}}\n",
         "f:3: credential b: allow: has no effect without a socket; write `token_socket` at the top level, such as "
         "/run/credfresh-tokens.sock\n"},
        {"token_socket: /run/t.sock\n" HEAD PLAIN,
         "f:1: token_socket: serves nothing; write `allow` in the credentials that it should serve\n"},
        {"token_socket: /run/credfresh/t.sock\n" HEAD "  - {name: b, " TOKEN ", allow: {}}\n",
         "f:1: token_socket: /run/credfresh/t.sock lies in state_dir, which only the agent's user can enter; choose "
         "another "
         "path\n"},
        {"token_socket: /run/p\n" HEAD "  - {name: p, " TOKEN
         ", allow: {}, publish: {file: {path: /run/p, format: token}}}\n",
         "f:4: credential p: publish.file.path: /run/p is token_socket of this configuration; choose another path\n"},
    }));
}

#define FROM(networks, shape) HEAD AWS AZURE AT "    from: " networks "\n" shape

static void test_networks(void **state)
{
    struct cfr_config *config =
        parse(FROM("[10.244.0.0/16, \"fd00:10::/64\"]",
                   OF_A "    azure_app_service: {identities: [{credential: z}], header: {file: /run/header}}\n"));

    (void)state;
    assert_int_equal(cfr_config_endpoint_at(config, 0)->from.count, 2);
    cfr_config_free(config);
    ALL_REFUSED(((const struct refusal[]){
        {FROM("[]", OF_A), "f:7: endpoint number 1: from: is empty; write at least 1\n"},
        {FROM("[pods]", OF_A),
         "f:7: endpoint number 1: from: \"pods\": is not a network; write one such as 10.244.0.0/16 or fd00:10::/64\n"},
        {FROM("[10.244.3.0/16]", OF_A), "f:7: endpoint number 1: from: \"10.244.3.0/16\": has bits set beyond its "
                                        "prefix; write 10.244.0.0/16, or 10.244.3.0 for only that address\n"},
        {FROM("[0.0.0.0/0]", OF_A), "f:7: endpoint number 1: from: \"0.0.0.0/0\": that is every address; write the "
                                    "networks that are meant\n"},
        {FROM("[10.244.0.0/16]", OF_A "    ec2_imds: {credential: a}\n"),
         "f:7: endpoint number 1: from: clients of `ec2_imds` show no secret, so every process of these networks would "
         "have "
         "the credentials; remove `from`, or serve `aws_container` or `azure_app_service` here and `ec2_imds` at "
         "another "
         "address without `from`\n"},
    }));
}

#define LISTEN(at) HEAD AWS "endpoints:\n  - listen: " at "\n" OF_A

static void test_addresses(void **state)
{
    static const char *const good[] = {
        LISTEN("127.0.0.1:1"),        LISTEN("127.9.9.9:65535"),        LISTEN("\"[::1]:80\""),
        LISTEN("169.254.170.2:80"),   LISTEN("169.254.170.23:80"),      LISTEN("\"[fd00:ec2::23]:80\""),
        LISTEN("169.254.169.254:80"), LISTEN("\"[fd00:ec2::254]:80\""),
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cfr_config_free(parse(good[i]));
#define OTHERS                                                                                                         \
    " may be reached by other machines, which must never get credentials; write 127.0.0.1, [::1] or one of "           \
    "169.254.170.2, "                                                                                                  \
    "169.254.170.23, [fd00:ec2::23], 169.254.169.254, [fd00:ec2::254]\n"
#define NO_PORT(port)                                                                                                  \
    "f:5: endpoint number 1: listen: \"" port                                                                          \
    "\" is not a port that clients can connect to; write one from 1 to 65535\n"
    ALL_REFUSED(((const struct refusal[]){
        {LISTEN("0.0.0.0:80"), "f:5: endpoint number 1: listen: 0.0.0.0" OTHERS},
        {LISTEN("10.0.0.1:80"), "f:5: endpoint number 1: listen: 10.0.0.1" OTHERS},
        {LISTEN("169.254.170.3:80"), "f:5: endpoint number 1: listen: 169.254.170.3" OTHERS},
        {LISTEN("\"[::]:80\""), "f:5: endpoint number 1: listen: ::" OTHERS},
        {LISTEN("\"[::ffff:127.0.0.1]:80\""), "f:5: endpoint number 1: listen: ::ffff:127.0.0.1" OTHERS},
        {LISTEN("\":80\""), "f:5: endpoint number 1: listen: :80 is not an address with a port; write one such as "
                            "\"127.0.0.1:9911\" or \"[::1]:9911\"\n"},
        {LISTEN("localhost:80"), "f:5: endpoint number 1: listen: localhost:80 is not a literal address; write one "
                                 "such as \"127.0.0.1:9911\" or \"[::1]:9911\"\n"},
        {LISTEN("127.1:80"), "f:5: endpoint number 1: listen: 127.1:80 is not a literal address; write one such as "
                             "\"127.0.0.1:9911\" or \"[::1]:9911\"\n"},
        {LISTEN("\"[0:0::1]:80\""), "f:5: endpoint number 1: listen: 0:0::1 is written [::1] in short; write that\n"},
        {LISTEN("127.0.0.1:0"), NO_PORT("0")},
        {LISTEN("127.0.0.1:080"), NO_PORT("080")},
        {LISTEN("127.0.0.1:65536"), NO_PORT("65536")},
        {LISTEN("\"127.0.0.1:\""), NO_PORT("")},
        {"listen: 127.0.0.1:9911\n" HEAD AWS AT OF_A,
         "f:6: endpoint 127.0.0.1:9911: listen: is also where health and metrics are (127.0.0.1:9911); choose "
         "another port\n"},
        {HEAD AWS AT OF_A "  - listen: 127.0.0.1:9911\n    ec2_imds: {credential: a}\n",
         "f:7: endpoint 127.0.0.1:9911: listen: another endpoint has it, on line 5; put the shapes of both into one, "
         "or choose "
         "another port\n"},
        {HEAD AWS AT "    ec2_imds: {credential: a}\n    azure_imds: {identities: []}\n    ec2_imds: {credential: a}\n",
         "f:7: endpoint number 1: azure_imds.identities: is empty; write at least 1\n"
         "f:8: endpoint number 1: ec2_imds: is given twice, first on line 6; remove one\n"},
        {HEAD AWS AT "    ec2_imds: [{credential: a}]\n",
         "f:6: endpoint number 1: ec2_imds: expected a mapping, got a list; write `credential: ...` below it, "
         "indented\n"},
        {HEAD AWS AT "    shapes: {}\n", "f:6: endpoint number 1: unknown key shapes; this endpoint has: listen, from, "
                                         "aws_container, ec2_imds, gce_metadata, azure_imds, azure_app_service\n"},
        {HEAD AWS AT, "f:5: endpoint number 1: serves nothing; write one or more of `aws_container`, `ec2_imds`, "
                      "`gce_metadata`, `azure_imds`, `azure_app_service`\n"},
    }));
}

#define CONTAINER(path)     HEAD AWS AT "    aws_container: {credential: a, path: \"" path "\", " PROOF "}\n"
#define BESIDE(path, shape) CONTAINER(path) "    " shape "\n"
#define EC2                 "ec2_imds: {credential: a}"

static void test_paths(void **state)
{
    (void)state;
    cfr_config_free(parse(BESIDE("/latests", EC2)));
    cfr_config_free(parse(CONTAINER("/latest/keys")));
    ALL_REFUSED(((const struct refusal[]){
        {CONTAINER("aws/a"),
         "f:6: endpoint number 1: aws_container.path: write one that begins with / and does not end with it, "
         "of letters, digits and ._~-, such as /aws/registry\n"},
        {CONTAINER("/aws/"),
         "f:6: endpoint number 1: aws_container.path: write one that begins with / and does not end with it, "
         "of letters, digits and ._~-, such as /aws/registry\n"},
        {CONTAINER("/a?b"),
         "f:6: endpoint number 1: aws_container.path: write one that begins with / and does not end with it, "
         "of letters, digits and ._~-, such as /aws/registry\n"},
        {CONTAINER("/a/../b"),
         "f:6: endpoint number 1: aws_container.path: has an empty, . or .. part, which clients remove; remove it\n"},
        {CONTAINER("/a//b"),
         "f:6: endpoint number 1: aws_container.path: has an empty, . or .. part, which clients remove; remove it\n"},
        {BESIDE("/latest/keys", EC2),
         "f:6: endpoint 127.0.0.1:9911: aws_container.path: /latest/keys belongs to ec2_imds there; choose another\n"},
        {HEAD AWS AT "    aws_container:\n      - {credential: a, " PROOF "}\n"
                     "      - {credential: a, authorization: {file: /run/auth2}}\n",
         "f:8: endpoint 127.0.0.1:9911: aws_container.path: /aws/a is also that of line 7; choose another\n"},
        {HEAD AWS AT "    aws_container:\n      - {credential: a, " PROOF "}\n      - {credential: a, path: /b, " PROOF
                     "}\n",
         "f:8: file of an endpoint: /run/auth is that of an endpoint (line 7); choose another path\n"},
        {HEAD AWS AT "    aws_container: {credential: a}\n", "f:6: endpoint number 1: aws_container.authorization: is "
                                                             "missing; this AWS container endpoint needs it\n"},
        {HEAD AWS AT
         "    aws_container: {credential: a, authorization: {file: /run/auth, existing: true, mode: \"0640\"}}\n",
         "f:6: endpoint number 1: aws_container.authorization.mode: is for a file that credfresh makes; leave it out "
         "with "
         "`existing`\n"},
        {HEAD AWS AT "    aws_container: {credential: a, authorization: {file: /run/credfresh/a, group: app}}\n",
         "f:6: endpoint 127.0.0.1:9911: /run/credfresh/a lies in state_dir, which only the agent's user can "
         "enter; choose "
         "another path\n"},
        {HEAD AWS AT "    azure_app_service: {identities: [{credential: a}]}\n",
         "f:6: endpoint number 1: azure_app_service.header: is missing; this Azure App Service endpoint needs "
         "it\n"},
    }));
}

static void test_credentials_fit(void **state)
{
#define NEEDS(line, where, what, name)                                                                                 \
    "f:" line ": endpoint 127.0.0.1:9911: " where ": needs " what ", which credential " name                           \
    " does not have; write the name of one whose exchange gives it\n"
    (void)state;
    ALL_REFUSED(((const struct refusal[]){
        {HEAD AWS AT "    ec2_imds: {credential: b}\n" OF_A,
         "f:6: endpoint 127.0.0.1:9911: ec2_imds.credential: there is no credential b; write the name of one that "
         "there is\n"},
        {HEAD AZURE AT "    ec2_imds: {credential: z}\n", NEEDS("6", "ec2_imds.credential", "aws_access_key_id", "z")},
        {HEAD PLAIN AT "    aws_container: {credential: p, " PROOF "}\n",
         NEEDS("6", "aws_container.credential", "aws_access_key_id", "p")},
        {HEAD AWS AT "    azure_imds: {identities: [{credential: a}]}\n",
         NEEDS("6", "azure_imds.identities.credential", "azure_access_token", "a")},
        {HEAD AWS AT "    gce_metadata: {accounts: [{credential: a}]}\n",
         NEEDS("6", "gce_metadata.accounts.credential", "gcp_access_token", "a")},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{identities: [{audience: x, credential: g}]}]}\n",
         "f:6: endpoint 127.0.0.1:9911: gce_metadata.accounts.identities.credential: g has no identity token, not x; "
         "write that "
         "as `audience`, or another `id_token_audience` in its exchange\n"},
        {HEAD GCP(", id_token_audience: y") AT
         "    gce_metadata: {accounts: [{identities: [{audience: x, credential: g}]}]}\n",
         "f:6: endpoint 127.0.0.1:9911: gce_metadata.accounts.identities.credential: g has an identity token for y, "
         "not x; write "
         "that as `audience`, or another `id_token_audience` in its exchange\n"},
        {HEAD AWS "  - {name: b, " TOKEN "}\n" AT OF_A, "f:4: credential b: publish: is missing; this credential needs "
                                                        "it, because no endpoint serves it and it has no `allow`\n"},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{scopes: [s], identities: [{audience: x, credential: g}]}]}\n",
         "f:6: endpoint number 1: gce_metadata.accounts.scopes: are those of an access token; add `credential`\n"},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{email: e}]}\n",
         "f:6: endpoint number 1: gce_metadata.accounts: has nothing to serve; write `credential`, `identities` or "
         "both\n"},
        {HEAD GCP("") AT "    gce_metadata: {numeric_project_id: \"12a\", accounts: [{credential: g}]}\n",
         "f:6: endpoint number 1: gce_metadata.numeric_project_id: is a number of decimal digits\n"},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{email: a/b, credential: g}]}\n",
         "f:6: endpoint number 1: gce_metadata.accounts.email: a/b cannot be a part of a path; use letters, digits and "
         "@._+-:\n"},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{aliases: [\"a b\"], credential: g}]}\n",
         "f:6: endpoint number 1: gce_metadata.accounts.aliases: a b cannot be a part of a path; use letters, digits "
         "and @._+-:\n"},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{email: x, credential: g}, {aliases: [x], credential: g}]}\n",
         "f:6: endpoint number 1: gce_metadata.accounts: two are called x, on lines 6 and 6; rename one\n"},
        {HEAD GCP("") AT "    gce_metadata: {accounts: [{credential: g}, {aliases: [default], credential: g}]}\n",
         "f:6: endpoint number 1: gce_metadata.accounts: the alias default belongs to the first account, on line 6; "
         "remove it on line 6\n"},
    }));
}

static void test_digests(void **state)
{
    struct cfr_config *without =
        parse(HEAD AWS "  - {name: x, " TOKEN ", publish: {file: {path: /run/x, format: token}}}\n" AT OF_A);
    struct cfr_config *with =
        parse(HEAD AWS "  - {name: x, " TOKEN ", allow: {}, publish: {file: {path: /run/x, format: token}}}\n"
                       "endpoints:\n  - listen: 127.0.0.1:9912\n    ec2_imds: {credential: a}\n");

    (void)state;
    /* Who is served decides nothing about what is published, nor about who is told. */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cfr_config_at(without, i)->digest_material, cfr_config_at(with, i)->digest_material);
        assert_int_equal(cfr_config_at(without, i)->digest, cfr_config_at(with, i)->digest);
    }
    cfr_config_free(without);
    cfr_config_free(with);
}

/* ---- a shape is a row: nothing of the configuration knows which there are ---- */

struct toy {
    struct cfr_node node;
    char *credential;
};

static const struct cfr_field toy_fields[] = {
    {.key = "credential", .type = CFR_FIELD_STRING, .offset = offsetof(struct toy, credential)}, {.key = NULL}};
static const struct cfr_table toy_table = {.name = "toy", .size = sizeof(struct toy), .fields = toy_fields};

static int toy_env(struct cfr_sdk_env *e, const void *config, const char *listen, const char *credential,
                   const char *client_id, struct cfr_err *err)
{
    const struct toy *t = config;

    (void)client_id;
    return strcmp(t->credential, credential) == 0 ? cfr_sdk_env_set(e, CFR_SDK_ENV_OTHER_FILE, "TOY_HOST", listen, err)
                                                  : 0;
}

static const struct cfr_sdk_shape toy_shape = {.name = "toy", .table = &toy_table, .most = 2, .env = toy_env};

static struct cfr_variant toy_variant(size_t index)
{
    return index == 0 ? (struct cfr_variant){.key = toy_shape.name,
                                             .table = toy_shape.table,
                                             .row = &toy_shape,
                                             .most = toy_shape.most}
                      : (struct cfr_variant){.key = NULL};
}

static void test_a_toy_shape(void **state)
{
    static const struct cfr_field fields[] = {{.key = "shapes",
                                               .type = CFR_FIELD_ANY_OF,
                                               .offset = offsetof(struct cfr_config_endpoint, shapes),
                                               .variant = toy_variant},
                                              {.key = NULL}};
    static const struct cfr_table table = {
        .name = "endpoint", .size = sizeof(struct cfr_config_endpoint), .fields = fields};
    static const char text[] = "toy: [{credential: b}, {credential: a}]\n";
    struct cfr_config_endpoint e = {.listen = (char[]){"127.0.0.1:1"}};
    struct cfr_config config = {.endpoints = {&e, 1}};
    struct cfr_config_credential credential = {.name = (char[]){"a"}};
    struct cfr_config_diagnostics ps = {0};
    struct cfr_sdk_env env;
    struct cfr_yaml *doc;
    int line;

    (void)state;
    assert_int_equal(cfr_yaml_parse(cfr_view_of(text), &doc, &line, NULL), 0);
    cfr_config_bind(&table, cfr_yaml_root(doc), &e, &ps);
    cfr_yaml_free(doc);
    assert_int_equal(ps.count, 0);
    assert_int_equal(e.shapes.count, 2);
    assert_int_equal(cfr_config_sdk_environment(&config, &credential, &env, NULL), 0);
    assert_int_equal(env.count, 1);
    assert_string_equal(cfr_sdk_env_find(&env, "TOY_HOST")->value, "127.0.0.1:1");
    cfr_sdk_env_free(&env);
    cfr_field_free(&table, &e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_read),
        cmocka_unit_test(test_who_may_ask),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_credentials_fit),
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_a_toy_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
