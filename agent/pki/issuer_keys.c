/* SPDX-License-Identifier: MIT */
/* Reader of an issuer's published key set. */
#include "agent/pki/issuer_keys.h"

#include "agent/http/client.h"
#include "agent/loop/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "pki/jwks.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define DOCUMENT_MAX 65536
#define SHOWN_MAX    300

struct reading {
    struct cfr_http *http;
    const char *ca_file;
    int64_t end_boot_ms;
    /* of the request in progress */
    struct cfr_secret *out;
    bool done;
    int rc;
    struct cfr_err err;
};

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct reading *r = ctx;

    r->done = true;
    r->rc = answer->error;
    r->err = answer->err;
    if (r->rc == 0 && answer->status != 200)
        r->rc = cfr_err_set(&r->err, CFR_E_MISSING, "the server answers HTTP %ld", answer->status);
    if (r->rc == 0)
        r->rc = cfr_secret_append(r->out, answer->body, &r->err);
}

/* Appends what URL shows to OUT. */
static int get(struct reading *r, const char *url, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_http_request request = {
        .method = "GET",
        .url = url,
        .ca_file = r->ca_file,
        .answer_max = out->limit,
        .timeout_ms = r->end_boot_ms - cfr_clock_now().boot_ms,
    };
    struct cfr_url parts;
    void *handle = NULL;
    int rc = cfr_url_parse(url, &parts, err);

    r->out = out;
    r->done = false;
    if (rc == 0 && request.timeout_ms <= 0)
        rc = cfr_err_set(err, CFR_E_TIMEOUT, "the time is up");
    if (rc == 0)
        rc = cfr_http_start(r->http, &request, on_answer, r, &handle, err);
    if (rc == 0) {
        rc = cfr_http_run(r->http, &r->done, r->end_boot_ms, err);
        if (!r->done)
            cfr_http_cancel(r->http, handle);
    }
    if (rc == 0 && r->done) {
        *err = r->err;
        rc = r->rc;
    }
    return rc != 0 ? cfr_err_prefix(err, "%.*s", SHOWN_MAX, url) : 0;
}

/* Copies `jwks_uri` of the discovery DOCUMENT of ISSUER to URI. */
static int read_uri(const char *issuer, struct cfr_view document, char uri[CFR_URL_MAX], struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    char shown[SHOWN_MAX];
    struct cfr_view found;
    struct cfr_view named;
    int rc = cfr_json_parse(document, &doc, NULL);

    if (rc == CFR_E_NOMEM)
        return cfr_err_nomem(err);
    named = cfr_json_text(doc, "issuer");
    found = cfr_json_text(doc, "jwks_uri");
    if (rc != 0 || found.n == 0 || found.n >= CFR_URL_MAX || !cfr_view_printable(found))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the discovery document names no key set (`jwks_uri`)");
    else if (!cfr_view_is(named, issuer))
        rc = cfr_err_set(err, CFR_E_CONFLICT, "the discovery document is of the issuer %s; a cloud refuses it",
                         cfr_view_show(named, shown, sizeof shown));
    else if (!cfr_view_starts(found, "https://") && strncmp(issuer, "http://", 7) != 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "`jwks_uri` of the discovery document is not an https URL");
    else
        (void)snprintf(uri, CFR_URL_MAX, "%.*s", (int)found.n, found.p);
    cfr_json_free(doc);
    return rc;
}

int cfr_issuer_keys_read(const struct cfr_issuer_keys_request *request, struct cfr_secret *out, struct cfr_err *err)
{
    struct reading r = {.ca_file = request->ca_file, .end_boot_ms = cfr_clock_now().boot_ms + request->timeout_ms};
    size_t n = strlen(request->issuer);
    struct cfr_secret document;
    char url[CFR_URL_MAX];
    int rc = cfr_http_open(&r.http, err);

    if (rc != 0)
        return rc;
    cfr_secret_init(&document, DOCUMENT_MAX);
    if (n != 0 && request->issuer[n - 1] == '/')
        n--;
    if (n > CFR_URL_MAX - sizeof CFR_JWKS_DISCOVERY - 1)
        rc = cfr_err_set(err, CFR_E_CONFIG, "the issuer's URL is too long");
    (void)snprintf(url, sizeof url, "%.*s/" CFR_JWKS_DISCOVERY, (int)n, request->issuer);
    if (rc == 0)
        rc = get(&r, url, &document, err);
    if (rc == 0 && (rc = read_uri(request->issuer, cfr_secret_view(&document), url, err)) != 0)
        rc = cfr_err_prefix(err, "%.*s", SHOWN_MAX, request->issuer);
    if (rc == 0)
        rc = get(&r, url, out, err);
    cfr_secret_free(&document);
    cfr_http_close(r.http);
    return rc;
}
