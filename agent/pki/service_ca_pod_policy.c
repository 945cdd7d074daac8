/* SPDX-License-Identifier: MIT */
/* Decisions about certificate requests of pods. */
#include "agent/pki/service_ca_pod_policy_private.h"

#include "pki/csr.h"

static int take_key(const struct cfr_k8s_pod_cert *r, struct cfr_str *public_key, struct cfr_err *err)
{
    if (r->request.len != 0)
        return cfr_cert_request_pod_key(cfr_secret_view(&r->request), public_key, err);
    return cfr_cert_request_pod_key_proved(cfr_secret_view(&r->public_key), cfr_secret_view(&r->proof),
                                           cfr_view_of(r->pod_uid), public_key, err);
}

/* The reason for a denial, a word of the API (KEP-4317) or of ours; NULL if CODE says nothing about the request. */
static const char *reason_of(int code, bool of_key)
{
    switch (code) {
    case CFR_E_DENIED:
        return "NotAllowed";
    case CFR_E_REJECTED:
        return of_key ? "UnsupportedKeyType" : "ImpossibleName";
    case CFR_E_CONFIG:
        return "InvalidKey";
    default:
        return NULL;
    }
}

static int check_wishes(const struct cfr_k8s_pod_cert *r, struct cfr_service_ca_pod_decision *out)
{
    /* No option is known here, and the author might rely on one. */
    if (r->annotated) {
        out->denied = "InvalidUnverifiedUserAnnotations";
        return cfr_err_set(&out->why, CFR_E_DENIED, "this signer has no options; remove userAnnotations");
    }
    if (r->life_max_s < CFR_K8S_POD_CERT_LIFE_MIN_S) {
        out->denied = "InvalidMaxExpiration";
        return cfr_err_set(&out->why, CFR_E_DENIED, "maxExpirationSeconds is less than an hour");
    }
    return 0;
}

int cfr_service_ca_pod_decide(const struct cfr_k8s_pod_policy *c, const struct cfr_k8s_pod_cert *r,
                              struct cfr_service_ca_pod_decision *out, struct cfr_err *err)
{
    int64_t life_s = c->validity_ms / 1000;
    bool of_key = false;
    int rc;

    *out = (struct cfr_service_ca_pod_decision){.public_key = {.limit = CFR_CSR_PEM_MAX},
                                                .life_s = life_s < r->life_max_s ? life_s : r->life_max_s};
    rc = cfr_k8s_pod_policy_names(c, r, &out->names, &out->why);
    if (rc == 0 && check_wishes(r, out) != 0)
        return 0;
    if (rc == 0) {
        of_key = true;
        rc = take_key(r, &out->public_key, &out->why);
    }
    if (rc == 0)
        return 0;
    out->denied = reason_of(rc, of_key);
    if (out->denied == NULL)
        return cfr_err_set(err, rc, "%s", out->why.text);
    if (of_key && rc == CFR_E_REJECTED)
        (void)cfr_err_prefix(&out->why, "use ECDSAP256");
    return 0;
}

void cfr_service_ca_pod_decision_free(struct cfr_service_ca_pod_decision *d)
{
    cfr_k8s_pod_names_free(&d->names);
    cfr_str_free(&d->public_key);
}
