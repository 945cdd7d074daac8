/* SPDX-License-Identifier: MIT */
/* Claims compared with what a verifier expects, at a fixed time. */
#include "token/verify.h"

#include "base/json.h"
#include "token_text.h"

#include "unit.h"

#define NOW   1767325000
#define ISS   "\"iss\":\"https://i.example\","
#define SUB   "\"sub\":\"s\","
#define AUD   "\"aud\":[\"a\",\"b\"],"
#define TIMES "\"iat\":1767323000,\"exp\":1767326600"

static const struct {
    const char *payload;
    const char *issuer;
    const char *audience;
    const char *wrong; /* "CHECK: TEXT" of the only finding that is wrong; NULL = all is well */
} rows[] = {
    {"{" ISS SUB AUD TIMES "}", "https://i.example", "b", NULL},
    {"{" ISS SUB AUD TIMES "}", NULL, NULL, NULL},
    {"{" ISS SUB "\"aud\":\"a\"," TIMES "}", NULL, "a", NULL},
    {"{" ISS SUB AUD TIMES ",\"nbf\":1767325000}", NULL, "a", NULL},
    {"{" ISS SUB AUD TIMES "}", "https://i.example/", "a",
     "token.issuer: the issuer is https://i.example/, the token says https://i.example"},
    {"{" SUB AUD TIMES "}", "https://i.example", "a", "token.issuer: the token names no issuer (`iss`)"},
    {"{" ISS SUB AUD TIMES "}", NULL, "c", "token.audience: the audience is [a, b], expected c"},
    {"{" ISS SUB TIMES "}", NULL, NULL, "token.audience: the token has no audience (`aud`)"},
    {"{" ISS SUB "\"aud\":[]," TIMES "}", NULL, "a", "token.audience: the token has no audience (`aud`)"},
    {"{" ISS SUB AUD "\"iat\":1767323000,\"exp\":1767324820}", NULL, "a",
     "token.expired: expired 3 min ago (2026-01-02T03:33:40Z)"},
    {"{" ISS SUB AUD "\"iat\":1767323000,\"exp\":1767325000}", NULL, "a", "token.expired: expired 0 ms ago"},
    {"{" ISS SUB AUD "\"iat\":1767323000}", NULL, "a", "token.expired: the token has no `exp`"},
    {"{" ISS SUB AUD TIMES ",\"nbf\":1767325300}", NULL, "a", "token.not-yet-valid: not valid yet, only in 5 min"},
    {"{" ISS SUB AUD "\"iat\":1767325300,\"exp\":1767326600}", NULL, "a", "token.not-yet-valid: not valid yet"},
    {"{" ISS SUB AUD "\"nbf\":1,\"iat\":1767323000,\"exp\":1767326600}", NULL, "a", NULL},
    {"{" ISS AUD TIMES "}", NULL, "a", "token.claims: the token has no subject (`sub`)"},
};

struct seen {
    char wrong[512];
    unsigned count;
    unsigned notes;
};

static void take(void *ctx, const struct cfr_finding *f)
{
    struct seen *s = ctx;

    s->notes += f->level == CFR_FINDING_NOTE ? 1 : 0;
    if (f->level != CFR_FINDING_WRONG)
        return;
    assert_non_null(f->remedy);
    s->count++;
    (void)snprintf(s->wrong, sizeof s->wrong, "%s: %s", f->check, f->text);
}

static void critical_extensions_are_refused(void **state)
{
    char *text = token_text("{\"alg\":\"RS256\",\"crit\":[\"b64\"],\"b64\":true}", "{" ISS SUB AUD TIMES "}");
    const struct cfr_claims_expected expected = {NULL, "a", NOW};
    struct seen seen = {.count = 0};
    struct cfr_claims claims;

    (void)state;
    assert_int_equal(cfr_claims_read(cfr_view_of(text), &claims, NULL), 0);
    cfr_claims_verify(&claims, &expected, &(struct cfr_finding_sink){take, &seen});
    assert_int_equal(seen.count, 1);
    assert_contains(seen.wrong, "token.header: the token's header has critical extensions (`crit`)");
    cfr_claims_free(&claims);
    free(text);
}

static void each_claim_has_its_finding(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = token_text("{\"alg\":\"RS256\"}", rows[i].payload);
        const struct cfr_claims_expected expected = {rows[i].issuer, rows[i].audience, NOW};
        struct seen seen = {.count = 0};
        struct cfr_claims claims;

        assert_int_equal(cfr_claims_read(cfr_view_of(text), &claims, NULL), 0);
        cfr_claims_verify(&claims, &expected, &(struct cfr_finding_sink){take, &seen});
        if (seen.count != (rows[i].wrong != NULL ? 1 : 0))
            fail_msg("%s: %u, %s", rows[i].payload, seen.count, seen.wrong);
        if (rows[i].wrong != NULL)
            assert_contains(seen.wrong, rows[i].wrong);
        if (rows[i].wrong == NULL)
            assert_int_equal(seen.notes, (rows[i].issuer == NULL) + (rows[i].audience == NULL));
        cfr_claims_free(&claims);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_claim_has_its_finding),
                                       cmocka_unit_test(critical_extensions_are_refused)};

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
