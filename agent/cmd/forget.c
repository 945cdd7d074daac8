/* SPDX-License-Identifier: MIT */
/* Subcommand forget: keys of credentials that left the configuration; lists them, or drops what is known of them. */
#include "agent/cmd/commands_private.h"

#include "agent/loop/env.h"
#include "agent/rotation/leftover.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct listing {
    const char *only; /* NULL = all */
    bool found;
};

static void print_one(void *ctx, const char *name, const struct cfr_rotation_journal *j, const struct cfr_err *err)
{
    struct listing *l = ctx;
    struct cfr_str keys = {.limit = CFR_ROTATOR_LEFTOVER_MAX};

    if (l->only != NULL && strcmp(l->only, name) != 0)
        return;
    l->found = true;
    if (j != NULL)
        cfr_rotator_leftover_keys(j, &keys);
    if (j != NULL)
        (void)printf("%s: %s: %s\n", name, j->subject, keys.p != NULL ? keys.p : "");
    else
        (void)printf("%s: its journal cannot be read: %s\n", name, err->text);
    cfr_str_free(&keys);
}

static int forget_one(int fd, const struct cfr_config *config, const char *name)
{
    const struct cfr_config_credential *c = cfr_config_find(config, name);
    struct listing l = {.only = name};
    struct cfr_err err = {0};

    if (c != NULL && c->mint != NULL) {
        cfr_cli_complain("%s is in the configuration: remove it there first", name);
        return CFR_EXIT_REFUSED;
    }
    if (cfr_rotator_each_leftover(fd, config, print_one, &l, &err) != 0 ||
        cfr_rotator_forget_leftover(fd, name, &err) != 0) {
        cfr_cli_complain("%s", err.text);
        return err.code == CFR_E_MISSING ? CFR_EXIT_REFUSED : CFR_EXIT_FAILED;
    }
    (void)printf("%s: forgotten\n", name);
    return CFR_EXIT_OK;
}

int cfr_cmd_forget(const struct cfr_cli_options *o)
{
    struct cfr_config *config = NULL;
    struct listing all = {.only = NULL};
    struct cfr_err err = {0};
    int status = CFR_EXIT_OK;
    int fd;

    cfr_json_setup();
    if (cfr_config_load(o->config, cfr_env_get, &config, NULL, &err) != 0) {
        cfr_cli_complain("%s", err.text);
        cfr_config_free(config);
        return CFR_EXIT_CONFIG;
    }
    fd = open(config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        cfr_cli_complain("cannot open %s: %s", config->state_dir, strerror(errno));
        cfr_config_free(config);
        return CFR_EXIT_FAILED;
    }
    if (o->arg_count == 0 && cfr_rotator_each_leftover(fd, config, print_one, &all, &err) != 0) {
        cfr_cli_complain("%s", err.text);
        status = CFR_EXIT_FAILED;
    }
    for (int i = 0; i < o->arg_count; i++) {
        int one = forget_one(fd, config, o->args[i]);

        status = one != CFR_EXIT_OK ? one : status;
    }
    (void)close(fd);
    cfr_config_free(config);
    return status;
}
