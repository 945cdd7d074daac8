/* SPDX-License-Identifier: MIT */
/* One request on a listener: who may ask, which shape answers, what is counted. */
#include "agent/daemon/listener_private.h"

#include "base/log.h"
#include "files/path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_TYPE          "text/plain; charset=utf-8"
#define TOKEN_PREFIX       "/v1/token/"
#define PEERS_FORGOTTEN_MS INT64_C(3600000)

/* ---- counting and logging ---- */

static void count(struct cfr_daemon_listener *l, const char *shape, int status)
{
    struct cfr_daemon_listener_count *more;

    for (size_t i = 0; i < l->count_count; i++) {
        const char *its = l->counts[i].shape;

        if (l->counts[i].status == status &&
            (its == shape || (its != NULL && shape != NULL && strcmp(its, shape) == 0))) {
            l->counts[i].requests++;
            return;
        }
    }
    more = realloc(l->counts, (l->count_count + 1) * sizeof *more);
    if (more == NULL)
        return;
    l->counts = more;
    more[l->count_count++] = (struct cfr_daemon_listener_count){shape, status, 1};
}

/* Each kind once, for who asks in vain may ask often. */
static void log_refused(struct cfr_daemon_listener *l, const char *shape, const struct cfr_sdk_endpoint_answer *a,
                        const char *peer)
{
    if (a->refused == NULL)
        return;
    for (size_t i = 0; i < l->refusal_count; i++) {
        if (strcmp(l->refusals[i], a->refused) == 0)
            return;
    }
    if (l->refusal_count == CFR_DAEMON_LISTENER_REFUSALS_MAX)
        return;
    l->refusals[l->refusal_count++] = a->refused;
    cfr_log(CFR_LOG_WARN, NULL, NULL, "%s (%s): refused a request of %s with %d: %s; more of the kind are only counted",
            l->where, shape, peer, a->status, a->refused);
}

static void refuse(struct cfr_sdk_endpoint_answer *out, int status, const char *text, const char *why)
{
    cfr_sdk_endpoint_start(out, status, TEXT_TYPE);
    cfr_sdk_endpoint_text(out, text);
    out->refused = why;
}

/* ---- connections ---- */

/* Each address once an hour, and a few addresses only: a scan must not fill the log. */
static bool is_news(struct cfr_daemon_listener *l, const struct cfr_httpd_origin *o)
{
    struct cfr_cidr one = {.n = (unsigned char)o->n, .bits = (unsigned char)(8 * o->n)};
    int64_t now_ms = cfr_clock_now().boot_ms;

    memcpy(one.address, o->address, o->n);
    if (l->refused_peer_count == 0 || now_ms - l->refused_peers_since_ms > PEERS_FORGOTTEN_MS) {
        l->refused_peer_count = 0;
        l->refused_peers_since_ms = now_ms;
    }
    for (size_t i = 0; i < l->refused_peer_count; i++) {
        if (memcmp(&l->refused_peers[i], &one, sizeof one) == 0)
            return false;
    }
    if (l->refused_peer_count == CFR_DAEMON_LISTENER_PEERS_MAX)
        return false;
    l->refused_peers[l->refused_peer_count++] = one;
    return true;
}

bool cfr_daemon_listener_accepts(void *ctx, const struct cfr_httpd_origin *origin)
{
    struct cfr_daemon_listener *l = ctx;

    if (origin->here)
        return true;
    for (size_t i = 0; i < l->from_count; i++) {
        if (cfr_cidr_has(&l->from[i], origin->address, origin->n))
            return true;
    }
    count(l, NULL, 0);
    if (is_news(l, origin))
        cfr_log(CFR_LOG_WARN, NULL, NULL,
                "%s: refused a connection from %s, which is not this machine%s; more of that address are only counted",
                l->where, origin->text, l->from_count != 0 ? " and not in `from`" : "");
    return false;
}

/* ---- what the shapes look at ---- */

static bool offer(void *ctx, const char *credential, struct cfr_offer *out)
{
    const struct cfr_daemon_listener *l = ctx;

    return cfr_daemon_offer(l->endpoints->agent, credential, out);
}

static struct cfr_view secret_file(void *ctx, const char *path)
{
    const struct cfr_daemon_listener *l = ctx;

    return path != NULL ? cfr_daemon_client_secret_get(l->endpoints->client_secrets, path) : (struct cfr_view){NULL, 0};
}

/* ---- endpoints ---- */

/* The name of the shape that has answered; "none", and a refusal, if there is none. */
static const char *ask_shapes(const struct cfr_daemon_listener *l, const struct cfr_sdk_endpoint_request *r,
                              const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_view host = cfr_sdk_endpoint_asked(r, "Host");
    bool is_address = cfr_sdk_endpoint_host_is(host, cfr_httpd_address(l->server));
    bool named = is_address;
    const struct cfr_sdk_shape *shape;
    void *config;

    for (size_t i = 0; (shape = cfr_config_shape_at(l->config, i, &config)) != NULL; i++) {
        /* A name is good for the shape whose name it is, not for its neighbours. */
        bool its_own = is_address || (shape->is_host != NULL && shape->is_host(host));

        if (its_own && shape->answer(config, r, w, out))
            return shape->name;
        named = named || its_own;
    }
    if (named)
        refuse(out, 404, "not found\n", "nothing is at its path");
    else
        refuse(out, 403, "the Host header does not name this address\n", "its Host header does not name this address");
    return "none";
}

bool cfr_daemon_listener_on_endpoint(void *ctx, const struct cfr_httpd_peer *peer,
                                     const struct cfr_sdk_endpoint_request *request,
                                     struct cfr_sdk_endpoint_answer *answer)
{
    struct cfr_daemon_listener *l = ctx;
    struct cfr_sdk_endpoint_request plain = *request;
    struct cfr_sdk_endpoint_world world = {
        .now_s = cfr_clock_now().wall_ms / 1000,
        .offer = offer,
        .secret_file = secret_file,
        .ctx = l,
        .signer = l->endpoints->session_key.signer,
    };
    const char *shape;

    plain.path = cfr_sdk_endpoint_path(request->path);
    shape = ask_shapes(l, &plain, &world, answer);
    count(l, shape, answer->status);
    log_refused(l, shape, answer, peer->text);
    return true;
}

/* ---- tokens by name ---- */

static bool has_user(const struct cfr_config_allow *allow, const struct cfr_httpd_peer *peer)
{
    uid_t uid;

    for (size_t i = 0; i < allow->users.count; i++) {
        if (cfr_path_uid(allow->users.items[i], &uid, NULL) == 0 && uid == peer->uid)
            return true;
    }
    return false;
}

static bool is_member(const struct cfr_httpd_peer *peer, gid_t gid)
{
    for (size_t i = 0; i < peer->group_count; i++) {
        if (peer->groups[i] == gid)
            return true;
    }
    return peer->gid == gid;
}

static bool has_group(const struct cfr_config_allow *allow, const struct cfr_httpd_peer *peer)
{
    gid_t gid;

    for (size_t i = 0; i < allow->groups.count; i++) {
        if (cfr_path_gid(allow->groups.items[i], &gid, NULL) == 0 && is_member(peer, gid))
            return true;
    }
    return false;
}

static bool is_own(const struct cfr_httpd_peer *peer)
{
    return peer->known && (peer->uid == 0 || peer->uid == geteuid());
}

/* The worker whose credential REQUEST names and PEER may have, or NULL. */
static const struct cfr_worker *allowed(const struct cfr_daemon *a, const struct cfr_httpd_peer *peer,
                                        struct cfr_view path)
{
    const struct cfr_worker *w;
    const struct cfr_config_allow *allow;
    char name[64] = "";
    size_t n = path.n - (sizeof TOKEN_PREFIX - 1);

    if (n >= sizeof name)
        return NULL;
    memcpy(name, path.p + sizeof TOKEN_PREFIX - 1, n);
    w = cfr_daemon_worker(a, name);
    allow = w != NULL ? cfr_worker_config(w)->allow : NULL;
    if (allow == NULL || !peer->known)
        return NULL;
    return is_own(peer) || has_user(allow, peer) || has_group(allow, peer) ? w : NULL;
}

struct token_world {
    struct cfr_daemon *agent;
    const char *name; /* the only one that may be had; NULL = all */
};

static bool offer_allowed(void *ctx, const char *credential, struct cfr_offer *out)
{
    const struct token_world *w = ctx;

    return (w->name == NULL || strcmp(w->name, credential) == 0) && cfr_daemon_offer(w->agent, credential, out);
}

static struct cfr_view no_file(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
    return (struct cfr_view){NULL, 0};
}

static bool serve_token(struct token_world *w, const struct cfr_sdk_endpoint_request *r,
                        struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_sdk_endpoint_world world = {
        .now_s = cfr_clock_now().wall_ms / 1000,
        .offer = offer_allowed,
        .secret_file = no_file,
        .ctx = w,
    };

    return cfr_sdk_token(r, &world, out);
}

static void refuse_json(struct cfr_sdk_endpoint_answer *out, int status, const char *code, const char *text,
                        const char *why)
{
    cfr_sdk_token_refuse(out, status, code, text);
    out->refused = why;
}

bool cfr_daemon_listener_on_token(void *ctx, const struct cfr_httpd_peer *peer,
                                  const struct cfr_sdk_endpoint_request *request,
                                  struct cfr_sdk_endpoint_answer *answer)
{
    struct cfr_daemon_listener *l = ctx;
    struct token_world world = {.agent = l->endpoints->agent};
    const struct cfr_worker *w;

    if (!cfr_view_starts(request->path, TOKEN_PREFIX)) {
        refuse_json(answer, 404, "not-found", "not found: use /v1/token/NAME", "nothing is at its path");
    } else if ((w = allowed(l->endpoints->agent, peer, request->path)) == NULL) {
        /* The same whether or not there is such a credential. */
        refuse_json(answer, 403, "permission", "there is no such credential, or this user may not have it",
                    "there is no such credential, or its user may not have it");
    } else {
        world.name = cfr_worker_config(w)->name;
        if (!serve_token(&world, request, answer))
            refuse_json(answer, 404, "not-found", "not found: use /v1/token/NAME", "nothing is at its path");
    }
    count(l, "token", answer->status);
    log_refused(l, "token", answer, peer->text);
    return true;
}

bool cfr_daemon_endpoints_on_control(void *ctx, const struct cfr_httpd_peer *peer,
                                     const struct cfr_sdk_endpoint_request *request,
                                     struct cfr_sdk_endpoint_answer *answer)
{
    struct token_world world = {.agent = ctx};

    /* A peer that may not use this socket at all is refused by cfr_daemon_on_control. */
    return is_own(peer) && cfr_view_starts(request->path, TOKEN_PREFIX) && serve_token(&world, request, answer);
}
