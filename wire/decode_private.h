/* SPDX-License-Identifier: MIT */
/* PEM blocks and DER elements, read without OpenSSL. */
#ifndef CFR_WIRE_DECODE_PRIVATE_H
#define CFR_WIRE_DECODE_PRIVATE_H

#include "wire/decode.h"

enum cfr_decode_tag { CFR_DECODE_INTEGER = 0x02, CFR_DECODE_SEQUENCE = 0x30 };

/* Cuts the DER element with TAG off *REST; *CONTENT is what it holds. False: another tag, a length that does not fit,
 * or an indefinite one. */
bool cfr_decode_element(struct cfr_view *rest, unsigned char tag, struct cfr_view *content);

#endif
