/* SPDX-License-Identifier: MIT */
/* Text functions that the providers' advice on trust shares. */
#include "sts/core/trust.h"

#include <string.h>

struct cfr_view cfr_sts_trust_bare_issuer(struct cfr_view iss)
{
    size_t n = strlen("https://");

    return cfr_view_starts(iss, "https://") ? (struct cfr_view){iss.p + n, iss.n - n} : iss;
}

void cfr_sts_trust_add_quoted(struct cfr_str *s, const char *text)
{
    size_t n;

    cfr_str_addz(s, "'");
    for (; *(text + (n = strcspn(text, "'"))) != '\0'; text += n + 1) {
        cfr_str_add(s, (struct cfr_view){text, n});
        cfr_str_addz(s, "'\\''");
    }
    cfr_str_addz(s, text);
    cfr_str_addz(s, "'");
}

const char *cfr_sts_trust_audience(const struct cfr_sts_trust *t, char *out)
{
    return cfr_view_show(t->aud_count != 0 ? t->aud[0] : (struct cfr_view){"", 0}, out, CFR_STS_TRUST_SHOWN_MAX);
}

struct cfr_view cfr_sts_trust_after(const char *text, const char *words, const char *ends)
{
    const char *at = strstr(text, words);

    return at != NULL ? (struct cfr_view){at + strlen(words), strcspn(at + strlen(words), ends)}
                      : (struct cfr_view){NULL, 0};
}
