/* SPDX-License-Identifier: MIT */
/* Any text as an instant, an HTTP date or a duration: what is taken is in its range, and reads the same once written.
 */
#include "fuzz.h"

#include "base/time.h"

#include <string.h>

#define YEAR_10000_S INT64_C(253402300800)
#define TEN_YEARS_MS (INT64_C(3660) * 86400 * 1000)

static void check_instant(int64_t unix_s)
{
    char text[CFR_TIME_RFC3339_MAX];
    int64_t again = -1;

    CFR_FUZZ_MUST(unix_s >= 0 && unix_s < YEAR_10000_S);
    CFR_FUZZ_MUST(cfr_time_parse(cfr_view_of(cfr_time_format(unix_s, text)), &again) && again == unix_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    char words[CFR_TIME_WORDS_MAX];
    int64_t value = 0;

    if (cfr_time_parse(text, &value))
        check_instant(value);
    if (cfr_time_parse_http(text, &value))
        check_instant(value);
    if (cfr_time_parse_duration(text, &value)) {
        CFR_FUZZ_MUST(value >= 0 && value <= TEN_YEARS_MS);
        CFR_FUZZ_MUST(strlen(cfr_time_words(value, words)) < sizeof words && words[0] != '\0');
    }
    return 0;
}
