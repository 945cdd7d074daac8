/* SPDX-License-Identifier: MIT */
/* AWS from long-lived keys, and the check before publishing: requests, answers, files of keys and rules. */
#include "sts_golden.h"

#include "sts/aws/aws.h"
#include "sts/aws/keys_private.h"

#define ROLE "arn:aws:iam::123456789012:role/reporting"

static const struct cfr_sts_content key_files[] = {
    {"access_key_id_file", {GOLDEN_KEY, sizeof GOLDEN_KEY - 1}},
    {"secret_access_key_file", {GOLDEN_SECRET, sizeof GOLDEN_SECRET - 1}},
};

static struct cfr_aws with_keys = {.role_arn = (char[]){ROLE},
                                   .access_key_id_file = (char[]){"/k/id"},
                                   .secret_access_key_file = (char[]){"/k/secret"},
                                   .region = (char[]){"eu-west-1"},
                                   .duration_ms = 3600000};
static struct cfr_aws session = {.access_key_id_file = (char[]){"/k/id"},
                                 .secret_access_key_file = (char[]){"/k/secret"},
                                 .region = (char[]){"eu-west-1"},
                                 .duration_ms = 129600000};
static struct cfr_aws verified = {
    .role_arn = (char[]){ROLE}, .region = (char[]){"eu-west-1"}, .duration_ms = 3600000, .verify = true};

static void begin(struct cfr_view name, struct cfr_sts_exchange *x, struct cfr_sts_input *in)
{
    x->provider = &cfr_aws_provider;
    if (cfr_view_starts(name, "verify")) {
        x->config = &verified;
        x->step = 1;
        golden_session(&x->grant);
        if (cfr_view_is(name, "verify-role"))
            assert_int_equal(
                cfr_grant_set_identity(&x->grant, cfr_view_of("arn:aws:iam::123456789012:role/team/reporting"), NULL),
                0);
        if (cfr_view_is(name, "verify-user")) {
            free(x->grant.identity);
            x->grant.identity = NULL;
        }
        return;
    }
    x->config = cfr_view_is(name, "session") ? &session : &with_keys;
    in->token = (struct cfr_view){NULL, 0};
    in->subject = (struct cfr_view){NULL, 0};
    in->contents = key_files;
    in->content_count = COUNT(key_files);
}

static void errors(void **state)
{
    (void)state;
    golden_errors("aws", "begin", begin, 30);
}

static void grants(void **state)
{
    (void)state;
    golden_grants("aws", "begun", begin, 5);
}

static void request(const char *name, const struct cfr_aws *config, const char *file)
{
    struct cfr_sts_exchange x = {0};
    struct cfr_sts_input in = golden_input();

    begin(cfr_view_of(name), &x, &in);
    if (config != NULL)
        x.config = config;
    golden_request(&x, &in, file);
    cfr_sts_exchange_free(&x);
}

static void requests(void **state)
{
    (void)state;
    request("keys", NULL, "aws/requests/keys-assume.txt");
    request("session", NULL, "aws/requests/keys-session.txt");
    request("verify", NULL, "aws/requests/verify.txt");
}

/* With the keys of a session out of a credentials file, and all that AssumeRole takes. */
static void everything(void **state)
{
    static const char ini[] =
        "\xef\xbb\xbf# made by hand\r\n[other]\r\naws_access_key_id = AKIAOTHER\r\n\r\n[ mine ]\r\n"
        "AWS_Access_Key_Id=" GOLDEN_KEY "\r\n; and so on\r\naws_secret_access_key :  " GOLDEN_SECRET
        " # rotated\r\naws_session_token = FAKESESSIONTOKEN//==\r\nregion\r\n[default]\r\n";
    const struct cfr_sts_content content = {"credentials_file", {ini, sizeof ini - 1}};
    struct cfr_pair tags[] = {{(char[]){"Team"}, (char[]){"a b"}}};
    char *transitive[] = {(char[]){"Team"}};
    char *arns[] = {(char[]){"arn:aws:iam::aws:policy/ReadOnlyAccess"}};
    struct cfr_aws c = {.role_arn = (char[]){ROLE},
                        .credentials_file = (char[]){"/k/credentials"},
                        .profile = (char[]){"mine"},
                        .region = (char[]){"eu-west-1"},
                        .session_name = (char[]){"me"},
                        .duration_ms = 43200000,
                        .external_id = (char[]){"ext/id:1"},
                        .policy = (char[]){"{}"},
                        .policy_arns = {arns, 1},
                        .tags = {tags, 1},
                        .transitive_tag_keys = {transitive, 1},
                        .source_identity = (char[]){"me@here"}};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};
    struct cfr_sts_input in = golden_input();

    (void)state;
    in.contents = &content;
    in.content_count = 1;
    golden_request(&x, &in, "aws/requests/keys-assume-everything.txt");
}

static void key_file(const char *role, const char *ini, const char *why)
{
    struct cfr_aws c = {.role_arn = (char *)(uintptr_t)role, .credentials_file = (char[]){"/k"}};
    const struct cfr_sts_content content = {"credentials_file", cfr_view_of(ini)};
    struct cfr_sts_input in = {.contents = &content, .content_count = 1};
    struct cfr_wire_aws_keys keys;
    struct cfr_err err = {0};
    int rc = cfr_aws_keys_read(&c, &in, &keys, &err);

    if (why == NULL && (rc != 0 || !cfr_view_is(keys.id, "AKIA1") || !cfr_view_is(keys.secret, "a#b;c/d=")))
        fail_msg("%s: %s", ini, err.text);
    if (why != NULL && (rc != CFR_E_CONFIG || strstr(err.text, why) == NULL))
        fail_msg("%s: expected \"%s\", got \"%s\"", ini, why, err.text);
    golden_no_secret(&err);
}

#define PAIR "aws_access_key_id = AKIA1\naws_secret_access_key = a#b;c/d=\n"

static void files_of_keys(void **state)
{
    (void)state;
    key_file(NULL, "[default]\n" PAIR, NULL);
    key_file(NULL, "[default] # mine\n" PAIR, NULL);
    key_file(NULL, "[default]\naws_access_key_id = AKIA0\n[x]\n[default]\n" PAIR, NULL);
    key_file(ROLE, "[default]\n" PAIR "aws_session_token = abc\n", NULL);
    key_file(NULL, "", "has no profile [default]");
    key_file(NULL, PAIR, "has no profile [default]");
    key_file(NULL, "[mine]\n" PAIR, "has no profile [default]; name another");
    key_file(NULL, "[default]\n[x]\n" PAIR, "[default] has no aws_access_key_id");
    key_file(NULL, "[default]\naws_access_key_id = AKIA1\n", "has no aws_secret_access_key");
    key_file(NULL, "[default]\naws_access_key_id = AKIA1\naws_secret_access_key =\n", "has no aws_secret_access_key");
    key_file(NULL, "[default]\naws_access_key_id = " GOLDEN_SECRET "/\naws_secret_access_key = x\n",
             "not an access key ID");
    key_file(NULL, "[default]\naws_access_key_id = AKIA1\naws_secret_access_key = a b\n", "a secret access key");
    key_file(NULL, "[default]\naws_access_key_id = ASIA1\naws_secret_access_key = ab\n", "begins with ASIA");
    key_file(NULL, "[default]\n" PAIR "aws_session_token = abc\n", "give a `role_arn`");
    key_file(ROLE, "[default]\n" PAIR "aws_session_token = a b\n", "aws_session_token has blanks");
}

static void two_files(void **state)
{
    struct cfr_sts_content contents[] = {key_files[0], key_files[1]};
    struct cfr_sts_input in = {.contents = contents, .content_count = 2};
    struct cfr_wire_aws_keys keys;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_aws_keys_read(&session, &in, &keys, &err), 0);
    assert_view(keys.id, GOLDEN_KEY);
    assert_view(keys.secret, GOLDEN_SECRET);
    contents[0].bytes = cfr_view_of(GOLDEN_KEY "\nmore");
    assert_int_equal(cfr_aws_keys_read(&session, &in, &keys, &err), CFR_E_CONFIG);
    assert_contains(err.text, "access_key_id_file: not an access key ID");
    contents[0] = key_files[0];
    contents[1].bytes = cfr_view_of("a\nb");
    assert_int_equal(cfr_aws_keys_read(&session, &in, &keys, &err), CFR_E_CONFIG);
    assert_contains(err.text, "secret_access_key_file: not a secret access key");
    in.content_count = 1;
    assert_int_equal(cfr_aws_keys_read(&session, &in, &keys, &err), CFR_E_CONFIG);
}

#define KEYS   "access_key_id_file", "/k/id", "secret_access_key_file", "/k/secret"
#define REGION "region", "eu-west-1"

static void checks(const char *why, const char *const *settings)
{
    golden_check(&cfr_aws_provider, golden_no_env, why, settings);
}

static void rules(void **state)
{
    (void)state;
    checks(NULL, GOLDEN_LIST(REGION, KEYS));
    checks(NULL, GOLDEN_LIST(REGION, KEYS, "duration", "36h"));
    checks(NULL, GOLDEN_LIST(REGION, KEYS, "role_arn", ROLE, "external_id", "ab", "tags", "Team", "transitive_tag_keys",
                             "Team", "source_identity", "me", "session_name", "me", "policy", "{}"));
    checks(NULL, GOLDEN_LIST(REGION, "credentials_file", "/k", "profile", "x", "verify", "true"));
    checks("role_arn: it is missing", GOLDEN_LIST(REGION));
    checks("secret_access_key_file: it is missing", GOLDEN_LIST(REGION, "access_key_id_file", "/k/id"));
    checks("access_key_id_file: it is missing", GOLDEN_LIST(REGION, "secret_access_key_file", "/k/id"));
    checks("credentials_file: it cannot be used with access_key_id_file",
           GOLDEN_LIST(REGION, KEYS, "credentials_file", "/k"));
    checks("profile: it has no effect", GOLDEN_LIST(REGION, "role_arn", ROLE, "profile", "x"));
    checks("external_id: AWS does not take it with a token",
           GOLDEN_LIST(REGION, "role_arn", ROLE, "external_id", "ab"));
    checks("tags: AWS does not take it with a token", GOLDEN_LIST(REGION, "role_arn", ROLE, "tags", "Team"));
    checks("source_identity: AWS does not", GOLDEN_LIST(REGION, "role_arn", ROLE, "source_identity", "me"));
    checks("session_name: it has no effect without `role_arn`", GOLDEN_LIST(REGION, KEYS, "session_name", "me"));
    checks("external_id: it has no effect", GOLDEN_LIST(REGION, KEYS, "external_id", "me"));
    checks("policy: it has no effect", GOLDEN_LIST(REGION, KEYS, "policy", "{}"));
    checks("duration: a role's session lives at most 12h",
           GOLDEN_LIST(REGION, KEYS, "role_arn", ROLE, "duration", "13h"));
    checks("external_id: character 2", GOLDEN_LIST(REGION, KEYS, "role_arn", ROLE, "external_id", "a b"));
    checks("transitive_tag_keys: element 1 is not a key",
           GOLDEN_LIST(REGION, KEYS, "role_arn", ROLE, "transitive_tag_keys", "Team"));
    checks("region: is missing", GOLDEN_LIST(KEYS));
    checks("region: what begins with keys signs", GOLDEN_LIST(KEYS, "endpoint", "https://one.example"));
    checks("region: verify signs its request",
           GOLDEN_LIST("role_arn", ROLE, "endpoint", "https://one.example", "verify", "true"));
    assert_true(cfr_sts_needs_token(&cfr_aws_provider, &verified));
    assert_false(cfr_sts_needs_token(&cfr_aws_provider, &session));
    assert_string_equal(cfr_aws_provider.family, "aws");
    golden_table(cfr_aws_provider.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),     cmocka_unit_test(grants),        cmocka_unit_test(requests),
        cmocka_unit_test(everything), cmocka_unit_test(files_of_keys), cmocka_unit_test(two_files),
        cmocka_unit_test(rules),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
