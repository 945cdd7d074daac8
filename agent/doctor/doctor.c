/* SPDX-License-Identifier: MIT */
/* Table of the checks, and the two commands that run them: `credfresh doctor` and `credfresh check`. */
#include "agent/doctor/doctor.h"

#include "agent/config/from_environment.h"
#include "agent/doctor/doctor_private.h"
#include "agent/http/client.h"
#include "agent/loop/env.h"
#include "base/json.h"
#include "files/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define YAML_MAX 1048576

/* In the order in which they run. */
static const struct cfr_doctor_check checks[] = {
    {"process", CFR_DOCTOR_ONCE, CFR_DOCTOR_SELECTED, cfr_doctor_find_agent},
    {"machine.user", CFR_DOCTOR_ONCE, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_user},
    {"machine.state-dir", CFR_DOCTOR_ONCE, CFR_DOCTOR_SELECTED_WITH_NOTES, cfr_doctor_state},
    {"places", CFR_DOCTOR_ONCE, CFR_DOCTOR_SELECTED_WITH_NOTES, cfr_doctor_places},
    {"machine.config", CFR_DOCTOR_ONCE, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_config_places},
    {"machine.proxy", CFR_DOCTOR_ONCE, CFR_DOCTOR_SELECTED, cfr_doctor_proxy},
    {"machine", CFR_DOCTOR_ONCE, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_machine},
    {"agent", CFR_DOCTOR_ONCE, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_agent},
    {"config.defaults", CFR_DOCTOR_ONCE, CFR_DOCTOR_SELECTED, cfr_doctor_unused_defaults},
    {"mint.forgotten", CFR_DOCTOR_ONCE, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_mint_forgotten},
    {"ca", CFR_DOCTOR_ONCE, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_ca},
    {"config.defaults", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED, cfr_doctor_defaults},
    {"publish", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED, cfr_doctor_targets},
    {"hook", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED, cfr_doctor_hooks},
    {"mint", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED_WITH_OK, cfr_doctor_mint},
    {"mint.key", CFR_DOCTOR_OWN | CFR_DOCTOR_NETWORK, CFR_DOCTOR_SELECTED_WITH_OK, cfr_doctor_mint_key},
    {"mint.rights", CFR_DOCTOR_OWN | CFR_DOCTOR_NETWORK, CFR_DOCTOR_SELECTED_WITH_NOTES, cfr_doctor_mint_rights},
    {"issued", CFR_DOCTOR_OWN, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_issued},
    {"image", 0, CFR_DOCTOR_SELECTED_WITH_OK, cfr_doctor_image},
    {"source", 0, CFR_DOCTOR_SELECTED, cfr_doctor_source},
    {"volume", 0, CFR_DOCTOR_SELECTED, cfr_doctor_volume},
    {"token", 0, CFR_DOCTOR_SELECTED_WITH_NOTES, cfr_doctor_token},
    {"token.signature", CFR_DOCTOR_NETWORK, CFR_DOCTOR_SELECTED, cfr_doctor_signature},
    {"publish.format", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED_WITH_NOTES, cfr_doctor_publish},
    {"net", CFR_DOCTOR_CLOUD | CFR_DOCTOR_NETWORK, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_network},
    {"cloud.exchange", CFR_DOCTOR_CLOUD, CFR_DOCTOR_SELECTED_WITH_OK, cfr_doctor_exchange},
    {"agent.credential", CFR_DOCTOR_OWN, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_agent_credential},
    {"clock", 0, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_clock},
    {"trust", CFR_DOCTOR_CLOUD, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_trust},
    {"trust.file", CFR_DOCTOR_LAST, CFR_DOCTOR_NOT_SELECTED, cfr_doctor_trust_unused},
    {NULL, 0, CFR_DOCTOR_NOT_SELECTED, NULL},
};

/* ---- running them ---- */

/* Runs the CHECKS that need nothing but HAVE (CFR_DOCTOR_ONCE, CFR_DOCTOR_LAST, or 0: those of the case C). */
static void run_checks(struct cfr_doctor *d, const struct cfr_doctor_check *check, unsigned have,
                       struct cfr_doctor_case *c)
{
    for (; check->name != NULL; check++) {
        if ((check->needs & (CFR_DOCTOR_ONCE | CFR_DOCTOR_LAST)) != have ||
            (d->selection && check->selected == CFR_DOCTOR_NOT_SELECTED) ||
            ((check->needs & CFR_DOCTOR_NETWORK) != 0 && d->options->offline) ||
            ((check->needs & CFR_DOCTOR_OWN) != 0 && (c == NULL || c->credential == NULL)) ||
            ((check->needs & CFR_DOCTOR_CLOUD) != 0 && (c == NULL || c->provider == NULL)))
            continue;
        d->selected = check->selected;
        cfr_doctor_at(d, c != NULL ? c->name : NULL, c != NULL ? c->line : 0);
        check->run(d, c);
    }
}

static void run_case(struct cfr_doctor *d, const struct cfr_doctor_check *all, struct cfr_doctor_case *c)
{
    if (!cfr_doctor_wants(d, c->name))
        return;
    cfr_secret_init(&c->token_text, CFR_TOKEN_MAX);
    run_checks(d, all, 0, c);
    if (c->has_claims)
        cfr_claims_free(&c->claims);
    cfr_secret_free(&c->token_text);
    cfr_source_inputs_free(&c->material);
    cfr_grant_free(&c->admin);
}

void cfr_doctor_run_checks(struct cfr_doctor *d, const struct cfr_doctor_check *all)
{
    run_checks(d, all, CFR_DOCTOR_ONCE, NULL);
    for (size_t i = 0; i < d->config->credentials.count; i++) {
        const struct cfr_config_credential *one = cfr_config_at(d->config, i);
        struct cfr_doctor_case c = {.name = one->name, .line = one->node.line, .credential = one, .token = one->token};

        c.provider = cfr_config_provider(one, &c.config);
        run_case(d, all, &c);
    }
    for (size_t i = 0; i < d->config->image_credentials.count; i++) {
        const struct cfr_config_image *image = cfr_config_image_at(d->config, i);
        struct cfr_doctor_case c = {
            .name = image->name, .line = image->node.line, .image = image, .token = image->token};
        void *config = NULL;

        c.provider = cfr_config_exchange_provider(image->exchange, &config);
        c.config = config;
        run_case(d, all, &c);
    }
    run_checks(d, all, CFR_DOCTOR_LAST, NULL);
    if (d->late)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "doctor.time", "give it more: --timeout 2m",
                          "the time was up before all checks were done");
}

void cfr_doctor_image(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    if (c->image != NULL)
        cfr_doctor_report(d, CFR_FINDING_OK, "image", NULL, "logins by %s for %zu patterns of images",
                          c->provider->name, c->image->match.count);
}

/* ---- doctor ---- */

/* "PATH:LINE: TEXT" as place and text. */
static struct cfr_view read_place(struct cfr_doctor *d, struct cfr_view line)
{
    size_t n = d->config_path != NULL ? strlen(d->config_path) : 0;
    size_t digits = 0;
    int64_t number = 0;

    cfr_doctor_at(d, NULL, 0);
    if (n == 0 || line.n <= n + 1 || !cfr_view_starts(line, d->config_path) || line.p[n] != ':')
        return line;
    line = (struct cfr_view){line.p + n + 1, line.n - n - 1};
    d->file = d->config_path;
    while (digits < line.n && line.p[digits] >= '0' && line.p[digits] <= '9')
        digits++;
    if (digits != 0 && digits < 9 && digits < line.n && cfr_view_int((struct cfr_view){line.p, digits}, &number)) {
        d->line = (int)number;
        line = (struct cfr_view){line.p + digits + 1, line.n - digits - 1};
    }
    return cfr_view_trim(line);
}

static void report_mistakes(struct cfr_doctor *d, const struct cfr_str *all, const struct cfr_err *err)
{
    struct cfr_view rest = all->len != 0 ? cfr_str_view(all) : cfr_view_of(err->text);
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        line = read_place(d, line);
        cfr_doctor_report(
            d, CFR_FINDING_WRONG, "config",
            d->config_path == NULL ? "correct the variable, or write a configuration file and name it with -c"
            : err->code == CFR_E_MISSING || err->code == CFR_E_PATH ? "name the configuration's file with -c"
            : err->code == CFR_E_PERM                               ? "run doctor as root, or as the agent's user"
                                                                    : "`credfresh reference` describes every key",
            "%.*s", (int)line.n, line.p);
    }
}

static bool knows_names(const struct cfr_doctor *d)
{
    for (int i = 0; i < d->options->arg_count; i++) {
        const char *name = d->options->args[i];
        bool found = cfr_config_find(d->config, name) != NULL;

        for (size_t k = 0; !found && k < d->config->image_credentials.count; k++)
            found = strcmp(cfr_config_image_at(d->config, k)->name, name) == 0;
        if (!found) {
            cfr_cli_complain("the configuration has no credential \"%s\"", name);
            return false;
        }
    }
    return true;
}

static struct cfr_doctor_layout read_layout(void)
{
    size_t columns = cfr_cli_columns(STDOUT_FILENO);

    return (struct cfr_doctor_layout){.columns = columns, .colours = columns != 0 && cfr_env_get("NO_COLOR") == NULL};
}

static int write_report(const struct cfr_doctor *d)
{
    struct cfr_doctor_layout layout = read_layout();
    struct cfr_str out = {.limit = 64U << 20};
    bool good;

    if (d->options->json)
        cfr_doctor_write_json(d, &out);
    else
        cfr_doctor_write_text(d, &layout, &out);
    good = !out.failed && !d->nomem && fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    cfr_str_free(&out);
    if (!good)
        cfr_cli_complain("the report could not be written whole");
    return good && d->tally[CFR_FINDING_WRONG] == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

int cfr_doctor_run(const struct cfr_cli_options *o)
{
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    struct cfr_doctor d;
    int status = CFR_EXIT_USAGE;

    if (cfr_doctor_as_unit(o, o->config, &status))
        return status;
    cfr_json_setup();
    /* Requests are signed, and the service CA's key is read, before the first connection. */
    (void)cfr_http_crypto_wipe();
    cfr_doctor_open(&d, o, false);
    if (cfr_config_load(o->config, cfr_env_get, &d.config, &all, &err) != 0) {
        report_mistakes(&d, &all, &err);
        status = write_report(&d);
    } else if (knows_names(&d)) {
        cfr_doctor_run_checks(&d, checks);
        status = write_report(&d);
    }
    cfr_str_free(&all);
    cfr_doctor_close(&d);
    return status;
}

/* ---- check ---- */

/* The configuration that the environment makes, to be kept as a file: the findings are comments in it. */
static void write_environment(struct cfr_str *out)
{
    struct cfr_str yaml = {.limit = YAML_MAX};

    if (cfr_config_environment_yaml(cfr_env_get, &yaml, NULL) == 0)
        cfr_str_addf(out, "%s\n", yaml.p);
    cfr_str_free(&yaml);
}

/* The text of the configuration, for excerpts; empty where there is none that can be read. */
static void read_source(const struct cfr_doctor *d, struct cfr_secret *out)
{
    struct cfr_err none = {0};

    cfr_secret_init(out, CFR_CONFIG_FILE_MAX);
    if (d->config_path != NULL && cfr_file_read(d->config_path, out, &none) != 0)
        cfr_secret_clear(out);
}

/* The file of the command line: FILE, or -c. */
static bool choose_file(const struct cfr_cli_options *o, struct cfr_cli_options *out)
{
    *out = *o;
    out->offline = !o->online;
    if (o->arg_count == 0)
        return true;
    if (o->config_option != NULL) {
        cfr_cli_complain("check: -c %s and %s: which one?", o->config_option, o->args[0]);
        return false;
    }
    out->config = o->args[0];
    out->arg_count = 0; /* the checks are for all credentials */
    return true;
}

/* Prints what was found, as text or JSON. */
static bool write_selection(const struct cfr_doctor *d)
{
    const char *margin = d->config_path == NULL ? "# " : "";
    struct cfr_str out = {.limit = 64U << 20};
    struct cfr_secret source;
    bool good;

    read_source(d, &source);
    if (d->options->json) {
        cfr_doctor_write_json(d, &out);
    } else {
        if (d->config_path == NULL && d->config != NULL)
            write_environment(&out);
        cfr_doctor_write_lines(d, cfr_cli_columns(STDOUT_FILENO), margin, cfr_secret_view(&source), &out);
    }
    good = !out.failed && !d->nomem && fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    cfr_secret_free(&source);
    cfr_str_free(&out);
    return good;
}

int cfr_doctor_run_selection(const struct cfr_cli_options *o)
{
    struct cfr_cli_options options;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    struct cfr_doctor d;
    int status = CFR_EXIT_OK;

    if (!choose_file(o, &options))
        return CFR_EXIT_USAGE;
    if (cfr_doctor_as_unit(o, options.config, &status))
        return status;
    cfr_json_setup();
    (void)cfr_http_crypto_wipe();
    cfr_doctor_open(&d, &options, true);
    if (cfr_config_load(options.config, cfr_env_get, &d.config, &all, &err) != 0) {
        report_mistakes(&d, &all, &err);
        status = CFR_EXIT_CONFIG;
    } else {
        cfr_doctor_run_checks(&d, checks);
        if (d.tally[CFR_FINDING_WRONG] != 0 || (o->strict && d.tally[CFR_FINDING_WARNING] != 0))
            status = CFR_EXIT_FAILED;
    }
    if (!write_selection(&d))
        status = CFR_EXIT_FAILED;
    cfr_str_free(&all);
    cfr_doctor_close(&d);
    return status;
}
