/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration: parsed, or refused with a reason. */
#include "fuzz.h"

#include "agent/config/config_private.h"
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* What every reader of a configuration counts on. */
static void check_config(const struct cfr_config *config)
{
    CFR_FUZZ_MUST(config->credentials.count + config->image_credentials.count > 0 && config->control_socket != NULL &&
                  config->log != NULL);
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);
        const struct cfr_config_publish *p = c->publish.items;

        CFR_FUZZ_MUST(c->name != NULL && (c->publish.count > 0 || c->served));
        CFR_FUZZ_MUST(c->token == NULL || c->token->file != NULL || c->token->request != NULL);
        CFR_FUZZ_MUST((c->exchange == NULL) == (cfr_config_provider(c, NULL) == NULL));
        for (size_t j = 0; j < c->publish.count; j++)
            CFR_FUZZ_MUST((size_t)(p[j].directory != NULL) + (p[j].file != NULL) +
                              (cfr_config_cluster_object(&p[j]) != NULL) + p[j].kind.count ==
                          1);
    }
}

static int parse(struct cfr_view text, struct cfr_config **out, struct cfr_str *all, struct cfr_err *err)
{
    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cfr_config_parse("f", text, no_env, out, all, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    struct cfr_str all = {.limit = 65536};
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    int rc = parse(text, &config, &all, &err);
    struct cfr_view rest = cfr_str_view(&all);
    struct cfr_view line;

    CFR_FUZZ_MUST(rc == err.code && (rc == 0) == (config != NULL) && (rc == 0) == (all.len == 0));
    /* Whatever came in, each problem is one line of ours. */
    while (cfr_view_line(&rest, &line)) {
        CFR_FUZZ_MUST(cfr_view_starts(line, "f:"));
        for (size_t i = 0; i < line.n; i++)
            CFR_FUZZ_MUST((unsigned char)line.p[i] >= 0x20 && line.p[i] != 0x7f);
    }
    if (config != NULL)
        check_config(config);
    cfr_config_free(config);
    cfr_str_free(&all);
    return 0;
}
