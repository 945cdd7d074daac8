/* SPDX-License-Identifier: MIT */
/* Any text as a line of /proc/self/mountinfo, and as the name of a version. */
#include "fuzz.h"

#include "libcredfresh/mount.h"
#include "libcredfresh/volume.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    CFR_FUZZ_MUST(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    CFR_FUZZ_MUST(!cfl_mount_line_is_frozen(text, 713) || strstr(text, "/..") != NULL);
    CFR_FUZZ_MUST(!cfl_mount_line_is_frozen(text, -1));
    CFR_FUZZ_MUST(cfl_volume_generation(text) == 0 || strncmp(text, "..", 2) == 0);
    free(text);
    return 0;
}
