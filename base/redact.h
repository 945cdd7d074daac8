/* SPDX-License-Identifier: MIT */
/* Makes a message of another program fit for an error text: printable, short, and without anything that may be a
 * secret. Pure; allocates nothing; cannot fail. */
#ifndef CFR_BASE_REDACT_H
#define CFR_BASE_REDACT_H

#include "base/view.h"

#define CFR_REDACT_MAX 204 /* bytes of the result with "..." and its NUL */

/* Writes TEXT into OUT: control characters and other bytes that are not printable ASCII become spaces, which
 * are merged; at most 200 characters stay. A word is replaced by "[removed]" if it shares 12 or more
 * consecutive characters with one of the SECRETS (or holds the whole of a shorter one), looks like a JSON Web
 * Token, or has more than 64 characters without being an ARN, the name of a Kubernetes service account or node or of
 * something in Google's IAM, or a URL without a query. Returns OUT. */
const char *cfr_redact(struct cfr_view text, const struct cfr_view *secrets, size_t count, char out[CFR_REDACT_MAX]);

/* Overwrites each word of TEXT, which holds our own words and perhaps another program's, that shares characters with
 * one of the SECRETS, or a word of one, of at least 8, by the rule above, with "[removed]". Everything else stays as it
 * is. TEXT may become shorter, never longer. Returns TEXT. */
char *cfr_redact_secrets(char *text, const struct cfr_view *secrets, size_t count);

#endif
