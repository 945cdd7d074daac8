/* SPDX-License-Identifier: MIT */
/* What a consumer, who need not be trusted, leaves in its file: the first byte chooses when and how it was
 * touched, the rest is the text. It never acknowledges what is not published. */
#include "fuzz.h"

#include "agent/hook/hook_private.h"

#define PUBLISHED_NS INT64_C(1767323045000000000)
#define SECOND_NS    INT64_C(1000000000)
#define CURRENT      42

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t touched_s[] = {-86400, -1, 0, 1, 60, 3600, 90000, INT64_C(7000000000)};
    struct cfr_hook_ack ack = {.consumers = {{.limit_ms = 1000, .behind_after_ms = 1000}}, .count = 1};
    struct cfr_hook_ack_file file = {.mtime_ns = 0};
    uint64_t number = 0;
    uint64_t has;
    bool again = false;

    if (size == 0)
        return 0;
    file.text = (struct cfr_view){(const char *)data + 1, size - 1};
    file.whole = (data[0] & 8) != 0;
    file.mtime_ns = PUBLISHED_NS + touched_s[data[0] & 7] * SECOND_NS;
    has = cfr_hook_ack_read(&file, CURRENT, PUBLISHED_NS, PUBLISHED_NS + 7200 * SECOND_NS, &again);
    CFR_FUZZ_MUST(has <= CURRENT && (!again || has == 0));
    if (cfr_hook_ack_number(file.text, &number))
        CFR_FUZZ_MUST(number != 0 && has == (number <= CURRENT ? number : 0));
    cfr_hook_ack_published(&ack, CURRENT, 0);
    CFR_FUZZ_MUST(cfr_hook_ack_said(&ack, 0, number, 1) == (number != 0 && number <= CURRENT));
    CFR_FUZZ_MUST(cfr_hook_ack_is_current(&ack, 0) == (number == CURRENT));
    return 0;
}
