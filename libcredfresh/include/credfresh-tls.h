/* SPDX-License-Identifier: MIT */
/*
 * libcredfresh-tls: an OpenSSL 3 SSL_CTX that follows a mounted certificate, private key and CA bundle.
 *
 * The volume may be a Secret, ConfigMap or projected volume of the kubelet, or a directory that credfresh publishes.
 * Every new handshake uses the newest complete set that has passed verification; existing connections are
 * never changed. A set that does not verify is reported and the previous one stays in use.
 *
 *     struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
 *     struct credfresh_tls *tls = NULL;
 *     char text[400];
 *
 *     options.directory = "/etc/serving-cert";
 *     options.ca_name = "";                            // a server that does not verify its clients
 *     if (credfresh_tls_open(&tls, &options, text, sizeof text) != 0)
 *         die(text);
 *     SSL_CTX *ctx = credfresh_tls_ctx(tls);           // once; then SSL_new(ctx) for each connection
 *     // in the event loop: when credfresh_tls_fd(tls) is readable, credfresh_tls_dispatch(tls)
 *
 * Threads: credfresh_tls_dispatch, _after_fork, _follow and _close belong to one thread at a time. Any thread may make
 * and use SSL objects and call credfresh_tls_status at the same time. The library has no threads of its own, installs
 * no signal handler, prints nothing and never exits. Every descriptor is close-on-exec.
 *
 * Functions that return int return 0 or more, or a negative code: one of the CREDFRESH_TLS_E_ below, or one of the
 * CREDFRESH_E_ of <credfresh.h> for errors of the directory.
 */
#ifndef CREDFRESH_TLS_H
#define CREDFRESH_TLS_H

#include <credfresh.h>

#include <openssl/ssl.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct credfresh_tls;

/* Why a set was refused. */
#define CREDFRESH_TLS_E_OPENSSL  (-101) /* OpenSSL could not be set up, or had no memory */
#define CREDFRESH_TLS_E_CERT     (-102) /* the certificate, or one of its chain, cannot be read or used for TLS */
#define CREDFRESH_TLS_E_KEY      (-103) /* the key cannot be read, or is encrypted */
#define CREDFRESH_TLS_E_MISMATCH (-104) /* the key does not match the certificate */
#define CREDFRESH_TLS_E_EXPIRED  (-105) /* the certificate, or the whole CA bundle, has expired */
#define CREDFRESH_TLS_E_CA       (-106) /* the CA bundle cannot be read, or holds no certificate */
#define CREDFRESH_TLS_E_EARLY    (-107) /* the certificate is not valid yet: it is used as soon as it is */

/* Flags of the options. */
#define CREDFRESH_TLS_ALLOW_EXPIRED 1u /* use an expired certificate or bundle too */
#define CREDFRESH_TLS_WAIT          2u /* open without a usable set; handshakes fail until there is one */
#define CREDFRESH_TLS_KEEP_SESSIONS                                                                                    \
    4u                             /* sessions may be resumed although the CA bundle has changed since they began      \
                                    */
#define CREDFRESH_TLS_POLL_ONLY 8u /* CREDFRESH_POLL_ONLY */

/* Set struct_size before each call. */
struct credfresh_tls_status {
    size_t struct_size;   /* sizeof(struct credfresh_tls_status) */
    int code;             /* 0 if the newest set is in use, otherwise why it is not */
    unsigned reserved;    /* 0 */
    uint64_t taken;       /* sets taken into use since open */
    uint64_t refused;     /* sets refused since open */
    uint64_t generation;  /* of the key pair in use (of the bundle if there is none), for credfresh_ack() */
    int64_t not_after_s;  /* when the certificate in use expires, in seconds since 1970; 0: none in use */
    char text[400];       /* the error of CODE, with the file's name; "" for 0. Never a secret */
    char watch_text[400]; /* "", or a warning about the directory: it never changes (subPath), or is polled */
};

/* Called inside credfresh_tls_dispatch in its thread, after a set was taken into use or refused: the counters show
 * which. STATUS is valid until it returns. The function must not dispatch or close TLS. */
typedef void credfresh_tls_change_fn(struct credfresh_tls *tls, const struct credfresh_tls_status *status,
                                     void *context);

/* All zero but struct_size and a directory selects the defaults. Strings are copied. */
struct credfresh_tls_options {
    size_t struct_size;       /* sizeof(struct credfresh_tls_options) */
    unsigned flags;           /* CREDFRESH_TLS_ */
    unsigned check_ms;        /* as in struct credfresh_options */
    unsigned poll_ms;         /* as in struct credfresh_options */
    const char *directory;    /* of the certificate and key, and of the CA bundle unless ca_directory is set */
    const char *ca_directory; /* of the CA bundle alone, or NULL */
    const char *cert_name;    /* NULL: "tls.crt". PEM: the certificate, then its chain. "": no key pair is followed */
    const char *key_name;     /* NULL: "tls.key". PEM, not encrypted. May be the certificate's file, which holds both */
    const char *ca_name;      /* NULL: "ca.crt". PEM, one certificate or more. "": no CA bundle is followed */
    credfresh_tls_change_fn *on_change; /* NULL for none */
    void *context;                      /* passed to on_change */
};

#define CREDFRESH_TLS_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        sizeof(struct credfresh_tls_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                             \
    }

/* Reads and verifies the set and begins to follow it. 0 with *TLS, or a code with the error in TEXT ((NULL, 0) is
 * allowed) and *TLS NULL. Without CREDFRESH_TLS_WAIT an unusable set is an error. Files of one directory are verified
 * and used together; a bundle in its own ca_directory is verified alone, so that neither delays the other. A
 * certificate that is not valid yet is refused only while the one in use is valid. What expired by a clock that was
 * ahead is verified again when the clock has been set back, at the next check. Blocks on disk. */
CREDFRESH_API int credfresh_tls_open(struct credfresh_tls **tls, const struct credfresh_tls_options *options,
                                     char *text, size_t text_size);

/* Stops following. Contexts and connections that are still held stay usable with the last set. NULL is allowed. */
CREDFRESH_API void credfresh_tls_close(struct credfresh_tls *tls);

/*
 * The context: the same one for the follower's whole life, for servers and clients alike (TLS_method), TLS 1.2 and
 * later. Borrowed; SSL_CTX_up_ref it to keep it longer. Change its settings before its first use. If a CA bundle
 * is followed it verifies the peer (SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT), as a server too: change that
 * with SSL_CTX_set_verify. A client has to set the host name: SSL_set1_host.
 */
CREDFRESH_API SSL_CTX *credfresh_tls_ctx(struct credfresh_tls *tls);

/*
 * Makes another context follow as well (one for SNI, one of another library). It sets the context's
 * certificate callback, client hello callback, certificate verify callback (if a CA bundle is followed) and info
 * callback (an existing one is kept and called); its verify mode and all other settings stay. Before the context's
 * first use. CREDFRESH_E_INVALID if it follows a set already. The context needs no call to stop.
 */
CREDFRESH_API int credfresh_tls_follow(struct credfresh_tls *tls, SSL_CTX *ctx);

/* Readable when credfresh_tls_dispatch has work to do. Poll only: do not read, write or close it. */
CREDFRESH_API int credfresh_tls_fd(const struct credfresh_tls *tls);

/* Checks for changes. 1 if a new set was taken into use, 0 if there is no change, or the code of the error if a new set
 * was refused; the set in use then stays. Never waits; reads files. Harmless at any time. */
CREDFRESH_API int credfresh_tls_dispatch(struct credfresh_tls *tls);

/* For a child after fork() that follows on its own (a server with several processes): as credfresh_after_fork().
 * The first credfresh_tls_dispatch() calls it too. To be called before the child's first handshake if threads were
 * running. */
CREDFRESH_API int credfresh_tls_after_fork(struct credfresh_tls *tls);

/* Fills STATUS, up to its struct_size. Any thread. */
CREDFRESH_API void credfresh_tls_status(struct credfresh_tls *tls, struct credfresh_tls_status *status);

/* The library's own callbacks, to be called first in a client hello or info callback that you install on a context that
 * follows: with them a session begun under another CA bundle is not resumed. Ineffective on other contexts. */
CREDFRESH_API int credfresh_tls_client_hello(SSL *ssl, int *alert, void *arg);
CREDFRESH_API void credfresh_tls_info(const SSL *ssl, int where, int ret);

#ifdef __cplusplus
}
#endif

#endif
