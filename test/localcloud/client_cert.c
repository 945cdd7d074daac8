/* SPDX-License-Identifier: MIT */
/* The certificate that a client showed in its TLS handshake. The one place that includes GnuTLS, whose
 * sessions libmicrohttpd hands out. */
#include "client_cert.h"

#include <gnutls/gnutls.h>

void lc_client_cert(void *session, struct lc_request *request)
{
    unsigned count = 0;
    unsigned status = 0;
    const gnutls_datum_t *list = session == NULL ? NULL : gnutls_certificate_get_peers(session, &count);

    if (list == NULL || count == 0) {
        return;
    }
    if (gnutls_certificate_verify_peers2(session, &status) != 0 || status != 0) {
        request->client_bad = true;
        return;
    }
    request->client_der = list[0].data;
    request->client_der_len = list[0].size;
}
