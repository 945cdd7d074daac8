/* SPDX-License-Identifier: MIT */
/* OpenSSL's start, memory and ciphers. Its record buffers hold requests and answers unencrypted. */
#ifndef CFR_AGENT_HTTP_OPENSSL_PRIVATE_H
#define CFR_AGENT_HTTP_OPENSSL_PRIVATE_H

#include <stdbool.h>

/* False if OpenSSL has too little memory to start. */
bool cfr_http_crypto_start(void);
/* Makes the connections of SSL_CTX, an SSL_CTX, free their buffers as soon as these are empty, not only when they are
 * closed. */
void cfr_http_crypto_keep_nothing(void *ssl_ctx);
/* Bounds what a server can have the handshakes of SSL_CTX compute, which block: takes out the ciphers whose
 * Diffie-Hellman group the server chooses (one of 10000 bits: 1 s), refuses certificates with a curve of their own (120
 * of them, before any is verified: 6 s), and limits the length of a chain (70 signatures with large exponents: 0.5 s).
 * False when memory is short. */
bool cfr_http_crypto_limit(void *ssl_ctx);

#endif
