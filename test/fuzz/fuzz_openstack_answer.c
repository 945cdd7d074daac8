/* SPDX-License-Identifier: MIT */
/* A Keystone answer: the first byte chooses status and configuration, the first line is the header, the rest
 * is the body. No answer may make an error text of a secret, or a grant without token, user and expiry. */
#include "refusal.h"

#include "base/json.h"
#include "sts/openstack/openstack.h"

#define SECRET   "dG9wLXNlY3JldC1vZi10aGUtcm9ib3Q"
#define UNSCOPED "gAAAAABunscoped-token_of-the_first-step"

static const struct cfr_openstack configs[] = {
    {.auth_url = (char[]){"https://k.test/v3"},
     .application_credential_id = (char[]){"0a1b"},
     .region_name = (char[]){"RegionOne"},
     .catalog = true},
    {.auth_url = (char[]){"https://k.test/v3"}, .user_id = (char[]){"u"}, .project_id = (char[]){"p1"}},
    {.auth_url = (char[]){"https://k.test/v3"},
     .identity_provider = (char[]){"k8s"},
     .protocol = (char[]){"openid"},
     .domain_id = (char[]){"d9"}},
    {.auth_url = (char[]){"https://k.test/v3"}, .application_credential_name = (char[]){"n"}, .user_id = (char[]){"u"}},
};

static void check_grant(const struct cfr_grant *g, bool last)
{
    struct cfr_view token = cfr_grant_get(g, CFR_FIELD_OPENSTACK_TOKEN);

    CFR_FUZZ_MUST(token.n != 0 && cfr_view_printable(token) && memchr(token.p, ' ', token.n) == NULL);
    CFR_FUZZ_MUST(g->expires_s > 0 && g->expires_s > g->issued_s);
    if (!last)
        return;
    CFR_FUZZ_MUST(g->identity != NULL && cfr_view_printable(cfr_view_of(g->identity)));
    CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_OPENSTACK_USER_ID).n != 0);
    CFR_FUZZ_MUST(cfr_grant_get(g, CFR_FIELD_OPENSTACK_PROJECT_ID).n != 0 ||
                  cfr_grant_get(g, CFR_FIELD_OPENSTACK_DOMAIN_ID).n != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {201, 401, 404, 403, 302, 400, 503, 200};
    const struct cfr_sts_content contents[] = {{"application_credential_secret_file", {SECRET, sizeof SECRET - 1}},
                                               {"password_file", {SECRET, sizeof SECRET - 1}}};
    struct cfr_sts_input in = {.credential = "c",
                               .token = {TOKEN, sizeof TOKEN - 1},
                               .subject = {"a", 1},
                               .contents = contents,
                               .content_count = 2};
    struct cfr_sts_exchange x = {.provider = &cfr_openstack_provider};
    struct cfr_wire_reply reply = {0};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    reply.status = statuses[data[0] & 7];
    x.config = &configs[data[0] >> 3 & 3];
    x.step = x.config == &configs[2] ? data[0] >> 5 & 1 : 0;
    if (x.step == 1)
        (void)cfr_grant_set(&x.grant, CFR_FIELD_OPENSTACK_TOKEN, (struct cfr_view){UNSCOPED, sizeof UNSCOPED - 1},
                            NULL);
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    (void)cfr_view_line(&reply.body, &reply.header);
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(reply.status == 200 || reply.status == 201);
        check_grant(&x.grant, rc == CFR_STS_DONE);
    } else {
        check_refusal(rc, &err);
        CFR_FUZZ_MUST(strstr(err.text, "Y3JldC1vZi10aGUtcm9i") == NULL);
        CFR_FUZZ_MUST(x.step == 0 || strstr(err.text, "unscoped-token") == NULL);
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
