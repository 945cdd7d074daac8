/* SPDX-License-Identifier: MIT */
/* Servers of an exchange, found by building its requests. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/clock.h"
#include "agent/loop/env.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 32

/* Placeholders for what signs and authorises later requests. None of it is ever sent. */
static void set_placeholders(const struct cfr_sts_provider *provider, struct cfr_grant *g)
{
    for (const char *const *name = provider->fields; name != NULL && *name != NULL; name++)
        (void)cfr_grant_set(g, *name, cfr_view_of("nothing"), NULL);
}

static bool is_known(const struct cfr_doctor_hosts *h, const struct cfr_doctor_host *one)
{
    for (size_t i = 0; i < h->count; i++) {
        if (strcmp(h->items[i].name, one->name) == 0 && h->items[i].port == one->port)
            return true;
    }
    return false;
}

static void add_host(struct cfr_doctor_hosts *h, const struct cfr_wire_request *r)
{
    struct cfr_doctor_host one = {.ca_file = cfr_env_ca_file(r),
                                  .ca_pem = r->ca_pem,
                                  .server_name = r->server_name,
                                  .link_local = r->link_local,
                                  .plain_http = r->plain_http};

    if (h->count == CFR_DOCTOR_HOSTS_MAX || !cfr_http_probe_host(r->url, one.name, &one.port, &one.tls) ||
        is_known(h, &one))
        return;
    one.url = strdup(r->url);
    if (one.url != NULL)
        h->items[h->count++] = one;
}

void cfr_doctor_hosts_find(const struct cfr_doctor_case *c, struct cfr_doctor_hosts *out)
{
    static const unsigned char nonce[CFR_STS_NONCE_BYTES];
    struct cfr_sts_exchange x = {.provider = c->provider, .config = c->config};
    struct cfr_sts_input in = {
        .credential = c->name,
        .token = c->token_text.len != 0 ? cfr_secret_view(&c->token_text) : cfr_view_of("e30.e30.e30"),
        .subject = c->has_claims ? c->claims.sub : cfr_view_of("unknown"),
        .contents = c->material.contents,
        .content_count = c->material.content_count,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .nonce = nonce,
        .env = cfr_env_get,
    };
    int rc = 0;

    *out = (struct cfr_doctor_hosts){.count = 0};
    set_placeholders(c->provider, &x.grant);
    for (x.step = 0; rc == 0 && x.step < STEPS_MAX; x.step++) {
        struct cfr_wire_request request = {0};

        rc = c->provider->build(&x, &in, &request, &out->err);
        if (rc == 0)
            add_host(out, &request);
        else if (x.step == 0)
            out->error = rc;
        cfr_wire_request_free(&request);
    }
    cfr_sts_exchange_free(&x);
}

void cfr_doctor_hosts_free(struct cfr_doctor_hosts *h)
{
    for (size_t i = 0; i < h->count; i++)
        free(h->items[i].url);
    h->count = 0;
}

/* HOST, HOST:PORT, or the same with an address in brackets. Other text may hold a password. */
static bool is_host(struct cfr_view v)
{
    size_t i = v.n != 0 && v.p[0] == '[' ? v.n : 0;

    for (size_t k = 0; i == v.n && k < v.n; k++)
        i = v.p[k] == ']' ? k + 1 : i;
    while (i < v.n && v.p[i] != ':' && v.p[i] != ']')
        i++;
    if (i == 0 || i == v.n || v.p[i] != ':')
        return i == v.n && v.n != 0;
    for (i++; i < v.n; i++) {
        if (v.p[i] < '0' || v.p[i] > '9')
            return false;
    }
    return true;
}

bool cfr_doctor_hosts_may_proxy(void)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0')
            return true;
    }
    return false;
}

void cfr_doctor_hosts_show_proxy(const char *variable, char out[CFR_HTTP_PROBE_TEXT])
{
    const char *value = getenv(variable);
    const char *at = value != NULL ? strstr(value, "://") : NULL;
    struct cfr_view host_port;

    value = at != NULL ? at + 3 : value != NULL ? value : "";
    /* A user and a password may precede the host. */
    at = strrchr(value, '@');
    value = at != NULL ? at + 1 : value;
    host_port = (struct cfr_view){value, strcspn(value, "/")};
    if (is_host(host_port))
        (void)snprintf(out, CFR_HTTP_PROBE_TEXT, "%.*s, by %s", (int)host_port.n, host_port.p, variable);
    else
        (void)snprintf(out, CFR_HTTP_PROBE_TEXT, "%s (not a URL)", variable);
}
