/* SPDX-License-Identifier: MIT */
/* Parses answers of the API server. Private to kube. Pure. */
#ifndef CFR_KUBE_ANSWER_PRIVATE_H
#define CFR_KUBE_ANSWER_PRIVATE_H

#include "base/json.h"

/* *OUT is freed by cfr_json_free. CFR_E_ANSWER, CFR_E_NOMEM. */
int cfr_k8s_answer_parse(struct cfr_view body, struct cfr_json **out, struct cfr_err *err);

#endif
