/* SPDX-License-Identifier: MIT */
/* The table of what the agent ends with. */
#include "agent/config/schema_private.h"

#define AT(member) offsetof(struct cfr_config_exit, member)
static const struct cfr_field exit_fields[] = {
    {FIELD(process, STRING), .min = 1, .max = 255,
     .doc =
         "The process by its name: the last component of its executable, or what `ps` shows as its command (at most 15 "
         "characters, for a script the script's). In a pod the containers must share their process namespace."},
    {FIELD(pid_file, STRING), .flags = CFR_FIELD_PATH,
     .doc = "A file that holds its process id. One that was there before the agent began counts only while the process "
            "runs."},
    {FIELD_AS("linger", linger_ms, DURATION), .fallback = "2s", .min = 0, .max = CFR_HOUR_MS,
     .doc = "How long no such process may run, after one did, before the agent ends: it may be started again."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_exit_table = {
    .name = "process to end with",
    .size = sizeof(struct cfr_config_exit),
    .fields = exit_fields,
    .check = cfr_config_rules_exit,
    .doc =
        "Makes `credfresh run` end when another process has ended, with status 0: for Jobs on clusters without native "
        "sidecars. Exactly one of `process` and `pid_file`.",
};
