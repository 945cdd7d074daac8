/* SPDX-License-Identifier: MIT */
/* Authentication of signed requests at the front end, with its order of refusals. */
#include "auth.h"

#include "iam.h"
#include "session.h"
#include "sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKEW_S = 900 };

void lc_auth_free(struct lc_caller *caller)
{
    free(caller->arn);
    free(caller->principal);
    free(caller->user_id);
    free(caller->source_identity);
    json_decref(caller->transitive);
    *caller = (struct lc_caller){0};
}

/* xx-xxxx-1, with any number of words between. */
static bool is_region(const char *region)
{
    size_t len = strlen(region);
    const char *dash = strrchr(region, '-');

    return len >= 6 && len <= 40 && dash != NULL && dash != strchr(region, '-') &&
           strspn(region, "abcdefghijklmnopqrstuvwxyz-") == (size_t)(dash + 1 - region) && dash[1] != '\0' &&
           dash[1 + strspn(dash + 1, "0123456789")] == '\0';
}

static int check_scope(const char *service, const char *wanted, const struct lc_sigv4 *sig, struct lc_refusal *refusal)
{
    bool region = wanted != NULL ? strcmp(sig->region, wanted) == 0 : is_region(sig->region);

    if (!region) {
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch", "Credential should be scoped to a valid region. ");
    }
    if (strcmp(sig->service, service) != 0) {
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch",
                         "Credential should be scoped to correct service: '%s'. ", service);
    }
    if (strncmp(sig->date, sig->amz_date, 8) != 0 || strlen(sig->date) != 8) {
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch",
                         "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
                         "'%.40s' != '%.8s', from '%.20s'.",
                         sig->date, sig->amz_date, sig->amz_date);
    }
    return 0;
}

static int check_time(const struct lc_sigv4 *sig, struct lc_refusal *refusal)
{
    int64_t now_s = (int64_t)lc_time_now();
    int64_t life_s = sig->presigned ? sig->expires_s : SKEW_S;
    char now[LC_TIME_BYTES];
    char limit[LC_TIME_BYTES];

    lc_time_basic(now_s, now);
    if (sig->signed_at_s + life_s < now_s) {
        lc_time_basic(now_s - life_s, limit);
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch",
                         "Signature expired: %s is now earlier than %s (%s - %lld min.)", sig->amz_date, limit, now,
                         (long long)life_s / 60);
    }
    if (sig->signed_at_s > now_s + SKEW_S) {
        lc_time_basic(now_s + SKEW_S, limit);
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch",
                         "Signature not yet current: %s is still later than %s (%s + 15 min.)", sig->amz_date, limit,
                         now);
    }
    return 0;
}

static int invalid_token(struct lc_refusal *refusal)
{
    return lc_refuse(refusal, 403, "InvalidClientTokenId", "The security token included in the request is invalid.");
}

static int check_signature(const struct lc_request *request, const struct lc_sigv4 *sig, const char *secret,
                           struct lc_refusal *refusal)
{
    if (check_time(sig, refusal) != 0) {
        return -1;
    }
    if (!lc_sigv4_check(request, sig, secret)) {
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch",
                         "The request signature we calculated does not match the signature you provided. Check your "
                         "AWS Secret Access Key and signing method. Consult the service documentation for details.");
    }
    return 0;
}

/* GetSessionToken gave this one out: the session's name is the long-lived key that asked. */
static int by_user_session(struct lc_cloud *cloud, const struct lc_session *session, struct lc_caller *out,
                           struct lc_refusal *refusal)
{
    const struct lc_iam_key *key = lc_trust_iam_key(cloud->trust, session->name);

    if (key == NULL || strcmp(key->arn, session->role_arn) != 0) {
        return invalid_token(refusal);
    }
    out->arn = strdup(key->arn);
    out->principal = strdup(key->arn);
    memcpy(out->account, key->account, sizeof out->account);
    out->user_id = strdup(key->user_id);
    return 0;
}

static int by_role_session(struct lc_cloud *cloud, struct lc_session *session, struct lc_caller *out,
                           struct lc_refusal *refusal)
{
    const struct lc_role *role = lc_trust_role(cloud->trust, session->role_arn);

    if (role == NULL || strcmp(role->id, session->role_id) != 0) {
        return invalid_token(refusal);
    }
    out->arn =
        lc_text_format("arn:%s:sts::%s:assumed-role/%s/%s", role->partition, role->account, role->name, session->name);
    out->principal = strdup(role->arn);
    memcpy(out->account, role->account, sizeof out->account);
    out->user_id = lc_text_format("%s:%s", role->id, session->name);
    out->temporary = true;
    out->source_identity = session->source_identity;
    out->transitive = session->transitive;
    session->source_identity = NULL;
    session->transitive = NULL;
    return 0;
}

static int by_session(struct lc_cloud *cloud, const struct lc_request *request, const struct lc_sigv4 *sig,
                      struct lc_caller *out, struct lc_refusal *refusal)
{
    struct lc_session session = {0};
    int result = -1;

    if (!lc_session_open(cloud->session_key, sig->access_key_id, sig->token, &session)) {
        return invalid_token(refusal);
    }
    result = lc_text_starts(session.role_id, "AIDA") ? by_user_session(cloud, &session, out, refusal)
                                                     : by_role_session(cloud, &session, out, refusal);
    if (result == 0 && session.expires_at_s <= (int64_t)lc_time_now()) {
        result = lc_refuse(refusal, 403, "ExpiredToken", "The security token included in the request is expired");
    }
    if (result == 0) {
        result = check_signature(request, sig, session.secret, refusal);
    }
    out->session = true;
    lc_session_free(&session);
    return result;
}

static int by_iam_key(const struct lc_iam_key *key, const struct lc_request *request, const struct lc_sigv4 *sig,
                      struct lc_caller *out, struct lc_refusal *refusal)
{
    if (check_signature(request, sig, key->secret, refusal) != 0) {
        return -1;
    }
    out->arn = strdup(key->arn);
    out->principal = strdup(key->arn);
    memcpy(out->account, key->account, sizeof out->account);
    out->user_id = strdup(key->user_id);
    return 0;
}

/* One that IAM made. */
static int by_made_key(struct lc_cloud *cloud, const struct lc_request *request, const struct lc_sigv4 *sig,
                       struct lc_caller *out, struct lc_refusal *refusal)
{
    struct lc_iam_copy copy;
    struct lc_iam_key key = {.secret = copy.secret, .arn = copy.arn};
    int result = 0;

    if (!lc_iam_find(cloud, sig->access_key_id, sig->region, &copy)) {
        return invalid_token(refusal);
    }
    memcpy(key.account, copy.account, sizeof key.account);
    memcpy(key.user_id, copy.user_id, sizeof key.user_id);
    result = by_iam_key(&key, request, sig, out, refusal);
    if (result == 0) {
        lc_iam_used(cloud, sig->access_key_id);
    }
    return result;
}

int lc_auth_caller(struct lc_cloud *cloud, const struct lc_request *request, struct lc_caller *out,
                   struct lc_refusal *refusal)
{
    return lc_auth_caller_for(cloud, request, "sts", cloud->region, out, refusal);
}

int lc_auth_caller_for(struct lc_cloud *cloud, const struct lc_request *request, const char *service,
                       const char *region, struct lc_caller *out, struct lc_refusal *refusal)
{
    struct lc_sigv4 sig = {0};
    const struct lc_iam_key *key = NULL;
    int result = 0;

    *out = (struct lc_caller){0};
    if (lc_sigv4_read(request, &sig, refusal) != 0) {
        return -1;
    }
    result = check_scope(service, region, &sig, refusal);
    (void)snprintf(out->access_key_id, sizeof out->access_key_id, "%s", sig.access_key_id);
    (void)snprintf(out->region, sizeof out->region, "%s", sig.region);
    if (result == 0) {
        key = lc_trust_iam_key(cloud->trust, sig.access_key_id);
        if (key != NULL && sig.token == NULL) {
            result = by_iam_key(key, request, &sig, out, refusal);
        } else if (key == NULL && sig.token != NULL) {
            result = by_session(cloud, request, &sig, out, refusal);
        } else if (key == NULL) {
            result = by_made_key(cloud, request, &sig, out, refusal);
        } else {
            result = invalid_token(refusal);
        }
    }
    lc_sigv4_free(&sig);
    if (result == 0 && (out->arn == NULL || out->principal == NULL || out->user_id == NULL)) {
        result = lc_refuse(refusal, 500, "InternalFailure", "out of memory");
    }
    if (result != 0) {
        lc_auth_free(out);
    }
    return result;
}
