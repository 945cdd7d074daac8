/* SPDX-License-Identifier: MIT */
/* What comes after the session's keys: the first byte chooses status and step (the check, ECR, ECR Public),
 * up to the first NUL stands the value of the header, the rest is the body. No answer may make an error text
 * of a secret, take the keys away, or make the grant live longer. */
#include "fuzz.h"

#include "base/json.h"
#include "sts/aws/aws.h"

#include <string.h>

#define SECRET "c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"
#define TOKEN  "FAKESESSIONTOKEN-FAKESESSIONTOKEN"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void fill(struct cfr_grant *g)
{
    CFR_FUZZ_MUST(cfr_grant_set(g, CFR_FIELD_AWS_ACCESS_KEY_ID, cfr_view_of("AKIDEXAMPLE"), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY, cfr_view_of(SECRET), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set(g, CFR_FIELD_AWS_SESSION_TOKEN, cfr_view_of(TOKEN), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set(g, CFR_FIELD_AWS_ACCOUNT_ID, cfr_view_of("123456789012"), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set_identity(g, cfr_view_of("arn:aws:sts::123456789012:assumed-role/reporting/ns-a.sa-b"),
                                         NULL) == 0);
    g->expires_s = 1767326645;
}

/* What the registry's field holds is the inside of a JSON object with so many HOSTS. */
static void check_auths(const struct cfr_grant *g, size_t hosts)
{
    struct cfr_view auths = cfr_grant_get(g, CFR_FIELD_REGISTRY_AUTHS);
    struct cfr_secret whole;
    struct cfr_json *doc = NULL;

    if (auths.n == 0)
        return;
    cfr_secret_init(&whole, CFR_GRANT_VALUE_MAX + 2);
    CFR_FUZZ_MUST(cfr_secret_append_str(&whole, "{", NULL) == 0 && cfr_secret_append(&whole, auths, NULL) == 0 &&
                  cfr_secret_append_str(&whole, "}", NULL) == 0);
    CFR_FUZZ_MUST(cfr_json_parse(cfr_secret_view(&whole), &doc, NULL) == 0);
    CFR_FUZZ_MUST(cfr_json_members(doc) == hosts);
    cfr_json_free(doc);
    cfr_secret_free(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 400, 403, 500, 302, 429, 503, 200};
    char *hosts[] = {(char[]){"123456789012.dkr.ecr.eu-west-1.amazonaws.com"}};
    struct cfr_aws_ecr ecr = {.registries = {hosts, 1}, .with_public = true};
    struct cfr_aws config = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/reporting"},
                             .region = (char[]){"eu-west-1"},
                             .duration_ms = 3600000,
                             .verify = true,
                             .ecr = &ecr};
    struct cfr_sts_input in = {.credential = "registry", .now_s = 1767323045, .env = no_env};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &config};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    const char *nul;
    bool is_public;
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    reply.status = statuses[data[0] & 7];
    x.step = 1 + (data[0] >> 3) % 3;
    is_public = x.step == 3;
    fill(&x.grant);
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    nul = memchr(data + 1, '\0', size - 1);
    if (nul != NULL) {
        reply.header = (struct cfr_view){reply.body.p, (size_t)(nul - reply.body.p)};
        reply.body = (struct cfr_view){nul + 1, size - reply.header.n - 2};
    }
    rc = x.provider->parse(&x, &in, &reply, &err);
    if (rc >= 0) {
        CFR_FUZZ_MUST(reply.status == 200 && x.grant.expires_s > 0 && x.grant.expires_s <= 1767326645);
        CFR_FUZZ_MUST(cfr_view_is(cfr_grant_get(&x.grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY), SECRET));
        check_auths(&x.grant, is_public ? 2 : 1); /* it has two names */
    } else {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && cfr_view_is_text(cfr_view_of(err.text)));
        CFR_FUZZ_MUST(strstr(err.text, "c2VjcmV0LWtl") == NULL && strstr(err.text, "FAKESESSIONT") == NULL);
    }
    cfr_sts_exchange_free(&x);
    return 0;
}
