/* SPDX-License-Identifier: MIT */
/* Where the trusted CA certificates are, and whether such a file has changed since it was last used. */
#ifndef CFR_AGENT_HTTP_CA_FILE_PRIVATE_H
#define CFR_AGENT_HTTP_CA_FILE_PRIVATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cfr_http_trust_file;

/* Zero-initialised knows no file. */
struct cfr_http_trust {
    struct cfr_http_trust_file *files;
    size_t count;
};

/* The system's bundle: $SSL_CERT_FILE if set, else the first that exists of those that distributions have.
 * NULL when there is none. */
const char *cfr_http_trust_system(void);
/* Looks at PATH (links followed). *CHANGED says whether it is another file or content than at the last look;
 * never at the first. CFR_E_MISSING, CFR_E_PERM, CFR_E_NOMEM ... when it cannot be looked at. */
int cfr_http_trust_look(struct cfr_http_trust *t, const char *path, bool *changed, struct cfr_err *err);
void cfr_http_trust_free(struct cfr_http_trust *t);

#endif
