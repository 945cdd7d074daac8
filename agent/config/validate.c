/* SPDX-License-Identifier: MIT */
/* Rules across the fields of one mapping. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "agent/config/schema_private.h"
#include "agent/config/kinds.h"

#include <arpa/inet.h>
#include <string.h>

#define CREDENTIAL_NAME_MAX 63

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
                           "listen: %.64s is not an address with a port; write one such as \"127.0.0.1:9464\", "
                           "\"[::1]:9464\" or \":9464\" for all addresses",
                           c->listen);
    if (c->listen == NULL && c->listen_hosts.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "listen_hosts: has no effect without `listen`; write that, or remove it");
    if (c->credentials.count == 0 && c->image_credentials.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "credentials: is missing; this configuration needs it");
    return 0;
}

int cfr_config_rules_exit(const void *node, struct cfr_err *err)
{
    const struct cfr_config_exit *c = node;

    if ((c->process != NULL) == (c->pid_file != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "write exactly one of process and pid_file");
    if (c->process != NULL && strchr(c->process, '/') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "process: %.64s is a path; write only its last component", c->process);
    return 0;
}

int cfr_config_rules_name(const char *text, struct cfr_err *err)
{
    struct cfr_view name = cfr_view_of(text);

    if (name.n > CREDENTIAL_NAME_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "name: is longer than %d characters", CREDENTIAL_NAME_MAX);
    if (name.n != 0 && !cfr_view_is_alnum(name.p[0]))
        return cfr_err_set(err, CFR_E_CONFIG, "name: must begin with a letter or a digit");
    for (size_t i = 0; i < name.n; i++) {
        if (!cfr_view_is_alnum(name.p[i]) && strchr("._-", name.p[i]) == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "name: has a character that names cannot have; use letters, digits, dot, dash "
                               "and underscore");
    }
    return 0;
}

/* What C has besides a source of a registered kind. */
static int check_source(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const struct cfr_one_of *all = c->source.items;
    const void *config;
    const struct cfr_config_source_kind *kind = cfr_config_source_kind(c, &config);

    if (kind == NULL)
        return 0;
    for (size_t i = 0; i < c->source.count; i++) {
        const struct cfr_config_source_kind *other = all[i].variant.row;

        if (other != kind && other->key(all[i].config) != NULL)
            return cfr_err_set(err, CFR_E_CONFIG, "%s: cannot be used with %s; keep one of the two",
                               other->key(all[i].config), kind->key(config));
    }
    if (c->token != NULL || c->secret != NULL || c->exchange != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: comes from %s; remove `%s`", kind->key(config), kind->origin,
                           c->token != NULL    ? "token"
                           : c->secret != NULL ? "secret"
                                               : "exchange");
    return 0;
}

/* What Kubernetes refuses as the end of an annotation's key. */
static int check_annotations(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const struct cfr_config_hook *hooks = c->reload.items;
    size_t n = strlen(c->name);

    for (size_t i = 0; i < c->reload.count && n != 0 && !cfr_view_is_alnum(c->name[n - 1]); i++) {
        const void *config;
        const struct cfr_config_hook_kind *kind = cfr_config_hook_kind(&hooks[i], &config);

        if (kind != NULL && kind->names_annotation)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "name: ends with \"%c\", with which the annotation of the hook `%s` cannot end; use a "
                               "letter or a digit there, or remove the hook",
                               c->name[n - 1], kind->variant.key);
    }
    return 0;
}

int cfr_config_rules_credential(const void *node, struct cfr_err *err)
{
    const struct cfr_config_credential *c = node;
    const void *config;
    int rc = 0;

    if (c->token == NULL && c->secret == NULL && c->exchange == NULL && c->mint == NULL &&
        cfr_config_source_kind(c, &config) == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "begins with nothing; write `token`, `secret`, or an `exchange` that needs neither");
    rc = check_source(c, err);
    if (rc == 0)
        rc = cfr_config_rules_minted(c, err);
    if (rc == 0)
        rc = check_annotations(c, err);
    if (rc != 0)
        return rc;
    return cfr_config_rules_acknowledges(c, err);
}

bool cfr_config_takes_default(const void *node, const char *key)
{
    const struct cfr_config_credential *c = node;

    /* Consumers are notified of what is published: not of what is there for rotations, or served. */
    return strcmp(key, "reload") != 0 || c->publish.count != 0;
}

int cfr_config_rules_hook(const void *node, struct cfr_err *err)
{
    const struct cfr_config_hook *h = node;
    char keys[CFR_CONFIG_KEYS_MAX];
    const void *config;
    const struct cfr_config_hook_kind *kind = cfr_config_hook_kind(h, &config);

    if (h->kind.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "does nothing; write one of %s",
                           cfr_config_keys(cfr_config_hook_variant, "or", keys));
    if (h->kind.count > 1)
        return cfr_err_set(err, CFR_E_CONFIG, "has more than one of %s; write a separate item for each",
                           cfr_config_keys(cfr_config_hook_variant, "and", keys));
    if (h->on_first == CFR_ON_FIRST_SKIP && kind->acknowledge_header != NULL &&
        kind->acknowledge_header(config) != NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "on_first: skip makes no request after the first publish, so that acknowledge_header cannot be answered; "
            "remove one of the two");
    return 0;
}

int cfr_config_rules_acknowledge(const void *node, struct cfr_err *err)
{
    const struct cfr_config_acknowledge *a = node;

    if (a->file == NULL && !a->hooks)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "does not say how; write `file`, or `hooks: true` for hooks that have `acknowledge_header`");
    if (a->file != NULL && a->hooks)
        return cfr_err_set(err, CFR_E_CONFIG, "hooks: cannot be used with file; write a list with one in each item");
    return 0;
}

static const struct cfr_config_hook *hook_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_hook *)c->reload.items + i;
}

static size_t count_headers(const struct cfr_config_credential *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->reload.count; i++) {
        const void *config;
        const struct cfr_config_hook_kind *kind = cfr_config_hook_kind(hook_at(c, i), &config);

        n += kind != NULL && kind->acknowledge_header != NULL && kind->acknowledge_header(config) != NULL;
    }
    return n;
}

int cfr_config_rules_acknowledges(const struct cfr_config_credential *c, struct cfr_err *err)
{
    const struct cfr_config_acknowledge *all = c->acknowledge.items;

    for (size_t i = 0; i < c->acknowledge.count; i++) {
        if (all[i].hooks && count_headers(c) == 0)
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "acknowledge: hooks: no hook of `reload` has an acknowledge_header; write one in its `http`");
        for (size_t j = 0; j < i; j++) {
            if (all[i].hooks && all[j].hooks)
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "acknowledge: hooks: occurs on lines %d and %d; keep one of the two",
                                   all[j].node.line, all[i].node.line);
        }
    }
    return 0;
}
