/* SPDX-License-Identifier: MIT */
/* Signatures of JSON Web Tokens, checked with a public key or a certificate. Keys are read once and
 * remembered: that costs far more than checking a signature. */
#ifndef LC_TOKEN_PROOF_H
#define LC_TOKEN_PROOF_H

#include "text.h"

enum { LC_THUMB1_BYTES = 28, LC_THUMB256_BYTES = 44 };

/* True when the compact token was signed by alg (RS256/384/512, PS256, ES256/384/512; not what its header
 * says) with the key of pem: a public key or a certificate. The key must be of alg's type. Any thread;
 * nothing is locked meanwhile. */
bool lc_token_proof(const char *token, const char *alg, const char *pem);
/* True when pem is a public key or a certificate that some alg can use. */
bool lc_token_proof_key(const char *pem);
/* True when the certificate is valid now. */
bool lc_token_certificate_current(const char *pem);
/* base64url of the SHA-1 and the SHA-256 of the certificate's DER form: x5t and x5t#S256 (RFC 7515, 4.1.7 and
 * 8). */
bool lc_token_thumbs(const char *pem, char sha1[LC_THUMB1_BYTES], char sha256[LC_THUMB256_BYTES]);

#endif
