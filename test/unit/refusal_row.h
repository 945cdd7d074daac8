/* SPDX-License-Identifier: MIT */
/* A row of a table of errors, compared with the error that came. */
#ifndef CFR_TEST_REFUSAL_ROW_H
#define CFR_TEST_REFUSAL_ROW_H

#include "unit.h"

#include "base/err.h"

/* CODE and CLASS are their names, TEXT is a part of the text. FILE is what the row is called. */
static inline void refusal_row(struct cfr_view file, int rc, const struct cfr_err *err, struct cfr_view code,
                               struct cfr_view class, struct cfr_view text)
{
    const char *got = cfr_err_class_name(cfr_err_class(rc));

    if (rc >= 0 || err->code != rc || !cfr_view_is(code, cfr_err_name(rc)) || !cfr_view_is(class, got) ||
        memmem(err->text, strlen(err->text), text.p, text.n) == NULL)
        fail_msg("%.*s: got %s (%s): %s\nexpected %.*s (%.*s) with \"%.*s\"", (int)file.n, file.p,
                 cfr_err_name(rc), got, err->text, (int)code.n, code.p, (int)class.n, class.p, (int)text.n,
                 text.p);
    assert_true(cfr_view_printable(cfr_view_of(err->text)));
    if (strlen(err->text) >= sizeof err->text - 1)
        fail_msg("%.*s: cut: %s", (int)file.n, file.p, err->text);
}

#endif
