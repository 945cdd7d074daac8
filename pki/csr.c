/* SPDX-License-Identifier: MIT */
/* Reading the key of a certificate request. */
#include "pki/csr.h"

#include "pki/key_private.h"
#include "pki/ossl_private.h"

#include <string.h>

static const char begin[] = "-----BEGIN ";

static int refuse(const char *why, struct cfr_err *err)
{
    ERR_clear_error();
    return cfr_err_set(err, CFR_E_CONFIG, "%s", why);
}

/* One block: a private key that was left in the same file is not what it is to be given to us for. */
static int check_single(struct cfr_view pem, struct cfr_err *err)
{
    ptrdiff_t at = cfr_view_find(pem, begin);
    size_t rest = at >= 0 ? (size_t)at + sizeof begin - 1 : 0;

    if (pem.n > CFR_CSR_PEM_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it has more than %d bytes", CFR_CSR_PEM_MAX);
    if (at < 0)
        return refuse("it holds no certificate request in PEM form (-----BEGIN CERTIFICATE REQUEST-----)", err);
    if (cfr_view_find((struct cfr_view){pem.p + rest, pem.n - rest}, begin) >= 0)
        return refuse("it holds more than one PEM block; write the certificate request alone", err);
    return 0;
}

static int write_public(EVP_PKEY *key, struct cfr_str *out, struct cfr_err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long n = 0;
    int rc = 0;

    if (bio != NULL && PEM_write_bio_PUBKEY(bio, key) == 1)
        n = BIO_get_mem_data(bio, &text);
    if (n > 0 && text != NULL)
        cfr_str_add(out, (struct cfr_view){text, (size_t)n});
    else
        rc = cfr_ossl_failed("the public key cannot be written", err);
    BIO_free(bio);
    return rc == 0 && out->failed ? cfr_err_nomem(err) : rc;
}

static int read_key(X509_REQ *request, struct cfr_str *public_key, struct cfr_err *err)
{
    EVP_PKEY *key = X509_REQ_get0_pubkey(request);
    int rc;

    if (key == NULL)
        return refuse("its key cannot be read", err);
    rc = cfr_key_check_kind(key, err);
    if (rc != 0)
        return rc;
    if (X509_REQ_verify(request, key) != 1)
        return refuse("it is not signed by its own key, so its author may not have that key", err);
    return write_public(key, public_key, err);
}

int cfr_cert_request_key(struct cfr_view pem, struct cfr_str *public_key, struct cfr_err *err)
{
    X509_REQ *request = NULL;
    BIO *bio;
    int rc = check_single(pem, err);

    if (rc != 0)
        return rc;
    bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    if (bio == NULL)
        return cfr_ossl_failed("the PEM reader cannot be made", err);
    request = PEM_read_bio_X509_REQ(bio, NULL, cfr_ossl_no_passphrase, NULL);
    BIO_free(bio);
    rc = request != NULL
             ? read_key(request, public_key, err)
             : refuse("it holds no certificate request in PEM form (-----BEGIN CERTIFICATE REQUEST-----)", err);
    X509_REQ_free(request);
    return rc;
}
