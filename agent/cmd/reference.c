/* SPDX-License-Identifier: MIT */
/* reference: the configuration's keys, from the tables that the parser uses. */
#include "agent/cmd/commands_private.h"

#include "agent/config/config.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define PAGE_MAX 1048576

int cfr_cmd_reference(const struct cfr_cli_options *o)
{
    bool man = o->format != NULL && strcmp(o->format, "man") == 0;
    struct cfr_str page = {.limit = PAGE_MAX};
    int status;

    if (o->format != NULL && !man && strcmp(o->format, "markdown") != 0) {
        cfr_cli_complain("--format %s: write markdown or man", o->format);
        return CFR_EXIT_USAGE;
    }
    if (man)
        cfr_config_manual(&page);
    else
        cfr_config_reference(&page);
    status = page.failed || fwrite(page.p, 1, page.len, stdout) != page.len ? CFR_EXIT_FAILED : CFR_EXIT_OK;
    cfr_str_free(&page);
    return status;
}
