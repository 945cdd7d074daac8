/* SPDX-License-Identifier: MIT */
/* What the writers of JSON and the redaction ask of a view besides base/view.h. Pure; cannot fail. Private to the room.
 */
#ifndef CFR_BASE_VIEW_PRIVATE_H
#define CFR_BASE_VIEW_PRIVATE_H

#include "base/view.h"

/* How many bytes of A, from its beginning, are well-formed UTF-8. */
size_t cfr_view_utf8_prefix(struct cfr_view a);
/* The character that A begins with into *C. Returns its length, or 0 if A begins with no well-formed UTF-8. */
size_t cfr_view_char(struct cfr_view a, uint32_t *c);
/* False for a character that cfr_view_show replaces. */
bool cfr_view_is_shown(uint32_t c);
/* Length of the character that TEXT begins with if cfr_view_show keeps it, else 0. */
size_t cfr_view_shown_len(struct cfr_view text);

#endif
