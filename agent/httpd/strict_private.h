/* SPDX-License-Identifier: MIT */
/* Refuses request heads that another reader of the same bytes might take for a different request (RFC 9112, 2.2, 3, 5,
 * 6 and 11.2): libmicrohttpd before 1.0 takes a line feed alone for the end of a line, cuts a value at a NUL, joins
 * folded lines and ignores a second Content-Length. In a chunked body it takes a line feed alone for the end of a line,
 * too, where this cannot see it, so that no Transfer-Encoding is allowed. Pure. */
#ifndef CFR_AGENT_HTTPD_STRICT_PRIVATE_H
#define CFR_AGENT_HTTPD_STRICT_PRIVATE_H

#include <stdbool.h>

/* One head while its parts come. Zero-initialise it. */
struct cfr_httpd_strict {
    const char *next; /* where the next field begins in the library's buffer; NULL = the buffer's layout is not known */
    const char *why;  /* the first mistake, a literal for the client; NULL = none */
    unsigned hosts;   /* Host fields */
    unsigned lengths; /* Content-Length fields */
};

/* The parts of the request line. IN_PLACE: all parts are in the library's buffer with the ends of lines, two bytes for
 * CR and LF and one for LF alone, overwritten with NULs. URI is as it was sent, URI_END its end. */
void cfr_httpd_strict_line(struct cfr_httpd_strict *s, bool in_place, const char *method, const char *uri,
                           const char *uri_end, const char *version);
/* The next field in the order in which they were sent. VALUE may be NULL. */
void cfr_httpd_strict_field(struct cfr_httpd_strict *s, const char *name, const char *value);
/* After the last field, with the END of the head: why it is refused, or NULL. */
const char *cfr_httpd_strict_end(struct cfr_httpd_strict *s, const char *end);

#endif
