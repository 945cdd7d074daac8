/* SPDX-License-Identifier: MIT */
/* OpenSSL's allocator, which wipes memory when it is freed, its buffers and its ciphers. */
#include "agent/http/openssl_private.h"

#include "agent/http/client.h"
#include "base/str.h"
#include "base/wipealloc.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

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
    return now == crypto_malloc || CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) == 1;
}

bool cfr_http_crypto_start(void)
{
    return OSSL_LIB_CTX_get0_global_default() != NULL;
}

void cfr_http_crypto_keep_nothing(void *ssl_ctx)
{
    (void)SSL_CTX_set_mode(ssl_ctx, SSL_MODE_RELEASE_BUFFERS);
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
    good = !names.failed && names.len != 0 && SSL_CTX_set_cipher_list(ssl_ctx, names.p) == 1;
    cfr_str_free(&names);
    return good;
}

const char *cfr_http_crypto_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}
