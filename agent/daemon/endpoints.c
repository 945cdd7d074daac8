/* SPDX-License-Identifier: MIT */
/* Listeners of the local endpoints. */
#include "agent/daemon/listener_private.h"

#include "agent/loop/process.h"
#include "base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CONNECTIONS_MAX   512U
#define CONNECTIONS_LEAST 16U
/* Pods come with an address each. */
#define CONNECTIONS_PER_ADDRESS 64U
#define OWN_FDS                 256U /* that the rest of the agent may need */
#define OWN_LEAST               64U  /* without which it would do nothing but serve */
#define TOKEN_SOCKET_MODE       0666

struct cfr_endpoints_plan {
    struct cfr_daemon_listener **items;
    bool *fresh; /* it was opened for this plan */
    size_t count;
    struct cfr_daemon_client_secrets *client_secrets;
    const struct cfr_config *config;
};

int cfr_daemon_endpoints_open(struct cfr_daemon *a, struct cfr_daemon_endpoints **out, struct cfr_err *err)
{
    struct cfr_daemon_endpoints *e = calloc(1, sizeof *e);

    *out = e;
    if (e == NULL)
        return cfr_err_nomem(err);
    e->agent = a;
    return 0;
}

static void close_listener(struct cfr_daemon_listener *l)
{
    if (l == NULL)
        return;
    cfr_httpd_close(l->server);
    free(l->counts);
    free(l->where);
    free(l);
}

void cfr_daemon_endpoints_close(struct cfr_daemon_endpoints *e)
{
    if (e == NULL)
        return;
    for (size_t i = 0; i < e->count; i++)
        close_listener(e->items[i]);
    free(e->items);
    cfr_daemon_client_secret_close(e->client_secrets);
    cfr_daemon_session_key_close(&e->session_key);
    free(e);
}

/* Each listener's share of the descriptors that the process may have, so that no flood of connections takes those that
 * the exchanges need. */
static unsigned connections_each(size_t listeners)
{
    struct rlimit limit;
    rlim_t share;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return CONNECTIONS_MAX;
    share = limit.rlim_cur > OWN_FDS ? (limit.rlim_cur - OWN_FDS) / (listeners != 0 ? listeners : 1) : 0;
    return share > CONNECTIONS_MAX ? CONNECTIONS_MAX : share < CONNECTIONS_LEAST ? CONNECTIONS_LEAST : (unsigned)share;
}

unsigned cfr_daemon_endpoints_spare(void)
{
    struct rlimit limit;
    rlim_t share;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return CONNECTIONS_MAX;
    share = limit.rlim_cur / 16;
    return share > CONNECTIONS_MAX ? CONNECTIONS_MAX : share < CONNECTIONS_LEAST ? CONNECTIONS_LEAST : (unsigned)share;
}

/* Clients that only wait would otherwise leave no descriptor to renew credentials with. */
static int check_descriptors(const struct cfr_config *next, struct cfr_err *err)
{
    size_t listeners = next->endpoints.count + (next->token_socket != NULL) + (next->listen != NULL) + 1;
    size_t needed = OWN_LEAST + CONNECTIONS_LEAST * listeners;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed)
        return 0;
    return cfr_err_set(
        err, CFR_E_LIMIT,
        "the limit of open files is %ju, and this configuration needs %zu: raise it (LimitNOFILE= in the "
        "unit, `ulimit -n` in a shell)",
        (uintmax_t)limit.rlim_cur, needed);
}

/* Returns the count of C's networks, of which OUT has room for CFR_CONFIG_FROM_MAX; they were checked. */
static size_t read_from(const struct cfr_config_endpoint *c, struct cfr_cidr *out)
{
    size_t n = c != NULL ? c->from.count : 0;

    for (size_t i = 0; i < n; i++)
        (void)cfr_cidr_parse(c->from.items[i], &out[i], NULL);
    return n;
}

static enum cfr_httpd_reach reach_of(size_t from_count)
{
    return from_count != 0 ? CFR_HTTPD_LINK : CFR_HTTPD_HERE;
}

static int set_reach(struct cfr_daemon_listener *l, enum cfr_httpd_reach reach, struct cfr_err *err)
{
    int rc = reach != l->reach ? cfr_httpd_set_reach(l->server, reach, err) : 0;

    if (rc == 0)
        l->reach = reach;
    return rc;
}

/* Who was let in by the old networks has to come again. */
static void set_from(struct cfr_daemon_listener *l)
{
    struct cfr_cidr from[CFR_CONFIG_FROM_MAX];
    size_t n = read_from(l->config, from);

    if (n == l->from_count && memcmp(from, l->from, n * sizeof from[0]) == 0)
        return;
    memcpy(l->from, from, n * sizeof from[0]);
    l->from_count = n;
    (void)set_reach(l, reach_of(n), NULL);
    cfr_httpd_end_connections(l->server);
}

/* C is NULL for the token socket. */
static int open_listener(struct cfr_daemon_endpoints *e, const char *where, const struct cfr_config_endpoint *c,
                         struct cfr_daemon_listener **out, struct cfr_err *err)
{
    struct cfr_daemon_listener *l = calloc(1, sizeof *l);
    struct cfr_httpd_options options = {
        .secret = c != NULL ? cfr_daemon_listener_on_endpoint : cfr_daemon_listener_on_token,
        .ctx = l,
        .connections = CONNECTIONS_MAX,
        .per_address = c != NULL ? CONNECTIONS_PER_ADDRESS : 0,
        .no_body = true,
        .mode = TOKEN_SOCKET_MODE,
        .patience_ms = e->agent->control == NULL ? CFR_DAEMON_START_MS : 0,
        .accepts = c != NULL ? cfr_daemon_listener_accepts : NULL,
    };
    int rc;

    *out = NULL;
    if (l == NULL)
        return cfr_err_nomem(err);
    l->endpoints = e;
    l->config = c;
    l->from_count = read_from(c, l->from);
    l->reach = reach_of(l->from_count);
    options.reach = l->reach;
    l->where = cfr_str_dup(cfr_view_of(where));
    rc = l->where != NULL ? cfr_httpd_open(where, c == NULL, &options, &l->server, err) : cfr_err_nomem(err);
    if (rc != 0) {
        close_listener(l);
        return rc;
    }
    *out = l;
    return 0;
}

static struct cfr_daemon_listener *find(struct cfr_daemon_listener *const *items, size_t count, const char *where)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(items[i]->where, where) == 0)
            return items[i];
    }
    return NULL;
}

int cfr_daemon_endpoints_explain_taken(const struct cfr_config *now, const char *where, struct cfr_err *err)
{
    const char *ours = now->listen != NULL && cfr_config_listen_clashes(now->listen, where) ? now->listen : NULL;

    for (size_t i = 0; ours == NULL && i < now->endpoints.count; i++) {
        const char *listen = cfr_config_endpoint_at(now, i)->listen;

        if (listen != NULL && cfr_config_listen_clashes(listen, where))
            ours = listen;
    }
    if (err->code != CFR_E_CONFLICT || ours == NULL)
        return err->code;
    return cfr_err_set(err, CFR_E_CONFLICT,
                       "cannot listen on %s: the agent itself listens on %s as long as it runs with the old "
                       "configuration: restart it",
                       where, ours);
}

static int plan_one(struct cfr_daemon_endpoints *e, struct cfr_endpoints_plan *p, const char *where,
                    const struct cfr_config_endpoint *c, struct cfr_err *err)
{
    struct cfr_daemon_listener *l = find(e->items, e->count, where);
    int rc = 0;

    /* One whose socket file was removed is replaced. */
    if (l != NULL && !cfr_httpd_is_there(l->server))
        l = NULL;
    p->fresh[p->count] = l == NULL;
    if (l == NULL)
        rc = open_listener(e, where, c, &l, err);
    else if (c != NULL && c->from.count != 0 && l->from_count == 0)
        rc = set_reach(l, CFR_HTTPD_LINK, err); /* others are refused until the plan is taken */
    if (rc != 0 && c != NULL && p->config != e->agent->config)
        rc = cfr_daemon_endpoints_explain_taken(e->agent->config, where, err);
    if (rc == 0)
        p->items[p->count++] = l;
    return rc;
}

static bool has_signing_shape(const struct cfr_config *config)
{
    const struct cfr_sdk_shape *shape;
    void *found;

    for (size_t i = 0; i < config->endpoints.count; i++) {
        for (size_t k = 0; (shape = cfr_config_shape_at(cfr_config_endpoint_at(config, i), k, &found)) != NULL; k++) {
            if (shape->signs)
                return true;
        }
    }
    return false;
}

static int plan_all(struct cfr_daemon_endpoints *e, struct cfr_endpoints_plan *p, struct cfr_err *err)
{
    int rc = cfr_daemon_client_secret_open(p->config, &p->client_secrets, err);

    if (rc == 0 && e->session_key.signer == NULL && has_signing_shape(p->config))
        rc = cfr_daemon_session_key_open(&e->session_key, e->agent->host.state_fd, err);
    for (size_t i = 0; rc == 0 && i < p->config->endpoints.count; i++) {
        const struct cfr_config_endpoint *c = cfr_config_endpoint_at(p->config, i);

        rc = plan_one(e, p, c->listen, c, err);
    }
    if (rc == 0 && p->config->token_socket != NULL && plan_one(e, p, p->config->token_socket, NULL, err) != 0)
        rc = cfr_err_prefix(err, "token_socket");
    return rc;
}

int cfr_daemon_endpoints_prepare(struct cfr_daemon_endpoints *e, const struct cfr_config *next,
                                 struct cfr_endpoints_plan **out, struct cfr_err *err)
{
    struct cfr_endpoints_plan *p = calloc(1, sizeof *p);
    size_t room = next->endpoints.count + 1;
    int rc = 0;

    *out = NULL;
    if (p == NULL)
        return cfr_err_nomem(err);
    if (next->endpoints.count != 0 || next->token_socket != NULL)
        cfr_process_raise_files();
    rc = check_descriptors(next, err);
    p->config = next;
    p->items = calloc(room, sizeof(struct cfr_daemon_listener *));
    p->fresh = calloc(room, sizeof *p->fresh);
    if (rc == 0 && (p->items == NULL || p->fresh == NULL))
        rc = cfr_err_nomem(err);
    if (rc == 0)
        rc = plan_all(e, p, err);
    if (rc != 0) {
        cfr_daemon_endpoints_drop(e, p);
        return rc;
    }
    *out = p;
    return 0;
}

static void free_plan(struct cfr_endpoints_plan *p)
{
    cfr_daemon_client_secret_close(p->client_secrets);
    free(p->items);
    free(p->fresh);
    free(p);
}

void cfr_daemon_endpoints_drop(struct cfr_daemon_endpoints *e, struct cfr_endpoints_plan *plan)
{
    (void)e;
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->fresh[i])
            close_listener(plan->items[i]);
        else if (plan->items[i]->config != NULL)
            (void)set_reach(plan->items[i], reach_of(plan->items[i]->from_count), NULL);
    }
    free_plan(plan);
}

static bool is_planned(const struct cfr_endpoints_plan *p, const struct cfr_daemon_listener *l)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i] == l)
            return true;
    }
    return false;
}

void cfr_daemon_endpoints_take(struct cfr_daemon_endpoints *e, struct cfr_endpoints_plan *plan)
{
    struct cfr_daemon_listener **before = e->items;
    struct cfr_daemon_client_secrets *client_secrets = e->client_secrets;

    for (size_t i = 0; i < e->count; i++) {
        if (!is_planned(plan, before[i])) {
            if (find(plan->items, plan->count, before[i]->where) == NULL)
                cfr_log(CFR_LOG_INFO, NULL, NULL, "nothing is served on %s any more", before[i]->where);
            close_listener(before[i]);
        }
    }
    e->items = plan->items;
    e->count = plan->count;
    e->client_secrets = plan->client_secrets;
    cfr_daemon_client_secret_make(e->client_secrets);
    for (size_t i = 0; i < e->count; i++) {
        /* The endpoints come first, in the configuration's order; the token socket has none. */
        e->items[i]->config = cfr_config_endpoint_at(plan->config, i);
        cfr_httpd_set_connections(e->items[i]->server, connections_each(e->count));
        if (plan->fresh[i])
            cfr_log(CFR_LOG_INFO, NULL, NULL, "credentials are served on %s", e->items[i]->where);
        else if (e->items[i]->config != NULL)
            set_from(e->items[i]);
    }
    plan->items = before;
    plan->client_secrets = client_secrets;
    free_plan(plan);
}

bool cfr_daemon_endpoints_are_making(struct cfr_daemon_endpoints *e)
{
    return e != NULL && e->client_secrets != NULL && cfr_daemon_client_secret_is_making(e->client_secrets);
}

void cfr_daemon_endpoints_quiesce(struct cfr_daemon_endpoints *e)
{
    for (size_t i = 0; i < e->count; i++)
        cfr_httpd_quiesce(e->items[i]->server);
}

bool cfr_daemon_endpoints_busy(const struct cfr_daemon_endpoints *e)
{
    for (size_t i = 0; i < e->count; i++) {
        if (cfr_httpd_is_busy(e->items[i]->server))
            return true;
    }
    return false;
}

void cfr_daemon_endpoints_save(struct cfr_daemon_endpoints *e)
{
    if (e != NULL)
        cfr_daemon_session_key_step(&e->session_key, e->agent->host.state_fd);
}

bool cfr_daemon_endpoints_count(const struct cfr_daemon_endpoints *e, size_t index, struct cfr_api_status_endpoint *out)
{
    for (size_t i = 0; i < e->count; i++) {
        const struct cfr_daemon_listener *l = e->items[i];

        if (index < l->count_count) {
            *out = (struct cfr_api_status_endpoint){.endpoint = l->where,
                                                    .shape = l->counts[index].shape,
                                                    .status = l->counts[index].status,
                                                    .requests = l->counts[index].requests};
            return true;
        }
        index -= l->count_count;
    }
    return false;
}
