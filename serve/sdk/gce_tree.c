/* SPDX-License-Identifier: MIT */
/* The directory tree of the GCE metadata shape: what is at which path. */
#include "serve/sdk/gce_private.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXED_NODES    18  /* all but what is below service-accounts/ */
#define ACCOUNT_NODES  6   /* an account's directory and its leaves */
#define NAME_MAX_BYTES 512 /* longer than any email or alias */

static const char cloud_platform[] = "https://www.googleapis.com/auth/cloud-platform";

uint64_t cfr_sdk_gce_hash_text(uint64_t hash, const char *text)
{
    return cfr_hash_add(hash, text, text != NULL ? strlen(text) : 0);
}

static const struct cfr_sdk_gce_account *account_at(const struct cfr_sdk_gce_metadata *c, size_t i)
{
    return (const struct cfr_sdk_gce_account *)c->accounts.items + i;
}

/* ---- whose entries are whose ---- */

/* The identity of what ENTRY's credential has to offer, if it is an email; else p is NULL. */
static struct cfr_view granted_email(const struct cfr_sdk_gce_account *entry, const struct cfr_sdk_endpoint_world *w,
                                     bool *waits)
{
    struct cfr_offer offer = {0};
    struct cfr_view identity;

    *waits = false;
    if (entry->credential == NULL || !w->offer(w->ctx, entry->credential, &offer))
        return (struct cfr_view){NULL, 0};
    *waits = offer.grant == NULL;
    identity = cfr_view_of(offer.grant != NULL ? offer.grant->identity : NULL);
    if (cfr_view_find(identity, "@") <= 0 || cfr_view_find(identity, "/") >= 0 || !cfr_view_printable(identity))
        return (struct cfr_view){NULL, 0};
    return identity;
}

/* An entry without an email is an account of its own if it has an alias, and is in no account as long as its email is
 * not known: in the first account it would be given the other's tokens. */
static void gather_member(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_account *entry,
                          const struct cfr_sdk_endpoint_world *w, size_t i)
{
    struct cfr_sdk_gce_member *m = &t->members[i];

    m->first = i;
    if (entry->email != NULL)
        m->email = cfr_view_of(entry->email);
    else
        m->email = granted_email(entry, w, &m->waits);
    if (m->email.n == 0 && i != 0 && (m->waits || entry->aliases.count != 0)) {
        m->email = cfr_view_of(entry->aliases.count != 0 ? entry->aliases.items[0] : NULL);
        return;
    }
    if (m->email.n == 0)
        m->email = i != 0 ? t->members[0].email : cfr_view_of("default");
    for (size_t k = i; k-- > 0;) {
        if (cfr_view_eq(t->members[k].email, m->email))
            m->first = k;
    }
}

/* ---- lists ---- */

/* Adds LINE to what began at FROM, unless it is there. */
static void add_line(struct cfr_sdk_gce_tree *t, size_t from, const char *line)
{
    for (size_t i = from; i < t->line_count; i++) {
        if (cfr_view_is(t->lines[i], line))
            return;
    }
    t->lines[t->line_count++] = cfr_view_of(line);
}

static void add_lines(struct cfr_sdk_gce_tree *t, size_t from, const struct cfr_strings *all)
{
    for (size_t i = 0; i < all->count; i++)
        add_line(t, from, all->items[i]);
}

static void gather_aliases(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c, size_t account)
{
    size_t from = t->line_count;

    if (account == 0)
        add_line(t, from, "default");
    for (size_t i = account; i < c->accounts.count; i++) {
        if (t->members[i].first == account)
            add_lines(t, from, &account_at(c, i)->aliases);
    }
}

static void gather_scopes(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c, size_t account)
{
    size_t from = t->line_count;

    for (size_t i = account; i < c->accounts.count; i++) {
        const struct cfr_sdk_gce_account *entry = account_at(c, i);

        if (t->members[i].first != account || entry->credential == NULL)
            continue;
        add_lines(t, from, &entry->scopes);
        if (entry->scopes.count == 0)
            add_line(t, from, cloud_platform);
    }
}

/* ---- nodes ---- */

static struct cfr_sdk_gce_node *add(struct cfr_sdk_gce_tree *t, unsigned depth, enum cfr_sdk_gce_kind kind,
                                    struct cfr_view name)
{
    struct cfr_sdk_gce_node *n = &t->nodes[t->count++];

    *n = (struct cfr_sdk_gce_node){.kind = kind, .depth = depth, .name = name};
    return n;
}

/* A leaf that is there only where it has a value. Returns it, or NULL. */
static struct cfr_sdk_gce_node *add_value(struct cfr_sdk_gce_tree *t, unsigned depth, enum cfr_sdk_gce_kind kind,
                                          const char *name, const char *value)
{
    struct cfr_sdk_gce_node *n;

    if (value == NULL || value[0] == '\0')
        return NULL;
    n = add(t, depth, kind, cfr_view_of(name));
    n->value = cfr_view_of(value);
    return n;
}

static void add_account(struct cfr_sdk_gce_tree *t, struct cfr_view name, size_t account,
                        const struct cfr_sdk_gce_node *leaves)
{
    struct cfr_sdk_gce_node *dir = add(t, 4, CFR_SDK_GCE_DIRECTORY, name);

    dir->verbatim = true;
    dir->account = account;
    for (size_t i = 0; i + 1 < ACCOUNT_NODES; i++)
        t->nodes[t->count++] = leaves[i];
}

/* A leaf of an account, with its one VALUE or its COUNT lines. */
static struct cfr_sdk_gce_node leaf(enum cfr_sdk_gce_kind kind, const char *name, size_t account,
                                    const struct cfr_view *value, size_t count)
{
    struct cfr_sdk_gce_node n = {.kind = kind, .depth = 5, .name = cfr_view_of(name), .account = account};

    if (kind == CFR_SDK_GCE_TEXT)
        n.value = *value;
    n.lines = value;
    n.line_count = count;
    return n;
}

/* One account under all its names: its email, its aliases (of which only "default" is shown), and "default" itself. */
static void add_names(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c, size_t account)
{
    struct cfr_view email = t->members[account].email;
    const struct cfr_view *aliases = t->lines + t->line_count;
    const struct cfr_view *scopes;
    size_t alias_count;

    gather_aliases(t, c, account);
    scopes = t->lines + t->line_count;
    alias_count = (size_t)(scopes - aliases);
    gather_scopes(t, c, account);

    const struct cfr_sdk_gce_node leaves[ACCOUNT_NODES - 1] = {
        leaf(CFR_SDK_GCE_LINES, "aliases", account, aliases, alias_count),
        leaf(CFR_SDK_GCE_TEXT, "email", account, &t->members[account].email, 0),
        leaf(CFR_SDK_GCE_IDENTITY, "identity", account, NULL, 0),
        leaf(CFR_SDK_GCE_LINES, "scopes", account, scopes, (size_t)(t->lines + t->line_count - scopes)),
        leaf(CFR_SDK_GCE_TOKEN, "token", account, NULL, 0),
    };

    for (size_t i = 0; i < alias_count; i++) {
        add_account(t, aliases[i], account, leaves);
        t->nodes[t->count - ACCOUNT_NODES].hidden = !cfr_view_is(aliases[i], "default");
    }
    if (!cfr_view_is(email, "default") && !t->members[account].waits)
        add_account(t, email, account, leaves);
}

static void add_instance(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c)
{
    const char *location = c->cluster_location != NULL ? c->cluster_location : c->zone;
    struct cfr_sdk_gce_node *n;

    (void)add(t, 2, CFR_SDK_GCE_DIRECTORY, cfr_view_of("instance"));
    (void)add(t, 3, CFR_SDK_GCE_DIRECTORY, cfr_view_of("attributes"));
    n = add_value(t, 4, CFR_SDK_GCE_TEXT, "cluster-location", c->cluster_name != NULL ? location : c->cluster_location);
    if (n != NULL)
        n->verbatim = true;
    n = add_value(t, 4, CFR_SDK_GCE_TEXT, "cluster-name", c->cluster_name);
    if (n != NULL)
        n->verbatim = true;
    (void)add_value(t, 3, CFR_SDK_GCE_TEXT, "hostname", t->hostname);
    (void)add_value(t, 3, CFR_SDK_GCE_NUMBER, "id", t->instance_id);
    (void)add_value(t, 3, CFR_SDK_GCE_TEXT, "name", c->instance_name);
    (void)add(t, 3, CFR_SDK_GCE_DIRECTORY, cfr_view_of("service-accounts"));
    for (size_t i = 0; i < c->accounts.count; i++) {
        if (t->members[i].first == i)
            add_names(t, c, i);
    }
    (void)add_value(t, 3, CFR_SDK_GCE_TEXT, "zone", t->zone);
}

/* A text that does not fit is no text: a name must not be shown cut. */
static void keep_if(char *text, int n, size_t cap)
{
    if (n < 0 || (size_t)n >= cap)
        text[0] = '\0';
}

static void derive(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c)
{
    const char *number = c->numeric_project_id != NULL ? c->numeric_project_id : c->project_id;
    const char *zone = c->zone != NULL ? c->zone : "";
    uint64_t id;

    if (c->zone != NULL && number != NULL)
        keep_if(t->zone, snprintf(t->zone, sizeof t->zone, "projects/%s/zones/%s", number, zone), sizeof t->zone);
    if (c->instance_name != NULL && c->project_id != NULL)
        keep_if(t->hostname,
                snprintf(t->hostname, sizeof t->hostname, "%s%s%s.c.%s.internal", c->instance_name,
                         c->zone != NULL ? "." : "", zone, c->project_id),
                sizeof t->hostname);
    if (c->instance_id != NULL) {
        keep_if(t->instance_id, snprintf(t->instance_id, sizeof t->instance_id, "%s", c->instance_id),
                sizeof t->instance_id);
    } else if (c->instance_name != NULL) {
        id = cfr_sdk_gce_hash_text(CFR_HASH_START, number);
        id = cfr_sdk_gce_hash_text(cfr_sdk_gce_hash_text(id, "/"), zone);
        id = cfr_sdk_gce_hash_text(cfr_sdk_gce_hash_text(id, "/"), c->instance_name);
        /* Below 2^63, for clients that read it into a signed number, and never 0. */
        (void)snprintf(t->instance_id, sizeof t->instance_id, "%" PRIu64, (id >> 1) | 1);
    }
}

static bool make_room(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c)
{
    size_t names = 1 + c->accounts.count;
    size_t lines = 1 + c->accounts.count;

    for (size_t i = 0; i < c->accounts.count; i++) {
        names += account_at(c, i)->aliases.count;
        lines += account_at(c, i)->aliases.count + account_at(c, i)->scopes.count;
    }
    t->nodes = calloc(FIXED_NODES + names * ACCOUNT_NODES, sizeof *t->nodes);
    t->members = calloc(c->accounts.count + 1, sizeof *t->members);
    t->lines = calloc(lines, sizeof *t->lines);
    return t->nodes != NULL && t->members != NULL && t->lines != NULL;
}

bool cfr_sdk_gce_tree_make(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c,
                           const struct cfr_sdk_endpoint_world *w)
{
    struct cfr_sdk_gce_node *n;

    *t = (struct cfr_sdk_gce_tree){0};
    if (!make_room(t, c))
        return false;
    for (size_t i = 0; i < c->accounts.count; i++)
        gather_member(t, account_at(c, i), w, i);
    derive(t, c);
    (void)add(t, 0, CFR_SDK_GCE_DIRECTORY, cfr_view_of("computeMetadata"));
    (void)add(t, 1, CFR_SDK_GCE_DIRECTORY, cfr_view_of("v1"));
    add_instance(t, c);
    (void)add(t, 2, CFR_SDK_GCE_DIRECTORY, cfr_view_of("project"));
    (void)add_value(t, 3, CFR_SDK_GCE_NUMBER, "numeric-project-id", c->numeric_project_id);
    (void)add_value(t, 3, CFR_SDK_GCE_TEXT, "project-id", c->project_id);
    (void)add(t, 2, CFR_SDK_GCE_DIRECTORY, cfr_view_of("universe"));
    (void)add_value(t, 3, CFR_SDK_GCE_TEXT, "universe-domain", c->universe_domain);
    /* google-auth for Python asked with an underscore in 2024. */
    n = add_value(t, 3, CFR_SDK_GCE_TEXT, "universe_domain", c->universe_domain);
    if (n != NULL)
        n->hidden = true;
    return true;
}

void cfr_sdk_gce_tree_free(struct cfr_sdk_gce_tree *t)
{
    free(t->nodes);
    free(t->members);
    free(t->lines);
    *t = (struct cfr_sdk_gce_tree){0};
}

/* ---- by path ---- */

/* The child NAME of the directory whose children have DEPTH and begin at FROM. */
static size_t child(const struct cfr_sdk_gce_tree *t, size_t from, unsigned depth, const char *name)
{
    for (size_t i = from; i < t->count && t->nodes[i].depth >= depth; i++) {
        if (t->nodes[i].depth == depth && cfr_view_is(t->nodes[i].name, name))
            return i;
    }
    return CFR_SDK_GCE_NO_NODE;
}

size_t cfr_sdk_gce_tree_find(const struct cfr_sdk_gce_tree *t, struct cfr_view path, bool *slash)
{
    size_t at = CFR_SDK_GCE_NO_NODE;
    unsigned depth = 0;
    char name[NAME_MAX_BYTES];

    *slash = path.n != 0 && path.p[path.n - 1] == '/';
    if (path.n == 0 || path.p[0] != '/')
        return CFR_SDK_GCE_NO_NODE;
    if (*slash)
        path.n--;
    for (size_t begin = 1; begin <= path.n; depth++) {
        const char *end = memchr(path.p + begin, '/', path.n - begin);
        size_t n = (end != NULL ? (size_t)(end - path.p) : path.n) - begin;

        if (!cfr_sdk_endpoint_decode((struct cfr_view){path.p + begin, n}, name, sizeof name))
            return CFR_SDK_GCE_NO_NODE;
        at = child(t, depth == 0 ? 0 : at + 1, depth, name);
        if (at == CFR_SDK_GCE_NO_NODE)
            return at;
        begin += n + 1;
    }
    return at;
}
