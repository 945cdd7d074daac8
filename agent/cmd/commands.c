/* SPDX-License-Identifier: MIT */
/* Table of the subcommands and their functions; run, once and help. */
#include "agent/cmd/commands_private.h"

#include "agent/daemon/daemon.h"
#include "agent/doctor/doctor.h"
#include "agent/hook/hook.h"
#include "agent/loop/process.h"
#include "agent/publish/targets.h"
#include "agent/rotation/rotated_key.h"
#include "agent/source/source.h"

#include <stdio.h>
#include <string.h>

/* A program whose name begins so is that command alone. */
#define IMAGE_PROVIDER "credfresh-image-credential-provider"

static const struct {
    const char *name; /* of cfr_cli_credfresh */
    int (*run)(const struct cfr_cli_options *o);
} runners[] = {
    {"run", cfr_cmd_run},
    {"once", cfr_cmd_once},
    {"init", cfr_cmd_init},
    {"check", cfr_doctor_run_selection},
    {"doctor", cfr_doctor_run},
    {"status", cfr_cmd_status},
    {"rotate", cfr_cmd_rotate},
    {"forget", cfr_cmd_forget},
    {"wait", cfr_cmd_wait},
    {"reload", cfr_cmd_reload},
    {"image-credential-provider", cfr_cmd_image},
    {"exec", cfr_cmd_exec},
    {"quit", cfr_cmd_quit},
    {"get", cfr_cmd_get},
    {"env", cfr_cmd_env},
    {"inspect", cfr_cmd_inspect},
    {"reference", cfr_cmd_reference},
    {"completion", cfr_cmd_completion},
    {"version", cfr_cmd_version},
    {"help", cfr_cmd_help},
};

static int (*runner_of(const struct cfr_cli_command *c))(const struct cfr_cli_options *)
{
    size_t i = 0;

    while (strcmp(runners[i].name, c->name) != 0)
        i++;
    return runners[i].run;
}

/* Reports that NAME is not a command, or where a former one is now. */
static int refuse_command(const char *name)
{
    if (strcmp(name, "oidc") == 0)
        cfr_cli_complain("oidc is a separate program now: run `credfresh-oidc` with the same arguments; "
                         "`credfresh-oidc help` lists them");
    else
        cfr_cli_unknown_command(name);
    return CFR_EXIT_USAGE;
}

int cfr_cmd_help(const struct cfr_cli_options *o)
{
    const struct cfr_cli_command *one = o->arg_count != 0 ? cfr_cli_find(o->args[0]) : NULL;
    const struct cfr_cli_verb *verb = one != NULL && o->arg_count == 2 ? cfr_cli_find_verb(one, o->args[1]) : NULL;

    if (o->arg_count != 0 && one == NULL)
        return refuse_command(o->args[0]);
    if (o->arg_count == 2 && verb == NULL) {
        cfr_cli_complain("%s has no page for \"%s\": `credfresh help %s`", one->name, o->args[1], one->name);
        return CFR_EXIT_USAGE;
    }
    if (one != NULL)
        cfr_cli_print_usage(one, verb, true, stdout);
    else
        cfr_cli_print_commands(stdout);
    return CFR_EXIT_OK;
}

/* -1 if TEXT is none of NAMES. */
static int find_name(const char *const *names, const char *text)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], text) == 0)
            return i;
    }
    return -1;
}

bool cfr_cmd_log_options(const struct cfr_cli_options *o, struct cfr_daemon_options *out)
{
    static enum cfr_log_level level;
    static enum cfr_log_format format;
    int at = o->quiet ? CFR_LOG_ERROR : o->log_level != NULL ? find_name(cfr_log_levels, o->log_level) : CFR_LOG_INFO;

    if (at < 0) {
        cfr_cli_complain("unknown log level \"%s\": use error, warn, info or debug (--log-level, CREDFRESH_LOG_LEVEL)",
                         o->log_level);
        return false;
    }
    level = (enum cfr_log_level)at;
    out->log_level = o->quiet || o->log_level != NULL ? &level : NULL;
    at = o->log_format != NULL ? find_name(cfr_log_formats, o->log_format) : CFR_LOG_TEXT;
    if (at < 0) {
        cfr_cli_complain("unknown log format \"%s\": use text or json (--log-format, CREDFRESH_LOG_FORMAT)",
                         o->log_format);
        return false;
    }
    format = (enum cfr_log_format)at;
    out->log_format = o->log_format != NULL ? &format : NULL;
    return true;
}

int cfr_cmd_run(const struct cfr_cli_options *o)
{
    struct cfr_daemon_options options = {.config_path = o->config};

    return cfr_cmd_log_options(o, &options) ? cfr_daemon_run(&options) : CFR_EXIT_USAGE;
}

int cfr_cmd_once(const struct cfr_cli_options *o)
{
    struct cfr_daemon_options options = {
        .config_path = o->config,
        .once = true,
        .timeout_ms = o->timeout_ms >= 0 ? o->timeout_ms : 60000,
    };

    return cfr_cmd_log_options(o, &options) ? cfr_daemon_run(&options) : CFR_EXIT_USAGE;
}

/* The kubelet names a provider by its file, and may pass no argument. */
static bool is_image_provider(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : path;

    return name != NULL && strncmp(name, IMAGE_PROVIDER, sizeof IMAGE_PROVIDER - 1) == 0;
}

static int run(const struct cfr_cli_command *c, int argc, char **argv)
{
    struct cfr_cli_options o;

    if (!cfr_cli_parse(c, argc, argv, &o)) {
        cfr_cli_print_usage(c, NULL, false, stderr);
        return CFR_EXIT_USAGE;
    }
    if (o.help) {
        cfr_cli_print_usage(c, o.arg_count != 0 ? cfr_cli_find_verb(c, o.args[0]) : NULL, true, stdout);
        return CFR_EXIT_OK;
    }
    return runner_of(c)(&o);
}

int cfr_cmd_main(int argc, char **argv)
{
    const struct cfr_cli_command *c = argc > 1 ? cfr_cli_find(argv[1]) : NULL;

    cfr_process_fill_standard_fds();
    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    cfr_source_add(&cfr_rotator_source);
    /* The command that exec runs keeps its own limits; the agent next to it sets these for itself. */
    if (c == NULL || runner_of(c) != cfr_cmd_exec)
        cfr_process_harden();
    if (is_image_provider(argv[0]))
        return run(cfr_cli_find("image-credential-provider"), argc, argv);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        c = cfr_cli_find("help");
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
        c = cfr_cli_find("version");
    if (c == NULL) {
        if (argc > 1)
            return refuse_command(argv[1]);
        cfr_cli_print_commands(stderr);
        return CFR_EXIT_USAGE;
    }
    return run(c, argc - 1, argv + 1);
}
