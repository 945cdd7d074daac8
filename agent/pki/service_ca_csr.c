/* SPDX-License-Identifier: MIT */
/* Certificate requests that consumers write. */
#include "agent/pki/service_ca_csr.h"

#include "files/file.h"
#include "files/path.h"
#include "pki/csr.h"

/* A user that can put a request there gets a certificate of the configured names. */
static int check_owner(const struct cfr_service_ca_certificate *c, const struct cfr_file_origin *origin,
                       struct cfr_err *err)
{
    uid_t uid;
    int rc;

    if (c->csr_owner != NULL) {
        rc = cfr_path_uid(c->csr_owner, &uid, err);
        if (rc == 0 && origin->owner != uid)
            rc = cfr_err_set(err, CFR_E_PERM, "%s belongs to uid %u, and is to belong to %s (csr_owner)", c->csr,
                             (unsigned)origin->owner, c->csr_owner);
        return rc;
    }
    if (!origin->trusted)
        return cfr_err_set(
            err, CFR_E_PERM,
            "%s could have been written by another user than root and ours: name the user that it has to "
            "belong to in `csr_owner`",
            c->csr);
    return 0;
}

int cfr_service_ca_csr_read(const struct cfr_service_ca_certificate *c, struct cfr_str *public_key, struct cfr_err *err)
{
    struct cfr_file_origin origin;
    struct cfr_secret text;
    int rc;

    /* It is none, but a private key may have been left in the file. */
    cfr_secret_init(&text, CFR_CSR_PEM_MAX);
    rc = cfr_file_read_foreign(c->csr, &text, &origin, err);
    if (rc == CFR_E_MISSING)
        rc = cfr_err_set(err, CFR_E_MISSING, "there is no certificate request yet in %s", c->csr);
    if (rc == 0)
        rc = check_owner(c, &origin, err);
    if (rc == 0 && (rc = cfr_cert_request_key(cfr_secret_view(&text), public_key, err)) != 0)
        rc = cfr_err_prefix(err, "%s", c->csr);
    cfr_secret_free(&text);
    return rc;
}
