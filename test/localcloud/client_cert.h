/* SPDX-License-Identifier: MIT */
/* The certificate that a client showed in its TLS handshake. */
#ifndef LC_CLIENT_CERT_H
#define LC_CLIENT_CERT_H

#include "http.h"

/* session is the gnutls_session_t of the connection; NULL: nothing is set. What the request gets is the
 * session's. */
void lc_client_cert(void *session, struct lc_request *request);

#endif
