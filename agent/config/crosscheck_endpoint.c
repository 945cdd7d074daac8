/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that concern endpoints and the credentials that they serve. */
#include "agent/config/config_private.h"
#include "agent/config/crosscheck_private.h"

#include "files/path.h"
#include "sts/gcp/gcp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what more than one mapping decides ---- */

static const char *name_of(const struct cfr_config_endpoint *e)
{
    return e->listen != NULL ? e->listen : "without address";
}

static bool is_every(const char *listen)
{
    static const char *const hosts[] = {":", "0.0.0.0:", "[::]:"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        if (strncmp(listen, hosts[i], strlen(hosts[i])) == 0)
            return true;
    }
    return false;
}

bool cfr_config_listen_clashes(const char *a, const char *b)
{
    const char *port_a = strrchr(a, ':');
    const char *port_b = strrchr(b, ':');

    if (strcmp(a, b) == 0)
        return true;
    return port_a != NULL && port_b != NULL && strcmp(port_a, port_b) == 0 && (is_every(a) || is_every(b));
}

static void check_addresses(const struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < config->endpoints.count; i++) {
        const struct cfr_config_endpoint *e = cfr_config_endpoint_at(config, i);

        if (e->listen == NULL)
            continue;
        if (config->listen != NULL && cfr_config_listen_clashes(config->listen, e->listen))
            cfr_config_diagnostics_add(ps, e->node.line,
                                       "endpoint %s: listen: is also where health and metrics are (%s); choose another "
                                       "port",
                                       e->listen, config->listen);
        for (size_t k = 0; k < i; k++) {
            const struct cfr_config_endpoint *before = cfr_config_endpoint_at(config, k);

            if (before->listen != NULL && cfr_config_listen_clashes(before->listen, e->listen))
                cfr_config_diagnostics_add(
                    ps, e->node.line,
                    "endpoint %s: listen: another endpoint has it, on line %d; put the shapes of both into one, or "
                    "choose another port",
                    e->listen, before->node.line);
        }
    }
}

static bool below(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);

    /* Azure's clients write theirs as they like. */
    return strncasecmp(path, prefix, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* A path of its own belongs to nothing else at E. */
static void check_shape_path(const struct cfr_config_endpoint *e, size_t index, struct cfr_config_diagnostics *ps)
{
    void *own;
    void *other;
    const struct cfr_sdk_shape *shape = cfr_config_shape_at(e, index, &own);
    const char *path = shape->path != NULL ? shape->path(own) : NULL;
    const struct cfr_sdk_shape *with;

    for (size_t k = 0; path != NULL && (with = cfr_config_shape_at(e, k, &other)) != NULL; k++) {
        const char *same = k < index && with->path != NULL ? with->path(other) : NULL;

        if (with->prefix != NULL && below(path, with->prefix))
            cfr_config_diagnostics_add(ps, ((const struct cfr_node *)own)->line,
                                       "endpoint %s: %s.path: %s belongs to %s there; choose another", name_of(e),
                                       shape->name, path, with->name);
        if (same != NULL && strcmp(same, path) == 0)
            cfr_config_diagnostics_add(ps, ((const struct cfr_node *)own)->line,
                                       "endpoint %s: %s.path: %s is also that of line %d; choose another", name_of(e),
                                       shape->name, path, ((const struct cfr_node *)other)->line);
    }
}

struct walk {
    const struct cfr_config *config;
    const struct cfr_config_endpoint *endpoint; /* while its uses are called for */
    struct cfr_config_diagnostics *ps;
};

static void each_use(struct walk *w, cfr_sdk_use_fn *each)
{
    for (size_t i = 0; i < w->config->endpoints.count; i++) {
        const struct cfr_sdk_shape *shape;
        void *found;

        w->endpoint = cfr_config_endpoint_at(w->config, i);
        for (size_t k = 0; (shape = cfr_config_shape_at(w->endpoint, k, &found)) != NULL; k++)
            shape->each_use(found, each, w);
    }
}

static void check_use_name(void *ctx, const struct cfr_sdk_use *u)
{
    const struct walk *w = ctx;

    if (u->credential != NULL && cfr_config_find(w->config, u->credential) == NULL)
        cfr_config_diagnostics_add(w->ps, u->line,
                                   "endpoint %s: %s: there is no credential %.63s; write the name of one that there is",
                                   name_of(w->endpoint), u->key, u->credential);
}

static bool in_state_dir(const struct cfr_config *config, const char *path)
{
    size_t n = config->state_dir != NULL ? strlen(config->state_dir) : 0;

    return path != NULL && n != 0 && strncmp(path, config->state_dir, n) == 0 && path[n] == '/';
}

/* Where it is meant for others, who cannot reach it there. */
static void check_secret_place(void *ctx, const struct cfr_config_endpoint *e, const struct cfr_sdk_client_secret *p)
{
    const struct walk *w = ctx;

    if (in_state_dir(w->config, p->file) &&
        (p->owner != NULL || p->group != NULL || (p->mode != -1 && (p->mode & 077) != 0)))
        cfr_config_diagnostics_add(
            w->ps, p->node.line,
            "endpoint %s: %.200s lies in state_dir, which only the agent's user can enter; choose another path",
            name_of(e), p->file);
}

static void check_sockets(const struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    size_t allowing = 0;

    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);

        allowing += c->allow != NULL ? 1 : 0;
        if (c->allow != NULL && config->token_socket == NULL &&
            (c->allow->users.count != 0 || c->allow->groups.count != 0))
            cfr_config_diagnostics_add(ps, c->allow->node.line,
                                       "credential %.63s: allow: has no effect without a socket; write `token_socket` "
                                       "at the top level, such as /run/credfresh-tokens.sock",
                                       cfr_config_label(c->name));
    }
    if (config->token_socket != NULL && allowing == 0)
        cfr_config_diagnostics_add(
            ps, config->node.line,
            "token_socket: serves nothing; write `allow` in the credentials that it should serve");
    if (in_state_dir(config, config->token_socket))
        cfr_config_diagnostics_add(
            ps, config->node.line,
            "token_socket: %.100s lies in state_dir, which only the agent's user can enter; choose another path",
            config->token_socket);
}

void cfr_config_check_endpoints(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    struct walk walk = {config, NULL, problems};

    check_addresses(config, problems);
    for (size_t i = 0; i < config->endpoints.count; i++) {
        const struct cfr_config_endpoint *e = cfr_config_endpoint_at(config, i);

        for (size_t k = 0; k < e->shapes.count; k++)
            check_shape_path(e, k, problems);
    }
    each_use(&walk, check_use_name);
    cfr_config_each_client_secret(config, check_secret_place, &walk);
    check_sockets(config, problems);
}

/* ---- credentials that fit their shapes ---- */

/* The identity token is for the audience that its exchange names, and for no other. */
static void check_audience(const struct walk *w, const struct cfr_config_credential *c, const struct cfr_sdk_use *u)
{
    const void *found = NULL;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &found);
    const struct cfr_gcp *gcp = found;

    if (provider != &cfr_gcp_provider || c->secret != NULL)
        return;
    if (u->audience != NULL && (gcp->id_token_audience == NULL || strcmp(gcp->id_token_audience, u->audience) != 0)) {
        cfr_config_diagnostics_add(w->ps, u->line,
                                   "endpoint %s: %s: %s has %s%.100s, not %.100s; write that as `audience`, or another "
                                   "`id_token_audience` in its exchange",
                                   name_of(w->endpoint), u->key, cfr_config_label(c->name),
                                   gcp->id_token_audience != NULL ? "an identity token for " : "no identity token",
                                   gcp->id_token_audience != NULL ? gcp->id_token_audience : "", u->audience);
    }
    if (u->audience == NULL && !gcp->access_token) {
        cfr_config_diagnostics_add(
            w->ps, u->line,
            "endpoint %s: %s: %s has no access token; write `access_token: true` in its exchange, or "
            "name it under `identities` only",
            name_of(w->endpoint), u->key, cfr_config_label(c->name));
    }
}

static void check_use_fits(void *ctx, const struct cfr_sdk_use *u)
{
    const struct walk *w = ctx;
    const struct cfr_config_credential *c = u->credential != NULL ? cfr_config_find(w->config, u->credential) : NULL;

    if (w->endpoint->node.faulty)
        return;
    if (c == NULL || c->node.faulty ||
        (cfr_config_may_have(c, u->field) && c->mint == NULL && !(c->secret != NULL && c->secret->pass_on))) {
        if (c != NULL && !c->node.faulty)
            check_audience(w, c, u);
        return;
    }
    cfr_config_diagnostics_add(
        w->ps, u->line,
        "endpoint %s: %s: needs %s, which credential %s does not have; write the name of one whose exchange gives it",
        name_of(w->endpoint), u->key, u->field, cfr_config_label(c->name));
}

void cfr_config_check_served(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    struct walk walk = {config, NULL, problems};
    bool clear = !config->node.unclear;

    for (size_t i = 0; i < config->endpoints.count; i++)
        clear = clear && !cfr_config_endpoint_at(config, i)->node.faulty;
    each_use(&walk, check_use_fits);
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);

        if (clear && !c->node.unclear && c->publish.count == 0 && !c->served)
            cfr_config_diagnostics_add(problems, c->node.line,
                                       "credential %s: publish: is missing; this credential needs it, because no "
                                       "endpoint serves it and it has no `allow`",
                                       cfr_config_label(c->name));
    }
}

/* ---- users and groups that must be there ---- */

/* A number takes the place of the name, so that no request has to look it up. */
static void set_number(char **text, uintmax_t number, struct cfr_config_diagnostics *ps)
{
    char digits[24];
    char *copy;

    (void)snprintf(digits, sizeof digits, "%ju", number);
    copy = cfr_str_dup(cfr_view_of(digits));
    if (copy == NULL) {
        ps->nomem = true;
        return;
    }
    free(*text);
    *text = copy;
}

static void resolve_allowed(const struct cfr_config_credential *c, struct cfr_config_diagnostics *ps)
{
    struct cfr_config_allow *allow = c->allow;
    struct cfr_err err = {0};
    uid_t uid;
    gid_t gid;

    for (size_t i = 0; i < allow->users.count; i++) {
        if (cfr_path_uid(allow->users.items[i], &uid, &err) != 0)
            cfr_config_diagnostics_add(ps, allow->node.line, "credential %s: allow.users: %s",
                                       cfr_config_label(c->name), err.text);
        else
            set_number(&allow->users.items[i], uid, ps);
    }
    for (size_t i = 0; i < allow->groups.count; i++) {
        if (cfr_path_gid(allow->groups.items[i], &gid, &err) != 0)
            cfr_config_diagnostics_add(ps, allow->node.line, "credential %s: allow.groups: %s",
                                       cfr_config_label(c->name), err.text);
        else
            set_number(&allow->groups.items[i], gid, ps);
    }
}

void cfr_config_resolve_ids(struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        if (cfr_config_at(config, i)->allow != NULL)
            resolve_allowed(cfr_config_at(config, i), problems);
    }
}
