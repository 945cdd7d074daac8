/* SPDX-License-Identifier: MIT */
/* Table of hook kinds. */
#include "agent/hook/hook_private.h"

#include <stddef.h>

const struct cfr_hook_ops *const cfr_hook_kinds[] = {
    &cfr_hook_signal, &cfr_hook_exec, &cfr_hook_http, &cfr_hook_rollout, NULL,
};
