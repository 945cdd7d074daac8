/* SPDX-License-Identifier: MIT */
/* An OAuth 2.0 authorization server: token exchange (RFC 8693), JWT bearer (RFC 7523), client credentials
 * (RFC 6749). */
#ifndef LC_OAUTH_H
#define LC_OAUTH_H

#include "service.h"

extern const struct lc_service lc_oauth_service;

/* --- for the files of this service --- */

#define LC_OAUTH_TYPE "urn:ietf:params:oauth:token-type:"

json_t *lc_oauth_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);
void lc_oauth_token(struct lc_visit *visit);

/* The client of a request, NULL for none. Borrowed from the settings. 0, or -1 with the refusal. */
int lc_oauth_client(struct lc_visit *visit, json_t **client);
/* 401 invalid_client. Returns -1. */
int lc_oauth_no_client(struct lc_visit *visit, const char *why);

#endif
