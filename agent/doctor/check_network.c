/* SPDX-License-Identifier: MIT */
/* Check of the network: name, address, certificate and proxy of each server of an exchange, and the clocks. */
#include "agent/doctor/doctor_private.h"

#include "agent/http/client.h"
#include "agent/loop/clock.h"
#include "base/time.h"
#include "sts/providers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESOLVE_MAX_MS   10000
#define PROBE_MAX_MS     10000
#define SKEW_WARN_S      60
#define SKEW_WRONG_S     300
#define RESOLVED_SLOW_MS 1000

/* One server under diagnosis for a credential. */
struct way {
    struct cfr_doctor *d;
    struct cfr_doctor_case *c;
    const struct cfr_doctor_host *host;
    bool proxied;         /* a proxy of the environment applies */
    bool resolved;        /* the name, or there is none to resolve */
    bool stuck;           /* the resolver does not answer: the next lookup would wait again */
    struct cfr_err error; /* why the name was not resolved */
    int64_t took_ms;      /* for that */
    char addresses[CFR_DOCTOR_ADDRESSES_MAX];
};

static int64_t at_most(int64_t left_ms, int64_t limit_ms)
{
    return left_ms < limit_ms ? left_ms : limit_ms;
}

/* ---- names ---- */

static void report_unresolved(const struct way *w, const struct cfr_err *err)
{
    char conf[4096];
    char words[1024];
    int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, conf, sizeof conf) : 0;

    if (fd >= 0)
        (void)close(fd);
    cfr_doctor_resolver((struct cfr_view){conf, n > 0 ? (size_t)n : 0}, words, sizeof words);
    cfr_doctor_report(w->d, w->proxied ? CFR_FINDING_NOTE : CFR_FINDING_WRONG, "net.dns",
                      w->proxied
                          ? NULL
                          : "check the name, and that these servers are reached and know it (a NetworkPolicy must let "
                            "DNS out)",
                      "the name %s cannot be resolved: %s%s; /etc/resolv.conf says: %s", w->host->name, err->text,
                      w->proxied ? " (the proxy resolves it)" : "", words[0] != '\0' ? words : "nothing");
}

static void resolve_name(struct way *w)
{
    w->resolved = cfr_doctor_is_address(w->host->name) ||
                  cfr_doctor_resolve(w->host->name, at_most(cfr_doctor_left_ms(w->d), RESOLVE_MAX_MS), w->addresses,
                                     &w->took_ms, &w->error) == 0;
    w->stuck = w->error.code == CFR_E_TIMEOUT;
}

static void report_name(const struct way *w)
{
    bool slow = w->took_ms > RESOLVED_SLOW_MS;

    if (!w->resolved)
        report_unresolved(w, &w->error);
    else if (w->addresses[0] != '\0')
        cfr_doctor_report(w->d, slow ? CFR_FINDING_WARNING : CFR_FINDING_OK, "net.dns",
                          slow ? "one of the servers in /etc/resolv.conf may not answer; see its options too" : NULL,
                          "%s is %s (%lld ms)", w->host->name, w->addresses, (long long)w->took_ms);
}

/* ---- connection and certificate ---- */

static bool ends_with(const char *host, const char *end)
{
    size_t n = strlen(host);
    size_t m = strlen(end);

    return n > m && strcmp(host + n - m, end) == 0;
}

static bool is_cloud(const char *host)
{
    struct cfr_variant v;

    for (size_t i = 0; (v = cfr_sts_variant(i)).key != NULL; i++) {
        const struct cfr_sts_provider *p = v.row;

        for (const char *const *end = p->hosts; end != NULL && *end != NULL; end++) {
            if (ends_with(host, *end))
                return true;
        }
    }
    return false;
}

static void report_certificate(const struct way *w, const struct cfr_http_probe *seen)
{
    const struct cfr_http_probe_cert *leaf = &seen->certs[0];
    bool foreign = strstr(seen->err.text, "not signed by") != NULL;
    const char *remedy = NULL;

    if (foreign && is_cloud(w->host->name))
        remedy = "a proxy on the way intercepts TLS, and this is its certificate: exempt this host from it, "
                 "or set ca_file (or SSL_CERT_FILE, for AWS also AWS_CA_BUNDLE) to a file with its CA";
    else if (foreign)
        remedy = "set ca_file to a file with the CA that issued it (the last issuer listed here)";
    cfr_doctor_report(w->d, CFR_FINDING_WRONG, "net.tls", remedy, "%s", seen->err.text);
    for (size_t i = 0; i < seen->cert_count; i++)
        cfr_doctor_report(w->d, CFR_FINDING_NOTE, "net.certificate", NULL,
                          "certificate %zu of %s: %s, issued by %s, %s to %s%s%s", i + 1, w->host->name,
                          seen->certs[i].subject, seen->certs[i].issuer, seen->certs[i].from, seen->certs[i].until,
                          leaf->names[0] != '\0' && i == 0 ? ", for " : "", i == 0 ? leaf->names : "");
}

static void report_failure(const struct way *w, const struct cfr_http_probe *seen)
{
    static const struct {
        int error;
        const char *check;
        const char *remedy;
    } kinds[] = {
        {CFR_E_TIMEOUT, "net.timeout",
         "packets are dropped on the way: a firewall, a NetworkPolicy, a missing route; or a proxy is needed "
         "(https_proxy)"},
        {CFR_E_MISSING, "net.tls", NULL},
        {CFR_E_CONFIG, "net.url", NULL},
    };

    if (seen->error == CFR_E_TLS) {
        report_certificate(w, seen);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].error == seen->error) {
            cfr_doctor_report(w->d, CFR_FINDING_WRONG, kinds[i].check, kinds[i].remedy, "%s", seen->err.text);
            return;
        }
    }
    cfr_doctor_report(w->d, CFR_FINDING_WRONG, "net.connect",
                      w->proxied
                          ? "check the proxy (https_proxy) and whether the host belongs into no_proxy"
                          : "check the host and port, and what refuses: no server listens there, or a firewall rejects",
                      "%s", seen->err.text);
}

static void report_connection(const struct way *w, const struct cfr_http_probe *seen)
{
    char at[80] = "";
    char tls[64] = "";

    if (seen->proxied)
        (void)snprintf(at, sizeof at, " through the proxy");
    else if (strcmp(seen->address, w->host->name) != 0)
        (void)snprintf(at, sizeof at, " at %s", seen->address);
    if (seen->secured_ms >= 0)
        (void)snprintf(tls, sizeof tls, ", TLS after %lld ms, its certificate is good", (long long)seen->secured_ms);
    cfr_doctor_report(w->d, CFR_FINDING_OK, "net.connect", NULL, "%s:%d is reached%s after %lld ms%s", w->host->name,
                      w->host->port, at, (long long)seen->connected_ms, tls);
}

/* Whether the server answers. Its name is resolved first, because that says more where it fails; but only the
 * connection shows whether a proxy is used, which then resolves the name. */
static bool connect_to_server(struct way *w)
{
    struct cfr_http_probe_request request = {
        .url = w->host->url,
        .ca_file = w->host->ca_file,
        .ca_pem = w->host->ca_pem,
        .server_name = w->host->server_name,
        .link_local = w->host->link_local,
        .plain_http = w->host->plain_http,
        .connect_only = !w->host->tls,
    };
    struct cfr_http_probe seen = {.error = 0};
    char proxy[CFR_HTTP_PROBE_TEXT];
    bool probed;

    resolve_name(w);
    request.timeout_ms = at_most(cfr_doctor_left_ms(w->d), PROBE_MAX_MS);
    probed = request.timeout_ms != 0 && (w->resolved || cfr_doctor_hosts_may_proxy());
    if (probed)
        cfr_http_probe(&request, &seen);
    w->proxied = seen.proxy_variable[0] != '\0';
    if (w->proxied) {
        cfr_doctor_hosts_show_proxy(seen.proxy_variable, proxy);
        cfr_doctor_report(w->d, CFR_FINDING_NOTE, "net.proxy", NULL, "%s goes through the proxy %s", w->host->name,
                          proxy);
    }
    report_name(w);
    if (!probed || (!w->resolved && !w->proxied))
        return false;
    if (seen.error != 0) {
        report_failure(w, &seen);
        return false;
    }
    report_connection(w, &seen);
    if (seen.date_s != 0) {
        w->c->server_date_s = seen.date_s;
        w->c->seen_boot_ms = cfr_clock_now().boot_ms;
    }
    return true;
}

/* ---- servers that several credentials need ---- */

static struct cfr_doctor_seen *find_seen(struct cfr_doctor *d, const struct cfr_doctor_host *h)
{
    for (size_t i = 0; i < d->seen_count; i++) {
        struct cfr_doctor_seen *s = &d->seen[i];
        const char *a = s->ca_file != NULL ? s->ca_file : "";
        const char *b = h->ca_file != NULL ? h->ca_file : "";

        if (strcmp(s->name, h->name) == 0 && s->port == h->port && strcmp(a, b) == 0)
            return s;
    }
    return NULL;
}

static void remember_server(struct cfr_doctor *d, const struct way *w, bool good)
{
    struct cfr_doctor_seen *s = d->seen_count < CFR_DOCTOR_SEEN_MAX ? &d->seen[d->seen_count++] : NULL;

    if (s == NULL)
        return;
    *s = (struct cfr_doctor_seen){.port = w->host->port,
                                  .ca_file = w->host->ca_file,
                                  .credential = w->c->name,
                                  .good = good,
                                  .date_s = w->c->server_date_s,
                                  .boot_ms = w->c->seen_boot_ms};
    (void)snprintf(s->name, sizeof s->name, "%s", w->host->name);
}

/* The first server must be reached for an exchange to be worth trying. */
static void check_server(struct cfr_doctor *d, struct cfr_doctor_case *c, const struct cfr_doctor_host *host,
                         bool first)
{
    struct way w = {.d = d, .c = c, .host = host};
    const struct cfr_doctor_seen *seen = find_seen(d, host);
    bool good;

    if (seen != NULL) {
        cfr_doctor_report(d, seen->good ? CFR_FINDING_OK : CFR_FINDING_WRONG, "net.connect", NULL,
                          "%s:%d %s: it was checked for %s", host->name, host->port,
                          seen->good ? "is reached" : "is not reached", seen->credential);
        c->server_date_s = seen->date_s;
        c->seen_boot_ms = seen->boot_ms;
        if (!seen->good && first)
            (void)snprintf(c->unreached, sizeof c->unreached, "%s", host->name);
        return;
    }
    if (cfr_doctor_left_ms(d) == 0)
        return;
    good = connect_to_server(&w);
    (void)cfr_doctor_left_ms(d); /* a probe that the limit has cut short counts as left out */
    if (!good && (first || w.stuck))
        (void)snprintf(c->unreached, sizeof c->unreached, "%s", host->name);
    remember_server(d, &w, good);
}

/* ---- clocks ---- */

void cfr_doctor_clock(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct cfr_now now = cfr_clock_now();
    int64_t server_s;
    int64_t skew_s;
    char words[CFR_TIME_WORDS_MAX];

    if (c->server_date_s == 0)
        return;
    server_s = c->server_date_s + (now.boot_ms - c->seen_boot_ms) / 1000;
    skew_s = now.wall_ms / 1000 - server_s;
    if (llabs(skew_s) < SKEW_WARN_S)
        cfr_doctor_report(d, CFR_FINDING_OK, "clock.cloud", NULL,
                          "this machine's clock is within %lld s of the cloud's", llabs(skew_s) + 1);
    else
        cfr_doctor_report(d, llabs(skew_s) >= SKEW_WRONG_S ? CFR_FINDING_WRONG : CFR_FINDING_WARNING, "clock.cloud",
                          "set the clock: look at the time service (timedatectl, chronyc tracking) of this node",
                          "this machine's clock is %lld s %s the cloud's (%s)", llabs(skew_s),
                          skew_s > 0 ? "ahead of" : "behind", cfr_time_words(llabs(skew_s) * 1000, words));
    if (!c->has_claims || c->claims.iat == 0)
        return;
    /* The cloud uses its own clock. */
    if (c->claims.iat > server_s + 5 || c->claims.nbf > server_s + 5)
        cfr_doctor_report(
            d, CFR_FINDING_WRONG, "clock.issuer",
            "set the clock of the machine that issues the token: the API server's, on the control plane",
            "the token was issued %lld s in the cloud's future: the issuer's clock is ahead, and the cloud "
            "refuses "
            "the token until then",
            (long long)((c->claims.iat > c->claims.nbf ? c->claims.iat : c->claims.nbf) - server_s));
    if (c->claims.exp != 0 && c->claims.exp <= server_s && c->claims.exp > now.wall_ms / 1000)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "clock.token", "set this machine's clock",
                          "the token has expired by the cloud's clock, %lld s ago, while it is valid by this machine's",
                          (long long)(server_s - c->claims.exp));
    if (c->claims.exp > server_s && c->claims.exp <= now.wall_ms / 1000)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "clock.token", "set this machine's clock",
                          "the token is valid by the cloud's clock for another %lld s, while it has expired by this "
                          "machine's",
                          (long long)(c->claims.exp - server_s));
}

void cfr_doctor_network(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct cfr_doctor_hosts hosts;
    struct cfr_http *http = NULL;
    struct cfr_err err = {0};

    cfr_doctor_hosts_find(c, &hosts);
    if (hosts.error != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "net.request", NULL, "no request can be made: %s", hosts.err.text);
    if (cfr_http_open(&http, &err) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "net.request", NULL, "%s", err.text);
    for (size_t i = 0; http != NULL && i < hosts.count; i++)
        check_server(d, c, &hosts.items[i], i == 0);
    if (http != NULL)
        cfr_http_close(http);
    cfr_doctor_hosts_free(&hosts);
}
