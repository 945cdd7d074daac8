/* SPDX-License-Identifier: MIT */
/* Container credentials: the first byte chooses the status; the rest is the answer's body, and also tried as
 * the URL of an endpoint. No answer may make an error text of the token, or a grant without keys and expiry;
 * no URL but those of the rules may pass. */
#include "refusal.h"

#include "base/json.h"
#include "sts/aws/container_private.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void try_url(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct cfr_err err = {0};
    bool link_local = false;
    int rc;

    CFR_FUZZ_MUST(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    rc = cfr_aws_container_url(text, &link_local, &err);
    CFR_FUZZ_MUST(rc == 0 || (rc == CFR_E_CONFIG && err.text[0] != '\0'));
    if (rc == 0)
        CFR_FUZZ_MUST(strncmp(text, "https://", 8) == 0 || strncmp(text, "http://127.", 11) == 0 ||
                      strncmp(text, "http://[", 8) == 0 ||
                      (link_local && strncmp(text, "http://169.254.170.2", 20) == 0));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 400, 403, 404, 500, 302, 429, 200};
    struct cfr_aws_container config = {.region = (char[]){"eu-west-1"}};
    struct cfr_sts_input in = {
        .credential = "registry", .token = {TOKEN, sizeof TOKEN - 1}, .now_s = 1767323045, .env = no_env};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_container_provider, .config = &config};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    try_url(data + 1, size - 1);
    reply.status = statuses[data[0] & 7];
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(rc == CFR_STS_DONE && reply.status == 200 && x.grant.expires_s > 0);
        CFR_FUZZ_MUST(cfr_grant_get(&x.grant, CFR_FIELD_AWS_ACCESS_KEY_ID).n != 0);
        CFR_FUZZ_MUST(cfr_grant_get(&x.grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY).n != 0);
        CFR_FUZZ_MUST(cfr_grant_get(&x.grant, CFR_FIELD_AWS_SESSION_TOKEN).n != 0);
    } else {
        check_refusal(rc, &err);
        CFR_FUZZ_MUST(x.grant.field_count == 0);
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
