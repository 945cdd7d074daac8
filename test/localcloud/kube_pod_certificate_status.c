/* SPDX-License-Identifier: MIT */
/* The API server's rules for the status of a PodCertificateRequest: conditions, certificate chain, times. */
#include "kube_pod_certificate.h"

#include "ossl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHAIN_MOST_BYTES = 102400, CHAIN_MOST = 16, SKEW_S = 300, REFRESH_S = 600, LIFE_LEAST_S = 3600 };

static const char *const times[] = {"notBefore", "notAfter", "beginRefreshAt"};

/* ---- decoding ---- */

static bool read_time(const char *text, int64_t *out)
{
    struct tm tm = {0};
    const char *end = strlen(text) != strlen("2026-01-02T03:04:05Z") ? NULL : strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

    if (end == NULL || *end != '\0') {
        return false;
    }
    *out = timegm(&tm);
    return true;
}

static int undecodable(struct lc_visit *visit, const char *what, const char *field)
{
    return lc_kube_refuse(visit, 400, "BadRequest", NULL,
                          "PodCertificateRequest in version \"%s\" cannot be handled as a PodCertificateRequest: %s "
                          "\"%.100s\"",
                          strstr(visit->request->path, "/v1beta1/") != NULL ? "v1beta1" : "v1", what, field);
}

static const char *unknown_key(json_t *object, const char *const known[])
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], key) != 0) {
            i++;
        }
        if (known[i] == NULL) {
            return key;
        }
    }
    return NULL;
}

static int decode_condition(struct lc_visit *visit, json_t *condition)
{
    static const char *const known[] = {
        "type", "status", "lastTransitionTime", "reason", "message", "observedGeneration", NULL};
    const char *unknown = unknown_key(condition, known);
    json_t *time = json_object_get(condition, "lastTransitionTime");
    int64_t when_s = 0;

    if (!json_is_object(condition)) {
        return undecodable(visit, "not an object:", "status.conditions");
    }
    if (unknown != NULL) {
        return undecodable(visit, "strict decoding error: unknown field of a condition", unknown);
    }
    for (size_t i = 0; i < 5; i++) {
        json_t *value = json_object_get(condition, known[i]);
        if (value != NULL && !json_is_null(value) && !json_is_string(value)) {
            return undecodable(visit, "not a string: status.conditions", known[i]);
        }
    }
    if (json_is_string(time) && !read_time(json_string_value(time), &when_s)) {
        return undecodable(visit, "cannot parse the time of", "status.conditions[].lastTransitionTime");
    }
    return 0;
}

int lc_kube_pod_certificate_decode(struct lc_visit *visit, json_t *status)
{
    static const char *const known[] = {"conditions", "certificateChain", "notBefore",
                                        "notAfter",   "beginRefreshAt",   NULL};
    const char *unknown = unknown_key(status, known);
    json_t *conditions = json_object_get(status, "conditions");
    json_t *chain = json_object_get(status, "certificateChain");
    json_t *one = NULL;
    size_t index = 0;

    if (!json_is_object(status) || (conditions != NULL && !json_is_array(conditions))) {
        return undecodable(visit, "not what it must be:", json_is_object(status) ? "status.conditions" : "status");
    }
    if (unknown != NULL) {
        return undecodable(visit, "strict decoding error: unknown field of status", unknown);
    }
    if (chain != NULL && !json_is_string(chain)) {
        return undecodable(visit, "not a string:", "status.certificateChain");
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        json_t *value = json_object_get(status, times[i]);
        int64_t when_s = 0;
        if (value != NULL && (!json_is_string(value) || !read_time(json_string_value(value), &when_s))) {
            return undecodable(visit, "cannot parse the time of status:", times[i]);
        }
    }
    json_array_foreach(conditions, index, one)
    {
        if (decode_condition(visit, one) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- conditions ---- */

static bool is_reason(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len <= 1024 && lc_text_only(text, "_,:") && strchr("0123456789_,:", text[0]) == NULL &&
           strchr(",:", text[len - 1]) == NULL;
}

static void check_condition(json_t *condition, size_t index, struct lc_kube_faults *faults)
{
    const char *type = lc_kube_text(condition, "type");
    const char *status = lc_kube_text(condition, "status");
    const char *reason = lc_kube_text(condition, "reason");
    char field[64];

    (void)snprintf(field, sizeof field, "status.conditions[%zu].type", index);
    if (strcmp(type, "Issued") != 0 && strcmp(type, "Denied") != 0 && strcmp(type, "Failed") != 0) {
        lc_kube_fault(faults, "FieldValueNotSupported", field,
                      "Unsupported value: \"%.100s\": supported values: \"Denied\", \"Failed\", \"Issued\"", type);
    } else if (index > 0) {
        lc_kube_fault(faults, "FieldValueInvalid", field,
                      "Invalid value: \"%s\": There may be at most one condition with type \"Issued\", \"Denied\", or "
                      "\"Failed\"",
                      type);
    }
    (void)snprintf(field, sizeof field, "status.conditions[%zu].status", index);
    if (strcmp(status, "True") != 0) {
        lc_kube_fault(faults, "FieldValueNotSupported", field,
                      "Unsupported value: \"%.100s\": supported values: \"True\"", status);
    }
    (void)snprintf(field, sizeof field, "status.conditions[%zu].lastTransitionTime", index);
    if (*lc_kube_text(condition, "lastTransitionTime") == '\0') {
        lc_kube_fault(faults, "FieldValueRequired", field, "Required value");
    }
    (void)snprintf(field, sizeof field, "status.conditions[%zu].reason", index);
    if (*reason == '\0') {
        lc_kube_fault(faults, "FieldValueRequired", field, "Required value");
    } else if (!is_reason(reason)) {
        lc_kube_fault(faults, "FieldValueInvalid", field,
                      "Invalid value: \"%.100s\": a condition reason must start with alphabetic character, optionally "
                      "followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric "
                      "character or '_'",
                      reason);
    }
    (void)snprintf(field, sizeof field, "status.conditions[%zu].message", index);
    if (strlen(lc_kube_text(condition, "message")) > 32768) {
        lc_kube_fault(faults, "FieldValueTooLong", field, "Too long: may not be more than 32768 bytes");
    }
}

static const char *result_of(json_t *status)
{
    return lc_kube_text(json_array_get(json_object_get(status, "conditions"), 0), "type");
}

/* ---- the chain ---- */

static void chain_fault(struct lc_kube_faults *faults, const char *why)
{
    lc_kube_fault(faults, "FieldValueInvalid", "status.certificateChain", "Invalid value: \"<omitted>\": %s", why);
}

static X509 *certificate_of(const unsigned char *der, long len)
{
    const unsigned char *at = der;
    X509 *certificate = d2i_X509(NULL, &at, len);

    if (certificate != NULL && at != der + len) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

/* Every PEM block of the text; what is wrong with it, or NULL. The caller frees the certificates. */
static const char *read_chain(const char *pem, X509 *out[CHAIN_MOST], size_t *count)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    char *name = NULL;
    char *header = NULL;
    unsigned char *bytes = NULL;
    long len = 0;
    const char *why = NULL;

    *count = 0;
    while (why == NULL && *count < CHAIN_MOST && bio != NULL && PEM_read_bio(bio, &name, &header, &bytes, &len) == 1) {
        if (strcmp(name, "CERTIFICATE") != 0 || *header != '\0') {
            why = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
        } else if ((out[*count] = certificate_of(bytes, len)) == NULL) {
            why = *count == 0 ? "leaf certificate does not parse as valid X.509"
                              : "intermediate certificate does not parse as valid X.509";
        } else {
            (*count)++;
        }
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(bytes);
    }
    BIO_free(bio);
    ERR_clear_error();
    return why != NULL || *count > 0 ? why : "issued certificate chain must contain at least one certificate";
}

/* Stricter than the API server, which does not verify signatures: each is signed by the next. */
static const char *order_of(X509 *const chain[], size_t count)
{
    const char *why = X509_check_ca(chain[0]) != 0 ? "the first certificate must be the leaf, not a CA" : NULL;

    for (size_t i = 0; why == NULL && i + 1 < count; i++) {
        if (X509_check_issued(chain[i + 1], chain[i]) != X509_V_OK ||
            X509_verify(chain[i], X509_get0_pubkey(chain[i + 1])) != 1) {
            why = "each certificate must be signed by the next one";
        }
    }
    ERR_clear_error();
    return why;
}

static bool is_of_key(json_t *spec, X509 *leaf)
{
    EVP_PKEY *key = lc_kube_pod_certificate_key(spec, NULL);
    bool same = key != NULL && EVP_PKEY_eq(key, X509_get0_pubkey(leaf)) == 1;

    EVP_PKEY_free(key);
    ERR_clear_error();
    return same;
}

static int64_t seconds_of(const ASN1_TIME *time)
{
    struct tm tm = {0};

    return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void check_times(json_t *spec, json_t *status, X509 *leaf, struct lc_kube_faults *faults)
{
    int64_t from_s = seconds_of(X509_get0_notBefore(leaf));
    int64_t to_s = seconds_of(X509_get0_notAfter(leaf));
    int64_t most_s = json_integer_value(json_object_get(spec, "maxExpirationSeconds"));
    int64_t now_s = (int64_t)lc_time_now();
    int64_t said_s[3] = {0, 0, 0};

    for (size_t i = 0; i < 3; i++) {
        if (!read_time(lc_kube_text(status, times[i]), &said_s[i])) {
            char field[32];
            (void)snprintf(field, sizeof field, "status.%s", times[i]);
            lc_kube_fault(faults, "FieldValueRequired", field,
                          "Required value: must be present and consistent with the issued certificate");
        }
    }
    if (faults->causes != NULL) {
        return;
    }
    if (said_s[0] != from_s) {
        lc_kube_fault(faults, "FieldValueInvalid", "status.notBefore",
                      "Invalid value: must be set to the NotBefore time encoded in the leaf certificate");
    } else if (from_s <= now_s - SKEW_S || from_s >= now_s + SKEW_S) {
        lc_kube_fault(faults, "FieldValueInvalid", "status.notBefore",
                      "Invalid value: must be set to within 5 minutes of kube-apiserver's current time");
    }
    if (said_s[1] != to_s) {
        lc_kube_fault(faults, "FieldValueInvalid", "status.notAfter",
                      "Invalid value: must be set to the NotAfter time encoded in the leaf certificate");
    }
    if (to_s - from_s < LIFE_LEAST_S) {
        chain_fault(faults, "leaf certificate lifetime must be >= 1 hour");
    } else if (to_s - from_s > most_s) {
        char *why =
            lc_text_format("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%lld)", (long long)most_s);
        chain_fault(faults, why == NULL ? "" : why);
        free(why);
    }
    if (said_s[2] < said_s[0] + REFRESH_S) {
        lc_kube_fault(faults, "FieldValueInvalid", "status.beginRefreshAt",
                      "Invalid value: must be at least 10 minutes after status.notBefore");
    } else if (said_s[2] > said_s[1] - REFRESH_S) {
        lc_kube_fault(faults, "FieldValueInvalid", "status.beginRefreshAt",
                      "Invalid value: must be at least 10 minutes before status.notAfter");
    }
}

static void check_issued(json_t *spec, json_t *status, struct lc_kube_faults *faults)
{
    const char *pem = lc_kube_text(status, "certificateChain");
    X509 *chain[CHAIN_MOST] = {NULL};
    size_t count = 0;
    const char *why = NULL;

    if (strlen(pem) > CHAIN_MOST_BYTES) {
        lc_kube_fault(faults, "FieldValueTooLong", "status.certificateChain", "Too long: may not be more than %d bytes",
                      CHAIN_MOST_BYTES);
        return;
    }
    why = read_chain(pem, chain, &count);
    if (why == NULL) {
        why = order_of(chain, count);
    }
    if (why == NULL && !is_of_key(spec, chain[0])) {
        why = "leaf certificate was not issued to the requested public key";
    }
    if (why != NULL) {
        chain_fault(faults, why);
    } else {
        check_times(spec, status, chain[0], faults);
    }
    for (size_t i = 0; i < count; i++) {
        X509_free(chain[i]);
    }
}

void lc_kube_pod_certificate_check(json_t *object, json_t *status, struct lc_kube_faults *faults)
{
    json_t *before = json_object_get(object, "status");
    json_t *one = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(status, "conditions"), index, one)
    {
        check_condition(one, index, faults);
    }
    if (faults->causes != NULL) {
        return;
    }
    if (*result_of(before) != '\0') {
        if (json_equal(status, before) != 1) {
            lc_kube_fault(faults, "FieldValueInvalid", "status",
                          "Invalid value: immutable after PodCertificateRequest is issued, denied, or failed");
        }
    } else if (strcmp(result_of(status), "Issued") == 0) {
        check_issued(json_object_get(object, "spec"), status, faults);
    } else if (*result_of(status) != '\0') {
        if (json_object_size(status) != 1) {
            lc_kube_fault(faults, "FieldValueInvalid", "status",
                          "Invalid value: non-condition status fields must be empty when denying or failing the "
                          "PodCertificateRequest");
        }
    } else if (json_object_size(status) != 0) {
        lc_kube_fault(faults, "FieldValueInvalid", "status",
                      "Invalid value: status is immutable unless transitioning to \"Issued\", \"Denied\", or "
                      "\"Failed\"");
    }
}
