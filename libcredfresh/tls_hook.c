/* SPDX-License-Identifier: MIT */
/* Puts the newest set into each handshake, by OpenSSL's callbacks, without changing the user's settings of the context.
 */
#include "tls_hook.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cfl_tls_live {
    atomic_uint refs;
    pthread_mutex_t lock; /* held for the exchange of a pointer only: a handshake costs ten thousand times that */
    struct cfl_tls_set *set;
};

struct hook {
    struct cfl_tls_live *live;
    void (*next_info)(const SSL *ssl, int where, int ret); /* the user's, or NULL */
};

struct cfl_tls_live *cfl_tls_live_new(void)
{
    struct cfl_tls_live *live = calloc(1, sizeof *live);

    if (live != NULL && pthread_mutex_init(&live->lock, NULL) != 0) {
        free(live);
        return NULL;
    }
    if (live != NULL)
        atomic_init(&live->refs, 1);
    return live;
}

struct cfl_tls_live *cfl_tls_live_ref(struct cfl_tls_live *live)
{
    (void)atomic_fetch_add_explicit(&live->refs, 1, memory_order_relaxed);
    return live;
}

void cfl_tls_live_unref(struct cfl_tls_live *live)
{
    if (live == NULL || atomic_fetch_sub_explicit(&live->refs, 1, memory_order_acq_rel) != 1)
        return;
    cfl_tls_set_unref(live->set);
    (void)pthread_mutex_destroy(&live->lock);
    free(live);
}

void cfl_tls_live_swap(struct cfl_tls_live *live, struct cfl_tls_set *set)
{
    struct cfl_tls_set *old = NULL;

    (void)pthread_mutex_lock(&live->lock);
    old = live->set;
    live->set = set;
    (void)pthread_mutex_unlock(&live->lock);
    cfl_tls_set_unref(old);
}

struct cfl_tls_set *cfl_tls_live_get(struct cfl_tls_live *live)
{
    struct cfl_tls_set *set = NULL;

    (void)pthread_mutex_lock(&live->lock);
    set = cfl_tls_set_ref(live->set);
    (void)pthread_mutex_unlock(&live->lock);
    return set;
}

void cfl_tls_live_after_fork(struct cfl_tls_live *live)
{
    (void)pthread_mutex_init(&live->lock, NULL);
}

static void free_hook(void *parent, void *p, CRYPTO_EX_DATA *data, int index, long argl, void *argp)
{
    struct hook *hook = p;

    (void)parent;
    (void)data;
    (void)index;
    (void)argl;
    (void)argp;
    if (hook != NULL)
        cfl_tls_live_unref(hook->live);
    free(hook);
}

/* OpenSSL's own way to hang something on a context; it gives the number once in a process. */
static int hook_index = -1;
static CRYPTO_ONCE hook_once = CRYPTO_ONCE_STATIC_INIT;

static void make_index(void)
{
    hook_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_hook);
}

static struct hook *hook_of(const SSL *ssl)
{
    return hook_index >= 0 ? SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), hook_index) : NULL;
}

static struct cfl_tls_set *set_of(const SSL *ssl)
{
    struct hook *hook = hook_of(ssl);

    return hook != NULL ? cfl_tls_live_get(hook->live) : NULL;
}

/* A server chooses its certificate here after the client hello, a client when it is asked for one. */
static int on_cert(SSL *ssl, void *arg)
{
    struct hook *hook = arg;
    struct cfl_tls_set *set = cfl_tls_live_get(hook->live);
    int ok = 0;

    if (set != NULL) {
        SSL_certs_clear(ssl);
        ok = SSL_use_cert_and_key(ssl, set->cert, set->key, set->chain, 1);
    }
    cfl_tls_set_unref(set);
    return ok;
}

/* The newest bundle, also for connections begun before it came. */
static int on_verify(X509_STORE_CTX *verify, void *arg)
{
    struct hook *hook = arg;
    struct cfl_tls_set *set = cfl_tls_live_get(hook->live);
    int ok = 0;

    if (set == NULL) {
        X509_STORE_CTX_set_error(verify, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
        return 0;
    }
    X509_STORE_CTX_set0_trusted_stack(verify, set->roots);
    ok = X509_verify_cert(verify);
    cfl_tls_set_unref(set);
    return ok > 0 ? 1 : 0;
}

/* OpenSSL resumes a session only in the context in which it began, and our context is the CA bundle: a peer that was
 * verified against another bundle is verified again, in a whole handshake. */
int credfresh_tls_client_hello(SSL *ssl, int *alert, void *arg)
{
    struct cfl_tls_set *set = set_of(ssl);
    int ok = 0;

    (void)arg;
    if (set == NULL && hook_of(ssl) == NULL)
        return SSL_CLIENT_HELLO_SUCCESS;
    ok = set != NULL && SSL_set_session_id_context(ssl, set->trust, sizeof set->trust) == 1;
    cfl_tls_set_unref(set);
    if (!ok)
        *alert = SSL_AD_INTERNAL_ERROR;
    return ok ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
}

/* A client whose session is of another context would end the handshake when the server resumes it: so forget it now. */
static void begin_client(SSL *ssl, const struct cfl_tls_set *set)
{
    const SSL_SESSION *session = SSL_get0_session(ssl);
    const unsigned char *context = NULL;
    unsigned int n = 0;

    if (session != NULL) {
        context = SSL_SESSION_get0_id_context(session, &n);
        if (n != sizeof set->trust || memcmp(context, set->trust, n) != 0)
            (void)SSL_set_session(ssl, NULL);
    }
    (void)SSL_set_session_id_context(ssl, set->trust, sizeof set->trust);
}

static SSL *writable(const SSL *ssl)
{
    return (SSL *)(uintptr_t)ssl; /* the info callback gets its connection const, but is the first place to change it */
}

void credfresh_tls_info(const SSL *ssl, int where, int ret)
{
    const struct hook *hook = hook_of(ssl);
    struct cfl_tls_set *set = NULL;

    if (hook == NULL)
        return;
    if (where == SSL_CB_HANDSHAKE_START && SSL_is_server(ssl) == 0 && SSL_get_state(ssl) == TLS_ST_BEFORE) {
        set = cfl_tls_live_get(hook->live);
        if (set != NULL)
            begin_client(writable(ssl), set);
        cfl_tls_set_unref(set);
    }
    if (hook->next_info != NULL)
        hook->next_info(ssl, where, ret);
}

int cfl_tls_hook_attach(SSL_CTX *ctx, struct cfl_tls_live *live, unsigned int hooks)
{
    struct hook *hook = NULL;

    if (CRYPTO_THREAD_run_once(&hook_once, make_index) != 1 || hook_index < 0)
        return CREDFRESH_E_NOMEM;
    if (SSL_CTX_get_ex_data(ctx, hook_index) != NULL)
        return CREDFRESH_E_INVALID;
    hook = calloc(1, sizeof *hook);
    if (hook == NULL || SSL_CTX_set_ex_data(ctx, hook_index, hook) != 1) {
        free(hook);
        return CREDFRESH_E_NOMEM;
    }
    hook->live = cfl_tls_live_ref(live);
    hook->next_info = SSL_CTX_get_info_callback(ctx);
    if ((hooks & CFL_TLS_HOOK_PAIR) != 0)
        SSL_CTX_set_cert_cb(ctx, on_cert, hook);
    if ((hooks & CFL_TLS_HOOK_TRUST) == 0)
        return 0;
    SSL_CTX_set_cert_verify_callback(ctx, on_verify, hook);
    SSL_CTX_set_client_hello_cb(ctx, credfresh_tls_client_hello, NULL);
    SSL_CTX_set_info_callback(ctx, credfresh_tls_info);
    return 0;
}
