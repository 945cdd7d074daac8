/* SPDX-License-Identifier: MIT */
/* Any answer of an agent, read for a plugin; what can be read can be printed, and is the JSON that its reader expects.
 */
#include "fuzz.h"

#include "base/json.h"
#include "serve/sdk/plugin_output.h"

static void print_gcp(const struct cfr_grant *g)
{
    const struct cfr_grant_field *f;
    struct cfr_secret out;
    struct cfr_json *doc = NULL;
    int64_t early_s = cfr_sdk_plugin_early(g->expires_s, 1000);

    CFR_FUZZ_MUST(g->expires_s == 0 || early_s <= g->expires_s);
    if (cfr_sdk_plugin_field(g, CFR_SDK_PLUGIN_SUBJECT, NULL, &f, NULL) != 0)
        return;
    cfr_secret_init(&out, CFR_SDK_PLUGIN_ANSWER_MAX);
    if (cfr_sdk_plugin_gcp(cfr_secret_view(&f->value), NULL, early_s, &out, NULL) == 0)
        CFR_FUZZ_MUST(cfr_json_parse(cfr_secret_view(&out), &doc, NULL) == 0);
    cfr_json_free(doc);
    cfr_secret_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_grant g = {0};
    struct cfr_err err = {0};

    cfr_json_setup();
    if (cfr_sdk_plugin_read((struct cfr_view){(const char *)data, size}, &g, &err) == 0) {
        CFR_FUZZ_MUST(g.field_count <= CFR_GRANT_FIELDS_MAX && g.expires_s >= 0);
        print_gcp(&g);
    } else {
        CFR_FUZZ_MUST(err.code != 0 && err.text[0] != '\0');
    }
    cfr_grant_free(&g);
    return 0;
}
