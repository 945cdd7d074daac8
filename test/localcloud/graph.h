/* SPDX-License-Identifier: MIT */
/* Microsoft Graph below /graph: the client secrets of Azure's applications. Its settings are those of Azure.
 */
#ifndef LC_GRAPH_H
#define LC_GRAPH_H

#include "service.h"

extern const struct lc_service lc_graph_service;

#endif
