/* SPDX-License-Identifier: MIT */
/* Which image credential an image gets, what its exchange is for one request of the kubelet, and the
 * request's token. */
#include "unit.h"

#include "agent/config/schema.h"
#include "agent/config/image.h"
#include "agent/source/image_token.h"
#include "sts/aws/aws.h"
#include "sts/aws/container.h"
#include "sts/azure/azure.h"
#include "sts/gcp/gcp.h"
#include "token/claims.h"
#include "token_text.h"

#include <stdlib.h>
#include <unistd.h>

#define ECR      "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
#define IDS      "tenant_id: 11111111-2222-3333-4444-555555555555, client_id: 66666666-7777-8888-9999-aaaaaaaaaaaa"
#define AUDIENCE "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"
#define NOW_MS   INT64_C(1767323045000)

static const char text[] =
    "version: 1\n"
    "image_credentials:\n"
    "  - name: team\n"
    "    match: [\"" ECR "/team\", \"*.azurecr.cn\"]\n"
    "    exchange: {aws: {role_arn: \"arn:aws:iam::123456789012:role/team\", region: eu-west-1}}\n"
    "    annotations: {role_arn: a/role, region: region}\n"
    "  - name: ecr\n"
    "    match: [\"*.dkr.ecr.*.amazonaws.com\", public.ecr.aws, ecr-public.aws.com]\n"
    "    exchange: {aws: {region: eu-west-1, ecr: {public: false}}}\n"
    "    annotations: {role_arn: a/role}\n"
    "  - name: acr\n"
    "    match: [\"*.azurecr.io\"]\n"
    "    exchange: {azure: {" IDS "}}\n"
    "  - name: wide\n"
    "    match: [\"*.azurecr.us\", \"*.azurecr.io:444\", \"*.*.*.wide.example\", \"*.wide.example\"]\n"
    "    exchange: {azure: {" IDS "}}\n"
    "  - name: wide-google\n"
    "    match: [\"*.google.example\", \"*.gcr.io\"]\n"
    "    exchange: {gcp: {audience: " AUDIENCE "}}\n"
    "  - name: gateway\n"
    "    match: [\"gateway.example\"]\n"
    "    exchange: {azure: {" IDS ", acr_endpoint: \"https://gateway.example\"}}\n"
    "  - name: listed\n"
    "    match: [\"listed.example\"]\n"
    "    exchange: {azure: {" IDS ", acr: [listed.example]}}\n"
    "  - name: google\n"
    "    match: [\"*-docker.pkg.dev\"]\n"
    "    exchange: {gcp: {audience: " AUDIENCE "}}\n"
    "  - name: list\n"
    "    match: [gcr.io]\n"
    "    exchange: {gcp: {audience: " AUDIENCE ", artifact_registry: [eu.gcr.io, us.gcr.io]}}\n"
    "  - name: pods\n"
    "    match: [\"r.example:5000\"]\n"
    "    exchange: {aws_container: {region: eu-west-1, ecr: {endpoint: \"https://ecr.example\"}}}\n";

static struct cfr_config *config;

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static int set_up(void **state)
{
    char path[] = "/tmp/credfresh-image-XXXXXX";
    int fd = mkstemp(path);
    ssize_t written = fd >= 0 ? write(fd, text, strlen(text)) : -1;
    struct cfr_err err = {0};
    int rc = cfr_config_load(path, no_env, &config, NULL, &err);

    (void)state;
    if (fd >= 0)
        (void)close(fd);
    (void)unlink(path);
    if (written < 0 || rc != 0)
        fail_msg("%s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cfr_config_free(config);
    return 0;
}

static void finds(const char *image, const char *name)
{
    const struct cfr_config_image *c = cfr_config_image_find(config, cfr_view_of(image));

    if (name == NULL)
        assert_null(c);
    else
        assert_string_equal(c != NULL ? c->name : "(none)", name);
}

static void the_first_that_fits(void **state)
{
    (void)state;
    finds(ECR "/team/app", "team");
    finds("x.azurecr.cn/app", "team");
    finds(ECR "/other", "ecr");
    finds("public.ecr.aws/x", "ecr");
    finds("europe-docker.pkg.dev/p/r/i", "google");
    finds("r.example:5000/x", "pods");
    finds("r.example/x", NULL);
    finds("docker.io/library/x", NULL);
    finds("", NULL);
}

/* The exchange for IMAGE, with ANNOTATIONS (the inside of the object). */
static int settle(const char *image, const char *annotations, struct cfr_config_exchange *out, struct cfr_err *err)
{
    struct cfr_str json = {.limit = 65536};
    struct cfr_k8s_image_request request;
    const struct cfr_config_image *item;
    int rc;

    cfr_str_addf(&json,
                 "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
                 "\"image\":\"%s\",\"serviceAccountAnnotations\":{%s}}",
                 image, annotations);
    assert_int_equal(cfr_k8s_image_request_read(cfr_str_view(&json), &request, err), 0);
    cfr_str_free(&json);
    item = cfr_config_image_find(config, request.image);
    assert_non_null(item);
    rc = cfr_config_image_resolve(item, &request, no_env, out, err);
    cfr_k8s_image_request_free(&request);
    return rc;
}

static void *settled(const char *image, const char *annotations, struct cfr_config_exchange *out)
{
    struct cfr_err err = {0};
    void *provider_config;

    if (settle(image, annotations, out, &err) != 0)
        fail_msg("%s: %s", image, err.text);
    assert_non_null(cfr_config_exchange_provider(out, &provider_config));
    return provider_config;
}

static void refused(const char *image, const char *annotations, const char *why)
{
    struct cfr_config_exchange x;
    struct cfr_err err = {0};

    if (settle(image, annotations, &x, &err) != CFR_E_CONFIG || strstr(err.text, why) == NULL)
        fail_msg("not \"%s\", but \"%s\"", why, err.text);
    cfr_field_free(&cfr_config_exchange_table, &x);
}

static void free_exchange(struct cfr_config_exchange *x)
{
    cfr_field_free(&cfr_config_exchange_table, x);
}

static void the_registry_of_the_image(void **state)
{
    struct cfr_config_exchange x;
    const struct cfr_aws *aws = settled(ECR "/team/app", "", &x);

    (void)state;
    /* Neither `ecr` nor its registries stand in the file. */
    assert_int_equal(aws->ecr->registries.count, 1);
    assert_string_equal(aws->ecr->registries.items[0], ECR);
    assert_false(aws->ecr->with_public);
    free_exchange(&x);
    aws = settled("public.ecr.aws/x", "\"a/role\":\"arn:aws:iam::123456789012:role/pull\"", &x);
    assert_int_equal(aws->ecr->registries.count, 0);
    assert_true(aws->ecr->with_public);
    free_exchange(&x);
    aws = settled("ecr-public.aws.com/x", "\"a/role\":\"arn:aws:iam::123456789012:role/pull\"", &x);
    assert_int_equal(aws->ecr->registries.count, 0);
    assert_true(aws->ecr->with_public);
    free_exchange(&x);
    assert_string_equal(((const struct cfr_azure *)settled("r.azurecr.io/x:1", "", &x))->acr.items[0], "r.azurecr.io");
    free_exchange(&x);
    assert_string_equal(((const struct cfr_gcp *)settled("us-docker.pkg.dev/x@y", "", &x))->artifact_registry.items[0],
                        "us-docker.pkg.dev");
    free_exchange(&x);
    assert_string_equal(
        ((const struct cfr_aws_container *)settled("r.example:5000/x", "", &x))->ecr->registries.items[0],
        "r.example:5000");
    free_exchange(&x);
    /* The file's own list stays. */
    assert_int_equal(((const struct cfr_gcp *)settled("gcr.io/x", "", &x))->artifact_registry.count, 2);
    free_exchange(&x);
    refused("x.azurecr.cn/x", "", "the registry x.azurecr.cn: ecr: registries: element 1 is no host of ECR");
    /* The configuration itself is as it was. */
    assert_null(((const struct cfr_aws *)cfr_config_image_at(config, 0)->exchange->provider.config)->ecr);
}

/* A pod's author writes the image's name, and a wide `match` must not let them choose where a token goes. */
static void no_token_for_any_host(void **state)
{
    static const char *const ours[] = {"r.azurecr.us/x", "r.azurecr.io:444/x", "gateway.example/x", "listed.example/x"};
    static const char *const others[] = {"r.wide.example/x", "r.azurecr.io.wide.example/x", "azurecr.wide.example/x"};
    struct cfr_config_exchange x;

    (void)state;
    for (size_t i = 0; i < COUNT(ours); i++) {
        assert_int_equal(((const struct cfr_azure *)settled(ours[i], "", &x))->acr.count, 1);
        free_exchange(&x);
    }
    for (size_t i = 0; i < COUNT(others); i++)
        refused(others[i], "", "so no token is sent to it; narrow `match`");
    assert_int_equal(((const struct cfr_gcp *)settled("eu.gcr.io/x", "", &x))->artifact_registry.count, 1);
    free_exchange(&x);
    refused("r.google.example/x", "", "so no token is given for it; narrow `match`");
}

static void what_annotations_say(void **state)
{
    struct cfr_config_exchange x;
    const struct cfr_aws *aws =
        settled(ECR "/team", "\"a/role\":\"arn:aws:iam::123456789012:role/mine\",\"other\":\"x\"", &x);

    (void)state;
    assert_string_equal(aws->role_arn, "arn:aws:iam::123456789012:role/mine");
    assert_string_equal(aws->region, "eu-west-1");
    free_exchange(&x);
    aws = settled(ECR "/team", "\"region\":\"us-east-2\",\"a/role\":\"\"", &x);
    assert_string_equal(aws->role_arn, "arn:aws:iam::123456789012:role/team");
    assert_string_equal(aws->region, "us-east-2");
    free_exchange(&x);
    refused(ECR "/other", "\"region\":\"us-east-2\"",
            "no annotation a/role for role_arn, and exchange.aws does not say");
    refused(ECR "/other", "\"a/role\":7", "no annotation a/role");
    refused(ECR "/other", "\"a/role\":\"role\"", "the annotation a/role: role_arn: it must be the ARN of a role");
    refused(ECR "/other", "\"a/role\":\"arn:aws:iam::123456789012:user/pull\"", "role_arn: ");
    refused(ECR "/team", "\"region\":\"Europe\"", "region: a region has only lower-case letters");
}

#define SUB "\"sub\":\"system:serviceaccount:ns:app\""

/* The error for a token with PAYLOAD; with WHY NULL there is none. */
static void token(const char *payload, const char *audience, int code, const char *why)
{
    char *made = token_text("{\"alg\":\"RS256\"}", payload);
    struct cfr_source_token_file t;
    struct cfr_err err = {0};
    int rc = cfr_source_image_token_read(cfr_view_of(made), audience, &t, &err);

    if (rc != code || strstr(err.text, why) == NULL)
        fail_msg("%s: %d \"%s\"", payload, rc, err.text);
    if (rc == 0) {
        assert_view(cfr_secret_view(&t.token), made);
        assert_string_equal(t.subject, "system:serviceaccount:ns:app");
        assert_int_equal(t.issued_s, 1767323000);
        assert_int_equal(t.expires_s, 1767326600);
    }
    cfr_source_token_file_free(&t);
    free(made);
}

static void the_token(void **state)
{
    struct cfr_source_token_file t;
    struct cfr_err err = {0};
    char *large = calloc(1, CFR_TOKEN_MAX + 2);

    (void)state;
    token("{" SUB ",\"aud\":[\"x\",\"y\"],\"iat\":1767323000,\"exp\":1767326600}", "y", 0, "");
    token("{" SUB ",\"iat\":1767323000,\"exp\":1767326600}", NULL, 0, "");
    token("{" SUB ",\"aud\":\"x\",\"iat\":1767323000,\"exp\":1767326600}", "y", CFR_E_TOKEN,
          "kubelet's request is for the audience \"x\", not \"y\"");
    /* The times are the cloud's to judge: our clock may be wrong. */
    token("{" SUB ",\"iat\":1767323000}", NULL, CFR_E_TOKEN, "the service account token in the kubelet's request: ");
    assert_int_equal(cfr_source_image_token_read(cfr_view_of(" \n"), NULL, &t, &err), CFR_E_TOKEN);
    cfr_source_token_file_free(&t);
    assert_non_null(large);
    memset(large, 'x', CFR_TOKEN_MAX + 1);
    assert_int_equal(cfr_source_image_token_read(cfr_view_of(large), NULL, &t, &err), CFR_E_TOKEN);
    assert_contains(err.text, "more than 65536 bytes");
    cfr_source_token_file_free(&t);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_fits),
        cmocka_unit_test(the_registry_of_the_image),
        cmocka_unit_test(no_token_for_any_host),
        cmocka_unit_test(what_annotations_say),
        cmocka_unit_test(the_token),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
