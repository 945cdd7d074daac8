/* SPDX-License-Identifier: MIT */
/* What every unit test of base/ and of the configuration includes. */
#ifndef CFR_TEST_UNIT_H
#define CFR_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/view.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A view of a literal that may hold NUL characters. */
#define LITERAL(text) ((struct cfr_view){text, sizeof(text) - 1})

#define assert_view(view, text)                                                                              \
    do {                                                                                                     \
        struct cfr_view view_ = (view);                                                                      \
        assert_int_equal(view_.n, strlen(text));                                                             \
        assert_memory_equal(view_.n != 0 ? view_.p : "", text, view_.n);                                     \
    } while (0)

#define assert_contains(text, part)                                                                          \
    do {                                                                                                     \
        if (strstr((text), (part)) == NULL)                                                                  \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text));                                             \
    } while (0)

#endif
