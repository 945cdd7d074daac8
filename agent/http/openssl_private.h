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
/* Takes from SSL_CTX the ciphers whose Diffie-Hellman group is the server's choice: with one of 10000 bits the
 * handshake computes for a second, and blocks meanwhile. False when memory is short. */
bool cfr_http_crypto_limit(void *ssl_ctx);

#endif
