/* SPDX-License-Identifier: MIT */
/* Kinds of key pairs, and the sizes of keys and key ids. */
#ifndef CFR_PKI_KEY_H
#define CFR_PKI_KEY_H

#include "base/secret.h"
#include "base/str.h"

#define CFR_KEY_PEM_MAX 16384
#define CFR_KEY_KID_MAX 44 /* with its NUL */

enum cfr_key_kind { CFR_KEY_ECDSA_P256, CFR_KEY_ECDSA_P384, CFR_KEY_RSA_2048, CFR_KEY_RSA_3072, CFR_KEY_RSA_4096 };

/* Their names in configuration, in this order, NULL-terminated: ecdsa-p256 ... */
extern const char *const cfr_key_kinds[];

#endif
