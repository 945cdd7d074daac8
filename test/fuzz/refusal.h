/* SPDX-License-Identifier: MIT */
/* For targets that read answers: a token that was shown to the server, and what holds for every refusal. */
#ifndef CFR_TEST_REFUSAL_H
#define CFR_TEST_REFUSAL_H

#include "fuzz.h"

#include "base/err.h"
#include "base/view.h"

#include <string.h>

#define TOKEN "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2lnbmF0dXJl"

/* Not even a piece of the token may be repeated. */
static void check_refusal(int rc, const struct cfr_err *err)
{
    CFR_FUZZ_MUST(rc < 0 && err->code == rc && err->text[0] != '\0');
    CFR_FUZZ_MUST(cfr_view_is_text(cfr_view_of(err->text)));
    CFR_FUZZ_MUST(strstr(err->text, "eyJzdWIiOiJhIn0") == NULL && strstr(err->text, "c2lnbmF0dXJlc2ln") == NULL);
}

#endif
