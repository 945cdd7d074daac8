/* SPDX-License-Identifier: MIT */
/* The service account token that the kubelet's request carries, decoded and checked for use now. Pure. */
#ifndef CFR_AGENT_SOURCE_IMAGE_TOKEN_H
#define CFR_AGENT_SOURCE_IMAGE_TOKEN_H

#include "agent/source/token_file.h"

/* Takes TOKEN, which is not empty, for the audience AUDIENCE (NULL: not looked at). The caller frees OUT with
 * cfr_source_token_file_free in every case. CFR_E_TOKEN: no JWT, not valid yet, for another audience;
 * CFR_E_TOKEN_EXPIRED. */
int cfr_source_image_token_read(struct cfr_view token, const char *audience, int64_t now_ms,
                                struct cfr_source_token_file *out, struct cfr_err *err);

#endif
