/* SPDX-License-Identifier: MIT */
/* The tables of the service CA and of what it issues. */
#include "agent/config/schema_private.h"
#include "kube/ca_bundle.h"
#include "kube/pod_policy.h"
#include "pki/ca.h"

#define AT(member) offsetof(struct cfr_config_force, member)
static const struct cfr_field force_fields[] = {
    {FIELD(reason, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = CFR_CA_REASON_MAX,
     .doc = CFR_DOC("Any text. Each reason rotates once, even if it remains in the configuration.")},
    {FIELD_AS("validity", validity_ms, DURATION), .min = 10 * CFR_SECOND_MS, .max = 3650 * CFR_DAY_MS,
     .doc = CFR_DOC("Lifetime of the CA that this rotation creates. Default: the usual one.")},
    {FIELD_AS("trust_previous", trust_previous_ms, DURATION), .min = 10 * CFR_SECOND_MS, .max = 3650 * CFR_DAY_MS,
     .doc = CFR_DOC("How long all earlier CAs remain trusted, if an attacker knows the key. Within this "
                    "time clients must read the new bundle, and servers their new certificates. Default: "
                    "as after every rotation.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table force_table = {
    .name = "forced rotation",
    .size = sizeof(struct cfr_config_force),
    .fields = force_fields,
    .doc = CFR_DOC("A rotation of the CA now, whatever its age."),
};

#define AT(member) offsetof(struct cfr_config_ca_import, member)
static const struct cfr_field import_fields[] = {
    {FIELD(certificate, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = CFR_DOC("File with the CA's certificate in PEM form, such as `tls.crt` of a mounted Secret.")},
    {FIELD(key, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = CFR_DOC("File with its private key in PEM form, such as `tls.key`: ECDSA on P-256 or P-384, or RSA of 2048 "
                    "to 4096 bits.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table import_table = {
    .name = "CA to take over",
    .size = sizeof(struct cfr_config_ca_import),
    .fields = import_fields,
    .doc = CFR_DOC("An existing CA, which becomes the first one of an empty `store`. After that its "
                   "files are not needed, and it is rotated like any other."),
};

#define AT(member) offsetof(struct cfr_config_ca_inject, member)
static const struct cfr_field inject_fields[] = {
    {FIELD(kind, ENUM), .flags = CFR_FIELD_REQUIRED, .choices = cfr_k8s_ca_kinds,
     .doc = CFR_DOC("Kind of the objects. In a CustomResourceDefinition the field of the conversion "
                    "webhook is set, in a ConfigMap the key `" CFR_K8S_CA_KEY "`. A ClusterTrustBundle is created and "
                    "updated as a whole.")},
    {FIELD_AS("name", name, STRING), .min = 1, .max = 253,
     .doc = CFR_DOC("Name of the object. The name of a ClusterTrustBundle begins with its signer: "
                    "`example.com:service:ca` belongs to the signer `example.com/service`. Default: see "
                    "`annotated`.")},
    {FIELD(annotated, BOOL), .fallback = "false",
     .doc = CFR_DOC("Instead of one `name`: all objects of this kind with the annotation `" CFR_K8S_CA_ANNOTATION
                    ": \"true\"`; the only way for ConfigMaps, of all namespaces.")},
    {FIELD(webhooks, STRINGS), .min = 1, .max = CFR_K8S_CA_WEBHOOKS_MAX,
     .doc = CFR_DOC("Names of the webhooks in the object that use a certificate of this CA. Default: all.")},
    {FIELD(kubeconfig, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_KUBECONFIG,
     .doc = CFR_DOC("Kubeconfig of the cluster. Default: the pod's own service account.")},
    {FIELD(context, STRING), .min = 1, .max = 253, .doc = CFR_DOC("Context in it. Default: its current one.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table inject_table = {
    .name = "object with a CA bundle",
    .size = sizeof(struct cfr_config_ca_inject),
    .fields = inject_fields,
    .check = cfr_config_rules_ca_inject,
    .doc = CFR_DOC("Objects with which the API server verifies servers. credfresh writes the bundle to "
                   "their field `caBundle`, by server-side apply of only that field, and again whenever "
                   "it was changed."),
};

#define AT(member) offsetof(struct cfr_config_service_ca, member)
static const struct cfr_field service_ca_fields[] = {
    {FIELD(store, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH | CFR_FIELD_PRIVATE,
     .doc = CFR_DOC("Directory of the CA's key, created with mode 0700. It must survive restarts of the "
                    "machine; include it in backups. Without it credfresh cannot issue certificates that "
                    "consumers trust. `state_dir` must also survive restarts: /run is refused.")},
    {FIELD(import, MAP), .table = &import_table,
     .doc = CFR_DOC("An existing CA to take over instead of creating the first one. Default: none.")},
    {FIELD(subject, STRING), .fallback = "credfresh service CA", .min = 1, .max = CFR_CA_SUBJECT_MAX,
     .doc = CFR_DOC("Common name of the first CA. All later CAs have the same name, so it cannot be changed later.")},
    {FIELD(key, ENUM), .fallback = "ecdsa-p256", .choices = cfr_key_kinds,
     .doc = CFR_DOC("Kind of the CA's key, from the next rotation on. Creating an RSA key takes up to "
                    "some seconds.")},
    {FIELD_AS("validity", validity_ms, DURATION), .fallback = "790d", .min = 20 * CFR_SECOND_MS,
     .max = 3650 * CFR_DAY_MS, .doc = CFR_DOC("Lifetime of a CA, from the next rotation on: 26 months.")},
    {FIELD_AS("rotate_below", rotate_below_ms, DURATION), .fallback = "395d", .min = 10 * CFR_SECOND_MS,
     .max = 3650 * CFR_DAY_MS,
     .doc = CFR_DOC("A CA with less than this left is replaced, but not before half of its lifetime. The "
                    "replaced CA remains trusted for at least this long.")},
    {FIELD(generations, INT), .fallback = "3", .min = 2, .max = CFR_CA_GENERATIONS_MAX,
     .doc = CFR_DOC("The largest number of CAs in the bundle, including the newest. A consumer may miss "
                    "one rotation fewer than this.")},
    {FIELD(force, MAP), .table = &force_table, .doc = CFR_DOC("A rotation now. Default: none.")},
    {FIELD(inject, LIST), .table = &inject_table, .min = 1, .max = 64,
     .doc = CFR_DOC("Objects of the cluster whose field `caBundle` has the bundle. Default: none.")},
    {FIELD(pod_certificates, LIST), .table = &cfr_k8s_pod_policy_table, .min = 1, .max = 16,
     .doc = CFR_DOC("Signers of PodCertificateRequests, by which pods get certificates of this CA. Default: none.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_service_ca_table = {
    .name = "service CA",
    .size = sizeof(struct cfr_config_service_ca),
    .fields = service_ca_fields,
    .check = cfr_config_rules_service_ca,
    .doc = CFR_DOC("A certification authority for servers, which is replaced without breaking trust."),
};
