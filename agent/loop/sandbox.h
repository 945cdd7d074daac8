/* SPDX-License-Identifier: MIT */
/* Sandbox: what this process gives up, for good and for its children. Each part returns 0 when it is in force, or an
 * error that says why it is not; the process goes on as it was. Nothing blocks but on disk.
 *
 * Sources: prctl(2), capabilities(7), seccomp(2), landlock(7). Linux only. */
#ifndef CFR_AGENT_LOOP_SANDBOX_H
#define CFR_AGENT_LOOP_SANDBOX_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No program that is run gains rights, as by the set-user-id bit. */
int cfr_sandbox_no_new_privs(struct cfr_err *err);
/* Keeps at most the capabilities in the mask KEEP (1 << CAP_...), and none that a program could bring back. */
int cfr_sandbox_capabilities(uint64_t keep, struct cfr_err *err);
/* The effective capabilities; 0 if they cannot be read. */
uint64_t cfr_sandbox_capabilities_now(void);
/* Leaves the system calls of a list (sandbox_calls.txt), which has none to run a program, to trace one or to change
 * mounts; any other fails with ENOSYS, and sockets of other families than Unix, IP and netlink with EAFNOSUPPORT. Needs
 * no_new_privs or CAP_SYS_ADMIN. CFR_E_MISSING where the kernel or this build has no such filter. */
int cfr_sandbox_seccomp(struct cfr_err *err);
/* What Landlock limits. */
enum cfr_sandbox_access { CFR_SANDBOX_WRITE, CFR_SANDBOX_READ };
/* WRITE: nothing is made, changed or removed but beneath the COUNT directories, which exist, and no program is run.
 * READ: no file is read but beneath these; directories can be listed. Needs the same as seccomp. CFR_E_MISSING where
 * the kernel has no Landlock. */
int cfr_sandbox_landlock(enum cfr_sandbox_access access, const char *const *directories, size_t count,
                         struct cfr_err *err);
/* ABSTRACT_SOCKETS: no abstract Unix socket is reached but our own. SIGNALS: no process is signalled but ourselves and
 * what is forked from now on. Has no effect where the kernel's Landlock is older than version 6. */
int cfr_sandbox_scope(bool abstract_sockets, bool signals, struct cfr_err *err);
/* The key of `sandbox` that turns it off. */
const char *cfr_sandbox_landlock_key(enum cfr_sandbox_access access);
/* Shortens PATH (absolute) to the nearest directory that exists. Behind a link of another user, or in a file system
 * that may not answer, none does. */
void cfr_sandbox_nearest(char *path);
/* False if what is at PATH (absolute) is outside of the directories of ACCESS. Links of directories are followed; true
 * where this is not known. */
bool cfr_sandbox_allows(enum cfr_sandbox_access access, const char *path);
/* True if PATH (absolute) lies beneath one of these directories that was removed or made again since: Landlock knows
 * the old one. Asks no file system that may not answer. */
bool cfr_sandbox_has_lost(enum cfr_sandbox_access access, const char *path);
/* Appends this, and what to do, to ERR, if it is a CFR_E_PERM about PATH. */
void cfr_sandbox_explain(enum cfr_sandbox_access access, const char *path, struct cfr_err *err);

#endif
