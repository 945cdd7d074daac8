/* SPDX-License-Identifier: MIT */
/* Checked-in pages and completion scripts, embedded by the build. */
#include "agent/cmd/pages_private.h"

#include "agent/cli/command.h"

#include <stdio.h>
#include <string.h>

static const unsigned char markdown[] = {
#include "configuration.md.inc"
};
static const unsigned char man[] = {
#include "credfresh.yaml.5.inc"
};
static const unsigned char bash[] = {
#include "credfresh.bash.inc"
};
static const unsigned char zsh[] = {
#include "_credfresh.inc"
};
static const unsigned char fish[] = {
#include "credfresh.fish.inc"
};

static const struct {
    const char *name;
    const unsigned char *text;
    size_t n;
} pages[] = {
    {"markdown", markdown, sizeof markdown},
    {"man", man, sizeof man},
    {"bash", bash, sizeof bash},
    {"zsh", zsh, sizeof zsh},
    {"fish", fish, sizeof fish},
};

bool cfr_cmd_print_page(const char *name, int *status)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(name, pages[i].name) != 0)
            continue;
        *status = fwrite(pages[i].text, 1, pages[i].n, stdout) == pages[i].n && fflush(stdout) == 0 ? CFR_EXIT_OK
                                                                                                    : CFR_EXIT_FAILED;
        return true;
    }
    return false;
}
