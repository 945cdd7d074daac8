/* SPDX-License-Identifier: MIT */
/* Documents with secrets. */
#include "base/writer.h"

#include <inttypes.h>
#include <stdio.h>

void cfr_writer_view(struct cfr_writer *p, struct cfr_view text)
{
    if (p->rc == 0)
        p->rc = cfr_secret_append(p->out, text, p->err);
}

void cfr_writer_text(struct cfr_writer *p, const char *text)
{
    cfr_writer_view(p, cfr_view_of(text));
}

void cfr_writer_number(struct cfr_writer *p, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    cfr_writer_text(p, text);
}

void cfr_writer_json(struct cfr_writer *p, struct cfr_view text)
{
    if (p->rc == 0)
        p->rc = cfr_secret_append_json(p->out, text, p->err);
}
