/* SPDX-License-Identifier: MIT */
/* Processes: signalling without hitting a reused pid, and starting commands with a clean environment.
 *
 * Reads /proc and blocks on nothing else. No callbacks. A pidfd that a function returns is the caller's. Other
 * programs' processes are opened with pidfd_open(2), because their pid may be reused. Those that we start are known by
 * their pid, which stays theirs until they are reaped: some container runtimes refuse pidfd_open. */
#ifndef CFR_AGENT_LOOP_PROCESS_H
#define CFR_AGENT_LOOP_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends SIGNAL to the process that PID_FILE names, through a pidfd. A process that started after the file was last
 * written is another one with the same number: CFR_E_CONFLICT. If others than root and our user could have written the
 * file, the process must be of the file's owner: CFR_E_PERM. CFR_E_MISSING (no file, no process), CFR_E_PERM with
 * both users and what to change. */
int cfr_process_signal_file(const char *pid_file, int signal, struct cfr_err *err);
/* Sends SIGNAL to every process whose executable is EXECUTABLE (an absolute path, or a name compared with the last
 * component) and whose parent is not one too. Those that may not be signalled are left out, and are an error only if
 * there are no others: CFR_E_PERM. CFR_E_MISSING if there is none, with the pod setting to look at. */
int cfr_process_signal_executable(const char *executable, int signal, struct cfr_err *err);

/* A pidfd of the running process that PID_FILE names, readable when it has ended. CFR_E_MISSING (no file, no process),
 * CFR_E_CONFLICT as above. */
int cfr_process_open_file(const char *pid_file, int *pidfd, struct cfr_err *err);
/* A pidfd of a running process whose name, as `ps` shows it, or whose executable's last component is NAME; neither we
 * nor what we started. CFR_E_MISSING if there is none. */
int cfr_process_open_name(const char *name, pid_t *pid, int *pidfd, struct cfr_err *err);

/* For every program and subcommand, before anything else: secrets may pass through this memory, so no core dumps, and
 * no reading by other processes of the same user. */
void cfr_process_harden(void);
/* Opens closed standard descriptors: a file opened later would otherwise get such a number, and messages would be
 * written into it. They are closed on exec. */
void cfr_process_fill_standard_fds(void);
/* Lets this process have as many descriptors as it may, up to 16384. What is started afterwards has the limit that
 * there was before, on which programs that use select() rely. */
void cfr_process_raise_files(void);
/* Starts ARGV (argv[0] absolute) with exactly ENVIRONMENT, in a process group of its own, standard input from
 * /dev/null, standard output to our standard error, no other descriptor, default signals. */
int cfr_process_start(char *const *argv, char *const *environment, pid_t *pid, struct cfr_err *err);
/* The same with standard output into a pipe that takes at least 4096 and normally PIPE_BYTES bytes; a writer of
 * more waits. *OUT_FD is its end to read from, which does not block; the caller closes it. */
int cfr_process_start_piped(char *const *argv, char *const *environment, int pipe_bytes, pid_t *pid, int *out_fd,
                            struct cfr_err *err);
/* True once PID, which we started, can be reaped. After SIGCHLD. */
bool cfr_process_has_ended(pid_t pid);
/* Reaps PID, which has ended. 0 for exit status 0, else CFR_E_REJECTED in words ("exited with 3", "was
 * killed by signal 9"). */
int cfr_process_reap(pid_t pid, struct cfr_err *err);
/* Kills it with its group, and leaves it to cfr_process_reap_killed: it may take any time to end. */
void cfr_process_end(pid_t pid);
/* After SIGCHLD: reaps those of the last 64 given to cfr_process_end that have ended since. */
void cfr_process_reap_killed(void);
/* After SIGCHLD, when every owner has reaped: reaps what others have left to us, such as the children of a hook where
 * we are process 1. */
void cfr_process_reap_orphans(void);
/* Signals the whole process group, and the process itself wherever it is. Not after it was reaped. */
void cfr_process_kill_group(pid_t pid, int signal);

#endif
