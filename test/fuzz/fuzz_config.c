/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration: read or refused with a reason, never worse. */
#include "agent/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void check(int ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    struct cfr_str all = {.limit = 65536};
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    int rc = cfr_config_parse("f", text, no_env, &config, &all, &err);
    struct cfr_view rest = cfr_str_view(&all);
    struct cfr_view line;

    check(rc == err.code);
    check((rc == 0) == (config != NULL));
    check((rc == 0) == (all.len == 0));
    /* Whatever came in, each problem is one printable line. */
    while (cfr_view_line(&rest, &line))
        check(cfr_view_printable(line) && cfr_view_starts(line, "f:"));
    if (config != NULL) {
        check(config->credentials.count > 0 && config->control_socket != NULL && config->log != NULL);
        for (size_t i = 0; i < config->credentials.count; i++) {
            const struct cfr_config_credential *c = cfr_config_at(config, i);

            check(c->name != NULL && c->token != NULL && c->token->file != NULL && c->publish.count > 0);
        }
    }
    cfr_config_free(config);
    cfr_str_free(&all);
    return 0;
}
