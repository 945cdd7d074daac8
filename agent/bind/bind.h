/* SPDX-License-Identifier: MIT */
/* A tree of YAML made into structs by the field tables. Pure. */
#ifndef CFR_AGENT_BIND_BIND_H
#define CFR_AGENT_BIND_BIND_H

#include "agent/bind/diagnostics.h"
#include "base/yaml.h"
#include "base/field.h"

/* Fills NODE (zeroed, of TABLE's size) from ROOT. Everything that is wrong goes to PROBLEMS, each with its
 * line and the names of the keys that lead there. The caller frees with cfr_field_free also when there are
 * problems. */
void cfr_config_bind(const struct cfr_table *table, const struct cfr_yaml_node *root, void *node,
                     struct cfr_config_diagnostics *problems);

#endif
