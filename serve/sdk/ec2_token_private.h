/* SPDX-License-Identifier: MIT */
/* Making and checking the session tokens of the instance metadata. */
#ifndef CFR_SERVE_SDK_EC2_TOKEN_PRIVATE_H
#define CFR_SERVE_SDK_EC2_TOKEN_PRIVATE_H

#include "serve/sdk/ec2_token.h"

/* Appends the token for CREDENTIAL that ends at EXPIRES_S. CFR_E_INTERNAL if SIGNER is NULL, or the library fails; as
 * cfr_secret_append. */
int cfr_sdk_ec2_token_make(struct cfr_ec2_signer *signer, const char *credential, int64_t expires_s,
                           struct cfr_secret *to);
/* True if TOKEN was made for CREDENTIAL under SIGNER's key, has not ended, and does not end later than any made now
 * could. */
bool cfr_sdk_ec2_token_good(struct cfr_ec2_signer *signer, const char *credential, struct cfr_view token,
                            int64_t now_s);

#endif
