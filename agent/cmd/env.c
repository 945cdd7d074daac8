/* SPDX-License-Identifier: MIT */
/* Subcommand env: the variables that point SDKs at a credential, and on standard error those that take precedence. */
#include "agent/cmd/commands_private.h"

#include "agent/config/sdk_environment.h"
#include "agent/loop/env.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What needs no quotes in any reader of env files: systemd, docker, shells. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%[]"

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static const struct cfr_sdk_env_place here = {cfr_env_get, exists};

/* TEXT between single quotes, within which a shell leaves everything but these alone. */
static void add_quoted(struct cfr_str *out, const char *text)
{
    cfr_str_addz(out, "'");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\'')
            cfr_str_addz(out, "'\\''");
        else
            cfr_str_add(out, (struct cfr_view){p, 1});
    }
    cfr_str_addz(out, "'");
}

static bool write_sh(const struct cfr_sdk_env *e, struct cfr_str *out)
{
    struct cfr_str names = {.limit = 65536};
    struct cfr_view rest;
    struct cfr_view name;

    cfr_sdk_env_overriding(e, &here, &names);
    rest = cfr_str_view(&names);
    while (cfr_view_line(&rest, &name))
        cfr_str_addf(out, "unset %.*s\n", (int)name.n, name.p);
    cfr_str_free(&names);
    for (size_t i = 0; i < e->count; i++) {
        cfr_str_addf(out, "export %s=", e->items[i].name);
        if (e->items[i].from_file)
            cfr_str_addz(out, "\"$(cat -- ");
        add_quoted(out, e->items[i].value);
        cfr_str_addz(out, e->items[i].from_file ? ")\"\n" : "\n");
    }
    return true;
}

static bool write_env(const struct cfr_sdk_env *e, struct cfr_str *out)
{
    bool whole = true;

    for (size_t i = 0; i < e->count; i++) {
        const struct cfr_sdk_env_variable *v = &e->items[i];

        if (v->from_file) {
            cfr_cli_complain("%s is left out: it is to be the content of %s, a secret, which is read when the program "
                             "starts: use --format sh",
                             v->name, v->value);
            whole = false;
        } else if (v->value[strspn(v->value, PLAIN)] != '\0') {
            cfr_cli_complain(
                "%s is left out: its value would need quotes, which readers of env files do not read alike: "
                "use --format sh or json",
                v->name);
            whole = false;
        } else {
            cfr_str_addf(out, "%s=%s\n", v->name, v->value);
        }
    }
    return whole;
}

static void write_members(struct cfr_writer *w, const char *key, const struct cfr_sdk_env *e, bool from_file)
{
    cfr_writer_object(w, key);
    for (size_t i = 0; i < e->count; i++) {
        if (e->items[i].from_file == from_file)
            cfr_writer_string(w, e->items[i].name, cfr_view_of(e->items[i].value));
    }
    cfr_writer_close(w);
}

static bool write_json(const struct cfr_sdk_env *e, struct cfr_str *out)
{
    struct cfr_writer w = {.str = out};

    cfr_writer_object(&w, NULL);
    write_members(&w, "variables", e, false);
    write_members(&w, "from_files", e, true);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return true;
}

static const struct {
    const char *name;
    bool (*write)(const struct cfr_sdk_env *e, struct cfr_str *out); /* false if something had to be left out */
    const char *remedy;                                              /* for a variable that takes precedence */
} formats[] = {
    {"sh", write_sh, "the printed commands unset it"},
    {"env", write_env, "unset it"},
    {"json", write_json, "unset it"},
};

/* The index of the format, or -1. */
static int format_of(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (name == NULL || strcmp(formats[i].name, name) == 0)
            return (int)i;
    }
    cfr_cli_complain("unknown format \"%s\": use sh, env or json", name);
    return -1;
}

static void warn(const struct cfr_sdk_env *e, const char *remedy)
{
    struct cfr_str lines = {.limit = 65536};
    struct cfr_view rest;
    struct cfr_view line;

    for (size_t i = 0; i < e->note_count; i++)
        cfr_cli_complain("note: %s", e->notes[i]);
    cfr_sdk_env_hint(e, &lines);
    rest = cfr_str_view(&lines);
    while (cfr_view_line(&rest, &line))
        cfr_cli_complain("hint: %.*s", (int)line.n, line.p);
    cfr_str_free(&lines);
    lines.limit = 65536;
    cfr_sdk_env_warn(e, &here, remedy, &lines);
    rest = cfr_str_view(&lines);
    while (cfr_view_line(&rest, &line))
        cfr_cli_complain("warning: %.*s", (int)line.n, line.p);
    cfr_str_free(&lines);
}

static int print(const struct cfr_sdk_env *e, int format)
{
    struct cfr_str out = {.limit = 1048576};
    bool whole = formats[format].write(e, &out);
    bool good = !out.failed && fwrite(out.p != NULL ? out.p : "", 1, out.len, stdout) == out.len && fflush(stdout) == 0;

    cfr_str_free(&out);
    if (!good)
        cfr_cli_complain("cannot write the variables");
    warn(e, formats[format].remedy);
    return good && whole && e->count != 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

static int load(const struct cfr_cli_options *o, struct cfr_config **out)
{
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_config_load(o->config, cfr_env_get, out, &all, &err);
    if (rc != 0 && all.len != 0)
        cfr_cli_print_mistakes(cfr_str_view(&all));
    else if (rc != 0)
        cfr_cli_complain("%s", err.text);
    cfr_str_free(&all);
    return rc;
}

int cfr_cmd_env(const struct cfr_cli_options *o)
{
    int format = format_of(o->format);
    const struct cfr_config_credential *credential;
    struct cfr_config *config = NULL;
    struct cfr_sdk_env e = {0};
    struct cfr_err err = {0};
    int status = CFR_EXIT_FAILED;

    if (format < 0)
        return CFR_EXIT_USAGE;
    if (load(o, &config) != 0)
        return CFR_EXIT_CONFIG;
    credential = cfr_config_find(config, o->args[0]);
    if (credential == NULL)
        cfr_cli_complain("%s has no credential %s", o->config != NULL ? o->config : "the environment", o->args[0]);
    else if (cfr_config_sdk_environment(config, credential, &e, &err) != 0)
        cfr_cli_complain("credential %s: %s", o->args[0], err.text);
    else
        status = print(&e, format);
    cfr_sdk_env_free(&e);
    cfr_config_free(config);
    return status;
}
