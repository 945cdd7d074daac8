/* SPDX-License-Identifier: MIT */
/* The rules for single values, which the configuration and Google's credential files share. */
#ifndef CFR_STS_GCP_VALIDATE_PRIVATE_H
#define CFR_STS_GCP_VALIDATE_PRIVATE_H

#include "base/err.h"
#include "base/view.h"

/* Each says what is wrong, with CFR_E_CONFIG, without naming the key. */
int cfr_gcp_check_audience(struct cfr_view audience, struct cfr_err *err);
/* An email address or the numeric unique id of a service account: it becomes part of a URL. */
int cfr_gcp_check_account(struct cfr_view account, struct cfr_err *err);
int cfr_gcp_check_universe(struct cfr_view universe, struct cfr_err *err);
/* AUDIENCE has to be that of a workforce pool. */
int cfr_gcp_check_user_project(struct cfr_view project, struct cfr_view audience, struct cfr_err *err);
int cfr_gcp_check_scope(struct cfr_view scope, struct cfr_err *err);
/* A URL that replaces a composed one: cfr_url_parse, and no query. */
int cfr_gcp_check_endpoint(const char *url, struct cfr_err *err);

bool cfr_gcp_is_workforce(struct cfr_view audience);

#endif
