/* SPDX-License-Identifier: MIT */
/* A client and a server of one process that shake hands in memory, and what the tests of the follower wait for. */
#ifndef CFR_TEST_TLS_PAIR_H
#define CFR_TEST_TLS_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tls_fixture.h"

#include <openssl/err.h>

#include <poll.h>

enum { WAIT_LIMIT_MS = 60000 };

struct pair {
    SSL *server;
    SSL *client;
};

static struct pair pair_new(SSL_CTX *server, SSL_CTX *client, int version)
{
    struct pair p = {SSL_new(server), SSL_new(client)};
    BIO *a = NULL;
    BIO *b = NULL;

    MUST(p.server != NULL && p.client != NULL && BIO_new_bio_pair(&a, 0, &b, 0) == 1);
    SSL_set_bio(p.server, a, a);
    SSL_set_bio(p.client, b, b);
    SSL_set_accept_state(p.server);
    SSL_set_connect_state(p.client);
    if (version != 0)
        MUST(SSL_set_min_proto_version(p.client, version) == 1 && SSL_set_max_proto_version(p.client, version) == 1);
    MUST(SSL_set1_host(p.client, "server.test") == 1);
    return p;
}

static void pair_free(struct pair *p)
{
    SSL_free(p->server);
    SSL_free(p->client);
    *p = (struct pair){NULL, NULL};
}

static bool wants_more(SSL *ssl, int rc)
{
    int error = SSL_get_error(ssl, rc);

    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/* True if both sides finish, and a byte goes each way (which lets a TLS 1.3 client see a refusal, and its tickets). */
static bool pair_shake(struct pair *p)
{
    char byte = 0;

    ERR_clear_error();
    for (int i = 0; i < 50 && (!SSL_is_init_finished(p->client) || !SSL_is_init_finished(p->server)); i++) {
        int c = SSL_do_handshake(p->client);
        int s = 0;

        if (c != 1 && !wants_more(p->client, c))
            return false;
        s = SSL_do_handshake(p->server);
        if (s != 1 && !wants_more(p->server, s))
            return false;
    }
    return SSL_write(p->server, "s", 1) == 1 && SSL_read(p->client, &byte, 1) == 1 && byte == 's' &&
           SSL_write(p->client, "c", 1) == 1 && SSL_read(p->server, &byte, 1) == 1 && byte == 'c';
}

static TLS_UNUSED long peer_serial(const SSL *ssl)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);

    return cert != NULL ? ASN1_INTEGER_get(X509_get0_serialNumber(cert)) : 0;
}

/* The serial of the certificate that a new client sees, or -1 if the handshake fails. */
static TLS_UNUSED long shake(SSL_CTX *server, SSL_CTX *client, int version)
{
    struct pair p = pair_new(server, client, version);
    long serial = pair_shake(&p) ? peer_serial(p.client) : -1;

    pair_free(&p);
    return serial;
}

/* A client of nobody's library that trusts CA. */
static TLS_UNUSED SSL_CTX *plain_client(const struct identity *ca)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());

    MUST(ctx != NULL && X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca->cert) == 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    return ctx;
}

static TLS_UNUSED struct credfresh_tls_status status_of(struct credfresh_tls *tls)
{
    struct credfresh_tls_status status;

    memset(&status, 0, sizeof status);
    status.struct_size = sizeof status;
    credfresh_tls_status(tls, &status);
    return status;
}

/* Dispatches until so many sets were taken, or refused. */
static TLS_UNUSED void until(struct credfresh_tls *tls, uint64_t taken, uint64_t refused)
{
    struct pollfd poll_fd = {.fd = credfresh_tls_fd(tls), .events = POLLIN};

    for (;;) {
        struct credfresh_tls_status status = status_of(tls);

        if (status.taken >= taken && status.refused >= refused)
            return;
        MUST(poll(&poll_fd, 1, WAIT_LIMIT_MS) == 1);
        (void)credfresh_tls_dispatch(tls);
    }
}

static TLS_UNUSED struct credfresh_tls *open_tls(const struct volume *v, const char *ca_name, unsigned flags)
{
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;
    char text[400] = "";

    options.directory = v->path;
    options.ca_name = ca_name;
    options.flags = flags;
    if (credfresh_tls_open(&tls, &options, text, sizeof text) != 0)
        fail_msg("%s", text);
    return tls;
}

#endif
