/* SPDX-License-Identifier: MIT */
/* Readiness: whether everything that a supervised command needs is published and served. */
#include "agent/daemon/readiness.h"

#include "agent/daemon/daemon_private.h"

#include <string.h>
#include <unistd.h>

static bool counts(const struct cfr_worker *w, const struct cfr_strings *wanted)
{
    if (wanted == NULL || wanted->count == 0)
        return cfr_worker_config(w)->required;
    for (size_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->items[i], cfr_worker_config(w)->name) == 0)
            return true;
    }
    return false;
}

bool cfr_daemon_readiness_is_open(const struct cfr_daemon *a, const struct cfr_strings *wanted)
{
    for (size_t i = 0; i < a->count; i++) {
        if (counts(a->workers[i], wanted) && !cfr_worker_is_ready(a->workers[i]))
            return false;
    }
    return true;
}

/* A hook that fails does not hold back the command. */
static bool is_hopeless(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (counts(a->workers[i], a->options.gate) && !cfr_worker_is_ready(a->workers[i]) &&
            cfr_worker_outcome(a->workers[i]) == CFR_WORKER_BAD)
            return true;
    }
    return false;
}

void cfr_daemon_readiness_report(struct cfr_daemon *a)
{
    char word = 0;

    if (a->options.ready_fd == 0)
        return;
    if (cfr_daemon_readiness_is_open(a, a->options.gate))
        word = CFR_DAEMON_READINESS_READY;
    else if (is_hopeless(a))
        word = CFR_DAEMON_READINESS_FAILED;
    for (size_t i = 0; word == 0 && i < a->count; i++) {
        if (counts(a->workers[i], a->options.gate) && !cfr_worker_is_ready(a->workers[i]))
            cfr_worker_want(a->workers[i]);
    }
    if (word == 0 || write(a->options.ready_fd, &word, 1) != 1)
        return;
    (void)close(a->options.ready_fd);
    a->options.ready_fd = 0;
}
