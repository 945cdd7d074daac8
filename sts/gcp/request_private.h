/* SPDX-License-Identifier: MIT */
/* Requests to Google's services: token exchange, a key's assertion, impersonation.
 * Source: the discovery documents of sts.googleapis.com and iamcredentials.googleapis.com; RFC 8693, RFC
 * 7523. */
#ifndef CFR_STS_GCP_REQUEST_PRIVATE_H
#define CFR_STS_GCP_REQUEST_PRIVATE_H

#include "sts/gcp/plan_private.h"

/* Makes the request of STEP in the zeroed OUT. ACCESS_TOKEN is shown to IAM unless P's key signs one.
 * CFR_E_CONFIG: a token is needed and IN has none, or a key or a certificate cannot be used. The caller frees
 * OUT in every case. */
int cfr_gcp_request_make(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, struct cfr_view access_token,
                         const struct cfr_sts_input *in, struct cfr_wire_request *out, struct cfr_err *err);

#endif
