/* SPDX-License-Identifier: MIT */
/* From an HTTP request to its answer, or to what the agent is asked to do. */
#include "serve/api/routes.h"

#include "base/json.h"
#include "base/writer.h"
#include "serve/api/status_private.h"
#include "wire/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define JSON_TYPE    "application/json"
#define TEXT_TYPE    "text/plain; charset=utf-8"
#define HTML_TYPE    "text/html; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static const char control_index[] = "/v1/credentials\n/v1/credentials/NAME\n"
                                    "/v1/credentials/NAME/rotate (POST)\n/v1/reload (POST)\n/v1/quit (POST)\n"
                                    "/livez\n/readyz\n/readyz?verbose\n/metrics\n";

static void start(struct cfr_httpd_response *out, int status, const char *type)
{
    cfr_str_free(&out->body);
    *out =
        (struct cfr_httpd_response){.status = status, .content_type = type, .body = {.limit = CFR_API_STATUS_PAGE_MAX}};
}

/* A page that did not fit in memory must not go out cut. */
static void finish(struct cfr_httpd_response *out)
{
    if (!out->body.failed)
        return;
    start(out, 500, TEXT_TYPE);
    cfr_str_addz(&out->body, "the page is too large, or memory is short\n");
}

/* Begins OUT as JSON and opens its object. */
static struct cfr_writer start_json(struct cfr_httpd_response *out, int status)
{
    struct cfr_writer w = {.str = &out->body};

    start(out, status, JSON_TYPE);
    cfr_writer_object(&w, NULL);
    return w;
}

static void finish_json(struct cfr_httpd_response *out, struct cfr_writer *w)
{
    cfr_writer_close(w);
    cfr_writer_text(w, "\n");
    finish(out);
}

void cfr_api_routes_error(int status, const char *code, const char *message, struct cfr_httpd_response *out)
{
    struct cfr_writer w = start_json(out, status);

    cfr_writer_object(&w, "error");
    cfr_writer_string(&w, "code", cfr_view_of(code));
    cfr_writer_string(&w, "message", cfr_view_of(message));
    cfr_writer_close(&w);
    finish_json(out, &w);
}

void cfr_api_routes_accepted(const char *name, uint64_t replaces, struct cfr_httpd_response *out)
{
    struct cfr_writer w = start_json(out, 202);

    cfr_writer_string(&w, "credential", cfr_view_of(name));
    if (replaces != 0)
        cfr_writer_count(&w, "replaces", replaces);
    else
        cfr_writer_string(&w, "replaces", (struct cfr_view){NULL, 0});
    finish_json(out, &w);
}

void cfr_api_routes_stopping(struct cfr_httpd_response *out)
{
    struct cfr_writer w = start_json(out, 202);

    cfr_writer_bool(&w, "stopping", true);
    finish_json(out, &w);
}

/* METHODS is the Allow header: "GET, HEAD" or "POST". True when the request's method is one of them, else the
 * answer is made. */
static bool allowed(const struct cfr_httpd_request *req, const char *methods, struct cfr_httpd_response *out)
{
    bool ok = methods[0] == 'P' ? cfr_view_is(req->method, "POST")
                                : cfr_view_is(req->method, "GET") || cfr_view_is(req->method, "HEAD");
    char text[64];

    if (ok)
        return true;
    (void)snprintf(text, sizeof text, "only %s is allowed here", methods);
    cfr_api_routes_error(405, "method", text, out);
    out->allow = methods;
    return false;
}

/* True when the query has the parameter KEY, with any value or none. */
static bool query_has(struct cfr_view query, const char *key)
{
    while (query.n != 0) {
        const char *amp = memchr(query.p, '&', query.n);
        size_t n = amp != NULL ? (size_t)(amp - query.p) : query.n;
        const char *eq = memchr(query.p, '=', n);

        if (cfr_view_is((struct cfr_view){query.p, eq != NULL ? (size_t)(eq - query.p) : n}, key))
            return true;
        n += amp != NULL ? 1 : 0;
        query = (struct cfr_view){query.p + n, query.n - n};
    }
    return false;
}

static void livez(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                  struct cfr_httpd_response *out)
{
    (void)req;
    (void)status;
    start(out, 200, TEXT_TYPE);
    cfr_str_addz(&out->body, "ok\n");
}

static void readyz(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                   struct cfr_httpd_response *out)
{
    start(out, 200, TEXT_TYPE);
    if (!cfr_api_status_ready(status, query_has(req->query, "verbose"), &out->body))
        out->status = 503;
}

static void metrics(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                    struct cfr_httpd_response *out)
{
    (void)req;
    start(out, 200, METRICS_TYPE);
    cfr_api_status_metrics(status, &out->body);
}

static const struct page {
    const char *path;
    void (*make)(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                 struct cfr_httpd_response *out);
} pages[] = {{"/livez", livez}, {"/readyz", readyz}, {"/metrics", metrics}};

static void status_page(const struct cfr_api_status *status, struct cfr_httpd_response *out)
{
    start(out, 200, HTML_TYPE);
    out->policy = cfr_api_status_page_policy;
    cfr_api_status_page(status, &out->body);
    finish(out);
}

static void control_page(struct cfr_httpd_response *out)
{
    start(out, 200, TEXT_TYPE);
    cfr_str_addz(&out->body, control_index);
    finish(out);
}

/* True when the path is one of the health pages; OUT is then made. */
static bool health_page(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                        struct cfr_httpd_response *out)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (!cfr_view_is(req->path, pages[i].path))
            continue;
        if (allowed(req, "GET, HEAD", out)) {
            pages[i].make(req, status, out);
            finish(out);
        }
        return true;
    }
    return false;
}

/* The machine's whole name, or its first label. */
static bool is_machine(struct cfr_view host, const char *machine)
{
    size_t label = strcspn(machine, ".");

    return cfr_view_is_nocase(host, machine) ||
           (host.n == label && label != 0 && strncasecmp(host.p, machine, label) == 0);
}

bool cfr_api_routes_is_host(struct cfr_view host, const char *machine, char *const *names, size_t count)
{
    unsigned char address[16];
    const char *colon;

    if (host.n == 0)
        return true;
    if (!cfr_url_host_ok(host))
        return false;
    colon = memchr(host.p, ':', host.n);
    if (host.p[0] != '[' && colon != NULL)
        host.n = (size_t)(colon - host.p);
    if (host.p[0] == '[' || cfr_url_address(host, address) != 0)
        return true;
    if (host.n > 1 && host.p[host.n - 1] == '.')
        host.n--;
    for (size_t i = 0; i < count; i++) {
        if (cfr_view_is_nocase(host, names[i]))
            return true;
    }
    return cfr_view_is_nocase(host, "localhost") || is_machine(host, machine);
}

void cfr_api_routes_health(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                           struct cfr_httpd_response *out)
{
    *out = (struct cfr_httpd_response){0};
    if (cfr_view_is(req->path, "/")) {
        if (allowed(req, "GET, HEAD", out))
            status_page(status, out);
    } else if (!health_page(req, status, out)) {
        cfr_api_routes_error(404, "not-found", "no such page; / links to those that exist", out);
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The characters that RFC 3986, 3.3 allows unescaped in a path segment. */
static bool segment_char(char c)
{
    return cfr_view_is_alnum(c) || (c != '\0' && strchr("-._~!$&'()*+,;=:@", c) != NULL);
}

/* Decodes one path segment into a C string. False if it is malformed, too long, or not plain text. */
static bool decode_segment(struct cfr_view segment, char *to, size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < segment.n; i++) {
        char c = segment.p[i];

        if (c == '%' && segment.n - i > 2 && hex_digit(segment.p[i + 1]) >= 0 && hex_digit(segment.p[i + 2]) >= 0) {
            c = (char)(hex_digit(segment.p[i + 1]) * 16 + hex_digit(segment.p[i + 2]));
            i += 2;
        } else if (!segment_char(c)) {
            return false;
        }
        if (n + 1 >= cap)
            return false;
        to[n++] = c;
    }
    to[n] = '\0';
    return n != 0 && cfr_view_is_text((struct cfr_view){to, n});
}

/* Finds the credential that SEGMENT names. False with the answer made if there is none. */
static bool find_credential(const struct cfr_api_status *status, struct cfr_view segment, char name[128],
                            struct cfr_httpd_response *out)
{
    char text[256];

    if (!decode_segment(segment, name, sizeof((struct cfr_action *)0)->name)) {
        name[0] = '\0';
        cfr_api_routes_error(400, "bad-request",
                             "the name in the path is not well percent-encoded text of at most 127 bytes", out);
        return false;
    }
    for (size_t i = 0; i < status->count; i++) {
        struct cfr_api_status_credential c;

        cfr_api_status_get(status, i, &c);
        if (cfr_view_is(cfr_view_of(c.name), name))
            return true;
    }
    (void)snprintf(text, sizeof text, "no credential is named \"%s\"; GET /v1/credentials lists them", name);
    cfr_api_routes_error(404, "not-found", text, out);
    name[0] = '\0';
    return false;
}

/* A NUL written as an escape would end the text early, unseen. */
static bool good_reason(struct cfr_view body, struct cfr_view text)
{
    return text.n <= CFR_API_ROUTES_REASON_MAX && text.n != 0 && cfr_view_is_text(text) &&
           cfr_view_find(body, "\\u0000") < 0;
}

/* Why the body is refused, or NULL; REASON is then set, empty without one. */
static const char *read_reason(struct cfr_view body, char reason[CFR_API_ROUTES_REASON_MAX + 1])
{
    static const char wanted[] = "the body must be empty, or a JSON object with only \"reason\": {\"reason\":\"...\"}";
    struct cfr_json *doc = NULL;
    const char *why = NULL;
    struct cfr_view text = {0};
    size_t members;

    if (cfr_view_trim(body).n == 0)
        return NULL;
    if (body.n > CFR_API_ROUTES_BODY_MAX || cfr_json_parse(body, &doc, NULL) != 0)
        return wanted;
    members = cfr_json_members(doc);
    if (!cfr_json_is_object(doc) || members > 1 ||
        (members == 1 && !cfr_json_string(cfr_json_get(doc, "reason"), &text)))
        why = wanted;
    else if (members == 1 && !good_reason(body, text))
        why = "\"reason\" must have 1 to 256 bytes of UTF-8 without control characters";
    else if (text.p != NULL)
        memcpy(reason, text.p, text.n + 1);
    cfr_json_free(doc);
    return why;
}

/* A POST that asks the agent to act. */
static void read_action(const struct cfr_httpd_request *req, enum cfr_api_action_kind kind, struct cfr_action *action,
                        struct cfr_httpd_response *out)
{
    const char *why = read_reason(req->body, action->reason);

    if (why != NULL)
        cfr_api_routes_error(400, "bad-request", why, out);
    else
        action->kind = kind;
}

static void show(const struct cfr_api_status *status, const char *only, struct cfr_httpd_response *out)
{
    start(out, 200, JSON_TYPE);
    cfr_api_status_json(status, only, &out->body);
    finish(out);
}

/* /v1/credentials/NAME and /v1/credentials/NAME/rotate; REST is what follows the second slash. */
static void credential(const struct cfr_httpd_request *req, const struct cfr_api_status *status, struct cfr_view rest,
                       struct cfr_action *action, struct cfr_httpd_response *out)
{
    const char *slash = rest.n != 0 ? memchr(rest.p, '/', rest.n) : NULL;
    struct cfr_view segment = {rest.p, slash != NULL ? (size_t)(slash - rest.p) : rest.n};
    struct cfr_view verb = {rest.p + segment.n, rest.n - segment.n};
    bool rotate = cfr_view_is(verb, "/rotate");
    char name[sizeof action->name];

    if (segment.n == 0 || (verb.n != 0 && !rotate)) {
        cfr_api_routes_error(404, "not-found", "no such page; / lists those that exist", out);
        return;
    }
    if (!allowed(req, rotate ? "POST" : "GET, HEAD", out) || !find_credential(status, segment, name, out))
        return;
    if (!rotate) {
        show(status, name, out);
        return;
    }
    read_action(req, CFR_API_ACTION_ROTATE, action, out);
    if (action->kind != CFR_API_ACTION_NONE)
        memcpy(action->name, name, sizeof name);
}

void cfr_api_routes_control(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                            struct cfr_action *action, struct cfr_httpd_response *out)
{
    static const char below[] = "/v1/credentials/";
    size_t n = sizeof below - 1;

    *out = (struct cfr_httpd_response){0};
    *action = (struct cfr_action){0};
    if (health_page(req, status, out))
        return;
    if (cfr_view_is(req->path, "/")) {
        if (allowed(req, "GET, HEAD", out))
            control_page(out);
    } else if (req->query.n != 0) {
        cfr_api_routes_error(400, "bad-request", "no query is allowed here; remove everything from the `?` on", out);
    } else if (cfr_view_is(req->path, "/v1/credentials")) {
        if (allowed(req, "GET, HEAD", out))
            show(status, NULL, out);
    } else if (cfr_view_is(req->path, "/v1/reload")) {
        if (allowed(req, "POST", out))
            read_action(req, CFR_API_ACTION_RELOAD, action, out);
    } else if (cfr_view_is(req->path, "/v1/quit")) {
        if (allowed(req, "POST", out))
            read_action(req, CFR_API_ACTION_QUIT, action, out);
    } else if (cfr_view_starts(req->path, below)) {
        credential(req, status, (struct cfr_view){req->path.p + n, req->path.n - n}, action, out);
    } else {
        cfr_api_routes_error(404, "not-found", "no such page; / lists those that exist", out);
    }
}
