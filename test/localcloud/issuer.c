/* SPDX-License-Identifier: MIT */
/* The OIDC issuer: signing keys with overlapping rotation, discovery documents, service-account tokens. */
#include "issuer.h"

#include "crypto.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PUBLISHED = 8 };

struct lc_issuer {
    char *url;
    pthread_mutex_t lock;
    struct lc_key *keys[MOST_PUBLISHED]; /* oldest first */
    size_t count;
    size_t signing; /* index into keys */
    struct lc_key *stray;
    unsigned long minted;
};

struct lc_issuer *lc_issuer_new(const char *url, struct lc_key *first, struct lc_fail *fail)
{
    struct lc_issuer *issuer = calloc(1, sizeof *issuer);

    if (issuer == NULL || (issuer->url = strdup(url)) == NULL) {
        free(issuer);
        lc_key_free(first);
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&issuer->lock, NULL);
    issuer->keys[0] = first;
    issuer->count = 1;
    return issuer;
}

void lc_issuer_free(struct lc_issuer *issuer)
{
    if (issuer == NULL) {
        return;
    }
    for (size_t i = 0; i < issuer->count; i++) {
        lc_key_free(issuer->keys[i]);
    }
    lc_key_free(issuer->stray);
    (void)pthread_mutex_destroy(&issuer->lock);
    free(issuer->url);
    free(issuer);
}

const char *lc_issuer_url(const struct lc_issuer *issuer)
{
    return issuer->url;
}

void lc_issuer_discovery(struct lc_issuer *issuer, struct lc_buf *out)
{
    char *jwks = lc_text_format("%s/openid/v1/jwks", issuer->url);
    json_t *document = jwks == NULL ? NULL
                                    : json_pack("{s:s,s:s,s:[s],s:[s],s:[s]}", "issuer", issuer->url, "jwks_uri", jwks,
                                                "response_types_supported", "id_token", "subject_types_supported",
                                                "public", "id_token_signing_alg_values_supported", "RS256");

    free(jwks);
    lc_json_print(document, out);
}

void lc_issuer_jwks(struct lc_issuer *issuer, struct lc_buf *out)
{
    json_t *keys = json_array();

    (void)pthread_mutex_lock(&issuer->lock);
    for (size_t i = 0; i < issuer->count; i++) {
        (void)json_array_append(keys, issuer->keys[i]->jwk);
    }
    (void)pthread_mutex_unlock(&issuer->lock);
    lc_json_print(json_pack("{s:o}", "keys", keys), out);
}

json_t *lc_issuer_report(struct lc_issuer *issuer)
{
    json_t *published = json_array();
    json_t *report = NULL;

    (void)pthread_mutex_lock(&issuer->lock);
    for (size_t i = 0; i < issuer->count; i++) {
        (void)json_array_append_new(published, json_string(issuer->keys[i]->kid));
    }
    report = json_pack("{s:s,s:o}", "signing", issuer->keys[issuer->signing]->kid, "published", published);
    (void)pthread_mutex_unlock(&issuer->lock);
    return report;
}

static int publish(struct lc_issuer *issuer, struct lc_fail *fail)
{
    struct lc_key *key = lc_key_generate(fail); /* slow: not under the lock */
    bool taken = false;

    if (key == NULL) {
        return -1;
    }
    (void)pthread_mutex_lock(&issuer->lock);
    if (issuer->count < MOST_PUBLISHED) {
        issuer->keys[issuer->count++] = key;
        taken = true;
    }
    (void)pthread_mutex_unlock(&issuer->lock);
    if (!taken) {
        lc_key_free(key);
        return lc_fail_set(fail, "%d keys are published already: retire the old ones first", MOST_PUBLISHED);
    }
    return 0;
}

static int switch_key(struct lc_issuer *issuer, struct lc_fail *fail)
{
    bool newer = false;

    (void)pthread_mutex_lock(&issuer->lock);
    newer = issuer->signing + 1 < issuer->count;
    if (newer) {
        issuer->signing = issuer->count - 1;
    }
    (void)pthread_mutex_unlock(&issuer->lock);
    return newer ? 0 : lc_fail_set(fail, "no newer key is published: publish one first");
}

static void retire(struct lc_issuer *issuer)
{
    (void)pthread_mutex_lock(&issuer->lock);
    for (size_t i = 0; i < issuer->signing; i++) {
        lc_key_free(issuer->keys[i]);
    }
    issuer->count -= issuer->signing;
    memmove(issuer->keys, issuer->keys + issuer->signing, issuer->count * sizeof(struct lc_key *));
    issuer->signing = 0;
    (void)pthread_mutex_unlock(&issuer->lock);
}

int lc_issuer_rotate(struct lc_issuer *issuer, const char *phase, struct lc_fail *fail)
{
    bool all = strcmp(phase, "all") == 0;

    if (!all && strcmp(phase, "publish") != 0 && strcmp(phase, "switch") != 0 && strcmp(phase, "retire") != 0) {
        return lc_fail_set(fail, "\"phase\" must be publish, switch, retire or all");
    }
    if ((all || strcmp(phase, "publish") == 0) && publish(issuer, fail) != 0) {
        return -1;
    }
    if ((all || strcmp(phase, "switch") == 0) && switch_key(issuer, fail) != 0) {
        return -1;
    }
    if (all || strcmp(phase, "retire") == 0) {
        retire(issuer);
    }
    return 0;
}

void lc_issuer_object_uid(const char *kind, const char *namespace_name, const char *name, char out[LC_OBJECT_UID_BYTES])
{
    char *text = lc_text_format("%s/%s/%s", kind, namespace_name, name);
    char hex[LC_SHA256_HEX_BYTES] = "";

    lc_sha256_hex(text == NULL ? "" : text, text == NULL ? 0 : strlen(text), hex);
    free(text);
    for (size_t from = 0, to = 0; to < LC_UUID_BYTES - 1; to++) {
        out[to] = to == 8 || to == 13 || to == 18 || to == 23 ? '-' : hex[from++];
    }
    out[14] = '4';
    out[19] = 'a';
    out[LC_UUID_BYTES - 1] = '\0';
}

static json_t *kubernetes_claim(const struct lc_token_request *wanted)
{
    char account_uid[LC_OBJECT_UID_BYTES];
    char pod_uid[LC_OBJECT_UID_BYTES];
    char node_uid[LC_OBJECT_UID_BYTES];
    char *pod = lc_text_format("%s-0", wanted->service_account);
    json_t *claim = NULL;

    lc_issuer_object_uid("serviceaccount", wanted->namespace_name, wanted->service_account, account_uid);
    lc_issuer_object_uid("pod", wanted->namespace_name, wanted->service_account, pod_uid);
    lc_issuer_object_uid("node", "", "worker-1", node_uid);
    if (pod != NULL) {
        claim = json_pack("{s:s,s:{s:s,s:s},s:{s:s,s:s},s:{s:s,s:s}}", "namespace", wanted->namespace_name,
                          "serviceaccount", "name", wanted->service_account, "uid", account_uid, "pod", "name", pod,
                          "uid", pod_uid, "node", "name", "worker-1", "uid", node_uid);
    }
    free(pod);
    return claim;
}

static json_t *claims_for(const struct lc_issuer *issuer, const struct lc_token_request *wanted)
{
    char jti[LC_UUID_BYTES];
    char *subject = lc_text_format("system:serviceaccount:%s:%s", wanted->namespace_name, wanted->service_account);
    json_t *kubernetes = kubernetes_claim(wanted);
    json_t *claims = NULL;
    const char *name = NULL;
    json_t *value = NULL;

    lc_uuid(jti);
    if (subject != NULL && kubernetes != NULL) {
        claims = json_pack("{s:O,s:I,s:I,s:I,s:s,s:s,s:O,s:s}", "aud", wanted->audience, "exp",
                           (json_int_t)wanted->expires_at_s, "iat", (json_int_t)wanted->issued_at_s, "nbf",
                           (json_int_t)wanted->issued_at_s, "iss", issuer->url, "jti", jti, "kubernetes.io", kubernetes,
                           "sub", subject);
    }
    json_decref(kubernetes);
    free(subject);
    json_object_foreach(wanted->extra_claims, name, value)
    {
        if (json_is_null(value)) {
            (void)json_object_del(claims, name);
        } else {
            (void)json_object_set(claims, name, value);
        }
    }
    return claims;
}

/* The key to sign with and its kid, copied, so that any number of threads sign at once. */
static bool take_key(struct lc_issuer *issuer, const struct lc_token_request *wanted, struct lc_key *copy, char **kid)
{
    struct lc_key *stray = wanted->stray_key ? lc_key_generate(NULL) : NULL;
    const struct lc_key *key = NULL;

    (void)pthread_mutex_lock(&issuer->lock);
    if (stray != NULL && issuer->stray == NULL) {
        issuer->stray = stray;
        stray = NULL;
    }
    key = wanted->stray_key ? issuer->stray : issuer->keys[issuer->signing];
    if (key != NULL) {
        copy->private_pem = strdup(key->private_pem);
        copy->public_pem = strdup(key->public_pem);
        copy->signer = lc_key_signer(key);
    }
    *kid = strdup(wanted->kid == NULL ? issuer->keys[issuer->signing]->kid : wanted->kid);
    (void)pthread_mutex_unlock(&issuer->lock);
    lc_key_free(stray);
    return copy->private_pem != NULL && copy->public_pem != NULL && *kid != NULL;
}

char *lc_issuer_mint(struct lc_issuer *issuer, const struct lc_token_request *wanted, struct lc_fail *fail)
{
    json_t *claims = claims_for(issuer, wanted);
    struct lc_key key = {0};
    char *kid = NULL;
    char *token = NULL;

    if (take_key(issuer, wanted, &key, &kid) && claims != NULL) {
        token = lc_jwt_make(claims, *kid == '\0' ? NULL : kid, &key, wanted->how);
    }
    free(key.private_pem);
    free(key.public_pem);
    lc_key_signer_free(key.signer);
    free(kid);
    json_decref(claims);
    if (token == NULL) {
        (void)lc_fail_set(fail, "the token could not be signed");
        return NULL;
    }
    (void)pthread_mutex_lock(&issuer->lock);
    issuer->minted++;
    (void)pthread_mutex_unlock(&issuer->lock);
    return token;
}

unsigned long lc_issuer_minted(struct lc_issuer *issuer)
{
    unsigned long minted = 0;

    (void)pthread_mutex_lock(&issuer->lock);
    minted = issuer->minted;
    (void)pthread_mutex_unlock(&issuer->lock);
    return minted;
}

bool lc_issuer_find(struct lc_issuer *issuer, const char *kid, enum lc_key_kind *kind, char **public_pem)
{
    *public_pem = NULL;
    (void)pthread_mutex_lock(&issuer->lock);
    for (size_t i = 0; i < issuer->count; i++) {
        if (strcmp(issuer->keys[i]->kid, kid) == 0) {
            *kind = issuer->keys[i]->kind;
            *public_pem = strdup(issuer->keys[i]->public_pem);
        }
    }
    (void)pthread_mutex_unlock(&issuer->lock);
    return *public_pem != NULL;
}

void lc_issuer_export(struct lc_issuer *issuer, struct lc_buf *out)
{
    (void)pthread_mutex_lock(&issuer->lock);
    lc_buf_text(out, issuer->keys[issuer->signing]->private_pem);
    (void)pthread_mutex_unlock(&issuer->lock);
}
