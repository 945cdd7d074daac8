/* SPDX-License-Identifier: MIT */
/* Session tokens of the instance metadata that need no memory: an expiry and its proof. A token is 16 hexadecimal
 * digits of its expiry and 64 of HMAC-SHA-256, under the key of this run, over the credential's name and that expiry.
 */
#ifndef CFR_SERVE_SDK_EC2_TOKEN_H
#define CFR_SERVE_SDK_EC2_TOKEN_H

#include "base/secret.h"

#define CFR_SDK_EC2_KEY_BYTES       32
#define CFR_SDK_EC2_TOKEN_LENGTH    80
#define CFR_SDK_EC2_TOKEN_TTL_MAX_S 21600

/* Holds the key, and the library's state under it, which is dear to make. For one thread at a time. */
struct cfr_ec2_signer;

/* KEY is borrowed for the call: CFR_SDK_EC2_KEY_BYTES random bytes. *OUT is closed by cfr_sdk_ec2_signer_close, and
 * NULL on error: CFR_E_NOMEM; CFR_E_INTERNAL if KEY has another length, or the library has no memory or no
 * HMAC-SHA-256. */
int cfr_sdk_ec2_signer_open(struct cfr_view key, struct cfr_ec2_signer **out, struct cfr_err *err);
/* Wipes what it held. NULL is allowed. */
void cfr_sdk_ec2_signer_close(struct cfr_ec2_signer *s);

#endif
