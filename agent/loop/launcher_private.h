/* SPDX-License-Identifier: MIT */
/* How commands are handed to the launcher, and which of them it starts. */
#ifndef CFR_AGENT_LOOP_LAUNCHER_PRIVATE_H
#define CFR_AGENT_LOOP_LAUNCHER_PRIVATE_H

#include "agent/loop/launcher.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

bool cfr_launcher_is_open(void);
/* Starts ARGV (argv[0] absolute) as cfr_process_start says, with standard output to OUT_FD. Waits until it runs, or the
 * launcher has read the configuration; the launcher does nothing else meanwhile. CFR_E_PERM for a command that is not
 * in its list. */
int cfr_launcher_start(char *const *argv, char *const *environment, int out_fd, pid_t *pid, struct cfr_err *err);

/* Comes before the words of a command, each with its NUL: first the arguments, then the variables. */
struct cfr_launcher_command {
    uint32_t bytes;
    uint32_t arguments;
    uint32_t variables;
};

/* True if LIST has the command HEAD with WORDS, HEAD's bytes. */
bool cfr_launcher_list_has(struct cfr_view list, const struct cfr_launcher_command *head, const char *words);

/* Appends the commands of MORE that LIST lacks. False if that has no room for them. */
bool cfr_launcher_list_merge(struct cfr_secret *list, struct cfr_view more);

/* ---- agent/loop/launcher_reader.c: in the launcher ---- */

#define CFR_LAUNCHER_WHY_MAX 256

enum cfr_launcher_verdict {
    CFR_LAUNCHER_ALLOWED,
    CFR_LAUNCHER_UNKNOWN,
    CFR_LAUNCHER_UNREADABLE, /* and the configuration cannot be read */
    CFR_LAUNCHER_BUSY,       /* still reading it */
};

/* The lists, and the child that reads a new one. */
struct cfr_launcher_reader {
    cfr_launcher_read_fn *read;
    const void *ctx;
    struct cfr_secret loaded;       /* of the last start or reload */
    struct cfr_secret newer;        /* read since then, because a command was unknown */
    struct cfr_secret got;          /* from the child so far */
    char why[CFR_LAUNCHER_WHY_MAX]; /* the last reading failed; "" = it did not */
    pid_t pid;                      /* the child; 0 = none */
    int fd;                         /* from it; -1 = none */
    int64_t started_boot_ms;
    bool reloads; /* what it reads replaces LOADED */
    bool late;    /* it was waited for in vain */
};

/* Starts to read the configuration, which replaces LOADED. */
void cfr_launcher_reader_reload(struct cfr_launcher_reader *r);
/* To be called when FD is readable. */
void cfr_launcher_reader_collect(struct cfr_launcher_reader *r);
/* Whether the command may be started. Reads the configuration if it is unknown, and waits for that for up to 1 s. */
enum cfr_launcher_verdict cfr_launcher_reader_judge(struct cfr_launcher_reader *r,
                                                    const struct cfr_launcher_command *head, const char *words);

#endif
