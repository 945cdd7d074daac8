/* SPDX-License-Identifier: MIT */
/* Calls to the cloud of a rotated key, page by page, that change nothing there. They block; the caller owns the struct,
 * which is large and on the heap. */
#ifndef CFR_AGENT_DOCTOR_ROTATION_CALL_PRIVATE_H
#define CFR_AGENT_DOCTOR_ROTATION_CALL_PRIVATE_H

#include "rotation/provider.h"

/* The caller sets provider, config, ask and err. */
struct cfr_doctor_rotation {
    const struct cfr_rotation_provider *provider;
    const void *config;
    struct cfr_rotation_ask ask;
    struct cfr_wire_request request;
    struct cfr_rotation_answer answer;
    bool ended;
    int rc;
    struct cfr_err *err;
};

/* Sends the ask (LIST or RIGHTS) until the answer has its last page, or the boot clock is at END_BOOT_MS:
 * CFR_E_TIMEOUT. Else an error of the request, or of the cloud. */
int cfr_doctor_rotation_call(struct cfr_doctor_rotation *l, int64_t end_boot_ms, struct cfr_err *err);
/* Frees L, too. */
void cfr_doctor_rotation_free(struct cfr_doctor_rotation *l);

#endif
