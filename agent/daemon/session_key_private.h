/* SPDX-License-Identifier: MIT */
/* The key that signs the session tokens of the EC2 metadata shape. It outlives the agent's process, because some SDKs
 * keep a session token for its whole life of up to six hours and never ask for another one. */
#ifndef CFR_AGENT_DAEMON_SESSION_KEY_PRIVATE_H
#define CFR_AGENT_DAEMON_SESSION_KEY_PRIVATE_H

#include "serve/sdk/ec2_token.h"

/* Opens a signer with the key in the state directory STATE_FD (borrowed): CFR_SDK_EC2_KEY_BYTES random bytes in the
 * file
 * `_ec2-session-key`, mode 0600. A file that is missing, has another size or mode, or belongs to another user is
 * replaced; the log says so. Where it cannot be written, the key is of this run alone, and the log says that, too.
 * Blocks on disk. CFR_E_IO without random bytes; as cfr_sdk_ec2_signer_open. */
int cfr_daemon_session_key_open(int state_fd, struct cfr_ec2_signer **out, struct cfr_err *err);

#endif
