/* SPDX-License-Identifier: MIT */
/* An answer of Google's services: the first byte chooses status and step, the rest is the body. No answer may
 * make an error text of a token, or a grant without a token and an expiry. */
#include "refusal.h"

#include "base/json.h"
#include "sts/gcp/gcp.h"

#define BEARER "ya29.federated-token-of-the-first-step"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void check_grant(const struct cfr_sts_exchange *x, bool done)
{
    struct cfr_view access = cfr_grant_get(&x->grant, CFR_FIELD_GCP_ACCESS_TOKEN);
    struct cfr_view id = cfr_grant_get(&x->grant, CFR_FIELD_GCP_ID_TOKEN);

    CFR_FUZZ_MUST(access.n != 0 && x->grant.expires_s > 0);
    CFR_FUZZ_MUST(cfr_view_printable(access) && memchr(access.p, ' ', access.n) == NULL);
    CFR_FUZZ_MUST(!done || x->grant.identity != NULL);
    if (id.n != 0)
        CFR_FUZZ_MUST(cfr_view_printable(id) && memchr(id.p, '.', id.n) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 400, 403, 500, 302, 429, 503, 0};
    struct cfr_gcp config = {
        .audience = (char[]){"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x"},
        .service_account = (char[]){"deployer@example-project.iam.gserviceaccount.com"},
        .id_token_audience = (char[]){"https://svc.example"},
        .access_token = true,
        .lifetime_ms = 3600000};
    struct cfr_sts_input in = {.credential = "registry",
                               .token = {TOKEN, sizeof TOKEN - 1},
                               .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                               .now_s = 1767323045,
                               .env = no_env};
    struct cfr_sts_exchange x = {.provider = &cfr_gcp_provider, .config = &config};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    unsigned step;
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    reply.status = statuses[data[0] & 7];
    step = (data[0] >> 3) % 3U;
    x.step = step;
    if (step != 0)
        CFR_FUZZ_MUST(cfr_grant_set(&x.grant, CFR_FIELD_GCP_ACCESS_TOKEN, cfr_view_of(BEARER), NULL) == 0);
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(reply.status == 200 && rc == (step == 2 ? CFR_STS_DONE : CFR_STS_MORE));
        check_grant(&x, rc == CFR_STS_DONE);
    } else {
        check_refusal(rc, &err);
        CFR_FUZZ_MUST(x.step == step && (step == 0 || strstr(err.text, "federated-token") == NULL));
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
