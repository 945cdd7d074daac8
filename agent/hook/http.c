/* SPDX-License-Identifier: MIT */
/* Hook kind `http`: sends a request to the consumer, whose answer may acknowledge the generation. */
#include "agent/hook/hook_private.h"

#include "agent/http/probe.h"

#include <inttypes.h>
#include <stdio.h>

#define ANSWER_MAX     65536
#define CONNECT_MAX_MS 3000 /* of an inspection */

static bool is_http(const struct cfr_config_hook *c)
{
    return c->http != NULL;
}

static void describe_http(const struct cfr_config_hook *c, char text[CFR_HOOK_NAME_MAX])
{
    (void)snprintf(text, CFR_HOOK_NAME_MAX, "http %s %s", cfr_config_methods[c->http->method], c->http->url);
}

static const char *acknowledge_header(const struct cfr_config_hook *c)
{
    return c->http->acknowledge_header;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_hook_run *run = ctx;
    int64_t expect = run->config->http->expect;
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
    const struct cfr_config_http *c = run->config->http;
    struct cfr_secret headers[2] = {{0}};
    char number[24];
    struct cfr_http_request request = {
        .method = cfr_config_methods[c->method],
        .url = c->url,
        .ca_file = c->ca_file,
        .headers = headers,
        .header_count = 2,
        .keep_header = run->acknowledge_header,
        .answer_max = ANSWER_MAX,
        .timeout_ms = run->config->timeout_ms,
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

static void inspect_http(const struct cfr_config_hook *c, const struct cfr_hook_inspection *i)
{
    struct cfr_http_probe_request request = {
        .url = c->http->url,
        .ca_file = c->http->ca_file,
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
        cfr_finding_say(i->sink, CFR_FINDING_OK, "hook.http", NULL, "a server listens for the request to %s",
                        seen.address);
    else
        cfr_finding_say(i->sink, CFR_FINDING_WARNING, "hook.http", "start the consumer, or fix the URL",
                        "the request to %s", seen.err.text);
}

const struct cfr_hook_ops cfr_hook_http = {
    .name = "http",
    .is_configured = is_http,
    .describe = describe_http,
    .acknowledge_header = acknowledge_header,
    .start = start_http,
    .cancel = cancel_http,
    .inspect = inspect_http,
};
