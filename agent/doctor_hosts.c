/* SPDX-License-Identifier: MIT */
/* Servers of an exchange. */
#include "agent/doctor_hosts.h"

#include "agent/doctor_resolve.h"

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

static void add(struct cfr_doctor_hosts *h, const struct cfr_sts_request *r)
{
    struct cfr_doctor_host one = {.ca_file = r->ca_file, .link_local = r->link_local};

    if (h->count == CFR_DOCTOR_HOSTS_MAX || !cfr_http_look_host(r->url, one.name, &one.port, &one.tls) ||
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
        struct cfr_sts_request request = {0};

        rc = c->provider->build(&x, &in, &request, &out->err);
        if (rc == 0)
            add(out, &request);
        else if (x.step == 0)
            out->error = rc;
        cfr_sts_request_free(&request);
    }
    cfr_sts_exchange_free(&x);
}

void cfr_doctor_hosts_free(struct cfr_doctor_hosts *h)
{
    for (size_t i = 0; i < h->count; i++)
        free(h->items[i].url);
    h->count = 0;
}

/* Whether the list of no_proxy, names and their endings, has NAME. */
static bool exempt(const char *name)
{
    const char *list = getenv("no_proxy") != NULL ? getenv("no_proxy") : getenv("NO_PROXY");
    size_t length = strlen(name);

    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, ", ");
        const char *item = n != 0 && list[0] == '.' ? list + 1 : list;
        size_t m = n - (size_t)(item - list);

        if (m == 1 && item[0] == '*')
            return true;
        if (m != 0 && m <= length && strncasecmp(name + length - m, item, m) == 0 &&
            (m == length || name[length - m - 1] == '.'))
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

const char *cfr_doctor_hosts_proxy(const struct cfr_doctor_host *host, char out[CFR_HTTP_LOOK_TEXT])
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    char name[CFR_HTTP_LOOK_TEXT];
    int port;
    bool tls;

    if (!host->tls || is_near(host) || exempt(host->name))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        const char *at;
        char url[1024];

        if (value == NULL || value[0] == '\0')
            continue;
        /* A user and a password may stand there. */
        at = strrchr(value, '@');
        (void)snprintf(url, sizeof url, "%s%s", strstr(value, "://") == NULL || at != NULL ? "http://" : "",
                       at != NULL ? at + 1 : value);
        if (!cfr_http_look_host(url, name, &port, &tls))
            (void)snprintf(out, CFR_HTTP_LOOK_TEXT, "%s (not a URL)", names[i]);
        else
            (void)snprintf(out, CFR_HTTP_LOOK_TEXT, "%.200s:%d, by %s", name, port, names[i]);
        return out;
    }
    return NULL;
}
