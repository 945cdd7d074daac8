/* SPDX-License-Identifier: MIT */
/* An AWS shared credentials file whose keys an exchange begins with: what comes out is fit for a request, and
 * an error text has nothing of it. */
#include "fuzz.h"

#include "sts/aws/keys_private.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_aws config = {.credentials_file = (char[]){"/k"}, .role_arn = (char[]){"r"}};
    const struct cfr_sts_content content = {"credentials_file", {(const char *)data, size}};
    struct cfr_sts_input in = {.contents = &content, .content_count = 1};
    struct cfr_wire_aws_keys keys;
    struct cfr_err err = {0};
    int rc = cfr_aws_keys_read(&config, &in, &keys, &err);

    if (rc != 0) {
        CFR_FUZZ_MUST(rc == CFR_E_CONFIG && strncmp(err.text, "credentials_file: ", 18) == 0);
        return 0;
    }
    CFR_FUZZ_MUST(keys.id.n >= 3 && keys.secret.n != 0);
    CFR_FUZZ_MUST(cfr_view_printable(keys.secret) && memchr(keys.secret.p, ' ', keys.secret.n) == NULL);
    CFR_FUZZ_MUST(cfr_view_printable(keys.session_token));
    CFR_FUZZ_MUST(keys.id.p >= (const char *)data && keys.id.p + keys.id.n <= (const char *)data + size);
    return 0;
}
