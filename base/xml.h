/* SPDX-License-Identifier: MIT */
/* Reading small XML answers. The only user of expat. No document type, no entities beyond the five of XML and
 * the numeric ones, no namespaces (local names only), at most 32 levels; its memory is wiped when it is
 * freed. */
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
