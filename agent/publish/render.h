/* SPDX-License-Identifier: MIT */
/* What a publish renders: a grant, and where it comes from. Values only; everything is borrowed. */
#ifndef CFR_AGENT_PUBLISH_RENDER_H
#define CFR_AGENT_PUBLISH_RENDER_H

#include "agent/config/config.h"

/* A long-lived key that credfresh has made. */
struct cfr_publish_minted {
    const char *id;
    int64_t minted_s;
    uint64_t number;  /* among those of the rotation; the same at every agent that shares it */
    uint64_t journal; /* hash of the place of the rotation's journal; 0 = state_dir, or not known */
    bool adopted;     /* another program made it */
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
    const char *token_path; /* where the token is published next to it; NULL = nowhere */
};

#endif
