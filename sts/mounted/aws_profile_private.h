/* SPDX-License-Identifier: MIT */
/* Profiles in the `credentials` of a mounted AWS Secret: an ini file. Private to sts/mounted/aws*.c. */
#ifndef CFR_STS_MOUNTED_AWS_PROFILE_PRIVATE_H
#define CFR_STS_MOUNTED_AWS_PROFILE_PRIVATE_H

#include "sts/mounted/mounted_private.h"

/* What one section says; views into the key `credentials`. */
struct cfr_mounted_profile {
    struct cfr_view name; /* without `profile` before it */
    bool found;
    struct cfr_view role_arn;
    struct cfr_view token_file;
    struct cfr_view source_profile;
    struct cfr_view external_id;
    struct cfr_view duration; /* digits, seconds */
    struct cfr_view session_name;
    struct cfr_view access_key_id;
    struct cfr_view secret_access_key;
    struct cfr_view session_token;
    struct cfr_view region;
    struct cfr_view regional;
    struct cfr_view process;
};

/* Reads the section NAME or `profile NAME`; OUT->found says whether there is one. CFR_E_CONFIG: a setting that a Secret
 * does not decide, or one of a wrong form. */
int cfr_mounted_profile_read(const struct cfr_mounted_case *c, struct cfr_view name, struct cfr_mounted_profile *out);
/* Reads the profile to follow: the configuration's `profile`, else `default`, else the only one. OUT is empty where the
 * Secret has no `credentials`. CFR_E_CONFIG. */
int cfr_mounted_profile_choose(const struct cfr_mounted_case *c, struct cfr_mounted_profile *out);

#endif
