/* SPDX-License-Identifier: MIT */
/* A grant as the bytes of a configured file: fills in what the file's own keys leave open. Pure. */
#ifndef CFR_AGENT_PUBLISH_RENDER_H
#define CFR_AGENT_PUBLISH_RENDER_H

#include "agent/config/config.h"

/* A long-lived key that we made. */
struct cfr_publish_minted {
    const char *id;
    int64_t minted_s;
};

/* Where a grant comes from: what its exchange's configuration says fills gaps of a file's. */
struct cfr_publish_from {
    const struct cfr_sts_provider *provider; /* NULL: nothing was exchanged */
    const void *config;
    const struct cfr_sts_content *contents; /* of the files that it names */
    size_t content_count;
    const struct cfr_publish_minted *minted; /* NULL: it is no such key */
};

/* What is rendered. */
struct cfr_publish_render {
    const char *credential;
    const struct cfr_publish_from *from;
    const struct cfr_grant *grant;
    uint64_t generation;
    const char *token_path; /* where the token is published beside it; NULL = nowhere */
};

/* Appends FILE's content to OUT (empty, limit CFR_FORMAT_OUTPUT_MAX). The errors of struct cfr_format, with the format
 * named. */
int cfr_publish_render_file(const struct cfr_publish_render *r, const struct cfr_config_file *file,
                            struct cfr_secret *out, struct cfr_err *err);
/* As cfr_publish_render_file, the lines of a profile without its header. */
int cfr_publish_render_profile(const struct cfr_publish_render *r, const struct cfr_config_profile *profile,
                               struct cfr_secret *out, struct cfr_err *err);
/* Key INDEX of a mounted Secret that is passed on, with its value; NULL when there is none. */
const char *cfr_publish_render_key(const struct cfr_grant *grant, size_t index, struct cfr_view *value);

#endif
