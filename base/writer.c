/* SPDX-License-Identifier: MIT */
/* Documents with secrets. */
#include "base/writer.h"

#include <inttypes.h>
#include <stdio.h>

void cfr_pen_view(struct cfr_pen *p, struct cfr_view text)
{
    if (p->rc == 0)
        p->rc = cfr_secret_append(p->out, text, p->err);
}

void cfr_pen_text(struct cfr_pen *p, const char *text)
{
    cfr_pen_view(p, cfr_view_of(text));
}

void cfr_pen_number(struct cfr_pen *p, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    cfr_pen_text(p, text);
}

void cfr_pen_json(struct cfr_pen *p, struct cfr_view text)
{
    if (p->rc == 0)
        p->rc = cfr_secret_append_json(p->out, text, p->err);
}
