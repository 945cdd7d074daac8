/* SPDX-License-Identifier: MIT */
/* Keys of a credential that the service CA issues: `certificate` and `ca_bundle`. */
#include "agent/config/kinds.h"
#include "agent/pki/service_ca.h"
#include "pki/cert.h"
#include "pki/key.h"

#include <stddef.h>

#define FIELD(member, type_) .key = #member, .type = CFR_FIELD_##type_, .offset = AT(member)

static int check_certificate(const void *node, struct cfr_err *err)
{
    const struct cfr_service_ca_certificate *c = node;

    if (c->dns_names.count == 0 && c->ip_addresses.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "has no name; write `dns_names`, `ip_addresses` or both");
    if (c->csr_owner != NULL && c->csr == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "csr_owner: needs `csr`");
    for (size_t i = 0; i < c->dns_names.count; i++) {
        if (cfr_cert_check_dns_name(c->dns_names.items[i], err) != 0)
            return cfr_err_prefix(err, "dns_names");
    }
    for (size_t i = 0; i < c->ip_addresses.count; i++) {
        if (cfr_cert_check_ip_address(c->ip_addresses.items[i], err) != 0)
            return cfr_err_prefix(err, "ip_addresses");
    }
    return 0;
}

#define AT(member) offsetof(struct cfr_service_ca_certificate, member)
static const struct cfr_field certificate_fields[] = {
    {FIELD(dns_names, STRINGS), .min = 1, .max = CFR_CERT_NAMES_MAX,
     .doc = CFR_DOC("DNS names of the server; each may begin with `*.`. Required, unless there are "
                    "`ip_addresses`.")},
    {FIELD(ip_addresses, STRINGS), .min = 1, .max = CFR_CERT_NAMES_MAX,
     .doc = CFR_DOC("The server's addresses. Default: none.")},
    {FIELD(key, ENUM), .fallback = "ecdsa-p256", .choices = cfr_key_kinds,
     .doc = CFR_DOC("Kind of the key; each certificate has a new one. Creating an RSA key takes up to "
                    "some seconds. With `csr` the consumer creates the key.")},
    {FIELD(csr, STRING), .flags = CFR_FIELD_PATH,
     .doc = CFR_DOC("File in which the consumer puts a certificate request (PKCS#10, PEM): the certificate is for that "
                    "key, which never leaves the consumer; there is no `private-key`. Names and lifetime are those of "
                    "this mapping. Default: none.")},
    {FIELD(csr_owner, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("User (name or number) that must own the request. Default: none; then only root and "
                    "the agent's user may be able to write to the file.")},
    {.key = "validity",
     .type = CFR_FIELD_DURATION,
     .offset = AT(validity_ms),
     .fallback = "90d",
     .min = 10 * CFR_SECOND_MS,
     .max = 3650 * CFR_DAY_MS,
     .doc = CFR_DOC("Lifetime of a certificate, at most that of the CA. It is replaced at 80 % of that, and at once "
                    "when the CA is replaced.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table certificate_table = {
    .name = "certificate",
    .size = sizeof(struct cfr_service_ca_certificate),
    .fields = certificate_fields,
    .check = check_certificate,
    .doc = CFR_DOC("A serving certificate that `service_ca` issues."),
};

static int check_issued(const void *node, struct cfr_err *err)
{
    const struct cfr_service_ca_issued *c = node;

    if (c->certificate != NULL && c->ca_bundle)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "ca_bundle: is part of what a `certificate` gives already (format ca-bundle); remove it");
    return 0;
}

#define AT(member) offsetof(struct cfr_service_ca_issued, member)
static const struct cfr_field issued_fields[] = {
    {FIELD(certificate, MAP), .table = &certificate_table,
     .doc = CFR_DOC("A serving certificate that `service_ca` issues, with its key and the bundle. Default: none.")},
    {FIELD(ca_bundle, BOOL), .fallback = "false",
     .doc = CFR_DOC("Whether this is only the bundle of CA certificates with which clients verify "
                    "certificates of `service_ca`.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_service_ca_issued_table = {
    .name = "credential of the service CA",
    .size = sizeof(struct cfr_service_ca_issued),
    .fields = issued_fields,
    .check = check_issued,
};

const struct cfr_service_ca_issued *cfr_service_ca_issued(const struct cfr_config_credential *c)
{
    const void *config;
    const struct cfr_config_source_kind *kind = cfr_config_source_kind(c, &config);

    return kind != NULL && kind->variant.table == &cfr_service_ca_issued_table ? config : NULL;
}
