/* SPDX-License-Identifier: MIT */
/* Rules across the fields of what is served on local addresses. */
#include "agent/config/validate_private.h"

#include "agent/config/model_endpoint.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

int cfr_config_rules_proof(const void *node, struct cfr_err *err)
{
    const struct cfr_config_proof *p = node;

    if (p->existing && (p->mode != -1 || p->owner != NULL || p->group != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: is for a file that credfresh makes; leave it out beside `existing`",
                           p->mode != -1      ? "mode"
                           : p->owner != NULL ? "owner"
                                              : "group");
    return 0;
}

/* The characters that need no encoding in a URL, without those that mean something to shells and clients. */
static bool is_plain(const char *text, const char *more)
{
    for (; *text != '\0'; text++) {
        bool alnum = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9');

        if (!alnum && strchr(more, *text) == NULL)
            return false;
    }
    return true;
}

int cfr_config_rules_container(const void *node, struct cfr_err *err)
{
    const struct cfr_config_aws_container *c = node;
    const char *path = c->serve.path;
    size_t n = path != NULL ? strlen(path) : 0;

    if (path == NULL)
        return 0;
    if (path[0] != '/' || path[n - 1] == '/' || !is_plain(path, "/._~-"))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "path: write one that begins with / and does not end with it, of letters, digits and ._~-, such as "
            "/aws/registry");
    if (strstr(path, "//") != NULL || strstr(path, "/./") != NULL || strstr(path, "/../") != NULL ||
        (n >= 2 && strcmp(path + n - 2, "/.") == 0) || (n >= 3 && strcmp(path + n - 3, "/..") == 0))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "path: has an empty, . or .. part, which clients take out; write it without");
    return 0;
}

int cfr_config_rules_ec2(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_ec2_imds *e = node;

    if (e->role != NULL && !is_plain(e->role, "_+=,.@-"))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "role: has a character that no role's name has; use letters, digits and _+=,.@-");
    if (e->region != NULL && !is_plain(e->region, "-"))
        return cfr_err_set(err, CFR_E_CONFIG, "region: is none; write one such as eu-west-1");
    return 0;
}

static int check_digits(const char *key, const char *text, struct cfr_err *err)
{
    if (text == NULL || strspn(text, "0123456789") == strlen(text))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "%s: is a number of decimal digits", key);
}

/* What ACCOUNT is asked for by: its email first, then its aliases; NULL after the last. */
static const char *gce_name(const struct cfr_sdk_gce_account *a, size_t i)
{
    if (a->email != NULL && i-- == 0)
        return a->email;
    return i < a->aliases.count ? a->aliases.items[i] : NULL;
}

static bool has_gce_name(const struct cfr_sdk_gce_account *a, const char *name)
{
    const char *other;

    for (size_t i = 0; (other = gce_name(a, i)) != NULL; i++) {
        if (strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Two accounts of one name: only the first would ever be asked. */
static int check_gce_names(const struct cfr_list *accounts, struct cfr_err *err)
{
    const struct cfr_sdk_gce_account *all = accounts->items;

    for (size_t i = 0; i < accounts->count; i++) {
        const char *name;

        for (size_t n = 0; (name = gce_name(&all[i], n)) != NULL; n++) {
            if (i != 0 && strcmp(name, "default") == 0)
                return cfr_err_set(
                    err, CFR_E_CONFIG,
                    "accounts: the alias default is the first account's, on line %d; take it out on line "
                    "%d",
                    all[0].node.line, all[i].node.line);
            for (size_t k = 0; k < i; k++) {
                if (has_gce_name(&all[k], name))
                    return cfr_err_set(err, CFR_E_CONFIG,
                                       "accounts: two are called %.100s, on lines %d and %d; rename one", name,
                                       all[k].node.line, all[i].node.line);
            }
        }
    }
    return 0;
}

int cfr_config_rules_gce(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_gce_metadata *g = node;
    int rc = check_digits("numeric_project_id", g->numeric_project_id, err);

    if (rc == 0)
        rc = check_digits("instance_id", g->instance_id, err);
    if (rc == 0 && g->cluster_location != NULL && g->cluster_name == NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG, "cluster_location: is that of a cluster; write `cluster_name` beside it");
    return rc != 0 ? rc : check_gce_names(&g->accounts, err);
}

int cfr_config_rules_gce_account(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_gce_account *a = node;
    const char *name;

    for (size_t i = 0; (name = gce_name(a, i)) != NULL; i++) {
        if (!is_plain(name, "@._+-:"))
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: %.100s cannot be a part of a path; use letters, digits and @._+-:",
                               name == a->email ? "email" : "aliases", name);
    }
    if (a->credential == NULL && a->identities.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "has nothing to serve; write `credential`, `identities` or both");
    if (a->credential == NULL && a->scopes.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "scopes: are those of an access token; write `credential` beside them");
    for (size_t i = 0; i < a->identities.count; i++) {
        const struct cfr_sdk_gce_identity *all = a->identities.items;

        for (size_t k = 0; k < i; k++) {
            if (all[i].audience != NULL && all[k].audience != NULL && strcmp(all[i].audience, all[k].audience) == 0)
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "identities: %.100s is there twice, on lines %d and %d; leave one out",
                                   all[i].audience, all[k].node.line, all[i].node.line);
        }
    }
    return 0;
}

/* An address that other machines cannot reach: loopback, or one of those that the SDKs take credentials from. */
static bool is_local(const char *host, int family)
{
    static const char *const known[] = {"::1",          "169.254.170.2",   "169.254.170.23",
                                        "fd00:ec2::23", "169.254.169.254", "fd00:ec2::254"};

    if (family == AF_INET && strncmp(host, "127.", 4) == 0)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(host, known[i]) == 0)
            return true;
    }
    return false;
}

static int check_port(const char *text, struct cfr_err *err)
{
    int64_t port;

    if (strspn(text, "0123456789") == strlen(text) && text[0] != '0' && cfr_view_int(cfr_view_of(text), &port) &&
        port <= 65535)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "listen: \"%.16s\" is no port that clients could be told; write one from 1 to 65535", text);
}

/* In the one spelling that inet_ntop gives it, so that two endpoints with one address are seen to have one. */
static int check_listen(const char *listen, struct cfr_err *err)
{
    const char *colon = strrchr(listen, ':');
    bool six = listen[0] == '[';
    char host[INET6_ADDRSTRLEN] = "";
    char again[INET6_ADDRSTRLEN] = "";
    unsigned char address[sizeof(struct in6_addr)];
    int family = six ? AF_INET6 : AF_INET;
    size_t n = colon != NULL ? (size_t)(colon - listen) : 0;

    if (colon == NULL || n < 2 || (six && colon[-1] != ']') || n - (six ? 2 : 0) >= sizeof host)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "listen: %.64s is no address and port; write one such as \"127.0.0.1:9911\" or \"[::1]:9911\"", listen);
    memcpy(host, listen + (six ? 1 : 0), n - (six ? 2 : 0));
    if (inet_pton(family, host, address) != 1 || inet_ntop(family, address, again, sizeof again) == NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "listen: %.64s is no literal address; write one such as \"127.0.0.1:9911\" or \"[::1]:9911\"", listen);
    if (!is_local(again, family))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "listen: %s may be reached by other machines, which must never get credentials; write 127.0.0.1, [::1] "
            "or one of 169.254.170.2, 169.254.170.23, [fd00:ec2::23], 169.254.169.254, [fd00:ec2::254]",
            again);
    if (strcmp(host, again) != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "listen: %s is written %s%s%s in short; write that", host, six ? "[" : "",
                           again, six ? "]" : "");
    return check_port(colon + 1, err);
}

int cfr_config_rules_endpoint(const void *node, struct cfr_err *err)
{
    const struct cfr_config_endpoint *e = node;

    if (e->aws_container.count == 0 && e->ec2_imds == NULL && e->gce_metadata == NULL && e->azure_imds == NULL &&
        e->azure_app_service == NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "serves nothing; write one or more of `aws_container`, `ec2_imds`, `gce_metadata`, `azure_imds` and "
            "`azure_app_service`");
    return check_listen(e->listen, err);
}
