/* SPDX-License-Identifier: MIT */
/* Client secret files of the local endpoints: created if credfresh owns them, else only read. */
#ifndef CFR_AGENT_DAEMON_CLIENT_SECRET_FILE_PRIVATE_H
#define CFR_AGENT_DAEMON_CLIENT_SECRET_FILE_PRIVATE_H

#include "agent/config/config.h"

struct cfr_daemon_client_secrets;

/* Makes the files that CONFIG wants made and that are not there, or not as it wants them, each with 32 random bytes in
 * base64url; reads the others. A file of another user that does not exist yet is no error. CFR_E_CONFIG (no such user),
 * CFR_E_PERM and the like; the error names the file. OUT keeps nothing of CONFIG. Blocks on disk. */
int cfr_daemon_client_secret_open(const struct cfr_config *config, struct cfr_daemon_client_secrets **out,
                                  struct cfr_err *err);
/* Wipes; the files stay. NULL is allowed. */
void cfr_daemon_client_secret_close(struct cfr_daemon_client_secrets *p);
/* The content of the file at PATH, without the white space around it; p == NULL if it cannot be read now. Read again
 * after a second. */
struct cfr_view cfr_daemon_client_secret_get(struct cfr_daemon_client_secrets *p, const char *path);

#endif
