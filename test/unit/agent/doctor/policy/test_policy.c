/* SPDX-License-Identifier: MIT */
/* Trust documents of the clouds, evaluated for a token; what each side must say; what a refusal names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"
#include "sts/aws/aws.h"
#include "sts/azure/azure.h"
#include "sts/gcp/gcp.h"
#include "agent/doctor/policy/policy_private.h"
#include "agent/doctor/policy/policy.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define ROLE "arn:aws:iam::123456789012:role/app"
#define ISS  "https://oidc.example.net/id/1"
#define ARN  "arn:aws:iam::123456789012:oidc-provider/oidc.example.net/id/1"
#define SUB  "system:serviceaccount:ns-a:sa-b"
#define KEY  "oidc.example.net/id/1:"

static struct cfr_str said; /* "level check: text\n" of each finding */

static void take(void *ctx, const struct cfr_finding *f)
{
    (void)ctx;
    cfr_str_addf(&said, "%s %s: %s\n", cfr_finding_level_name(f->level), f->check, f->text);
    if (f->paste != NULL)
        cfr_str_addz(&said, f->paste);
}

static const struct cfr_finding_sink sink = {take, NULL};

static const char *text(void)
{
    return said.p != NULL ? said.p : "";
}

static void says(const char *words)
{
    if (strstr(text(), words) == NULL)
        fail_msg("expected \"%s\" in:\n%s", words, text());
}

static void is_silent_on(const char *words)
{
    if (strstr(text(), words) != NULL)
        fail_msg("did not expect \"%s\" in:\n%s", words, text());
}

static int forget(void **state)
{
    (void)state;
    cfr_str_free(&said);
    said = (struct cfr_str){.limit = 65536};
    return 0;
}

static struct cfr_policy_token token_of(struct cfr_view *aud)
{
    return (struct cfr_policy_token){cfr_view_of(ISS), cfr_view_of(SUB), aud, 1};
}

/* ---- AWS ---- */

static void policy(const char *statements)
{
    struct cfr_view aud = cfr_view_of("sts.amazonaws.com");
    struct cfr_policy_token t = token_of(&aud);
    struct cfr_str doc = {.limit = 65536};

    (void)forget(NULL);
    cfr_str_addf(&doc, "{\"Version\":\"2012-10-17\",\"Statement\":%s}", statements);
    cfr_policy_aws(cfr_str_view(&doc), ROLE, &t, &sink);
    cfr_str_free(&doc);
}

static void condition(const char *c)
{
    struct cfr_str s = {.limit = 65536};

    cfr_str_addf(&s,
                 "{\"Effect\":\"Allow\",\"Action\":\"sts:AssumeRoleWithWebIdentity\",\"Principal\":{"
                 "\"Federated\":\"" ARN "\"},\"Condition\":%s}",
                 c);
    policy(s.p);
    cfr_str_free(&s);
}

static void conditions_that_hold(void **state)
{
    static const char *const good[] = {
        "{}",
        "{\"StringEquals\":{\"" KEY "sub\":\"" SUB "\",\"" KEY "aud\":[\"x\",\"sts.amazonaws.com\"]}}",
        "{\"StringLike\":{\"" KEY "sub\":\"system:serviceaccount:ns-?:*\"}}",
        "{\"stringlike\":{\"OIDC.example.net/id/1:SUB\":[\"${x}\",\"system:*\"]}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        condition(good[i]);
        says("ok trust.policy: statement 1 of the trust policy lets this token in");
        is_silent_on("wrong");
    }
}

static void conditions_that_do_not(void **state)
{
    static const char *const bad[][2] = {
        {"{\"StringEquals\":{\"" KEY "sub\":\"x\"}}",
         "expects the subject \"x\" (StringEquals on \"" KEY "sub\"), your token says \"" SUB "\""},
        {"{\"StringEquals\":{\"" KEY "sub\":\"system:*\"}}", "`*` is taken literally here"},
        {"{\"StringEquals\":{\"" KEY "sub\":\"System:serviceaccount:ns-a:sa-b\"}}", "upper and lower case differ"},
        {"{\"StringEquals\":{\"" KEY "sub\":\"" SUB " \"}}", "white space"},
        {"{\"StringEquals\":{\"" KEY "aud\":[]}}", "expects the audience"},
        {"{\"StringLike\":{\"" KEY "sub\":\"system:serviceaccount:ns-?\"}}", "expects the subject"},
        {"{\"StringEquals\":{\"" ISS ":sub\":\"" SUB "\"}}", "asks for the key"},
        {"{\"StringEquals\":{\"oidc.example.net/id:sub\":\"" SUB "\"}}", "asks for the key"},
        {"{\"StringEquals\":{\"other.example:SUB\":\"" SUB "\"}}", "asks for the key"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        condition(bad[i][0]);
        says("wrong trust.policy: statement 1 of the trust policy ");
        says(bad[i][1]);
        is_silent_on("ok ");
    }
}

static void what_cannot_be_known(void **state)
{
    (void)state;
    condition("{\"IpAddress\":{\"aws:SourceIp\":\"10.0.0.0/8\"}}");
    says("warning trust.policy: statement 1 of the trust policy has a condition IpAddress");
    says("note trust.policy: statement 1 lets this token in if");
    condition("{\"StringEquals\":{\"sts:RoleSessionName\":\"x\"}}");
    says("has a condition on \"sts:RoleSessionName\"");
    condition("{\"StringEquals\":{\"ec2:SubnetID\":\"x\"}}");
    says("has a condition on \"ec2:SubnetID\"");
    condition("{\"StringEquals\":{\"" KEY "sub\":\"${aws:PrincipalTag/sub}\"}}");
    says("warning trust.policy: statement 1 of the trust policy compares \"" KEY "sub\" with a policy variable");
    is_silent_on("ok ");
    /* The other operators are for AWS's policy simulator. */
    condition("{\"StringNotEquals\":{\"" KEY "sub\":\"x\"}}");
    says("warning trust.policy: statement 1 of the trust policy has a condition StringNotEquals");
    condition("{\"ForAnyValue:StringLike\":{\"" KEY "aud\":\"sts.*\"}}");
    says("has a condition ForAnyValue:StringLike");
    is_silent_on("wrong");
    /* What is certainly wrong is wrong whatever the rest. */
    condition("{\"IpAddress\":{\"aws:SourceIp\":\"10.0.0.0/8\"},\"StringEquals\":{\"" KEY "sub\":\"x\"}}");
    says("wrong trust.policy");
    is_silent_on("lets this token in if");
}

#define ALLOW(federated, action)                                                                                       \
    "{\"Effect\":\"Allow\",\"Principal\":{\"Federated\":" federated "},\"Action\":" action "}"
#define DENY "{\"Effect\":\"Deny\",\"Principal\":\"*\",\"Action\":\"sts:*\"}"

static void statements(void **state)
{
    (void)state;
    policy("[" ALLOW("\"arn:x\"", "\"sts:AssumeRoleWithWebIdentity\"") "," ALLOW("[\"a\",\"" ARN "\"]",
                                                                                 "[\"STS:assumerole*\"]") "]");
    says("ok trust.policy: statement 2");
    is_silent_on("arn:x");
    policy("[" ALLOW("\"" ARN "\"", "\"*\"") "," DENY "]");
    says("statement 2 of the trust policy denies this token");
    policy("[" ALLOW("\"arn:aws:iam::123456789012:oidc-provider/oidc.example.net/id/1/\"", "\"*\"") "]");
    says("a slash at the end counts");
    policy("[{\"Effect\":\"Allow\",\"Principal\":{\"AWS\":\"1\"},\"Action\":\"sts:AssumeRole\"}]");
    says("no statement of the trust policy allows");
    says(ARN);
    policy("[{\"Effect\":\"Allow\",\"NotPrincipal\":{\"AWS\":\"1\"},\"Action\":\"*\"}]");
    says("not judged here");
    is_silent_on("wrong");
    policy("[{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":\"*\"}]");
    says("is for every principal");
    is_silent_on("ok ");
    is_silent_on("wrong");
}

#define WHEN(effect, action, condition)                                                                                \
    "{\"Effect\":\"" effect "\",\"Principal\":{\"Federated\":\"" ARN "\"}," action ",\"Condition\":" condition "}"
#define THIS "\"Action\":\"sts:AssumeRoleWithWebIdentity\""

static void statements_together(void **state)
{
    (void)state;
    /* A Deny that cannot be judged leaves no certainty, and is told; what an Allow leaves open is not. */
    policy(
        "[" WHEN("Allow", THIS, "{}") "," WHEN("Deny", THIS, "{\"Bool\":{\"aws:SecureTransport\":\"false\"}}") "," WHEN(
            "Allow", THIS,
            "{\"IpAddress\":{\"aws:SourceIp\":\"10.0."
            "0.0/8\"}}") "]");
    says("warning trust.policy: statement 2 of the trust policy has a condition Bool");
    says("warning trust.policy: statement 1 of the trust policy lets this token in, unless statement 2 "
         "denies it");
    is_silent_on("IpAddress");
    is_silent_on("ok ");
    /* A Deny whose condition does not hold denies nothing. */
    policy("[" WHEN("Deny", THIS, "{\"StringLike\":{\"" KEY "sub\":\"user:*\"}}") "," WHEN("Allow", THIS, "{}") "]");
    says("ok trust.policy: statement 2");
    is_silent_on("statement 1");
    policy("[" WHEN("Allow", THIS, "{}") "," WHEN("Deny", "\"NotAction\":\"sts:TagSession\"", "{}") "]");
    says("statement 2 of the trust policy denies this token");
    policy("[" WHEN("Allow", THIS, "{}") "," WHEN("Deny", "\"NotAction\":[\"sts:Assume*\"]", "{}") "]");
    says("ok trust.policy: statement 1");
    policy("[" WHEN("Allow", THIS, "{}") ",{\"Effect\":\"Deny\",\"Principal\":{\"AWS\":\"*\"}," THIS "}]");
    says("unless statement 2 denies it");
    /* A statement for another issuer's tokens is no trouble where one is for this one's. */
    policy("[" ALLOW("\"arn:aws:iam::123456789012:oidc-provider/other\"", "\"sts:AssumeRoleWithWebIdentity\"") "," WHEN(
        "Allow", THIS, "{\"StringEquals\":{\"" KEY "sub\":\"x\"}}") "]");
    says("wrong trust.policy: statement 2 of the trust policy expects the subject");
    is_silent_on("statement 1");
    policy("[" ALLOW("[\"" ARN "/\",\"arn:other\"]", "\"sts:AssumeRoleWithWebIdentity\"") "]");
    says("a slash at the end counts");
}

static void documents(void **state)
{
    static const char *const none[] = {"", "{}", "[]", "no json", "{\"Role\":{\"AssumeRolePolicyDocument\":\"%zz\"}}",
                                       "1"};
    struct cfr_view aud = cfr_view_of("sts.amazonaws.com");
    struct cfr_policy_token t = token_of(&aud);

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        (void)forget(NULL);
        cfr_policy_aws(cfr_view_of(none[i]), ROLE, &t, &sink);
        says("wrong trust.file");
    }
    (void)forget(NULL);
    cfr_policy_aws(
        cfr_view_of("{\"Role\":{\"Arn\":\"arn:aws:iam::123456789012:role/other\",\"AssumeRolePolicyDocument\":"
                    "\"%7B%22Statement%22%3A%5b%7B%22Effect%22:%22Allow%22,%22Principal%22:%7B%22Federated%22:"
                    "%22" ARN "%22%7D,%22Action%22:%22*%22%7D%5D%7D\"}}"),
        ROLE, &t, &sink);
    says("ok trust.policy: statement 1");
    says("warning trust.policy: the file describes the role arn:aws:iam::123456789012:role/other");
    (void)forget(NULL);
    cfr_policy_aws(cfr_view_of("{\"Statement\":[]}"), "registry", &t, &sink);
    says("no ARN of a role");
}

static void provider_arn(void **state)
{
    char out[CFR_AWS_PROVIDER_ARN_MAX];

    (void)state;
    assert_true(cfr_aws_identity_provider(ROLE, cfr_view_of(ISS), out));
    assert_string_equal(out, ARN);
    assert_true(cfr_aws_identity_provider("arn:aws-cn:iam::1:role/a/b", cfr_view_of("https://i"), out));
    assert_string_equal(out, "arn:aws-cn:iam::1:oidc-provider/i");
    assert_false(cfr_aws_identity_provider("role", cfr_view_of(ISS), out));
}

static void patterns(void **state)
{
    (void)state;
    assert_true(cfr_policy_like(cfr_view_of("*"), cfr_view_of("")));
    assert_true(cfr_policy_like(cfr_view_of("a*b*c"), cfr_view_of("aXbYbc")));
    assert_true(cfr_policy_like(cfr_view_of("a?c"), cfr_view_of("abc")));
    assert_false(cfr_policy_like(cfr_view_of("a?c"), cfr_view_of("ac")));
    assert_false(cfr_policy_like(cfr_view_of("a*b"), cfr_view_of("abc")));
    assert_false(cfr_policy_like(cfr_view_of(""), cfr_view_of("a")));
}

/* ---- Azure ---- */

static void azure(const char *doc)
{
    struct cfr_view aud = cfr_view_of("api://AzureADTokenExchange");
    struct cfr_policy_token t = token_of(&aud);

    (void)forget(NULL);
    cfr_policy_azure(cfr_view_of(doc), &t, &sink);
}

#define FIC(issuer, subject, audience)                                                                                 \
    "{\"name\":\"f\",\"issuer\":\"" issuer "\",\"subject\":\"" subject "\",\"audiences\":[\"" audience "\"]"           \
    "}"

static void federated_credentials(void **state)
{
    (void)state;
    azure(FIC(ISS, SUB, "api://AzureADTokenExchange"));
    says("ok trust.federated: the federated credential \"f\"");
    azure("{\"value\":[" FIC("https://x", "y", "z") "," FIC(ISS, SUB, "api://AzureADTokenExchange") "]}");
    says("ok ");
    azure("[" FIC("https://x", "y", "z") "," FIC(ISS "/", SUB, "api://AzureADTokenExchange") "]");
    says("expects the issuer \"" ISS "/\", your token says \"" ISS "\": a slash at the end counts");
    says("none of the 2 federated credentials fits");
    is_silent_on("https://x");
    azure("{\"properties\":" FIC(ISS, "system:serviceaccount:ns-a:SA-B", "api://x") "}");
    says("expects the subject \"system:serviceaccount:ns-a:SA-B\", your token says \"" SUB
         "\": upper and lower case differ");
    says("expects the audience \"api://x\"");
    azure("{\"issuer\":\"" ISS
          "\",\"audiences\":[\"api://AzureADTokenExchange\"],\"claimsMatchingExpression\":{\"value\":\"x\"}}");
    says("warning trust.federated");
    azure("[{\"issuer\":\"" ISS "\",\"audiences\":[\"api://AzureADTokenExchange\"],"
          "\"claimsMatchingExpression\":{\"value\":\"x\"}}," FIC(ISS, SUB, "api://AzureADTokenExchange") "]");
    says("ok trust.federated");
    azure("[]");
    says("wrong trust.file");
    azure("{");
    says("wrong trust.file");
}

/* ---- Google ---- */

#define NAME "projects/1/locations/global/workloadIdentityPools/p/providers/q"

static void pool(const char *rest, const char *aud_text)
{
    struct cfr_view aud = cfr_view_of(aud_text);
    struct cfr_policy_token t = token_of(&aud);
    struct cfr_str doc = {.limit = 65536};

    (void)forget(NULL);
    cfr_str_addf(&doc, "{\"name\":\"" NAME "\",%s}", rest);
    cfr_policy_gcp(cfr_str_view(&doc), "//iam.googleapis.com/" NAME, &t, &sink);
    cfr_str_free(&doc);
}

#define MAPPED "\"attributeMapping\":{\"google.subject\":\"assertion.sub\"}"

static void pool_of_subject(const char *subject)
{
    static const char doc[] = "{\"name\":\"" NAME "\",\"oidc\":{\"issuerUri\":\"" ISS "\"}," MAPPED "}";
    struct cfr_view aud = cfr_view_of("//iam.googleapis.com/" NAME);
    struct cfr_policy_token t = token_of(&aud);

    (void)forget(NULL);
    t.sub = cfr_view_of(subject);
    cfr_policy_gcp(cfr_view_of(doc), NULL, &t, &sink);
}

static void pool_with_condition(const char *condition)
{
    char rest[512];

    (void)snprintf(rest, sizeof rest, "\"oidc\":{\"issuerUri\":\"" ISS "\"},\"attributeCondition\":\"%s\"," MAPPED,
                   condition);
    pool(rest, "//iam.googleapis.com/" NAME);
}

static void pool_providers(void **state)
{
    static const char *const good[] = {"assertion.sub == '" SUB "'", " google.subject=='" SUB "' "};
    static const char *const unknown[] = {"assertion.sub != 'x'",       "assertion.sub.startsWith('x')",
                                          "assertion.x == 'y'",         "assertion.sub == 'x' || assertion.sub == 'y'",
                                          "assertion.sub == 'unclosed", "assertion.sub == '",
                                          "assertion.sub == x",         "=="};

    char long_subject[141];

    (void)state;
    memset(long_subject, 'x', 140);
    long_subject[140] = '\0';
    pool("\"oidc\":{\"issuerUri\":\"" ISS "\"}," MAPPED, "https://iam.googleapis.com/" NAME);
    says("ok trust.pool: the provider accepts this token");
    says("google.subject becomes \"" SUB "\"");
    pool("\"oidc\":{\"issuerUri\":\"" ISS "\",\"allowedAudiences\":[\"a\",\"x\"]}," MAPPED, "x");
    says("ok trust.pool: the provider accepts");
    pool("\"oidc\":{\"issuerUri\":\"" ISS "/\",\"allowedAudiences\":[\"a\",\"b\"]}," MAPPED, "x");
    says("expects the issuer \"" ISS "/\", your token says \"" ISS "\": a slash at the end counts");
    says("expects the audience \"a\" or \"b\", your token says \"x\"");
    is_silent_on("ok ");
    pool("\"disabled\":true,\"saml\":{}", "x");
    says("is disabled");
    says("not for OpenID Connect");
    pool("\"oidc\":{\"issuerUri\":\"" ISS
         "\"},\"attributeMapping\":{\"google.subject\":\"assertion.sub.extract('x')\"}",
         "//iam.googleapis.com/" NAME);
    says("warning trust.pool: the mapping");
    is_silent_on("accepts this token");
    pool("\"oidc\":{\"issuerUri\":\"" ISS "\"},\"attributeCondition\":\"assertion.sub == 'x'\"," MAPPED,
         "//iam.googleapis.com/" NAME);
    says("wrong trust.pool: the attribute condition (assertion.sub == 'x') is false");
    is_silent_on("accepts this token");
    pool_of_subject(long_subject);
    says("google.subject becomes 140 bytes long, and Google accepts 127");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        pool_with_condition(good[i]);
        says("ok trust.pool: the provider accepts this token");
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        pool_with_condition(unknown[i]);
        says("warning trust.pool: the attribute condition");
        is_silent_on("wrong ");
    }
}

/* ---- what is needed, what was refused ---- */

static void needed(void **state)
{
    struct cfr_view aud = cfr_view_of("sts.amazonaws.com");
    struct cfr_policy_token t = token_of(&aud);
    char role[] = ROLE;
    char audience[] = "//iam.googleapis.com/" NAME;
    char account[] = "a@b.iam.gserviceaccount.com";
    char tenant[] = "11111111-2222-3333-4444-555555555555";
    struct cfr_aws aws = {.role_arn = role};
    struct cfr_gcp gcp = {.audience = audience, .service_account = account};
    struct cfr_azure az = {.tenant_id = tenant, .client_id = tenant, .cloud = CFR_AZURE_USGOV};

    (void)state;
    cfr_policy_needed(&cfr_aws_provider, &aws, NULL, &t, &sink);
    says("\"Principal\": {\"Federated\": \"" ARN "\"},");
    says("\"" KEY "sub\": \"" SUB "\",\n      \"" KEY "aud\": \"sts.amazonaws.com\"\n");
    says("aws iam create-open-id-connect-provider --url '" ISS "' --client-id-list 'sts.amazonaws.com'\n");
    (void)forget(NULL);
    cfr_policy_needed(&cfr_gcp_provider, &gcp, NULL, &t, &sink);
    says("\"principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/" SUB "\"");
    says("gcloud iam workload-identity-pools providers update-oidc 'q' --project='1' --location='global'"
         " --workload-identity-pool='p' \\\n    --issuer-uri='" ISS "' --allowed-audiences='sts.amazonaws.com' "
         "--attribute-mapping=google.subject=assertion.sub\n");
    says("add-iam-policy-binding 'a@b.iam.gserviceaccount.com' \\\n    --role=roles/iam.workloadIdentityUser "
         "--member='principal://");
    aud = cfr_view_of("//iam.googleapis.com/projects/2/x");
    cfr_policy_needed(&cfr_gcp_provider, &gcp, NULL, &t, &sink);
    says("warning trust.needed: the configured provider is //iam.googleapis.com/" NAME ", your token says \"//iam");
    (void)forget(NULL);
    {
        struct cfr_view two[] = {cfr_view_of("//iam.googleapis.com/projects/2/x"),
                                 cfr_view_of("https://iam.googleapis.com/" NAME)};

        t.aud = two;
        t.aud_count = 2;
        cfr_policy_needed(&cfr_gcp_provider, &gcp, NULL, &t, &sink);
        is_silent_on("warning");
        t.aud = &aud;
        t.aud_count = 1;
    }
    (void)forget(NULL);
    cfr_policy_needed(&cfr_azure_provider, &az, NULL, &t, &sink);
    says("usual here: api://AzureADTokenExchangeUSGov");
    says("az ad app federated-credential create --id '11111111-2222-3333-4444-555555555555' \\\n    --parameters "
         "'{\"name\": \"credfresh\", \"issuer\": \"" ISS "\", \"subject\": \"" SUB "\", \"audiences\": "
         "[\"//iam.googleapis.com/projects/2/x\"]}'\n");
    aud = cfr_view_of("it's; $(reboot)");
    cfr_policy_needed(&cfr_aws_provider, &aws, NULL, &t, &sink);
    says("--client-id-list 'it'\\''s; $(reboot)'\n");
}

static void refused(void **state)
{
    struct cfr_view aud = cfr_view_of("api://x");
    struct cfr_policy_token t = token_of(&aud);

    (void)state;
    cfr_policy_refused(&cfr_azure_provider,
                       "AADSTS700213: No matching federated identity record found for presented assertion subject '" SUB
                       "'. Check",
                       &t, &sink);
    says("no federated credential of the client has the subject \"" SUB "\", which is what your token says");
    cfr_policy_refused(&cfr_azure_provider, "AADSTS700211: presented assertion issuer 'https://other'.", &t, &sink);
    says("Entra ID received the issuer \"https://other\"");
    cfr_policy_refused(&cfr_azure_provider, "AADSTS700212: presented assertion audience 'api://x'.", &t, &sink);
    says("has the audience \"api://x\"");
    cfr_policy_refused(&cfr_gcp_provider,
                       "The audience in ID Token [api://x] does not match the expected audience "
                       "//iam.googleapis.com/p. (HTTP 400)",
                       &t, &sink);
    says("expects the audience \"//iam.googleapis.com/p\", your token says \"api://x\"");
    (void)forget(NULL);
    cfr_policy_refused(&cfr_gcp_provider, "something else", &t, &sink);
    cfr_policy_refused(&cfr_aws_provider, "Throttling", &t, &sink);
    assert_string_equal(text(), "");
}

static void terminal_is_safe(void **state)
{
    char out[CFR_POLICY_SHOWN_MAX];
    char big[1000];

    (void)state;
    assert_string_equal(cfr_policy_show(cfr_view_of("a\033[2Jb\n\xc2\x9b"), out), "a?[2Jb???");
    memset(big, 'x', sizeof big);
    (void)cfr_policy_show((struct cfr_view){big, sizeof big}, out);
    assert_int_equal(strlen(out), CFR_POLICY_SHOWN_MAX - 1);
    assert_string_equal(out + CFR_POLICY_SHOWN_MAX - 4, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(conditions_that_hold, forget),
        cmocka_unit_test_setup(conditions_that_do_not, forget),
        cmocka_unit_test_setup(what_cannot_be_known, forget),
        cmocka_unit_test_setup(statements, forget),
        cmocka_unit_test_setup(statements_together, forget),
        cmocka_unit_test_setup(documents, forget),
        cmocka_unit_test_setup(provider_arn, forget),
        cmocka_unit_test_setup(patterns, forget),
        cmocka_unit_test_setup(federated_credentials, forget),
        cmocka_unit_test_setup(pool_providers, forget),
        cmocka_unit_test_setup(needed, forget),
        cmocka_unit_test_setup(refused, forget),
        cmocka_unit_test_setup(terminal_is_safe, forget),
    };
    int failed;

    cfr_json_setup();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    cfr_str_free(&said);
    return failed;
}
