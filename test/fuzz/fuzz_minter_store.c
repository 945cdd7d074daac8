/* SPDX-License-Identifier: MIT */
/* Any bytes as a pending key: an accepted one is written back the same, and a refused one can be removed. */
#include "stored.h"
#include "utf8.h"

#include "agent/rotation/rotator_private.h"
#include "base/json.h"
#include "base/log.h"
#include "rotation/gcp_private.h"

#include <string.h>

#define PENDING "registry+mint.pending"

static const struct cfr_rotation_gcp gcp = {.service_account = (char[]){"robot@demo-project.iam.gserviceaccount.com"}};

static void check_same(const struct cfr_rotator_pending *a, const struct cfr_rotator_pending *b)
{
    CFR_FUZZ_MUST(b->held && b->stored && strcmp(a->name, b->name) == 0 && strcmp(a->key.id, b->key.id) == 0);
    CFR_FUZZ_MUST(a->key.created_s == b->key.created_s && a->grant.field_count == b->grant.field_count);
    for (size_t i = 0; i < a->grant.field_count; i++)
        CFR_FUZZ_MUST(
            cfr_view_eq(cfr_secret_view(&a->grant.fields[i].value), cfr_grant_get(&b->grant, a->grant.fields[i].name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {PENDING, NULL};
    struct cfr_config_credential config = {.name = (char[]){"registry"}};
    struct cfr_rotator m = {.context = {.state_fd = stored_folder(names)},
                            .config = &config,
                            .provider = &cfr_rotation_gcp_provider,
                            .provider_config = &gcp};
    struct cfr_rotator again = m;
    struct cfr_view text = {(const char *)data, size};
    struct cfr_err err = {0};

    cfr_json_setup();
    cfr_log_setup(CFR_LOG_ERROR, CFR_LOG_TEXT, false);
    stored_write(m.context.state_fd, PENDING, text);
    CFR_FUZZ_MUST(cfr_rotator_file_store.load(&m, &err) == 0 && m.pending.stored);
    if (m.pending.held && is_utf8(text)) {
        CFR_FUZZ_MUST(cfr_rotator_file_store.save_pending(&m, &err) == 0 &&
                      cfr_rotator_file_store.load(&again, &err) == 0);
        check_same(&m.pending, &again.pending);
        cfr_rotator_free_pending(&again.pending);
    }
    CFR_FUZZ_MUST(cfr_rotator_file_store.drop_pending(&m, &err) == 0 && m.pending.grant.field_count == 0);
    return 0;
}
