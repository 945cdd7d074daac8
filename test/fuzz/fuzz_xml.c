/* SPDX-License-Identifier: MIT */
/* Any bytes as XML. */
#include "fuzz.h"

#include "base/xml.h"

#include <string.h>

static int leaf(void *context, const char *path, struct cfr_view text, struct cfr_err *err)
{
    size_t *count = context;

    (void)err;
    CFR_FUZZ_MUST(path[0] == '/' && strlen(path) < 1024);
    CFR_FUZZ_MUST(text.n <= CFR_XML_TEXT_MAX);
    ++*count;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_err err = {0};
    size_t leaves = 0;
    int rc = cfr_xml_read((struct cfr_view){(const char *)data, size}, leaf, &leaves, &err);

    CFR_FUZZ_MUST(rc == 0 ? leaves > 0 : err.code == rc && err.text[0] != '\0');
    return 0;
}
