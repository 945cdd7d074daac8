/* SPDX-License-Identifier: MIT */
/* Whether an existing file is taken for one that credfresh wrote: not so, before it is replaced, if it has more. */
#include "unit.h"

#include "base/json.h"
#include "files/format/format.h"

/* Of a human, or another program: of each format that can be told. */
static const struct {
    const char *format;
    const char *there;
} foreign[] = {
    {"aws-credentials", "[default]\naws_access_key_id = A\n[prod]\naws_access_key_id = B\n"},
    {"aws-credentials", "[prod]\naws_access_key_id = A\n"},
    {"aws-credentials", "# mine\n[default]\naws_access_key_id = A\n"},
    {"aws-credentials", "[default]\nsource_profile = x\n"},
    {"aws-config", "[default]\nregion = eu-west-1\noutput = json\n"},
    {"aws-config", "[profile x]\nregion = eu-west-1\n"},
    {"aws-credential-process", "{\"Version\":1,\"Mine\":2}\n"},
    {"azure-token-json", "{\"access_token\":\"a\",\"refresh_token\":\"b\"}"},
    {"azure-env", "AZURE_CLIENT_ID=a\nDATABASE_URL=b\n"},
    {"gcp-external-account",
     "{\"type\":\"external_account\",\"credential_source\":{\"executable\":{\"command\":\"x\"}}}"},
    {"gcp-access-token", "two words"},
    {"gcp-token-json", "[1]"},
    {"gcp-service-account-key", "{\"type\":\"authorized_user\",\"refresh_token\":\"x\"}"},
    {"clouds-yaml", "clouds:\n  \"openstack\":\n    auth_type: v3password\n  \"other\":\n    auth_type: v3password\n"},
    {"clouds-yaml", "clouds:\n  openstack:\n    auth:\n"},
    {"clouds-yaml", "clouds:\n  \"openstack\":\n    auth:\n      username: robot\n"},
    {"clouds-conf", "[Global]\nauth-url = \"x\"\n[BlockStorage]\nbs-version = v3\n"},
    {"openstack-token", "line\nline\n"},
    {"oauth-access-token", "{\"access_token\": \"a\"}"},
    {"token", "#!/bin/sh\nexec true\n"},
    {"env", "AWS_ACCESS_KEY_ID=a\nPATH=/bin\n"},
    {"env", "export AWS_ACCESS_KEY_ID=a\n"},
    {"json", "{\"version\":1,\"name\":\"my-package\"}"},
    {"json", "not JSON"},
    {"template", "password=x\n"},
    {"ca.crt", "# Root\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"},
    {"namespace", "a b"},
    {"kubeconfig", "apiVersion: v1\nkind: Config\n"},
    {"kubeconfig", "{\"apiVersion\":\"v1\",\"users\":[{\"name\":\"a\",\"user\":{\"client-key-data\":\"x\"}}]}"},
    {"certificate", "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"},
    {"private-key", "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nmine\n"},
    {"ca-bundle", "-----BEGIN CERTIFICATE-----\nMII\n"},
};

static const struct cfr_format_input input = {.template_text = "user=x\npassword=${token}\n"};

static bool is_own(const struct cfr_format *format, const char *there)
{
    return cfr_format_is_own(format, &input, cfr_view_of(there));
}

static void foreign_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(foreign); i++) {
        if (is_own(cfr_format_find(cfr_view_of(foreign[i].format)), foreign[i].there))
            fail_msg("%s: %s", foreign[i].format, foreign[i].there);
    }
}

/* A new format has to say what its files consist of, and a row above to prove it. */
static void each_format_that_can_be_told_has_a_row(void **state)
{
    (void)state;
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++) {
        bool found = f->merge != NULL || (f->own != NULL && strcmp(f->own, "any") == 0);

        for (size_t i = 0; i < COUNT(foreign); i++)
            found = found || strcmp(foreign[i].format, f->name) == 0;
        if (!found)
            fail_msg("%s", f->name);
        assert_true(is_own(f, ""));
        assert_true(is_own(f, " \n"));
    }
}

/* What the formats write is tested with them. This is what earlier settings wrote, or nobody misses. */
static void own_files(void **state)
{
    static const struct {
        const char *format;
        const char *there;
    } own[] = {
        {"aws-credentials", "[default]\naws_access_key_id = A\nregion = x\n"},
        {"env", "AWS_ACCESS_KEY_ID=a\nAWS_DEFAULT_REGION=b\nAWS_CREDENTIAL_EXPIRATION=c\nGCP_ACCESS_TOKEN=d\n"},
        {"json", "{\"version\":1,\"fields\":{\"any\":\"x\",\"token\":\"y\"}}"},
        {"template", "user=x\npassword=old\n"},
        {"secret-key", "any text\nat all"},
        {"token", "a.b.c\n"},
        {"docker-config", "{\"psFormat\": \"x\"}"},
        {"ca-bundle",
         "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n\n-----BEGIN CERTIFICATE-----\nMII\n"
         "-----END CERTIFICATE-----\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(own); i++) {
        if (!is_own(cfr_format_find(cfr_view_of(own[i].format)), own[i].there))
            fail_msg("%s: %s", own[i].format, own[i].there);
    }
}

/* docker never looks at a login for which it has a helper. */
static void logins_that_docker_ignores(void **state)
{
    static const char ours[] = "{\"auths\":{\"a.example\":{\"auth\":\"x\"}}}";
    static const struct {
        const char *there;
        const char *ours;
        const char *key;
    } cases[] = {
        {"{\"credsStore\":\"desktop\"}", ours, "credsStore"},
        {"{\"credsStore\":\"desktop\"}", "", "credsStore"},
        {"{\"credsStore\":\"\"}", ours, NULL},
        {"{\"credHelpers\":{\"a.example\":\"ecr-login\"}}", ours, "credHelpers"},
        {"{\"credHelpers\":{\"b.example\":\"ecr-login\"}}", ours, NULL},
        {"{\"credHelpers\":{\"a.example\":\"ecr-login\"}}", "", NULL},
        {"{\"credHelpers\":{\"a.example\":\"x\"},\"auths\":{\"a.example\":{}}}", "", "credHelpers"},
        {"{\"auths\":{}}", ours, NULL},
        {"no JSON", ours, NULL},
        {"", ours, NULL},
    };
    const struct cfr_format *docker = cfr_format_find(cfr_view_of("docker-config"));

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *key = docker->ignored(cfr_view_of(cases[i].there), cfr_view_of(cases[i].ours));

        if ((key == NULL) != (cases[i].key == NULL) || (key != NULL && strcmp(key, cases[i].key) != 0))
            fail_msg("case %zu: %s", i, key != NULL ? key : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_files),
        cmocka_unit_test(each_format_that_can_be_told_has_a_row),
        cmocka_unit_test(own_files),
        cmocka_unit_test(logins_that_docker_ignores),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
