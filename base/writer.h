/* SPDX-License-Identifier: MIT */
/* Putting a document with secrets together: the first error stays, and what follows it does nothing. */
#ifndef CFR_BASE_WRITER_H
#define CFR_BASE_WRITER_H

#include "base/secret.h"

struct cfr_pen {
    struct cfr_secret *out;
    struct cfr_err *err;
    int rc;
};

void cfr_pen_view(struct cfr_pen *p, struct cfr_view text);
void cfr_pen_text(struct cfr_pen *p, const char *text);
void cfr_pen_number(struct cfr_pen *p, int64_t number);
/* TEXT as a JSON string with its quotes. */
void cfr_pen_json(struct cfr_pen *p, struct cfr_view text);

#endif
