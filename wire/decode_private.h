/* SPDX-License-Identifier: MIT */
/* PEM blocks and DER elements, read without OpenSSL. */
#ifndef CFR_WIRE_DECODE_PRIVATE_H
#define CFR_WIRE_DECODE_PRIVATE_H

#include "wire/decode.h"

#define CFR_DECODE_PEM_MAX 262144

enum cfr_decode_tag { CFR_DECODE_INTEGER = 0x02, CFR_DECODE_SEQUENCE = 0x30 };

/* Appends the DER bytes of the next certificate in *REST to DER and moves *REST after it;
 * appends nothing if there is none. */
int cfr_decode_next_certificate(struct cfr_view *rest, struct cfr_secret *der, struct cfr_err *err);
/* Cuts the DER element with TAG off *REST; *CONTENT is what it holds. False: another tag, a length that does not fit,
 * or an indefinite one. */
bool cfr_decode_element(struct cfr_view *rest, unsigned char tag, struct cfr_view *content);

#endif
