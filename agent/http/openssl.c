/* SPDX-License-Identifier: MIT */
/* OpenSSL's allocator, which wipes memory when it is freed, its buffers, and what of a handshake it computes with. */
#include "agent/http/openssl_private.h"

#include "agent/http/client.h"
#include "base/str.h"
#include "base/wipealloc.h"
#include "wire/decode.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <string.h>

#define CHAIN_MAX 8 /* intermediate certificates; in use are up to 4 */

static void *crypto_malloc(size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return cfr_wipealloc_malloc(n);
}

static void crypto_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    cfr_wipealloc_free(p);
}

static void *crypto_realloc(void *p, size_t n, const char *file, int line)
{
    if (n != 0)
        return cfr_wipealloc_realloc(p, n);
    crypto_free(p, file, line);
    return NULL;
}

bool cfr_http_crypto_wipe(void)
{
    CRYPTO_malloc_fn now = NULL;

    CRYPTO_get_mem_functions(&now, NULL, NULL);
    if (now == crypto_malloc)
        return true;
    /* Its tables, which hold no secrets, are not freed when the process ends: that takes longer than the rest of it. */
    return CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) == 1 &&
           OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
}

bool cfr_http_crypto_start(void)
{
    return OSSL_LIB_CTX_get0_global_default() != NULL;
}

void cfr_http_crypto_keep_nothing(void *ssl_ctx)
{
    (void)SSL_CTX_set_mode(ssl_ctx, SSL_MODE_RELEASE_BUFFERS);
}

/* Called with each message of a handshake before OpenSSL parses it. */
static void on_message(int sent, int version, int type, const void *bytes, size_t n, SSL *ssl, void *arg)
{
    /* OpenSSL's buffer, which it does not write to again before it parses it. */
    union {
        const void *in;
        unsigned char *out;
    } message = {bytes};

    (void)version;
    (void)ssl;
    (void)arg;
    /* There is no way to refuse a message from here, but one without meaning ends the handshake. */
    if (sent == 0 && type == SSL3_RT_HANDSHAKE && n > SSL3_HM_HEADER_LENGTH && message.out[0] == SSL3_MT_CERTIFICATE &&
        cfr_decode_has_curve((struct cfr_view){bytes, n}))
        memset(message.out + SSL3_HM_HEADER_LENGTH, 0xff, n - SSL3_HM_HEADER_LENGTH);
}

bool cfr_http_crypto_limit(void *ssl_ctx)
{
    const STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ssl_ctx);
    struct cfr_str names = {.limit = 65536};
    bool good;

    for (int i = 0; i < sk_SSL_CIPHER_num(all); i++) {
        const SSL_CIPHER *one = sk_SSL_CIPHER_value(all, i);
        int exchange = SSL_CIPHER_get_kx_nid(one);

        /* Those of TLS 1.3 have another list, and groups that are standards. */
        if (exchange != NID_kx_dhe && exchange != NID_kx_dhe_psk && exchange != NID_kx_any)
            cfr_str_addf(&names, "%s%s", names.len != 0 ? ":" : "", SSL_CIPHER_get_name(one));
    }
    SSL_CTX_set_msg_callback(ssl_ctx, on_message);
    SSL_CTX_set_verify_depth(ssl_ctx, CHAIN_MAX);
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
    (void)SSL_CTX_set_options(ssl_ctx, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
#endif
    good = !names.failed && names.len != 0 && SSL_CTX_set_cipher_list(ssl_ctx, names.p) == 1;
    cfr_str_free(&names);
    return good;
}

const char *cfr_http_crypto_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}
