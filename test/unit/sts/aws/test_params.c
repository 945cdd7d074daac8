/* SPDX-License-Identifier: MIT */
/* Session names and the rules for parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "sts/aws/params_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void names(const char *configured, const char *subject, const char *credential, const char *expected)
{
    char buf[CFR_AWS_SESSION_NAME_MAX + 1];
    const char *name = cfr_aws_params_session_name(configured, cfr_view_of(subject), credential, buf);

    assert_string_equal(name, expected);
    assert_int_equal(cfr_aws_params_check_session_name("session_name", name, NULL), 0);
}

static void session_names(void **state)
{
    (void)state;
    names("mine", "system:serviceaccount:ns-a:sa-b", "c", "mine");
    names(NULL, "system:serviceaccount:ns-a:sa-b", "c", "ns-a.sa-b");
    names(NULL, "spiffe://example.net/ns/a", "c", "spiffe.--example.net-ns-a");
    names(NULL, "user one", "c", "user-one");
    names(NULL, "caf\xc3\xa9", "c", "caf--");
    names(NULL, "", "registry", "registry");
    names(NULL, NULL, "registry", "registry");
    names(NULL, "x", "registry", "registry");
    names(NULL, "", "r", "credfresh-r");
    names(NULL, "system:serviceaccount:", "re/gistry", "re-gistry");
}

static void long_names_are_cut_and_stay_apart(void **state)
{
    char one[200];
    char two[200];
    char a[CFR_AWS_SESSION_NAME_MAX + 1];
    char b[CFR_AWS_SESSION_NAME_MAX + 1];

    (void)state;
    memset(one, 'n', sizeof one);
    for (size_t n = 2; n < sizeof one; n++) {
        const char *name = cfr_aws_params_session_name(NULL, (struct cfr_view){one, n}, "c", a);

        assert_int_equal(strlen(name), n < 64 ? n : 64);
        assert_int_equal(cfr_aws_params_check_session_name("session_name", name, NULL), 0);
    }
    memcpy(two, one, sizeof two);
    two[120] = 'm';
    (void)cfr_aws_params_session_name(NULL, (struct cfr_view){one, 150}, "c", a);
    (void)cfr_aws_params_session_name(NULL, (struct cfr_view){two, 150}, "c", b);
    assert_string_not_equal(a, b);
    assert_memory_equal(a, b, 55);
    (void)cfr_aws_params_session_name(NULL, (struct cfr_view){two, 150}, "c", a);
    assert_string_equal(a, b);
}

static void role_arns(void **state)
{
    static const char *const good[] = {
        "arn:aws:iam::123456789012:role/reporting",
        "arn:aws:iam::123456789012:role/team/a/reporting",
        "arn:aws-us-gov:iam::123456789012:role/r",
        "arn:aws:iam:::role/ceph-role",
        "arn:minio:iam:::role/idmp-x@y",
    };
    static const char *const bad[] = {
        "",
        "arn:aws:iam::123456789012:role/",
        "arn:aws:iam::123456789012:role/a/",
        "arn:aws:iam::123456789012:user/reporting",
        "arn:aws:iam::12345678901:role/reporting",
        "arn:aws:iam::12345678901x:role/reporting",
        "arn:aws:sts::123456789012:assumed-role/a/b",
        "arn:aws:iam:eu-west-1:123456789012:role/reporting",
        "arn::iam::123456789012:role/reporting",
        "arn:aws:iam::123456789012:role/re porting",
        "arn:aws:iam::123456789012:role/reporting\n",
        "arn:aws:iam::123456789012",
        "urn:aws:iam::123456789012:role/reporting",
        "123456789012",
    };
    char long_arn[3000] = "arn:aws:iam::123456789012:role/";
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(cfr_aws_params_check_role("role_arn", good[i], &err), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cfr_aws_params_check_role("role_arn", bad[i], &err) != CFR_E_CONFIG)
            fail_msg("%s was not refused", bad[i]);
        assert_non_null(strstr(err.text, "role_arn: it must be the ARN of a role"));
    }
    memset(long_arn + strlen(long_arn), 'a', 2048 - 31);
    assert_int_equal(cfr_aws_params_check_role("role_arn", long_arn, &err), 0);
    long_arn[2048] = 'a';
    assert_int_equal(cfr_aws_params_check_role("role_arn", long_arn, &err), CFR_E_CONFIG);
}

static void character_classes(void **state)
{
    char name[3] = "ab";
    char external[1226];
    struct cfr_err err = {0};

    (void)state;
    for (int c = 1; c < 256; c++) {
        bool word = c < 128 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                strchr("_+=,.@-", c) != NULL);

        name[1] = (char)c;
        assert_int_equal(cfr_aws_params_check_session_name("session_name", name, NULL), word ? 0 : CFR_E_CONFIG);
        assert_int_equal(cfr_aws_params_check_external_id("external_id", name, NULL),
                         word || c == ':' || c == '/' ? 0 : CFR_E_CONFIG);
    }
    assert_int_equal(cfr_aws_params_check_session_name("session_name", "a", &err), CFR_E_CONFIG);
    assert_string_equal(err.text, "session_name: it has 1 characters; AWS allows 2 to 64");
    memset(external, 'e', sizeof external);
    external[1225] = '\0';
    assert_int_equal(cfr_aws_params_check_external_id("external_id", external, &err), CFR_E_CONFIG);
    external[1224] = '\0';
    assert_int_equal(cfr_aws_params_check_external_id("external_id", external, &err), 0);
    external[65] = '\0';
    assert_int_equal(cfr_aws_params_check_session_name("session_name", external, &err), CFR_E_CONFIG);
    external[64] = '\0';
    assert_int_equal(cfr_aws_params_check_session_name("session_name", external, &err), 0);
}

static void policies(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_aws_params_check_policy("policy", NULL, &err), 0);
    assert_int_equal(cfr_aws_params_check_policy("policy", "{\"Sid\":\"\t\r\n\xc2\xa0\xc3\xbf\"}", &err), 0);
    assert_int_equal(cfr_aws_params_length("{\xc3\xbf\xc3\xa9}"), 4);
    assert_int_equal(cfr_aws_params_check_policy("policy", "{\"Sid\":\"\xe2\x82\xac\"}", &err), CFR_E_CONFIG);
    assert_int_equal(cfr_aws_params_check_policy("policy", "{\"Sid\":\"\xc4\x80\"}", &err), CFR_E_CONFIG);
    assert_int_equal(cfr_aws_params_check_policy("policy", "{\"Sid\":\"\xc3\"}", &err), CFR_E_CONFIG);
    assert_int_equal(cfr_aws_params_check_policy("policy", "{}\x01", &err), CFR_E_CONFIG);
    assert_int_equal(cfr_aws_params_check_policy("policy", "{", &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "policy: it must be a policy document in JSON"));
    assert_int_equal(cfr_aws_params_check_policy("policy", "[]", &err), CFR_E_CONFIG);
    assert_int_equal(cfr_aws_params_check_policy("policy", "", &err), CFR_E_CONFIG);
}

static void policy_arns(void **state)
{
    char common[] = "arn:aws:iam::aws:policy/ReadOnlyAccess";
    char *items[11];
    struct cfr_strings arns = {items, 10};
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < 11; i++)
        items[i] = common;
    assert_int_equal(cfr_aws_params_check_policy_arns("policy_arns", &arns, &err), 0);
    items[9] = (char[]){"arn:aws:iam::123456789012:policy/team/mine"};
    assert_int_equal(cfr_aws_params_check_policy_arns("policy_arns", &arns, &err), 0);
    items[9] = (char[]){"arn:aws:iam::123456789012:role/mine"};
    assert_int_equal(cfr_aws_params_check_policy_arns("policy_arns", &arns, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "policy_arns: element 10"));
    arns.count = 11;
    assert_int_equal(cfr_aws_params_check_policy_arns("policy_arns", &arns, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "at most 10"));
}

static void one_tag(const char *key, const char *value, const char *why)
{
    char k[300];
    char v[300];
    struct cfr_pair pair = {k, v};
    struct cfr_pairs tags = {&pair, 1};
    struct cfr_strings none = {NULL, 0};
    struct cfr_err err = {0};
    int rc;

    (void)snprintf(k, sizeof k, "%s", key);
    (void)snprintf(v, sizeof v, "%s", value);
    rc = cfr_aws_params_check_tags(&tags, &none, &err);
    if (rc != (why == NULL ? 0 : CFR_E_CONFIG) || (why != NULL && strstr(err.text, why) == NULL))
        fail_msg("%s=%s: %s", key, value, err.text);
}

static void tags(void **state)
{
    struct cfr_pair pairs[51];
    char *keys[] = {(char[]){"TEAM"}};
    struct cfr_pairs t = {pairs, 2};
    struct cfr_strings transitive = {keys, 1};
    char text[300];
    char numbered[51][16];
    struct cfr_err err = {0};

    (void)state;
    one_tag("team", "", NULL);
    one_tag("a_.:/=+-@ 9", "\xc3\xa9t\xc3\xa9", NULL);
    one_tag("", "x", "1 to 128");
    one_tag("a*", "x", "has a character");
    one_tag("a", "x;y", "has a character");
    one_tag("aws:x", "y", "reserves");
    memset(text, 'a', sizeof text);
    text[257] = '\0';
    one_tag("k", text, "at most 256");
    text[256] = '\0';
    one_tag("k", text, NULL);
    text[129] = '\0';
    one_tag(text, "v", "1 to 128");
    text[128] = '\0';
    one_tag(text, "v", NULL);
    pairs[0] = (struct cfr_pair){(char[]){"team"}, (char[]){"a"}};
    pairs[1] = (struct cfr_pair){(char[]){"Cost"}, (char[]){"b"}};
    assert_int_equal(cfr_aws_params_check_tags(&t, &transitive, &err), 0);
    pairs[1].key = (char[]){"Team"};
    assert_int_equal(cfr_aws_params_check_tags(&t, &transitive, &err), CFR_E_CONFIG);
    pairs[1].key = (char[]){"Cost"};
    keys[0] = (char[]){"else"};
    assert_int_equal(cfr_aws_params_check_tags(&t, &transitive, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "transitive_tag_keys: element 1 is not a key of tags"));
    for (int i = 0; i < 51; i++) {
        (void)snprintf(numbered[i], sizeof numbered[i], "k%02d", i);
        pairs[i] = (struct cfr_pair){numbered[i], numbered[i]};
    }
    keys[0] = numbered[3];
    t.count = 50;
    assert_int_equal(cfr_aws_params_check_tags(&t, &transitive, &err), 0);
    t.count = 51;
    assert_int_equal(cfr_aws_params_check_tags(&t, &transitive, &err), CFR_E_CONFIG);
}

static void token_length(void **state)
{
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/r"}, .duration_ms = 3600000};
    char *token = malloc(20001);
    struct cfr_secret body;
    struct cfr_err err = {0};

    (void)state;
    memset(token, 't', 20001);
    for (size_t n = 3; n <= 20001; n += n == 3 || n == 20000 ? 1 : 19996) {
        cfr_secret_init(&body, CFR_STS_BODY_MAX);
        assert_int_equal(cfr_aws_params_web_identity(&c, "name", (struct cfr_view){token, n}, &body, &err),
                         n < 4 || n > 20000 ? CFR_E_TOKEN : 0);
        cfr_secret_free(&body);
    }
    free(token);
}

static void arn_parts(void **state)
{
    const char *arn = "arn:aws:iam::123456789012:role/a:b";

    (void)state;
    assert_true(cfr_view_is(cfr_aws_params_arn_part(arn, 0), "arn"));
    assert_true(cfr_view_is(cfr_aws_params_arn_part(arn, 1), "aws"));
    assert_true(cfr_view_is(cfr_aws_params_arn_part(arn, 3), ""));
    assert_true(cfr_view_is(cfr_aws_params_arn_part(arn, 4), "123456789012"));
    assert_true(cfr_view_is(cfr_aws_params_arn_part(arn, 5), "role/a:b"));
    assert_null(cfr_aws_params_arn_part("arn:aws", 2).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_names), cmocka_unit_test(long_names_are_cut_and_stay_apart),
        cmocka_unit_test(role_arns),     cmocka_unit_test(character_classes),
        cmocka_unit_test(policies),      cmocka_unit_test(policy_arns),
        cmocka_unit_test(tags),          cmocka_unit_test(token_length),
        cmocka_unit_test(arn_parts),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
