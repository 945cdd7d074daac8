/* SPDX-License-Identifier: MIT */
/* Issuing serving certificates with their keys and chains. */
#include "pki/serving_cert.h"

#include "pki/bundle_private.h"
#include "pki/cert_private.h"
#include "pki/key.h"

#include <string.h>

#define COMMON_NAME_MAX 64 /* RFC 5280, appendix A.1 */

static int check_authority(const struct cfr_ca *a, int64_t now_s, struct cfr_err *err)
{
    if (a->count == 0)
        return cfr_err_set(err, CFR_E_MISSING, "there is no CA yet");
    if (cfr_ca_is_ahead(a, now_s))
        return cfr_err_set(err, CFR_E_MISSING, "the CA is not valid yet: check this machine's clock");
    if (a->generations[0].root.ends_s <= now_s)
        return cfr_err_set(err, CFR_E_MISSING, "the CA has expired: check this machine's clock");
    return 0;
}

static int make_cert(const struct cfr_ca *a, const struct cfr_serving_cert_order *order, int64_t now_s,
                     struct cfr_secret *key, struct cfr_cert *out, struct cfr_err *err)
{
    const char *first = order->dns_names->count != 0 ? order->dns_names->items[0] : NULL;
    int64_t root_ends_s = a->generations[0].root.ends_s;
    int64_t ends_s = now_s - order->backdate_s + order->validity_s;
    struct cfr_cert_order cert = {
        .subject = first != NULL && strlen(first) <= COMMON_NAME_MAX ? first : NULL,
        .signer = cfr_secret_view(&a->key),
        .by = &a->generations[0].root,
        .now_s = now_s,
        .backdate_s = order->backdate_s,
        .ends_s = ends_s < root_ends_s ? ends_s : root_ends_s,
        .dns_names = order->dns_names,
        .ip_addresses = order->ip_addresses,
        .uris = order->uris,
        .client = order->client,
    };
    bool theirs = order->public_key.n != 0;
    int rc = theirs ? 0 : cfr_key_get(order->made, order->key, key, err);

    cert.key = theirs ? order->public_key : cfr_secret_view(key);
    return rc != 0 ? rc : cfr_cert_make(&cert, out, err);
}

int cfr_serving_cert_issue(const struct cfr_ca *a, size_t generations, const struct cfr_serving_cert_order *order,
                           int64_t now_s, struct cfr_str *certificate, struct cfr_secret *key, int64_t *ends_s,
                           struct cfr_err *err)
{
    struct cfr_cert cert = {.pem = NULL};
    int rc = check_authority(a, now_s, err);

    if (rc == 0)
        rc = make_cert(a, order, now_s, key, &cert, err);
    if (rc == 0) {
        *ends_s = cert.ends_s;
        cfr_str_addz(certificate, cert.pem);
        rc = cfr_bundle_chain(a, generations, now_s, certificate, err);
    }
    cfr_cert_free(&cert);
    return rc;
}
