/* SPDX-License-Identifier: MIT */
/* Digests, encodings, random text and sealed blobs. */
#ifndef LC_CRYPTO_H
#define LC_CRYPTO_H

#include "text.h"

enum { LC_SHA256_BYTES = 32, LC_SHA256_HEX_BYTES = 65, LC_UUID_BYTES = 37 };

void lc_sha256(const void *bytes, size_t len, unsigned char out[LC_SHA256_BYTES]);
void lc_sha256_hex(const void *bytes, size_t len, char out[LC_SHA256_HEX_BYTES]);
void lc_hmac256(const void *key, size_t key_len, const void *bytes, size_t len, unsigned char out[LC_SHA256_BYTES]);
void lc_hex(const unsigned char *bytes, size_t len, char *out);

/* Base64 with padding (url false) or base64url without (url true), appended to out. */
void lc_base64(struct lc_buf *out, const void *bytes, size_t len, bool url);
/* Strict decoding of the same forms: no white space, no stray bits. False when text is not that. */
bool lc_unbase64(struct lc_buf *out, const char *text, size_t len, bool url);

/* True when both have the same bytes; takes the same time wherever they differ. */
bool lc_same_text(const char *a, const char *b);

bool lc_random(void *out, size_t len);
/* count characters out of alphabet, and a NUL. */
bool lc_random_text(char *out, size_t count, const char *alphabet);
void lc_uuid(char out[LC_UUID_BYTES]);
/* Uniform in 0..1. */
double lc_random_unit(void);

/* AES-256-GCM with a random nonce: nonce, ciphertext, tag. */
bool lc_seal(const unsigned char key[32], const void *bytes, size_t len, struct lc_buf *out);
bool lc_unseal(const unsigned char key[32], const void *bytes, size_t len, struct lc_buf *out);

#endif
