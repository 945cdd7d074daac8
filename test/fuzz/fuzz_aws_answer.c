/* SPDX-License-Identifier: MIT */
/* An STS answer: the first byte chooses status and step, the rest is the body. No answer may make an error
 * text of the token, or a grant without keys and expiry. */
#include "refusal.h"

#include "base/json.h"
#include "sts/aws/aws.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void check_grant(const struct cfr_grant *g)
{
    CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_AWS_ACCESS_KEY_ID).n != 0);
    CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY).n != 0);
    CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_AWS_SESSION_TOKEN).n != 0);
    CFR_FUZZ_MUST(g->expires_s > 0 && g->identity != NULL);
    CFR_FUZZ_MUST(cfr_view_is(cfr_grant_get(g, CFR_FIELD_AWS_REGION), "eu-west-1"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 400, 403, 500, 302, 429, 503, 0};
    struct cfr_aws_step step = {.role_arn = (char[]){"arn:aws:iam::210987654321:role/second"}, .duration_ms = 3600000};
    struct cfr_aws config = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/first"},
                             .region = (char[]){"eu-west-1"},
                             .duration_ms = 3600000,
                             .then_assume = {&step, 1}};
    struct cfr_sts_input in = {.credential = "registry",
                               .token = {TOKEN, sizeof TOKEN - 1},
                               .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                               .now_s = 1767323045,
                               .env = no_env};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &config};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    reply.status = statuses[data[0] & 7];
    x.step = data[0] >> 3 & 1;
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(reply.status == 200 && rc == (data[0] >> 3 & 1 ? CFR_STS_DONE : CFR_STS_MORE));
        check_grant(&x.grant);
    } else {
        check_refusal(rc, &err);
        CFR_FUZZ_MUST(x.grant.field_count == 0);
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
