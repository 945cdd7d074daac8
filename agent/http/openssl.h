/* SPDX-License-Identifier: MIT */
/* The TLS library's memory. What it receives and sends is in its record buffers in the clear. */
#ifndef CFR_AGENT_HTTP_OPENSSL_H
#define CFR_AGENT_HTTP_OPENSSL_H

#include <stdbool.h>

/* Has the library wipe whatever it frees. False if it was used before, which is too late. */
bool cfr_http_crypto_wipe(void);

/* Whether the library had the memory to start. */
bool cfr_http_crypto_start(void);

/* Has connections of SSL_CTX, an SSL_CTX, free their buffers whenever those are empty, and not when they are closed. */
void cfr_http_crypto_keep_nothing(void *ssl_ctx);

#endif
