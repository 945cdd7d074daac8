/* SPDX-License-Identifier: MIT */
/* Which image credential an image gets, and what its exchange is for one request of the kubelet. Pure but for
 * ENV. */
#ifndef CFR_AGENT_CONFIG_IMAGE_H
#define CFR_AGENT_CONFIG_IMAGE_H

#include "agent/config/config.h"
#include "kube/image_credential.h"

/* The first of CONFIG that fits IMAGE, or NULL. */
const struct cfr_config_image *cfr_config_image_find(const struct cfr_config *config, struct cfr_view image);

/* True if CONFIG tells images of IMAGE's registry apart by their path, so that a login is not for all of them. */
bool cfr_config_image_by_path(const struct cfr_config *config, struct cfr_view image);
/* Copies ITEM's exchange to OUT, with what REQUEST's annotations say, and logging in to the registry of its
 * image if it names none; then checks it as a whole. Without REQUEST (NULL) it only looks whether that can
 * come to something, as far as it is known beforehand. The caller frees OUT in every case: cfr_field_free
 * with cfr_config_exchange_table. CFR_E_CONFIG names the key or the annotation; CFR_E_NOMEM. */
int cfr_config_image_resolve(const struct cfr_config_image *item, const struct cfr_k8s_image_request *request,
                             const char *(*env)(const char *), struct cfr_config_exchange *out, struct cfr_err *err);

#endif
