/* SPDX-License-Identifier: MIT */
/* Answers of IAM: the first byte chooses operation and status, the rest is the body. No answer may make an
 * error text of a secret, or a key of something that cannot be one. */
#include "fuzz.h"

#include "rotation/aws_private.h"

#include <string.h>

#define SECRET "c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 200, 400, 403, 404, 409, 500, 302};
    char *regions[] = {(char[]){"us-east-1"}};
    struct cfr_rotation_aws config = {.user_name = (char[]){"robot"}, .regions = {regions, 1}};
    struct cfr_grant keys = {0};
    struct cfr_rotation_ask ask = {.id = "AKIAEXAMPLE000000000", .admin = &keys, .fresh = &keys};
    struct cfr_rotation_answer answer = {.used_s = 0};
    struct cfr_wire_reply reply = {.status = 200};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    CFR_FUZZ_MUST(cfr_grant_set(&keys, CFR_FIELD_AWS_SECRET_ACCESS_KEY, cfr_view_of(SECRET), NULL) == 0);
    reply.status = statuses[data[0] & 7];
    ask.op = (enum cfr_rotation_op)((data[0] >> 3) % (CFR_ROTATION_RIGHTS + 1));
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = cfr_rotation_aws_provider.parse(&config, &ask, &reply, &answer, &err);
    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && cfr_view_is_text(cfr_view_of(err.text)));
        CFR_FUZZ_MUST(strstr(err.text, "c2VjcmV0LWtl") == NULL);
    }
    if (rc == 0 && ask.op == CFR_ROTATION_CREATE)
        CFR_FUZZ_MUST(strlen(answer.made.id) >= 16 &&
                      cfr_grant_get(&answer.grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY).n != 0);
    for (size_t i = 0; rc == 0 && i < answer.keys.count; i++)
        CFR_FUZZ_MUST(strlen(answer.keys.key[i].id) >= 16);
    cfr_rotation_answer_free(&answer);
    cfr_grant_free(&keys);
    return 0;
}
