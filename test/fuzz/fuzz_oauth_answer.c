/* SPDX-License-Identifier: MIT */
/* An answer of a token endpoint: whatever it is, lives stay in their range, a bearer token is printable, and
 * an error has a text. */
#include "fuzz.h"

#include "base/json.h"
#include "sts/core/oauth_answer.h"

#define LIFE_MAX INT64_C(31536000000)

static void check_bearer(const struct cfr_oauth_answer *a)
{
    struct cfr_err err = {0};
    struct cfr_view token = {NULL, 0};
    int rc = cfr_oauth_answer_bearer(a, &token, &err);

    CFR_FUZZ_MUST(rc == 0 || (rc == CFR_E_ANSWER && err.code == rc && err.text[0] != '\0'));
    if (rc != 0)
        return;
    CFR_FUZZ_MUST(token.n != 0 && a->expires_in_s != 0);
    for (size_t i = 0; i < token.n; i++)
        CFR_FUZZ_MUST(token.p[i] > 0x20 && token.p[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view body = {(const char *)data, size};
    struct cfr_oauth_answer a;
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_oauth_answer_read(body, body, &a, &err);
    CFR_FUZZ_MUST(rc == 0 || (rc == CFR_E_ANSWER && err.code == rc && err.text[0] != '\0'));
    CFR_FUZZ_MUST(cfr_view_is_text(cfr_view_of(err.text)));
    CFR_FUZZ_MUST(a.expires_in_s >= -1 && a.expires_in_s <= LIFE_MAX);
    CFR_FUZZ_MUST(a.refresh_in_s >= -1 && a.refresh_in_s <= LIFE_MAX);
    CFR_FUZZ_MUST(a.code_count <= CFR_OAUTH_CODES_MAX);
    check_bearer(&a);
    cfr_oauth_answer_free(&a);
    return 0;
}
