/* SPDX-License-Identifier: MIT */
/* ExecCredential objects, read and written. */
#include "kube/exec_credential.h"

#include "base/json.h"
#include "base/redact.h"
#include "base/time.h"
#include "base/writer.h"

#include <string.h>

#define KIND      "ExecCredential"
#define SHOWN_MAX 80

static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

bool cfr_k8s_exec_credential_version_ok(const char *api_version)
{
    for (size_t i = 0; api_version != NULL && i < sizeof versions / sizeof versions[0]; i++) {
        if (strcmp(api_version, versions[i]) == 0)
            return true;
    }
    return false;
}

static int check_version(const char *api_version, struct cfr_err *err)
{
    if (cfr_k8s_exec_credential_version_ok(api_version))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "the exec plugin's apiVersion must be %s or %s", versions[0], versions[1]);
}

int cfr_k8s_exec_credential_info(const char *api_version, struct cfr_view cluster_json, struct cfr_secret *out,
                                 struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err, .rc = check_version(api_version, err)};

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of(api_version));
    cfr_writer_string(&w, "kind", cfr_view_of(KIND));
    cfr_writer_object(&w, "spec");
    if (cluster_json.n != 0)
        cfr_writer_raw(&w, "cluster", cluster_json);
    cfr_writer_bool(&w, "interactive", false);
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}

static int check_head(const struct cfr_json *doc, const char *api_version, struct cfr_view token, struct cfr_err *err)
{
    struct cfr_view kind = {NULL, 0};
    struct cfr_view version = {NULL, 0};
    char shown[CFR_REDACT_MAX];

    (void)cfr_json_string(cfr_json_get(doc, "kind"), &kind);
    (void)cfr_json_string(cfr_json_get(doc, "apiVersion"), &version);
    if (!cfr_view_is(kind, KIND))
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin printed no " KIND " (its kind is \"%.*s\")", SHOWN_MAX,
                           cfr_redact(kind, &token, 1, shown));
    if (!cfr_view_is(version, api_version))
        return cfr_err_set(
            err, CFR_E_ANSWER,
            "the exec plugin answers with apiVersion \"%.*s\", and the kubeconfig says %s: make them equal", SHOWN_MAX,
            cfr_redact(version, &token, 1, shown), api_version);
    return 0;
}

/* A character that ends a header line must not get into one. */
static bool is_header_value(struct cfr_view token)
{
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= 0x20 || token.p[i] > 0x7e)
            return false;
    }
    return true;
}

/* Appends the text at KEY to OUT, if there is one. */
static int read_text(const struct cfr_json *status, const char *key, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(status, key);
    struct cfr_view text = {NULL, 0};

    if (value == NULL || cfr_json_is_null(value))
        return 0;
    if (!cfr_json_string(value, &text))
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin's %s is not a string", key);
    if (text.n > out->limit)
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin's %s has %zu bytes, more than %zu", key, text.n,
                           out->limit);
    return cfr_secret_append(out, text, err);
}

static int read_secrets(const struct cfr_json *status, struct cfr_k8s_exec_credential *out, struct cfr_err *err)
{
    int rc = read_text(status, "token", &out->token, err);

    if (rc == 0)
        rc = read_text(status, "clientCertificateData", &out->cert, err);
    if (rc == 0)
        rc = read_text(status, "clientKeyData", &out->key, err);
    if (rc != 0)
        return rc;
    if ((out->cert.len == 0) != (out->key.len == 0))
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin gave a %s without a %s",
                           out->cert.len != 0 ? "clientCertificateData" : "clientKeyData",
                           out->cert.len != 0 ? "clientKeyData" : "clientCertificateData");
    if (out->token.len == 0 && out->cert.len == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin gave neither a token nor a certificate");
    if (!is_header_value(cfr_secret_view(&out->token)))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the exec plugin's token holds a space or a character that is not printable");
    if (out->cert.len != 0 && (cfr_view_find(cfr_secret_view(&out->cert), "-----BEGIN ") < 0 ||
                               cfr_view_find(cfr_secret_view(&out->key), "-----BEGIN ") < 0))
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin's certificate or key is not PEM");
    return 0;
}

static int read_expiry(const struct cfr_json *status, struct cfr_k8s_exec_credential *out, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(status, "expirationTimestamp");
    struct cfr_view text;

    if (value == NULL || cfr_json_is_null(value))
        return 0;
    if (!cfr_json_string(value, &text) || !cfr_time_parse(text, &out->expires_s) || out->expires_s == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the exec plugin's expirationTimestamp is not a time");
    return 0;
}

int cfr_k8s_exec_credential_read(const char *api_version, struct cfr_view text, struct cfr_k8s_exec_credential *out,
                                 struct cfr_err *err)
{
    const struct cfr_json *status;
    struct cfr_view token = {NULL, 0};
    struct cfr_err why = {0};
    struct cfr_json *doc;
    int rc;

    *out = (struct cfr_k8s_exec_credential){0};
    cfr_secret_init(&out->token, CFR_K8S_EXEC_CREDENTIAL_MAX);
    cfr_secret_init(&out->cert, CFR_K8S_EXEC_CREDENTIAL_MAX);
    cfr_secret_init(&out->key, CFR_K8S_EXEC_CREDENTIAL_MAX);
    rc = check_version(api_version, err);
    if (rc != 0)
        return rc;
    rc = cfr_json_parse(text, &doc, &why);
    if (rc != 0)
        return cfr_err_set(err, rc, rc == CFR_E_NOMEM ? "%s" : "the output of the exec plugin is %s", why.text);
    status = cfr_json_get(doc, "status");
    (void)cfr_json_string(cfr_json_get(status, "token"), &token);
    rc = check_head(doc, api_version, token, err);
    if (rc == 0 && !cfr_json_is_object(status))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the exec plugin's " KIND " has no status");
    if (rc == 0)
        rc = read_secrets(status, out, err);
    if (rc == 0)
        rc = read_expiry(status, out, err);
    cfr_json_free(doc);
    if (rc != 0)
        cfr_k8s_exec_credential_free(out);
    return rc;
}

void cfr_k8s_exec_credential_free(struct cfr_k8s_exec_credential *c)
{
    cfr_secret_free(&c->token);
    cfr_secret_free(&c->cert);
    cfr_secret_free(&c->key);
    c->expires_s = 0;
}

/* ---- the plugin's side ---- */

int cfr_k8s_exec_credential_version_of(struct cfr_view info, const char **version, struct cfr_err *err)
{
    struct cfr_view asked = {NULL, 0};
    struct cfr_view kind = {NULL, 0};
    struct cfr_json *doc = NULL;
    int rc = info.n != 0 ? cfr_json_parse(info, &doc, err) : 0;

    *version = versions[0];
    if (rc != 0)
        return cfr_err_set(err, rc == CFR_E_NOMEM ? rc : CFR_E_CONFIG, "KUBERNETES_EXEC_INFO is not JSON");
    if (info.n == 0)
        return 0;
    (void)cfr_json_string(cfr_json_get(doc, "kind"), &kind);
    (void)cfr_json_string(cfr_json_get(doc, "apiVersion"), &asked);
    *version = NULL;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        if (cfr_view_is(kind, KIND) && cfr_view_is(asked, versions[i]))
            *version = versions[i];
    }
    if (*version == NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "KUBERNETES_EXEC_INFO asks for another kind or version than " KIND
                         " of %s or %s: set apiVersion in the "
                         "kubeconfig's `exec`",
                         versions[0], versions[1]);
    cfr_json_free(doc);
    return rc;
}

int cfr_k8s_exec_credential_write(const char *version, const struct cfr_k8s_exec_credential *c, struct cfr_secret *out,
                                  struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err, .rc = check_version(version, err)};
    char when[CFR_TIME_RFC3339_MAX];

    if (w.rc == 0 && !is_header_value(cfr_secret_view(&c->token)))
        w.rc = cfr_err_set(err, CFR_E_ANSWER, "the token holds a space or a character that is not printable");
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of(version));
    cfr_writer_string(&w, "kind", cfr_view_of(KIND));
    cfr_writer_object(&w, "status");
    if (c->expires_s != 0)
        cfr_writer_string(&w, "expirationTimestamp", cfr_view_of(cfr_time_format(c->expires_s, when)));
    cfr_writer_optional(&w, "token", cfr_secret_view(&c->token));
    cfr_writer_optional(&w, "clientCertificateData", cfr_secret_view(&c->cert));
    cfr_writer_optional(&w, "clientKeyData", cfr_secret_view(&c->key));
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return w.rc;
}
