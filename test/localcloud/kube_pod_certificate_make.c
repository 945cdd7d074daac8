/* SPDX-License-Identifier: MIT */
/* New PodCertificateRequests: the API server's rules for their spec, their key and its proof of possession. */
#include "kube_pod_certificate.h"

#include "crypto.h"
#include "kube_watch.h"
#include "ossl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIFE_LEAST_S = 3600,
    LIFE_MOST_S = 7862400,
    LIFE_KUBERNETES_S = 86400,
    SIGNER_MOST = 571,
    DER_MOST = 10240,
};

/* ---- the key ---- */

static bool is_known_key(EVP_PKEY *key)
{
    char group[32] = "";

    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
        return true;
    case EVP_PKEY_RSA:
        return EVP_PKEY_get_bits(key) == 3072 || EVP_PKEY_get_bits(key) == 4096;
    case EVP_PKEY_EC:
        return EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
               (strcmp(group, "prime256v1") == 0 || strcmp(group, "secp384r1") == 0 || strcmp(group, "secp521r1") == 0);
    default:
        return false;
    }
}

/* Ed25519 signs the UID of the pod itself, ECDSA and RSASSA-PSS its SHA-256. */
static bool is_proof(EVP_PKEY *key, const char *uid, const struct lc_buf *proof)
{
    bool pure = EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *context = NULL;
    bool good = md != NULL && EVP_DigestVerifyInit(md, &context, pure ? NULL : EVP_sha256(), NULL, key) == 1 &&
                (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA ||
                 (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
                  EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_AUTO) == 1)) &&
                EVP_DigestVerify(md, (const unsigned char *)proof->at, proof->len, (const unsigned char *)uid,
                                 strlen(uid)) == 1;

    EVP_MD_CTX_free(md);
    return good;
}

static bool read_bytes(json_t *spec, const char *field, struct lc_buf *out, struct lc_fail *fail)
{
    const char *text = lc_kube_text(spec, field);

    if (*text == '\0' || !lc_unbase64(out, text, strlen(text), false) || out->len == 0 || out->len > DER_MOST) {
        (void)lc_fail_set(fail, "spec.%s: Invalid value: must be base64 of at most %d bytes", field, DER_MOST);
        return false;
    }
    return true;
}

static EVP_PKEY *key_of_request(json_t *spec, struct lc_fail *fail)
{
    struct lc_buf der = {0};
    const unsigned char *at = NULL;
    X509_REQ *request = NULL;
    EVP_PKEY *key = NULL;

    if (read_bytes(spec, "stubPKCS10Request", &der, fail)) {
        at = (const unsigned char *)der.at;
        request = d2i_X509_REQ(NULL, &at, (long)der.len);
        key = request == NULL || at != (const unsigned char *)der.at + der.len ? NULL : X509_REQ_get_pubkey(request);
        if (key == NULL) {
            (void)lc_fail_set(fail, "spec.stubPKCS10Request: Invalid value: must be a PKCS#10 request in DER");
        } else if (X509_REQ_verify(request, key) != 1) {
            (void)lc_fail_set(fail, "spec.stubPKCS10Request: Invalid value: signature does not verify");
            EVP_PKEY_free(key);
            key = NULL;
        }
    }
    X509_REQ_free(request);
    lc_buf_free(&der);
    return key;
}

static EVP_PKEY *key_of_proof(json_t *spec, struct lc_fail *fail)
{
    struct lc_buf der = {0};
    struct lc_buf proof = {0};
    const unsigned char *at = NULL;
    EVP_PKEY *key = NULL;

    if (read_bytes(spec, "pkixPublicKey", &der, fail) && read_bytes(spec, "proofOfPossession", &proof, fail)) {
        at = (const unsigned char *)der.at;
        key = d2i_PUBKEY(NULL, &at, (long)der.len);
        if (key == NULL || at != (const unsigned char *)der.at + der.len) {
            (void)lc_fail_set(fail, "spec.pkixPublicKey: Invalid value: must be a valid PKIX-serialized public key");
            EVP_PKEY_free(key);
            key = NULL;
        } else if (!is_proof(key, lc_kube_text(spec, "podUID"), &proof)) {
            (void)lc_fail_set(fail,
                              "spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature");
            EVP_PKEY_free(key);
            key = NULL;
        }
    }
    lc_buf_free(&proof);
    lc_buf_free(&der);
    return key;
}

EVP_PKEY *lc_kube_pod_certificate_key(json_t *spec, struct lc_fail *fail)
{
    bool stub = json_object_get(spec, "stubPKCS10Request") != NULL;
    EVP_PKEY *key = NULL;

    if (stub &&
        (json_object_get(spec, "pkixPublicKey") != NULL || json_object_get(spec, "proofOfPossession") != NULL)) {
        (void)lc_fail_set(fail, "spec.stubPKCS10Request: Invalid value: excludes pkixPublicKey and proofOfPossession");
        return NULL;
    }
    key = stub ? key_of_request(spec, fail) : key_of_proof(spec, fail);
    if (key != NULL && !is_known_key(key)) {
        (void)lc_fail_set(fail,
                          "spec.%s: Invalid value: keys must be RSA of 3072 or 4096 bits, ECDSA P-256, P-384 or P-521, "
                          "or Ed25519",
                          stub ? "stubPKCS10Request" : "pkixPublicKey");
        EVP_PKEY_free(key);
        key = NULL;
    }
    ERR_clear_error();
    return key;
}

/* ---- the spec ---- */

static bool is_subdomain(const char *name, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    bool edge = true; /* of a label */

    for (size_t i = 0; i < len; i++) {
        bool letter = strchr(letters, name[i]) != NULL;
        if (!letter && name[i] != '-' && name[i] != '.') {
            return false;
        }
        if ((edge && !letter) || (name[i] == '.' && name[i - 1] == '-')) {
            return false;
        }
        edge = name[i] == '.';
    }
    return len > 0 && len <= 253 && strchr(letters, name[len - 1]) != NULL;
}

static int check_signer(const char *signer, struct lc_fail *fail)
{
    size_t domain = strcspn(signer, "/");
    const char *rest = signer[domain] == '/' ? signer + domain + 1 : "";

    if (strlen(signer) > SIGNER_MOST || !is_subdomain(signer, domain) || memchr(signer, '.', domain) == NULL ||
        !is_subdomain(rest, strlen(rest))) {
        return lc_fail_set(fail,
                           "spec.signerName: Invalid value: \"%.100s\": must be a fully qualified domain and path of "
                           "the form 'example.com/signer-name'",
                           signer);
    }
    return 0;
}

static int check_life(json_t *spec, const char *signer, struct lc_fail *fail)
{
    size_t domain = strcspn(signer, "/");
    bool own = (domain == 13 || (domain > 13 && signer[domain - 14] == '.')) &&
               strncmp(signer + domain - 13, "kubernetes.io", 13) == 0;
    json_int_t most = own ? LIFE_KUBERNETES_S : LIFE_MOST_S;
    json_t *life = json_object_get(spec, "maxExpirationSeconds");

    if (!json_is_integer(life) || json_integer_value(life) < LIFE_LEAST_S || json_integer_value(life) > most) {
        return lc_fail_set(fail, "spec.maxExpirationSeconds: Invalid value: must be in the range [%d, %lld]",
                           LIFE_LEAST_S, (long long)most);
    }
    return 0;
}

static int check_annotations(json_t *map, struct lc_fail *fail)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (map != NULL && !json_is_object(map)) {
        return lc_fail_set(fail, "spec.unverifiedUserAnnotations: Invalid value: must be a map of strings");
    }
    json_object_foreach(map, key, value)
    {
        size_t domain = strcspn(key, "/");
        if (!json_is_string(value) || !is_subdomain(key, domain) || key[domain] != '/' || key[domain + 1] == '\0' ||
            !lc_text_only(key + domain + 1, "-_.")) {
            return lc_fail_set(
                fail,
                "spec.unverifiedUserAnnotations: Invalid value: \"%.100s\": must be a domain-prefixed key (such "
                "as \"acme.io/foo\") with a string",
                key);
        }
    }
    return 0;
}

/* A field that the cluster knows: it is filled in, or must be the same. */
static int fill(json_t *spec, const char *field, const char *known, struct lc_fail *fail)
{
    json_t *value = json_object_get(spec, field);

    if (value == NULL && *known != '\0') {
        return json_object_set_new(spec, field, json_string(known));
    }
    if (*known == '\0' || !json_is_string(value) || strcmp(json_string_value(value), known) != 0) {
        return lc_fail_set(fail, "spec.%s: Invalid value: the cluster has \"%.200s\"", field, known);
    }
    return 0;
}

static json_t *find(json_t *list, const char *space, const char *name)
{
    char *key = lc_kube_key(space, name);
    json_t *found = key == NULL ? NULL : json_object_get(list, key);

    free(key);
    return json_is_object(found) ? found : NULL;
}

static int check_spec(struct lc_kube *kube, const char *space, json_t *spec, struct lc_fail *fail)
{
    static const char *const known[] = {"signerName",
                                        "podName",
                                        "podUID",
                                        "serviceAccountName",
                                        "serviceAccountUID",
                                        "nodeName",
                                        "nodeUID",
                                        "maxExpirationSeconds",
                                        "stubPKCS10Request",
                                        "pkixPublicKey",
                                        "proofOfPossession",
                                        "unverifiedUserAnnotations",
                                        NULL};
    json_t *pod = find(kube->pods, space, lc_kube_text(spec, "podName"));
    const char *account = lc_kube_text(pod, "service_account");
    const char *node = lc_kube_text(pod, "node");
    EVP_PKEY *key = NULL;

    if (lc_json_keys(spec, "spec", known, fail) != 0 || check_signer(lc_kube_text(spec, "signerName"), fail) != 0) {
        return -1;
    }
    if (pod == NULL) {
        return lc_fail_set(fail, "spec.podName: Invalid value: \"%.100s\": there is no such pod in the namespace",
                           lc_kube_text(spec, "podName"));
    }
    if (json_object_get(spec, "maxExpirationSeconds") == NULL) {
        (void)json_object_set_new(spec, "maxExpirationSeconds", json_integer(LIFE_KUBERNETES_S));
    }
    if (fill(spec, "podUID", lc_kube_text(pod, "uid"), fail) != 0 ||
        fill(spec, "serviceAccountName", account, fail) != 0 ||
        fill(spec, "serviceAccountUID", lc_kube_text(find(kube->accounts, space, account), "uid"), fail) != 0 ||
        fill(spec, "nodeName", node, fail) != 0 ||
        fill(spec, "nodeUID", lc_kube_text(json_object_get(kube->nodes, node), "uid"), fail) != 0 ||
        check_life(spec, lc_kube_text(spec, "signerName"), fail) != 0 ||
        check_annotations(json_object_get(spec, "unverifiedUserAnnotations"), fail) != 0) {
        return -1;
    }
    key = lc_kube_pod_certificate_key(spec, fail);
    EVP_PKEY_free(key);
    return key == NULL ? -1 : 0;
}

int lc_kube_pod_certificate_make(struct lc_kube *kube, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"kind", "namespace", "name", "spec", NULL};
    const char *space = "default";
    const char *name = "";
    json_t *spec = NULL;
    json_t *object = NULL;
    char *key = NULL;
    char version[32];
    char uid[LC_UUID_BYTES];

    if (lc_json_keys(body, "PodCertificateRequest", known, fail) != 0 ||
        lc_json_text(body, "PodCertificateRequest", "namespace", &space, fail) != 0 ||
        lc_json_text(body, "PodCertificateRequest", "name", &name, fail) != 0 ||
        lc_json_object(body, "PodCertificateRequest", "spec", &spec, fail) != 0) {
        return -1;
    }
    if (!is_subdomain(name, strlen(name)) || spec == NULL) {
        return lc_fail_set(fail, "PodCertificateRequest: \"name\" and \"spec\" are needed");
    }
    if (find(kube->pod_certificates, space, name) != NULL) {
        return lc_fail_set(fail, "podcertificaterequests.certificates.k8s.io \"%.200s\" already exists", name);
    }
    spec = json_copy(spec);
    key = lc_kube_key(space, name);
    if (key == NULL || check_spec(kube, space, spec, fail) != 0) {
        json_decref(spec);
        free(key);
        return -1;
    }
    lc_uuid(uid);
    (void)snprintf(version, sizeof version, "%llu", (unsigned long long)++kube->version);
    object = json_pack("{s:s,s:{s:s,s:s,s:s,s:s,s:o},s:o,s:{}}", "kind", "PodCertificateRequest", "metadata", "name",
                       name, "namespace", space, "uid", uid, "resourceVersion", version, "creationTimestamp",
                       lc_kube_now(), "spec", spec, "status");
    (void)json_object_set(kube->pod_certificates, key, object);
    lc_kube_happened(kube, LC_POD_CERTIFICATES, space, NULL, object);
    json_decref(object);
    free(key);
    return 0;
}
