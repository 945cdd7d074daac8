/* SPDX-License-Identifier: MIT */
/* Reads small XML answers by expat: no document type, no entities but the five of XML and the numeric ones, local
 * names only. Pure; its memory is wiped when it is freed.
 * Callbacks: one for each element without child elements, during the call; it may stop the reading, and must not start
 * another on the same context. Errors: CFR_E_ANSWER, CFR_E_NOMEM, or the callback's. Limits: CFR_XML_DEPTH_MAX,
 * CFR_XML_TEXT_MAX. */
#ifndef CFR_BASE_XML_H
#define CFR_BASE_XML_H

#include "base/err.h"
#include "base/view.h"

#define CFR_XML_DEPTH_MAX 32
#define CFR_XML_TEXT_MAX  65536 /* bytes of text in one element */

/* Called at the end of each element without child elements. PATH: the local names from the root to it, each
 * after a
 * '/'. TEXT is its whole text, valid during the call. Non-zero stops the reading and is returned. */
typedef int cfr_xml_leaf(void *context, const char *path, struct cfr_view text, struct cfr_err *err);

/* Reads one whole document; attributes, comments and processing instructions are skipped. CFR_E_ANSWER for
 * what is not well-formed, has a document type, or is too deep, too long or too wide; CFR_E_NOMEM; or what
 * LEAF returned. */
int cfr_xml_read(struct cfr_view document, cfr_xml_leaf *leaf, void *context, struct cfr_err *err);

/* The version of expat, as in "2.5.0". */
const char *cfr_xml_library(void);

#endif
