/* SPDX-License-Identifier: MIT */
/* Putting a document with secrets together: the first error stays, and what follows it does nothing. */
#ifndef CFR_BASE_WRITER_H
#define CFR_BASE_WRITER_H

#include "base/secret.h"

struct cfr_writer {
    struct cfr_secret *out;
    struct cfr_err *err;
    int rc;
};

void cfr_writer_view(struct cfr_writer *p, struct cfr_view text);
void cfr_writer_text(struct cfr_writer *p, const char *text);
void cfr_writer_number(struct cfr_writer *p, int64_t number);
/* TEXT as a JSON string with its quotes. */
void cfr_writer_json(struct cfr_writer *p, struct cfr_view text);

#endif
