/* SPDX-License-Identifier: MIT */
/* Keys of an OIDC issuer: made, imported, certified. */
#include "pki/cert.h"
#include "oidc/issuer/issuer_private.h"
#include "pki/key.h"

#include <stdlib.h>
#include <string.h>

#define HOST_MAX 256

void cfr_oidc_issuer_key_free(struct cfr_oidc_issuer_key *k)
{
    free(k->public_pem);
    free(k->certificate);
    cfr_secret_free(&k->private_pem);
    *k = (struct cfr_oidc_issuer_key){.public_pem = NULL};
}

/* The host of the issuer's URL, which is what its keys are for. */
static void copy_host(const char *url, char out[HOST_MAX])
{
    const char *at = url + sizeof "https://" - 1;
    size_t n = at[0] == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/");

    if (at[0] == '[' && n > 1) {
        at++;
        n -= 2;
    }
    n = n < HOST_MAX ? n : HOST_MAX - 1;
    memcpy(out, at, n);
    out[n] = '\0';
}

static int certify(const struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_oidc_issuer_key *k,
                   struct cfr_err *err)
{
    char host[HOST_MAX];
    char *names[] = {host};
    const struct cfr_strings one = {.items = names, .count = 1};
    struct cfr_cert_order order = {
        .subject = k->kid,
        .key = cfr_secret_view(&k->private_pem),
        .signer = cfr_secret_view(&k->private_pem),
        .now_s = now_s,
        .ends_s = now_s + CFR_OIDC_ISSUER_CERTIFICATE_S,
    };
    struct cfr_cert made;
    int rc;

    copy_host(issuer->url, host);
    if (cfr_cert_check_ip_address(host, NULL) == 0)
        order.ip_addresses = &one;
    else
        order.dns_names = &one;
    rc = cfr_cert_make(&order, &made, err);
    k->certificate = made.pem; /* moved */
    return rc;
}

/* What belongs to a key, from its private half, or from PEM if that is a public one. */
static int complete(const struct cfr_oidc_issuer *issuer, struct cfr_view pem, int64_t now_s,
                    struct cfr_oidc_issuer_key *k, struct cfr_err *err)
{
    struct cfr_str public_pem = {.limit = CFR_KEY_PEM_MAX};
    int rc = cfr_key_public(pem, &public_pem, err);

    k->public_pem = public_pem.p;
    if (rc == 0)
        rc = cfr_key_kid(pem, k->kid, err);
    if (rc == 0 && issuer->certified)
        rc = certify(issuer, now_s, k, err);
    return rc;
}

int cfr_oidc_issuer_key_make(const struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_oidc_issuer_key *out,
                             struct cfr_err *err)
{
    int rc;

    *out = (struct cfr_oidc_issuer_key){.public_pem = NULL};
    cfr_secret_init(&out->private_pem, CFR_KEY_PEM_MAX);
    rc = cfr_key_make(issuer->key, &out->private_pem, err);
    if (rc == 0)
        rc = complete(issuer, cfr_secret_view(&out->private_pem), now_s, out, err);
    if (rc != 0)
        cfr_oidc_issuer_key_free(out);
    return rc;
}

/* ---- imported ---- */

/* How many keys there are in PEM: each has `KEY-----` at its begin and at its end. */
static size_t count_keys(struct cfr_view pem)
{
    static const char mark[] = "KEY-----";
    size_t count = 0;

    for (ptrdiff_t at = cfr_view_find(pem, mark); at >= 0; at = cfr_view_find(pem, mark)) {
        pem.p += (size_t)at + sizeof mark - 1;
        pem.n -= (size_t)at + sizeof mark - 1;
        count++;
    }
    return (count + 1) / 2;
}

static int check_import(const struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err)
{
    bool is_private = cfr_view_find(pem, "PRIVATE KEY-----") >= 0;

    if (count_keys(pem) > 1)
        return cfr_err_set(err, CFR_E_CONFIG, "it holds %zu keys: write only the one that signs", count_keys(pem));
    if (cfr_view_find(pem, "ENCRYPTED") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "the key is encrypted: decrypt it first, with `openssl pkey`");
    if (!issuer->cluster_key && cfr_view_find(pem, "PUBLIC KEY-----") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it is a public key: give it as --public-key where the cluster keeps the private one");
    if (issuer->cluster_key && is_private)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it is a private key: give it as --signing-key, or its public half, which `openssl pkey "
                           "-pubout` prints");
    return 0;
}

int cfr_oidc_issuer_key_import(struct cfr_oidc_issuer *issuer, struct cfr_view pem, int64_t now_s,
                               struct cfr_oidc_issuer_key *out, struct cfr_err *err)
{
    const char *algorithm;
    int rc = check_import(issuer, pem, err);

    *out = (struct cfr_oidc_issuer_key){.public_pem = NULL};
    cfr_secret_init(&out->private_pem, CFR_KEY_PEM_MAX);
    if (rc == 0)
        rc = cfr_jwks_algorithm(pem, &algorithm, err);
    if (rc == 0)
        rc = cfr_jwks_kind(pem, &issuer->key, err);
    if (rc == 0 && !issuer->cluster_key) {
        rc = cfr_key_private(pem, &out->private_pem, err);
        pem = cfr_secret_view(&out->private_pem);
    }
    if (rc == 0)
        rc = complete(issuer, pem, now_s, out, err);
    if (rc != 0)
        cfr_oidc_issuer_key_free(out);
    return rc;
}
