/* SPDX-License-Identifier: MIT */
/* The one place where the witness meets its JSON library. */
#ifndef CFW_JSON_H
#define CFW_JSON_H

#include <jansson.h>

#endif
