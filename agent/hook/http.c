/* SPDX-License-Identifier: MIT */
/* Hook kind `http`: sends a request to the consumer, whose answer may acknowledge the generation. */
#include "agent/hook/hook_private.h"

#include "agent/http/probe.h"
#include "wire/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MAX     65536
#define CONNECT_MAX_MS 3000              /* of an inspection */
#define HEADER_BYTES   "!#$%&'*+-.^_`|~" /* next to letters and digits: RFC 9110, 5.6.2 */

struct config {
    struct cfr_node node;
    char *url;
    int method;     /* index into methods */
    int64_t expect; /* status; 0 = any 2xx */
    char *ca_file;
    char *acknowledge_header; /* of the answer; its value is the generation in use; NULL = not asked for */
};

static const char *const methods[] = {"GET", "POST", "PUT", NULL};

/* The name of a header of HTTP. */
static int check_header(const char *name, struct cfr_err *err)
{
    for (const char *p = name; *p != '\0'; p++) {
        if ((*p < 'a' || *p > 'z') && (*p < 'A' || *p > 'Z') && (*p < '0' || *p > '9') &&
            strchr(HEADER_BYTES, *p) == NULL)
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "acknowledge_header: is not the name of a header; write one such as X-Credfresh-Generation");
    }
    return 0;
}

static int check_request(const void *node, struct cfr_err *err)
{
    const struct config *h = node;
    struct cfr_url url;
    int rc;

    if (h->url == NULL)
        return 0;
    rc = cfr_url_parse(h->url, &url, err);
    if (rc != 0) {
        (void)cfr_err_prefix(err, "url");
        return rc;
    }
    if (!url.tls && !url.literal)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "url: http:// goes to a literal loopback address only, and %.*s is none; write "
                           "https://, or http://127.0.0.1",
                           url.host.n < 64 ? (int)url.host.n : 64, url.host.p);
    if (!url.tls && h->ca_file != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: has no effect with http://; remove it, or write https://");
    return h->acknowledge_header != NULL ? check_header(h->acknowledge_header, err) : 0;
}

#define AT(member) offsetof(struct config, member)
static const struct cfr_field fields[] = {
    {FIELD(url, STRING), .flags = CFR_FIELD_REQUIRED, .min = 8, .max = 2048,
     .doc = CFR_DOC("https, or http to a literal loopback address (127.0.0.0/8, [::1]). Redirects are not followed. "
                    "The query is not shown in the log, status and metrics; the path is.")},
    {FIELD(method, ENUM), .fallback = "POST", .choices = methods, .doc = CFR_DOC("The request has no body.")},
    {FIELD(expect, INT), .min = 200, .max = 599,
     .doc = CFR_DOC("The status that means success. Default: any from 200 to 299.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust instead of the system's.")},
    {FIELD(acknowledge_header, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("A response header with the generation that the consumer uses, such as "
                    "X-Credfresh-Generation. The hook then succeeds only if that is the generation that "
                    "it was run for, and is retried until then. Default: only the status counts.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "http request",
    .size = sizeof(struct config),
    .fields = fields,
    .check = check_request,
    .doc = CFR_DOC("An HTTP request."),
};

/* The query may be a secret, such as ?token=. */
static void describe_http(const void *config, char text[CFR_HOOK_NAME_MAX])
{
    const struct config *c = config;

    (void)snprintf(text, CFR_HOOK_NAME_MAX, "http %s %.*s", methods[c->method], (int)strcspn(c->url, "?"), c->url);
}

static const char *acknowledge_header(const void *config)
{
    return ((const struct config *)config)->acknowledge_header;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_hook_run *run = ctx;
    int64_t expect = ((const struct config *)run->config)->expect;
    struct cfr_err err = answer->err;
    int rc = answer->error;

    run->request = NULL;
    if (rc == 0 && (expect != 0 ? answer->status != expect : answer->status < 200 || answer->status > 299))
        rc = cfr_err_set(&err, CFR_E_REJECTED, "answered %ld", answer->status);
    run->ended(run->ctx, rc, &err, answer->header);
}

static int add_header(struct cfr_secret *header, const char *name, const char *value, struct cfr_err *err)
{
    char line[256];

    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    cfr_secret_init(header, sizeof line);
    return cfr_secret_append_str(header, line, err);
}

static int start_http(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err)
{
    const struct config *c = run->config;
    struct cfr_secret headers[2] = {{0}};
    char number[24];
    struct cfr_http_request request = {
        .method = methods[c->method],
        .url = c->url,
        .ca_file = c->ca_file,
        .headers = headers,
        .header_count = 2,
        .keep_header = run->acknowledge_header,
        .answer_max = ANSWER_MAX,
        .timeout_ms = run->timeout_ms,
    };
    int rc;

    (void)now;
    (void)snprintf(number, sizeof number, "%" PRIu64, run->generation);
    rc = add_header(&headers[0], "X-Credfresh-Credential", run->credential->name, err);
    if (rc == 0)
        rc = add_header(&headers[1], "X-Credfresh-Generation", number, err);
    if (rc == 0)
        rc = cfr_http_start(run->http, &request, on_answer, run, &run->request, err);
    cfr_secret_free(&headers[0]);
    cfr_secret_free(&headers[1]);
    return rc != 0 ? rc : CFR_HOOK_STARTED;
}

static void cancel_http(struct cfr_hook_run *run)
{
    cfr_http_cancel(run->http, run->request);
    run->request = NULL;
}

static void inspect_http(const void *config, const struct cfr_hook_inspection *i)
{
    const struct config *c = config;
    struct cfr_http_probe_request request = {
        .url = c->url,
        .ca_file = c->ca_file,
        .connect_only = true,
        .timeout_ms = i->timeout_ms < CONNECT_MAX_MS ? i->timeout_ms : CONNECT_MAX_MS,
    };
    struct cfr_http_probe seen;
    struct cfr_http *http = NULL;

    if (i->timeout_ms <= 0 || cfr_http_open(&http, NULL) != 0)
        return;
    cfr_http_probe(&request, &seen);
    cfr_http_close(http);
    if (seen.error == 0)
        cfr_finding_report(i->sink, CFR_FINDING_OK, "hook.http", NULL, "a server listens for the request to %s",
                           seen.address);
    else
        cfr_finding_report(i->sink, CFR_FINDING_WARNING, "hook.http", "start the consumer, or fix the URL",
                           "the request to %s", seen.err.text);
}

const struct cfr_hook_ops cfr_hook_http = {
    .kind = {.variant = {.key = "http", .table = &table, .doc = CFR_DOC("Make an HTTP request.")},
             .acknowledge_header = acknowledge_header},
    .describe = describe_http,
    .start = start_http,
    .cancel = cancel_http,
    .inspect = inspect_http,
};
