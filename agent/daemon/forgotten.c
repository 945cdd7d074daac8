/* SPDX-License-Identifier: MIT */
/* Long-lived keys of credentials that left the configuration: logged once, and kept for status and metrics. */
#include "agent/daemon/daemon_private.h"

#include "agent/loop/slow_state.h"
#include "agent/rotation/leftover.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

struct finding {
    struct cfr_daemon *agent;
    struct cfr_api_status_forgotten *found; /* what there was before is in the agent */
    size_t count;
};

static void free_list(struct cfr_api_status_forgotten *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].subject);
        free(list[i].keys);
        free(list[i].error);
    }
    free(list);
}

void cfr_daemon_forgotten_free(struct cfr_daemon *a)
{
    free_list(a->forgotten, a->forgotten_count);
    a->forgotten = NULL;
    a->forgotten_count = 0;
}

static bool was_known(const struct cfr_daemon *a, const char *name)
{
    for (size_t i = 0; i < a->forgotten_count; i++) {
        if (strcmp(a->forgotten[i].name, name) == 0)
            return true;
    }
    return false;
}

static void on_found(void *ctx, const char *name, const struct cfr_rotation_journal *j, const struct cfr_err *err)
{
    struct finding *f = ctx;
    size_t count = j != NULL ? cfr_rotator_leftover_count(j) : 0;
    struct cfr_str keys = {.limit = CFR_ROTATOR_LEFTOVER_MAX};
    struct cfr_api_status_forgotten *more = realloc(f->found, (f->count + 1) * sizeof *f->found);

    if (more == NULL)
        return;
    f->found = more;
    if (j != NULL)
        cfr_rotator_leftover_keys(j, &keys);
    f->found[f->count] = (struct cfr_api_status_forgotten){
        .name = strdup(name),
        .subject = j != NULL ? strdup(j->subject) : NULL,
        .keys = keys.p != NULL ? strdup(keys.p) : NULL,
        .error = err != NULL ? strdup(err->text) : NULL,
        .count = count != 0 ? count : 1,
    };
    cfr_str_free(&keys);
    if (f->found[f->count].name == NULL)
        return;
    if (!was_known(f->agent, name) && j != NULL)
        cfr_log(CFR_LOG_WARN, name, NULL,
                "this rotated key was removed from the configuration; its keys of %.200s remain valid until an "
                "operator deletes them in the cloud: %s; `credfresh forget %s` then deletes their record",
                j->subject, f->found[f->count].keys != NULL ? f->found[f->count].keys : "", name);
    else if (!was_known(f->agent, name))
        cfr_log(
            CFR_LOG_WARN, name, NULL,
            "the configuration has no rotated key of this name any more, and which keys there are is not known: the "
            "journal %s+mint.json in state_dir cannot be read: %s",
            name, err->text);
    f->count++;
}

void cfr_daemon_look_forgotten(struct cfr_daemon *a)
{
    struct finding f = {.agent = a};
    struct cfr_err err = {0};

    /* What does not answer is looked at a minute later. */
    if (cfr_slow_state_answers(a->config->state_dir, NULL) != 0)
        return;
    if (cfr_rotator_each_leftover(a->host.state_fd, a->config, on_found, &f, &err) != 0) {
        free_list(f.found, f.count);
        return;
    }
    cfr_daemon_forgotten_free(a);
    a->forgotten = f.found;
    a->forgotten_count = f.count;
}
