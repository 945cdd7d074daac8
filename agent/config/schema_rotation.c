/* SPDX-License-Identifier: MIT */
/* The table of long-lived keys that are rotated. */
#include "agent/config/schema_private.h"
#include "rotation/providers.h"

#define EXPIRE_AFTER FIELD_AS("expire_after", expire_after_ms, DURATION), .min = CFR_MINUTE_MS, .max = 3650 * CFR_DAY_MS
#define GRACE        FIELD_AS("grace", grace_ms, DURATION), .min = CFR_SECOND_MS, .max = 90 * CFR_DAY_MS
#define GRACE_MOST   FIELD_AS("grace_most", grace_most_ms, DURATION), .min = CFR_SECOND_MS, .max = 90 * CFR_DAY_MS
#define VERIFY_EVERY FIELD_AS("verify_every", verify_every_ms, DURATION), .min = 10 * CFR_SECOND_MS, .max = CFR_DAY_MS

#define AT(member)   offsetof(struct cfr_config_mint_state, member)
static const struct cfr_field state_fields[] = {
    {FIELD(secret, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 253,
     .doc =
         CFR_DOC("The name of the Secret. An operator creates it, without keys; credfresh neither creates nor deletes "
                 "it. Requires the verbs get, list, watch and patch on it.")},
    {FIELD_AS("namespace", namespace_name, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC("Its namespace. Default: that of the kubeconfig's context, or of the pod that credfresh runs in.")},
    {FIELD(kubeconfig, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_KUBECONFIG,
     .doc = CFR_DOC("Kubeconfig for the API server. Default: the pod that credfresh runs in.")},
    {FIELD(context, STRING), .min = 1, .max = 253,
     .doc = CFR_DOC("Context of `kubeconfig`. Default: its current one.")},
    {FIELD_AS("takeover", takeover_ms, DURATION), .fallback = "90s", .min = 6 * CFR_SECOND_MS,
     .max = 10 * CFR_MINUTE_MS,
     .doc = CFR_DOC(
         "How long the agent that has begun a rotation may be silent before another one continues it. It writes at "
         "each third of this time. Its requests to the cloud take at most a third, and at most 30 seconds.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table state_table = {
    .name = "shared rotation",
    .size = sizeof(struct cfr_config_mint_state),
    .fields = state_fields,
    .check = cfr_config_rules_mint_state,
    .doc = CFR_DOC("The Secret in which several agents share one rotation: one of them replaces the "
                   "key, and all of them publish it. See docs/shared-rotation.md."),
};

#define AT(member) offsetof(struct cfr_config_mint, member)
static const struct cfr_field mint_fields[] = {
    {FIELD(provider, ONE_OF), .variant = cfr_rotation_variant},
    {FIELD(with, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = CFR_DOC("The credential of this file that may create and remove such keys. It need not be published.")},
    {FIELD_AS("or", otherwise, STRING), .min = 1, .max = 31,
     .doc = CFR_DOC("What to publish while the cloud refuses `with` the right to create keys and none exists yet: "
                    "`pass_on` for the key of `with`, with its rights. Only for `aws`, if `with` is a mounted Secret "
                    "with `pass_on`. Default: none.")},
    {FIELD(adopt, STRING), .min = 1, .max = 4095,
     .doc = CFR_DOC(
         "A key of another program, taken over instead of creating the first one: `target` for the one that `publish` "
         "names now, or the path of a mounted Secret or a file. Its age is that in the cloud. Default: none.")},
    {EXPIRE_AFTER, .fallback = "720h",
     .doc = CFR_DOC("Age at which a key is replaced, or up to a tenth earlier, so that a fleet does not "
                    "rotate all at once.")},
    {GRACE, .fallback = "10m",
     .doc = CFR_DOC("Shortest time for which the old key continues to work after the new one is "
                    "published.")},
    {GRACE_MOST, .fallback = "24h",
     .doc = CFR_DOC("Longest time for which it continues to work for consumers that have not "
                    "acknowledged (`acknowledge`).")},
    {FIELD_AS("settle", settle_ms, DURATION), .fallback = "5m", .min = CFR_SECOND_MS, .max = CFR_DAY_MS,
     .doc = CFR_DOC("How long to search for a new key if the response to its creation was lost. Lists may omit keys "
                    "that are younger.")},
    {FIELD_AS("inactive", inactive_ms, DURATION), .fallback = "24h", .min = CFR_SECOND_MS, .max = 90 * CFR_DAY_MS,
     .doc = CFR_DOC("How long an old key that was still used in the second half of its grace remains deactivated, and "
                    "can be reactivated, before it is deleted. Also for a published key that was deactivated in the "
                    "cloud and replaced.")},
    {FIELD_AS("verify_wait", verify_wait_ms, DURATION), .flags = CFR_FIELD_UNSET, .min = 0, .max = CFR_HOUR_MS,
     .doc = CFR_DOC("How long to wait with a new key after it was accepted everywhere, several times in "
                    "a row. Default: 60s for `gcp` and 30s for `azure`, where some servers accept new "
                    "keys late; 10s for the others.")},
    {FIELD_AS("verify_timeout", verify_timeout_ms, DURATION), .fallback = "5m", .min = CFR_SECOND_MS, .max = CFR_DAY_MS,
     .doc = CFR_DOC("A new key that is not accepted everywhere within this time after its first try is "
                    "removed, and the old one remains.")},
    {VERIFY_EVERY, .fallback = "1h",
     .doc = CFR_DOC("How often the published key is looked up in the cloud, up to a tenth earlier, so "
                    "that a fleet does not ask all at once. Each lookup is one request with the rights "
                    "of `with`.")},
    {FIELD(verify, BOOL), .fallback = "true",
     .doc = CFR_DOC("Whether a published key that was deleted or deactivated in the cloud, or has "
                    "expired, is replaced at once. credfresh always looks it up at start and each "
                    "`verify_every`, and reports a missing one.")},
    {FIELD(keep_unknown, BOOL), .fallback = "false",
     .doc = CFR_DOC("Whether a key that may be the one whose creation was not answered remains deactivated until "
                    "an operator deletes it, instead of for `inactive`. Only for `aws`; other clouds always keep it.")},
    {FIELD(state, MAP), .table = &state_table,
     .doc = CFR_DOC("Where several agents share the rotation. Default: not shared; its journal is in "
                    "`state_dir`.")},
    {.key = NULL},
};

static const struct cfr_field default_mint_fields[] = {
    {EXPIRE_AFTER, .flags = CFR_FIELD_UNSET, .doc = CFR_DOC("Default: that of `credentials[].mint`.")},
    {GRACE, .flags = CFR_FIELD_UNSET, .doc = CFR_DOC("Default: that of `credentials[].mint`.")},
    {GRACE_MOST, .flags = CFR_FIELD_UNSET, .doc = CFR_DOC("Default: that of `credentials[].mint`.")},
    {VERIFY_EVERY, .flags = CFR_FIELD_UNSET, .doc = CFR_DOC("Default: that of `credentials[].mint`.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_default_mint_table = {
    .name = "default for minted keys",
    .size = sizeof(struct cfr_config_mint),
    .fields = default_mint_fields,
    .check = cfr_config_rules_default_mint,
    .doc = CFR_DOC("Defaults for each `mint` that does not set these keys. Credentials without `mint` "
                   "ignore them."),
};

const struct cfr_table cfr_config_mint_table = {
    .name = "minted key",
    .size = sizeof(struct cfr_config_mint),
    .fields = mint_fields,
    .check = cfr_config_rules_mint,
    .doc = CFR_DOC("A long-lived key that credfresh creates and rotates: the new one is published before the old one "
                   "is removed. See docs/rotation.md. A directory also has `" CFR_ROTATION_FILE
                   "` and, for each file, what it held before under its name with `" CFR_MINT_OLD_SUFFIX
                   "`, until the old key is removed; so has a Secret of the cluster for its keys."),
};
