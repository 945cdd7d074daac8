/* SPDX-License-Identifier: MIT */
/* What the doctor and `credfresh check` say about the content of targets. */
#include "unit.h"

#include "agent/doctor/doctor_private.h"
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "agent/loop/env.h"
#include "base/json.h"

#include <sys/stat.h>
#include <unistd.h>

#define AZURE                                                                                                          \
    "exchange: {azure: {tenant_id: 11111111-2222-3333-4444-555555555555, client_id: "                                  \
    "66666666-7777-8888-9999-aaaaaaaaaaaa, scopes: [\"https://vault.azure.net/.default\"]}}, "
#define GCP                                                                                                            \
    "exchange: {gcp: {audience: "                                                                                      \
    "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q}}, "
#define AWS(more)     "exchange: {aws: {role_arn: \"arn:aws:iam::123456789012:role/x\", region: us-east-1" more "}}, "
#define REQUEST(life) "token: {audience: a, request: {service_account: s, expiration: " life "}}, "
#define KEYSTONE                                                                                                       \
    "exchange: {openstack: {auth_url: \"https://k.example/v3\", ca_file: %s/ca, application_credential_id: i, "        \
    "application_credential_secret_file: /s}}, "

static char dir[] = "/tmp/test_doctor_publish_XXXXXX";

static void write_text(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A volume as the kubelet mounts it. */
static int make_volume(void **state)
{
    char path[256];

    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/..v1", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_text("..v1/key", "value");
    (void)snprintf(path, sizeof path, "%s/..data", dir);
    assert_int_equal(symlink("..v1", path), 0);
    (void)snprintf(path, sizeof path, "%s/key", dir);
    assert_int_equal(symlink("..data/key", path), 0);
    write_text("ca", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n");
    return 0;
}

static int remove_volume(void **state)
{
    static const char *const names[] = {"key", "ca", "..data", "..v1/key", "config"};
    char path[256];

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    (void)snprintf(path, sizeof path, "%s/..v1", dir);
    return rmdir(path) + rmdir(dir);
}

/* What `credfresh check` prints about the credential BODY; each %s in it is the volume. */
static char *check(const char *body, const char *more)
{
    static const struct cfr_doctor_check rows[] = {
        {"publish.format", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED, cfr_doctor_publish},
        {NULL, 0, CFR_DOCTOR_NOT_SELECTED, NULL},
    };
    static const struct cfr_doctor_check rows_with_source[] = {
        {"source", 0, CFR_DOCTOR_SELECTED, cfr_doctor_source},
        {"publish.format", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED, cfr_doctor_publish},
        {NULL, 0, CFR_DOCTOR_NOT_SELECTED, NULL},
    };
    char path[256];
    char text[2048];
    struct cfr_cli_options o = {.config = path, .timeout_ms = -1, .offline = true};
    struct cfr_str yaml = {.limit = 8192};
    struct cfr_str out = {.limit = 65536};
    struct cfr_err err = {0};
    struct cfr_doctor d;

    cfr_str_addz(&yaml, "version: 1\ncredentials:\n- {name: a, ");
    for (const char *p = body; *p != '\0';) {
        const char *mark = strstr(p, "%s");

        cfr_str_add(&yaml, (struct cfr_view){p, mark != NULL ? (size_t)(mark - p) : strlen(p)});
        if (mark != NULL)
            cfr_str_addz(&yaml, dir);
        p = mark != NULL ? mark + 2 : p + strlen(p);
    }
    cfr_str_addf(&yaml, "}\n%s", more);
    assert_true(yaml.len < sizeof text);
    (void)snprintf(text, sizeof text, "%s", yaml.p);
    cfr_str_free(&yaml);
    write_text("config", text);
    (void)snprintf(path, sizeof path, "%s/config", dir);
    cfr_doctor_open(&d, &o, true);
    d.config_path = NULL; /* findings without their places */
    if (cfr_config_load(path, cfr_env_get, &d.config, NULL, &err) != 0)
        fail_msg("%s\n%s", err.text, text);
    cfr_doctor_run_checks(&d, strstr(body, "secret: {directory") != NULL ? rows_with_source : rows);
    cfr_doctor_write_lines(&d, 0, "", (struct cfr_view){"", 0}, &out);
    cfr_doctor_close(&d);
    return out.p;
}

struct expected {
    const char *body;
    const char *more;
    const char *text; /* NULL: nothing is found */
};

static void check_all(const struct expected *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *out = check(cases[i].body, cases[i].more != NULL ? cases[i].more : "");

        if (cases[i].text != NULL)
            assert_contains(out, cases[i].text);
        else if (strstr(out, "1 credential, 0 errors, 0 warnings") == NULL)
            fail_msg("%s\n%s", cases[i].body, out);
        free(out);
    }
}

static void a_secret_is_rendered(void **state)
{
    static const struct expected cases[] = {
        {"secret: {directory: %s, pass_on: true}, publish: {file: {path: /k, format: secret-key, key: key}}", NULL,
         NULL},
        {"secret: {directory: %s, pass_on: true}, publish: {file: {path: /k, format: secret-key, key: none}}", NULL,
         "ERROR  a: what there is cannot be published: format secret-key: the mounted Secret has no key none"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void tokens_outlive_what_sdks_keep(void **state)
{
    static const struct expected cases[] = {
        {REQUEST("49m") AZURE "publish: {file: {path: /e, format: azure-env, token_path: /t}}", NULL,
         "warn   a: azure-env: the token lives 49 min; SDKs keep it for 10 min"},
        {REQUEST("50m") AZURE "publish: {file: {path: /e, format: azure-env, token_path: /t}}", NULL, NULL},
        {REQUEST("10m") AZURE "publish: {file: {path: /e, format: azure-token-json}}", NULL, NULL},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void sessions_of_imds_are_long(void **state)
{
    static const char imds[] = "endpoints: [{listen: \"127.0.0.1:9\", ec2_imds: {credential: a}}]\n";
    static const char container[] =
        "endpoints: [{listen: \"127.0.0.1:9\", aws_container: {credential: a, authorization: {file: /f}}}]\n";
    static const struct expected cases[] = {
        {"token: {file: /t}, " AWS(", duration: 19m") "required: true", imds,
         "warn   a: ec2_imds: sessions live 19 min; SDKs use keys of this endpoint past their end"},
        {"token: {file: /t}, " AWS(", duration: 20m") "required: true", imds, NULL},
        {"token: {file: /t}, " AWS(", duration: 19m") "required: true", container, NULL},
        {"token: {file: /t}, " AWS(", duration: 19m, then_assume: [{role_arn: "
                                   "\"arn:aws:iam::123456789012:role/y\"}]") "required: true",
         imds, NULL},
        {"token: {file: /t}, " AWS(", then_assume: [{role_arn: \"arn:aws:iam::123456789012:role/y\", duration: "
                                   "15m}]") "required: true",
         imds, "warn   a: ec2_imds: sessions live 15 min"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void clouds_files_fit_their_readers(void **state)
{
    static const struct expected cases[] = {
        {KEYSTONE "publish: {file: {path: /c, format: clouds-yaml, clouds_auth: token}}", NULL,
         "warn   a: clouds-yaml: with `clouds_auth: token` a program that runs longer than the token lives fails"},
        {KEYSTONE "publish: {file: {path: /c, format: clouds-yaml}}", NULL, NULL},
        {KEYSTONE "publish: {secret: {name: s, keys: [{name: c, format: clouds-yaml}]}}", NULL,
         "/ca, a file of this machine, to the readers of a Secret of the cluster; write `cacert`"},
        {KEYSTONE "publish: {secret: {name: s, keys: [{name: c, format: clouds-yaml, cacert: /ca}]}}", NULL, NULL},
        {KEYSTONE "publish: {secret: {name: s, keys: [{name: c, format: openstack-token}]}}", NULL, NULL},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void the_kubelets_token_is_recommended(void **state)
{
#define FILES(more)                                                                                                    \
    GCP "publish: {directory: /d, files: [{name: token, format: token}, {name: c, format: gcp-external-account}" more  \
        "]}"
    static const struct expected cases[] = {
        {"token: {file: %s/key}, " FILES(""), NULL,
         "warn   a: gcp-external-account: nothing but the token is used, and a copy of it depends on credfresh; write "
         "`token_path: /tmp/"},
        {"token: {file: %s/key}, " GCP
         "publish: {directory: /d, files: [{name: c, format: gcp-external-account, token_path: /t}]}",
         NULL, NULL},
        {"token: {file: %s/key}, " FILES(", {name: x, format: gcp-access-token}"), NULL, NULL},
        {"token: {file: %s/key}, allow: {users: [\"0\"]}, " FILES(""), "token_socket: /run/t.sock\n", NULL},
        {"token: {file: /t}, " FILES(""), NULL, NULL},
        {"token: {file: %s/key}, publish: {directory: /d, files: [{name: token, format: token}, {name: c, format: "
         "aws-config, role_arn: \"arn:aws:iam::123456789012:role/x\", token_path: /d/token}]}",
         NULL, "warn   a: aws-config: nothing but the token is used"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
#undef FILES
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_rendered),
        cmocka_unit_test(tokens_outlive_what_sdks_keep),
        cmocka_unit_test(sessions_of_imds_are_long),
        cmocka_unit_test(clouds_files_fit_their_readers),
        cmocka_unit_test(the_kubelets_token_is_recommended),
    };

    cfr_json_setup();
    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, make_volume, remove_volume);
}
