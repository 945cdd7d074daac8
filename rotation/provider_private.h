/* SPDX-License-Identifier: MIT */
/* What the rotation providers share beyond their interface: reading the credential named `with`. Pure; the result is
 * borrowed from the grant. */
#ifndef CFR_ROTATION_PROVIDER_PRIVATE_H
#define CFR_ROTATION_PROVIDER_PRIVATE_H

#include "rotation/provider.h"

/* The value of the field NAME of G, or of the key of that name in a mounted Secret that is passed on. */
struct cfr_view cfr_rotation_admin_field(const struct cfr_grant *g, const char *name);

#endif
