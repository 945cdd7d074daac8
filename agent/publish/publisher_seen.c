/* SPDX-License-Identifier: MIT */
/* What is at the targets of one credential, and whether that is what was published. */
#include "agent/publish/publisher_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATION_MAX UINT64_C(10000000000) /* of what is found in a directory that others may write to */

/* A rename changes the change time of what was renamed. */
static void look_at_time(const struct cfr_target *t, struct cfr_publish_seen *seen)
{
    const char *name;
    struct stat st;
    int dir_fd = cfr_path_open_parent(cfr_publish_path(t->config), false, &name, NULL);

    if (dir_fd < 0)
        return;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        seen->renamed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    (void)close(dir_fd);
}

void cfr_publish_look_at(const struct cfr_target *t, unsigned parts, struct cfr_publish_seen *seen)
{
    seen->known = true;
    if ((parts & CFR_LOOK_SET) != 0)
        seen->look.code = t->ops->look != NULL ? t->ops->look(t, seen, &seen->look) : 0;
    if ((parts & CFR_LOOK_KEY) != 0 && t->ops->read_key != NULL && t->credential->mint != NULL)
        t->ops->read_key(t, seen->key);
    if ((parts & CFR_LOOK_TIME) != 0 && !t->ops->has_generations)
        look_at_time(t, seen);
}

bool cfr_publish_find_route(const struct cfr_target *t, struct cfr_route *route)
{
    cfr_route_find_whole(cfr_publish_path(t->config), t->ops->has_generations, route);
    return route->storage == CFR_ROUTE_REMOTE || route->blocked;
}

bool cfr_publish_lies_remote(const struct cfr_target *t)
{
    struct cfr_route route;

    return !t->ops->is_remote && cfr_publish_find_route(t, &route);
}

/* Fills in PARTS of the state of target I: the current one, or that of the last work where this process must not check
 * it. False for a target that is not on this machine. */
static bool see(const struct cfr_publisher *p, size_t i, unsigned parts, struct cfr_publish_seen *out)
{
    struct cfr_target t = cfr_publish_target(p->config, i);

    *out = (struct cfr_publish_seen){.known = false};
    if (t.ops->is_remote)
        return false;
    if (!cfr_publish_lies_remote(&t))
        cfr_publish_look_at(&t, parts, out);
    else if (p->slots[i].seen != NULL)
        *out = *p->slots[i].seen;
    else
        (void)cfr_err_set(&out->look, CFR_E_MISSING, "%s has not been checked yet", cfr_publish_path(t.config));
    return true;
}

bool cfr_publisher_is_remote(const struct cfr_publisher *p)
{
    for (size_t i = 0; i < p->config->publish.count; i++) {
        struct cfr_target t = cfr_publish_target(p->config, i);

        if (cfr_publish_lies_remote(&t))
            return true;
    }
    return false;
}

const struct cfr_file_fingerprint cfr_publish_never = {.inode = 1, .size = 1, .mtime_ns = 1};

bool cfr_publish_is_mark(const struct cfr_file_fingerprint *a, const struct cfr_file_fingerprint *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* True also if nothing is on record, as by an older version. */
static bool is_as(const struct cfr_file_fingerprint *remembered, const struct cfr_file_fingerprint *now)
{
    const struct cfr_file_fingerprint unknown = {0};

    return cfr_publish_is_mark(remembered, &unknown) || cfr_publish_is_mark(remembered, now);
}

int cfr_publish_verify_target(const struct cfr_publisher *p, size_t i, const struct cfr_publish_record *record,
                              struct cfr_err *err)
{
    struct cfr_target t = cfr_publish_target(p->config, i);
    struct cfr_publish_seen seen;

    if (!see(p, i, CFR_LOOK_SET, &seen))
        return 0;
    if (seen.look.code != 0)
        return cfr_err_set(err, seen.look.code, "%s", seen.look.text);
    /* A publish that did not change this target has left it at an earlier generation. */
    if (t.ops->has_generations && seen.current > record->generation)
        return cfr_err_set(err, CFR_E_MISSING,
                           "%s holds generation %" PRIu64 ", and this agent has published %" PRIu64
                           ": another credfresh publishes there, or the record in state_dir is older",
                           cfr_publish_path(t.config), seen.current, record->generation);
    if (t.ops->has_generations && seen.current == 0)
        return cfr_err_set(err, CFR_E_MISSING, "%s does not hold generation %" PRIu64, cfr_publish_path(t.config),
                           record->generation);
    if (t.ops->look != NULL && !is_as(&record->targets[i], &seen.mark))
        return cfr_err_set(err, CFR_E_MISSING, "%s was changed by another program%s", cfr_publish_path(t.config),
                           t.ops->has_generations ? ", or another credfresh publishes there" : "");
    return 0;
}

int cfr_publisher_verify(const struct cfr_publisher *p, const struct cfr_publish_record *record, struct cfr_err *err)
{
    int rc = 0;

    if (record->target_count != p->config->publish.count)
        return cfr_err_set(err, CFR_E_MISSING, "the targets have changed");
    for (size_t i = 0; rc == 0 && i < p->config->publish.count; i++)
        rc = cfr_publish_verify_target(p, i, record, err);
    return rc;
}

bool cfr_publisher_may_forget(const struct cfr_publisher *p, struct cfr_publish_record *record)
{
    if (cfr_publisher_verify(p, record, NULL) != 0)
        return false;
    for (size_t i = 0; i < p->config->publish.count; i++) {
        if (cfr_publish_target(p->config, i).ops->forget != NULL)
            record->targets[i] = (struct cfr_file_fingerprint){0};
    }
    return true;
}

int cfr_publisher_verify_left(const struct cfr_publisher *p, const struct cfr_publish_record *record,
                              struct cfr_err *err)
{
    struct cfr_publish_seen seen;

    for (size_t i = 0; i < p->config->publish.count && i < record->target_count; i++) {
        struct cfr_target t = cfr_publish_target(p->config, i);

        if (!see(p, i, CFR_LOOK_SET, &seen))
            continue;
        if (seen.look.code != 0)
            return cfr_err_set(err, seen.look.code, "%s", seen.look.text);
        if (t.ops->has_generations && seen.current == 0)
            return cfr_err_set(err, CFR_E_MISSING, "%s does not hold a generation", cfr_publish_path(t.config));
        if (t.ops->look != NULL && !cfr_publish_is_mark(&record->targets[i], &cfr_publish_never) &&
            !is_as(&record->targets[i], &seen.mark))
            return cfr_err_set(err, CFR_E_MISSING, "%s was changed by another program", cfr_publish_path(t.config));
    }
    return 0;
}

void cfr_publisher_found(struct cfr_publisher *p, struct cfr_publish_record *record)
{
    struct cfr_publish_seen seen;

    p->time_ns = 0;
    for (size_t i = 0; i < p->config->publish.count; i++) {
        record->targets[i] = see(p, i, CFR_LOOK_SET | CFR_LOOK_TIME, &seen) && seen.look.code == 0
                                 ? seen.mark
                                 : (struct cfr_file_fingerprint){0};
        p->time_ns = seen.renamed_ns > p->time_ns ? seen.renamed_ns : p->time_ns;
    }
    record->target_count = p->config->publish.count;
}

/* REMOTE: how many targets before it are not on this machine. */
static bool holds_key(const struct cfr_publisher *p, size_t i, size_t remote, const struct cfr_publish_record *record,
                      const char *id)
{
    struct cfr_target t = cfr_publish_target(p->config, i);
    struct cfr_publish_seen seen;

    if (t.ops->read_key != NULL)
        return see(p, i, CFR_LOOK_SET | CFR_LOOK_KEY, &seen) && seen.look.code == 0 && strcmp(seen.key, id) == 0;
    if (record->key == NULL || strcmp(record->key->id, id) != 0)
        return false;
    return t.ops->is_remote ? remote < record->delivered_count && record->delivered[remote] == record->generation
                            : cfr_publish_verify_target(p, i, record, NULL) == 0;
}

bool cfr_publisher_holds_key(const struct cfr_publisher *p, const struct cfr_publish_record *record, const char *id)
{
    size_t remote = 0;

    for (size_t i = 0; i < p->config->publish.count; i++) {
        if (id[0] == '\0' || !holds_key(p, i, remote, record, id))
            return false;
        remote += cfr_publish_target(p->config, i).ops->is_remote;
    }
    return p->config->publish.count != 0;
}

bool cfr_publisher_holds_made_key(const struct cfr_publisher *p)
{
    struct cfr_publish_seen seen;

    for (size_t i = 0; i < p->config->publish.count; i++) {
        if (see(p, i, CFR_LOOK_SET | CFR_LOOK_KEY, &seen) && seen.look.code == 0 && seen.key[0] != '\0')
            return true;
    }
    return false;
}

uint64_t cfr_publisher_newest(const struct cfr_publisher *p)
{
    uint64_t newest = 0;
    struct cfr_publish_seen seen;

    for (size_t i = 0; i < p->config->publish.count; i++) {
        /* A greater one is not ours: another user wants us to run out of numbers. */
        if (see(p, i, CFR_LOOK_SET, &seen) && seen.current > newest && seen.current <= GENERATION_MAX)
            newest = seen.current;
    }
    return newest;
}

int64_t cfr_publisher_time_ns(const struct cfr_publisher *p)
{
    return p->time_ns;
}
