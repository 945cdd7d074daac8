/* SPDX-License-Identifier: MIT */
/* Rules across the fields of one mapping. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "wire/url.h"

#include <arpa/inet.h>
#include <string.h>

#define CREDENTIAL_NAME_MAX 63
#define HEADER_BYTES        "!#$%&'*+-.^_`|~" /* next to letters and digits: RFC 9110, 5.6.2 */

static bool is_port(struct cfr_view text, int64_t least)
{
    int64_t port;

    return text.n >= 1 && text.n <= 5 && text.p[0] != '-' && text.p[0] != '+' && cfr_view_int(text, &port) &&
           port >= least && port <= 65535;
}

static bool is_address(struct cfr_view text, int family)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];

    if (text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return inet_pton(family, copy, address) == 1;
}

/* ADDRESS:PORT, [ADDRESS]:PORT or :PORT */
static bool is_listen(struct cfr_view text)
{
    struct cfr_view host;
    ptrdiff_t colon;

    if (cfr_view_starts(text, "[")) {
        colon = cfr_view_find(text, "]:");
        if (colon < 0)
            return false;
        host = (struct cfr_view){text.p + 1, (size_t)colon - 1};
        return is_address(host, AF_INET6) &&
               is_port((struct cfr_view){text.p + colon + 2, text.n - (size_t)colon - 2}, 0);
    }
    colon = cfr_view_find(text, ":");
    if (colon < 0 || !is_port((struct cfr_view){text.p + colon + 1, text.n - (size_t)colon - 1}, 0))
        return false;
    return colon == 0 || is_address((struct cfr_view){text.p, (size_t)colon}, AF_INET);
}

int cfr_config_rules_root(const void *node, struct cfr_err *err)
{
    const struct cfr_config *c = node;

    if (c->listen != NULL && !is_listen(cfr_view_of(c->listen)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "listen: %.64s is no address and port; write one such as \"127.0.0.1:9464\", "
                           "\"[::1]:9464\" or \":9464\" for all addresses",
                           c->listen);
    if (c->credentials.count == 0 && c->image_credentials.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "credentials: is missing here; this configuration needs it");
    return 0;
}

int cfr_config_rules_exit(const void *node, struct cfr_err *err)
{
    const struct cfr_config_exit *c = node;

    if ((c->process != NULL) == (c->pid_file != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "write exactly one of process and pid_file");
    if (c->process != NULL && strchr(c->process, '/') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "process: %.64s is a path; write the last component alone", c->process);
    return 0;
}

static bool is_name_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int cfr_config_rules_name(const char *text, struct cfr_err *err)
{
    struct cfr_view name = cfr_view_of(text);

    if (name.n > CREDENTIAL_NAME_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "name: is longer than %d characters", CREDENTIAL_NAME_MAX);
    if (name.n != 0 && !is_name_start(name.p[0]))
        return cfr_err_set(err, CFR_E_CONFIG, "name: must begin with a letter or a digit");
    for (size_t i = 0; i < name.n; i++) {
        if (!is_name_start(name.p[i]) && strchr("._-", name.p[i]) == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "name: has a character that names cannot have; use letters, digits, dot, dash "
                               "and underscore");
    }
    return 0;
}

int cfr_config_rules_credential(const void *node, struct cfr_err *err)
{
    const struct cfr_config_credential *c = node;
    int rc = cfr_config_rules_name(c->name, err);

    if (rc != 0)
        return rc;
    if (c->token == NULL && c->secret == NULL && c->exchange == NULL && c->mint == NULL && !cfr_config_is_issued(c))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "begins with nothing; write `token`, `secret`, or an `exchange` that needs neither");
    rc = cfr_config_rules_issued(c, err);
    if (rc == 0)
        rc = cfr_config_rules_minted(c, err);
    if (rc != 0)
        return rc;
    return cfr_config_rules_acknowledges(c, err);
}

int cfr_config_rules_hook(const void *node, struct cfr_err *err)
{
    const struct cfr_config_hook *h = node;
    int kinds = (h->signal != NULL) + (h->exec.items != NULL) + (h->http != NULL);

    if (kinds == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "does nothing; write one of `signal`, `exec` or `http`");
    if (kinds > 1)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "has more than one of `signal`, `exec` and `http`; write an item of its own for each");
    if (h->exec.items != NULL && h->exec.count != 0 && h->exec.items[0][0] != '/')
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "exec: %.64s is no absolute path; there is no shell and no PATH, write one that begins with /",
            h->exec.items[0]);
    if (h->http != NULL && h->http->acknowledge_header != NULL && h->on_first == CFR_ON_FIRST_SKIP)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "on_first: skip makes no request after the first publish, so that acknowledge_header cannot be answered; "
            "remove one of the two");
    return 0;
}

int cfr_config_rules_signal(const void *node, struct cfr_err *err)
{
    const struct cfr_config_signal *s = node;

    if ((s->pid_file != NULL) == (s->executable != NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           s->pid_file == NULL ? "has no process; write `pid_file` or `executable`"
                                               : "executable: cannot be used with pid_file; keep one of the two");
    if (s->executable != NULL && s->executable[0] != '/' && strchr(s->executable, '/') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "executable: write an absolute path, or the bare name of the program without /");
    return 0;
}

int cfr_config_rules_http(const void *node, struct cfr_err *err)
{
    const struct cfr_config_http *h = node;
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
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: is of no use with http://; remove it, or write https://");
    return h->acknowledge_header != NULL ? cfr_config_rules_header(h->acknowledge_header, err) : 0;
}

int cfr_config_rules_acknowledge(const void *node, struct cfr_err *err)
{
    const struct cfr_config_acknowledge *a = node;

    if (a->file == NULL && !a->hooks)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "says not how; write `file`, or `hooks: true` for hooks that have `acknowledge_header`");
    if (a->file != NULL && a->hooks)
        return cfr_err_set(err, CFR_E_CONFIG, "hooks: cannot be used with file; write a list with one in each item");
    return 0;
}

int cfr_config_rules_header(const char *name, struct cfr_err *err)
{
    for (const char *p = name; *p != '\0'; p++) {
        if ((*p < 'a' || *p > 'z') && (*p < 'A' || *p > 'Z') && (*p < '0' || *p > '9') &&
            strchr(HEADER_BYTES, *p) == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "acknowledge_header: is no name of a header; write one such as X-Credfresh-Generation");
    }
    return 0;
}

static const struct cfr_config_hook *hook_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_hook *)c->reload.items + i;
}

static size_t count_headers(const struct cfr_config_credential *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->reload.count; i++)
        n += hook_at(c, i)->http != NULL && hook_at(c, i)->http->acknowledge_header != NULL;
    return n;
}

int cfr_config_rules_acknowledges(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const struct cfr_config_acknowledge *all = c->acknowledge.items;

    for (size_t i = 0; i < c->acknowledge.count; i++) {
        if (all[i].hooks && count_headers(c) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "acknowledge: hooks: no hook has an acknowledge_header; write one in its `http`");
        for (size_t j = 0; j < i; j++) {
            if (all[i].hooks && all[j].hooks)
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "acknowledge: hooks: occurs on lines %d and %d; keep one of the two",
                                   all[j].node.line, all[i].node.line);
        }
    }
    return 0;
}
