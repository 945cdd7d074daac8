/* SPDX-License-Identifier: MIT */
/* Any bytes as another program's AWS credentials file into which a profile is merged: what is not the profile's
 * stays as it is, merging again changes nothing, and what was there but cannot be told apart is refused. */
#include "fuzz.h"

#include "files/profile_private.h"

#include <string.h>

#define BODY "aws_access_key_id = NEW\naws_secret_access_key = new/secret\n"

/* How many bytes at the beginning (BACK: at the end) both have. */
static size_t shared(struct cfr_view a, struct cfr_view b, bool back)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[back ? a.n - 1 - n : n] == b.p[back ? b.n - 1 - n : n])
        n++;
    return n;
}

/* What is gone from OLD stood in one piece, within one section. */
static void check_rest(struct cfr_view old, struct cfr_view new)
{
    size_t head = shared(old, new, false);
    size_t tail =
        shared((struct cfr_view){old.p + head, old.n - head}, (struct cfr_view){new.p + head, new.n - head}, true);
    struct cfr_view gone = {old.p + head, old.n - head - tail};
    struct cfr_view line;

    CFR_FUZZ_MUST(cfr_view_find(new, BODY) >= 0 && new.n <= old.n + sizeof BODY + 64);
    (void)cfr_view_line(&gone, &line);
    while (cfr_view_line(&gone, &line))
        CFR_FUZZ_MUST(line.n == 0 || line.p[0] != '[');
}

static void merge(struct cfr_view old, const char *section)
{
    static const struct cfr_view body = {BODY, sizeof BODY - 1};
    struct cfr_secret new;
    struct cfr_secret again;
    struct cfr_err err = {0};
    int rc;

    cfr_secret_init(&new, CFR_PROFILE_FILE_MAX);
    cfr_secret_init(&again, CFR_PROFILE_FILE_MAX);
    rc = cfr_profile_merge(old, section, body, &new, &err);
    if (rc == 0) {
        check_rest(old, cfr_secret_view(&new));
        CFR_FUZZ_MUST(cfr_profile_merge(cfr_secret_view(&new), section, body, &again, &err) == 0);
        CFR_FUZZ_MUST(cfr_view_eq(cfr_secret_view(&new), cfr_secret_view(&again)));
    } else {
        CFR_FUZZ_MUST(rc == CFR_E_CONFLICT && cfr_view_starts(cfr_view_of(err.text), "line ") &&
                      cfr_view_is_text(cfr_view_of(err.text)));
    }
    cfr_secret_free(&new);
    cfr_secret_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view old = {(const char *)data, size};

    merge(old, "default");
    merge(old, "profile b");
    return 0;
}
