/* SPDX-License-Identifier: MIT */
/* Where scrubbing was once; it is in base/scrub.h now. */
#ifndef CFR_STS_SCRUB_H
#define CFR_STS_SCRUB_H

#include "base/scrub.h"

#endif
