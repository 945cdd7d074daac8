/* SPDX-License-Identifier: MIT */
/* PodCertificateRequests and their status. */
#include "kube/pod_certificate.h"

#include "kube/answer_private.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/time.h"
#include "base/writer.h"
#include "kube/name_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DER_MAX 16384
#define GROUP   "certificates.k8s.io/"

static const char *version_of(bool beta)
{
    return beta ? GROUP "v1beta1" : GROUP "v1";
}

/* ---- paths ---- */

const char *cfr_k8s_pod_cert_collection(bool beta)
{
    return beta ? "/apis/" GROUP "v1beta1/" CFR_K8S_POD_CERT_RESOURCE : "/apis/" GROUP "v1/" CFR_K8S_POD_CERT_RESOURCE;
}

bool cfr_k8s_pod_cert_path(bool beta, const char *namespace_name, const char *name, bool status,
                           char out[CFR_K8S_POD_CERT_PATH_MAX])
{
    out[0] = '\0';
    if (!cfr_k8s_name_is_label(namespace_name) || !cfr_k8s_name_is_subdomain(name))
        return false;
    (void)snprintf(out, CFR_K8S_POD_CERT_PATH_MAX, "/apis/%s/namespaces/%s/" CFR_K8S_POD_CERT_RESOURCE "/%s%s",
                   version_of(beta), namespace_name, name, status ? "/status?fieldManager=credfresh" : "");
    return true;
}

/* ---- answers ---- */

static bool copy_text(struct cfr_view from, char *to, size_t size)
{
    if (from.n == 0 || from.n >= size || !cfr_view_printable(from))
        return false;
    memcpy(to, from.p, from.n);
    to[from.n] = '\0';
    return true;
}

static bool read_metadata(const struct cfr_json *doc, const char *namespace_name, const char *name,
                          struct cfr_k8s_pod_cert *out)
{
    const struct cfr_json *metadata = cfr_json_get(doc, "metadata");

    return cfr_view_is(cfr_json_text(doc, "kind"), "PodCertificateRequest") &&
           cfr_view_is(cfr_json_text(metadata, "namespace"), namespace_name) &&
           cfr_view_is(cfr_json_text(metadata, "name"), name) &&
           copy_text(cfr_json_text(metadata, "namespace"), out->namespace_name, sizeof out->namespace_name) &&
           copy_text(cfr_json_text(metadata, "name"), out->name, sizeof out->name) &&
           copy_text(cfr_json_text(metadata, "uid"), out->uid, sizeof out->uid) &&
           copy_text(cfr_json_text(metadata, "resourceVersion"), out->version, sizeof out->version);
}

static bool read_owner(const struct cfr_json *spec, struct cfr_k8s_pod_cert *out)
{
    return copy_text(cfr_json_text(spec, "podName"), out->pod, sizeof out->pod) &&
           cfr_k8s_name_is_subdomain(out->pod) &&
           copy_text(cfr_json_text(spec, "podUID"), out->pod_uid, sizeof out->pod_uid) &&
           copy_text(cfr_json_text(spec, "serviceAccountName"), out->service_account, sizeof out->service_account) &&
           cfr_k8s_name_is_subdomain(out->service_account);
}

/* What is not base64 is left empty: it proves nothing. */
static int read_bytes(const struct cfr_json *spec, const char *key, struct cfr_secret *out, struct cfr_err *err)
{
    int rc;

    cfr_secret_init(out, DER_MAX);
    rc = cfr_base64_decode(cfr_json_text(spec, key), out, err);
    if (rc != 0)
        cfr_secret_free(out);
    return rc == CFR_E_NOMEM ? rc : 0;
}

static int read_spec(const struct cfr_json *spec, struct cfr_k8s_pod_cert *out, struct cfr_err *err)
{
    int rc = read_bytes(spec, "stubPKCS10Request", &out->request, err);

    if (rc == 0)
        rc = read_bytes(spec, "pkixPublicKey", &out->public_key, err);
    if (rc == 0)
        rc = read_bytes(spec, "proofOfPossession", &out->proof, err);
    if (!cfr_json_integer(cfr_json_get(spec, "maxExpirationSeconds"), &out->life_max_s))
        out->life_max_s = CFR_K8S_POD_CERT_LIFE_UNSAID_S;
    out->annotated = cfr_json_members(cfr_json_get(spec, "unverifiedUserAnnotations")) != 0;
    return rc;
}

static bool is_decided(const struct cfr_json *doc)
{
    const struct cfr_json *status = cfr_json_get(doc, "status");

    return cfr_json_count(cfr_json_get(status, "conditions")) != 0 ||
           cfr_json_text(status, "certificateChain").n != 0 ||
           cfr_json_text(cfr_json_get(doc, "metadata"), "deletionTimestamp").n != 0;
}

int cfr_k8s_pod_cert_read(struct cfr_view body, const char *signer, const char *namespace_name, const char *name,
                          struct cfr_k8s_pod_cert *out, struct cfr_err *err)
{
    const struct cfr_json *spec;
    struct cfr_json *doc = NULL;
    int rc = cfr_k8s_answer_parse(body, &doc, err);

    *out = (struct cfr_k8s_pod_cert){.decided = false};
    spec = cfr_json_get(doc, "spec");
    if (rc == 0 && (!read_metadata(doc, namespace_name, name, out) || !read_owner(spec, out)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer is not the request; check the API server's address");
    if (rc == 0 && !cfr_view_is(cfr_json_text(spec, "signerName"), signer))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the request is for another signer");
    if (rc == 0) {
        out->decided = is_decided(doc);
        rc = read_spec(spec, out, err);
    }
    cfr_json_free(doc);
    if (rc != 0)
        cfr_k8s_pod_cert_free(out);
    return rc;
}

void cfr_k8s_pod_cert_free(struct cfr_k8s_pod_cert *r)
{
    cfr_secret_free(&r->request);
    cfr_secret_free(&r->public_key);
    cfr_secret_free(&r->proof);
    *r = (struct cfr_k8s_pod_cert){.decided = false};
}

/* ---- the status ---- */

static void write_instant(struct cfr_writer *w, const char *key, int64_t unix_s)
{
    char text[CFR_TIME_RFC3339_MAX];

    cfr_writer_string(w, key, cfr_view_of(cfr_time_format(unix_s, text)));
}

static void write_condition(struct cfr_writer *w, const struct cfr_k8s_pod_cert_result *result, int64_t now_s)
{
    cfr_writer_array(w, "conditions");
    cfr_writer_object(w, NULL);
    cfr_writer_string(w, "type", cfr_view_of(result->denied != NULL ? "Denied" : "Issued"));
    cfr_writer_string(w, "status", cfr_view_of("True"));
    cfr_writer_string(w, "reason", cfr_view_of(result->denied != NULL ? result->denied : "Issued"));
    cfr_writer_string(w, "message", cfr_view_of(result->message));
    write_instant(w, "lastTransitionTime", now_s);
    cfr_writer_close(w);
    cfr_writer_close(w);
}

int cfr_k8s_pod_cert_body(bool beta, const struct cfr_k8s_pod_cert *r, const struct cfr_k8s_pod_cert_result *result,
                          int64_t now_s, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    if (result->chain.n > CFR_K8S_POD_CERT_CHAIN_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "the certificate and its chain have more than %d bytes",
                           CFR_K8S_POD_CERT_CHAIN_MAX);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of(version_of(beta)));
    cfr_writer_string(&w, "kind", cfr_view_of("PodCertificateRequest"));
    cfr_writer_object(&w, "metadata");
    cfr_writer_string(&w, "namespace", cfr_view_of(r->namespace_name));
    cfr_writer_string(&w, "name", cfr_view_of(r->name));
    cfr_writer_string(&w, "uid", cfr_view_of(r->uid));
    cfr_writer_string(&w, "resourceVersion", cfr_view_of(r->version));
    cfr_writer_close(&w);
    cfr_writer_object(&w, "status");
    write_condition(&w, result, now_s);
    if (result->denied == NULL) {
        cfr_writer_string(&w, "certificateChain", result->chain);
        write_instant(&w, "notBefore", result->begins_s);
        write_instant(&w, "notAfter", result->ends_s);
        write_instant(&w, "beginRefreshAt", result->refresh_s);
    }
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}
