/* SPDX-License-Identifier: MIT */
/* The certification authority: its state and its rotation. */
#include "pki/ca.h"

#include "pki/cert_private.h"
#include "pki/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cfr_ca_reason_is_used(const struct cfr_ca *a, const char *reason, bool *last)
{
    *last = a->reason_count != 0 && strcmp(a->reasons[a->reason_count - 1], reason) == 0;
    for (size_t i = 0; i < a->reason_count; i++) {
        if (strcmp(a->reasons[i], reason) == 0)
            return true;
    }
    return false;
}

static bool is_forced(const struct cfr_ca *a, const struct cfr_ca_rules *rules)
{
    bool last;

    return rules->force != NULL && rules->force[0] != '\0' && !cfr_ca_reason_is_used(a, rules->force, &last);
}

/* One that was made here began a little earlier than it was made. */
static bool is_imported(const struct cfr_ca *a)
{
    return a->number == 1 && a->made_s == a->generations[0].root.begins_s;
}

int64_t cfr_ca_due_s(const struct cfr_ca *a, const struct cfr_ca_rules *rules)
{
    const struct cfr_cert *root = &a->generations[0].root;
    int64_t life_s = root->ends_s - a->made_s;
    int64_t left_s = rules->rotate_below_s < life_s / 2 || is_imported(a) ? rules->rotate_below_s : life_s / 2;

    return root->ends_s - left_s;
}

enum cfr_ca_need cfr_ca_need(const struct cfr_ca *a, const struct cfr_ca_rules *rules, int64_t now_s)
{
    if (a->count == 0)
        return CFR_CA_FIRST;
    if (is_forced(a, rules))
        return CFR_CA_FORCED;
    return now_s >= cfr_ca_due_s(a, rules) ? CFR_CA_DUE : CFR_CA_NOTHING;
}

/* NEXT_S, or when C is gone if that comes before. */
static int64_t or_gone_s(const struct cfr_cert *c, int64_t now_s, int64_t next_s)
{
    return c->pem != NULL && c->ends_s >= now_s && c->ends_s + 1 < next_s ? c->ends_s + 1 : next_s;
}

int64_t cfr_ca_next_s(const struct cfr_ca *a, const struct cfr_ca_rules *rules, int64_t now_s)
{
    int64_t next_s = a->count != 0 ? cfr_ca_due_s(a, rules) : now_s;

    for (size_t i = 0; i < a->count; i++) {
        next_s = or_gone_s(&a->generations[i].outgoing, now_s, next_s);
        next_s = or_gone_s(&a->generations[i].incoming, now_s, next_s);
    }
    return next_s;
}

bool cfr_ca_is_ahead(const struct cfr_ca *a, int64_t now_s)
{
    return a->count != 0 && now_s < a->generations[0].root.begins_s;
}

/* ---- rotation ---- */

/* What a rotation makes its certificates with. */
struct turn {
    const struct cfr_ca *old;
    const struct cfr_ca_rules *rules;
    int64_t now_s;
    int64_t begins_s;
    int64_t ends_s;
    int64_t trust_ends_s; /* of everything that the replaced keys signed; INT64_MAX = by the usual rules */
};

static int make_root(struct cfr_ca *a, const struct turn *t, struct cfr_err *err)
{
    struct cfr_cert_order order = {
        .ca = true,
        .subject = t->old->count == 0 ? a->subject : NULL,
        .named = t->old->count != 0 ? &t->old->generations[0].root : NULL,
        .now_s = t->now_s,
        .begins_s = t->begins_s,
        .ends_s = t->ends_s,
    };
    int rc;

    cfr_secret_init(&a->key, CFR_KEY_PEM_MAX);
    rc = cfr_key_get(t->rules->made, t->rules->key, &a->key, err);
    order.key = cfr_secret_view(&a->key);
    order.signer = order.key;
    return rc != 0 ? rc : cfr_cert_make(&order, &a->generations[0].root, err);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Signs the new CA by the key of the one before, for clients that trust only that one. Valid as long as either of them:
 * such clients may need it even to reach the CA after a short-lived one. It ends with the trust where that was ended:
 * a client that still believes a key that has leaked has to fail, so that it is found. */
static int make_incoming(struct cfr_ca *a, const struct turn *t, struct cfr_err *err)
{
    int64_t before_ends_s = t->old->generations[0].root.ends_s;
    struct cfr_cert_order order = {
        .ca = true,
        .named = &a->generations[0].root,
        .of = &a->generations[0].root,
        .signer = cfr_secret_view(&t->old->key),
        .by = &t->old->generations[0].root,
        .now_s = t->now_s,
        .begins_s = t->begins_s,
        .ends_s = earlier(before_ends_s > t->ends_s ? before_ends_s : t->ends_s, t->trust_ends_s),
    };

    return t->old->count != 0 ? cfr_cert_make(&order, &a->generations[0].incoming, err) : 0;
}

/* Until when the old CA INDEX has to be trusted; for the one that is being replaced this is decided now. */
static int64_t promised_until(const struct turn *t, size_t index)
{
    const struct cfr_ca_generation *g = &t->old->generations[index];
    int64_t least_s = t->now_s + t->rules->rotate_below_s;

    if (index != 0)
        return g->outgoing.ends_s;
    return g->root.ends_s > least_s ? g->root.ends_s : least_s;
}

/* Not earlier than for older CAs, so that the oldest go first and no bridge between two that stay is missing. */
static int64_t trusted_until(const struct turn *t, size_t index)
{
    int64_t until_s = promised_until(t, index);

    for (size_t i = index + 1; i < t->old->count; i++) {
        if (promised_until(t, i) > until_s)
            until_s = promised_until(t, i);
    }
    return earlier(until_s, t->trust_ends_s);
}

/* Signs an old CA by the new key, for clients that trust only the new one. Also one whose trust has ended by this
 * clock, which may be wrong: bundle and chain leave it out as long as that is so. */
static int make_outgoing(struct cfr_ca *a, const struct turn *t, size_t index, struct cfr_err *err)
{
    const struct cfr_ca_generation *from = &t->old->generations[index];
    struct cfr_ca_generation *to = &a->generations[a->count];
    struct cfr_cert_order order = {
        .ca = true,
        .named = &from->root,
        .of = &from->root,
        .signer = cfr_secret_view(&a->key),
        .by = &a->generations[0].root,
        .now_s = t->now_s,
        .begins_s = t->begins_s,
        .ends_s = trusted_until(t, index),
    };
    int rc;

    a->count++;
    rc = cfr_cert_copy(&from->root, &to->root, err);
    if (rc == 0)
        rc = cfr_cert_copy(&from->incoming, &to->incoming, err);
    return rc != 0 ? rc : cfr_cert_make(&order, &to->outgoing, err);
}

static int add_reason(struct cfr_ca *a, const char *text, struct cfr_err *err)
{
    if (a->reason_count == CFR_CA_REASONS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "no room for a reason");
    a->reasons[a->reason_count] = strdup(text);
    if (a->reasons[a->reason_count] == NULL)
        return cfr_err_nomem(err);
    a->reason_count++; // NOLINT(clang-analyzer-unix.Malloc): cfr_ca_free frees it
    return 0;
}

/* Copies the used reasons, without the oldest if there is no room. */
static int copy_reasons(struct cfr_ca *a, const struct cfr_ca *old, const char *one_more, struct cfr_err *err)
{
    size_t first = one_more != NULL && old->reason_count == CFR_CA_REASONS_MAX ? 1 : 0;
    int rc = 0;

    for (size_t i = first; rc == 0 && i < old->reason_count; i++)
        rc = add_reason(a, old->reasons[i], err);
    if (rc == 0 && one_more != NULL)
        rc = add_reason(a, one_more, err);
    return rc;
}

static int make_next(struct cfr_ca *a, const struct turn *t, bool forced, struct cfr_err *err)
{
    size_t keep = t->rules->generations < CFR_CA_GENERATIONS_MAX ? t->rules->generations : CFR_CA_GENERATIONS_MAX;
    int rc;

    a->number = t->old->number + 1;
    a->made_s = t->now_s;
    (void)snprintf(a->subject, sizeof a->subject, "%s", t->old->count != 0 ? t->old->subject : t->rules->subject);
    rc = make_root(a, t, err);
    if (rc == 0)
        rc = make_incoming(a, t, err);
    a->count = 1;
    for (size_t i = 0; rc == 0 && i < t->old->count && a->count < keep; i++)
        rc = make_outgoing(a, t, i, err);
    if (rc == 0)
        rc = copy_reasons(a, t->old, forced ? t->rules->force : NULL, err);
    if (rc == 0 && forced && t->old->count != 0) {
        a->reason = strdup(t->rules->force);
        if (a->reason == NULL)
            rc = cfr_err_nomem(err);
    }
    return rc;
}

int cfr_ca_rotate(struct cfr_ca *a, const struct cfr_ca_rules *rules, int64_t now_s, struct cfr_err *err)
{
    /* The first CA uses up a configured reason as well: no second one is needed. */
    bool forced = is_forced(a, rules);
    bool special = forced && a->count != 0 && rules->force_validity_s != 0;
    bool ends_trust = forced && a->count != 0 && rules->force_trust_s != 0;
    struct turn turn = {
        .old = a,
        .rules = rules,
        .now_s = now_s,
        .begins_s = a->generations[0].root.begins_s,
        .ends_s = now_s + (special ? rules->force_validity_s : rules->validity_s),
        .trust_ends_s = ends_trust ? now_s + rules->force_trust_s : INT64_MAX,
    };
    struct cfr_ca next = {.number = 0};
    int rc = make_next(&next, &turn, forced, err);

    if (rc != 0)
        cfr_ca_free(&next);
    else
        cfr_ca_move(a, &next);
    return rc;
}

void cfr_ca_free(struct cfr_ca *a)
{
    cfr_secret_free(&a->key);
    for (size_t i = 0; i < CFR_CA_GENERATIONS_MAX; i++) {
        cfr_cert_free(&a->generations[i].root);
        cfr_cert_free(&a->generations[i].outgoing);
        cfr_cert_free(&a->generations[i].incoming);
    }
    free(a->reason);
    for (size_t i = 0; i < a->reason_count; i++)
        free(a->reasons[i]);
    *a = (struct cfr_ca){.number = 0};
}

void cfr_ca_move(struct cfr_ca *to, struct cfr_ca *from)
{
    cfr_ca_free(to);
    *to = *from;
    *from = (struct cfr_ca){.number = 0};
}
