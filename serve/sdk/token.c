/* SPDX-License-Identifier: MIT */
/* The generic shape: what one credential holds, as JSON or as its token alone. */
#include "serve/sdk/endpoint_private.h"

#include "base/time.h"

#include <stdio.h>
#include <string.h>

#define JSON_TYPE      "application/json; charset=utf-8"
#define TEXT_TYPE      "text/plain; charset=utf-8"
#define PREFIX         "/v1/token/"
#define NAME_MAX_BYTES 63 /* of a credential's name */

void cfr_sdk_token_refuse(struct cfr_sdk_endpoint_answer *out, int status, const char *code, const char *text)
{
    struct cfr_writer w = cfr_sdk_endpoint_json(out, status, JSON_TYPE);

    cfr_writer_object(&w, NULL);
    cfr_writer_object(&w, "error");
    cfr_writer_string(&w, "code", cfr_view_of(code));
    cfr_writer_string(&w, "message", cfr_view_of(text));
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    cfr_sdk_endpoint_end(out, &w);
}

/* The row that decides what G is, or NULL. */
static const struct cfr_grant_kind *find_kind(const struct cfr_grant *g)
{
    for (const struct cfr_grant_kind *k = cfr_grant_kinds; k->field != NULL; k++) {
        if (cfr_grant_get(g, k->field).n != 0)
            return k;
    }
    return NULL;
}

static const char *kind_name(const struct cfr_grant *g)
{
    const struct cfr_grant_kind *kind = find_kind(g);

    if (kind != NULL)
        return kind->kind;
    for (size_t i = 0; i < g->field_count; i++) {
        if (strncmp(g->fields[i].name, CFR_FIELD_SECRET_PREFIX, sizeof CFR_FIELD_SECRET_PREFIX - 1) == 0)
            return "secret";
    }
    return "unknown";
}

static void write_json(const struct cfr_offer *o, struct cfr_sdk_endpoint_answer *out)
{
    const struct cfr_grant *g = o->grant;
    char when[CFR_TIME_RFC3339_MAX];
    struct cfr_writer w = cfr_sdk_endpoint_json(out, 200, JSON_TYPE);

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "credential", cfr_view_of(o->credential));
    cfr_writer_string(&w, "kind", cfr_view_of(kind_name(g)));
    cfr_writer_string(&w, "expires", cfr_view_of(o->expires_s != 0 ? cfr_time_format(o->expires_s, when) : NULL));
    cfr_writer_object(&w, "fields");
    for (size_t i = 0; i < g->field_count; i++) {
        const struct cfr_secret *value = &g->fields[i].value;

        if (g->fields[i].name[0] != CFR_FIELD_PRIVATE_PREFIX)
            cfr_writer_string(&w, g->fields[i].name, value->len != 0 ? cfr_secret_view(value) : cfr_view_of(""));
    }
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    cfr_sdk_endpoint_end(out, &w);
}

static void write_text(const struct cfr_offer *o, struct cfr_sdk_endpoint_answer *out)
{
    const struct cfr_grant_kind *kind = find_kind(o->grant);

    if (kind == NULL || !kind->token) {
        cfr_sdk_token_refuse(out, 406, "not-acceptable",
                             "this credential is more than one token: ask for application/json");
        out->refused = "text/plain was requested for a credential that is not one token";
        return;
    }
    cfr_sdk_endpoint_start(out, 200, TEXT_TYPE);
    cfr_sdk_endpoint_add(out, cfr_grant_get(o->grant, kind->field));
}

/* Cuts the next item off a list with SEPARATOR. */
static struct cfr_view next_item(struct cfr_view *rest, char separator)
{
    const char *end = memchr(rest->p, separator, rest->n);
    struct cfr_view item = {rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n};
    size_t used = item.n + (end != NULL ? 1 : 0);

    *rest = (struct cfr_view){rest->p + used, rest->n - used};
    return cfr_view_trim(item);
}

/* The weight of a media range in thousandths (RFC 9110, 12.4.2); what is malformed weighs nothing. */
static int weight_of(struct cfr_view parameters)
{
    int weight = 1000;

    while (parameters.n != 0) {
        struct cfr_view p = next_item(&parameters, ';');
        int place = 100;

        if (p.n < 3 || (p.p[0] | 0x20) != 'q' || p.p[1] != '=')
            continue;
        if (p.p[2] != '0' && p.p[2] != '1')
            return 0;
        weight = p.p[2] == '1' ? 1000 : 0;
        for (size_t i = 4; weight < 1000 && i < p.n && i < 7; i++, place /= 10)
            weight += p.p[i] >= '0' && p.p[i] <= '9' ? (p.p[i] - '0') * place : 0;
    }
    return weight;
}

/* Only a client that says text/plain (or text) and prefers it gets the token bare. */
static bool wants_text(struct cfr_view accept)
{
    int text = 0;
    int json = 0;

    while (accept.n != 0) {
        struct cfr_view range = next_item(&accept, ',');
        struct cfr_view type;
        int weight;

        if (range.n == 0)
            continue;
        type = next_item(&range, ';');
        weight = weight_of(range);
        if ((cfr_view_is_nocase(type, "text/plain") || cfr_view_is_nocase(type, "text/*")) && weight > text)
            text = weight;
        else if (cfr_view_is_nocase(type, "application/json") || cfr_view_is_nocase(type, "application/*"))
            json = weight > json ? weight : json;
    }
    return text > json;
}

static void answer(const struct cfr_sdk_endpoint_request *r, const struct cfr_sdk_endpoint_world *w, const char *name,
                   struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_offer offer = {0};
    char text[CFR_SDK_ENDPOINT_WHY_MAX];

    if (!w->offer(w->ctx, name, &offer)) {
        cfr_sdk_token_refuse(out, 404, "not-found", "there is no such credential");
        out->refused = "a credential that does not exist was asked for";
    } else if (!cfr_sdk_endpoint_offer_lives(&offer, w->now_s)) {
        cfr_sdk_token_refuse(out, 503, "unavailable", cfr_sdk_endpoint_why(&offer, text));
        cfr_sdk_endpoint_retry_after(out, &offer);
    } else if (wants_text(cfr_sdk_endpoint_asked(r, "Accept"))) {
        write_text(&offer, out);
    } else {
        write_json(&offer, out);
    }
}

bool cfr_sdk_token(const struct cfr_sdk_endpoint_request *r, const struct cfr_sdk_endpoint_world *w,
                   struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_view name;
    char text[NAME_MAX_BYTES + 1];

    if (!cfr_view_starts(r->path, PREFIX))
        return false;
    name = (struct cfr_view){r->path.p + sizeof PREFIX - 1, r->path.n - (sizeof PREFIX - 1)};
    if (cfr_sdk_endpoint_proxied(r)) {
        cfr_sdk_token_refuse(out, 403, "forbidden", "requests through a proxy are refused");
        out->refused = "a request through a proxy";
    } else if (!cfr_view_is(r->method, "GET") && !cfr_view_is(r->method, "HEAD")) {
        cfr_sdk_token_refuse(out, 405, "method", "only GET is answered here");
        cfr_sdk_endpoint_header(out, "Allow", cfr_view_of("GET, HEAD"));
    } else if (name.n == 0 || name.n > NAME_MAX_BYTES || memchr(name.p, '\0', name.n) != NULL) {
        cfr_sdk_token_refuse(out, 404, "not-found", "there is no such credential");
    } else {
        memcpy(text, name.p, name.n);
        text[name.n] = '\0';
        answer(r, w, text, out);
    }
    return true;
}
