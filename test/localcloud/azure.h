/* SPDX-License-Identifier: MIT */
/* Microsoft Entra ID: the v2.0 token endpoint for applications, and AD FS's. */
#ifndef LC_AZURE_H
#define LC_AZURE_H

#include "service.h"

extern const struct lc_service lc_azure_service;

/* An access token of this cloud, believed: signed here and not expired. For ACR too. */
struct lc_azure_access {
    json_t *claims; /* NULL: it is none, or no longer */
    bool expired;
    const char *tenant;
    const char *client_id;
    const char *audience;
};
void lc_azure_open(struct lc_cloud *cloud, const char *token, struct lc_azure_access *out);
/* Are both the same resource? A slash at the end makes no difference. */
bool lc_azure_same_resource(const char *a, const char *b);

bool lc_azure_is_guid(const char *text);
/* Under which name the secrets are kept that Graph gave an application. */
void lc_azure_owner(const char *tenant, const char *client_id, char *out, size_t room);

/* --- for the files of this cloud --- */

json_t *lc_azure_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail);
void lc_azure_token(struct lc_visit *visit);
/* Answers with the OpenID configuration of a tenant (OpenID Connect Discovery 1.0, 4), as MSAL requires of an
 * authority. */
void lc_azure_discovery(struct lc_visit *visit);

/* Refuses with AADSTS and this number; status and `error` come with it. Returns -1. */
int lc_azure_refuse(struct lc_visit *visit, long number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A request for a token, as far as it is understood. */
struct lc_azure_ask {
    bool adfs;
    char *tenant_name; /* as in the path */
    json_t *tenant;    /* borrowed from the settings, as is the next */
    json_t *application;
    char *client_id;       /* as asked */
    char *secret;          /* from the body or from HTTP Basic; NULL: none */
    const char *assertion; /* NULL: none */
    char *resource;
    const char *proved_by; /* appidacr: "1" by a secret, "2" by an assertion */
};

/* Each 0, or -1 with the refusal. */
int lc_azure_prove_secret(struct lc_visit *visit, struct lc_azure_ask *ask);
int lc_azure_prove_assertion(struct lc_visit *visit, struct lc_azure_ask *ask);

#endif
