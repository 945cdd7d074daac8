/* SPDX-License-Identifier: MIT */
/* Configuration of image credentials: values, and the error for each mistake. */
#include "agent/config/config_private.h"

#include "config_text.h"

#include "sts/aws/aws.h"
#include "sts/azure/azure.h"
#include "sts/providers.h"

#define HEAD "version: 1\nimage_credentials:\n"
#define ROLE "role_arn: \"arn:aws:iam::123456789012:role/pull\""
#define AWS  "exchange: {aws: {" ROLE ", region: eu-west-1}}"
/* An item on line 3, with REST. */
#define ITEM(rest)   HEAD "  - {name: a, match: [r.example], " rest "}\n"
#define NOTES(pairs) ITEM(AWS ", annotations: {" pairs "}")
#define IDS          "tenant_id: 11111111-2222-3333-4444-555555555555, client_id: 66666666-7777-8888-9999-aaaaaaaaaaaa"

static const char full[] = "version: 1\n"
                           "image_credentials:\n"
                           "  - name: ecr\n"
                           "    match: [\"*.dkr.ecr.*.amazonaws.com\", public.ecr.aws]\n"
                           "    token: {file: /t/token, audience: other}\n"
                           "    audience: sts.amazonaws.com\n"
                           "    cache: 2h\n"
                           "    annotations: {role_arn: eks.amazonaws.com/role-arn, session_name: name}\n"
                           "    exchange:\n"
                           "      aws: {region: eu-west-1, ecr: {endpoint: \"https://ecr.example\"}}\n"
                           "  - name: acr\n"
                           "    match: [\"*.azurecr.io\"]\n"
                           "    exchange: {azure: {" IDS ", acr_endpoint: \"https://gateway.example\"}}\n"
                           "  - name: google\n"
                           "    match: [\"*-docker.pkg.dev/project\", gcr.io]\n"
                           "    exchange: {gcp: {audience: //iam.googleapis.com/projects/1/locations/global/"
                           "workloadIdentityPools/p/providers/q, lifetime: 2h}}\n"
                           "    annotations: {service_account: iam.gke.io/gcp-service-account}\n"
                           "  - {name: pods, match: [r.example], exchange: {aws_container: {ecr: {region: eu-west-1, "
                           "endpoint: \"https://ecr.example\"}}}}\n";

static void everything_is_read(void **state)
{
    struct cfr_config *config = parse(full);
    const struct cfr_config_image *c = cfr_config_image_at(config, 0);
    const struct cfr_sts_provider *provider;
    void *exchange;

    (void)state;
    assert_int_equal(config->credentials.count, 0);
    assert_int_equal(config->image_credentials.count, 4);
    assert_null(cfr_config_image_at(config, 4));
    assert_string_equal(c->name, "ecr");
    assert_int_equal(c->node.line, 3);
    assert_int_equal(c->match.count, 2);
    assert_string_equal(c->match.items[1], "public.ecr.aws");
    assert_string_equal(c->token->file, "/t/token");
    assert_string_equal(c->audience, "sts.amazonaws.com");
    assert_int_equal(c->cache_ms, 7200000);
    assert_int_equal(c->annotations.count, 2);
    provider = cfr_config_exchange_provider(c->exchange, &exchange);
    assert_string_equal(provider->name, "aws");
    /* What the kubelet's request adds is not there yet. */
    assert_null(((const struct cfr_aws *)exchange)->role_arn);
    assert_int_equal(((const struct cfr_aws *)exchange)->ecr->registries.count, 0);
    c = cfr_config_image_at(config, 1);
    assert_null(c->token);
    assert_null(c->audience);
    assert_int_equal(c->cache_ms, -1);
    assert_int_equal(c->annotations.count, 0);
    assert_string_equal(cfr_config_exchange_provider(c->exchange, &exchange)->name, "azure");
    assert_int_equal(((const struct cfr_azure *)exchange)->acr.count, 0);
    cfr_config_free(config);
}

static void an_agent_needs_credentials(void **state)
{
    struct cfr_config *config = parse(full);
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_config_need_credentials("f", config, &err), CFR_E_CONFIG);
    assert_contains(err.text, "f: credentials: is missing; the file has only image_credentials");
    cfr_config_free(config);
    config = parse(HEAD "  - {name: a, match: [r.azurecr.io], exchange: {azure: {" IDS "}}}\n"
                        "credentials:\n  - {name: a, token: {file: /t}, publish: {file: {path: /p, format: token}}}\n");
    assert_int_equal(cfr_config_need_credentials(NULL, config, &err), 0);
    cfr_config_free(config);
}

static void keys(void **state)
{
    static const struct refusal cases[] = {
        {"version: 1\n", "f:1: credentials: is missing; this configuration needs it\n"},
        {"version: 1\nimage_credentials: []\n", "f:2: image_credentials: is empty; write at least 1\n"},
        {HEAD "  - {}\n", "f:3: image credential number 1: name: is missing; this image credential needs it\n"
                          "f:3: image credential number 1: match: is missing; this image credential needs it\n"
                          "f:3: image credential number 1: exchange: is missing; this image credential needs it\n"},
        {ITEM(AWS ", matches: [x]"), "f:3: image credential a: unknown key matches; did you mean match?\n"},
        {ITEM("exchange: {}"), "f:3: image credential a: exchange: names no provider; write one such as `aws:` with "
                               "its keys below it, or remove `exchange` to publish the token itself\n"},
        {ITEM(AWS ", token: {}"),
         "f:3: image credential a: token: does not say where the token comes from; write `file`, `request`, or both\n"},
        {HEAD "  - {name: a b, match: [r.azurecr.io], exchange: {azure: {" IDS "}}}\n",
         "f:3: image credential a b: name: has a character that names cannot have; use letters, digits, dot, "
         "dash and "
         "underscore\n"},
        {HEAD "  - {name: a, match: [r.azurecr.io], exchange: {azure: {" IDS "}}}\n"
              "  - {name: a, match: [s.azurecr.io], exchange: {azure: {" IDS "}}}\n",
         "f:4: image credential a: name: another image credential has it, on line 3; rename one of them\n"},
        {ITEM(AWS ", cache: 90"), "f:3: image credential a: cache: 90 has no unit; write 90s if seconds are meant\n"},
        {ITEM(AWS ", cache: 1500ms"), "f:3: image credential a: cache: it must be in whole seconds\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void patterns(void **state)
{
    static const struct refusal cases[] = {
        {HEAD "  - {name: a, match: [], " AWS "}\n", "f:3: image credential a: match: is empty; write at least 1\n"},
        {HEAD "  - {name: a, match: [r.example, \"https://r.example\"], " AWS "}\n",
         "f:3: image credential a: match: element 2: leave out everything before the host: write "
         "registry.example.net\n"},
        {HEAD "  - {name: a, match: [\"\"], " AWS "}\n", "f:3: image credential a: match: element 1: it is empty\n"},
        {HEAD "  - {name: a, match: [r.example, s.example, r.example], " AWS "}\n",
         "f:3: image credential a: match: elements 1 and 3 are the same; leave one out\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void annotations(void **state)
{
    static const struct refusal cases[] = {
        {NOTES("role_arm: x"),
         "f:3: image credential a: annotations: aws has no key role_arm; did you mean role_arn?\n"},
        {NOTES("colour: x"), "f:3: image credential a: annotations: aws has no key colour; write one of its keys that "
                             "hold a text\n"},
        {NOTES("duration: x"), "f:3: image credential a: annotations: duration of aws is not a single text, and an "
                               "annotation gives nothing else; write it in `exchange`\n"},
        {NOTES("tags: x"), "f:3: image credential a: annotations: tags of aws is not a single text, and an annotation "
                           "gives nothing else; write it in `exchange`\n"},
        {NOTES("ca_file: x"),
         "f:3: image credential a: annotations: ca_file names a file of the node, which is not for a "
         "service account to say; write it in `exchange`\n"},
        {NOTES("credentials_file: x"),
         "f:3: image credential a: annotations: credentials_file names a file of the node, "
         "which is not for a service account to say; write it in `exchange`\n"},
        {NOTES("endpoint: x"),
         "f:3: image credential a: annotations: endpoint says where requests go, which is not for a "
         "service account to say; write it in `exchange`\n"},
        {NOTES("role_arn: a/b/c"),
         "f:3: image credential a: annotations: \"a/b/c\" cannot be the name of an annotation; "
         "write one such as eks.amazonaws.com/role-arn\n"},
        {NOTES("role_arn: Eks.example/x"),
         "f:3: image credential a: annotations: \"Eks.example/x\" cannot be the name of "
         "an annotation; write one such as eks.amazonaws.com/role-arn\n"},
        {NOTES("role_arn: x-"),
         "f:3: image credential a: annotations: \"x-\" cannot be the name of an annotation; write "
         "one such as eks.amazonaws.com/role-arn\n"},
        {NOTES("role_arn: \"\""),
         "f:3: image credential a: annotations: \"\" cannot be the name of an annotation; write "
         "one such as eks.amazonaws.com/role-arn\n"},
        {NOTES(""), "f:3: image credential a: annotations: is empty; write at least 1\n"},
        {HEAD "  - {name: a, match: [r.azurecr.io], exchange: {azure: {" IDS "}}, annotations: {authority_host: x}}\n",
         "f:3: image credential a: annotations: authority_host says where requests go, which is not for a "
         "service account "
         "to say; write it in `exchange`\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

/* Once everything is there that annotations do not give, the provider looks at the whole. */
/* True if an annotation may give KEY of PROVIDER. */
static bool may_give(const char *provider, const char *key)
{
    struct cfr_config *config = NULL;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    char text[512];
    bool may;

    (void)snprintf(text, sizeof text,
                   HEAD "  - {name: a, match: [r.example], exchange: {%s: {}}, annotations: {%s: x}}\n", provider, key);
    (void)cfr_config_parse("f", cfr_view_of(text), no_env, &config, &all, &err);
    may = all.p == NULL || strstr(all.p, ": annotations: ") == NULL;
    cfr_config_free(config);
    cfr_str_free(&all);
    return may;
}

/* Every text of a provider that a service account's author may give: identities, never a file or a host. A
 * new key is put on one of the sides here. */
static void what_annotations_may_give(void **state)
{
    static const struct {
        const char *provider;
        const char *keys;
    } cases[] = {
        {"aws", "role_arn profile region session_name policy external_id source_identity"},
        {"aws_container", "role_arn region"},
        {"gcp",
         "audience subject_token_type service_account id_token_audience location user_project client_id subject"},
        {"azure", "tenant_id client_id"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct cfr_sts_provider *provider = cfr_sts_find(cfr_view_of(cases[i].provider));
        struct cfr_str keys = {.limit = 4096};

        assert_non_null(provider);
        for (const struct cfr_field *f = provider->table->fields; f->key != NULL; f++) {
            if (f->type == CFR_FIELD_STRING && may_give(cases[i].provider, f->key))
                cfr_str_addf(&keys, "%s%s", keys.len != 0 ? " " : "", f->key);
        }
        assert_string_equal(keys.p, cases[i].keys);
        cfr_str_free(&keys);
    }
}

static void the_provider_is_asked(void **state)
{
    static const struct refusal cases[] = {
        {ITEM("exchange: {oauth: {token_url: \"https://o.example\", audience: [x]}}"),
         "f:3: image credential a: exchange: oauth gives no logins to registries; write aws, aws_container, "
         "gcp or azure\n"},
        {ITEM("exchange: {aws: {" ROLE "}}"), "f:3: image credential a: exchange.aws: region: is missing; write "
                                              "`region: eu-west-1` (or the nearest one), or set AWS_REGION\n"},
        {ITEM("exchange: {aws: {region: eu-west-1}}"),
         "f:3: image credential a: exchange.aws: role_arn: it is missing; write the role to assume with the "
         "token, such "
         "as \"arn:aws:iam::123456789012:role/NAME\"\n"},
        {ITEM("exchange: {aws: {" ROLE ", region: eu-west-1, ecr: {registries: [r.example]}}}"),
         "f:3: image credential a: exchange.aws.ecr.registries: element 1 is no host of ECR, such as "
         "\"123456789012.dkr.ecr.eu-west-1.amazonaws.com\", without scheme and path; other names need "
         "`endpoint`\n"},
        {ITEM("exchange: {azure: {" IDS ", scopes: [\"https://vault.azure.net/.default\"]}}"),
         "f:3: image credential a: exchange.azure: acr: no scope fits a registry; add "
         "https://containerregistry.azure.net/.default to `scopes`\n"},
        {ITEM("exchange: {gcp: {audience: "
              "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/"
              "providers/q, access_token: false, service_account: a@b.iam.gserviceaccount.com, "
              "id_token_audience: x}}"),
         "f:3: image credential a: exchange.gcp: artifact_registry: it has no effect with `access_token: "
         "false`\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    cfr_config_free(parse(HEAD
                          "  - {name: a, match: [x], exchange: {aws: {region: eu-west-1}}, annotations: {role_arn: "
                          "r}}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(an_agent_needs_credentials),
        cmocka_unit_test(keys),
        cmocka_unit_test(patterns),
        cmocka_unit_test(annotations),
        cmocka_unit_test(what_annotations_may_give),
        cmocka_unit_test(the_provider_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
