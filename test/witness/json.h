/* SPDX-License-Identifier: MIT */
/* The only file that includes the JSON library. */
#ifndef CFW_JSON_H
#define CFW_JSON_H

#include <jansson.h>

#endif
