/* SPDX-License-Identifier: MIT */
/* The Secret in which several agents keep the state of one rotation: what the API server's answer has, and the body of
 * the write, which the API server refuses (409) unless the Secret is at the version that was read. Pure: nothing
 * blocks.
 *
 * An operator creates the Secret, empty, and nobody else does, so that one which is gone is no new one. Its keys:
 *
 *   journal    the steps of the rotation, text that only its writer understands
 *   holder     who wrote last, a name for people
 *   nonce      another one with each write, by which the writer recognises its own
 *   takeover   for how long its writer may be silent before another goes on, in ms; at least what it lives by itself
 *   pending    the secret of a key that is not published yet; only while there is one
 *   published  the secret of the published key, for the other agents
 *
 * Source: core/v1 Secret, RFC 7386 (merge patch), API concepts (resource versions). */
#ifndef CFR_KUBE_SHARED_STATE_H
#define CFR_KUBE_SHARED_STATE_H

#include "base/secret.h"

#define CFR_K8S_SHARED_PATH_MAX        640
#define CFR_K8S_SHARED_VERSION_MAX     64
#define CFR_K8S_SHARED_NAME_MAX        256 /* of a holder, with its NUL */
#define CFR_K8S_SHARED_NONCE_MAX       128 /* with its NUL */
#define CFR_K8S_SHARED_TAKEOVER_MAX_MS 86400000
#define CFR_K8S_SHARED_TEXT_MAX        262144  /* of each of the three texts */
#define CFR_K8S_SHARED_BODY_MAX        2097152 /* of a write, and of an answer */
#define CFR_K8S_SHARED_TYPE            "application/merge-patch+json"

/* Which Secret. Borrowed. */
struct cfr_k8s_shared_place {
    const char *namespace_name;
    const char *name;
};

/* What it holds. Zeroed before it is filled; cfr_k8s_shared_free wipes it. */
struct cfr_k8s_shared_state {
    char version[CFR_K8S_SHARED_VERSION_MAX]; /* resourceVersion: that was read, and that a write needs */
    char holder[CFR_K8S_SHARED_NAME_MAX];
    char nonce[CFR_K8S_SHARED_NONCE_MAX];
    int64_t takeover_ms;         /* 0: it says nothing of it */
    struct cfr_secret journal;   /* empty: the Secret is a new one */
    struct cfr_secret pending;   /* empty: there is none */
    struct cfr_secret published; /* empty: there is none; in a write: it stays as it is */
};

/* The path of a read, and of a WRITE. False for names that are not valid in Kubernetes. */
bool cfr_k8s_shared_path(const struct cfr_k8s_shared_place *place, bool write, char out[CFR_K8S_SHARED_PATH_MAX]);
/* Reads the answer (200) to a GET or to the write. OUT is empty after an error. CFR_E_ANSWER: it is not that Secret, a
 * key of it is not as credfresh writes it, or its journal is gone while others of its keys are left. CFR_E_CONFLICT: it
 * is immutable. CFR_E_UNAVAILABLE: it is being deleted. CFR_E_NOMEM. */
int cfr_k8s_shared_read(const struct cfr_k8s_shared_place *place, struct cfr_view body,
                        struct cfr_k8s_shared_state *out, struct cfr_err *err);
/* Appends the merge patch that makes the Secret hold S, if it is still at S's version. CFR_E_NOMEM, CFR_E_LIMIT. */
int cfr_k8s_shared_write(const struct cfr_k8s_shared_state *s, struct cfr_secret *body, struct cfr_err *err);
void cfr_k8s_shared_free(struct cfr_k8s_shared_state *s);

#endif
