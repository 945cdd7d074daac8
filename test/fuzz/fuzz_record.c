/* SPDX-License-Identifier: MIT */
/* Any bytes as a credential's record: read completely or refused, and written back the same. */
#include "stored.h"
#include "utf8.h"

#include "agent/publish/record.h"
#include "base/json.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same(const struct cfr_publish_record *a, const struct cfr_publish_record *b)
{
    bool good = a->generation == b->generation && a->issued_ms == b->issued_ms && a->expires_ms == b->expires_ms &&
                a->retire_ms == b->retire_ms && a->digest == b->digest && a->token_mark == b->token_mark &&
                a->published_ns == b->published_ns && a->target_count == b->target_count &&
                a->hook_count == b->hook_count && a->delivered_count == b->delivered_count &&
                a->acknowledged_count == b->acknowledged_count && a->reason_count == b->reason_count &&
                same_text(a->identity, b->identity) && same_text(a->pending_reason, b->pending_reason);

    for (size_t i = 0; good && i < a->target_count; i++)
        good = memcmp(&a->targets[i], &b->targets[i], sizeof a->targets[i]) == 0;
    for (size_t i = 0; good && i < a->hook_count; i++)
        good = a->hook_done[i] == b->hook_done[i];
    for (size_t i = 0; good && i < a->acknowledged_count; i++)
        good = a->acknowledged[i] == b->acknowledged[i];
    for (size_t i = 0; good && i < a->reason_count; i++)
        good = same_text(a->reasons[i], b->reasons[i]);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"read.json", "written.json", NULL};
    int folder = stored_folder(names);
    struct cfr_view text = {(const char *)data, size};
    struct cfr_publish_record r;
    struct cfr_slow_write saving = {.next = NULL};
    struct cfr_publish_record again = {0};
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    stored_write(folder, "read.json", text);
    rc = cfr_publish_record_load(folder, "read", &r, &err);
    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && r.identity == NULL && r.reason_count == 0 &&
                      r.generation == 0);
        return 0;
    }
    CFR_FUZZ_MUST(r.reason_count <= CFR_PUBLISH_RECORD_REASONS_MAX && r.target_count <= CFR_CONFIG_TARGETS_MAX &&
                  r.hook_count <= CFR_CONFIG_HOOKS_MAX);
    if (is_utf8(text) && cfr_publish_record_save(&saving, folder, "written", &r, &err) == 0) {
        CFR_FUZZ_MUST(cfr_publish_record_load(folder, "written", &again, &err) == 0 && same(&r, &again));
        cfr_publish_record_free(&again);
    }
    cfr_publish_record_free(&r);
    return 0;
}
