/* SPDX-License-Identifier: MIT */
/* The token endpoint of IBM Cloud's IAM: grants by API key and, for trusted profiles, by the token of a compute
 * resource. */
#include "ibm.h"

#include "minted.h"
#include "token_key.h"
#include "token_subject.h"

#include <stdlib.h>
#include <string.h>

#define GRANT "urn:ibm:params:oauth:grant-type:"

const char *lc_ibm_owner(struct lc_cloud *cloud, json_t *settings, const char *value)
{
    const char *found = "";
    json_t *identity = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(settings, "identities"), index, identity)
    {
        const char *iam_id = json_string_value(json_object_get(identity, "iam_id"));
        json_t *keys = lc_minted_usable(cloud->minted, iam_id);
        json_t *key = NULL;
        size_t inner = 0;
        json_array_foreach(keys, inner, key)
        {
            if (lc_same_text(json_string_value(json_object_get(key, "value")), value)) {
                found = iam_id;
            }
        }
        json_decref(keys);
    }
    return found;
}

/* "" after a refusal. The caller frees it; NULL when out of memory. */
static char *by_api_key(struct lc_visit *visit)
{
    const char *value = lc_visit_param(visit, "apikey");
    const char *owner = value == NULL ? "" : lc_ibm_owner(visit->cloud, visit->settings, value);

    if (value == NULL) {
        (void)lc_visit_refuse(visit, 400, "BXNIM0109E", "Property missing or empty: apikey");
    } else if (*owner == '\0') {
        (void)lc_visit_refuse(visit, 400, "BXNIM0415E", "Provided API key could not be found.");
    }
    return strdup(owner);
}

static bool trusts(json_t *profile, const struct lc_subject *from)
{
    return strcmp(json_string_value(json_object_get(profile, "issuer")), from->issuer) == 0 &&
           lc_text_like(json_string_value(json_object_get(profile, "subject")), from->subject) &&
           lc_subject_for_any(from, json_object_get(profile, "audience"));
}

static char *by_compute_resource(struct lc_visit *visit)
{
    const char *token = lc_visit_param(visit, "cr_token");
    const char *id = lc_visit_param(visit, "profile_id");
    struct lc_subject from = {0};
    json_t *profile = NULL;
    json_t *found = NULL;
    char *iam_id = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(visit->settings, "profiles"), index, profile)
    {
        if (id != NULL && strcmp(json_string_value(json_object_get(profile, "id")), id) == 0) {
            found = profile;
        }
    }
    if (token == NULL || id == NULL) {
        (void)lc_visit_refuse(visit, 400, "BXNIM0109E", "Property missing or empty: %s",
                              token == NULL ? "cr_token" : "profile_id");
    } else if (found == NULL || !lc_subject_read(token, &from) || !trusts(found, &from) ||
               lc_subject_signed(visit->cloud, &from) != LC_SIGNED_WELL || lc_subject_times(&from) != LC_TIME_GOOD) {
        (void)lc_visit_refuse(visit, 400, "BXNIM0437E", "The compute resource token is not valid for the profile.");
    } else {
        iam_id = lc_text_format("iam-%s", id);
    }
    lc_subject_free(&from);
    return iam_id == NULL ? strdup("") : iam_id;
}

static void answer(struct lc_visit *visit, const char *iam_id, const char *grant)
{
    int64_t life_s = lc_visit_life_s(visit, json_integer_value(json_object_get(visit->settings, "lifetime_s")));
    char *issuer = lc_text_format("https://%s/ibm/identity", lc_visit_host(visit));
    json_int_t until = (json_int_t)lc_visit_until(life_s);
    json_t *claims = json_pack("{s:s*,s:s,s:s,s:I,s:I,s:s,s:s,s:{s:O}}", "iss", issuer, "iam_id", iam_id, "sub", iam_id,
                               "iat", (json_int_t)lc_time_now(), "exp", until, "jti", visit->id, "grant_type", grant,
                               "account", "bss", json_object_get(visit->settings, "account_id"));
    char *token = claims == NULL ? NULL : lc_token_key_sign(visit->cloud->token_key, claims);
    json_t *document = json_pack("{s:s*,s:s,s:s,s:I,s:s}", "access_token", token, "refresh_token", "not_supported",
                                 "token_type", "Bearer", "expiration", until, "scope", "ibm openid");

    if (token == NULL) {
        json_decref(document);
        (void)lc_visit_refuse(visit, 500, "BXNIM0500E", "out of memory");
    } else {
        lc_visit_put_expiry(visit, document, "expires_in", json_integer(life_s), json_integer(-3600));
        lc_visit_granted(visit, token);
        lc_visit_json(visit, 200, document);
    }
    free(issuer);
    free(token);
    json_decref(claims);
}

void lc_ibm_token(struct lc_visit *visit)
{
    const char *grant = lc_visit_param(visit, "grant_type");
    char *iam_id = NULL;

    if (!visit->form || visit->form_broken || grant == NULL) {
        (void)lc_visit_refuse(visit, 400, "BXNIM0109E", "Property missing or empty: grant_type");
    } else if (strcmp(grant, GRANT "apikey") == 0) {
        iam_id = by_api_key(visit);
    } else if (strcmp(grant, GRANT "cr-token") == 0) {
        iam_id = by_compute_resource(visit);
    } else {
        (void)lc_visit_refuse(visit, 400, "BXNIM0115E", "The grant type %.100s is not supported", grant);
    }
    if (iam_id != NULL && *iam_id != '\0') {
        answer(visit, iam_id, grant);
    }
    free(iam_id);
}
