/* SPDX-License-Identifier: MIT */
/* The agent of EKS Pod Identity, with the EKS Auth service behind it. */
#include "pod_identity.h"

#include "session.h"
#include "token_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUDIENCE "pods.eks.amazonaws.com"

enum { LIFE_S = 21600 };

static void service_refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    lc_reply_header(visit->reply, "Content-Type", "text/plain; charset=utf-8");
    lc_buf_format(&visit->reply->body, "%s\n", refusal->message);
}

/* What the EKS Auth service refuses, as the agent passes it on. */
static int upstream(struct lc_visit *visit, unsigned status, const char *code, const char *message)
{
    return lc_visit_refuse(visit, status, code, "[%s]: (%s): %s, fault: %s", visit->id, code, message,
                           status < 500 ? "client" : "server");
}

/* Its own addresses; whatever follows is the port. */
static bool is_own_host(const char *host)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]", "169.254.170.23", "[fd00:ec2::23]"};

    for (size_t i = 0; host != NULL && i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t len = strlen(hosts[i]);
        if (strncmp(host, hosts[i], len) == 0 && (host[len] == '\0' || host[len] == ':')) {
            return true;
        }
    }
    return false;
}

/* The association of the token's service account; borrowed from the settings, NULL when there is none. */
static json_t *association_of(const struct lc_visit *visit, const struct lc_subject *subject)
{
    json_t *list = json_object_get(visit->settings, "associations");
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(list, index, item)
    {
        char *wanted =
            lc_text_format("system:serviceaccount:%s:%s", json_string_value(json_object_get(item, "namespace")),
                           json_string_value(json_object_get(item, "service_account")));
        bool same = wanted != NULL && subject->subject != NULL && strcmp(wanted, subject->subject) == 0;
        free(wanted);
        if (same) {
            return item;
        }
    }
    return NULL;
}

/* The agent itself looks at times before it asks EKS Auth, which verifies the rest. */
static int check_token(struct lc_visit *visit, const char *header, struct lc_subject *subject)
{
    if (header == NULL || *header == '\0') {
        return lc_visit_refuse(visit, 400, "InvalidToken", "Service account token cannot be empty");
    }
    if (!lc_subject_read(header, subject)) {
        return lc_visit_refuse(visit, 400, "InvalidToken", "Service account token cannot be parsed");
    }
    switch (lc_subject_times(subject)) {
    case LC_TIME_GOOD:
        break;
    case LC_TIME_EXPIRED:
        return lc_visit_refuse(visit, 400, "ExpiredToken", "Service account token has expired");
    case LC_TIME_FUTURE:
    case LC_TIME_MISSING:
        return lc_visit_refuse(visit, 400, "InvalidToken", "Service account token is not valid now");
    }
    if (strcmp(subject->issuer, lc_issuer_url(visit->cloud->issuer)) != 0 ||
        lc_subject_signed(visit->cloud, subject) != LC_SIGNED_WELL) {
        return upstream(visit, 400, "InvalidTokenException", "The token is not signed by the cluster's issuer");
    }
    if (!lc_subject_for(subject, AUDIENCE)) {
        return upstream(visit, 400, "InvalidTokenException",
                        "The token included in the request has no audience "
                        "pods.eks.amazonaws.com");
    }
    return 0;
}

/* A session of the role, and its account. */
static int issue(struct lc_visit *visit, const char *arn, const struct lc_subject *subject, struct lc_session *session,
                 char account[LC_ACCOUNT_BYTES])
{
    json_t *pod = json_object_get(json_object_get(subject->jwt.claims, "kubernetes.io"), "pod");
    const char *pod_name = json_string_value(json_object_get(pod, "name"));
    const char *cluster = json_string_value(json_object_get(visit->settings, "cluster"));
    const struct lc_role *role = NULL;

    lc_trust_lock(visit->cloud->trust);
    role = lc_trust_role(visit->cloud->trust, arn);
    if (role != NULL) {
        session->role_arn = strdup(role->arn);
        memcpy(session->role_id, role->id, sizeof session->role_id);
        memcpy(account, role->account, LC_ACCOUNT_BYTES);
    }
    lc_trust_unlock(visit->cloud->trust);
    if (role == NULL) {
        return upstream(visit, 400, "AccessDeniedException",
                        "Unauthorized Exception! EKS does not have permissions to assume the associated role.");
    }
    session->name = lc_text_format("eks-%.12s-%.20s-%.24s", cluster == NULL ? "demo" : cluster,
                                   pod_name == NULL ? "pod" : pod_name, visit->id);
    session->expires_at_s = (int64_t)lc_time_now() + lc_visit_life_s(visit, LIFE_S);
    if (session->role_arn == NULL || session->name == NULL ||
        lc_session_issue(visit->cloud->session_key, session) != 0) {
        return upstream(visit, 500, "InternalServerException", "out of memory");
    }
    return 0;
}

static void answer(struct lc_visit *visit, const struct lc_session *session, const char *account)
{
    char expires[LC_TIME_BYTES];
    char past[LC_TIME_BYTES];
    json_t *document = json_pack("{s:s,s:s,s:s,s:s}", "AccessKeyId", session->access_key_id, "SecretAccessKey",
                                 session->secret, "Token", session->token, "AccountId", account);

    lc_time_iso(session->expires_at_s, expires);
    lc_time_iso((int64_t)lc_time_now() - 3600, past);
    lc_visit_put_expiry(visit, document, "Expiration", json_string(expires), json_string(past));
    lc_reply_header(visit->reply, "Content-Type", "application/json");
    lc_visit_json(visit, 200, document);
    (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s", session->name);
    (void)snprintf(visit->record.access_key_id, sizeof visit->record.access_key_id, "%s", session->access_key_id);
    visit->record.exchange = true;
}

static void credentials(struct lc_visit *visit)
{
    struct lc_subject subject = {0};
    struct lc_session session = {0};
    char account[LC_ACCOUNT_BYTES] = "";
    json_t *association = NULL;
    const char *arn = NULL;

    if (!is_own_host(lc_request_header(visit->request, "host"))) {
        (void)lc_visit_refuse(visit, 403, "AccessDenied", "Access Denied: the request was sent to another host");
    } else if (check_token(visit, lc_request_header(visit->request, "authorization"), &subject) == 0) {
        association = association_of(visit, &subject);
        arn = json_string_value(json_object_get(association, "role"));
        if (arn == NULL) {
            (void)upstream(visit, 404, "ResourceNotFoundException",
                           "No association is found for the service account of the token");
        } else {
            (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", arn);
            if (issue(visit, arn, &subject, &session, account) == 0) {
                answer(visit, &session, account);
            }
        }
    }
    lc_session_free(&session);
    lc_subject_free(&subject);
}

static json_t *check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"associations", "cluster", NULL};
    static const char *const known_item[] = {"namespace", "service_account", "role", NULL};
    json_t *list = json_object_get(settings, "associations");
    json_t *item = NULL;
    const char *text = NULL;
    size_t index = 0;

    (void)cloud;
    if (lc_json_keys(settings, "pod_identity", known, fail) != 0 ||
        lc_json_text(settings, "pod_identity", "cluster", &text, fail) != 0) {
        return NULL;
    }
    if (list != NULL && !json_is_array(list)) {
        (void)lc_fail_set(fail, "pod_identity: \"associations\" must be an array");
        return NULL;
    }
    json_array_foreach(list, index, item)
    {
        if (lc_json_keys(item, "associations", known_item, fail) != 0) {
            return NULL;
        }
        for (size_t i = 0; i < 3; i++) {
            if (!json_is_string(json_object_get(item, known_item[i]))) {
                (void)lc_fail_set(fail, "associations: \"%s\" must be a string", known_item[i]);
                return NULL;
            }
        }
    }
    return json_incref(settings);
}

static const struct lc_action actions[] = {
    {"pod_identity.credentials", "GET", "/v1/credentials", credentials, NULL, false},
};

const struct lc_service lc_pod_identity_service = {
    .name = "pod_identity",
    .prefix = "/v1/credentials/",
    .actions = actions,
    .action_count = 1,
    .refuse = service_refuse,
    .demo = "{\"associations\":[{\"namespace\":\"default\",\"service_account\":\"demo\","
            "\"role\":\"arn:aws:iam::123456789012:role/demo\"}]}",
    .check = check,
    .url = "/v1/credentials",
    .plain_url = true,
};
