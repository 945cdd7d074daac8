/* SPDX-License-Identifier: MIT */
/* Acknowledgements of a worker's consumers: reads their files, takes the answers to hooks, warns of late ones. */
#include "agent/worker/worker_private.h"

#include "agent/hook/ack.h"
#include "agent/publish/targets.h"
#include "base/log.h"
#include "base/time.h"
#include "files/file.h"
#include "files/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_MS      1000000
#define FILE_TEXT_MAX  64 /* more is no number */
#define NAME_FILE_TEXT "file "

/* The consumers with files come first, in the order of the configuration, then those behind hooks. */
struct cfr_worker_ack {
    struct cfr_hook_ack core;
    struct cfr_watcher watcher;
    struct cfr_api_status_consumer status[CFR_HOOK_ACK_CONSUMERS_MAX];
    char *names[CFR_HOOK_ACK_CONSUMERS_MAX];    /* heap, of those with files */
    bool unread[CFR_HOOK_ACK_CONSUMERS_MAX];    /* a file that cannot be read: said once */
    size_t sources[CFR_HOOK_ACK_CONSUMERS_MAX]; /* index in `acknowledge`, or in `reload` */
    size_t files;
    int64_t published_ns; /* by the clock of the file systems */
    int64_t look_boot_ms; /* when the files are looked at again whatever happens */
};

static const struct cfr_config_acknowledge *config_of(const struct cfr_worker *w, size_t i)
{
    return (const struct cfr_config_acknowledge *)w->config->acknowledge.items + i;
}

static const char *name_of(const struct cfr_worker *w, size_t i)
{
    return i < w->ack->files ? w->ack->names[i] : cfr_hook_name(w->hooks, w->ack->sources[i]);
}

static void add(struct cfr_worker_ack *a, const struct cfr_config_acknowledge *how, size_t source)
{
    a->sources[a->core.count] = source;
    a->core.consumers[a->core.count++] = (struct cfr_hook_ack_consumer){
        .wait = how->wait, .limit_ms = how->limit_ms, .behind_after_ms = how->behind_after_ms};
}

static int add_files(struct cfr_worker *w, struct cfr_worker_ack *a, struct cfr_err *err)
{
    for (size_t i = 0; i < w->config->acknowledge.count; i++) {
        const char *path = config_of(w, i)->file;
        size_t room = path != NULL ? strlen(path) + sizeof NAME_FILE_TEXT : 0;

        if (path == NULL)
            continue;
        a->names[a->files] = malloc(room);
        if (a->names[a->files] == NULL)
            return cfr_err_nomem(err);
        (void)snprintf(a->names[a->files++], room, NAME_FILE_TEXT "%s", path);
        add(a, config_of(w, i), i);
    }
    return 0;
}

static void add_hooks(struct cfr_worker *w, struct cfr_worker_ack *a)
{
    struct cfr_config_acknowledge how = {.limit_ms = CFR_ACK_LIMIT_MS, .behind_after_ms = CFR_ACK_BEHIND_AFTER_MS};

    for (size_t i = 0; i < w->config->acknowledge.count; i++) {
        if (config_of(w, i)->hooks)
            how = *config_of(w, i);
    }
    for (size_t i = 0; i < cfr_hook_count(w->hooks); i++) {
        if (cfr_hook_acknowledges(w->hooks, i))
            add(a, &how, i);
    }
}

/* What an earlier run, or the one before a reload, knew of the same consumers. */
static void restore(struct cfr_worker *w, struct cfr_worker_ack *a)
{
    struct cfr_now now = cfr_clock_now();
    int64_t published_ms = w->record.published_ns / NS_PER_MS;
    int64_t age_ms = published_ms < now.wall_ms ? now.wall_ms - published_ms : 0;
    bool same = w->record.digest == w->config->digest && w->record.acknowledged_count == a->core.count;

    a->published_ns = w->record.published_ns;
    cfr_hook_ack_published(&a->core, w->record.generation, now.boot_ms - age_ms);
    for (size_t i = 0; same && i < a->core.count; i++) {
        (void)cfr_hook_ack_said(&a->core, i, w->record.acknowledged[i], 0);
        if (i >= a->files)
            cfr_hook_restore_said(w->hooks, a->sources[i], w->record.acknowledged[i]);
    }
}

static void free_ack(struct cfr_worker_ack *a)
{
    for (size_t i = 0; a != NULL && i < a->files; i++)
        free(a->names[i]);
    free(a);
}

int cfr_worker_ack_open(struct cfr_worker *w, void (*changed)(void *ctx), struct cfr_err *err)
{
    struct cfr_worker_ack *a = calloc(1, sizeof *a);
    int rc;

    w->ack = NULL;
    if (a == NULL)
        return cfr_err_nomem(err);
    a->watcher = (struct cfr_watcher){.changed = changed, .ctx = w};
    a->look_boot_ms = INT64_MAX;
    rc = add_files(w, a, err);
    add_hooks(w, a);
    if (rc == 0 && a->core.count != 0) {
        restore(w, a);
        w->ack = a;
        return 0;
    }
    free_ack(a);
    return rc;
}

void cfr_worker_ack_close(struct cfr_worker *w)
{
    if (w->ack != NULL && w->host->watch != NULL)
        cfr_watch_remove(w->host->watch, &w->ack->watcher);
    free_ack(w->ack);
    w->ack = NULL;
}

void cfr_worker_ack_watch(struct cfr_worker *w)
{
    struct cfr_err err = {0};

    if (w->ack == NULL)
        return;
    for (size_t i = 0; w->host->watch != NULL && i < w->ack->files; i++) {
        const char *path = config_of(w, w->ack->sources[i])->file;
        struct cfr_route route;

        cfr_route_find(path, false, false, &route);
        if (route.storage != CFR_ROUTE_REMOTE && !route.blocked &&
            cfr_watch_add(w->host->watch, path, &w->ack->watcher, &err) != 0)
            cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "%s; polling once a minute", err.text);
    }
}

/* ---- what they acknowledge ---- */

/* True if it is news. */
static bool note_generation(struct cfr_worker *w, size_t i, uint64_t generation, int64_t said_s)
{
    struct cfr_worker_ack *a = w->ack;
    bool late = a->core.consumers[i].reported;

    if (!cfr_hook_ack_said(&a->core, i, generation, said_s))
        return false;
    if (cfr_hook_ack_is_current(&a->core, i))
        a->core.consumers[i].reported = false;
    cfr_log(late && !a->core.consumers[i].reported ? CFR_LOG_INFO : CFR_LOG_DEBUG, w->config->name,
            cfr_worker_state_name(w), "the consumer of %s has generation %" PRIu64 " in use%s", name_of(w, i),
            generation, late && !a->core.consumers[i].reported ? " at last" : "");
    return true;
}

/* The writer of the file need not be trusted. */
static int read_path(const char *path, struct cfr_secret *text, struct cfr_hook_ack_file *out, struct cfr_err *err)
{
    struct cfr_file_origin origin = {0};
    int rc = cfr_file_read_foreign(path, text, &origin, err);

    /* What is so long is no number, but it may have been touched. */
    if (rc != 0 && rc != CFR_E_LIMIT)
        return rc;
    *out = (struct cfr_hook_ack_file){cfr_secret_view(text), rc == CFR_E_LIMIT || origin.size == text->len,
                                      origin.mtime_ns};
    return 0;
}

/* The file of consumer I. True if there is one that could be read. */
static bool read_file(struct cfr_worker *w, size_t i, struct cfr_secret *text, struct cfr_hook_ack_file *out)
{
    const char *path = config_of(w, w->ack->sources[i])->file;
    struct cfr_err err = {0};
    int rc = read_path(path, text, out, &err);
    bool bad = rc != 0 && rc != CFR_E_MISSING;

    if (bad && !w->ack->unread[i])
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "cannot read what a consumer acknowledges in %s: %s", path, err.text);
    w->ack->unread[i] = bad;
    return rc == 0;
}

static bool check_file(struct cfr_worker *w, size_t i, struct cfr_now now)
{
    struct cfr_worker_ack *a = w->ack;
    struct cfr_secret text;
    struct cfr_hook_ack_file file = {.mtime_ns = 0};
    uint64_t generation = 0;
    bool again = false;

    cfr_secret_init(&text, FILE_TEXT_MAX);
    if (read_file(w, i, &text, &file))
        generation = cfr_hook_ack_read(&file, a->core.generation, a->published_ns, now.wall_ms * NS_PER_MS, &again);
    cfr_secret_free(&text);
    if (again && !cfr_hook_ack_is_current(&a->core, i))
        a->look_boot_ms = now.boot_ms + CFR_HOOK_ACK_SETTLE_MS;
    return generation != 0 && note_generation(w, i, generation, file.mtime_ns / 1000 / NS_PER_MS);
}

bool cfr_worker_ack_look(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    bool news = false;

    if (w->ack == NULL)
        return false;
    w->ack->look_boot_ms = INT64_MAX;
    for (size_t i = 0; i < w->ack->files; i++)
        news = check_file(w, i, now) || news;
    return news;
}

bool cfr_worker_ack_hooks(struct cfr_worker *w)
{
    bool news = false;

    for (size_t i = w->ack != NULL ? w->ack->files : 0; w->ack != NULL && i < w->ack->core.count; i++)
        news =
            note_generation(w, i, cfr_hook_said(w->hooks, w->ack->sources[i]), cfr_clock_now().wall_ms / 1000) || news;
    return news;
}

/* ---- what follows ---- */

void cfr_worker_ack_published(struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();
    int64_t stands_ns = cfr_publisher_time_ns(w->targets);

    w->record.published_ns = stands_ns != 0 ? stands_ns : now.wall_ms * NS_PER_MS;
    if (w->ack == NULL)
        return;
    w->ack->published_ns = w->record.published_ns;
    cfr_hook_ack_published(&w->ack->core, w->record.generation, now.boot_ms);
}

void cfr_worker_ack_record(struct cfr_worker *w)
{
    w->record.acknowledged_count = w->ack != NULL ? w->ack->core.count : 0;
    for (size_t i = 0; i < w->record.acknowledged_count; i++)
        w->record.acknowledged[i] = w->ack->core.consumers[i].generation;
}

bool cfr_worker_ack_step(struct cfr_worker *w, struct cfr_now now)
{
    char words[CFR_TIME_WORDS_MAX];
    bool news = false;
    size_t i;

    if (w->ack == NULL)
        return false;
    if (w->ack->look_boot_ms <= now.boot_ms)
        news = cfr_worker_ack_look(w);
    while ((i = cfr_hook_ack_next_behind(&w->ack->core, now.boot_ms)) < w->ack->core.count) {
        const struct cfr_hook_ack_consumer *c = &w->ack->core.consumers[i];
        char has[64] = "it has not acknowledged any";

        if (c->generation != 0)
            (void)snprintf(has, sizeof has, "it has generation %" PRIu64 " in use", c->generation);
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "the consumer of %s has not acknowledged generation %" PRIu64 ", published %s ago: %s", name_of(w, i),
                w->ack->core.generation, cfr_time_words(now.boot_ms - w->ack->core.published_boot_ms, words), has);
    }
    return news;
}

int64_t cfr_worker_ack_deadline(const struct cfr_worker *w)
{
    int64_t at;

    if (w->ack == NULL)
        return INT64_MAX;
    at = cfr_hook_ack_deadline(&w->ack->core);
    return w->ack->look_boot_ms < at ? w->ack->look_boot_ms : at;
}

int64_t cfr_worker_ack_retire_at(const struct cfr_worker *w)
{
    return w->ack != NULL ? cfr_hook_ack_retire_at(&w->ack->core, w->retire_boot_ms) : w->retire_boot_ms;
}

bool cfr_worker_ack_all(const struct cfr_worker *w)
{
    for (size_t i = 0; w->ack != NULL && i < w->ack->core.count; i++) {
        if (!cfr_hook_ack_is_current(&w->ack->core, i))
            return false;
    }
    return true;
}

void cfr_worker_ack_retired(const struct cfr_worker *w)
{
    for (size_t i = 0; w->ack != NULL && i < w->ack->core.count; i++) {
        if (w->ack->core.consumers[i].wait && !cfr_hook_ack_is_current(&w->ack->core, i))
            cfr_log(
                CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "removed the previous generation, although the consumer of %s has not acknowledged generation %" PRIu64
                " within its limit",
                name_of(w, i), w->ack->core.generation);
    }
}

void cfr_worker_ack_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out)
{
    struct cfr_worker_ack *a = w->ack;

    if (a == NULL)
        return;
    for (size_t i = 0; i < a->core.count; i++)
        a->status[i] = (struct cfr_api_status_consumer){
            .name = name_of(w, i),
            .generation = a->core.consumers[i].generation,
            .said_s = a->core.consumers[i].said_s,
            .current = cfr_hook_ack_is_current(&a->core, i) && a->core.generation != 0,
            .behind = cfr_hook_ack_is_behind(&a->core, i, now.boot_ms),
        };
    out->consumers = a->status;
    out->consumer_count = a->core.count;
    out->previous_held = w->retire_boot_ms <= now.boot_ms && cfr_worker_ack_retire_at(w) > now.boot_ms;
}
