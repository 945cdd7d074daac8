/* SPDX-License-Identifier: MIT */
/* Launcher: a process that starts commands for us, and is forked before anything is read.
 *
 * What it starts has its rights, its limits and its signals, as they were then: we can give ours up
 * (agent/loop/sandbox.h), down to the right to start anything. What it starts is our child all the same (CLONE_PARENT
 * of clone(2)), for us to wait for. It ends with us. One for a process; its descriptor is not inherited.
 *
 * It starts only commands of a list. We give it the first list, before we read anything that others wrote. Later ones
 * it gets from a child that it forks, which reads the configuration itself: code that has taken us over cannot add a
 * command. */
#ifndef CFR_AGENT_LOOP_LAUNCHER_H
#define CFR_AGENT_LOOP_LAUNCHER_H

#include "base/secret.h"

#define CFR_LAUNCHER_LIST_MAX (64U << 20) /* bytes of a list */
#define CFR_LAUNCHER_NUMBER   "\001"      /* a variable with this value in a list may have any decimal number */

/* Appends the command ARGV (argv[0] absolute) with exactly ENVIRONMENT to LIST, whose limit is CFR_LAUNCHER_LIST_MAX.
 * CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_launcher_list_add(struct cfr_secret *list, char *const *argv, char *const *environment, struct cfr_err *err);

/* Fills LIST with the commands of the configuration as it is now. Called in a child of the launcher; may block. */
typedef int cfr_launcher_read_fn(const void *ctx, struct cfr_secret *list, struct cfr_err *err);

/* In such a function: the launcher may use what LIST has so far, which is empty afterwards. Elsewhere nothing happens.
 * Before what may hang. */
void cfr_launcher_list_send(struct cfr_secret *list);

/* In such a function: a file that names commands cannot be read now. The launcher also keeps the commands that it has.
 */
void cfr_launcher_list_is_partial(void);

/* Forks it. CTX is borrowed. CFR_E_LIMIT, CFR_E_NOMEM, CFR_E_IO. */
int cfr_launcher_open(cfr_launcher_read_fn *read, const void *ctx, struct cfr_err *err);
/* A descriptor that is readable between calls only after the process has ended: then nothing can be started any more.
 * -1: it was not forked. */
int cfr_launcher_fd(void);
/* What is started may gain no rights that it has not, as by a set-user-id program. Before cfr_launcher_bind. */
void cfr_launcher_keep_privileges(void);
/* Gives it the first list. Nothing is started before, and a second call ends it. */
void cfr_launcher_bind(const struct cfr_secret *list);
/* Has it read the configuration again, which replaces its list. Does not wait. */
void cfr_launcher_read_again(void);

#endif
