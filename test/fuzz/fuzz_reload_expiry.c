/* SPDX-License-Identifier: MIT */
/* Any bytes as a credential whose expiry is read. */
#include "fuzz.h"

#include "credfresh.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t at = -1;
    int64_t again = -1;
    /* In JSON the expiry does not depend on what surrounds it. */
    char *spaced = malloc(size + 2);

    CFR_FUZZ_MUST(spaced != NULL);
    spaced[0] = ' ';
    memcpy(spaced + 1, data, size);
    spaced[size + 1] = '\n';
    int rc = credfresh_expiry(data, size, &at);

    CFR_FUZZ_MUST(rc == 0 || rc == CREDFRESH_E_NO_EXPIRY);
    CFR_FUZZ_MUST(rc != 0 ? at == -1 : at >= 0 && at <= 253402300799);
    CFR_FUZZ_MUST(credfresh_expiry(spaced, size + 2, &again) == rc && again == at);
    free(spaced);
    return 0;
}
