/* SPDX-License-Identifier: MIT */
/* doctor: everything around each credential looked at in the order in which an operator would, and told in
 * words. */
#include "agent/cmd/commands_private.h"

#include "agent/doctor/doctor.h"
#include "agent/http/client.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one credential ---- */

static void free_case(struct cfr_doctor_case *c)
{
    if (c->has_claims)
        cfr_claims_free(&c->claims);
    cfr_secret_free(&c->token_text);
    cfr_source_inputs_free(&c->material);
}

static void look_at(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    cfr_secret_init(&c->token_text, CFR_TOKEN_MAX);
    cfr_doctor_at(d, c->name, c->line);
    if (c->credential != NULL) {
        cfr_doctor_agent_credential(d, c->credential);
        cfr_doctor_targets(d, c->credential);
        cfr_doctor_hooks(d, c->credential);
        cfr_doctor_mint(d, c->credential);
        cfr_doctor_issued(d, c->credential);
    }
    cfr_doctor_at(d, c->name, c->token != NULL ? c->token->node.line : c->line);
    cfr_doctor_source(d, c);
    cfr_doctor_at(d, c->name, c->line);
    cfr_doctor_network(d, c);
    if (c->provider != NULL)
        cfr_doctor_cloud(d, c);
    else
        cfr_doctor_clock(d, c);
    free_case(c);
}

static void look_at_credential(struct cfr_doctor *d, const struct cfr_config_credential *credential)
{
    struct cfr_doctor_case c = {
        .name = credential->name,
        .line = credential->node.line,
        .credential = credential,
        .token = credential->token,
    };

    c.provider = cfr_config_provider(credential, &c.config);
    look_at(d, &c);
}

static void look_at_image(struct cfr_doctor *d, const struct cfr_config_image *image)
{
    struct cfr_doctor_case c = {.name = image->name, .line = image->node.line, .token = image->token};
    void *config = NULL;

    c.provider = cfr_config_exchange_provider(image->exchange, &config);
    c.config = config;
    look_at(d, &c);
}

/* ---- all of them ---- */

static void look_at_all(struct cfr_doctor *d)
{
    cfr_doctor_find_agent(d);
    cfr_doctor_machine(d);
    cfr_doctor_agent(d);
    cfr_doctor_ca(d);
    for (size_t i = 0; i < d->config->credentials.count; i++) {
        if (cfr_doctor_wants(d, cfr_config_at(d->config, i)->name))
            look_at_credential(d, cfr_config_at(d->config, i));
    }
    for (size_t i = 0; i < d->config->image_credentials.count; i++) {
        if (cfr_doctor_wants(d, cfr_config_image_at(d->config, i)->name))
            look_at_image(d, cfr_config_image_at(d->config, i));
    }
    cfr_doctor_at(d, NULL, 0);
    cfr_doctor_trust_unused(d);
    if (d->late)
        cfr_doctor_say(d, CFR_FINDING_WARNING, "doctor.time", "give it more: --timeout 2m",
                       "the time was up before everything was looked at");
}

/* "PATH:LINE: TEXT" as place and text. */
static struct cfr_view take_place(struct cfr_doctor *d, struct cfr_view line)
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

static void tell_mistakes(struct cfr_doctor *d, const struct cfr_str *all, const struct cfr_err *err)
{
    struct cfr_view rest = all->len != 0 ? cfr_str_view(all) : cfr_view_of(err->text);
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        line = take_place(d, line);
        cfr_doctor_say(d, CFR_FINDING_WRONG, "config", "`credfresh reference` describes every key", "%.*s", (int)line.n,
                       line.p);
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
            cfr_cli_complain("there is no credential %s in the configuration", name);
            return false;
        }
    }
    return true;
}

static int write_report(const struct cfr_doctor *d)
{
    struct cfr_str out = {.limit = 64U << 20};
    bool good;

    if (d->options->json)
        cfr_doctor_write_json(d, &out);
    else
        cfr_doctor_write_text(d, &out);
    good = !out.failed && !d->nomem && fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    cfr_str_free(&out);
    if (!good)
        cfr_cli_complain("the report could not be written whole");
    return good && d->tally[CFR_FINDING_WRONG] == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

int cfr_cmd_doctor(const struct cfr_cli_options *o)
{
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    struct cfr_doctor d;
    int status = CFR_EXIT_USAGE;

    cfr_json_setup();
    /* Requests are signed, and the service CA's key is read, before anything is connected to. */
    (void)cfr_http_crypto_wipe();
    cfr_doctor_open(&d, o);
    if (cfr_config_load(o->config, cfr_doctor_env, &d.config, &all, &err) != 0) {
        tell_mistakes(&d, &all, &err);
        status = write_report(&d);
    } else if (knows_names(&d)) {
        look_at_all(&d);
        status = write_report(&d);
    }
    cfr_str_free(&all);
    cfr_doctor_close(&d);
    return status;
}
