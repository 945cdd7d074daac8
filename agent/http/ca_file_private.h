/* SPDX-License-Identifier: MIT */
/* The files of trusted CA certificates: finds the system's, and notices changes. Blocks on disk. */
#ifndef CFR_AGENT_HTTP_CA_FILE_PRIVATE_H
#define CFR_AGENT_HTTP_CA_FILE_PRIVATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cfr_http_trust_file;

/* The files in use. Zero-initialised is none. */
struct cfr_http_trust {
    struct cfr_http_trust_file *files;
    size_t count;
};

/* The system's bundle: $SSL_CERT_FILE if set, else the first existing one of the distributions' paths. NULL when there
 * is none. */
const char *cfr_http_trust_system(void);
/* *CHANGED is true if PATH (links followed) is another file than in the last call, or was written since; never in the
 * first call. CFR_E_MISSING, CFR_E_PERM, CFR_E_NOMEM ... */
int cfr_http_trust_check(struct cfr_http_trust *t, const char *path, bool *changed, struct cfr_err *err);
void cfr_http_trust_free(struct cfr_http_trust *t);

#endif
