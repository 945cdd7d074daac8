/* SPDX-License-Identifier: MIT */
/* What the shapes of the local endpoints share: making an answer, reading a query, comparing. */
#include "serve/sdk/endpoint_private.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RETRY_AFTER_MAX_S 5

void cfr_sdk_endpoint_answer_free(struct cfr_sdk_endpoint_answer *a)
{
    cfr_secret_free(&a->body);
    *a = (struct cfr_sdk_endpoint_answer){0};
}

void cfr_sdk_endpoint_start(struct cfr_sdk_endpoint_answer *out, int status, const char *type)
{
    cfr_sdk_endpoint_answer_free(out);
    out->status = status;
    out->content_type = type;
    cfr_secret_init(&out->body, CFR_SDK_ENDPOINT_ANSWER_MAX);
    cfr_sdk_endpoint_header(out, "Cache-Control", cfr_view_of("no-store"));
}

/* An answer must not go out cut. With the limit 0 whatever is added later fails, too. */
static void fail(struct cfr_sdk_endpoint_answer *out)
{
    cfr_sdk_endpoint_answer_free(out);
    out->status = 500;
    out->content_type = "text/plain; charset=utf-8";
    out->refused = "the answer is too large, or memory is short";
}

void cfr_sdk_endpoint_header(struct cfr_sdk_endpoint_answer *out, const char *name, struct cfr_view value)
{
    struct cfr_sdk_endpoint_header *h = &out->headers[out->header_count];

    /* Printable only: a line end would begin a header of its own. */
    if (out->header_count == CFR_SDK_ENDPOINT_HEADERS_MAX || value.n >= sizeof h->value || !cfr_view_printable(value)) {
        fail(out);
        return;
    }
    h->name = name;
    if (value.n != 0)
        memcpy(h->value, value.p, value.n);
    h->value[value.n] = '\0';
    out->header_count++;
}

void cfr_sdk_endpoint_add(struct cfr_sdk_endpoint_answer *out, struct cfr_view bytes)
{
    if (cfr_secret_append(&out->body, bytes, NULL) != 0)
        fail(out);
}

void cfr_sdk_endpoint_text(struct cfr_sdk_endpoint_answer *out, const char *text)
{
    cfr_sdk_endpoint_add(out, cfr_view_of(text));
}

struct cfr_writer cfr_sdk_endpoint_json(struct cfr_sdk_endpoint_answer *out, int status, const char *type)
{
    cfr_sdk_endpoint_start(out, status, type);
    return (struct cfr_writer){.secret = &out->body};
}

void cfr_sdk_endpoint_end(struct cfr_sdk_endpoint_answer *out, const struct cfr_writer *w)
{
    if (w->rc != 0)
        fail(out);
}

struct cfr_view cfr_sdk_endpoint_path(struct cfr_view sent)
{
    while (sent.n > 1 && sent.p[0] == '/' && sent.p[1] == '/') {
        sent.p++;
        sent.n--;
    }
    return sent;
}

bool cfr_sdk_endpoint_path_is(struct cfr_view path, const char *wanted)
{
    if (path.n == strlen(wanted) + 1 && path.p[path.n - 1] == '/')
        path.n--;
    return cfr_view_is(path, wanted);
}

struct cfr_view cfr_sdk_endpoint_asked(const struct cfr_sdk_endpoint_request *r, const char *name)
{
    return r->header != NULL ? r->header(r->header_ctx, name) : (struct cfr_view){NULL, 0};
}

bool cfr_sdk_endpoint_proxied(const struct cfr_sdk_endpoint_request *r)
{
    static const char *const names[] = {"X-Forwarded-For", "Forwarded", "Via"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cfr_sdk_endpoint_asked(r, names[i]).p != NULL)
            return true;
    }
    return false;
}

bool cfr_sdk_endpoint_offer_lives(const struct cfr_offer *o, int64_t now_s)
{
    return o->grant != NULL && (o->expires_s == 0 || o->expires_s > now_s);
}

int64_t cfr_sdk_endpoint_offer_left_s(const struct cfr_offer *o, int64_t now_s)
{
    /* Of the second that NOW_S names, an unknown part is over. */
    int64_t left_s = o->expires_s - now_s - 1;

    return left_s > 0 ? left_s : 0;
}

bool cfr_sdk_endpoint_offer_lasts(const struct cfr_offer *o, int64_t now_s)
{
    return cfr_sdk_endpoint_offer_lives(o, now_s) && (o->expires_s == 0 || cfr_sdk_endpoint_offer_left_s(o, now_s) > 0);
}

const char *cfr_sdk_endpoint_why(const struct cfr_offer *o, char text[CFR_SDK_ENDPOINT_WHY_MAX])
{
    (void)snprintf(text, CFR_SDK_ENDPOINT_WHY_MAX, "%s%s%s%s", o->credential != NULL ? "credential " : "",
                   o->credential != NULL ? o->credential : "", o->credential != NULL ? ": " : "",
                   o->why != NULL     ? o->why
                   : o->grant != NULL ? "the last one has expired, and there is no newer one yet"
                                      : "none has been granted yet");
    return text;
}

void cfr_sdk_endpoint_retry_after(struct cfr_sdk_endpoint_answer *out, const struct cfr_offer *o)
{
    int64_t after_s = o->retry_after_s < RETRY_AFTER_MAX_S ? o->retry_after_s : RETRY_AFTER_MAX_S;
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, after_s > 0 ? after_s : 1);
    cfr_sdk_endpoint_header(out, "Retry-After", cfr_view_of(text));
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes TEXT; in a query a plus sign is a space. */
static bool decode(struct cfr_view text, bool in_query, char *to, size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '%') {
            if (text.n - i < 3 || hex_digit(text.p[i + 1]) < 0 || hex_digit(text.p[i + 2]) < 0)
                return false;
            c = (char)(hex_digit(text.p[i + 1]) * 16 + hex_digit(text.p[i + 2]));
            i += 2;
        } else if (c == '+' && in_query) {
            c = ' ';
        }
        if (n + 1 >= cap)
            return false;
        to[n++] = c;
    }
    to[n] = '\0';
    return cfr_view_is_text((struct cfr_view){to, n});
}

bool cfr_sdk_endpoint_decode(struct cfr_view segment, char *to, size_t n)
{
    if (decode(segment, false, to, n))
        return true;
    to[0] = '\0';
    return false;
}

/* Cuts what is before the first SEPARATOR off *REST, and the separator; all of it where there is none. */
static struct cfr_view cut(struct cfr_view *rest, char separator)
{
    const char *mark = rest->n != 0 ? memchr(rest->p, separator, rest->n) : NULL;
    struct cfr_view head = {rest->p, mark != NULL ? (size_t)(mark - rest->p) : rest->n};
    size_t gone = head.n + (mark != NULL ? 1 : 0);

    *rest = gone != 0 ? (struct cfr_view){rest->p + gone, rest->n - gone} : (struct cfr_view){NULL, 0};
    return head;
}

int cfr_sdk_endpoint_parameter(struct cfr_view query, const char *name, char *to, size_t n)
{
    int found = 0;

    to[0] = '\0';
    while (query.n != 0) {
        struct cfr_view value = cut(&query, '&');
        struct cfr_view key = cut(&value, '=');
        char plain[64];

        /* The name is decoded, too, lest a second spelling of it hide a second value. */
        if (!decode(key, true, plain, sizeof plain) || strcmp(plain, name) != 0)
            continue;
        if (found != 0 || !decode(value, true, to, n)) {
            to[0] = '\0';
            return -1;
        }
        found = 1;
    }
    return found;
}

bool cfr_sdk_endpoint_same_secret(struct cfr_view a, struct cfr_view b)
{
    return a.n != 0 && cfr_secret_equal(a, b);
}

struct address {
    int family; /* 0 = none */
    unsigned char bytes[16];
};

/* Splits HOST, HOST:PORT, [IPV6] or [IPV6]:PORT; without a port PORT is empty. False if it is none of these.
 */
static bool split_host(struct cfr_view text, struct cfr_view *host, struct cfr_view *port)
{
    size_t bracket = text.n != 0 && text.p[0] == '[' ? 1 : 0;
    ptrdiff_t end = cfr_view_find(text, bracket ? "]" : ":");
    size_t n = end >= 0 ? (size_t)end : text.n;

    if (n <= bracket || (bracket && end < 0))
        return false;
    *host = (struct cfr_view){text.p + bracket, n - bracket};
    *port = (struct cfr_view){text.p + n + bracket, text.n - n - bracket};
    if (port->n == 0)
        return true;
    if (port->p[0] != ':' || port->n < 2 || port->n > 6)
        return false;
    *port = (struct cfr_view){port->p + 1, port->n - 1};
    for (size_t i = 0; i < port->n; i++) {
        if (port->p[i] < '0' || port->p[i] > '9')
            return false;
    }
    return true;
}

static struct address address_of(struct cfr_view host)
{
    struct address a = {0};
    char text[INET6_ADDRSTRLEN];

    if (host.n == 0 || host.n >= sizeof text)
        return a;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    if (inet_pton(AF_INET, text, a.bytes) == 1)
        a.family = AF_INET;
    else if (inet_pton(AF_INET6, text, a.bytes) == 1)
        a.family = AF_INET6;
    return a;
}

static bool is_loopback(const struct address *a)
{
    static const unsigned char one[16] = {[15] = 1};

    return a->family == AF_INET ? a->bytes[0] == 127 : a->family == AF_INET6 && memcmp(a->bytes, one, sizeof one) == 0;
}

bool cfr_sdk_endpoint_host_is(struct cfr_view host, const char *listen)
{
    struct cfr_view asked, asked_port, here, here_port;
    struct address mine, its;

    if (!split_host(host, &asked, &asked_port) || !split_host(cfr_view_of(listen), &here, &here_port) ||
        (asked_port.n != 0 && !cfr_view_eq(asked_port, here_port)))
        return false;
    mine = address_of(here);
    its = address_of(asked);
    /* Compared as bytes: an IPv6 address has many spellings. */
    if (its.family != 0)
        return its.family == mine.family && memcmp(its.bytes, mine.bytes, sizeof mine.bytes) == 0;
    return is_loopback(&mine) && cfr_view_is_nocase(asked, "localhost");
}
