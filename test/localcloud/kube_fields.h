/* SPDX-License-Identifier: MIT */
/* Owned fields of a Secret or ConfigMap, and their field managers: the bookkeeping of server-side apply.
 *
 * A Secret is held flat, as an object of paths and values: "data.KEY", "binaryData.KEY", "metadata.labels.KEY",
 * "metadata.annotations.KEY", "type", "immutable", "metadata.finalizers", "metadata.ownerReferences".
 * Managers are an array of {"manager", "operation" ("Apply" or "Update"), "time", "fields": {PATH: true}}. */
#ifndef LC_KUBE_FIELDS_H
#define LC_KUBE_FIELDS_H

#include "json.h"

/* The flat form of a Secret (a new reference). */
json_t *lc_kube_flatten(json_t *secret);
/* The Secret (or the KIND) of a flat form, with this metadata (name, namespace, uid, ...; borrowed). */
json_t *lc_kube_unflatten(const char *kind, json_t *flat, json_t *metadata);
/* managedFields as the API shows them. */
json_t *lc_kube_managed(json_t *managers);

/* Server-side apply of the fields in config: *flat and *managers (both new references, to be changed in
 * place) get the outcome. Returns the conflicts, an array of {"who", "path"}, which is empty when it was
 * done. */
json_t *lc_kube_apply(json_t *flat, json_t *managers, json_t *config, const char *manager, bool force);

/* Notes who wrote what, after an update that made flat out of before. */
void lc_kube_wrote(json_t *managers, json_t *before, json_t *flat, const char *manager);

/* Do both say the same, but for the times? */
bool lc_kube_same_managers(json_t *a, json_t *b);

#endif
