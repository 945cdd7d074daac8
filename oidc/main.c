/* SPDX-License-Identifier: MIT */
/* The program credfresh-oidc: the key and the documents of a service-account issuer. */
#include "oidc/oidc_private.h"

#include "agent/hook/hook.h"
#include "agent/http/client.h"
#include "agent/loop/process.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "base/json.h"
#include "oidc/oidc.h"

#include <stdio.h>
#include <string.h>

static int print_version(const struct cfr_oidc_options *o)
{
    (void)o;
    (void)puts("credfresh-oidc " CFR_VERSION);
    return fflush(stdout) == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

static int help(const struct cfr_oidc_options *o)
{
    const struct cfr_cli_command *one = o->cli.arg_count != 0 ? cfr_cli_find(o->cli.args[0]) : NULL;

    if (o->cli.arg_count != 0 && one == NULL) {
        cfr_cli_unknown_command(o->cli.args[0]);
        return CFR_EXIT_USAGE;
    }
    if (one != NULL)
        cfr_cli_print_usage(one, NULL, true, stdout);
    else
        cfr_cli_print_commands(stdout);
    return CFR_EXIT_OK;
}

static const struct {
    const char *name; /* of cfr_oidc_program */
    int (*run)(const struct cfr_oidc_options *o);
} runners[] = {
    {"init", cfr_oidc_init},       {"rotate", cfr_oidc_rotate},
    {"publish", cfr_oidc_publish}, {"manifests", cfr_oidc_manifests},
    {"status", cfr_oidc_status},   {"verify", cfr_oidc_verify},
    {"version", print_version},    {"help", help},
};

static int run(const struct cfr_cli_command *c, int argc, char **argv)
{
    struct cfr_oidc_options o = {.directory = NULL};
    size_t i = 0;

    if (!cfr_cli_parse(c, argc, argv, &o.cli)) {
        cfr_cli_print_usage(c, NULL, false, stderr);
        return CFR_EXIT_USAGE;
    }
    if (o.cli.help) {
        cfr_cli_print_usage(c, NULL, true, stdout);
        return CFR_EXIT_OK;
    }
    while (strcmp(runners[i].name, c->name) != 0)
        i++;
    return runners[i].run(&o);
}

int main(int argc, char **argv)
{
    const struct cfr_cli_command *c;

    cfr_cli_program = &cfr_oidc_program;
    cfr_process_fill_standard_fds();
    cfr_process_harden();
    /* The configuration that `publish` reads may have all of them. */
    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    cfr_json_setup();
    (void)cfr_http_crypto_wipe();
    c = argc > 1 ? cfr_cli_find(argv[1]) : NULL;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        c = cfr_cli_find("help");
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
        c = cfr_cli_find("version");
    if (c != NULL)
        return run(c, argc - 1, argv + 1);
    if (argc > 1)
        cfr_cli_unknown_command(argv[1]);
    else
        cfr_cli_print_commands(stderr);
    return CFR_EXIT_USAGE;
}
