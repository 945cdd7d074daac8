/* SPDX-License-Identifier: MIT */
/* Rendering of a grant as the bytes of a configured file: fills in what the file's own keys leave open.
 *
 * Pure: never blocks, keeps nothing. */
#ifndef CFR_AGENT_PUBLISH_RENDER_PRIVATE_H
#define CFR_AGENT_PUBLISH_RENDER_PRIVATE_H

#include "agent/publish/render.h"

/* Appends FILE's content to OUT (empty, limit CFR_FORMAT_OUTPUT_MAX). The errors of struct cfr_format, with the format
 * named. */
int cfr_publish_render_file(const struct cfr_publish_render *r, const struct cfr_config_file *file,
                            struct cfr_secret *out, struct cfr_err *err);
/* As cfr_publish_render_file, the lines of a profile without its header. */
int cfr_publish_render_profile(const struct cfr_publish_render *r, const struct cfr_config_file *profile,
                               struct cfr_secret *out, struct cfr_err *err);
/* Key INDEX of a mounted Secret that is passed on, with its value; NULL when there is none. */
const char *cfr_publish_render_key(const struct cfr_grant *grant, size_t index, struct cfr_view *value);

#endif
