/* SPDX-License-Identifier: MIT */
/* Encoder and decoder of base64 and base64url. */
#include "base/base64.h"

/* The value of each character from '-' to 'z', one more than it is; 0 for those that are not of the alphabet.
 */
static const signed char digits['z' - '-' + 1] = {
    63, 0,  0,  53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 0,  0,  0,  0,  0,  0,  0,  1,  2,  3,  4,  5,  6,
    7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 0,  0,  0,  0,  64, 0,
    27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
};

static int digit(char c)
{
    return c < '-' || c > 'z' ? -1 : digits[c - '-'] - 1;
}

static int decode(struct cfr_view in, char *to, struct cfr_err *err)
{
    unsigned bits = 0;
    unsigned held = 0;
    size_t i = 0;

    /* Four at a time while they are good; what is not, and the rest, go one by one. */
    for (; i + 4 <= in.n; i += 4) {
        /* Products, because shifting the -1 of a bad character is not defined; the sign shows any of them. */
        int four = digit(in.p[i]) * 262144 | digit(in.p[i + 1]) * 4096 | digit(in.p[i + 2]) * 64 | digit(in.p[i + 3]);

        if (four < 0)
            break;
        *to++ = (char)(four >> 16);
        *to++ = (char)(four >> 8);
        *to++ = (char)four;
    }
    for (; i < in.n; i++) {
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

static int encode(struct cfr_view in, const char *alphabet, bool pad, struct cfr_secret *out, struct cfr_err *err)
{
    size_t tail = in.n % 3;
    size_t n = in.n / 3 * 4 + (tail == 0 ? 0 : pad ? 4 : tail + 1);
    struct cfr_err local = {0};
    char *to = cfr_secret_reserve(out, n, err != NULL ? err : &local);

    if (to == NULL)
        return err != NULL ? err->code : local.code;
    for (size_t i = 0; i < in.n; i += 3) {
        size_t have = in.n - i < 3 ? in.n - i : 3;
        unsigned held = (unsigned)(unsigned char)in.p[i] << 16;

        held |= have > 1 ? (unsigned)(unsigned char)in.p[i + 1] << 8 : 0;
        held |= have > 2 ? (unsigned char)in.p[i + 2] : 0;
        for (size_t k = 0; k < 4; k++) {
            if (k <= have)
                *to++ = alphabet[held >> (18 - 6 * k) & 63];
            else if (pad)
                *to++ = '=';
        }
    }
    cfr_secret_grown(out, n);
    return 0;
}

#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

int cfr_base64url_encode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err)
{
    return encode(in, ALPHABET "-_", false, out, err);
}

int cfr_base64_encode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err)
{
    return encode(in, ALPHABET "+/", true, out, err);
}

/* The digit of the plain alphabet, which differs in two. */
static int plain_digit(char c)
{
    return c == '+' ? 62 : c == '/' ? 63 : c == '-' || c == '_' ? -1 : digit(c);
}

static int decode_plain(struct cfr_view in, size_t padding, char *to, size_t n, struct cfr_err *err)
{
    unsigned held = 0;

    for (size_t i = 0, done = 0; i < in.n; i++) {
        int d = i < in.n - padding ? plain_digit(in.p[i]) : 0;

        if (d < 0)
            return cfr_err_set(err, CFR_E_ANSWER, "not base64: byte %zu is not of its alphabet", i);
        held = held << 6 | (unsigned)d;
        for (size_t k = 3; i % 4 == 3 && k-- > 0 && done < n; done++)
            to[done] = (char)(held >> (8 * k) & 0xff);
    }
    if ((held & ((1U << (8 * padding)) - 1)) != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "not base64: its last character has stray bits");
    return 0;
}

int cfr_base64_decode(struct cfr_view in, struct cfr_secret *out, struct cfr_err *err)
{
    size_t padding = in.n == 0 || in.p[in.n - 1] != '=' ? 0 : in.n > 1 && in.p[in.n - 2] == '=' ? 2 : 1;
    struct cfr_err local = {0};
    char *to;
    int rc;

    if (err == NULL)
        err = &local;
    if (in.n % 4 != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "not base64: its length cannot be %zu", in.n);
    to = cfr_secret_reserve(out, in.n / 4 * 3 - padding, err);
    if (to == NULL)
        return err->code;
    rc = decode_plain(in, padding, to, in.n / 4 * 3 - padding, err);
    cfr_secret_grown(out, rc == 0 ? in.n / 4 * 3 - padding : 0);
    return rc;
}
