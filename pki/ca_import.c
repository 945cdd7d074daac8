/* SPDX-License-Identifier: MIT */
/* Taking over a CA that another program made. */
#include "pki/ca_import.h"

#include "base/time.h"
#include "pki/cert_private.h"
#include "pki/key.h"
#include "pki/ossl_private.h"
#include "wire/decode.h"

static int refuse(const char *why, struct cfr_err *err)
{
    ERR_clear_error();
    return cfr_err_set(err, CFR_E_CONFIG, "%s", why);
}

/* A bundle would be published with its first certificate alone. */
static int check_single(struct cfr_view pem, struct cfr_err *err)
{
    static const char begin[] = "-----BEGIN ";
    ptrdiff_t at = cfr_view_find(pem, begin);
    size_t rest = at >= 0 ? (size_t)at + sizeof begin - 1 : 0;

    if (at >= 0 && cfr_view_find((struct cfr_view){pem.p + rest, pem.n - rest}, begin) >= 0)
        return refuse("it holds more than one PEM block; write only the CA's certificate", err);
    return 0;
}

static bool is_self_signed(X509 *x)
{
    EVP_PKEY *key = X509_get0_pubkey(x);

    return key != NULL && X509_NAME_cmp(X509_get_subject_name(x), X509_get_issuer_name(x)) == 0 &&
           X509_verify(x, key) == 1;
}

/* Successors and bridges have none of these, so what the CA may not sign would be allowed by the first rotation. */
static bool is_constrained(X509 *x)
{
    static const int nids[] = {NID_name_constraints, NID_policy_constraints, NID_inhibit_any_policy};
    static const uint32_t purposes = XKU_SSL_SERVER | XKU_SSL_CLIENT; /* those of pods are for both */

    for (size_t i = 0; i < sizeof nids / sizeof nids[0]; i++) {
        if (X509_get_ext_by_NID(x, nids[i], -1) >= 0)
            return true;
    }
    return (X509_get_extension_flags(x) & EXFLAG_XKUSAGE) != 0 &&
           (X509_get_extended_key_usage(x) & purposes) != purposes;
}

static int check_extensions(X509 *x, size_t generations, struct cfr_err *err)
{
    uint32_t flags = X509_get_extension_flags(x);
    const ASN1_OCTET_STRING *id = X509_get0_subject_key_id(x);
    long path = X509_get_pathlen(x);

    if ((flags & EXFLAG_INVALID) != 0 || X509_get_version(x) != X509_VERSION_3)
        return refuse("the certificate is not a well-formed X.509 certificate of version 3", err);
    if ((flags & EXFLAG_CA) == 0)
        return refuse("the certificate is not a CA's: it has no basic constraint CA:TRUE", err);
    if ((X509_get_key_usage(x) & KU_KEY_CERT_SIGN) == 0)
        return refuse("the certificate's key usage lacks keyCertSign: it may not sign certificates", err);
    if (!is_self_signed(x))
        return refuse("the certificate is not signed by its own key: an intermediate CA cannot be imported, because "
                      "only its issuer can replace it",
                      err);
    if ((flags & EXFLAG_CRITICAL) != 0)
        return refuse("the certificate has a critical extension that is not known here", err);
    if (is_constrained(x))
        return refuse("the certificate is constrained in names, policies or purposes, which the next CA would not be",
                      err);
    if (path >= 0 && (size_t)path + 1 < generations) {
        ERR_clear_error();
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the certificate's path length is %ld: some clients that trust it would refuse the chains "
                           "after a rotation, which need %zu",
                           path, generations - 1);
    }
    if (id == NULL || ASN1_STRING_length(id) != CFR_CERT_KEY_ID_BYTES)
        return refuse("the certificate has no subject key identifier of 20 bytes, by which what it signed finds it",
                      err);
    return 0;
}

static int check_times(const struct cfr_cert *c, int64_t now_s, struct cfr_err *err)
{
    char words[CFR_TIME_WORDS_MAX];

    if (c->ends_s <= now_s)
        return cfr_err_set(err, CFR_E_CONFIG, "the CA has expired %s ago",
                           cfr_time_words((now_s - c->ends_s) * 1000, words));
    if (c->begins_s > now_s)
        return cfr_err_set(err, CFR_E_CONFIG, "the CA is not valid for another %s: check this machine's clock",
                           cfr_time_words((c->begins_s - now_s) * 1000, words));
    return 0;
}

static int read_key(struct cfr_ca *a, struct cfr_view key, struct cfr_err *err)
{
    if (cfr_view_find(key, "ENCRYPTED") >= 0)
        return refuse("the key is encrypted with a passphrase; decrypt it (openssl pkey)", err);
    cfr_secret_init(&a->key, CFR_KEY_PEM_MAX);
    return cfr_key_private(key, &a->key, err);
}

static int fill(struct cfr_ca *a, struct cfr_view certificate, struct cfr_view key, size_t generations, int64_t now_s,
                struct cfr_err *err)
{
    struct cfr_cert *root = &a->generations[0].root;
    X509 *x = NULL;
    int rc = check_single(certificate, err);

    if (rc == 0)
        rc = cfr_decode_certificate(certificate, &x, err);
    if (rc == 0)
        rc = check_extensions(x, generations, err);
    if (rc == 0)
        rc = cfr_key_check_kind(X509_get0_pubkey(x), err);
    X509_free(x);
    if (rc == 0)
        rc = cfr_cert_read(certificate, root, err);
    if (rc == 0 && !cfr_cert_is_by(root, root))
        rc = refuse("the certificate names another key than its own as its signer's", err);
    if (rc == 0)
        rc = check_times(root, now_s, err);
    if (rc == 0)
        rc = read_key(a, key, err);
    if (rc == 0)
        rc = cfr_cert_check_key(root, cfr_secret_view(&a->key), err);
    return rc != 0 ? rc : cfr_cert_subject(root, a->subject, sizeof a->subject, err);
}

int cfr_ca_import(struct cfr_ca *a, struct cfr_view certificate, struct cfr_view key, size_t generations, int64_t now_s,
                  struct cfr_err *err)
{
    int rc;

    *a = (struct cfr_ca){.number = 1, .count = 1};
    rc = fill(a, certificate, key, generations, now_s, err);
    /* Its age is the CA's, not that of our knowing it. */
    a->made_s = a->generations[0].root.begins_s;
    if (rc != 0)
        cfr_ca_free(a);
    return rc;
}
