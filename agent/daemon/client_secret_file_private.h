/* SPDX-License-Identifier: MIT */
/* Client secret files of the local endpoints: created if credfresh owns them, else only read. */
#ifndef CFR_AGENT_DAEMON_CLIENT_SECRET_FILE_PRIVATE_H
#define CFR_AGENT_DAEMON_CLIENT_SECRET_FILE_PRIVATE_H

#include "agent/config/config.h"

struct cfr_daemon_client_secrets;

/* Knows the files that CONFIG wants made or read, and touches none. CFR_E_CONFIG (no such user), which names the file;
 * CFR_E_NOMEM. OUT keeps nothing of CONFIG. */
int cfr_daemon_client_secret_open(const struct cfr_config *config, struct cfr_daemon_client_secrets **out,
                                  struct cfr_err *err);
/* Makes the files that are not there, or not as they are wanted, each with 32 random bytes in base64url; reads the
 * others. They lie where consumers can write, so a file that cannot be made or read is no error: it is logged, and
 * tried again. A file system that may not answer is not asked. In a directory of another user they are made with that
 * user's rights. Those on a disk are written by a child, which is waited for 50 ms in all: what takes longer is looked
 * at again with the next request. Blocks on disk to read. */
void cfr_daemon_client_secret_make(struct cfr_daemon_client_secrets *p);
/* True while a child writes one of these files for the first time, for at most 10 s each. Never waits for it. */
bool cfr_daemon_client_secret_is_making(struct cfr_daemon_client_secrets *p);
/* Wipes; the files stay. NULL is allowed. */
void cfr_daemon_client_secret_close(struct cfr_daemon_client_secrets *p);
/* The content of the file at PATH, without the white space around it; p == NULL if it cannot be made or read now.
 * Looked at again after a second; one of ours that was removed or changed is then written again. */
struct cfr_view cfr_daemon_client_secret_get(struct cfr_daemon_client_secrets *p, const char *path);

#endif
