/* SPDX-License-Identifier: MIT */
/* Parts of inputs that several sources share, and the table of sources. */
#ifndef CFR_AGENT_SOURCE_INPUTS_PRIVATE_H
#define CFR_AGENT_SOURCE_INPUTS_PRIVATE_H

#include "agent/source/source.h"
#include "agent/source/token_file.h"

extern const struct cfr_source_ops cfr_source_service_ca;
extern const struct cfr_source_ops cfr_source_mounted;
extern const struct cfr_source_ops cfr_source_token_in_file;
extern const struct cfr_source_ops cfr_source_token_requested;
extern const struct cfr_source_ops cfr_source_provider_only;

/* The first of COUNT ROWS that C begins with; NULL if none does. */
const struct cfr_source_ops *cfr_source_find(const struct cfr_source_ops *const *rows, size_t count,
                                             const struct cfr_config_credential *c);

/* Joins MARK into the fingerprint. */
void cfr_source_add_mark(struct cfr_source_inputs *m, uint64_t mark);
void cfr_source_move_token(struct cfr_source_inputs *m, struct cfr_source_token_file *t);
/* Reads C's token, where M's provider needs one. For a file without a usable token, and for one that should have been
 * replaced long ago, a request takes its place where the configuration has one. */
int cfr_source_find_token(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                          struct cfr_source_inputs *m, int64_t *wait_ms, struct cfr_err *err);
/* Reads the files that the configuration of M's provider names. */
int cfr_source_read_contents(struct cfr_source_inputs *m, struct cfr_err *err);

/* The wall clock, as far as it is certain. */
struct cfr_source_time {
    int64_t earliest_ms; /* INT64_MIN: not known */
    int64_t latest_ms;   /* INT64_MAX: not known */
};

/* Reads CONFIG's file. Errors say what is wrong with it: missing, empty, half-written, no JWT, certainly
 * expired, certainly not valid yet, for another audience. *WAIT_MS is how long until it becomes valid, or -1.
 * DIRECTORY is NULL where the configuration names the file. Where a Secret does, the file must lie below DIRECTORY
 * (agent/source/token_place_private.h), and a token for the API server is refused. */
int cfr_source_token_file_read(const struct cfr_config_token *config, const char *directory,
                               const struct cfr_source_time *now, struct cfr_source_token_file *out, int64_t *wait_ms,
                               struct cfr_err *err);

/* Names in ERR, an error of the exchange of M, where values came from that the configuration of C does not have. */
void cfr_source_name_origin(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                            struct cfr_err *err);

/* PATH may be NULL. */
void cfr_source_watch_path(struct cfr_source_watching *w, const char *path);
/* Watches the files that the configuration of C's provider names. */
void cfr_source_watch_contents(struct cfr_source_watching *w, const struct cfr_config_credential *c);

#endif
