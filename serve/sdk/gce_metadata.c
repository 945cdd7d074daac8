/* SPDX-License-Identifier: MIT */
/* The metadata server of a Compute Engine machine, as Google's client libraries ask it: who may ask, and what is
 * answered where. https://cloud.google.com/compute/docs/metadata/querying-metadata */
#include "serve/sdk/gce_private.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ACCOUNTS_PATH CFR_SDK_GCE_PATH "/v1/instance/service-accounts/"

static void answer_text(struct cfr_sdk_gce_ask *a, int status, const char *text)
{
    cfr_sdk_endpoint_start(a->out, status, CFR_SDK_GCE_HTML_TYPE);
    cfr_sdk_endpoint_text(a->out, text);
}

/* ---- who may ask ---- */

/* True if the request may be looked at; else it is answered. A request that a browser or a proxy was talked into
 * carries X-Forwarded-For, Forwarded or Via, or lacks the flavor, which neither can set by accident. */
static bool admitted(struct cfr_sdk_gce_ask *a, bool root)
{
    const struct cfr_sdk_endpoint_request *r = a->request;
    struct cfr_view flavor = cfr_sdk_endpoint_asked(r, "Metadata-Flavor");

    if (cfr_sdk_endpoint_proxied(r)) {
        answer_text(a, 403, "Requests with the header \"X-Forwarded-For\", \"Forwarded\" or \"Via\" are not answered");
        a->out->refused = "a request to gce_metadata came through a proxy (X-Forwarded-For, Forwarded or Via)";
    } else if (!cfr_view_is(r->method, "GET") && !cfr_view_is(r->method, "HEAD")) {
        answer_text(a, 405, "Only GET and HEAD are answered here");
        cfr_sdk_endpoint_header(a->out, "Allow", cfr_view_of("GET, HEAD"));
        a->out->refused = "a request to gce_metadata is neither GET nor HEAD";
    } else if (!root && flavor.p == NULL) {
        answer_text(a, 403, "Missing required header \"Metadata-Flavor\": \"Google\"");
        a->out->refused = "a request to gce_metadata lacks the header Metadata-Flavor: Google";
    } else if (!root && !cfr_view_is(flavor, "Google")) {
        answer_text(a, 403, "The header \"Metadata-Flavor\" must be \"Google\"");
        a->out->refused = "a request to gce_metadata has another Metadata-Flavor than Google";
    } else {
        return true;
    }
    return false;
}

/* ---- what is asked for ---- */

enum alt { ALT_DEFAULT, ALT_JSON, ALT_TEXT };

/* The parameters that change the form of an answer. False: they are wrong, and the answer is made. */
static bool form(struct cfr_sdk_gce_ask *a, bool *recursive, enum alt *alt)
{
    char text[16];
    int found = cfr_sdk_endpoint_parameter(a->request->query, "recursive", text, sizeof text);

    *alt = ALT_DEFAULT;
    *recursive = found > 0 && cfr_view_is_nocase(cfr_view_of(text), "true");
    if (found >= 0) {
        found = cfr_sdk_endpoint_parameter(a->request->query, "alt", text, sizeof text);
        if (found > 0 && cfr_view_is_nocase(cfr_view_of(text), "json"))
            *alt = ALT_JSON;
        else if (found > 0 && cfr_view_is_nocase(cfr_view_of(text), "text"))
            *alt = ALT_TEXT;
        else if (found != 0)
            found = -1;
    }
    if (found < 0)
        answer_text(a, 400, "\"recursive\" must be true or false, and \"alt\" json or text, each at most once");
    return found >= 0;
}

/* Characters of a host name or an address with its port. */
static bool plain_host(struct cfr_view host)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";

    for (size_t i = 0; i < host.n; i++) {
        if (memchr(plain, host.p[i], sizeof plain - 1) == NULL)
            return false;
    }
    return host.n != 0;
}

/* A directory is asked for without the slash at its end. */
static void redirect(struct cfr_sdk_gce_ask *a)
{
    const struct cfr_sdk_endpoint_request *r = a->request;
    struct cfr_view host = cfr_sdk_endpoint_asked(r, "Host");
    bool absolute = plain_host(host);
    char to[sizeof a->out->headers[0].value] = "";
    int n = -1;

    if (host.n < sizeof to && r->path.n < sizeof to && r->query.n < sizeof to)
        n = snprintf(to, sizeof to, "%s%.*s%.*s/%s%.*s", absolute ? "http://" : "", absolute ? (int)host.n : 0,
                     absolute ? host.p : "", (int)r->path.n, r->path.p, r->query.n != 0 ? "?" : "", (int)r->query.n,
                     r->query.n != 0 ? r->query.p : "");
    if (n < 0 || (size_t)n >= sizeof to || strlen(to) != (size_t)n || !cfr_view_printable(cfr_view_of(to)) ||
        strchr(to, ' ') != NULL) {
        answer_text(a, 404, "this is a directory: its path ends with a slash");
        return;
    }
    answer_text(a, 301, "this is a directory: its path ends with a slash");
    cfr_sdk_endpoint_header(a->out, "Location", cfr_view_of(to));
}

static void directory(struct cfr_sdk_gce_ask *a, size_t node)
{
    bool recursive;
    enum alt alt;

    if (!form(a, &recursive, &alt))
        return;
    cfr_sdk_endpoint_start(a->out, 200, recursive && alt != ALT_TEXT ? CFR_SDK_GCE_JSON_TYPE : CFR_SDK_GCE_TEXT_TYPE);
    if (!recursive)
        cfr_sdk_gce_list_names(&a->tree, node, a->out);
    else if (alt == ALT_TEXT)
        cfr_sdk_gce_list_text(&a->tree, node, a->out);
    else
        cfr_sdk_gce_list_json(&a->tree, node, a->out);
}

static void value(struct cfr_sdk_gce_ask *a, const struct cfr_sdk_gce_node *n)
{
    bool recursive;
    enum alt alt;

    if (!form(a, &recursive, &alt))
        return;
    cfr_sdk_endpoint_start(a->out, 200, alt == ALT_JSON ? CFR_SDK_GCE_JSON_TYPE : CFR_SDK_GCE_TEXT_TYPE);
    cfr_sdk_gce_list_leaf(n, alt == ALT_JSON, a->out);
}

/* Nothing is at the path. A client that learnt the account's email while there was a grant keeps asking with it: to
 * tell it that there is no such account would make it give up. */
static void nothing(struct cfr_sdk_gce_ask *a)
{
    struct cfr_view path = a->request->path;
    size_t prefix = sizeof ACCOUNTS_PATH - 1;
    const char *end;
    bool slash;

    if (cfr_view_starts(path, ACCOUNTS_PATH)) {
        end = memchr(path.p + prefix, '/', path.n - prefix);
        if (end != NULL)
            path.n = (size_t)(end - path.p);
        if ((memchr(path.p, '@', path.n) != NULL || cfr_view_find(path, "%40") >= 0) &&
            cfr_sdk_gce_tree_find(&a->tree, path, &slash) == CFR_SDK_GCE_NO_NODE && cfr_sdk_gce_token_email_waits(a))
            return;
    }
    answer_text(a, 404, "nothing is served at this path; a directory, with a slash at its end, lists what there is");
}

static void answer(struct cfr_sdk_gce_ask *a)
{
    bool slash;
    size_t node = cfr_sdk_gce_tree_find(&a->tree, a->request->path, &slash);
    const struct cfr_sdk_gce_node *n = node != CFR_SDK_GCE_NO_NODE ? &a->tree.nodes[node] : NULL;

    if (n == NULL || (slash && n->kind != CFR_SDK_GCE_DIRECTORY))
        nothing(a);
    else if (n->kind == CFR_SDK_GCE_DIRECTORY && !slash)
        redirect(a);
    else if (n->kind == CFR_SDK_GCE_DIRECTORY)
        directory(a, node);
    else if (n->kind == CFR_SDK_GCE_TOKEN)
        cfr_sdk_gce_token_access(a, n->account);
    else if (n->kind == CFR_SDK_GCE_IDENTITY)
        cfr_sdk_gce_token_identity(a, n->account);
    else
        value(a, n);
}

/* What every reply carries. Clients take one without the flavor for some other server's, even if it is an error. */
static void finish(struct cfr_sdk_gce_ask *a)
{
    struct cfr_sdk_endpoint_answer *out = a->out;
    uint64_t etag = a->etag != 0 ? a->etag : cfr_hash_add(CFR_HASH_START, out->body.p, out->body.len);
    char text[24];

    cfr_sdk_endpoint_header(out, "Metadata-Flavor", cfr_view_of("Google"));
    cfr_sdk_endpoint_header(out, "Server", cfr_view_of("Metadata Server for VM"));
    cfr_sdk_endpoint_header(out, "X-XSS-Protection", cfr_view_of("0"));
    cfr_sdk_endpoint_header(out, "X-Frame-Options", cfr_view_of("SAMEORIGIN"));
    (void)snprintf(text, sizeof text, "%016" PRIx64, etag);
    if (out->status == 200)
        cfr_sdk_endpoint_header(out, "ETag", cfr_view_of(text));
}

static bool is_ours(struct cfr_view path)
{
    size_t n = sizeof CFR_SDK_GCE_PATH - 1;

    return cfr_view_is(path, "/") || (cfr_view_starts(path, CFR_SDK_GCE_PATH) && (path.n == n || path.p[n] == '/'));
}

bool cfr_sdk_gce_answer(const void *config, const struct cfr_sdk_endpoint_request *r,
                        const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_sdk_gce_ask ask = {.config = config, .request = r, .world = w, .out = out};
    bool root = cfr_view_is(r->path, "/");

    if (!is_ours(r->path))
        return false;
    if (admitted(&ask, root)) {
        if (root) {
            cfr_sdk_endpoint_start(out, 200, CFR_SDK_GCE_TEXT_TYPE);
            cfr_sdk_endpoint_text(out, "computeMetadata/\n");
        } else if (cfr_sdk_gce_tree_make(&ask.tree, config, w)) {
            answer(&ask);
        } else {
            answer_text(&ask, 500, "memory is short");
        }
    }
    finish(&ask);
    cfr_sdk_gce_tree_free(&ask.tree);
    return true;
}
