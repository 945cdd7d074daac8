/* SPDX-License-Identifier: MIT */
/* The table of how consumers say which generation they use. */
#include "agent/config/schema_private.h"

#define AT(member) offsetof(struct cfr_config_acknowledge, member)
static const struct cfr_field fields[] = {
    {FIELD(file, STRING), .flags = CFR_FIELD_PATH,
     .doc = "A file in which the consumer writes the number of the generation that it has in use, or that it "
            "touches when it "
            "has taken up what is published. The consumer makes it; its directory is the consumer's, not a "
            "published one."},
    {FIELD(hooks, BOOL), .fallback = "false",
     .doc = "What follows is about the consumers behind the hooks with `acknowledge_header`."},
    {FIELD(wait, BOOL), .fallback = "false",
     .doc = "Keep the previous generation until this consumer has acknowledged the present one, even after "
            "`keep_previous`."},
    {FIELD_AS("limit", limit_ms, DURATION), .fallback = CFR_ACK_LIMIT, .min = CFR_SECOND_MS, .max = 7 * CFR_DAY_MS,
     .doc = "How long after a publish `wait` keeps it at the most."},
    {FIELD_AS("behind_after", behind_after_ms, DURATION), .fallback = CFR_ACK_BEHIND_AFTER, .min = CFR_SECOND_MS,
     .max = 7 * CFR_DAY_MS,
     .doc = "A consumer that has not acknowledged a generation for so long stays behind: it is logged, and "
            "`credfresh_consumer_behind` is 1."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_acknowledge_table = {
    .name = "acknowledgement",
    .size = sizeof(struct cfr_config_acknowledge),
    .fields = fields,
    .check = cfr_config_rules_acknowledge,
    .doc = "How a consumer says that it has a generation in use: by exactly one of `file` and `hooks`.",
};
