/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that concern more than one mapping. */
#include "agent/config/crosscheck_private.h"
#include "agent/config/kinds.h"
#include "agent/config/validate_private.h"

#include <stdlib.h>
#include <string.h>

#define CLIENT_SECRET "file of an endpoint"

static const struct cfr_config_publish *target_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_publish *)c->publish.items + i;
}

struct named {
    const char *name;
    int line;
};

static int compare_names(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : x->line - y->line;
}

static void check_names(const struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    struct named *sorted = calloc(config->credentials.count + 1, sizeof *sorted);
    struct cfr_err err = {0};
    size_t n = 0;

    if (sorted == NULL) {
        ps->nomem = true;
        return;
    }
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);

        if (c->name == NULL)
            continue;
        if (cfr_config_rules_name(c->name, &err) != 0)
            cfr_config_diagnostics_add(ps, c->node.line, "credential %.63s: %s", c->name, err.text);
        sorted[n++] = (struct named){c->name, c->node.line};
    }
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i].name, sorted[i - 1].name) == 0)
            cfr_config_diagnostics_add(
                ps, sorted[i].line, "credential %.63s: name: another credential has it, on line %d; rename one of them",
                sorted[i].name, sorted[i - 1].line);
    }
    free(sorted);
}

/* Claims on one path are sorted in this order, so that those to compare are adjacent. */
enum claim_kind {
    CLAIM_DIRECTORY,
    CLAIM_FILE,
    CLAIM_OWN,
    CLAIM_KIND,
    CLAIM_SECTION,
    CLAIM_ACKNOWLEDGED,
    CLAIM_TOKEN,
    CLAIM_MOUNTED
};

/* A path that is written, or that a token is read from. */
struct claim {
    const char *path;
    enum claim_kind kind;
    const char *name; /* of the section; of the key for CLAIM_OWN */
    const struct cfr_config_credential *credential;
    int line;
    const char *key; /* CLAIM_KIND, CLAIM_SECTION: of PATH */
};

struct claims {
    struct claim *items;
    size_t count;
};

static void claim(struct claims *list, const struct claim *item)
{
    if (item->path != NULL)
        list->items[list->count++] = *item;
}

static void claim_target(struct claims *list, const struct cfr_config_credential *c, const struct cfr_config_publish *p)
{
    struct cfr_config_target_use use = {.format = -1};
    const void *config;
    const struct cfr_config_target_kind *kind = cfr_config_target_kind(p, &config);

    claim(list, &(struct claim){p->directory, CLAIM_DIRECTORY, "", c, p->node.line, NULL});
    if (p->file != NULL)
        claim(list, &(struct claim){p->file->path, CLAIM_FILE, "", c, p->file->node.line, NULL});
    if (kind != NULL) {
        kind->describe(config, &use);
        claim(list, &(struct claim){use.path, use.section != NULL ? CLAIM_SECTION : CLAIM_KIND,
                                    use.section != NULL ? use.section : "", c, use.line, use.key});
    }
}

static void claim_acknowledged(struct claims *list, const struct cfr_config_credential *c)
{
    const struct cfr_config_acknowledge *all = c->acknowledge.items;

    for (size_t i = 0; i < c->acknowledge.count; i++)
        claim(list, &(struct claim){all[i].file, CLAIM_ACKNOWLEDGED, "", c, all[i].node.line, NULL});
}

static void count_secret(void *ctx, const struct cfr_config_endpoint *endpoint,
                         const struct cfr_sdk_client_secret *secret)
{
    (void)endpoint;
    (void)secret;
    ++*(size_t *)ctx;
}

/* A file that credfresh makes has one writer; one that exists is only read, and several endpoints may want it. */
static void claim_secret(void *ctx, const struct cfr_config_endpoint *endpoint,
                         const struct cfr_sdk_client_secret *secret)
{
    (void)endpoint;
    if (!secret->existing)
        claim(ctx, &(struct claim){secret->file, CLAIM_OWN, CLIENT_SECRET, NULL, secret->node.line, NULL});
}

static bool collect_claims(const struct cfr_config *config, struct claims *list)
{
    size_t room = 4;

    for (size_t i = 0; i < config->credentials.count; i++)
        room += 2 + 3 * cfr_config_at(config, i)->publish.count + cfr_config_at(config, i)->acknowledge.count;
    cfr_config_each_client_secret(config, count_secret, &room);
    list->items = calloc(room, sizeof *list->items);
    if (list->items == NULL)
        return false;
    claim(list, &(struct claim){config->state_dir, CLAIM_OWN, "state_dir", NULL, config->node.line, NULL});
    claim(list, &(struct claim){config->control_socket, CLAIM_OWN, "control_socket", NULL, config->node.line, NULL});
    claim(list, &(struct claim){config->token_socket, CLAIM_OWN, "token_socket", NULL, config->node.line, NULL});
    if (config->service_ca != NULL)
        claim(list, &(struct claim){config->service_ca->store, CLAIM_OWN, "service_ca.store", NULL,
                                    config->service_ca->node.line, NULL});
    cfr_config_each_client_secret(config, claim_secret, list);
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);

        if (c->token != NULL)
            claim(list, &(struct claim){c->token->file, CLAIM_TOKEN, "", c, c->token->node.line, NULL});
        if (c->secret != NULL)
            claim(list, &(struct claim){c->secret->directory, CLAIM_MOUNTED, "", c, c->secret->node.line, NULL});
        for (size_t j = 0; j < c->publish.count; j++)
            claim_target(list, c, target_at(c, j));
        claim_acknowledged(list, c);
    }
    return true;
}

/* With `/` before all other bytes, so that what lies in a directory follows it at once. */
static int compare_paths(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b)
        return 0;
    if (*a == '\0' || *b == '\0')
        return *a == '\0' ? -1 : 1;
    if (*a == '/' || *b == '/')
        return *a == '/' ? -1 : 1;
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int compare_claims(const void *a, const void *b)
{
    const struct claim *x = a;
    const struct claim *y = b;
    int order = compare_paths(x->path, y->path);

    if (order == 0)
        order = (int)x->kind - (int)y->kind;
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : x->line - y->line;
}

static bool lies_in(const char *path, const char *directory)
{
    size_t n = strlen(directory);

    return strncmp(path, directory, n) == 0 && path[n] == '/';
}

/* "credential registry on line 12", as the other party of a conflict. */
static void add_party(struct cfr_str *s, const struct claim *c)
{
    if (c->credential == NULL && strcmp(c->name, CLIENT_SECRET) == 0)
        cfr_str_addf(s, "that of an endpoint (line %d)", c->line);
    else if (c->credential == NULL)
        cfr_str_addf(s, "%s of this configuration", c->name);
    else if (c->credential->name == NULL)
        cfr_str_addf(s, "the credential on line %d", c->credential->node.line);
    else
        cfr_str_addf(s, "credential %.63s (line %d)", c->credential->name, c->line);
}

static const char *key_of(const struct claim *c)
{
    switch (c->kind) {
    case CLAIM_DIRECTORY:
        return "publish.directory";
    case CLAIM_FILE:
        return "publish.file.path";
    case CLAIM_KIND:
    case CLAIM_SECTION:
        return c->key;
    case CLAIM_ACKNOWLEDGED:
        return "acknowledge.file";
    case CLAIM_TOKEN:
        return "token.file";
    case CLAIM_MOUNTED:
        return "secret.directory";
    case CLAIM_OWN:
        break;
    }
    return c->name;
}

/* Reports A, with its line; the text names B. */
static void report_conflict(struct cfr_config_diagnostics *ps, const struct claim *a, const struct claim *b)
{
    struct cfr_str other = {.limit = 128};
    const char *prefix = a->credential != NULL ? "credential " : "";
    const char *name = a->credential == NULL ? "" : cfr_config_label(a->credential->name);
    const char *how = b->kind == CLAIM_DIRECTORY && strcmp(a->path, b->path) != 0 ? "is in the directory of"
                      : b->kind == CLAIM_TOKEN                                    ? "is the token file of"
                      : b->kind == CLAIM_ACKNOWLEDGED                             ? "is the acknowledgement file of"
                      : b->kind == CLAIM_MOUNTED                                  ? "is the mounted Secret of"
                      : b->credential == NULL                                     ? "is"
                                                                                  : "is also written by";

    add_party(&other, b);
    cfr_config_diagnostics_add(ps, a->line, "%s%.63s%s%s: %.200s %s %s; choose another path%s", prefix, name,
                               a->credential != NULL ? ": " : "", key_of(a), a->path, how,
                               other.p != NULL ? other.p : "another",
                               a->kind == CLAIM_SECTION && b->kind == CLAIM_SECTION ? " or another profile name" : "");
    cfr_str_free(&other);
}

static bool may_share(const struct claim *a, const struct claim *b)
{
    if (a->kind >= CLAIM_TOKEN && b->kind >= CLAIM_TOKEN)
        return true;
    return a->kind == CLAIM_SECTION && b->kind == CLAIM_SECTION && strcmp(a->name, b->name) != 0;
}

/* The later line is the one at fault, unless the earlier one is a token or of our own. */
static void report_shared(struct cfr_config_diagnostics *ps, const struct claim *a, const struct claim *b)
{
    bool swap = a->credential == NULL || (b->credential != NULL && b->kind < CLAIM_TOKEN && a->line < b->line);

    if (a->credential != NULL && b->credential == NULL)
        swap = false;
    if (a->credential == NULL && b->credential == NULL)
        swap = a->line < b->line;
    report_conflict(ps, swap ? b : a, swap ? a : b);
}

static void report_inside(struct cfr_config_diagnostics *ps, const struct claim *c, const struct claim *outer,
                          const char *state_dir)
{
    /* That state_dir itself is shared has been reported already; the socket is in it by default. */
    if (c->kind != CLAIM_OWN || state_dir == NULL || strcmp(outer->path, state_dir) != 0)
        report_conflict(ps, c, outer);
}

/* What the kernel shows there are no files: a rename would fail, or a write would mean something else. */
static void check_pseudo(struct cfr_config_diagnostics *ps, const struct claim *c)
{
    static const char *const roots[] = {"/proc", "/sys", "/dev/pts", "/dev/mqueue"};
    bool written = c->credential != NULL && c->kind != CLAIM_OWN && c->kind < CLAIM_ACKNOWLEDGED;

    for (size_t i = 0; written && i < sizeof roots / sizeof roots[0]; i++) {
        if (strcmp(c->path, roots[i]) == 0 || lies_in(c->path, roots[i]))
            cfr_config_diagnostics_add(
                ps, c->line,
                "credential %.63s: %s: %.200s is in %s, which is not a real file system; publish below /run",
                cfr_config_label(c->credential->name), key_of(c), c->path, roots[i]);
    }
}

static void check_paths(const struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    struct claims list = {0};
    const struct claim *outer = NULL;

    if (!collect_claims(config, &list)) {
        ps->nomem = true;
        return;
    }
    qsort(list.items, list.count, sizeof *list.items, compare_claims);
    for (size_t i = 0; i < list.count; i++) {
        const struct claim *c = &list.items[i];

        check_pseudo(ps, c);
        if (i > 0 && strcmp(c->path, c[-1].path) == 0 && !may_share(c, &c[-1]))
            report_shared(ps, c, &c[-1]);
        if (outer != NULL && lies_in(c->path, outer->path))
            report_inside(ps, c, outer, config->state_dir);
        else if (c->kind == CLAIM_DIRECTORY && (outer == NULL || strcmp(c->path, outer->path) != 0))
            outer = c;
    }
    free(list.items);
}

void cfr_config_check_conflicts(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    check_names(config, problems);
    cfr_config_check_image_names(config, problems);
    if (!problems->nomem)
        check_paths(config, problems);
    if (!problems->nomem)
        cfr_config_check_cluster(config, problems);
    if (!problems->nomem)
        cfr_config_check_endpoints(config, problems);
    if (!problems->nomem)
        cfr_config_check_service_ca(config, problems);
    if (!problems->nomem)
        cfr_config_check_mint(config, problems);
}
