/* SPDX-License-Identifier: MIT */
/* base64url. */
#include "base/base64.h"

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '-')
        return 62;
    return c == '_' ? 63 : -1;
}

static int decode(struct cfr_view in, char *to, struct cfr_err *err)
{
    unsigned bits = 0;
    unsigned held = 0;

    for (size_t i = 0; i < in.n; i++) {
        int d = digit(in.p[i]);

        if (d < 0)
            return cfr_err_set(err, CFR_E_TOKEN, "not base64url: byte %zu is not of its alphabet", i);
        held = held << 6 | (unsigned)d;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            *to++ = (char)(held >> bits & 0xff);
        }
    }
    if ((held & ((1U << bits) - 1)) != 0)
        return cfr_err_set(err, CFR_E_TOKEN, "not base64url: its last character has stray bits");
    return 0;
}

int cfr_base64url_decode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err)
{
    size_t n = in.n / 4 * 3 + (in.n % 4 != 0 ? in.n % 4 - 1 : 0);
    struct cfr_err local = {0};
    char *to;
    int rc;

    if (err == NULL)
        err = &local;
    if (in.n % 4 == 1)
        return cfr_err_set(err, CFR_E_TOKEN, "not base64url: its length cannot be %zu", in.n);
    to = cfr_secret_reserve(out, n, err);
    if (to == NULL)
        return err->code;
    rc = decode(in, to, err);
    /* After an error too, so that a NUL still follows the old bytes. */
    cfr_secret_grown(out, rc == 0 ? n : 0);
    return rc;
}
