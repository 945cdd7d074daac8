/* SPDX-License-Identifier: MIT */
/* Which texts come back from JSON as they were. */
#ifndef CFR_TEST_UTF8_H
#define CFR_TEST_UTF8_H

#include "base/view.h"

/* What is no UTF-8 is written as U+FFFD, which is another text, and a longer one. */
static bool is_utf8(struct cfr_view text)
{
    while (text.n != 0) {
        size_t k = cfr_view_utf8_len(text);

        if (k == 0)
            return false;
        text.p += k;
        text.n -= k;
    }
    return true;
}

#endif
