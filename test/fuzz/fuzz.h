/* SPDX-License-Identifier: MIT */
/* The one function of a fuzz target, as libFuzzer and replay.c call it. */
#ifndef CFR_TEST_FUZZ_H
#define CFR_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert: it would vanish from release builds. */
#define CFR_FUZZ_MUST(condition)                                                                                       \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

#endif
