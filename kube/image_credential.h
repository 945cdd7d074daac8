/* SPDX-License-Identifier: MIT */
/* The kubelet's image credential provider protocol: its request on standard input and the response. Pure.
 * Source: credentialprovider.kubelet.k8s.io/v1. */
#ifndef CFR_KUBE_IMAGE_CREDENTIAL_H
#define CFR_KUBE_IMAGE_CREDENTIAL_H

#include "base/json.h"
#include "base/secret.h"
#include "kube/image_match.h"

#define CFR_K8S_IMAGE_REQUEST_MAX  262144
#define CFR_K8S_IMAGE_RESPONSE_MAX 1048576

/* Views into DOC. */
struct cfr_k8s_image_request {
    struct cfr_json *doc;
    struct cfr_view image;
    struct cfr_view registry; /* the host of the image, with its port */
    struct cfr_view token;    /* serviceAccountToken; may be empty */
};

/* Reads the kubelet's request. CFR_E_ANSWER: another apiVersion or kind, no image. The caller frees in every
 * case. */
int cfr_k8s_image_request_read(struct cfr_view text, struct cfr_k8s_image_request *out, struct cfr_err *err);
void cfr_k8s_image_request_free(struct cfr_k8s_image_request *r);
/* An annotation of the service account; an empty view if the request has none of that name. */
struct cfr_view cfr_k8s_image_request_annotation(const struct cfr_k8s_image_request *r, const char *name);
/* Appends the response, which the kubelet keeps for all images of the registry, or with IMAGE_ONLY for this one: AUTHS
 * is the inside of docker's `auths` object (CFR_FIELD_REGISTRY_AUTHS), of which username and password are taken (or
 * `auth`, where they are missing); an empty one means that there are no credentials. CACHE_S is how long the kubelet
 * may keep it; 0 and less mean not at all. CFR_E_ANSWER: AUTHS is malformed, or an entry has no username and password.
 */
int cfr_k8s_image_response(struct cfr_view auths, int64_t cache_s, bool image_only, struct cfr_secret *out,
                           struct cfr_err *err);

#endif
