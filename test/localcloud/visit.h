/* SPDX-License-Identifier: MIT */
/* One request to a service on its way: form, fault, outage, answer, statistics. The same for all services. */
#ifndef LC_VISIT_H
#define LC_VISIT_H

#include "answer.h"
#include "cloud.h"
#include "crypto.h"
#include "params.h"

struct lc_service;
struct lc_action;

struct lc_visit {
    struct lc_cloud *cloud;
    const struct lc_service *service;
    const struct lc_action *action;
    const struct lc_request *request;
    struct lc_reply *reply;
    json_t *settings; /* of the service; shared: read only (lc_service_hold) */
    json_t *fault;    /* may bend the answer; NULL: none */
    struct lc_record record;
    char id[LC_UUID_BYTES];  /* of this request */
    bool form;               /* the body is said to be a form */
    bool form_broken;        /* ... and cannot be decoded */
    struct lc_params params; /* the decoded form */
};

/* Answers the request as one of the service's actions: 404 and 405 without an action; then outage, faults,
 * the action, statistics and log. */
void lc_visit_run(const struct lc_service *service, struct lc_cloud *cloud, const struct lc_request *request,
                  struct lc_reply *reply);

/* Answers with a refusal in the service's dialect and returns -1. */
int lc_visit_refuse(struct lc_visit *visit, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Answers with JSON (taking the reference). The content type stays when one was set before. */
void lc_visit_json(struct lc_visit *visit, unsigned status, json_t *document);
/* Marks the request as one that gave out this credential; the record keeps 16 hex digits of its SHA-256. */
void lc_visit_granted(struct lc_visit *visit, const char *credential);

/* The value of the parameter, or NULL when it is absent or empty (which OAuth holds to be the same). */
const char *lc_visit_param(const struct lc_visit *visit, const char *name);
/* The token after `Authorization: Bearer `, NULL when there is none. */
const char *lc_visit_bearer(const struct lc_visit *visit);
/* User and password of `Authorization: Basic`, as OAuth encodes them (RFC 6749, 2.3.1) when percent is set.
 * False when the header is there and is not that; no header: true with both NULL. The caller frees them. */
bool lc_visit_basic(const struct lc_visit *visit, bool percent, char **user, char **password);
/* The Host header; "localhost" when there is none or it is no host and port. */
const char *lc_visit_host(const struct lc_visit *visit);
/* "https://HOST" and "http://HOST", as the request addresses it, followed by path: is text one of them? */
bool lc_visit_is_url(const struct lc_visit *visit, const char *text, const char *path);

/* Whole seconds that a credential asked for asked_s lives: divided by the speed, at least 1; or what a fault
 * of the kind short_life says. */
int64_t lc_visit_life_s(const struct lc_visit *visit, int64_t asked_s);
/* When a credential that lives life_s from now ends: a whole second, never earlier; and how many whole
 * seconds are left until then. */
int64_t lc_visit_until(int64_t life_s);
int64_t lc_visit_left_s(int64_t expires_at_s);
/* Puts the expiry under key, bent when a fault of the kind expiration asks for it; past is its idea of
 * "past". Takes both references. */
void lc_visit_put_expiry(const struct lc_visit *visit, json_t *document, const char *key, json_t *normal, json_t *past);

/* Counts and logs a request; texts from outside are cleaned. */
void lc_visit_record(struct lc_cloud *cloud, struct lc_record *record);
/* The answer of a service that is out. */
void lc_visit_outage(struct lc_reply *reply);

#endif
