/* SPDX-License-Identifier: MIT */
/* Capabilities and directories that a configuration needs. Blocks on disk. What the configuration names does not block
 * on a file system that may not answer. */
#ifndef CFR_AGENT_DAEMON_NEEDS_PRIVATE_H
#define CFR_AGENT_DAEMON_NEEDS_PRIVATE_H

#include "agent/config/config.h"
#include "agent/kube/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls EACH for every absolute path in C, of what is read and of what is written. */
void cfr_daemon_each_path(const struct cfr_config *c, cfr_field_each_fn *each, void *ctx);
/* The file and the context of a text with CFR_FIELD_KUBECONFIG; borrowed. */
struct cfr_kube_where cfr_daemon_kube_where(const struct cfr_field_text *kubeconfig);

/* A set of paths, by their hashes. The start checks each path once, and a reload checks only paths that the
 * configuration in use does not have. Zeroed is empty. */
struct cfr_daemon_known {
    uint64_t *slots; /* 0: free */
    size_t count;
    size_t room; /* a power of 2 */
};

/* Adds PATH; true if it is new, or without memory for it. */
bool cfr_daemon_known_add(struct cfr_daemon_known *k, const char *path);
bool cfr_daemon_known_has(const struct cfr_daemon_known *k, const char *path);
void cfr_daemon_known_free(struct cfr_daemon_known *k);

/* PATH is the file that DIRECTORY is for; NULL: a directory of the system, which exists. */
typedef void cfr_daemon_directory_fn(void *ctx, const char *directory, const char *path);

/* The capabilities (1 << CAP_...) that C needs. Paths count as they lead now, and with the configuration NOW, which is
 * in use, only those that NOW does not have. */
uint64_t cfr_daemon_needs_capabilities(const struct cfr_config *c, const struct cfr_config *now);
/* What a configuration does that one of the capabilities MISSING is for: "it listens on a port below 1024". */
const char *cfr_daemon_needs_explain(uint64_t missing);
/* Calls EACH for every directory in which C has files made. */
void cfr_daemon_needs_written(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx);
/* Calls EACH for every directory below which C has files read: for each file the directory above the one that it is in,
 * because that may be made or mounted again while the agent runs. Those next to / are as they are. */
void cfr_daemon_needs_read(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx);
/* The same for what is known only at the start: CONFIG_PATH (NULL = none), resolvers, libraries and certificates, and
 * the files that C's kubeconfigs and links lead to now. */
void cfr_daemon_needs_read_at_start(const struct cfr_config *c, const char *config_path, cfr_daemon_directory_fn *each,
                                    void *ctx);

#endif
