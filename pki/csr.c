/* SPDX-License-Identifier: MIT */
/* Reading the key of a certificate request. */
#include "pki/csr.h"

#include "pki/key.h"
#include "pki/ossl_private.h"
#include "wire/decode.h"

#include <string.h>

static int refuse(const char *why, struct cfr_err *err)
{
    ERR_clear_error();
    return cfr_err_set(err, CFR_E_CONFIG, "%s", why);
}

typedef int check_kind_fn(EVP_PKEY *key, struct cfr_err *err);

static int read_key(X509_REQ *request, check_kind_fn *check_kind, struct cfr_str *public_key, struct cfr_err *err)
{
    EVP_PKEY *key = X509_REQ_get0_pubkey(request);
    int rc;

    if (key == NULL)
        return refuse("its key cannot be read", err);
    rc = check_kind(key, err);
    if (rc != 0)
        return rc;
    if (X509_REQ_verify(request, key) != 1)
        return refuse("it is not signed by its own key, so its author may not have that key", err);
    return cfr_key_write_public(key, public_key, err);
}

int cfr_cert_request_key(struct cfr_view pem, struct cfr_str *public_key, struct cfr_err *err)
{
    X509_REQ *request = NULL;
    int rc = pem.n > CFR_CSR_PEM_MAX ? cfr_err_set(err, CFR_E_CONFIG, "it has more than %d bytes", CFR_CSR_PEM_MAX)
                                     : cfr_decode_request(pem, &request, err);

    if (rc == 0)
        rc = read_key(request, cfr_key_check_kind, public_key, err);
    X509_REQ_free(request);
    return rc;
}

/* ---- requests of pods ---- */

static int check_pod_kind(EVP_PKEY *key, struct cfr_err *err)
{
    int bits = EVP_PKEY_get_bits(key);
    char group[64] = "";

    if (EVP_PKEY_is_a(key, "ED25519") || (EVP_PKEY_is_a(key, "RSA") && (bits == 3072 || bits == 4096)))
        return 0;
    if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
        (strcmp(group, "prime256v1") == 0 || strcmp(group, "secp384r1") == 0 || strcmp(group, "secp521r1") == 0))
        return 0;
    ERR_clear_error();
    return cfr_err_set(err, CFR_E_REJECTED, "the key is of another kind (%.20s %.20s, %d bits)",
                       EVP_PKEY_get0_type_name(key), group, bits);
}

int cfr_cert_request_pod_key(struct cfr_view der, struct cfr_str *public_key, struct cfr_err *err)
{
    X509_REQ *request = NULL;
    int rc = der.n > CFR_CSR_DER_MAX ? cfr_err_set(err, CFR_E_CONFIG, "it has more than %d bytes", CFR_CSR_DER_MAX)
                                     : cfr_decode_request_der(der, &request, err);

    if (rc == 0)
        rc = read_key(request, check_pod_kind, public_key, err);
    X509_REQ_free(request);
    return rc;
}

static bool is_proved(EVP_PKEY *key, struct cfr_view proof, struct cfr_view text)
{
    const EVP_MD *digest = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    bool ok = ctx != NULL && EVP_DigestVerifyInit(ctx, &how, digest, NULL, key) == 1;

    if (ok && EVP_PKEY_is_a(key, "RSA"))
        ok = EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_AUTO) == 1;
    ok = ok &&
         EVP_DigestVerify(ctx, (const unsigned char *)proof.p, proof.n, (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return ok;
}

int cfr_cert_request_pod_key_proved(struct cfr_view der, struct cfr_view proof, struct cfr_view pod_uid,
                                    struct cfr_str *public_key, struct cfr_err *err)
{
    EVP_PKEY *key = NULL;
    int rc = der.n > CFR_CSR_DER_MAX ? cfr_err_set(err, CFR_E_CONFIG, "it has more than %d bytes", CFR_CSR_DER_MAX)
                                     : cfr_decode_public_key_der(der, &key, err);

    if (rc == 0)
        rc = check_pod_kind(key, err);
    if (rc == 0 && (proof.n == 0 || proof.n > CFR_CSR_DER_MAX || pod_uid.n == 0 || !is_proved(key, proof, pod_uid)))
        rc = refuse("the pod's UID is not signed by its key, so the requester may not have that key", err);
    if (rc == 0)
        rc = cfr_key_write_public(key, public_key, err);
    EVP_PKEY_free(key);
    return rc;
}
