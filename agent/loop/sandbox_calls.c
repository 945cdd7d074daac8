/* SPDX-License-Identifier: MIT */
/* The list of system calls, which CMake makes of sandbox_calls.txt. */
#include "agent/loop/sandbox_private.h"

#include <sys/syscall.h>

const int cfr_sandbox_calls[] = {
#include "sandbox_calls.inc"
};
const size_t cfr_sandbox_call_count = sizeof cfr_sandbox_calls / sizeof cfr_sandbox_calls[0];
