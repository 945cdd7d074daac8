/* SPDX-License-Identifier: MIT */
/* Mounted Secrets: what each form is, what exchange follows from it, and what is wrong with the others. Walks
 * test/data/mounted/cases.tsv; everything of it is also looked at when it is freed. Linked with --wrap=malloc
 * and
 * --wrap=free. */
#include "mounted_sample.h"

#include "base/json.h"
#include "heap_watch.h"
#include "sts/aws/aws.h"
#include "sts/core/config.h"

enum column { FOLDER, WISH, KIND, PROVIDER, FIELDS, CONTENTS, TOKEN, NOTE, COLUMNS };

static size_t looks;    /* blocks that were looked at when they were freed */
static const char *row; /* what is being looked at, for messages */

static void check_field(const struct cfr_mounted *m, const char *key, const char *want)
{
    const struct cfr_field *f = cfr_field_find(m->provider->table, cfr_view_of(key));
    const char *at = (const char *)m->config + (f != NULL ? f->offset : 0);
    char text[32];
    const char *got;

    if (f == NULL)
        fail_msg("%s: %s has no %s", row, m->provider->name, key);
    if (f->type == CFR_FIELD_DURATION) {
        (void)snprintf(text, sizeof text, "%lld", (long long)*(const int64_t *)(const void *)at);
        got = text;
    } else if (f->type == CFR_FIELD_ENUM)
        got = f->choices[*(const int *)(const void *)at];
    else
        got = *(char *const *)(const void *)at;
    if (strcmp(got != NULL ? got : "", want) != 0)
        fail_msg("%s: %s is %s, not %s", row, key, got != NULL ? got : "(not set)", want);
}

static void check_fields(const struct cfr_mounted *m, struct cfr_view text)
{
    char part[512];

    while (mounted_part(&text, part)) {
        char *value = strchr(part, '=');

        assert_non_null(value);
        *value++ = '\0';
        check_field(m, part, value);
    }
}

static struct cfr_view value_of(const struct mounted_sample *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->keys[i].name, name) == 0)
            return cfr_view_trim(s->keys[i].value);
    }
    fail_msg("%s: there is no key %s", row, name);
    return (struct cfr_view){NULL, 0};
}

static void check_contents(const struct mounted_sample *s, const struct cfr_mounted *m, struct cfr_view text)
{
    char part[512];
    size_t n = 0;

    for (; mounted_part(&text, part); n++) {
        char *value = strchr(part, '=');

        assert_non_null(value);
        *value++ = '\0';
        if (n >= m->content_count || strcmp(m->contents[n].key, part) != 0)
            fail_msg("%s: there is no content %s", row, part);
        if (!cfr_view_eq(m->contents[n].bytes, value[0] == '@' ? value_of(s, value + 1) : cfr_view_of(value)))
            fail_msg("%s: %s is \"%.*s\"", row, part, (int)m->contents[n].bytes.n, m->contents[n].bytes.p);
        check_field(m, part, CFR_STS_CONFIG_GIVEN);
    }
    if (n != m->content_count)
        fail_msg("%s: there are %zu contents, not %zu", row, m->content_count, n);
}

static void check_good(const struct mounted_sample *s, const struct cfr_mounted *m, const struct cfr_view *col)
{
    if (!cfr_view_is(col[KIND], cfr_mounted_kinds[m->kind]))
        fail_msg("%s: it is of kind %s", row, cfr_mounted_kinds[m->kind]);
    if (!cfr_view_is(col[PROVIDER], m->provider != NULL ? m->provider->name : "-"))
        fail_msg("%s: the provider is %s", row, m->provider != NULL ? m->provider->name : "none");
    assert_true((m->provider == NULL) == (m->config == NULL));
    check_fields(m, col[FIELDS]);
    check_contents(s, m, col[CONTENTS]);
    if (!cfr_view_is(col[TOKEN], m->token_file != NULL ? m->token_file : "-"))
        fail_msg("%s: the token file is %s", row, m->token_file != NULL ? m->token_file : "not there");
    if (m->token_file != NULL)
        assert_true(m->short_lived);
    if ((m->limit != NULL) != (m->content_count == 2 && cfr_view_find(col[FIELDS], "role_arn=arn") < 0))
        fail_msg("%s: the limit is %s", row, m->limit != NULL ? m->limit : "not said");
    if (cfr_view_is(col[NOTE], "-") && m->note[0] != '\0')
        fail_msg("%s: the note is \"%s\"", row, m->note);
}

static void contains(const char *text, struct cfr_view want)
{
    char copy[512];

    (void)snprintf(copy, sizeof copy, "%.*s", (int)want.n, want.p);
    if (strstr(text, copy) == NULL)
        fail_msg("%s: \"%s\" is not in \"%s\"", row, copy, text);
    if (strstr(text, SAMPLE_PIECE) != NULL || !cfr_view_printable(cfr_view_of(text)))
        fail_msg("%s: \"%s\" shows a secret", row, text);
}

static void one_row(const struct cfr_view *col)
{
    static char name[300];
    char folder[128];
    struct mounted_sample s = {.count = 0};
    struct cfr_mounted m = {.kind = CFR_MOUNTED_UNKNOWN};
    struct cfr_err err = {0};
    int rc;

    (void)snprintf(name, sizeof name, "%.*s (%.*s)", (int)col[FOLDER].n, col[FOLDER].p, (int)col[WISH].n, col[WISH].p);
    row = name;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)col[FOLDER].n, col[FOLDER].p);
    mounted_load(&s, folder);
    mounted_options(&s, col[WISH]);
    heap_watch(SAMPLE_PIECE);
    rc = cfr_mounted_read(s.keys, s.count, &s.options, &m, &err);
    if (rc == 0) {
        check_good(&s, &m, col);
        if (!cfr_view_is(col[NOTE], "-"))
            contains(m.note, col[NOTE]);
    } else {
        if (!cfr_view_is(col[KIND], cfr_err_name(rc)) || err.code != rc)
            fail_msg("%s: %s: %s", row, cfr_err_name(rc), err.text);
        contains(err.text, col[NOTE]);
    }
    cfr_mounted_free(&m);
    if (heap_leaks != 0)
        fail_msg("%s: %zu blocks were freed with a secret in them", row, heap_leaks);
    looks += heap_frees;
    heap_watch(NULL);
    /* Freeing twice is what a caller does that frees in every case. */
    cfr_mounted_free(&m);
    mounted_free(&s);
}

static void every_form(void **state)
{
    struct cfr_view table = data_file_read("mounted/cases.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[COLUMNS];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, COLUMNS); rows++)
        one_row(col);
    assert_true(rows >= 150 && looks > 500);
    data_file_free(table);
}

static void kinds_are_those_of_the_enum(void **state)
{
    (void)state;
    assert_int_equal(mounted_kind("auto"), CFR_MOUNTED_UNKNOWN);
    assert_int_equal(mounted_kind("aws"), CFR_MOUNTED_AWS);
    assert_int_equal(mounted_kind("openstack"), CFR_MOUNTED_OPENSTACK);
    assert_int_equal(mounted_kind("ibmcloud"), CFR_MOUNTED_IBMCLOUD);
    assert_null(cfr_mounted_kinds[CFR_MOUNTED_IBMCLOUD + 1]);
}

static void nothing_at_all(void **state)
{
    struct cfr_mounted_options options = {.expect = CFR_MOUNTED_UNKNOWN};
    struct cfr_mounted m;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_mounted_read(NULL, 0, &options, &m, &err), CFR_E_CONFIG);
    cfr_mounted_free(&m);
    options.expect = CFR_MOUNTED_VSPHERE;
    assert_int_equal(cfr_mounted_read(NULL, 0, &options, &m, &err), CFR_E_CONFIG);
    cfr_mounted_free(&m);
    options = (struct cfr_mounted_options){.pass_on = true};
    assert_int_equal(cfr_mounted_read(NULL, 0, &options, &m, &err), 0);
    cfr_mounted_free(&m);
}

/* Nobody wrote the keys of the exchange: errors name those of the Secret. */
static void errors_name_keys_of_the_secret(void **state)
{
    static const struct {
        const char *folder;
        const char *options;
        const char *text;
        const char *expected;
    } cases[] = {
        {"aws-sts", "-", "region: is missing; write `region: eu-west-1`, or set AWS_REGION",
         "region in credentials: is missing; write `region: eu-west-1`, or set AWS_REGION"},
        {"aws-sts", "-", "no (HTTP 403): give a `role_arn`", "no (HTTP 403): give a role_arn in credentials"},
        {"aws-keys", "-", "secret_access_key_file: it is odd", "aws_secret_access_key: it is odd"},
        {"azure-passthrough", "-",
         "no (HTTP 401): check `client_id`, `tenant_id` and the secret in `client_secret_file`",
         "no (HTTP 401): check `azure_client_id`, `azure_tenant_id` and the secret in `azure_client_secret`"},
        {"azure-passthrough", "exchange=azure;client_id=66666666-7777-8888-9999-aaaaaaaaaaaa",
         "no (HTTP 400): check `client_id`, `tenant_id`", "no (HTTP 400): check `client_id`, `azure_tenant_id`"},
        {"gcp-external", "-", "no (HTTP 400): correct `audience`",
         "no (HTTP 400): correct audience in service_account.json"},
        {"openstack-password", "-", "region_name: there is none", "region_name in clouds.yaml: there is none"},
        {"openstack-password", "-", "no (HTTP 401): check `username` and `password_file`",
         "no (HTTP 401): check username in clouds.yaml and password in clouds.yaml"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mounted_sample s = {.count = 0};
        struct cfr_mounted m;
        struct cfr_err err = {0};

        mounted_load(&s, cases[i].folder);
        mounted_options(&s, cfr_view_of(cases[i].options));
        if (cfr_mounted_read(s.keys, s.count, &s.options, &m, &err) != 0)
            fail_msg("%s: %s", cases[i].folder, err.text);
        (void)snprintf(err.text, sizeof err.text, "%s", cases[i].text);
        cfr_mounted_name_keys(&m, &err);
        assert_string_equal(err.text, cases[i].expected);
        cfr_mounted_free(&m);
        mounted_free(&s);
    }
}

/* The certificates alone are handed on, without what is around them, and only those that the Secret brings. */
static void certificates_of_a_secret(void **state)
{
    static const char one[] = "-----BEGIN CERTIFICATE-----\n"
                              "MD4wNwIBATAAMAAwADAAMCowBQYDK2VwAyEAa2tra2tr"
                              "a2tra2tra2tra2tra2tra2tra2tra2tra2swAAMBAA==\n"
                              "-----END CERTIFICATE-----\n";
    struct mounted_sample s = {.count = 0};
    struct cfr_mounted m;
    struct cfr_err err = {0};
    char both[2 * sizeof one];

    (void)state;
    (void)snprintf(both, sizeof both, "%s%s", one, one);
    mounted_load(&s, "openstack-ca-bundle");
    s.options.directory = SAMPLE_DIRECTORY;
    assert_int_equal(cfr_mounted_read(s.keys, s.count, &s.options, &m, &err), 0);
    assert_true(cfr_view_is(cfr_secret_view(&m.ca), both));
    assert_contains(m.taken, "auth_url, application_credential_id, application_credential_secret");
    assert_contains(m.taken, "CA certificates");
    cfr_mounted_free(&m);
    mounted_options(&s, cfr_view_of("exchange=openstack;ca_file=/mine.pem"));
    assert_int_equal(cfr_mounted_read(s.keys, s.count, &s.options, &m, &err), 0);
    assert_int_equal(m.ca.len, 0);
    assert_null(strstr(m.taken, "CA certificates"));
    cfr_mounted_free(&m);
    mounted_free(&s);
}

/* A role of a profile whose source is a role by token is the step after that. */
static void a_role_after_the_token_s(void **state)
{
    struct mounted_sample s = {.count = 0};
    const struct cfr_aws_step *step;
    const struct cfr_aws *aws;
    struct cfr_mounted m;
    struct cfr_err err = {0};

    (void)state;
    mounted_load(&s, "aws-source-token");
    assert_int_equal(cfr_mounted_read(s.keys, s.count, &s.options, &m, &err), 0);
    aws = m.config;
    assert_int_equal(aws->then_assume.count, 1);
    step = aws->then_assume.items;
    assert_string_equal(step->role_arn, "arn:aws:iam::210987654321:role/far");
    assert_string_equal(step->external_id, "x-1");
    assert_int_equal(step->duration_ms, 3600000);
    cfr_mounted_free(&m);
    mounted_free(&s);
}

/* A directory so long that no path below it can be: the CA is then left to the system, not to a path that is
 * cut. */
static void a_directory_that_is_too_long(void **state)
{
    static char directory[4096];
    struct mounted_sample s = {.count = 0};
    struct cfr_mounted m;
    struct cfr_err err = {0};

    (void)state;
    memset(directory, 'd', sizeof directory - 1);
    directory[0] = '/';
    mounted_load(&s, "openstack-cacert");
    s.options.directory = directory;
    assert_int_equal(cfr_mounted_read(s.keys, s.count, &s.options, &m, &err), CFR_E_CONFIG);
    assert_contains(err.text, "cacert");
    cfr_mounted_free(&m);
    mounted_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(kinds_are_those_of_the_enum),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(certificates_of_a_secret),
        cmocka_unit_test(errors_name_keys_of_the_secret),
        cmocka_unit_test(a_role_after_the_token_s),
        cmocka_unit_test(a_directory_that_is_too_long),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
