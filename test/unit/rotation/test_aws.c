/* SPDX-License-Identifier: MIT */
/* AWS access keys: requests, answers, refusals, rules. */
#include "unit.h"

#include "data_file.h"
#include "rotation/aws_private.h"
#include "wire/aws_settings.h"

#define NOW    1767323045 /* 2026-01-02T03:04:05Z */
#define KEY    "AKIDEXAMPLE0000000AA"
#define SECRET "c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"
#define MINTED "AKIAEXAMPLE000000000"

static const char *const names[] = {
    [CFR_ROTATION_LIST] = "list",           [CFR_ROTATION_CREATE] = "create",
    [CFR_ROTATION_VERIFY] = "verify",       [CFR_ROTATION_DEACTIVATE] = "deactivate",
    [CFR_ROTATION_LAST_USED] = "last-used", [CFR_ROTATION_DELETE] = "delete",
};
static char *regions[] = {(char[]){"eu-west-1"}, (char[]){"us-east-2"}};

static struct cfr_rotation_aws robot(void)
{
    static char name[] = "robot";

    return (struct cfr_rotation_aws){.user_name = name, .regions = {regions, 2}};
}

static struct cfr_grant keys(const char *prefix)
{
    struct cfr_grant g = {0};
    char name[64];

    (void)snprintf(name, sizeof name, "%saws_access_key_id", prefix);
    assert_int_equal(cfr_grant_set(&g, name, cfr_view_of(KEY), NULL), 0);
    (void)snprintf(name, sizeof name, "%saws_secret_access_key", prefix);
    assert_int_equal(cfr_grant_set(&g, name, cfr_view_of(SECRET), NULL), 0);
    return g;
}

/* Method, URL, who signs for what, and the body with each parameter on a line of its own. */
static void builds(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask, const char *page,
                   const char *want)
{
    struct cfr_wire_request r = {.method = NULL};
    struct cfr_err err = {0};
    char got[2048];
    char id[32];
    char region[32];
    char service[16];
    size_t n;

    if (cfr_rotation_aws_provider.build(c, ask, page, &r, &err) != 0)
        fail_msg("%s", err.text);
    /* Who signs, for which region and service: AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/SERVICE/aws4_request */
    assert_int_equal(r.header_count, 3);
    assert_string_equal(r.headers[0].p, "Content-Type: application/x-www-form-urlencoded");
    assert_int_equal(sscanf(r.headers[2].p,
                            "Authorization: AWS4-HMAC-SHA256 Credential=%31[^/]/%*[^/]/%31[^/]/%15[^/]/", id, region,
                            service),
                     3);
    n = (size_t)snprintf(got, sizeof got, "%s %s %s/%s %s\n", r.method, r.url, service, region, id);
    for (const char *p = r.body.p; *p != '\0'; p++)
        n += (size_t)snprintf(got + n, sizeof got - n, *p == '&' ? "\n" : "%c", *p);
    assert_string_equal(got, want);
    cfr_wire_request_free(&r);
}

static void requests(void **state)
{
    struct cfr_rotation_aws c = robot();
    struct cfr_grant admin = keys("secret:");
    struct cfr_grant fresh = keys("");
    struct cfr_rotation_ask ask = {
        .op = CFR_ROTATION_LIST, .id = "", .name = "x", .now_s = NOW, .admin = &admin, .fresh = &fresh};

    (void)state;
    builds(&c, &ask, "",
           "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY
           "\nAction=ListAccessKeys\nVersion=2010-05-08\nUserName=robot");
    c.user_name = (char[]){"a+b=c,d.e@f"};
    builds(&c, &ask, "A/+= 2",
           "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY
           "\nAction=ListAccessKeys\nVersion=2010-05-08\nUserName=a%2Bb%3Dc%2Cd.e%40f\nMarker=A%2F%2B%3D%202");
    c = robot();
    ask.op = CFR_ROTATION_CREATE;
    builds(&c, &ask, "",
           "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY
           "\nAction=CreateAccessKey\nVersion=2010-05-08\nUserName=robot");
    ask.id = MINTED;
    ask.op = CFR_ROTATION_DEACTIVATE;
    builds(&c, &ask, "",
           "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY
           "\nAction=UpdateAccessKey\nVersion=2010-05-08\nUserName=robot\nAccessKeyId=" MINTED "\nStatus=Inactive");
    ask.op = CFR_ROTATION_LAST_USED;
    builds(&c, &ask, "",
           "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY
           "\nAction=GetAccessKeyLastUsed\nVersion=2010-05-08\nAccessKeyId=" MINTED);
    ask.op = CFR_ROTATION_DELETE;
    builds(&c, &ask, "",
           "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY
           "\nAction=DeleteAccessKey\nVersion=2010-05-08\nUserName=robot\nAccessKeyId=" MINTED);
    ask.op = CFR_ROTATION_VERIFY;
    ask.place = 1;
    builds(&c, &ask, "",
           "POST https://sts.us-east-2.amazonaws.com/ sts/us-east-2 " KEY
           "\nAction=GetCallerIdentity\nVersion=2011-06-15");
    c.sts_endpoint = (char[]){"https://vpce-1.sts.{region}.vpce.amazonaws.com"};
    builds(&c, &ask, "",
           "POST https://vpce-1.sts.us-east-2.vpce.amazonaws.com/ sts/us-east-2 " KEY
           "\nAction=GetCallerIdentity\nVersion=2011-06-15");
    cfr_grant_free(&admin);
    cfr_grant_free(&fresh);
}

/* The caller first, if it is not known; then what IAM's simulator says of it, for the user alone. */
static void rights(void **state)
{
    static const char simulation[] =
        "POST https://iam.amazonaws.com/ iam/us-east-1 " KEY "\nAction=SimulatePrincipalPolicy\nVersion=2010-05-08"
        "\nPolicySourceArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fadmin"
        "\nActionNames.member.1=iam%3AListAccessKeys\nActionNames.member.2=iam%3ACreateAccessKey"
        "\nActionNames.member.3=iam%3AUpdateAccessKey\nActionNames.member.4=iam%3AGetAccessKeyLastUsed"
        "\nActionNames.member.5=iam%3ADeleteAccessKey"
        "\nResourceArns.member.1=arn%3Aaws%3Aiam%3A%3A123456789012%3Auser%2Frobot";
    struct cfr_rotation_aws c = robot();
    struct cfr_grant admin = keys("secret:");
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_RIGHTS, .id = "", .now_s = NOW, .admin = &admin};
    char want[sizeof simulation + 16];

    (void)state;
    builds(&c, &ask, "",
           "POST https://sts.eu-west-1.amazonaws.com/ sts/eu-west-1 " KEY
           "\nAction=GetCallerIdentity\nVersion=2011-06-15");
    ask.id = "arn:aws:iam::123456789012:role/admin";
    builds(&c, &ask, "", simulation);
    (void)snprintf(want, sizeof want, "%s\nMarker=2", simulation);
    builds(&c, &ask, "2", want);
    cfr_grant_free(&admin);
}

static int read_rights(const char *id, long status, const char *body, struct cfr_rotation_answer *out,
                       struct cfr_err *err)
{
    struct cfr_rotation_aws c = robot();
    struct cfr_grant admin = keys("");
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_RIGHTS, .id = id, .now_s = NOW, .admin = &admin};
    struct cfr_wire_reply reply = {
        .status = status, .content_type = cfr_view_of("text/xml"), .body = cfr_view_of(body)};
    int rc = cfr_rotation_aws_provider.parse(&c, &ask, &reply, out, err);

    cfr_grant_free(&admin);
    return rc;
}

#define ROLE_ARN "arn:aws:iam::123456789012:role/admin"
#define IDENTITY(arn)                                                                                                  \
    "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>" arn                                                    \
    "</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>"
#define ONE(action, is)                                                                                                \
    "<member><EvalActionName>iam:" action "</EvalActionName><EvalDecision>" is "</EvalDecision></member>"
#define SIMULATED(members, more)                                                                                       \
    "<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult><EvaluationResults>" members                      \
    "</EvaluationResults>" more "</SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>"

static void answered_rights(void **state)
{
    static const char first[] = SIMULATED(ONE("ListAccessKeys", "allowed") ONE("CreateAccessKey", "explicitDeny"),
                                          "<IsTruncated>true</IsTruncated><Marker>2</Marker>");
    static const char rest[] =
        SIMULATED("<member><EvalDecision>implicitDeny</EvalDecision><EvalActionName>iam:UpdateAccessKey"
                  "</EvalActionName></member>" ONE("GetAccessKeyLastUsed", "allowed") ONE("DeleteAccessKey", "allowed"),
                  "<IsTruncated>false</IsTruncated>");
    struct cfr_rotation_answer a = {.judged = 0};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(read_rights("", 200, IDENTITY("arn:aws:sts::123456789012:assumed-role/admin/session"), &a, &err),
                     0);
    assert_string_equal(a.caller, ROLE_ARN);
    assert_int_equal(read_rights("", 200, IDENTITY("arn:aws-cn:iam::123456789012:user/x/robot"), &a, &err), 0);
    assert_string_equal(a.caller, "arn:aws-cn:iam::123456789012:user/x/robot");
    assert_int_equal(read_rights("", 200, IDENTITY("arn:aws:iam::123456789012:root"), &a, &err), CFR_E_REJECTED);
    assert_int_equal(read_rights(ROLE_ARN, 200, first, &a, &err), 0);
    assert_string_equal(a.next, "2");
    assert_int_equal(read_rights(ROLE_ARN, 200, rest, &a, &err), 0);
    assert_string_equal(a.next, "");
    assert_string_equal(a.denied, "iam:CreateAccessKey, iam:UpdateAccessKey");
    /* What is left out is not allowed, and not denied either. */
    a = (struct cfr_rotation_answer){.judged = 0};
    assert_int_equal(read_rights(ROLE_ARN, 200, rest, &a, &err), CFR_E_ANSWER);
    assert_contains(err.text, "the answer is about 3 of 5 actions");
    a = (struct cfr_rotation_answer){.judged = 0};
    assert_int_equal(read_rights(ROLE_ARN, 200, SIMULATED(ONE("PassRole", "allowed"), ""), &a, &err), CFR_E_ANSWER);
    assert_int_equal(read_rights(ROLE_ARN, 403,
                                 "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error>"
                                 "</ErrorResponse>",
                                 &a, &err),
                     CFR_E_DENIED);
    assert_contains(err.text, "allow it iam:SimulatePrincipalPolicy on itself");
}

static const char *const *variables; /* name, value, ..., NULL */

static const char *lookup(const char *name)
{
    for (const char *const *v = variables; *v != NULL; v += 2) {
        if (strcmp(v[0], name) == 0)
            return v[1];
    }
    return NULL;
}

/* As the exchange: the switches and endpoints of the configuration, then those of the environment. */
static void places_to_call(void **state)
{
#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})
    static char gov[] = "us-gov-east-1";
    static char china[] = "cn-north-1";
    static char ireland[] = "eu-west-1";
    const struct {
        const char *const *env;
        char *region;
        int fips, dual_stack;
        const char *iam, *sts;
    } rows[] = {
        {ENV("AWS_USE_FIPS_ENDPOINT", "true"), ireland, 0, 0, "https://iam-fips.amazonaws.com/",
         "https://sts-fips.eu-west-1.amazonaws.com/"},
        {ENV("AWS_USE_FIPS_ENDPOINT", "true"), ireland, CFR_AWS_FALSE, 0, "https://iam.amazonaws.com/",
         "https://sts.eu-west-1.amazonaws.com/"},
        {ENV("AWS_USE_DUALSTACK_ENDPOINT", "TRUE"), ireland, 0, 0, "https://iam.global.api.aws/",
         "https://sts.eu-west-1.api.aws/"},
        {ENV("X", "y"), ireland, CFR_AWS_TRUE, CFR_AWS_TRUE, "https://iam-fips.global.api.aws/",
         "https://sts-fips.eu-west-1.api.aws/"},
        {ENV("X", "y"), gov, CFR_AWS_TRUE, 0, "https://iam.us-gov.amazonaws.com/",
         "https://sts.us-gov-east-1.amazonaws.com/"},
        {ENV("AWS_ENDPOINT_URL_IAM", "https://iam.test", "AWS_ENDPOINT_URL", "https://all.test"), ireland, 0, 0,
         "https://iam.test/", "https://all.test/"},
        {ENV("AWS_ENDPOINT_URL_STS", "https://sts.test", "AWS_ENDPOINT_URL", "https://all.test"), ireland, 0, 0,
         "https://all.test/", "https://sts.test/"},
        {ENV("AWS_ENDPOINT_URL_IAM", "https://iam.test", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"), ireland, 0, 0,
         "https://iam.amazonaws.com/", "https://sts.eu-west-1.amazonaws.com/"},
        {ENV("AWS_USE_FIPS_ENDPOINT", "true"), china, 0, 0, NULL, "https://sts-fips.cn-north-1.amazonaws.com.cn/"},
        {ENV("AWS_USE_FIPS_ENDPOINT", "maybe"), ireland, 0, 0, NULL, NULL},
        {ENV("AWS_USE_FIPS_ENDPOINT", "true", "AWS_ENDPOINT_URL", "https://all.test"), ireland, 0, 0, NULL, NULL},
    };
    struct cfr_grant k = keys("");

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof rows / sizeof rows[0]); i++) {
        bool iam = i % 2 == 0;
        const char *want = iam ? rows[i / 2].iam : rows[i / 2].sts;
        char *one[] = {rows[i / 2].region};
        struct cfr_rotation_aws c = robot();
        struct cfr_rotation_ask ask = {
            .op = iam ? CFR_ROTATION_LIST : CFR_ROTATION_VERIFY, .now_s = NOW, .admin = &k, .fresh = &k, .env = lookup};
        struct cfr_wire_request r = {0};
        struct cfr_err err = {0};
        int rc;

        variables = rows[i / 2].env;
        c.regions = (struct cfr_strings){one, 1};
        c.fips = rows[i / 2].fips;
        c.dual_stack = rows[i / 2].dual_stack;
        rc = cfr_rotation_aws_provider.build(&c, &ask, "", &r, &err);
        if ((rc == 0) != (want != NULL) || (rc != 0 && rc != CFR_E_CONFIG))
            fail_msg("row %zu: %d %s", i, rc, err.text);
        if (want != NULL)
            assert_string_equal(r.url, want);
        cfr_wire_request_free(&r);
    }
    cfr_grant_free(&k);
}

static void partitions(void **state)
{
    static const char *const rows[][4] = {
        {"us-west-2", "iam.amazonaws.com", "us-east-1", "sts.us-west-2.amazonaws.com"},
        {"cn-northwest-1", "iam.cn-north-1.amazonaws.com.cn", "cn-north-1", "sts.cn-northwest-1.amazonaws.com.cn"},
        {"us-gov-east-1", "iam.us-gov.amazonaws.com", "us-gov-west-1", "sts.us-gov-east-1.amazonaws.com"},
        {"eusc-de-east-1", "iam.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1", "sts.eusc-de-east-1.amazonaws.eu"},
        {"us-iso-west-1", "iam.us-iso-east-1.c2s.ic.gov", "us-iso-east-1", "sts.us-iso-west-1.c2s.ic.gov"},
        {"us-isob-east-1", "iam.us-isob-east-1.sc2s.sgov.gov", "us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"},
        {"eu-isoe-west-1", "iam.eu-isoe-west-1.cloud.adc-e.uk", "eu-isoe-west-1", "sts.eu-isoe-west-1.cloud.adc-e.uk"},
        {"us-isof-south-1", "iam.us-isof-south-1.csp.hci.ic.gov", "us-isof-south-1",
         "sts.us-isof-south-1.csp.hci.ic.gov"},
    };
    struct cfr_grant g = keys("");

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *one[] = {strdup(rows[i][0])};
        struct cfr_rotation_aws c = {.user_name = (char[]){"robot"}, .regions = {one, 1}};
        struct cfr_rotation_ask ask = {.op = CFR_ROTATION_LIST, .admin = &g, .fresh = &g};
        char want[512];

        (void)snprintf(want, sizeof want,
                       "POST https://%s/ iam/%s " KEY "\nAction=ListAccessKeys\nVersion=2010-05-08\nUserName=robot",
                       rows[i][1], rows[i][2]);
        builds(&c, &ask, "", want);
        ask.op = CFR_ROTATION_VERIFY;
        (void)snprintf(want, sizeof want,
                       "POST https://%s/ sts/%s " KEY "\nAction=GetCallerIdentity\nVersion=2011-06-15", rows[i][3],
                       rows[i][0]);
        builds(&c, &ask, "", want);
        free(one[0]);
    }
    cfr_grant_free(&g);
}

static void without_keys(void **state)
{
    struct cfr_rotation_aws c = robot();
    struct cfr_grant none = {0};
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_LIST, .admin = &none};
    struct cfr_wire_request r = {.method = NULL};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_rotation_aws_provider.build(&c, &ask, "", &r, &err), CFR_E_CONFIG);
    assert_contains(err.text, "`with` has no keys of AWS");
    cfr_wire_request_free(&r);
}

static int parses(const struct cfr_rotation_ask *ask, const char *folder, struct cfr_view file, long status,
                  struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_rotation_aws c = robot();
    struct cfr_wire_reply reply = {.status = status, .content_type = cfr_view_of("text/xml")};
    char name[256];
    int rc;

    (void)snprintf(name, sizeof name, "mint/aws/%s/%.*s", folder, (int)file.n, file.p);
    reply.body = data_file_read(name);
    if (cfr_view_find(file, ".html") >= 0)
        reply.content_type = cfr_view_of("text/html");
    rc = cfr_rotation_aws_provider.parse(&c, ask, &reply, out, err);
    data_file_free(reply.body);
    return rc;
}

static void errors(void **state)
{
    struct cfr_grant g = keys("");
    struct cfr_view whole = data_file_read("mint/aws/errors.tsv");
    struct cfr_view rest = whole;
    struct cfr_view col[6];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 6); rows++) {
        struct cfr_rotation_ask ask = {.id = MINTED, .admin = &g, .fresh = &g};
        struct cfr_rotation_answer answer = {.used_s = 0};
        struct cfr_err err = {0};
        int64_t status;
        int rc;

        while (!cfr_view_is(col[2], names[ask.op]))
            ask.op++;
        assert_true(cfr_view_int(col[1], &status));
        rc = parses(&ask, "errors", col[0], (long)status, &answer, &err);
        if (rc >= 0 || !cfr_view_is(col[3], cfr_err_name(rc)) ||
            !cfr_view_is(col[4], cfr_err_class_name(cfr_err_class(rc))) ||
            memmem(err.text, strlen(err.text), col[5].p, col[5].n) == NULL)
            fail_msg("%.*s: %s %s: %s", (int)col[0].n, col[0].p, cfr_err_name(rc),
                     cfr_err_class_name(cfr_err_class(rc)), err.text);
        assert_null(strstr(err.text, "c2VjcmV0"));
        assert_int_equal(answer.grant.field_count, 0);
        cfr_rotation_answer_free(&answer);
    }
    assert_int_equal(rows, 27);
    data_file_free(whole);
    cfr_grant_free(&g);
}

static void a_new_key(void **state)
{
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_CREATE};
    struct cfr_rotation_answer a = {.used_s = 0};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(parses(&ask, "grants", cfr_view_of("created.xml"), 200, &a, &err), 0);
    assert_string_equal(a.made.id, MINTED);
    assert_int_equal(a.made.created_s, NOW);
    assert_view(cfr_grant_get(&a.grant, "aws_access_key_id"), MINTED);
    assert_view(cfr_grant_get(&a.grant, "aws_secret_access_key"), SECRET);
    assert_view(cfr_grant_get(&a.grant, "aws_region"), "eu-west-1");
    assert_string_equal(a.grant.identity, MINTED " of robot");
    cfr_rotation_answer_free(&a);
}

/* Two pages, whose members have their parts in different orders. */
static void a_list(void **state)
{
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_LIST};
    struct cfr_rotation_answer a = {.used_s = 0};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(parses(&ask, "grants", cfr_view_of("list-1.xml"), 200, &a, &err), 0);
    assert_string_equal(a.next, "AAEe/+=page two");
    assert_int_equal(parses(&ask, "grants", cfr_view_of("list-2.xml"), 200, &a, &err), 0);
    assert_string_equal(a.next, "");
    assert_int_equal(a.keys.count, 3);
    assert_string_equal(a.keys.key[0].id, "AKIAEXAMPLE000000001");
    assert_string_equal(a.keys.key[1].id, "AKIAEXAMPLE000000002");
    assert_string_equal(a.keys.key[2].id, "AKIAEXAMPLE000000003");
    assert_true(a.keys.key[0].active && !a.keys.key[1].active && a.keys.key[2].active);
    assert_int_equal(a.keys.key[0].created_s, NOW);
    assert_int_equal(a.keys.key[2].created_s - a.keys.key[1].created_s, 1);
    cfr_rotation_answer_free(&a);
}

static void the_rest(void **state)
{
    static const struct {
        enum cfr_rotation_op op;
        const char *folder;
        const char *file;
        long status;
        int64_t used_s;
    } rows[] = {
        {CFR_ROTATION_LAST_USED, "grants", "used.xml", 200, NOW - 5},
        {CFR_ROTATION_LAST_USED, "grants", "unused.xml", 200, 0},
        {CFR_ROTATION_VERIFY, "grants", "identity.xml", 200, 0},
        {CFR_ROTATION_DELETE, "grants", "deleted.xml", 200, 0},
        {CFR_ROTATION_DELETE, "errors", "no-key.xml", 404, 0},
        {CFR_ROTATION_DEACTIVATE, "errors", "no-key.xml", 404, 0},
        {CFR_ROTATION_LAST_USED, "errors", "no-user.xml", 404, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_rotation_ask ask = {.op = rows[i].op, .id = MINTED};
        struct cfr_rotation_answer a = {.used_s = 0};
        struct cfr_err err = {0};

        if (parses(&ask, rows[i].folder, cfr_view_of(rows[i].file), rows[i].status, &a, &err) != 0)
            fail_msg("%s: %s", rows[i].file, err.text);
        assert_int_equal(a.used_s, rows[i].used_s);
        cfr_rotation_answer_free(&a);
    }
}

static void rules(void **state)
{
    static const struct {
        const char *user;
        const char *regions[2];
        const char *endpoint;
        const char *why; /* NULL: it is good */
    } rows[] = {
        {"robot", {"us-east-1", "ap-south-1"}, NULL, NULL},
        {"a_b+c=d,e.f@g-h", {"us-east-1", NULL}, "https://iam.example/x", NULL},
        {"path/robot", {"us-east-1", NULL}, NULL, "without path or ARN"},
        {"robot", {"us-east-1", "cn-north-1"}, NULL, "different partitions"},
        {"robot", {"US-EAST-1", NULL}, NULL, "is not a region"},
        {"robot", {"us-east-1.evil.example/", NULL}, NULL, "is not a region"},
        {"robot", {"us-east-1", NULL}, "http://iam.example", "plain http is only for"},
        {"robot", {"us-east-1", NULL}, "http://127.evil.example.com/", "plain http is only for"},
        {"robot", {"us-east-1", NULL}, "http://[::1].evil.example.com/", "no valid host name"},
        {"robot", {"us-east-1", NULL}, "https://iam.example/a%41", "a plain path"},
        {"robot", {"us-east-1", NULL}, "https://iam.example/?x", "a plain path"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *list[2] = {strdup(rows[i].regions[0]), rows[i].regions[1] != NULL ? strdup(rows[i].regions[1]) : NULL};
        struct cfr_rotation_aws c = {.user_name = strdup(rows[i].user),
                                     .regions = {list, list[1] != NULL ? 2 : 1},
                                     .endpoint = rows[i].endpoint != NULL ? strdup(rows[i].endpoint) : NULL};
        struct cfr_err err = {0};
        int rc = cfr_rotation_aws_table.check(&c, &err);

        if (rows[i].why == NULL ? rc != 0 : rc != CFR_E_CONFIG || strstr(err.text, rows[i].why) == NULL)
            fail_msg("row %zu: %d %s", i, rc, err.text);
        free(list[0]);
        free(list[1]);
        free(c.user_name);
        free(c.endpoint);
    }
}

/* What any service of AWS answers with when it is busy or down is tried again, whatever its status is. */
static void outages(void **state)
{
    static const struct {
        const char *code;
        int rc;
    } rows[] = {
        {"Throttling", CFR_E_THROTTLED},
        {"ThrottlingException", CFR_E_THROTTLED},
        {"RequestLimitExceeded", CFR_E_THROTTLED},
        {"ThrottledException", CFR_E_THROTTLED},
        {"RequestThrottledException", CFR_E_THROTTLED},
        {"RequestThrottled", CFR_E_THROTTLED},
        {"TooManyRequestsException", CFR_E_THROTTLED},
        {"ProvisionedThroughputExceededException", CFR_E_THROTTLED},
        {"TransactionInProgressException", CFR_E_THROTTLED},
        {"BandwidthLimitExceeded", CFR_E_THROTTLED},
        {"LimitExceededException", CFR_E_THROTTLED},
        {"SlowDown", CFR_E_THROTTLED},
        {"PriorRequestNotComplete", CFR_E_THROTTLED},
        {"EC2ThrottledException", CFR_E_THROTTLED},
        {"RequestTimeout", CFR_E_UNAVAILABLE},
        {"RequestTimeoutException", CFR_E_UNAVAILABLE},
        {"InternalFailure", CFR_E_UNAVAILABLE},
        {"InternalError", CFR_E_UNAVAILABLE},
        {"InternalServerError", CFR_E_UNAVAILABLE},
        {"ServiceUnavailable", CFR_E_UNAVAILABLE},
        {"ServiceUnavailableException", CFR_E_UNAVAILABLE},
        {"ServiceFailure", CFR_E_UNAVAILABLE},
    };
    static const enum cfr_rotation_op ops[] = {CFR_ROTATION_LIST, CFR_ROTATION_CREATE, CFR_ROTATION_VERIFY};
    struct cfr_rotation_aws c = robot();
    struct cfr_grant g = keys("");

    (void)state;
    for (size_t i = 0; i < COUNT(rows) * COUNT(ops); i++) {
        struct cfr_rotation_ask ask = {.op = ops[i % COUNT(ops)], .id = MINTED, .admin = &g, .fresh = &g};
        struct cfr_rotation_answer answer = {.used_s = 0};
        struct cfr_err err = {0};
        char body[512];
        struct cfr_wire_reply reply = {.status = 400, .content_type = cfr_view_of("text/xml")};
        int rc;

        (void)snprintf(body, sizeof body,
                       "<ErrorResponse><Error><Code>%s</Code><Message>m</Message></Error></ErrorResponse>",
                       rows[i / COUNT(ops)].code);
        reply.body = cfr_view_of(body);
        rc = cfr_rotation_aws_provider.parse(&c, &ask, &reply, &answer, &err);
        if (rc != rows[i / COUNT(ops)].rc || cfr_err_class(rc) != CFR_CLASS_RETRY)
            fail_msg("%s: %s: %s", rows[i / COUNT(ops)].code, cfr_err_name(rc), err.text);
        cfr_rotation_answer_free(&answer);
    }
    cfr_grant_free(&g);
}

/* Refusals of a right, and others that are refusals, too. */
static void refused_rights(void **state)
{
    static const struct {
        const char *code;
        long status;
        bool may_not;
    } rows[] = {
        {"AccessDenied", 403, true},          {"AccessDeniedException", 400, true}, {"NotAuthorized", 400, true},
        {"InvalidClientTokenId", 403, false}, {"ExpiredToken", 403, false},         {"Throttling", 400, false},
        {"LimitExceeded", 409, false},        {"ServiceFailure", 500, false},
    };
    const struct cfr_rotation_aws c = robot();
    struct cfr_grant g = keys("");

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_rotation_ask ask = {.op = CFR_ROTATION_CREATE, .admin = &g};
        struct cfr_rotation_answer answer = {.used_s = 0};
        struct cfr_err err = {0};
        char body[512];
        struct cfr_wire_reply reply = {.status = rows[i].status, .content_type = cfr_view_of("text/xml")};
        int rc;

        (void)snprintf(body, sizeof body,
                       "<ErrorResponse><Error><Code>%s</Code><Message>m</Message></Error></ErrorResponse>",
                       rows[i].code);
        reply.body = cfr_view_of(body);
        rc = cfr_rotation_aws_provider.parse(&c, &ask, &reply, &answer, &err);
        if (rc == 0 || answer.may_not != rows[i].may_not || (answer.may_not && rc != CFR_E_DENIED))
            fail_msg("%s: %s: %s", rows[i].code, cfr_err_name(rc), err.text);
        cfr_rotation_answer_free(&answer);
    }
    cfr_grant_free(&g);
}

/* The keys of `with` as those of a new key, and nothing else that its Secret has. */
static void what_is_passed_on(void **state)
{
    static const char *const prefixes[] = {"", CFR_FIELD_SECRET_PREFIX};
    const struct cfr_rotation_aws c = robot();

    (void)state;
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        struct cfr_grant g = keys(prefixes[i]);
        struct cfr_rotation_ask ask = {.admin = &g};
        struct cfr_grant out = {0};
        struct cfr_err err = {0};
        char name[64];

        assert_int_equal(cfr_grant_set(&g, CFR_FIELD_SECRET_PREFIX "note", cfr_view_of("n"), NULL), 0);
        assert_int_equal(cfr_rotation_aws_provider.pass_on(&c, &ask, &out, &err), 0);
        for (size_t k = 0; cfr_rotation_aws_provider.grants[k] != NULL; k++)
            assert_true(cfr_grant_get(&out, cfr_rotation_aws_provider.grants[k]).n != 0);
        assert_int_equal(out.field_count, 3);
        assert_true(cfr_view_eq(cfr_grant_get(&out, CFR_FIELD_AWS_SECRET_ACCESS_KEY), cfr_view_of(SECRET)));
        assert_true(cfr_view_eq(cfr_grant_get(&out, CFR_FIELD_AWS_REGION), cfr_view_of("eu-west-1")));
        cfr_grant_free(&out);
        /* A session is no key. */
        (void)snprintf(name, sizeof name, "%saws_session_token", prefixes[i]);
        assert_int_equal(cfr_grant_set(&g, name, cfr_view_of("session"), NULL), 0);
        assert_int_equal(cfr_rotation_aws_provider.pass_on(&c, &ask, &out, &err), CFR_E_CONFIG);
        assert_non_null(strstr(err.text, "aws_session_token"));
        assert_int_equal(out.field_count, 0);
        cfr_grant_free(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outages),        cmocka_unit_test(requests),
        cmocka_unit_test(rights),         cmocka_unit_test(answered_rights),
        cmocka_unit_test(places_to_call), cmocka_unit_test(partitions),
        cmocka_unit_test(without_keys),   cmocka_unit_test(errors),
        cmocka_unit_test(a_new_key),      cmocka_unit_test(a_list),
        cmocka_unit_test(the_rest),       cmocka_unit_test(rules),
        cmocka_unit_test(refused_rights), cmocka_unit_test(what_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
