/* SPDX-License-Identifier: MIT */
/* Text functions that the providers' advice on trust shares. */
#include "sts/core/trust.h"

#include <string.h>

struct cfr_view cfr_sts_trust_bare_issuer(struct cfr_view iss)
{
    size_t n = strlen("https://");

    return cfr_view_starts(iss, "https://") ? (struct cfr_view){iss.p + n, iss.n - n} : iss;
}

struct cfr_view cfr_sts_trust_after(const char *text, const char *words, const char *ends)
{
    const char *at = strstr(text, words);

    return at != NULL ? (struct cfr_view){at + strlen(words), strcspn(at + strlen(words), ends)}
                      : (struct cfr_view){NULL, 0};
}
