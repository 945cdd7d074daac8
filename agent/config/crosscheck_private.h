/* SPDX-License-Identifier: MIT */
/* Rules of the configuration that concern more than one mapping. */
#ifndef CFR_AGENT_CONFIG_CROSSCHECK_PRIVATE_H
#define CFR_AGENT_CONFIG_CROSSCHECK_PRIVATE_H

#include "agent/config/config.h"
#include "agent/bind/diagnostics.h"

/* NAME for messages, also where there is none. */
const char *cfr_config_label(const char *name);
/* Names and paths that must not be shared. Fields that had errors of their own may be empty. Pure. */
void cfr_config_check_conflicts(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
/* What must fit together within a credential, and what providers ask of the environment, where the parser has not
 * reported the parts that this depends on. Pure but for ENV. */
void cfr_config_check_sources(const struct cfr_config *config, const char *(*env)(const char *),
                              struct cfr_config_diagnostics *problems);
/* agent/config/crosscheck_kube.c: the parts of the two above about image credentials, and that of the first about
 * Secrets of the cluster. */
void cfr_config_check_image_names(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
void cfr_config_check_images(const struct cfr_config *config, const char *(*env)(const char *),
                             struct cfr_config_diagnostics *problems);
void cfr_config_check_cluster(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
/* agent/config/crosscheck_endpoint.c: the parts of the first and the second that are about endpoints. */
void cfr_config_check_endpoints(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
void cfr_config_check_served(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
/* agent/config/crosscheck_source.c: what only the service CA can issue needs one, and the other way round. */
void cfr_config_check_service_ca(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
/* agent/config/crosscheck_source.c: what minted keys need of the rest. */
void cfr_config_check_mint(const struct cfr_config *config, struct cfr_config_diagnostics *problems);
/* Users and groups that must be there; in place of their names come their numbers. Blocks on disk. */
void cfr_config_resolve_ids(struct cfr_config *config, struct cfr_config_diagnostics *problems);
/* Files that must be there: CA files. Blocks on disk. */
void cfr_config_check_files(const struct cfr_config *config, struct cfr_config_diagnostics *problems);

#endif
