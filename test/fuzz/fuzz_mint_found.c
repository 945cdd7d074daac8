/* SPDX-License-Identifier: MIT */
/* What a file or a Secret of another program holds, for an adoption: the first byte chooses the file's name, the rest
 * is its content. What is recognized as a key of AWS is a proper one, and no error repeats what was read. */
#include "fuzz.h"

#include "rotation/aws_private.h"
#include "rotation/found.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"credentials", "aws_access_key_id",   "minted",          "service_account.json",
                                        "clouds.yaml", "azure_client_secret", "credentials.old", "x"};
    char *regions[] = {(char[]){"us-east-1"}};
    struct cfr_rotation_aws config = {.user_name = (char[]){"robot"}, .regions = {regions, 1}};
    struct cfr_rotation_ask ask = {.now_s = 1767323045};
    struct cfr_rotation_found found = {.since_s = 0};
    struct cfr_rotation_answer answer = {.used_s = 0};
    struct cfr_grant fields = {0};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    CFR_FUZZ_MUST(cfr_grant_set(&found.values, names[data[0] & 7], (struct cfr_view){(const char *)data + 1, size - 1},
                                &err) == 0 ||
                  size > CFR_GRANT_VALUE_MAX);
    rc = cfr_rotation_found_fields(&found, &fields, &err);
    if (rc == 0)
        rc = cfr_rotation_aws_provider.recognize(&config, &ask, &fields, &answer, &err);
    if (rc != 0)
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && cfr_view_is_text(cfr_view_of(err.text)));
    else
        CFR_FUZZ_MUST(strlen(answer.made.id) >= 16 &&
                      cfr_grant_get(&answer.grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY).n != 0);
    cfr_rotation_answer_free(&answer);
    cfr_grant_free(&fields);
    cfr_grant_free(&found.values);
    return 0;
}
