/* SPDX-License-Identifier: MIT */
/* An answer of Entra ID or of a registry: the first byte chooses status, step and proof, the rest is the
 * body. No answer may make an error text of a secret, or a grant without a token and an expiry. */
#include "refusal.h"

#include "base/json.h"
#include "sts/azure/azure.h"

#define SECRET "Abc8Q~very+secret&value.1_2-3"
#define NOW_S  1767323045

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void check_grant(const struct cfr_sts_exchange *x, unsigned step)
{
    const struct cfr_grant *g = &x->grant;

    CFR_FUZZ_MUST(g->expires_s > NOW_S && g->refresh_s >= 0);
    if (step == 0)
        CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_AZURE_ACCESS_TOKEN).n != 0 && g->identity != NULL && x->step == 1);
    else
        CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_REGISTRY_AUTHS).n != 0 && x->step == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 400, 401, 500, 302, 429, 503, 0};
    char *registries[] = {(char[]){"reg.azurecr.io"}};
    struct cfr_azure config = {.tenant_id = (char[]){"72f988bf-86f1-41af-91ab-2d7cd011db47"},
                               .client_id = (char[]){"11111111-2222-3333-4444-555555555555"},
                               .acr = {registries, 1}};
    struct cfr_sts_content content = {"client_secret_file", {SECRET, sizeof SECRET - 1}};
    struct cfr_sts_input in = {.credential = "registry",
                               .token = {TOKEN, sizeof TOKEN - 1},
                               .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                               .contents = &content,
                               .content_count = 1,
                               .now_s = NOW_S,
                               .env = no_env};
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &config};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    unsigned step;
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    reply.status = statuses[data[0] & 7];
    step = data[0] >> 3 & 1;
    if ((data[0] >> 4 & 3) == 1)
        config.client_secret_file = (char[]){"/s"};
    else if ((data[0] >> 4 & 3) == 2)
        config.certificate_file = (char[]){"/c"};
    x.step = step;
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(reply.status == 200 && rc == (step == 1 ? CFR_STS_DONE : CFR_STS_MORE));
        check_grant(&x, step);
    } else {
        check_refusal(rc, &err);
        CFR_FUZZ_MUST(strstr(err.text, "very+secret&value") == NULL);
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
