/* SPDX-License-Identifier: MIT */
/* Servers of an exchange. */
#include "agent/doctor/hosts_private.h"

#include "agent/doctor/resolve_private.h"
#include "agent/loop/clock.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STEPS_MAX 32

/* What later requests are signed or authorised with. Nothing of it is ever sent. */
static void pretend(struct cfr_grant *g)
{
    static const char *const names[] = {CFR_FIELD_AWS_ACCESS_KEY_ID,  CFR_FIELD_AWS_SECRET_ACCESS_KEY,
                                        CFR_FIELD_AWS_SESSION_TOKEN,  CFR_FIELD_GCP_ACCESS_TOKEN,
                                        CFR_FIELD_AZURE_ACCESS_TOKEN, CFR_FIELD_OPENSTACK_TOKEN};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)cfr_grant_set(g, names[i], cfr_view_of("nothing"), NULL);
}

static bool known(const struct cfr_doctor_hosts *h, const struct cfr_doctor_host *one)
{
    for (size_t i = 0; i < h->count; i++) {
        if (strcmp(h->items[i].name, one->name) == 0 && h->items[i].port == one->port)
            return true;
    }
    return false;
}

static void add(struct cfr_doctor_hosts *h, const struct cfr_wire_request *r)
{
    struct cfr_doctor_host one = {.ca_file = r->ca_file, .link_local = r->link_local};

    if (h->count == CFR_DOCTOR_HOSTS_MAX || !cfr_http_probe_host(r->url, one.name, &one.port, &one.tls) ||
        known(h, &one))
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
        .subject = c->has_claims ? c->claims.sub : cfr_view_of("nobody"),
        .contents = c->material.contents,
        .content_count = c->material.content_count,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .nonce = nonce,
        .env = cfr_doctor_env,
    };
    int rc = 0;

    *out = (struct cfr_doctor_hosts){.count = 0};
    pretend(&x.grant);
    for (x.step = 0; rc == 0 && x.step < STEPS_MAX; x.step++) {
        struct cfr_wire_request request = {0};

        rc = c->provider->build(&x, &in, &request, &out->err);
        if (rc == 0)
            add(out, &request);
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

/* An address of version 4 or 6 as its bytes; how many, or 0. */
static size_t take_address(const char *text, unsigned char out[16])
{
    if (inet_pton(AF_INET, text, out) == 1)
        return 4;
    return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

/* Whether the address NAME is ITEM, or in the network ITEM (ADDRESS/BITS). */
static bool in_network(const char *name, const char *item)
{
    char network[INET6_ADDRSTRLEN + 1];
    unsigned char a[16];
    unsigned char b[16];
    const char *slash = strchr(item, '/');
    size_t n = take_address(name, a);
    size_t bits = slash != NULL ? (size_t)strtoul(slash + 1, NULL, 10) : n * 8;
    unsigned mask = 0xffU & ~(0xffU >> bits % 8);

    (void)snprintf(network, sizeof network, "%.*s", (int)strcspn(item, "/"), item);
    if (n == 0 || bits > n * 8 || take_address(network, b) != n || memcmp(a, b, bits / 8) != 0)
        return false;
    return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & mask) == 0;
}

/* A name, or the end of one after a dot. */
static bool is_ending(const char *name, const char *item)
{
    size_t length = strlen(name);
    size_t m;

    item += item[0] == '.' ? 1 : 0;
    m = strlen(item);
    return m != 0 && m <= length && strcasecmp(name + length - m, item) == 0 &&
           (m == length || name[length - m - 1] == '.');
}

/* Whether the list of no_proxy, names, their endings and networks, has NAME. */
static bool exempt(const char *name)
{
    const char *list = getenv("no_proxy") != NULL ? getenv("no_proxy") : getenv("NO_PROXY");
    bool address = cfr_doctor_is_address(name);

    if (list != NULL && strcmp(list, "*") == 0)
        return true;
    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, ", ");
        char item[256];

        (void)snprintf(item, sizeof item, "%.*s", (int)n, list);
        if (address ? in_network(name, item) : is_ending(name, item))
            return true;
        list += n;
        list += strspn(list, ", ");
    }
    return false;
}

static bool is_near(const struct cfr_doctor_host *host)
{
    return host->link_local || strcmp(host->name, "localhost") == 0 || strncmp(host->name, "127.", 4) == 0 ||
           strcmp(host->name, "::1") == 0 || strncmp(host->name, "169.254.", 8) == 0;
}

/* HOST, HOST:PORT, or the same with an address in brackets. What is none may hold a password that went
 * astray. */
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

const char *cfr_doctor_hosts_proxy(const struct cfr_doctor_host *host, char out[CFR_HTTP_PROBE_TEXT])
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    if (!host->tls || is_near(host) || exempt(host->name))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        const char *at;
        struct cfr_view host_port;

        if (value == NULL || value[0] == '\0')
            continue;
        at = strstr(value, "://");
        value = at != NULL ? at + 3 : value;
        /* A user and a password may stand there. */
        at = strrchr(value, '@');
        value = at != NULL ? at + 1 : value;
        host_port = (struct cfr_view){value, strcspn(value, "/")};
        if (is_host(host_port))
            (void)snprintf(out, CFR_HTTP_PROBE_TEXT, "%.*s, by %s", (int)host_port.n, host_port.p, names[i]);
        else
            (void)snprintf(out, CFR_HTTP_PROBE_TEXT, "%s (not a URL)", names[i]);
        return out;
    }
    return NULL;
}
