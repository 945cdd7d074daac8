/* SPDX-License-Identifier: MIT */
/* Rules and names of pod certificates. */
#include "kube/pod_policy.h"

#include "kube/name_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 32
#define URI_LIMIT 2048 /* of a SPIFFE ID */
#define POD       "{pod}"

static bool is_any(const char *text)
{
    return strcmp(text, "*") == 0;
}

/* Labels of at most 63 characters. */
static bool is_dns_name(const char *text)
{
    char label[CFR_K8S_LABEL_MAX + 1];
    bool good = strlen(text) <= CFR_K8S_NAME_MAX;

    for (const char *at = text; good && at != NULL;) {
        size_t n = strcspn(at, ".");

        good = n <= CFR_K8S_LABEL_MAX;
        (void)snprintf(label, sizeof label, "%.*s", (int)(good ? n : 0), at);
        good = good && cfr_k8s_name_is_label(label);
        at = at[n] == '.' ? at + n + 1 : NULL;
    }
    return good;
}

/* LABELS.NAMESPACE.svc, or that with a cluster's domain: no other namespace's, and no name outside the cluster. */
static bool is_in_namespace(const char *name, const char *namespace_name)
{
    const char *at = strchr(name, '.');
    size_t n = strlen(namespace_name);

    for (; at != NULL; at = strchr(at + 1, '.')) {
        const char *end = at + 1 + n + 4;

        if (strncmp(at + 1, namespace_name, n) == 0 && strncmp(at + 1 + n, ".svc", 4) == 0 &&
            (*end == '\0' || *end == '.'))
            return true;
    }
    return false;
}

static int check_name(const struct cfr_k8s_pod_allow *c, const char *name, struct cfr_err *err)
{
    const char *rest = strncmp(name, POD ".", sizeof POD) == 0 ? name + sizeof POD : name;

    if (strcmp(name, "spiffe") == 0)
        return 0;
    if (is_any(c->namespace_name) || is_any(c->service_account))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "names: \"%.80s\" would be the name of every such pod; with \"*\" write `spiffe` alone",
                           name);
    if (!is_dns_name(rest))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "names: \"%.80s\" is not `spiffe`, and not a DNS name, perhaps with " POD " as its first label", name);
    /* Without a service between them a pod could be named as a service is. */
    if (!is_in_namespace(rest, c->namespace_name))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "names: \"%.80s\" is not a name of a service of the namespace %s; write SERVICE.%s.svc, or "
                           "that with the cluster's domain",
                           name, c->namespace_name, c->namespace_name);
    return 0;
}

static int check_allow(const void *node, struct cfr_err *err)
{
    const struct cfr_k8s_pod_allow *c = node;
    int rc = 0;

    if (c->namespace_name == NULL || c->service_account == NULL)
        return 0;
    if (!is_any(c->namespace_name) && !cfr_k8s_name_is_label(c->namespace_name))
        return cfr_err_set(err, CFR_E_CONFIG, "namespace: \"%.80s\" cannot be the name of a namespace (RFC 1123)",
                           c->namespace_name);
    if (!is_any(c->service_account) && !cfr_k8s_name_is_subdomain(c->service_account))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "service_account: \"%.80s\" cannot be the name of a service account (RFC 1123)",
                           c->service_account);
    if (is_any(c->namespace_name) && !is_any(c->service_account))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "service_account: \"%.80s\" of any namespace is of any author; name the namespace",
                           c->service_account);
    for (size_t i = 0; rc == 0 && i < c->names.count; i++)
        rc = check_name(c, c->names.items[i], err);
    return rc;
}

static bool names_spiffe(const struct cfr_k8s_pod_allow *c)
{
    for (size_t i = 0; i < c->names.count; i++) {
        if (strcmp(c->names.items[i], "spiffe") == 0)
            return true;
    }
    return false;
}

/* Names below kubernetes.io are of Kubernetes itself. */
static bool is_reserved(const char *domain)
{
    static const char ours[] = "kubernetes.io";
    size_t n = strlen(domain);
    size_t tail = sizeof ours - 1;

    return n >= tail && strcmp(domain + n - tail, ours) == 0 && (n == tail || domain[n - tail - 1] == '.');
}

/* DOMAIN/NAME, as the API server has it. */
static bool is_signer(const char *text)
{
    size_t n = strcspn(text, "/");
    char domain[CFR_K8S_NAME_MAX + 1];

    if (n > CFR_K8S_NAME_MAX || text[n] == '\0')
        return false;
    (void)snprintf(domain, sizeof domain, "%.*s", (int)n, text);
    return cfr_k8s_name_is_subdomain(domain) && strchr(domain, '.') != NULL && !is_reserved(domain) &&
           cfr_k8s_name_is_subdomain(text + n + 1);
}

/* SPIFFE-ID, 2.1: in lower case, as the ID is compared. */
static bool is_trust_domain(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-_")] == '\0';
}

static int check_policy(const void *node, struct cfr_err *err)
{
    const struct cfr_k8s_pod_policy *c = node;
    const struct cfr_k8s_pod_allow *allow = c->allow.items;

    if (c->signer == NULL)
        return 0;
    if (!is_signer(c->signer))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "signer: \"%.80s\" cannot be one: write a domain of yours, a slash and a name, such as "
                           "example.com/service; kubernetes.io is reserved",
                           c->signer);
    if (c->trust_domain != NULL && !is_trust_domain(c->trust_domain))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "trust_domain: \"%.80s\" is not one: lower-case letters, digits, dots, dashes and "
                           "underscores",
                           c->trust_domain);
    if (c->context != NULL && c->kubeconfig == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "context: needs `kubeconfig`");
    for (size_t i = 0; i < c->allow.count; i++) {
        if (names_spiffe(&allow[i]) && c->trust_domain == NULL)
            return cfr_err_set(err, CFR_E_CONFIG, "trust_domain: is needed for the name `spiffe` in line %d",
                               allow[i].node.line);
        for (size_t k = 0; k < i; k++) {
            if (cfr_view_same(allow[i].namespace_name, allow[k].namespace_name) &&
                cfr_view_same(allow[i].service_account, allow[k].service_account))
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "allow: lines %d and %d are about the same service account; make them one",
                                   allow[k].node.line, allow[i].node.line);
        }
    }
    return 0;
}

/* Two would decide about the same request, each by its own rules. */
int cfr_k8s_pod_policies_check(const struct cfr_list *list, struct cfr_err *err)
{
    const struct cfr_k8s_pod_policy *c = list->items;

    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (cfr_view_same(c[i].signer, c[k].signer) && cfr_view_same(c[i].kubeconfig, c[k].kubeconfig) &&
                cfr_view_same(c[i].context, c[k].context))
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "pod_certificates: lines %d and %d are about the same signer; make them one",
                                   c[k].node.line, c[i].node.line);
        }
    }
    return 0;
}

/* ---- the table ---- */

#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = AT(member)

#define AT(member)                   offsetof(struct cfr_k8s_pod_allow, member)
static const struct cfr_field pod_allow_fields[] = {
    {FIELD_AS("namespace", namespace_name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = CFR_K8S_LABEL_MAX,
     .doc = CFR_DOC("The pod's namespace; `\"*\"`: any, only for `spiffe`.")},
    {FIELD(service_account, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = CFR_K8S_NAME_MAX,
     .doc = CFR_DOC("The service account that the pod runs as; `\"*\"`: any, only for `spiffe`.")},
    {FIELD(names, STRINGS), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = NAMES_MAX,
     .doc =
         CFR_DOC("The names in the certificate: `spiffe` (`spiffe://TRUST_DOMAIN/ns/NAMESPACE/sa/SERVICE_ACCOUNT`), "
                 "or DNS names of this namespace, such as `api.shop.svc` and `api.shop.svc.cluster.local` in `shop`. "
                 "`{pod}` as the first label is the pod's name: `{pod}.api.shop.svc`.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table pod_allow_table = {
    .name = "pods with certificates",
    .size = sizeof(struct cfr_k8s_pod_allow),
    .fields = pod_allow_fields,
    .check = check_allow,
    .doc = CFR_DOC("Pods of a service account, and the names that their certificates have."),
};

#define AT(member) offsetof(struct cfr_k8s_pod_policy, member)
static const struct cfr_field pod_certificates_fields[] = {
    {FIELD(signer, STRING), .flags = CFR_FIELD_REQUIRED, .min = 3, .max = CFR_K8S_POD_CERT_SIGNER_MAX,
     .doc = CFR_DOC("The signer's name, as in the pods' volumes: `example.com/service`.")},
    {FIELD(trust_domain, STRING), .min = 1, .max = 255,
     .doc = CFR_DOC("The SPIFFE trust domain, for the name `spiffe`. Default: none.")},
    {FIELD_AS("validity", validity_ms, DURATION), .fallback = "24h", .min = CFR_K8S_POD_CERT_LIFE_MIN_S * INT64_C(1000),
     .max = CFR_K8S_POD_CERT_LIFE_MAX_S * INT64_C(1000),
     .doc = CFR_DOC("Lifetime of the certificates, at most the pod's `maxExpirationSeconds`, and not "
                    "longer than the CA's.")},
    {FIELD(allow, LIST), .flags = CFR_FIELD_REQUIRED, .table = &pod_allow_table, .min = 1, .max = 1024,
     .doc = CFR_DOC("Service accounts that get a certificate. Requests of any other are denied.")},
    {FIELD(kubeconfig, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_KUBECONFIG,
     .doc = CFR_DOC("Kubeconfig of the cluster. Default: the pod's own service account.")},
    {FIELD(context, STRING), .min = 1, .max = 253, .doc = CFR_DOC("Context in it. Default: its current one.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_k8s_pod_policy_table = {
    .name = "signer of pod certificates",
    .size = sizeof(struct cfr_k8s_pod_policy),
    .fields = pod_certificates_fields,
    .check = check_policy,
    .doc = CFR_DOC("A signer of PodCertificateRequests: the kubelet creates the pod's key, the agent "
                   "issues the certificate."),
};

/* ---- the names of a certificate ---- */

static bool matches(const char *rule, const char *text)
{
    return strcmp(rule, "*") == 0 || strcmp(rule, text) == 0;
}

/* Takes TEXT (heap), once. */
static int add_name(struct cfr_strings *names, char *text, struct cfr_err *err)
{
    char **items = text != NULL ? realloc(names->items, (names->count + 1) * sizeof *items) : NULL;

    if (items == NULL) {
        free(text);
        return cfr_err_nomem(err);
    }
    names->items = items;
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(items[i], text) == 0) {
            free(text);
            return 0;
        }
    }
    items[names->count++] = text;
    return 0;
}

static int add_spiffe(const struct cfr_k8s_pod_policy *c, const struct cfr_k8s_pod_cert *r,
                      struct cfr_k8s_pod_names *out, struct cfr_err *err)
{
    struct cfr_str id = {.limit = URI_LIMIT};
    int rc;

    cfr_str_addf(&id, "spiffe://%s/ns/%s/sa/%s", c->trust_domain, r->namespace_name, r->service_account);
    rc = add_name(&out->uris, id.failed ? NULL : cfr_str_dup(cfr_str_view(&id)), err);
    cfr_str_free(&id);
    return rc;
}

static int add_dns(const char *name, const struct cfr_k8s_pod_cert *r, struct cfr_k8s_pod_names *out,
                   struct cfr_err *err)
{
    bool of_pod = strncmp(name, POD, sizeof POD - 1) == 0;
    struct cfr_str text = {.limit = URI_LIMIT};
    int rc = 0;

    if (of_pod)
        cfr_str_addz(&text, r->pod);
    cfr_str_addz(&text, of_pod ? name + sizeof POD - 1 : name);
    if (text.failed)
        rc = cfr_err_nomem(err);
    else if ((of_pod && !cfr_k8s_name_is_label(r->pod)) || !is_dns_name(text.p))
        rc = cfr_err_set(err, CFR_E_REJECTED, "the pod's name is no label of a DNS name, which %.100s needs", name);
    else
        rc = add_name(&out->dns, cfr_str_dup(cfr_str_view(&text)), err);
    cfr_str_free(&text);
    return rc;
}

static void free_names(struct cfr_strings *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct cfr_strings){NULL, 0};
}

void cfr_k8s_pod_names_free(struct cfr_k8s_pod_names *names)
{
    free_names(&names->dns);
    free_names(&names->uris);
}

int cfr_k8s_pod_policy_names(const struct cfr_k8s_pod_policy *c, const struct cfr_k8s_pod_cert *r,
                             struct cfr_k8s_pod_names *out, struct cfr_err *err)
{
    const struct cfr_k8s_pod_allow *allow = c->allow.items;
    int rc = 0;

    *out = (struct cfr_k8s_pod_names){.dns = {NULL, 0}};
    for (size_t i = 0; i < c->allow.count; i++) {
        if (!matches(allow[i].namespace_name, r->namespace_name) ||
            !matches(allow[i].service_account, r->service_account))
            continue;
        for (size_t k = 0; rc == 0 && k < allow[i].names.count; k++) {
            const char *name = allow[i].names.items[k];

            rc = strcmp(name, "spiffe") == 0 ? add_spiffe(c, r, out, err) : add_dns(name, r, out, err);
        }
    }
    if (rc == 0 && out->dns.count + out->uris.count == 0)
        rc =
            cfr_err_set(err, CFR_E_DENIED, "the signer's configuration allows no certificate for this service account");
    if (rc != 0)
        cfr_k8s_pod_names_free(out);
    return rc;
}
