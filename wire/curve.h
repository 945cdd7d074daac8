/* SPDX-License-Identifier: MIT */
/* Certificates with a curve of their own. Pure.
 *
 * A key on such a curve brings the curve's numbers instead of its name (RFC 3279, 2.3.5: ecParameters). OpenSSL
 * computes with them while it reads the certificate, before it verifies anything: up to 50 ms each. */
#ifndef CFR_WIRE_CURVE_H
#define CFR_WIRE_CURVE_H

#include "base/view.h"

/* True if BYTES (DER, or a message that holds it) have the identifier that every such curve begins with, id-fieldType
 * of ANSI X9.62. Named curves do not have it. */
bool cfr_curve_is_own(struct cfr_view bytes);

#endif
