/* SPDX-License-Identifier: MIT */
/* What a configuration needs of the machine: capabilities, and the directories of its files. Blocks on disk, but on no
 * file system that may not answer. */
#ifndef CFR_AGENT_DAEMON_NEEDS_PRIVATE_H
#define CFR_AGENT_DAEMON_NEEDS_PRIVATE_H

#include "agent/config/config.h"

#include <stdint.h>

/* A path in a configuration, all borrowed. */
struct cfr_daemon_path {
    const char *key;
    const char *path;    /* absolute */
    const char *context; /* the `context` next to it, as of a kubeconfig; NULL = none */
};

typedef void cfr_daemon_path_fn(void *ctx, const struct cfr_daemon_path *path);

/* Calls EACH for every path in C, of what is read and of what is written, by the tables of the configuration. */
void cfr_daemon_each_path(const struct cfr_config *c, cfr_daemon_path_fn *each, void *ctx);

/* PATH is what it is for; NULL: one of the system, which is there. */
typedef void cfr_daemon_directory_fn(void *ctx, const char *directory, const char *path);

/* The capabilities (1 << CAP_...) without which C does not work here and now. With NOW, which works already, only for
 * what C has besides. */
uint64_t cfr_daemon_needs_capabilities(const struct cfr_config *c, const struct cfr_config *now);
/* What lacks without the lowest capability of MISSING. */
const char *cfr_daemon_needs_explain(uint64_t missing);
/* Calls EACH for every directory in which C has files made. */
void cfr_daemon_needs_written(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx);
/* Calls EACH for every directory below which C has files read: for each file the directory above the one that it is in,
 * because that may be made or mounted again while the agent runs. Those next to / are as they are. */
void cfr_daemon_needs_read(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx);
/* Those that any configuration needs: of CONFIG_PATH (NULL = none), of resolvers, libraries and certificates, and of
 * what C's kubeconfigs and links name now. */
void cfr_daemon_needs_read_besides(const struct cfr_config *c, const char *config_path, cfr_daemon_directory_fn *each,
                                   void *ctx);

#endif
