/* SPDX-License-Identifier: MIT */
/* An answer of any OAuth server: the first byte chooses the status and whether a default lifetime is set, the
 * rest is the body. No answer may make an error text of the token or the client's secret, or a grant without
 * token and expiry. */
#include "refusal.h"

#include "base/json.h"
#include "sts/oauth/oauth.h"

#define SECRET "correct-horse-battery-staple"

static void check_grant(const struct cfr_grant *g)
{
    struct cfr_view token = cfr_grant_get(g, CFR_FIELD_OAUTH_ACCESS_TOKEN);

    CFR_FUZZ_MUST(token.n != 0 && cfr_view_printable(token) && memchr(token.p, ' ', token.n) == NULL);
    CFR_FUZZ_MUST(g->expires_s > g->issued_s && g->identity != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 400, 401, 403, 500, 302, 429, 201};
    struct cfr_oauth config = {.token_url = (char[]){"https://login.example/token"},
                               .client_id = (char[]){"me"},
                               .default_lifetime_ms = size != 0 && (data[0] & 8) != 0 ? 900000 : -1};
    const struct cfr_sts_content content = {"client_secret_file", {SECRET, sizeof SECRET - 1}};
    struct cfr_sts_input in = {.credential = "registry",
                               .token = {TOKEN, sizeof TOKEN - 1},
                               .contents = &content,
                               .content_count = 1,
                               .now_s = 1767323045};
    struct cfr_sts_exchange x = {.provider = &cfr_oauth_provider, .config = &config};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    reply.status = statuses[data[0] & 7];
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(rc == CFR_STS_DONE && reply.status <= 201);
        check_grant(&x.grant);
    } else {
        check_refusal(rc, &err);
        CFR_FUZZ_MUST(x.grant.field_count == 0 && strstr(err.text, "correct-hors") == NULL);
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
