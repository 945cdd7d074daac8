/* SPDX-License-Identifier: MIT */
/* What the writer of JSON asks of a view besides base/view.h. Pure; cannot fail. Private to the room. */
#ifndef CFR_BASE_VIEW_PRIVATE_H
#define CFR_BASE_VIEW_PRIVATE_H

#include "base/view.h"

/* How many bytes of A, from its beginning, are well-formed UTF-8. */
size_t cfr_view_utf8_prefix(struct cfr_view a);

#endif
