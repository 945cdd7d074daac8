/* SPDX-License-Identifier: MIT */
/* The configuration as a file on disk, and the files that it names. */
#include "agent/config/config_private.h"
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"

#include "unit.h"

#include "agent/config/config.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/cfr-config-XXXXXX";
static char config_path[64];
static char ca_path[64];

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static int make_dir(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    (void)snprintf(config_path, sizeof config_path, "%s/c.yaml", dir);
    (void)snprintf(ca_path, sizeof ca_path, "%s/ca.pem", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)unlink(config_path);
    (void)unlink(ca_path);
    return rmdir(dir);
}

static void put(const char *path, const char *text, size_t n)
{
    FILE *f;

    (void)unlink(path);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void put_config(void)
{
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"
                     "    publish: {file: {path: /x, format: token}}\n    reload:\n"
                     "      - http:\n          url: https://h/\n          ca_file: %s\n"
                     "  - name: b\n    token: {file: /t/token}\n"
                     "    exchange:\n      aws:\n        role_arn: arn:aws:iam::123456789012:role/r\n"
                     "        region: us-east-1\n        ca_file: %s\n"
                     "    publish: {file: {path: /y, format: token}}\n",
                     ca_path, ca_path);

    put(config_path, text, (size_t)n);
}

/* Loads config_path; LINES is what must be told, with %s for the paths of configuration and CA file in this
 * order. */
static void load(const char *path, int code, const char *lines)
{
    struct cfr_config *config = (struct cfr_config *)(void *)&config;
    struct cfr_str all = {.limit = 4096};
    struct cfr_err err = {0};
    int rc = cfr_config_load(path, no_env, &config, &all, &err);

    if (rc != code || strcmp(all.p != NULL ? all.p : "", lines) != 0)
        fail_msg("%d, not %d: %s\nnot: %s", rc, code, all.p != NULL ? all.p : "(nothing)", lines);
    assert_int_equal(err.code, code);
    assert_int_equal(config == NULL, code != 0);
    assert_int_equal(strncmp(lines, err.text, strlen(err.text)), 0);
    cfr_config_free(config);
    cfr_str_free(&all);
    assert_int_equal(cfr_config_load(path, no_env, &config, NULL, NULL), code);
    cfr_config_free(config);
}

static const char pem[] = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";

static const char key[] = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";
#define DER "; convert DER with `openssl x509 -inform der -in F -out F.pem`"

static void loads(void **state)
{
    (void)state;
    put_config();
    put(ca_path, pem, sizeof pem - 1);
    load(config_path, 0, "");
}

static void ca_files_must_be_there(void **state)
{
    char lines[1024];

    (void)state;
    put_config();
    (void)unlink(ca_path);
    (void)snprintf(
        lines, sizeof lines,
        "%s:9: credential a: reload.http.ca_file: cannot be used: cannot open %s: No such file or directory\n"
        "%s:16: credential b: exchange.aws.ca_file: cannot be used: cannot open %s: No such file or directory\n",
        config_path, ca_path, config_path, ca_path);
    load(config_path, CFR_E_CONFIG, lines);
    put(ca_path, "not a certificate\n", 18);
    (void)snprintf(lines, sizeof lines,
                   "%s:9: credential a: reload.http.ca_file: %s holds no certificate in PEM form" DER "\n"
                   "%s:16: credential b: exchange.aws.ca_file: %s holds no certificate in PEM form" DER "\n",
                   config_path, ca_path, config_path, ca_path);
    load(config_path, CFR_E_CONFIG, lines);
    put(ca_path, pem, sizeof pem - 12);
    (void)snprintf(lines, sizeof lines,
                   "%s:9: credential a: reload.http.ca_file: %s has a certificate that is damaged or cut off\n"
                   "%s:16: credential b: exchange.aws.ca_file: %s has a certificate that is damaged or cut off\n",
                   config_path, ca_path, config_path, ca_path);
    load(config_path, CFR_E_CONFIG, lines);
    put(ca_path, "\n", 1);
    (void)snprintf(lines, sizeof lines,
                   "%s:9: credential a: reload.http.ca_file: %s is empty; write the CA's certificate into it, in PEM "
                   "form\n"
                   "%s:16: credential b: exchange.aws.ca_file: %s is empty; write the CA's certificate into it, in PEM "
                   "form\n",
                   config_path, ca_path, config_path, ca_path);
    load(config_path, CFR_E_CONFIG, lines);
    put(ca_path, key, sizeof key - 1);
    (void)snprintf(
        lines, sizeof lines,
        "%s:9: credential a: reload.http.ca_file: %s holds a private key and no certificate; name the CA's "
        "certificate\n"
        "%s:16: credential b: exchange.aws.ca_file: %s holds a private key and no certificate; name the CA's "
        "certificate\n",
        config_path, ca_path, config_path, ca_path);
    load(config_path, CFR_E_CONFIG, lines);
}

#define DIRECTORY "it is a directory, not a regular file; name a file in it\n"

static void a_ca_directory_is_no_file(void **state)
{
    char lines[1024];

    (void)state;
    put_config();
    (void)unlink(ca_path);
    assert_int_equal(mkdir(ca_path, 0700), 0);
    (void)snprintf(lines, sizeof lines,
                   "%s:9: credential a: reload.http.ca_file: cannot be used: %s: " DIRECTORY
                   "%s:16: credential b: exchange.aws.ca_file: cannot be used: %s: " DIRECTORY,
                   config_path, ca_path, config_path, ca_path);
    load(config_path, CFR_E_CONFIG, lines);
    assert_int_equal(rmdir(ca_path), 0);
}

static void what_is_no_file_is_refused(void **state)
{
    char lines[256];

    (void)state;
    (void)unlink(config_path);
    (void)snprintf(lines, sizeof lines, "cannot open %s: No such file or directory\n", config_path);
    load(config_path, CFR_E_MISSING, lines);
    (void)snprintf(lines, sizeof lines, "%s: " DIRECTORY, dir);
    load(dir, CFR_E_PATH, lines);
    assert_int_equal(mkfifo(config_path, 0600), 0);
    (void)snprintf(lines, sizeof lines, "%s: it is not a regular file\n", config_path);
    load(config_path, CFR_E_PATH, lines);
}

static void the_size_is_limited(void **state)
{
    size_t n = CFR_CONFIG_FILE_MAX + 1;
    char *big = malloc(n);
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    char lines[256];

    (void)state;
    assert_non_null(big);
    memset(big, '#', n);
    put(config_path, big, n);
    (void)snprintf(lines, sizeof lines, "%s: is larger than 16 MiB, the limit for a configuration\n", config_path);
    load(config_path, CFR_E_LIMIT, lines);
    put(config_path, big, n - 1);
    (void)snprintf(lines, sizeof lines, "%s:1: the file is empty; begin with `version: 1`\n", config_path);
    load(config_path, CFR_E_CONFIG, lines);
    assert_int_equal(cfr_config_parse("f", (struct cfr_view){big, n}, no_env, &config, NULL, &err), CFR_E_LIMIT);
    assert_string_equal(err.text, "f: is larger than 16 MiB, the limit for a configuration");
    free(big);
}

static void a_long_path_does_not_hide_the_message(void **state)
{
    char path[3000];
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};

    (void)state;
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(cfr_config_parse(path, LITERAL("version: 2\n"), no_env, &config, NULL, &err), CFR_E_CONFIG);
    assert_contains(err.text, "ppp:1: version: must be 1, got 2");
    assert_int_equal(strncmp(err.text, "...ppp", 6), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),
        cmocka_unit_test(ca_files_must_be_there),
        cmocka_unit_test(a_ca_directory_is_no_file),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(the_size_is_limited),
        cmocka_unit_test(a_long_path_does_not_hide_the_message),
    };

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
