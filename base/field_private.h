/* SPDX-License-Identifier: MIT */
/* What the files of the field tables share. */
#ifndef CFR_BASE_FIELD_PRIVATE_H
#define CFR_BASE_FIELD_PRIVATE_H

#include "base/field.h"

/* The choice most like TEXT, or NULL. */
const char *cfr_field_suggest_choice(const char *const *choices, struct cfr_view text);

#endif
