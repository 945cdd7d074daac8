/* SPDX-License-Identifier: MIT */
/* What the formats for Google Cloud write, byte for byte, and what they refuse. */
#include "format_sample.h"

#define EXPIRES 1767326645 /* 2026-01-02T04:04:05Z */

static struct cfr_format_gcp gcp;

static int setup(void **state)
{
    (void)state;
    format_begin();
    set(CFR_FIELD_TOKEN, "e30.e30.c2ln");
    set(CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.d.b0Aa");
    grant.issued_s = EXPIRES - 3600;
    grant.expires_s = EXPIRES;
    gcp = (struct cfr_format_gcp){
        .audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
        .subject_token_type = "urn:ietf:params:oauth:token-type:jwt",
        .token_url = "https://sts.googleapis.com/v1/token",
        .universe_domain = "googleapis.com",
    };
    input = (struct cfr_format_input){.credential = "reg",
                                      .generation = 12,
                                      .grant = &grant,
                                      .token_path = "/run/credentials/reg/token",
                                      .gcp = &gcp,
                                      .section_header = true};
    return 0;
}

static void refuses(const char *format, const char *why)
{
    assert_int_equal(render(format), CFR_E_CONFIG);
    assert_contains(err.text, why);
}

#define HEAD                                                                                                           \
    "\"audience\":\"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x\","           \
    "\"subject_token_type\":\"urn:ietf:params:oauth:token-type:jwt\","                                                 \
    "\"token_url\":\"https://sts.googleapis.com/v1/token\""
#define FILE_SOURCE ",\"credential_source\":{\"file\":\"/run/credentials/reg/token\",\"format\":{\"type\":\"text\"}}"

static void external_account(void **state)
{
    (void)state;
    check("gcp-external-account", "{\"type\":\"external_account\"," HEAD FILE_SOURCE "}\n");
    gcp.impersonation_url =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken";
    check("gcp-external-account",
          "{\"type\":\"external_account\"," HEAD
          ",\"service_account_impersonation_url\":\"https://iamcredentials.googleapis.com/v1/projects/-/"
          "serviceAccounts/a@b.c:generateAccessToken\"" FILE_SOURCE "}\n");
    gcp.lifetime_s = 1800;
    gcp.universe_domain = "other.example";
    gcp.user_project = "123";
    gcp.quota_project_id = "456";
    gcp.client_id = "me";
    gcp.client_secret = LITERAL("se\"cret");
    check("gcp-external-account",
          "{\"type\":\"external_account\",\"universe_domain\":\"other.example\"," HEAD
          ",\"service_account_impersonation_url\":\"https://iamcredentials.googleapis.com/v1/projects/-/"
          "serviceAccounts/a@b.c:generateAccessToken\","
          "\"service_account_impersonation\":{\"token_lifetime_seconds\":1800}" FILE_SOURCE
          ",\"client_id\":\"me\",\"client_secret\":\"se\\\"cret\",\"workforce_pool_user_project\":\"123\","
          "\"quota_project_id\":\"456\"}\n");
}

static void no_external_account(void **state)
{
    (void)state;
    input.token_path = NULL;
    refuses("gcp-external-account", "the path of a token: write `token_path`");
    input.token_path = "token";
    refuses("gcp-external-account", "an absolute path");
    input.token_path = "/t";
    gcp.audience = NULL;
    refuses("gcp-external-account", "an `exchange: gcp`");
    input.gcp = NULL;
    refuses("gcp-external-account", "an `exchange: gcp`");
}

static void access_token(void **state)
{
    (void)state;
    check("gcp-access-token", "ya29.d.b0Aa");
    cfr_grant_free(&grant);
    refuses("gcp-access-token", "gcp_access_token");
}

static void token_json(void **state)
{
    (void)state;
    check("gcp-token-json", "{\"token_type\":\"Bearer\",\"access_token\":\"ya29.d.b0Aa\",\"expiry\":"
                            "\"2026-01-02T04:04:05Z\",\"expires_at\":1767326645}\n");
    set(CFR_FIELD_GCP_ID_TOKEN, "e30.e30.aWQ");
    check("gcp-token-json", "{\"token_type\":\"Bearer\",\"access_token\":\"ya29.d.b0Aa\",\"id_token\":"
                            "\"e30.e30.aWQ\",\"expiry\":\"2026-01-02T04:04:05Z\",\"expires_at\":1767326645}\n");
    cfr_grant_free(&grant);
    refuses("gcp-token-json", "gcp_access_token");
    set(CFR_FIELD_GCP_ID_TOKEN, "e30.e30.aWQ");
    check("gcp-token-json", "{\"token_type\":\"Bearer\",\"id_token\":\"e30.e30.aWQ\"}\n");
}

/* The file that Google made, byte for byte; no other format has it. */
static void service_account_key(void **state)
{
    (void)state;
    refuses("gcp-service-account-key", ".gcp_service_account_key");
    set(CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, "{\n \"type\": \"service_account\"\n}\n");
    check("gcp-service-account-key", "{\n \"type\": \"service_account\"\n}\n");
    assert_int_equal(render("json"), 0);
    assert_null(strstr(out.p, "service_account"));
}

/* Whatever the limit of the file, either all of it is written or an error is told. */
static void no_room(void **state)
{
    static const char *const formats[] = {"gcp-external-account", "gcp-access-token", "gcp-token-json"};

    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        size_t whole;

        assert_int_equal(render(formats[i]), 0);
        whole = out.len;
        for (size_t n = 0; n < whole; n++) {
            cfr_secret_free(&out);
            cfr_secret_init(&out, n);
            assert_int_equal(render(formats[i]), CFR_E_LIMIT);
        }
        cfr_secret_free(&out);
        cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(external_account, setup, teardown),
        cmocka_unit_test_setup_teardown(no_external_account, setup, teardown),
        cmocka_unit_test_setup_teardown(access_token, setup, teardown),
        cmocka_unit_test_setup_teardown(token_json, setup, teardown),
        cmocka_unit_test_setup_teardown(service_account_key, setup, teardown),
        cmocka_unit_test_setup_teardown(no_room, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
