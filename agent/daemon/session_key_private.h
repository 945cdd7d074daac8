/* SPDX-License-Identifier: MIT */
/* The key that signs the session tokens of the EC2 metadata shape. It outlives the agent's process, because some SDKs
 * keep a session token for its whole life of up to six hours and never ask for another one. */
#ifndef CFR_AGENT_DAEMON_SESSION_KEY_PRIVATE_H
#define CFR_AGENT_DAEMON_SESSION_KEY_PRIVATE_H

#include "agent/loop/slow_write.h"
#include "serve/sdk/ec2_token.h"

/* Zeroed at first. */
struct cfr_daemon_session_key {
    struct cfr_ec2_signer *signer; /* NULL: no shape has needed it yet */
    struct cfr_secret unsaved;     /* a new key that is not in its file yet */
    struct cfr_slow_write writing;
};

/* Opens the signer with the key in the state directory STATE_FD (borrowed): CFR_SDK_EC2_KEY_BYTES random bytes in the
 * file `_ec2-session-key`, mode 0600. A file that is missing, has another size or mode, or belongs to another user is
 * replaced; the log says so. Where it cannot be written, the key is of this run alone, and the log says that, too.
 * CFR_E_IO without random bytes; as cfr_sdk_ec2_signer_open. */
int cfr_daemon_session_key_open(struct cfr_daemon_session_key *k, int state_fd, struct cfr_err *err);
/* Goes on with a file that is still to be written; after SIGCHLD, and once a minute. */
void cfr_daemon_session_key_step(struct cfr_daemon_session_key *k, int state_fd);
void cfr_daemon_session_key_close(struct cfr_daemon_session_key *k);

#endif
