/* SPDX-License-Identifier: MIT */
/* Any bytes as a mountinfo file: the mount found is above the path. */
#include "fuzz.h"

#include "agent/doctor/mountinfo_private.h"

#include <string.h>

#define PATH "/var/run/secrets/tokens/cloud"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_doctor_mount m;

    if (!cfr_doctor_mount_find((struct cfr_view){(const char *)data, size}, PATH, &m))
        return 0;
    CFR_FUZZ_MUST(strncmp(m.point, PATH, strlen(m.point)) == 0);
    (void)cfr_doctor_mount_is_part(&m);
    return 0;
}
