/* SPDX-License-Identifier: MIT */
/* The texts that routes.c answers with: the status as JSON and as a page, readiness, metrics. */
#ifndef CFR_SERVE_API_STATUS_PRIVATE_H
#define CFR_SERVE_API_STATUS_PRIVATE_H

#include "serve/api/status.h"

/* Upper bounds of a histogram's buckets, in seconds. */
extern const double cfr_api_status_bounds[CFR_API_STATUS_BUCKETS];

#define CFR_API_STATUS_PAGE_CREDENTIALS 200

/* Sets *OUT to the credential INDEX, with what follows from its members and the time. */
void cfr_api_status_get(const struct cfr_api_status *s, size_t index, struct cfr_api_status_credential *out);
/* {"version":1,"agent":{...},"service_ca":{...},"credentials":[...]}, the second only where there is one; ONLY limits
 * it to one credential by name (NULL = all). Instants are RFC 3339 in UTC, or null where there is none; `expires` of a
 * published credential is null when it never does. docs/ describes each key; keys are added, never renamed or removed.
 */
void cfr_api_status_json(const struct cfr_api_status *s, const char *only, struct cfr_str *out);
/* "ok" and true; or one line per required credential that is not published or is expired, saying why. VERBOSE
 * lists every credential, and the verdict last. */
bool cfr_api_status_ready(const struct cfr_api_status *s, bool verbose, struct cfr_str *out);
/* The status page: HTML with its style and nothing else, without scripts; what needs attention comes first, and at most
 * CFR_API_STATUS_PAGE_CREDENTIALS credentials are on it. To be sent with the policy below. */
void cfr_api_status_page(const struct cfr_api_status *s, struct cfr_str *out);
/* Its Content-Security-Policy, which allows the style of the page by its hash. */
extern const char cfr_api_status_page_policy[];
/* Prometheus text format 0.0.4. */
void cfr_api_status_metrics(const struct cfr_api_status *s, struct cfr_str *out);

#endif
