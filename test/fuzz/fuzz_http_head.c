/* SPDX-License-Identifier: MIT */
/* Any bytes as the head of an answer, line by line: its values are printable, and no server makes the
 * agent wait for longer than a day. */
#include "fuzz.h"

#include "agent/http/header_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_http_head head = {.has_retry = false};
    struct cfr_view rest = {(const char *)data, size};
    struct cfr_view line;
    int64_t wait_s;

    while (cfr_view_line(&rest, &line)) {
        if (cfr_http_head_line(&head, line, NULL) != 0)
            CFR_FUZZ_MUST(head.bytes > CFR_HTTP_HEAD_MAX);
    }
    wait_s = cfr_http_head_retry_after_s(&head, 1767323045);
    CFR_FUZZ_MUST(head.has_retry ? wait_s >= 0 && wait_s <= CFR_HTTP_RETRY_MAX_S : wait_s == -1);
    CFR_FUZZ_MUST(cfr_view_printable(cfr_view_of(head.content_type)) &&
                  cfr_view_printable(cfr_view_of(head.request_id)) && head.date_s >= 0);
    return 0;
}
