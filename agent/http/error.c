/* SPDX-License-Identifier: MIT */
/* Errors of libcurl as our codes, with texts that say what to do. */
#include "agent/http/transfer_private.h"

#include "base/wipealloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *describe_trust(const struct cfr_http_transfer *t)
{
    return t->ca_file != NULL ? t->ca_file : "the CA certificates given for it";
}

/* Explains X509_V_ERR_... of OpenSSL's verification. */
static int explain_certificate(const struct cfr_http_transfer *t, struct cfr_err *err)
{
    enum { NOT_YET = 9, EXPIRED = 10, SELF_SIGNED = 18, NO_ROOT = 19, NO_ISSUER = 20, NO_CHAIN = 21 };
    long verdict = 0;

    /* The chain is valid then, and the verdict is empty. */
    if (strstr(t->words, "subject name") != NULL)
        return cfr_err_set(err, CFR_E_TLS, "%s: its certificate is for another name; check the host name in the URL",
                           t->target);
    (void)curl_easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
    switch (verdict) {
    case EXPIRED:
        return cfr_err_set(err, CFR_E_TLS, "%s: its certificate has expired; renew it there, or correct this clock",
                           t->target);
    case NOT_YET:
        return cfr_err_set(err, CFR_E_TLS, "%s: its certificate is not valid yet; correct the clock here or there",
                           t->target);
    case SELF_SIGNED:
    case NO_ROOT:
    case NO_ISSUER:
    case NO_CHAIN:
        return cfr_err_set(err, CFR_E_TLS,
                           t->ca_file != NULL
                               ? "%s: its certificate is not signed by a CA in %s; set ca_file to the CA that signed it"
                               : "%s: its certificate is not signed by any of %s",
                           t->target, describe_trust(t));
    default:
        return cfr_err_set(err, CFR_E_TLS, "%s: its certificate is refused (checked with %s): %s", t->target,
                           describe_trust(t), t->words);
    }
}

/* A connection that breaks during the handshake is a fault of the network, not of the certificate. */
static bool is_broken_handshake(const struct cfr_http_transfer *t)
{
    return strstr(t->words, "SSL_ERROR_SYSCALL") != NULL || strstr(t->words, "reset by peer") != NULL ||
           strstr(t->words, "unexpected eof") != NULL || strstr(t->words, "Broken pipe") != NULL;
}

bool cfr_http_is_lookup_open(const struct cfr_http_transfer *t)
{
    curl_off_t found_us = 0;

    (void)curl_easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME_T, &found_us);
    return t->looked_up && found_us == 0;
}

static bool is_plain(const struct cfr_http_transfer *t)
{
    const char *scheme = NULL;

    return curl_easy_getinfo(t->easy, CURLINFO_SCHEME, &scheme) == CURLE_OK && scheme != NULL &&
           strcasecmp(scheme, "http") == 0;
}

static const char *describe_proxy(const struct cfr_http_transfer *t)
{
    return t->own_proxy ? "" : "; see https_proxy and no_proxy";
}

/* The proxy that could not be reached, into OUT: libcurl's words name the host and port that it tried, and from version
 * 8 on the server and "via" its proxy. False if it tried the server itself. */
static bool find_dead_proxy(const struct cfr_http_transfer *t, char *out, size_t size)
{
    static const char begin[] = "Failed to connect to ";
    const char *at = t->may_proxy ? strstr(t->words, begin) : NULL;
    const char *via = at != NULL ? strstr(at, " via ") : NULL;
    char host[256];
    char port[8];

    if (via != NULL && sscanf(via, " via %255[^ ]", host) == 1) {
        (void)snprintf(out, size, "%s", host);
        return true;
    }
    if (at == NULL || sscanf(at + sizeof begin - 1, "%255[^ ] port %7[0-9]", host, port) != 2)
        return false;
    (void)snprintf(out, size, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
    return strcmp(out, t->target) != 0;
}

static int explain_timeout(const struct cfr_http_transfer *t, struct cfr_err *err)
{
    curl_off_t connected_us = 0;
    long ms = (long)(t->timeout_ms < CFR_HTTP_CONNECT_MAX_MS ? t->timeout_ms : CFR_HTTP_CONNECT_MAX_MS);

    (void)curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    if (cfr_http_is_lookup_open(t))
        return cfr_err_set(err, CFR_E_TIMEOUT,
                           "%s: the name servers have not answered within %ld ms; check DNS and /etc/resolv.conf",
                           t->target, ms);
    if (connected_us == 0)
        return cfr_err_set(err, CFR_E_TIMEOUT, "%s: no connection%s within %ld ms%s", t->target,
                           t->may_proxy ? ", to it or to its proxy," : "", ms, t->may_proxy ? describe_proxy(t) : "");
    return cfr_err_set(err, CFR_E_TIMEOUT, "%s: no complete answer within %ld ms", t->target, (long)t->timeout_ms);
}

static int explain_connect(const struct cfr_http_transfer *t, struct cfr_err *err)
{
    curl_off_t connected_us = 0;
    long errnum = 0;
    long proxy = 0;
    char dead[280];

    /* With TLS 1.3 the server's verdict on a client certificate comes after the handshake. */
    if (strstr(t->words, "alert") != NULL)
        return cfr_err_set(err, CFR_E_TLS, "%s: it refuses the client certificate, or the lack of one: %s", t->target,
                           t->words);
    (void)curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &errnum);
    (void)curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    if (proxy == 407)
        return cfr_err_set(err, CFR_E_DENIED,
                           "%s: a proxy requires a user and password (status 407): write them into the proxy's URL%s",
                           t->target, t->own_proxy ? "" : ", or name this server in no_proxy");
    if (proxy != 0 && proxy / 100 != 2)
        return cfr_err_set(err, CFR_E_NET, "%s: the proxy refuses to connect (status %ld)%s", t->target, proxy,
                           describe_proxy(t));
    (void)curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    if (errnum != 0 && connected_us == 0 && find_dead_proxy(t, dead, sizeof dead))
        return cfr_err_set(err, CFR_E_NET, "%s: cannot connect to the proxy %s: %s%s", t->target, dead,
                           strerror((int)errnum), describe_proxy(t));
    if (errnum != 0)
        return cfr_err_set(err, CFR_E_NET, "%s: %s: %s%s", t->target,
                           connected_us == 0 ? "cannot connect" : "the connection broke", strerror((int)errnum),
                           connected_us == 0 && errnum == ECONNREFUSED
                               ? "; check its address and port, and whether the server runs"
                               : "");
    return cfr_err_set(err, CFR_E_NET, "%s: %s", t->target, t->words);
}

/* libcurl 7.88 also calls a line of the head that has more than 100 KiB short memory. */
static int explain_memory(const struct cfr_http_transfer *t, struct cfr_err *err)
{
    if (t->head.bytes != 0 && cfr_wipealloc_failures() == t->failures)
        return cfr_err_set(err, CFR_E_LIMIT, "%s: a line of the answer's head is larger than %d bytes", t->target,
                           CFR_HTTP_HEAD_MAX);
    return cfr_err_set(err, CFR_E_NOMEM, "%s: out of memory", t->target);
}

int cfr_http_explain(const struct cfr_http_transfer *t, CURLcode code, struct cfr_err *err)
{
    const char *words = t->words[0] != '\0' ? t->words : curl_easy_strerror(code);

    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return explain_timeout(t, err);
    case CURLE_COULDNT_RESOLVE_HOST:
        return cfr_err_set(err, CFR_E_NET, "%s: its name cannot be resolved; check the name and DNS", t->target);
    case CURLE_COULDNT_RESOLVE_PROXY:
        return cfr_err_set(err, CFR_E_NET, "%s: the proxy's name cannot be resolved%s", t->target, describe_proxy(t));
    case CURLE_COULDNT_CONNECT:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return explain_connect(t, err);
    case CURLE_GOT_NOTHING:
        return cfr_err_set(err, CFR_E_NET, "%s: it closed the connection without an answer%s", t->target,
                           is_plain(t) ? "; check whether its URL must begin with https" : "");
    case CURLE_PEER_FAILED_VERIFICATION:
        return explain_certificate(t, err);
    case CURLE_SSL_CACERT_BADFILE:
        return cfr_err_set(err, CFR_E_TLS,
                           t->ca_file != NULL ? "%s: the CA file %s cannot be read or holds no certificate in PEM form"
                                              : "%s: %s hold no certificate in PEM form",
                           t->target, describe_trust(t));
    case CURLE_SSL_CERTPROBLEM:
        return cfr_err_set(err, CFR_E_TLS,
                           "%s: the client certificate and its key cannot be used: %s; both must be PEM, belong "
                           "together, and the key must not be encrypted",
                           t->target, words);
    case CURLE_SSL_CONNECT_ERROR:
        return cfr_err_set(err, is_broken_handshake(t) ? CFR_E_NET : CFR_E_TLS, "%s: no TLS connection: %s%s",
                           t->target, words,
                           strstr(words, "wrong version number") != NULL || strstr(words, "packet length too") != NULL
                               ? "; what answers there may be plain http, or a proxy"
                               : "");
    case CURLE_PARTIAL_FILE:
        return cfr_err_set(err, CFR_E_ANSWER, "%s: the answer ends too early", t->target);
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return cfr_err_set(err, CFR_E_ANSWER, "%s: the answer is not HTTP: %s", t->target, words);
    case CURLE_OUT_OF_MEMORY:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
        return explain_memory(t, err);
    case CURLE_FILESIZE_EXCEEDED:
        return cfr_err_set(err, CFR_E_LIMIT, "%s: the answer is larger than the %zu bytes that are allowed", t->target,
                           t->body.limit);
    default:
        return cfr_err_set(err, CFR_E_NET, "%s: %s", t->target, words);
    }
}
