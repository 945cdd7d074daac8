/* SPDX-License-Identifier: MIT */
/* Certificates with a curve of their own. */
#include "wire/curve.h"

#include <string.h>

bool cfr_curve_is_own(struct cfr_view bytes)
{
    static const unsigned char field_type[] = {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x01}; /* 1.2.840.10045.1 */

    return bytes.n != 0 && memmem(bytes.p, bytes.n, field_type, sizeof field_type) != NULL;
}
