/* SPDX-License-Identifier: MIT */
/* The requests of a signer: a list that is sorted by their paths. */
#include "agent/pki/service_ca_pod_seen_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 20000
#define TOO_MANY     "it has more than %d requests"

static bool write_path(struct cfr_view space, struct cfr_view name, char out[CFR_SERVICE_CA_POD_PATH_MAX])
{
    if (space.n == 0 || space.n > CFR_K8S_LABEL_MAX || name.n == 0 || name.n > CFR_K8S_NAME_MAX)
        return false;
    (void)snprintf(out, CFR_SERVICE_CA_POD_PATH_MAX, "%.*s/%.*s", (int)space.n, space.p, (int)name.n, name.p);
    return true;
}

/* Where PATH is, or belongs. */
static size_t place_of(const struct cfr_service_ca_pod_seen *s, const char *path)
{
    size_t low = 0;
    size_t high = s->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(s->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct cfr_service_ca_pod_seen_one *cfr_service_ca_pod_seen_find(const struct cfr_service_ca_pod_seen *s,
                                                                 const char *path)
{
    size_t at = place_of(s, path);

    return at < s->count && strcmp(s->items[at].path, path) == 0 ? &s->items[at] : NULL;
}

/* ---- namespaces ---- */

static int compare_space(const struct cfr_service_ca_pod_space *one, const char *path)
{
    size_t n = strcspn(path, "/");
    int order = strncmp(one->name, path, n);

    return order != 0 ? order : one->name[n] != '\0';
}

/* Where the namespace of PATH is, or belongs. */
static size_t place_of_space(const struct cfr_service_ca_pod_seen *s, const char *path)
{
    size_t low = 0;
    size_t high = s->space_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_space(&s->spaces[middle], path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_space(const struct cfr_service_ca_pod_seen *s, size_t at, const char *path)
{
    return at < s->space_count && compare_space(&s->spaces[at], path) == 0;
}

static int add_space(struct cfr_service_ca_pod_seen *s, size_t at, const char *path, struct cfr_err *err)
{
    char *name = strndup(path, strcspn(path, "/"));

    if (s->space_count == s->space_room) {
        size_t room = s->space_room == 0 ? 16 : s->space_room * 2;
        struct cfr_service_ca_pod_space *spaces = realloc(s->spaces, room * sizeof *spaces);

        if (spaces != NULL) {
            s->spaces = spaces;
            s->space_room = room;
        }
    }
    if (name == NULL || s->space_count == s->space_room) {
        free(name);
        return cfr_err_nomem(err);
    }
    memmove(&s->spaces[at + 1], &s->spaces[at], (s->space_count - at) * sizeof *s->spaces);
    s->spaces[at] = (struct cfr_service_ca_pod_space){.name = name};
    s->space_count++;
    return 0;
}

/* One request of the namespace of PATH less. */
static void leave_space(struct cfr_service_ca_pod_seen *s, const char *path)
{
    size_t at = place_of_space(s, path);

    if (!has_space(s, at, path) || --s->spaces[at].count != 0)
        return;
    free(s->spaces[at].name);
    s->space_count--;
    memmove(&s->spaces[at], &s->spaces[at + 1], (s->space_count - at) * sizeof *s->spaces);
}

/* Not before what is due now: a namespace does not save up turns. */
static void take_turn(struct cfr_service_ca_pod_seen *s, struct cfr_service_ca_pod_seen_one *one)
{
    size_t at = place_of_space(s, one->path);

    if (!has_space(s, at, one->path))
        return;
    one->turn = 1 + (s->spaces[at].turn > s->turn ? s->spaces[at].turn : s->turn);
    s->spaces[at].turn = one->turn;
}

/* ---- requests ---- */

static void free_one(struct cfr_service_ca_pod_seen_one *one)
{
    free(one->path);
    free(one->version);
}

static int grow(struct cfr_service_ca_pod_seen *s, struct cfr_err *err)
{
    size_t room = s->room == 0 ? 16 : s->room * 2;
    struct cfr_service_ca_pod_seen_one *items;

    if (s->count < s->room)
        return 0;
    items = realloc(s->items, room * sizeof *items);
    if (items == NULL)
        return cfr_err_nomem(err);
    s->items = items;
    s->room = room;
    return 0;
}

static void drop(struct cfr_service_ca_pod_seen *s, size_t at)
{
    leave_space(s, s->items[at].path);
    free_one(&s->items[at]);
    s->count--;
    memmove(&s->items[at], &s->items[at + 1], (s->count - at) * sizeof *s->items);
}

/* Makes room for the request PATH, at the cost of the namespace with the most; false if that is its own. */
static bool make_room(struct cfr_service_ca_pod_seen *s, const char *path)
{
    size_t own = place_of_space(s, path);
    size_t most = 0;
    size_t newest = s->count;

    for (size_t i = 1; i < s->space_count; i++) {
        if (s->spaces[i].count > s->spaces[most].count)
            most = i;
    }
    if (has_space(s, own, path) && s->spaces[own].count + 1 >= s->spaces[most].count)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        if (compare_space(&s->spaces[most], s->items[i].path) == 0 &&
            (newest == s->count || s->items[i].age > s->items[newest].age))
            newest = i;
    }
    drop(s, newest);
    return true;
}

/* Versions are numbers that grow, of all objects. Where a server has others, the order of arrival counts. */
static uint64_t age_of(struct cfr_service_ca_pod_seen *s, const char *version)
{
    int64_t number;

    s->added++;
    return cfr_view_int(cfr_view_of(version), &number) && number > 0 ? (uint64_t)number : s->added;
}

static int add(struct cfr_service_ca_pod_seen *s, const char *path, const char *version, struct cfr_err *err)
{
    struct cfr_service_ca_pod_seen_one one = {.listed = true};
    bool full = s->count == REQUESTS_MAX;
    size_t at;
    int rc;

    if (full && !make_room(s, path))
        return cfr_err_set(err, CFR_E_LIMIT, TOO_MANY, REQUESTS_MAX);
    rc = grow(s, err);
    at = place_of_space(s, path);
    if (rc == 0 && !has_space(s, at, path))
        rc = add_space(s, at, path, err);
    if (rc != 0)
        return rc;
    s->spaces[at].count++;
    one.path = strdup(path);
    one.version = strdup(version);
    if (one.path == NULL || one.version == NULL) {
        leave_space(s, path);
        free_one(&one);
        return cfr_err_nomem(err);
    }
    one.age = age_of(s, version);
    take_turn(s, &one);
    at = place_of(s, path);
    memmove(&s->items[at + 1], &s->items[at], (s->count - at) * sizeof *s->items);
    s->items[at] = one;
    s->count++;
    return full ? cfr_err_set(err, CFR_E_LIMIT, TOO_MANY, REQUESTS_MAX) : 0;
}

int cfr_service_ca_pod_seen_note(struct cfr_service_ca_pod_seen *s, struct cfr_view space, struct cfr_view name,
                                 const char *version, struct cfr_err *err)
{
    struct cfr_service_ca_pod_seen_one *one;
    char path[CFR_SERVICE_CA_POD_PATH_MAX];
    char *copy;

    if (!write_path(space, name, path))
        return cfr_err_set(err, CFR_E_ANSWER, "the API server named an object that cannot be one");
    one = cfr_service_ca_pod_seen_find(s, path);
    if (one == NULL)
        return add(s, path, version, err);
    one->listed = true;
    if (strcmp(one->version, version) == 0)
        return 0;
    copy = strdup(version);
    if (copy == NULL)
        return cfr_err_nomem(err);
    free(one->version);
    *one = (struct cfr_service_ca_pod_seen_one){.path = one->path, .version = copy, .listed = true, .age = one->age};
    take_turn(s, one);
    return 0;
}

void cfr_service_ca_pod_seen_drop(struct cfr_service_ca_pod_seen *s, struct cfr_view space, struct cfr_view name)
{
    char path[CFR_SERVICE_CA_POD_PATH_MAX];
    const struct cfr_service_ca_pod_seen_one *one =
        write_path(space, name, path) ? cfr_service_ca_pod_seen_find(s, path) : NULL;

    if (one != NULL)
        drop(s, (size_t)(one - s->items));
}

void cfr_service_ca_pod_seen_begin(struct cfr_service_ca_pod_seen *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->items[i].listed = false;
}

void cfr_service_ca_pod_seen_end(struct cfr_service_ca_pod_seen *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].listed) {
            s->items[kept++] = s->items[i];
            continue;
        }
        leave_space(s, s->items[i].path);
        free_one(&s->items[i]);
    }
    s->count = kept;
}

static bool is_due(const struct cfr_service_ca_pod_seen_one *one, int64_t now_boot_ms)
{
    return !one->done && one->next_boot_ms <= now_boot_ms;
}

/* The first by its turn. */
static struct cfr_service_ca_pod_seen_one *find_first(const struct cfr_service_ca_pod_seen *s, int64_t now_boot_ms)
{
    struct cfr_service_ca_pod_seen_one *first = NULL;

    for (size_t i = 0; i < s->count; i++) {
        struct cfr_service_ca_pod_seen_one *one = &s->items[i];

        if (is_due(one, now_boot_ms) &&
            (first == NULL || one->turn < first->turn || (one->turn == first->turn && one->age < first->age)))
            first = one;
    }
    return first;
}

struct cfr_service_ca_pod_seen_one *cfr_service_ca_pod_seen_due(struct cfr_service_ca_pod_seen *s, int64_t now_boot_ms)
{
    struct cfr_service_ca_pod_seen_one *first = find_first(s, now_boot_ms);
    struct cfr_service_ca_pod_seen_one *oldest = first;
    const struct cfr_service_ca_pod_space *space;
    uint64_t turn;

    if (first == NULL)
        return NULL;
    space = &s->spaces[place_of_space(s, first->path)];
    for (size_t i = 0; i < s->count; i++) {
        struct cfr_service_ca_pod_seen_one *one = &s->items[i];

        if (one->age < oldest->age && is_due(one, now_boot_ms) && compare_space(space, one->path) == 0)
            oldest = one;
    }
    /* A list comes in the order of names: in its namespace the oldest gets the turn. */
    turn = first->turn;
    first->turn = oldest->turn;
    oldest->turn = turn;
    s->turn = turn > s->turn ? turn : s->turn;
    return oldest;
}

void cfr_service_ca_pod_seen_put_back(struct cfr_service_ca_pod_seen *s, struct cfr_service_ca_pod_seen_one *one,
                                      int64_t next_boot_ms)
{
    one->next_boot_ms = next_boot_ms;
    take_turn(s, one);
}

int64_t cfr_service_ca_pod_seen_next(const struct cfr_service_ca_pod_seen *s)
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; i < s->count; i++) {
        if (!s->items[i].done && s->items[i].next_boot_ms < at)
            at = s->items[i].next_boot_ms;
    }
    return at;
}

bool cfr_service_ca_pod_seen_waits(const struct cfr_service_ca_pod_seen *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->items[i].done && s->items[i].backoff.failures != 0)
            return true;
    }
    return false;
}

void cfr_service_ca_pod_seen_resume(struct cfr_service_ca_pod_seen *s, int64_t now_boot_ms)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].backoff.failures == 0 || s->items[i].next_boot_ms <= now_boot_ms)
            continue;
        s->items[i].backoff = (struct cfr_backoff){0};
        s->items[i].next_boot_ms = now_boot_ms;
    }
}

void cfr_service_ca_pod_seen_finish(struct cfr_service_ca_pod_seen_one *one, const char *version)
{
    char *copy = strcmp(one->version, version) == 0 ? NULL : strdup(version);

    if (copy != NULL) {
        free(one->version);
        one->version = copy;
    }
    one->done = true;
    one->backoff = (struct cfr_backoff){0};
}

void cfr_service_ca_pod_seen_free(struct cfr_service_ca_pod_seen *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_one(&s->items[i]);
    for (size_t i = 0; i < s->space_count; i++)
        free(s->spaces[i].name);
    free(s->spaces);
    free(s->items);
    *s = (struct cfr_service_ca_pod_seen){0};
}
