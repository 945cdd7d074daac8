/* SPDX-License-Identifier: MIT */
/* Any bytes as a token, and in a well-formed frame any bytes as its payload. */
#include "fuzz.h"

#include "base/secret.h"
#include "token/claims.h"
#include "token/inspect.h"

#include <string.h>

static void look(struct cfr_view token)
{
    struct cfr_claims c;
    struct cfr_err err = {0};
    struct cfr_str out = {.limit = 65536};

    if (cfr_claims_decode(token, &c, &err) == 0) {
        CFR_FUZZ_MUST(c.exp > c.iat && c.iat >= 0 && c.alg.n != 0);
        CFR_FUZZ_MUST(cfr_claims_expires(&c) <= c.exp);
        cfr_claims_free(&c);
    } else {
        CFR_FUZZ_MUST(err.code != 0 && err.text[0] != '\0' && c.payload == NULL);
    }
    if (cfr_claims_read(token, &c, NULL) != 0)
        return;
    static const char *const algorithms[] = {"RS256", NULL};
    static const struct cfr_token_rules rules = {.algorithms = algorithms,
                                                 .only = "only RS256",
                                                 .accepts = "AWS",
                                                 .bytes_max = 20000,
                                                 .usual_audience = "sts.amazonaws.com"};
    struct cfr_inspect_subject s = {.file = token,
                                    .claims = &c,
                                    .now_s = 1767323045,
                                    .audience = "sts.amazonaws.com",
                                    .region = "eu-west-1",
                                    .rules = &rules};

    (void)cfr_inspect_write(&s, &out);
    for (size_t i = 0; i < out.len; i++)
        CFR_FUZZ_MUST(out.p[i] == '\n' || (unsigned char)out.p[i] >= 0x20);
    CFR_FUZZ_MUST(cfr_view_utf8_len(cfr_str_view(&out)) != 0);
    cfr_str_free(&out);
    cfr_claims_free(&c);
}

static void encode(const uint8_t *data, size_t size, struct cfr_secret *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned held = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < size; i++) {
        held = held << 8 | data[i];
        for (bits += 8; bits >= 6; bits -= 6)
            (void)cfr_secret_append(to, (struct cfr_view){&digits[held >> (bits - 6) & 63], 1}, NULL);
    }
    if (bits != 0)
        (void)cfr_secret_append(to, (struct cfr_view){&digits[held << (6 - bits) & 63], 1}, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_secret framed;

    cfr_json_setup();
    look((struct cfr_view){(const char *)data, size});
    cfr_secret_init(&framed, 200000);
    (void)cfr_secret_append_str(&framed, "eyJhbGciOiJSUzI1NiJ9.", NULL);
    encode(data, size < 100000 ? size : 100000, &framed);
    (void)cfr_secret_append_str(&framed, ".c2ln", NULL);
    look(cfr_secret_view(&framed));
    cfr_secret_free(&framed);
    return 0;
}
