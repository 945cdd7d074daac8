/* SPDX-License-Identifier: MIT */
/* A credential's targets: rendering a grant in the formats asked for and handing the bytes to files/. */
#ifndef CFR_AGENT_PUBLISH_TARGETS_H
#define CFR_AGENT_PUBLISH_TARGETS_H

#include "agent/config/config.h"
#include "agent/publish/record.h"
#include "agent/publish/render.h"

/* Renders every file of every target first, so that a grant that does not fit a format changes nothing; then
 * publishes target by target as GENERATION. *CHANGED tells whether anything was written. MARKS (in RECORD) are
 * brought up to date. On error targets before the failing one may have been published; each by itself is complete.
 * Blocks on disk. */
int cfr_publish(const struct cfr_config_credential *c, const struct cfr_publish_from *from,
                const struct cfr_grant *grant, uint64_t generation, int64_t now_s, struct cfr_publish_record *record,
                bool *changed, struct cfr_err *err);
/* As cfr_publish without writing: 0 if the grant can be rendered in all formats. */
int cfr_publish_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_from *from,
                         const struct cfr_grant *grant, struct cfr_err *err);
/* Cleans what a crash left in all targets. */
int cfr_publish_recover(const struct cfr_config_credential *c, struct cfr_err *err);
/* 0 if all targets stand as RECORD remembers them; else why not. */
int cfr_publish_verify(const struct cfr_config_credential *c, const struct cfr_publish_record *record,
                       struct cfr_err *err);
/* 0 if something complete stands at every target, whoever wrote it; else what is missing. */
int cfr_publish_present(const struct cfr_config_credential *c, struct cfr_err *err);
/* True if what stands at every target is the long-lived key ID. Single files and profiles do not tell which it is. */
bool cfr_publish_stands(const struct cfr_config_credential *c, const char *id);
/* The highest generation found in any target directory; 0 if there is none. */
uint64_t cfr_publish_newest(const struct cfr_config_credential *c);
/* When the newest of the targets on this machine came to stand, in nanoseconds by the clock of its file system; 0 if
 * there is none. */
int64_t cfr_publish_moment_ns(const struct cfr_config_credential *c);
/* Wipes previous generations. */
int cfr_publish_retire(const struct cfr_config_credential *c, struct cfr_err *err);

#endif
