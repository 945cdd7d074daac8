/* SPDX-License-Identifier: MIT */
/* The simulated kubelet: keeps a service-account token in each volume and renews it at 80 % of its lifetime. */
#ifndef LC_KUBELET_H
#define LC_KUBELET_H

#include "issuer.h"

struct lc_kubelet;

/* dir is where the volumes are (made when missing); lifetimes are divided by speed. */
struct lc_kubelet *lc_kubelet_new(const char *dir, struct lc_issuer *issuer, double speed, struct lc_fail *fail);

/* Adds a volume out of its configuration object and fills it at once. */
int lc_kubelet_add(struct lc_kubelet *kubelet, json_t *volume, struct lc_fail *fail);

/* Starts and ends the renewing thread. After lc_pause_stop() the end is immediate. */
int lc_kubelet_start(struct lc_kubelet *kubelet, struct lc_fail *fail);
void lc_kubelet_free(struct lc_kubelet *kubelet);

/* For the admin interface; an unknown name is -1 with the reason. */
int lc_kubelet_renew(struct lc_kubelet *kubelet, const char *name, struct lc_fail *fail);
int lc_kubelet_pause(struct lc_kubelet *kubelet, const char *name, bool paused, struct lc_fail *fail);
int lc_kubelet_write(struct lc_kubelet *kubelet, const char *name, const char *bytes, size_t len, struct lc_fail *fail);
bool lc_kubelet_has(struct lc_kubelet *kubelet, const char *name);
/* {NAME: {"directory", "file", "issued_at", "expires_at", "renew_at", "renewals", "paused"}} */
json_t *lc_kubelet_report(struct lc_kubelet *kubelet);

#endif
