/* SPDX-License-Identifier: MIT */
/* Publisher of one credential: works at its targets one after the other, here or in a child. */
#include "agent/publish/publisher_private.h"

#include "agent/loop/sandbox.h"
#include "agent/publish/secret_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_MS 50 /* after this a child waits for something */

enum round {
    ROUND_FIRST,    /* the targets on this machine */
    ROUND_DOUBTFUL, /* those of them that may not answer */
    ROUND_SPARED,   /* those of them that are spared */
    ROUND_CLUSTER
};

/* What is under way. */
struct cfr_publish_work {
    unsigned what;
    struct cfr_publish_job job;
    struct cfr_target_content *contents[CFR_CONFIG_TARGETS_MAX];
    size_t index;
    enum round round;
    bool may_hang[CFR_CONFIG_TARGETS_MAX]; /* they lie on a network or FUSE */
    bool doubtful[CFR_CONFIG_TARGETS_MAX]; /* the same, or they did not answer the last time */
    bool spared[CFR_CONFIG_TARGETS_MAX];   /* they have what is to be published */
    struct cfr_file_fingerprint recorded[CFR_CONFIG_TARGETS_MAX];
    bool left[CFR_CONFIG_TARGETS_MAX]; /* what a killed child has left goes first */
    bool ended;
    struct cfr_errand *errand; /* at target INDEX; NULL: none */
    int64_t slow_boot_ms;
    int64_t deadline_boot_ms;
    struct cfr_publish_seen seen[]; /* of each target */
};

static void advance(struct cfr_publisher *p);

int cfr_publisher_open(const struct cfr_config_credential *c, struct cfr_publisher_crew *crew, cfr_publisher_fn *done,
                       void *ctx, struct cfr_publisher **out, struct cfr_err *err)
{
    struct cfr_publisher *p = calloc(1, sizeof *p + c->publish.count * sizeof p->slots[0]);

    if (p == NULL)
        return cfr_err_nomem(err);
    p->config = c;
    p->crew = crew;
    p->done = done;
    p->ctx = ctx;
    *out = p;
    return 0;
}

static void go_on(struct cfr_publisher *p)
{
    advance(p);
    if (p->work->ended)
        p->done(p->ctx);
}

/* Gives their turn to those that wait. */
static void serve_queue(struct cfr_publisher_crew *crew)
{
    struct cfr_publisher *p;

    while ((p = cfr_publisher_crew_next(crew)) != NULL) {
        advance(p);
        /* Its child has a deadline, which is to be asked for. */
        p->done(p->ctx);
    }
}

/* ---- one target ---- */

/* Its times are on record, too: a change of them would look like that of another program. */
static bool is_recorded(const struct cfr_target *t, const struct cfr_publish_work *work)
{
    const struct cfr_file_fingerprint unknown = {0};
    struct cfr_publish_seen seen;

    return t->ops->look != NULL && !cfr_publish_is_mark(&work->recorded[t->index], &unknown) &&
           t->ops->look(t, &seen, NULL) == 0 && cfr_publish_is_mark(&work->recorded[t->index], &seen.mark);
}

static void work_at(const struct cfr_target *t, const struct cfr_publish_work *work, struct cfr_publish_seen *seen)
{
    int rc = 0;

    if (((work->what & CFR_PUBLISHER_RECOVER) != 0 || work->left[t->index]) && t->ops->recover != NULL)
        rc = t->ops->recover(t, is_recorded(t, work), &seen->err);
    if ((work->what & CFR_PUBLISHER_PUBLISH) != 0) {
        struct cfr_target_content *content = work->contents[t->index];

        /* What a crash has left is in nobody's way. */
        seen->err = (struct cfr_err){0};
        rc = content == NULL ? cfr_publish_target_render(t, &work->job.render, &content, &seen->err) : 0;
        if (rc == 0)
            rc = t->ops->publish(t, &work->job, content, seen, &seen->err);
        if (work->contents[t->index] == NULL)
            cfr_publish_content_drop(content);
    }
    if (rc == 0 && (work->what & CFR_PUBLISHER_RETIRE) != 0 && t->ops->retire != NULL)
        rc = t->ops->retire(t, &seen->err);
    if (rc == 0 && (work->what & CFR_PUBLISHER_FORGET) != 0 && t->ops->forget != NULL)
        rc = t->ops->forget(t, &seen->err);
    /* What failed first may have been made good. */
    seen->err.code = rc;
    if (rc != 0 && !t->ops->is_remote)
        cfr_sandbox_explain(CFR_SANDBOX_WRITE, cfr_publish_path(t->config), &seen->err);
    if (!t->ops->is_remote)
        cfr_publish_look_at(t, rc == 0 && seen->known ? CFR_LOOK_KEY : CFR_LOOK_ALL, seen);
}

/* ---- in a child ---- */

/* Given as they are at the fork: the configuration and the work are not freed under it. */
struct errand_of {
    struct cfr_target target;
    struct cfr_publish_work *work;
};

static void work_as_told(void *ctx, void *result)
{
    const struct errand_of *e = ctx;
    struct cfr_publish_seen *seen = result;

    seen->hash = e->work->seen[e->target.index].hash;
    work_at(&e->target, e->work, seen);
}

/* True if root gives the directory T to another user: whose files are in it from the first generation on. */
static bool is_given(const struct cfr_target *t)
{
    struct cfr_err none = {0};
    uid_t uid;
    gid_t gid;

    return t->ops->make != NULL && t->config->owner != NULL && geteuid() == 0 &&
           cfr_publish_content_ids(t->config->owner, NULL, &uid, &gid, &none) == 0 && uid != 0;
}

static void add_gid(const char *group, struct cfr_errand_gids *gids)
{
    struct cfr_err none = {0};
    uid_t uid;
    gid_t gid;

    if (group != NULL && gids->count < CFR_ERRAND_GIDS_MAX &&
        cfr_publish_content_ids(NULL, group, &uid, &gid, &none) == 0)
        gids->gids[gids->count++] = gid;
}

/* The groups that the configuration gives T's files to. Only in a directory that its owner cannot take out of the way:
 * elsewhere a link of theirs could lead to where one of the groups may write. */
static void find_gids(const struct cfr_target *t, struct cfr_errand_gids *gids)
{
    char above[CFR_TARGET_PATH_MAX];
    struct cfr_route route;
    char *slash;

    if (!is_given(t))
        return;
    (void)snprintf(above, sizeof above, "%s", cfr_publish_path(t->config));
    slash = strrchr(above, '/');
    if (slash == NULL || slash == above)
        return;
    *slash = '\0';
    cfr_route_find(above, true, true, &route);
    if (route.foreign || route.blocked)
        return;
    add_gid(t->config->group, gids);
    for (size_t i = 0; i < t->config->files.count; i++)
        add_gid(cfr_publish_file_at(&t->config->files, i)->group, gids);
}

static void run_errand(void *ctx, void *result)
{
    struct errand_of *e = ctx;
    struct cfr_publish_seen *seen = result;
    struct cfr_errand_gids gids = {.count = 0};
    const char *path = cfr_publish_path(e->target.config);
    struct cfr_route route;

    e->work->job.may_wait = true;
    cfr_route_find(path, e->target.ops->has_generations, true, &route);
    if (!route.foreign && (e->work->what & CFR_PUBLISHER_PUBLISH) != 0 && is_given(&e->target)) {
        seen->err.code = e->target.ops->make(&e->target, &seen->err);
        if (seen->err.code != 0)
            return;
        cfr_route_find(path, true, true, &route);
    }
    if (!route.foreign || geteuid() != 0) {
        work_as_told(ctx, result);
        return;
    }
    find_gids(&e->target, &gids);
    (void)cfr_errand_as(route.uid, &gids, work_as_told, ctx, result, &seen->err);
}

/* MAY_HANG: this process must not access it. */
static bool needs_child(const struct cfr_target *t, unsigned what, const struct cfr_route *route, bool may_hang)
{
    return may_hang || (what != CFR_PUBLISHER_LOOK &&
                        (route->storage != CFR_ROUTE_MEMORY || (route->foreign && geteuid() == 0) || is_given(t)));
}

static void fail_hanging(const struct cfr_target *t, struct cfr_publish_seen *seen)
{
    seen->known = true;
    (void)cfr_err_set(
        &seen->err, CFR_E_TIMEOUT,
        "%s: its file system has not answered for %d s: look at the mount (frozen, or its server gone), or "
        "publish to another",
        cfr_publish_path(t->config), CFR_PUBLISHER_TIME_MS / 1000);
    seen->look = seen->err;
}

/* True if a child of an earlier work still hangs there. */
static bool hangs(struct cfr_publish_slot *slot)
{
    if (slot->hanging == NULL)
        return false;
    if (cfr_errand_look(slot->hanging) == CFR_ERRAND_RUNNING)
        return true;
    cfr_errand_close(slot->hanging);
    slot->hanging = NULL;
    return false;
}

/* Begins a child for target T. False if there is none: SEEN says why, or it waits for its turn. */
static bool start_errand(struct cfr_publisher *p, const struct cfr_target *t)
{
    struct cfr_publish_work *work = p->work;
    struct cfr_publish_seen *seen = &work->seen[t->index];
    struct errand_of e = {*t, work};

    if (hangs(&p->slots[t->index])) {
        fail_hanging(t, seen);
        return false;
    }
    if (!cfr_publisher_crew_has_room(p)) {
        cfr_publisher_crew_wait(p);
        return false;
    }
    if (cfr_errand_start(run_errand, &e, sizeof *seen, &work->errand, &seen->err) != 0) {
        (void)cfr_err_prefix(&seen->err, "%s", cfr_publish_path(t->config));
        return false;
    }
    cfr_publisher_crew_join(p);
    work->slow_boot_ms = cfr_clock_now().boot_ms + SLOW_MS;
    work->deadline_boot_ms = cfr_clock_now().boot_ms + CFR_PUBLISHER_TIME_MS;
    return true;
}

/* ---- all targets ---- */

/* False if a lock is held, which a child may wait for. */
static bool work_here(const struct cfr_target *t, const struct cfr_publish_work *work, struct cfr_publish_seen *seen)
{
    const struct cfr_publish_seen before = *seen;

    work_at(t, work, seen);
    if (!t->ops->locks || seen->err.code != CFR_E_TIMEOUT)
        return true;
    *seen = before;
    return false;
}

/* The cluster is not given a rotated key that a target on this machine could not take: the key before it is still in
 * use there, and goes once all targets have the new one. */
static bool keeps_back(const struct cfr_publisher *p)
{
    bool failed = false;

    for (size_t i = 0; p->config->mint != NULL && i < p->config->publish.count; i++)
        failed = failed || p->work->seen[i].err.code != 0;
    return failed;
}

static bool has_changed(const struct cfr_publisher *p)
{
    bool changed = false;

    for (size_t i = 0; i < p->config->publish.count; i++)
        changed = changed || p->work->seen[i].changed;
    return changed;
}

/* True if T has its turn. One that is spared has it after those that are not, if they have changed: then there is a new
 * generation, and all have its number. */
static bool has_turn(const struct cfr_publisher *p, const struct cfr_target *t)
{
    const struct cfr_publish_work *work = p->work;
    bool spared = work->spared[t->index];

    switch (work->round) {
    case ROUND_FIRST:
        return !t->ops->is_remote && !spared && !work->doubtful[t->index];
    case ROUND_DOUBTFUL:
        return !t->ops->is_remote && !spared && work->doubtful[t->index];
    case ROUND_SPARED:
        return !t->ops->is_remote && spared && has_changed(p);
    default:
        return t->ops->is_remote && (!spared || has_changed(p));
    }
}

/* A change by another program is one more event, which is reported. */
static void expect_event(const struct cfr_publisher *p, const struct cfr_target *t)
{
    char path[CFR_TARGET_PATH_MAX];

    if (p->watch == NULL || t->ops->renamed == NULL || !p->work->seen[t->index].changed)
        return;
    t->ops->renamed(t->config, path);
    cfr_watch_expect(p->watch, path, p->watcher);
}

/* Works at T, here or in a child, or puts it off to the next round. True while a child is waited for. */
static bool take_turn(struct cfr_publisher *p, const struct cfr_target *t)
{
    struct cfr_publish_work *work = p->work;
    struct cfr_route route;
    bool here = t->ops->is_remote;

    if (!here) {
        work->may_hang[t->index] = cfr_publish_find_route(t, &route);
        if (work->may_hang[t->index] && work->round == ROUND_FIRST) {
            work->doubtful[t->index] = true;
            return false;
        }
        p->place.mount = route.mount;
        here = !needs_child(t, work->what, &route, work->may_hang[t->index]);
    }
    if (here && work_here(t, work, &work->seen[t->index])) {
        expect_event(p, t);
        return false;
    }
    return start_errand(p, t) || p->place.queued;
}

/* Goes on with the next targets, until a child is under way, or all are done. */
static void advance(struct cfr_publisher *p)
{
    struct cfr_publish_work *work = p->work;

    while (!work->ended) {
        struct cfr_target t;

        if (work->index == p->config->publish.count) {
            work->ended = work->round == ROUND_CLUSTER ||
                          (work->round != ROUND_FIRST && ((work->what & CFR_PUBLISHER_PUBLISH) == 0 || keeps_back(p)));
            work->round++;
            work->index = 0;
            continue;
        }
        t = cfr_publish_target(p->config, work->index);
        if (has_turn(p, &t) && take_turn(p, &t))
            return;
        work->index++;
    }
}

/* True if it has ended, or was given up. */
static bool take_errand(struct cfr_publisher *p, struct cfr_now now)
{
    struct cfr_publish_work *work = p->work;
    struct cfr_publish_seen *seen = &work->seen[work->index];
    struct cfr_publish_slot *slot = &p->slots[work->index];
    struct cfr_target t = cfr_publish_target(p->config, work->index);

    switch (cfr_errand_look(work->errand)) {
    case CFR_ERRAND_DONE:
        *seen = *(const struct cfr_publish_seen *)cfr_errand_result(work->errand);
        slot->left = slot->left && !work->left[work->index];
        break;
    case CFR_ERRAND_FAILED:
        slot->left = true;
        (void)cfr_err_set(&seen->err, CFR_E_INTERNAL, "%s: the process that writes there was killed",
                          cfr_publish_path(t.config));
        break;
    default:
        if (now.boot_ms >= work->slow_boot_ms)
            cfr_publisher_crew_slow_down(p);
        if (now.boot_ms < work->deadline_boot_ms)
            return false;
        fail_hanging(&t, seen);
        cfr_errand_kill(work->errand);
        slot->left = true;
        slot->hanging = work->errand;
        work->errand = NULL;
    }
    cfr_errand_close(work->errand);
    work->errand = NULL;
    cfr_publisher_crew_leave(p);
    return true;
}

void cfr_publisher_step(struct cfr_publisher *p, struct cfr_now now)
{
    if (p->work == NULL || p->work->errand == NULL)
        return;
    if (take_errand(p, now)) {
        p->work->index++;
        go_on(p);
    }
    serve_queue(p->crew);
}

static void free_work(struct cfr_publisher *p)
{
    for (size_t i = 0; i < p->config->publish.count; i++)
        cfr_publish_content_drop(p->work->contents[i]);
    free(p->work);
    p->work = NULL;
}

/* A grant that does not fit one target changes none. */
static int render_all(struct cfr_publisher *p, struct cfr_err *err)
{
    struct cfr_publish_work *work = p->work;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->config->publish.count; i++) {
        struct cfr_target t = cfr_publish_target(p->config, i);

        /* The previous values of a key are read, too: where that may keep us waiting, its child renders. */
        if (p->config->mint == NULL || !cfr_publish_lies_remote(&t))
            rc = cfr_publish_target_render(&t, &work->job.render, &work->contents[i], err);
    }
    return rc;
}

/* What was published at some targets and is tried again for the others is not published there once more: another
 * generation would be news to their consumers. */
static void spare(struct cfr_publisher *p, const struct cfr_publish_record *record)
{
    struct cfr_publish_work *work = p->work;
    bool may = work->job.again && !cfr_publish_secret_lost(work->job.delivery);

    for (size_t i = 0; i < p->config->publish.count; i++)
        may = may && !(p->slots[i].failed && cfr_publish_target(p->config, i).ops->is_remote);
    for (size_t i = 0; i < p->config->publish.count; i++)
        work->spared[i] = may && !p->slots[i].failed && cfr_publish_verify_target(p, i, record, NULL) == 0;
}

int cfr_publisher_start(struct cfr_publisher *p, unsigned work, const struct cfr_publish_job *job,
                        const struct cfr_publish_record *record, struct cfr_err *err)
{
    size_t count = p->config->publish.count;
    int rc;

    p->work = calloc(1, sizeof *p->work + count * sizeof p->work->seen[0]);
    if (p->work == NULL)
        return cfr_err_nomem(err);
    p->work->what = work;
    for (size_t i = 0; i < count; i++) {
        p->work->seen[i].hash = record->rendered[i];
        p->work->recorded[i] = record->targets[i];
        p->work->left[i] = p->slots[i].left && (work & CFR_PUBLISHER_PUBLISH) != 0;
        p->work->doubtful[i] = p->slots[i].left || p->slots[i].hanging != NULL;
    }
    if (job != NULL) {
        p->work->job = *job;
        rc = render_all(p, err);
        if (rc != 0) {
            free_work(p);
            return rc;
        }
    }
    spare(p, record);
    advance(p);
    return p->work->ended ? 0 : 1;
}

int cfr_publisher_watch(struct cfr_publisher *p, struct cfr_watch *watch, void *watcher, struct cfr_err *err)
{
    p->watch = watch;
    p->watcher = watcher;
    return cfr_publish_watch(p->config, watch, watcher, err);
}

int64_t cfr_publisher_deadline(const struct cfr_publisher *p)
{
    if (p->work == NULL || p->work->errand == NULL)
        return INT64_MAX;
    return p->place.slow ? p->work->deadline_boot_ms : p->work->slow_boot_ms;
}

bool cfr_publisher_is_busy(const struct cfr_publisher *p)
{
    return p->work != NULL;
}

bool cfr_publisher_has_ended(const struct cfr_publisher *p)
{
    return p->work != NULL && p->work->ended;
}

static void note(struct cfr_publisher *p, size_t i, struct cfr_publish_record *record)
{
    const struct cfr_publish_seen *seen = &p->work->seen[i];
    struct cfr_target t = cfr_publish_target(p->config, i);

    if ((p->work->what & CFR_PUBLISHER_PUBLISH) != 0 && (!p->work->spared[i] || has_changed(p))) {
        p->slots[i].failed = seen->err.code != 0;
        record->rendered[i] = seen->hash;
        record->targets[i] = (struct cfr_file_fingerprint){0};
        if (!t.ops->is_remote && seen->err.code != 0)
            record->targets[i] = cfr_publish_never;
        else if (t.ops->look != NULL && seen->look.code == 0 && !t.ops->is_remote)
            record->targets[i] = seen->mark;
    }
    if ((p->work->what & CFR_PUBLISHER_FORGET) != 0 && t.ops->forget != NULL && seen->look.code == 0)
        record->targets[i] = seen->mark;
    if (!seen->known || !p->work->may_hang[i])
        return;
    if (p->slots[i].seen == NULL)
        p->slots[i].seen = malloc(sizeof *seen);
    if (p->slots[i].seen != NULL)
        *p->slots[i].seen = *seen;
}

void cfr_publisher_finish(struct cfr_publisher *p, struct cfr_publish_record *record, struct cfr_publisher_outcome *out)
{
    struct cfr_publish_work *work = p->work;

    *out = (struct cfr_publisher_outcome){.work = work->what};
    p->time_ns = 0;
    for (size_t i = 0; i < p->config->publish.count; i++) {
        const struct cfr_publish_seen *seen = &work->seen[i];

        note(p, i, record);
        out->changed = out->changed || seen->changed;
        p->time_ns = seen->renamed_ns > p->time_ns ? seen->renamed_ns : p->time_ns;
        if (seen->err.code == 0)
            out->done++;
        else if (out->failed++ == 0)
            out->err = seen->err;
    }
    if ((work->what & CFR_PUBLISHER_PUBLISH) != 0)
        record->target_count = p->config->publish.count;
    free_work(p);
}

void cfr_publisher_rebind(struct cfr_publisher *p, const struct cfr_config_credential *c)
{
    p->config = c;
    if (p->work != NULL && p->work->job.render.credential != NULL)
        p->work->job.render.credential = c->name;
}

void cfr_publisher_close(struct cfr_publisher *p)
{
    if (p == NULL)
        return;
    if (p->work != NULL) {
        if (p->place.queued)
            cfr_publisher_crew_give_up(p);
        if (p->work->errand != NULL) {
            cfr_errand_close(p->work->errand);
            p->work->errand = NULL;
            cfr_publisher_crew_leave(p);
        }
        free_work(p);
        serve_queue(p->crew);
    }
    for (size_t i = 0; i < p->config->publish.count; i++) {
        cfr_errand_close(p->slots[i].hanging);
        free(p->slots[i].seen);
    }
    free(p);
}
