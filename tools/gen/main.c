/* SPDX-License-Identifier: MIT */
/* credfresh-gen: prints a file that is made from the program's own tables. A tool of the build, never installed. */
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "tools/gen/completion_private.h"
#include "tools/gen/reference_private.h"

#include <stdio.h>
#include <string.h>

#define PAGE_MAX 1048576

/* The names of the pages of the reference. */
static void list_pages(struct cfr_str *out)
{
    for (size_t i = 0; cfr_gen_reference_page(i) != NULL; i++)
        cfr_str_addf(out, "%s\n", cfr_gen_reference_page(i));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(struct cfr_str *out);
    } files[] = {{"pages", list_pages}, {"man", cfr_gen_reference_man}};
    static const struct {
        const char *name;
        bool oidc;
        void (*write)(struct cfr_str *out);
    } scripts[] = {{"bash", false, cfr_gen_completion_bash},   {"zsh", false, cfr_gen_completion_zsh},
                   {"fish", false, cfr_gen_completion_fish},   {"oidc-bash", true, cfr_gen_completion_bash},
                   {"oidc-zsh", true, cfr_gen_completion_zsh}, {"oidc-fish", true, cfr_gen_completion_fish}};
    struct cfr_str page = {.limit = PAGE_MAX};
    bool good;

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    for (size_t i = 0; argc == 2 && i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(argv[1], files[i].name) == 0)
            files[i].write(&page);
    }
    for (size_t i = 0; argc == 2 && i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(argv[1], scripts[i].name) == 0)
            cfr_gen_completion_write(&page, scripts[i].oidc, scripts[i].write);
    }
    for (size_t i = 0; argc == 2 && cfr_gen_reference_page(i) != NULL; i++) {
        if (strcmp(argv[1], cfr_gen_reference_page(i)) == 0)
            cfr_gen_reference_markdown(&page, i);
    }
    if (page.len == 0) {
        (void)fputs("usage: credfresh-gen pages|PAGE|man|[oidc-]bash|[oidc-]zsh|[oidc-]fish\n", stderr);
        return 2;
    }
    good = !page.failed && fwrite(page.p, 1, page.len, stdout) == page.len && fflush(stdout) == 0;
    cfr_str_free(&page);
    return good ? 0 : 1;
}
