/* SPDX-License-Identifier: MIT */
/* Makes a message of another program fit for an error text: printable, short, and without anything that may be a
 * secret. Pure; allocates nothing; cannot fail. */
#ifndef CFR_BASE_REDACT_H
#define CFR_BASE_REDACT_H

#include "base/view.h"

#define CFR_REDACT_MAX 204 /* bytes of the result with "..." and its NUL */

/* Writes TEXT into OUT: characters that cannot be shown (cfr_view_show) become spaces, which are merged; at most 200
 * bytes stay. A word is replaced by "[removed]" if it has a part of what repeats one of
 * the SECRETS, looks like a JSON Web Token, or has more than 64 ASCII characters in a row without being an ARN, the
 * name of a Kubernetes service account or node or of something in Google's IAM, or a URL without a query. A secret is
 * repeated by 12 or more consecutive characters of it, blanks among them, by the whole of a shorter one, or of a
 * shorter word of it; fewer than 4 characters are not looked for. Returns OUT. */
const char *cfr_redact(struct cfr_view text, const struct cfr_view *secrets, size_t count, char out[CFR_REDACT_MAX]);

/* Overwrites each word of TEXT, which holds our own words and perhaps another program's, that has a part of what
 * repeats one of the SECRETS, with "[removed]", or a short one with "***". They are repeated as above, but a secret of
 * 4 to 7 characters only between characters that are no letters or digits, and words of a secret from 8 characters on.
 * Everything else stays as it is. TEXT may become shorter, never longer. Returns TEXT. */
char *cfr_redact_secrets(char *text, const struct cfr_view *secrets, size_t count);

#endif
