/* SPDX-License-Identifier: MIT */
/* Bodies of the type application/x-www-form-urlencoded (WHATWG URL, 5.2, with %20 for a blank). */
#ifndef CFR_WIRE_FORM_H
#define CFR_WIRE_FORM_H

#include "base/secret.h"

#define CFR_FORM_TYPE "application/x-www-form-urlencoded"

/* Appends `KEY=VALUE`, percent-encoded, after a `&` unless BODY is empty. An empty VALUE adds nothing. */
int cfr_form_add(struct cfr_secret *body, const char *key, struct cfr_view value, struct cfr_err *err);
/* As cfr_form_add with the items of a list joined by blanks, as OAuth writes its scopes (RFC 6749, 3.3). */
int cfr_form_add_joined(struct cfr_secret *body, const char *key, char *const *items, size_t count,
                        struct cfr_err *err);

#endif
