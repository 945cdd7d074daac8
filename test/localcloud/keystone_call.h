/* SPDX-License-Identifier: MIT */
/* Helpers of Keystone's operations: refusals, bodies, new tokens. */
#ifndef LC_KEYSTONE_CALL_H
#define LC_KEYSTONE_CALL_H

#include "keystone.h"
#include "keystone_token.h"

#define LC_KEYSTONE_MALFORMED                                                                                          \
    " The server could not comply with the request since it is either malformed or otherwise incorrect. "              \
    "The client "                                                                                                      \
    "is assumed to be in error."

extern const char lc_keystone_demo[];
json_t *lc_keystone_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);
struct lc_keystone *lc_keystone_new(struct lc_cloud *cloud, struct lc_fail *fail);

/* Each writes the error answer and returns -1. */
int lc_keystone_refuse(struct lc_visit *visit, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The 401 of an authentication plugin, which says {"identity": ...} too; takes the reference. */
int lc_keystone_refuse_plugin(struct lc_visit *visit, json_t *identity, const char *message);
int lc_keystone_unauthorized(struct lc_visit *visit);
/* 403 "You are not authorized to perform the requested action: ACTION." */
int lc_keystone_forbidden(struct lc_visit *visit, const char *action);

/* Takes the reference; NULL: no body. */
void lc_keystone_answer(struct lc_visit *visit, unsigned status, json_t *document);

/* The request's JSON object, or NULL with the answer written. */
json_t *lc_keystone_body(struct lc_visit *visit);

/* Starts, seals and answers a new token with 201: its methods, ids and references are set. */
int lc_keystone_issue(struct lc_visit *visit, struct lc_keystone_token *token, const struct lc_keystone_token *parent);

/* The token of X-Auth-Token; a bad one is a 401. */
int lc_keystone_caller(struct lc_visit *visit, struct lc_keystone_token *out);

/* The operations that have files of their own. */
void lc_keystone_auth(struct lc_visit *visit);
void lc_keystone_federate(struct lc_visit *visit);
void lc_keystone_credentials(struct lc_visit *visit);

#endif
