/* SPDX-License-Identifier: MIT */
/* Subcommand reference: prints the configuration reference. */
#include "agent/cmd/commands_private.h"

#include "agent/cmd/pages_private.h"

#include <string.h>

int cfr_cmd_reference(const struct cfr_cli_options *o)
{
    const char *format = o->format != NULL ? o->format : "markdown";

    if (strcmp(format, "markdown") == 0 || strcmp(format, "man") == 0)
        return cfr_cmd_print_page(format);
    cfr_cli_complain("unknown format \"%s\": use markdown or man", format);
    return CFR_EXIT_USAGE;
}
