/* SPDX-License-Identifier: MIT */
/* Any bytes as a document of a cloud's side: the findings fit on a terminal. */
#include "fuzz.h"

#include "base/json.h"
#include "agent/doctor/policy/policy.h"

#include <string.h>

static void take(void *ctx, const struct cfr_finding *f)
{
    (void)ctx;
    CFR_FUZZ_MUST(f->level < CFR_FINDING_LEVELS && strncmp(f->check, "trust.", 6) == 0 && f->text[0] != '\0');
    for (const char *p = f->text; *p != '\0'; p++)
        CFR_FUZZ_MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cfr_finding_sink sink = {take, NULL};
    struct cfr_view document = {(const char *)data, size};
    struct cfr_view audiences[] = {{"a", 1}, {"b", 1}};
    struct cfr_policy_token token = {.aud = audiences, .aud_count = 2};

    cfr_json_setup();
    token.iss = cfr_view_of("https://oidc.example.net/id/1");
    token.sub = cfr_view_of("system:serviceaccount:ns-a:sa-b");
    cfr_policy_aws(document, "arn:aws:iam::123456789012:role/app", &token, &sink);
    cfr_policy_azure(document, &token, &sink);
    cfr_policy_gcp(document, "//iam.googleapis.com/projects/1", &token, &sink);
    return 0;
}
