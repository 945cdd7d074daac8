/* SPDX-License-Identifier: MIT */
/* Makes unsigned text that looks like a JSON Web Token, for tests. */
#ifndef CFR_TEST_TOKEN_TEXT_H
#define CFR_TEST_TOKEN_TEXT_H

#include <stdlib.h>
#include <string.h>

static inline char *token_text_encode(char *to, const char *json)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned held = 0;
    unsigned bits = 0;

    for (; *json != '\0'; json++) {
        held = (held << 8 | (unsigned char)*json) & 0xffff;
        for (bits += 8; bits >= 6; bits -= 6)
            *to++ = digits[held >> (bits - 6) & 63];
    }
    if (bits != 0)
        *to++ = digits[held << (6 - bits) & 63];
    *to = '\0';
    return to;
}

/* HEADER.PAYLOAD.c2ln; the caller frees it. */
static inline char *token_text(const char *header, const char *payload)
{
    char *text = malloc(2 * (strlen(header) + strlen(payload)) + 16);
    char *p = token_text_encode(text, header);

    *p++ = '.';
    p = token_text_encode(p, payload);
    memcpy(p, ".c2ln", 6);
    return text;
}

#endif
