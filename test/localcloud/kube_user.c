/* SPDX-License-Identifier: MIT */
/* Authentication and authorization of callers of the Kubernetes API. */
#include "kube_call.h"
#include "tls.h"
#include "token_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lc_kube_user_free(struct lc_kube_user *user)
{
    free(user->name);
    json_decref(user->groups);
    *user = (struct lc_kube_user){0};
}

static int unauthorized(struct lc_visit *visit)
{
    return lc_kube_refuse(visit, 401, "Unauthorized", NULL, "Unauthorized");
}

/* Does the object that a token is bound to still exist, as the same one? */
static bool still_there(struct lc_kube *kube, json_t *const *list, const char *namespace_name, json_t *claim)
{
    json_t *object = claim == NULL ? NULL : lc_kube_get(kube, list, namespace_name, lc_kube_text(claim, "name"));
    json_t *shown = list == &kube->secrets ? json_object_get(json_object_get(object, "object"), "metadata") : object;
    bool good =
        claim == NULL || (object != NULL && strcmp(lc_kube_text(shown, "uid"), lc_kube_text(claim, "uid")) == 0);

    json_decref(object);
    return good;
}

static bool by_issuer(struct lc_visit *visit, const char *token, struct lc_kube_user *out)
{
    struct lc_kube *kube = visit->cloud->kube;
    struct lc_subject subject = {0};
    json_t *claim = NULL;
    const char *space = NULL;
    json_t *audiences = NULL;
    bool good = false;

    if (!lc_subject_read(token, &subject)) {
        return false;
    }
    claim = json_object_get(subject.jwt.claims, "kubernetes.io");
    space = lc_kube_text(claim, "namespace");
    audiences = lc_kube_audiences(kube);
    good = strcmp(subject.issuer, lc_issuer_url(visit->cloud->issuer)) == 0 &&
           lc_subject_signed(visit->cloud, &subject) == LC_SIGNED_WELL && lc_subject_times(&subject) == LC_TIME_GOOD &&
           lc_subject_for_any(&subject, audiences) && json_object_get(claim, "serviceaccount") != NULL &&
           still_there(kube, &kube->accounts, space, json_object_get(claim, "serviceaccount")) &&
           still_there(kube, &kube->pods, space, json_object_get(claim, "pod")) &&
           still_there(kube, &kube->secrets, space, json_object_get(claim, "secret"));
    if (good) {
        char *group = lc_text_format("system:serviceaccounts:%s", space);
        out->name = strdup(subject.subject);
        out->groups =
            json_pack("[s,s,s]", "system:serviceaccounts", group == NULL ? "" : group, "system:authenticated");
        free(group);
    }
    json_decref(audiences);
    lc_subject_free(&subject);
    return good && out->name != NULL;
}

static bool by_token(struct lc_visit *visit, const char *token, struct lc_kube_user *out)
{
    struct lc_kube *kube = visit->cloud->kube;
    json_t *known = NULL;

    (void)pthread_mutex_lock(&kube->lock);
    known = json_incref(json_object_get(kube->tokens, token));
    (void)pthread_mutex_unlock(&kube->lock);
    if (known == NULL) {
        return by_issuer(visit, token, out);
    }
    out->name = strdup(lc_kube_text(known, "user"));
    out->groups = json_incref(json_object_get(known, "groups"));
    json_decref(known);
    return out->name != NULL;
}

int lc_kube_authenticate(struct lc_visit *visit, struct lc_kube_user *out)
{
    const char *bearer = lc_visit_bearer(visit);

    *out = (struct lc_kube_user){0};
    if (bearer != NULL) {
        bearer += strspn(bearer, " ");
        if (!by_token(visit, bearer, out)) {
            lc_kube_user_free(out);
            return unauthorized(visit);
        }
    } else if (visit->request->client_bad) {
        return unauthorized(visit);
    } else if (visit->request->client_der != NULL) {
        if (!lc_tls_subject(visit->request->client_der, visit->request->client_der_len, &out->name, &out->groups)) {
            lc_kube_user_free(out);
            return unauthorized(visit);
        }
        (void)json_array_append_new(out->groups, json_string("system:authenticated"));
    } else {
        out->name = strdup("system:anonymous");
        out->groups = json_pack("[s]", "system:unauthenticated");
    }
    (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s",
                   out->name == NULL ? "" : out->name);
    return out->name == NULL ? unauthorized(visit) : 0;
}

/* A string or an array of them: "*" means anything. */
static bool covers(json_t *rule, const char *text)
{
    return json_is_string(rule)
               ? strcmp(json_string_value(rule), "*") == 0 || strcmp(json_string_value(rule), text) == 0
               : lc_json_holds(rule, "*") || lc_json_holds(rule, text);
}

static bool rule_allows(json_t *rule, const struct lc_kube_user *user, const struct lc_kube_act *act,
                        const char *resource)
{
    json_t *names = json_object_get(rule, "names");
    const char *who = json_string_value(json_object_get(rule, "user"));
    const char *group = json_string_value(json_object_get(rule, "group"));
    const char *space = json_string_value(json_object_get(rule, "namespace"));
    /* What is created on a collection has no name yet when rules are looked at; what is applied has one. */
    bool named = act->name != NULL;

    return (who != NULL ? strcmp(who, user->name) == 0 : group != NULL && lc_json_holds(user->groups, group)) &&
           covers(json_object_get(rule, "verb"), act->verb) && covers(json_object_get(rule, "resource"), resource) &&
           (space == NULL || strcmp(space, act->namespace_name) == 0) &&
           (names == NULL || (named && lc_json_holds(names, act->name)));
}

bool lc_kube_allowed(struct lc_kube *kube, const struct lc_kube_user *user, const struct lc_kube_act *act)
{
    char *resource = lc_text_format("%s%s%s", act->resource, act->subresource == NULL ? "" : "/",
                                    act->subresource == NULL ? "" : act->subresource);
    json_t *rules = NULL;
    json_t *rule = NULL;
    size_t index = 0;
    bool allowed = lc_json_holds(user->groups, "system:masters");

    (void)pthread_mutex_lock(&kube->lock);
    rules = json_incref(kube->rules);
    (void)pthread_mutex_unlock(&kube->lock);
    json_array_foreach(rules, index, rule)
    {
        allowed = allowed || (resource != NULL && rule_allows(rule, user, act, resource));
    }
    json_decref(rules);
    free(resource);
    return allowed;
}

int lc_kube_authorize(struct lc_visit *visit, const struct lc_kube_user *user, const struct lc_kube_act *act)
{
    char *why = NULL;

    if (lc_kube_allowed(visit->cloud->kube, user, act)) {
        return 0;
    }
    why = lc_text_format("User \"%s\" cannot %s resource \"%s%s%s\" in API group \"\" in the namespace \"%s\"",
                         user->name, act->verb, act->resource, act->subresource == NULL ? "" : "/",
                         act->subresource == NULL ? "" : act->subresource, act->namespace_name);
    (void)lc_kube_forbidden(visit, act->resource, act->name, why == NULL ? "" : why);
    free(why);
    return -1;
}
