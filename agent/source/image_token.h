/* SPDX-License-Identifier: MIT */
/* The service account token that a kubelet's request carries, decoded and checked. Pure: never blocks. */
#ifndef CFR_AGENT_SOURCE_IMAGE_TOKEN_H
#define CFR_AGENT_SOURCE_IMAGE_TOKEN_H

#include "agent/source/token_file.h"

/* Checks TOKEN, which is not empty, for AUDIENCE (NULL: not checked). The caller frees OUT with
 * cfr_source_token_file_free in every case. CFR_E_TOKEN: no JWT, or for another audience. */
int cfr_source_image_token_read(struct cfr_view token, const char *audience, struct cfr_source_token_file *out,
                                struct cfr_err *err);

#endif
