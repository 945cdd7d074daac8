/* SPDX-License-Identifier: MIT */
/* Subcommand completion: prints a shell's script, and the credentials' names for it. */
#include "agent/cmd/commands_private.h"

#include "agent/cli/client.h"
#include "agent/config/config.h"
#include "agent/loop/env.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_LIMIT_MS 500 /* the user is typing */

static bool names_of_agent(struct cfr_cli_options o)
{
    char *socket;
    struct cfr_cli_answer answer = {0};
    struct cfr_err err = {0};
    const struct cfr_json *list;
    bool known = false;

    o.config_given = false; /* no message about a file that cannot be read */
    (void)cfr_cli_find_socket(&o, &socket, &err);
    if (socket != NULL)
        known = cfr_cli_call_within(NAMES_LIMIT_MS, socket, "GET", "/v1/credentials", NULL, &answer, &err) == 0;
    list = cfr_json_get(answer.json, "credentials");
    known = known && answer.status == 200;
    for (size_t i = 0; known && i < cfr_json_count(list); i++) {
        struct cfr_view name;

        /* A name has only such characters; another program at the socket may send any. */
        if (cfr_json_string(cfr_json_get(cfr_json_at(list, i), "name"), &name) && cfr_view_is_text(name))
            (void)printf("%.*s\n", (int)name.n, name.p);
    }
    cfr_cli_answer_free(&answer);
    free(socket);
    return known;
}

static void names_of_file(const struct cfr_cli_options *o)
{
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};

    if (cfr_config_load(o->config, cfr_env_get, &config, NULL, &err) == 0) {
        for (size_t i = 0; i < config->credentials.count; i++)
            (void)puts(cfr_config_at(config, i)->name);
    }
    cfr_config_free(config);
}

static int print_names(const struct cfr_cli_options *o)
{
    cfr_json_setup();
    if (!names_of_agent(*o))
        names_of_file(o);
    return CFR_EXIT_OK;
}

int cfr_cmd_completion(const struct cfr_cli_options *o)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    const char *what = o->args[0];
    int status = CFR_EXIT_USAGE;

    if (strcmp(what, "names") == 0)
        return print_names(o);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(what, shells[i]) == 0)
            status = cfr_cmd_print_page(what);
    }
    if (status == CFR_EXIT_USAGE)
        cfr_cli_complain("unknown shell \"%s\": use bash, zsh, fish or names", what);
    return status;
}
