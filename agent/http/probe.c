/* SPDX-License-Identifier: MIT */
/* Probing a server. */
#include "agent/http/probe.h"

#include "agent/loop/clock.h"
#include "agent/http/transfer_private.h"
#include "base/str.h"
#include "pki/cert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER_MAX 65536
#define CERT       "Cert:" /* before libcurl's PEM text of a certificate */

/* One connection of a probe. */
struct probe {
    struct cfr_http_transfer t;
    struct cfr_http_trust trust;
    char *url;
    char *no_proxy;
};

bool cfr_http_probe_host(const char *url, char host[CFR_HTTP_PROBE_TEXT], int *port, bool *tls)
{
    CURLU *u = curl_url();
    char *scheme = NULL;
    char *name = NULL;
    char *number = NULL;
    bool good = u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_HOST, &name, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PORT, &number, CURLU_DEFAULT_PORT) == CURLUE_OK;

    if (good) {
        size_t n = strlen(name);
        bool bracket = n > 2 && name[0] == '[';

        (void)snprintf(host, CFR_HTTP_PROBE_TEXT, "%.*s", (int)(bracket ? n - 2 : n), bracket ? name + 1 : name);
        *port = (int)strtol(number, NULL, 10);
        *tls = strcmp(scheme, "https") == 0;
    }
    curl_free(scheme);
    curl_free(name);
    curl_free(number);
    curl_url_cleanup(u);
    return good;
}

/* The URL without its path and query. */
static char *strip_path(const char *url)
{
    CURLU *u = curl_url();
    char *out = NULL;

    if (u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_PATH, "/", 0) == CURLUE_OK && curl_url_set(u, CURLUPART_QUERY, NULL, 0) == CURLUE_OK)
        (void)curl_url_get(u, CURLUPART_URL, &out, 0);
    curl_url_cleanup(u);
    return out;
}

static void close_probe(struct probe *l)
{
    curl_easy_cleanup(l->t.easy);
    curl_slist_free_all(l->t.headers);
    cfr_secret_free(&l->t.body);
    cfr_secret_free(&l->t.kept);
    free(l->t.ca_file);
    cfr_http_trust_free(&l->trust);
    free(l->no_proxy);
    curl_free(l->url);
    *l = (struct probe){.url = NULL};
}

static int open_probe(const struct cfr_http_probe_request *r, struct probe *l, struct cfr_err *err)
{
    struct cfr_http_target to = {.tls = false};
    struct cfr_http_request request = {
        .method = "HEAD", .link_local = r->link_local, .plain_http = r->plain_http, .answer_max = ANSWER_MAX};
    bool changed;
    int rc;

    *l = (struct probe){.url = strip_path(r->url)};
    l->no_proxy = cfr_http_setup_no_proxy();
    l->t.easy = curl_easy_init();
    if (l->url == NULL || l->no_proxy == NULL || l->t.easy == NULL)
        return cfr_err_nomem(err);
    request.url = l->url;
    request.ca_file = r->ca_file;
    request.ca_pem = r->ca_pem;
    request.server_name = r->server_name;
    request.timeout_ms = r->timeout_ms > 0 ? r->timeout_ms : 1;
    rc = cfr_http_target_check(&l->t, &request, &to, err);
    if (rc == 0)
        rc = cfr_http_setup_trust(&l->t, &request, &to, &l->trust, &changed, err);
    if (rc == 0)
        rc = cfr_http_setup(&l->t, &request, &to, l->no_proxy, true, err);
    if (rc == 0 && r->connect_only)
        (void)curl_easy_setopt(l->t.easy, CURLOPT_CONNECT_ONLY, 1L);
    return rc;
}

static int64_t read_time_ms(const struct probe *l, CURLINFO what)
{
    curl_off_t us = 0;

    (void)curl_easy_getinfo(l->t.easy, what, &us);
    return us != 0 ? (int64_t)us / 1000 : -1;
}

/* libcurl alone knows whether a proxy of the environment applies, and reports its variable only here. */
static int read_trace(CURL *easy, curl_infotype type, char *data, size_t n, void *ctx)
{
    static const char begin[] = "Uses proxy env variable ";
    struct cfr_http_probe *out = ctx;
    struct cfr_view text = {data, n};
    size_t used = sizeof begin - 1;

    (void)easy;
    if (type != CURLINFO_TEXT || !cfr_view_starts(text, begin))
        return 0;
    while (used < n && data[used] != ' ')
        used++;
    (void)snprintf(out->proxy_variable, sizeof out->proxy_variable, "%.*s", (int)(used - (sizeof begin - 1)),
                   data + sizeof begin - 1);
    return 0;
}

static void read_result(const struct probe *l, CURLcode code, struct cfr_http_probe *out)
{
    char *address = NULL;
    long proxy = 0;

    if (code == CURLE_WRITE_ERROR && l->t.refused.code != 0)
        out->error = cfr_err_set(&out->err, l->t.refused.code, "%s: %s", l->t.target, l->t.refused.text);
    else if (code != CURLE_OK)
        out->error = cfr_http_explain(&l->t, code, &out->err);
    (void)curl_easy_getinfo(l->t.easy, CURLINFO_PRIMARY_IP, &address);
    (void)curl_easy_getinfo(l->t.easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    (void)curl_easy_getinfo(l->t.easy, CURLINFO_RESPONSE_CODE, &out->status);
    (void)snprintf(out->address, sizeof out->address, "%s", address != NULL ? address : "");
    out->proxied = proxy != 0;
    out->connected_ms = read_time_ms(l, CURLINFO_CONNECT_TIME_T);
    out->secured_ms = read_time_ms(l, CURLINFO_APPCONNECT_TIME_T);
    out->date_s = l->t.head.date_s;
}

/* ---- the certificates ---- */

static void copy_value(const char *line, const char *key, char *to, size_t size)
{
    size_t n = strlen(key);

    if (strncasecmp(line, key, n) != 0)
        return;
    (void)cfr_view_show(cfr_view_of(line + n), to, size);
}

/* libcurl shows names in the encoding of the certificate, which may be UTF-16: those that can be read replace them. */
static void read_certificate(const struct curl_slist *lines, struct cfr_http_probe_cert *c)
{
    const char *pem = "";

    for (; lines != NULL; lines = lines->next) {
        copy_value(lines->data, "Subject:", c->subject, sizeof c->subject);
        copy_value(lines->data, "Issuer:", c->issuer, sizeof c->issuer);
        copy_value(lines->data, "Start date:", c->from, sizeof c->from);
        copy_value(lines->data, "Expire date:", c->until, sizeof c->until);
        copy_value(lines->data, "X509v3 Subject Alternative Name:", c->names, sizeof c->names);
        pem = strncmp(lines->data, CERT, sizeof CERT - 1) == 0 ? lines->data + sizeof CERT - 1 : pem;
    }
    _Static_assert(sizeof c->subject == sizeof c->issuer, "one size");
    (void)cfr_cert_names(cfr_view_of(pem), c->subject, c->issuer, sizeof c->subject, NULL);
}

/* Connects without verification, only to read the certificates; nothing is sent. */
static void fetch_certificates(const struct cfr_http_probe_request *r, int64_t taken_ms, struct cfr_http_probe *out)
{
    struct cfr_http_probe_request again = *r;
    struct curl_certinfo *info = NULL;
    struct probe l;

    again.connect_only = true;
    again.timeout_ms = r->timeout_ms - taken_ms;
    if (open_probe(&again, &l, NULL) == 0) {
        (void)curl_easy_setopt(l.t.easy, CURLOPT_SSL_VERIFYPEER, 0L);
        (void)curl_easy_setopt(l.t.easy, CURLOPT_SSL_VERIFYHOST, 0L);
        (void)curl_easy_setopt(l.t.easy, CURLOPT_CERTINFO, 1L);
        (void)curl_easy_perform(l.t.easy);
        (void)curl_easy_getinfo(l.t.easy, CURLINFO_CERTINFO, &info);
        for (int i = 0; info != NULL && i < info->num_of_certs && out->cert_count < CFR_HTTP_PROBE_CERTS; i++)
            read_certificate(info->certinfo[i], &out->certs[out->cert_count++]);
    }
    close_probe(&l);
}

void cfr_http_probe(const struct cfr_http_probe_request *request, struct cfr_http_probe *out)
{
    int64_t begun_ms = cfr_clock_now().boot_ms;
    struct probe l;
    CURLcode code;

    *out = (struct cfr_http_probe){.connected_ms = -1, .secured_ms = -1};
    out->error = open_probe(request, &l, &out->err);
    if (out->error == 0) {
        (void)curl_easy_setopt(l.t.easy, CURLOPT_DEBUGFUNCTION, read_trace);
        (void)curl_easy_setopt(l.t.easy, CURLOPT_DEBUGDATA, out);
        (void)curl_easy_setopt(l.t.easy, CURLOPT_VERBOSE, 1L);
        code = curl_easy_perform(l.t.easy);
        read_result(&l, code, out);
        if (code == CURLE_PEER_FAILED_VERIFICATION)
            fetch_certificates(request, cfr_clock_now().boot_ms - begun_ms, out);
    }
    close_probe(&l);
}

int cfr_http_probe_chain_end(const struct cfr_http_probe_request *request, struct cfr_str *pem, struct cfr_err *err)
{
    struct curl_certinfo *info = NULL;
    const char *found = NULL;
    struct probe l;
    CURLcode code;
    int rc = open_probe(request, &l, err);

    if (rc == 0) {
        (void)curl_easy_setopt(l.t.easy, CURLOPT_CERTINFO, 1L);
        code = curl_easy_perform(l.t.easy);
        rc = code != CURLE_OK ? cfr_http_explain(&l.t, code, err) : 0;
        (void)curl_easy_getinfo(l.t.easy, CURLINFO_CERTINFO, &info);
    }
    if (rc == 0 && info != NULL && info->num_of_certs > 0) {
        for (const struct curl_slist *line = info->certinfo[info->num_of_certs - 1]; line != NULL; line = line->next)
            found = strncmp(line->data, CERT, sizeof CERT - 1) == 0 ? line->data + sizeof CERT - 1 : found;
    }
    if (rc == 0 && found == NULL)
        rc = cfr_err_set(err, CFR_E_MISSING, "%s: the server presents no certificate", request->url);
    cfr_str_addz(pem, found != NULL ? found : "");
    if (rc == 0 && pem->failed)
        rc = cfr_err_nomem(err);
    close_probe(&l);
    return rc;
}
