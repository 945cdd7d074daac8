/* SPDX-License-Identifier: MIT */
/* The service account token that a kubelet's request carries, decoded and checked for use now. Pure: never blocks. */
#ifndef CFR_AGENT_SOURCE_IMAGE_TOKEN_H
#define CFR_AGENT_SOURCE_IMAGE_TOKEN_H

#include "agent/source/token_file.h"

/* Checks TOKEN, which is not empty, for AUDIENCE (NULL: not checked). The caller frees OUT with
 * cfr_source_token_file_free in every case. CFR_E_TOKEN: no JWT, not valid yet, for another audience;
 * CFR_E_TOKEN_EXPIRED. */
int cfr_source_image_token_read(struct cfr_view token, const char *audience, int64_t now_ms,
                                struct cfr_source_token_file *out, struct cfr_err *err);

#endif
