/* SPDX-License-Identifier: MIT */
/* Digests, encodings, random text and sealed blobs. */
#include "crypto.h"

#include "ossl.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NONCE_BYTES = 12, TAG_BYTES = 16 };

void lc_sha256(const void *bytes, size_t len, unsigned char out[LC_SHA256_BYTES])
{
    (void)SHA256(bytes, len, out);
}

void lc_hex(const unsigned char *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

void lc_sha256_hex(const void *bytes, size_t len, char out[LC_SHA256_HEX_BYTES])
{
    unsigned char digest[LC_SHA256_BYTES];

    lc_sha256(bytes, len, digest);
    lc_hex(digest, sizeof digest, out);
}

void lc_hmac256(const void *key, size_t key_len, const void *bytes, size_t len, unsigned char out[LC_SHA256_BYTES])
{
    unsigned out_len = 0;

    if (key_len > INT_MAX || HMAC(EVP_sha256(), key, (int)key_len, bytes, len, out, &out_len) == NULL) {
        memset(out, 0, LC_SHA256_BYTES);
    }
}

static const char *alphabet_of(bool url)
{
    return url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
               : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

void lc_base64(struct lc_buf *out, const void *bytes, size_t len, bool url)
{
    const char *alphabet = alphabet_of(url);
    const unsigned char *in = bytes;

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        unsigned long group = (unsigned long)in[i] << 16;
        char four[4] = {0};

        group |= left > 1 ? (unsigned long)in[i + 1] << 8 : 0;
        group |= left > 2 ? in[i + 2] : 0;
        for (unsigned n = 0; n < 4; n++) {
            four[n] = n <= left ? alphabet[group >> (18 - 6 * n) & 63] : '=';
        }
        lc_buf_add(out, four, url && left < 3 ? left + 1 : 4);
    }
    lc_buf_add(out, "", 0);
}

static int value_of(char digit, bool url)
{
    const char *alphabet = alphabet_of(url);
    const char *found = digit == '\0' ? NULL : strchr(alphabet, digit);

    return found == NULL ? -1 : (int)(found - alphabet);
}

bool lc_unbase64(struct lc_buf *out, const char *text, size_t len, bool url)
{
    unsigned long group = 0;
    unsigned bits = 0;

    if (!url) {
        if (len % 4 != 0) {
            return false;
        }
        for (int pads = 0; pads < 2 && len > 0 && text[len - 1] == '='; pads++) {
            len--;
        }
    }
    if (len % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        int value = value_of(text[i], url);
        if (value < 0) {
            return false;
        }
        group = (group << 6 | (unsigned long)value) & 0xFFFFFF;
        bits += 6;
        if (bits >= 8) {
            unsigned char byte = 0;
            bits -= 8;
            byte = (unsigned char)(group >> bits & 0xFF);
            lc_buf_add(out, &byte, 1);
        }
    }
    lc_buf_add(out, "", 0);
    return (group & ((1UL << bits) - 1)) == 0 && !out->broken;
}

bool lc_same_text(const char *a, const char *b)
{
    size_t len = strlen(a);

    return len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}

bool lc_random(void *out, size_t len)
{
    return len <= INT_MAX && RAND_bytes(out, (int)len) == 1;
}

bool lc_random_text(char *out, size_t count, const char *alphabet)
{
    size_t letters = strlen(alphabet);

    for (size_t i = 0; i < count; i++) {
        uint32_t random = 0;
        if (!lc_random(&random, sizeof random)) {
            return false;
        }
        out[i] = alphabet[random % letters];
    }
    out[count] = '\0';
    return true;
}

void lc_uuid(char out[LC_UUID_BYTES])
{
    unsigned char b[16] = {0};

    (void)lc_random(b, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0F) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3F) | 0x80);
    (void)snprintf(out, LC_UUID_BYTES, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

double lc_random_unit(void)
{
    uint32_t random = 0;

    (void)lc_random(&random, sizeof random);
    return (double)random / 4294967296.0;
}

bool lc_seal(const unsigned char key[32], const void *bytes, size_t len, struct lc_buf *out)
{
    unsigned char nonce[NONCE_BYTES];
    unsigned char tag[TAG_BYTES];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    size_t start = out->len + NONCE_BYTES;
    int done = 0;
    bool ok = false;

    if (ctx != NULL && len < INT_MAX && lc_random(nonce, sizeof nonce)) {
        lc_buf_add(out, nonce, sizeof nonce);
        lc_buf_fill(out, '\0', len);
        ok = !out->broken && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
             EVP_EncryptUpdate(ctx, (unsigned char *)out->at + start, &done, bytes, (int)len) == 1 &&
             EVP_EncryptFinal_ex(ctx, tag, &done) == 1 &&
             EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag) == 1;
        lc_buf_add(out, tag, ok ? sizeof tag : 0);
    }
    EVP_CIPHER_CTX_free(ctx);
    return ok && !out->broken;
}

bool lc_unseal(const unsigned char key[32], const void *bytes, size_t len, struct lc_buf *out)
{
    const unsigned char *in = bytes;
    unsigned char tag[TAG_BYTES];
    EVP_CIPHER_CTX *ctx = NULL;
    size_t body = 0;
    int done = 0;
    bool ok = false;

    if (len < NONCE_BYTES + TAG_BYTES || len > 65536 || (ctx = EVP_CIPHER_CTX_new()) == NULL) {
        return false;
    }
    body = len - NONCE_BYTES - TAG_BYTES;
    memcpy(tag, in + NONCE_BYTES + body, sizeof tag);
    lc_buf_fill(out, '\0', body);
    ok = !out->broken && EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, in) == 1 &&
         EVP_DecryptUpdate(ctx, (unsigned char *)out->at, &done, in + NONCE_BYTES, (int)body) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1 &&
         EVP_DecryptFinal_ex(ctx, tag, &done) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}
