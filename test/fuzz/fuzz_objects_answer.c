/* SPDX-License-Identifier: MIT */
/* Any bytes as the answer of an object store, and as the name of one: an error always has a text, and never holds a
 * control character. */
#include "fuzz.h"

#include "oidc/objects/object_store.h"

#include <stdlib.h>
#include <string.h>

static void check_error(int rc, const struct cfr_err *err)
{
    CFR_FUZZ_MUST(err->code == rc && err->text[0] != '\0' && cfr_view_printable(cfr_view_of(err->text)));
}

static void check_name(const uint8_t *data, size_t size)
{
    struct cfr_objects_store store;
    struct cfr_err err = {0};
    char *text = strndup((const char *)data, size);
    int rc;

    if (text == NULL)
        return;
    rc = cfr_objects_parse(text, &store, &err);
    if (rc != 0)
        check_error(rc, &err);
    else
        CFR_FUZZ_MUST(strncmp(store.base, "http", 4) == 0 && store.base[strlen(store.base) - 1] != '/');
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 201, 301, 400, 403, 404, 503};
    struct cfr_objects_store store = {.kind = CFR_OBJECTS_S3};
    struct cfr_wire_reply reply = {.status = 0};
    struct cfr_err err = {0};
    int rc;

    if (size == 0)
        return 0;
    check_name(data + 1, size - 1);
    store.kind = (enum cfr_objects_kind)(data[0] % 3);
    reply.status = statuses[data[0] / 3 % (sizeof statuses / sizeof statuses[0])];
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = cfr_objects_answer(&store, &(struct cfr_grant){.expires_s = 0}, &reply, &err);
    CFR_FUZZ_MUST((rc == 0) == (reply.status == 200 || reply.status == 201));
    if (rc != 0)
        check_error(rc, &err);
    return 0;
}
