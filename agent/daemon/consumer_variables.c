/* SPDX-License-Identifier: MIT */
/* Report of how the application finds the published files, where no configuration file says where they are. */
#include "agent/daemon/daemon_private.h"

#include "agent/config/sdk_environment.h"
#include "agent/loop/env.h"
#include "base/log.h"

#define TEXT_MAX 6144

static void list_files(const struct cfr_config_credential *c, struct cfr_str *out)
{
    for (size_t i = 0; i < c->publish.count; i++) {
        const struct cfr_config_publish *t = (const struct cfr_config_publish *)c->publish.items + i;
        const struct cfr_config_file *files = t->files.items;

        for (size_t k = 0; t->directory != NULL && k < t->files.count; k++)
            cfr_str_addf(out, "%s%s/%s", out->len != 0 ? ", " : "", t->directory, files[k].name);
    }
}

static void list_variables(const struct cfr_sdk_env *e, struct cfr_str *out)
{
    const struct cfr_sdk_env_place here = {cfr_env_get, NULL};
    struct cfr_str names = {.limit = TEXT_MAX};
    struct cfr_view rest;
    struct cfr_view name;
    const char *before = "; unset there ";

    for (size_t i = 0; i < e->count; i++)
        cfr_str_addf(out, "%s%s=%s", i != 0 ? " " : "", e->items[i].name, e->items[i].value);
    /* The webhook sets them in the application's container too. */
    cfr_sdk_env_overriding(e, &here, &names);
    rest = cfr_str_view(&names);
    for (; cfr_view_line(&rest, &name); before = " ")
        cfr_str_addf(out, "%s%.*s", before, (int)name.n, name.p);
    cfr_str_free(&names);
}

static void report(const struct cfr_config *config, const struct cfr_config_credential *c)
{
    struct cfr_str files = {.limit = TEXT_MAX};
    struct cfr_str variables = {.limit = TEXT_MAX};
    struct cfr_sdk_env e = {0};

    list_files(c, &files);
    if (cfr_config_sdk_environment(config, c, &e, NULL) == 0)
        list_variables(&e, &variables);
    if (files.p != NULL && variables.p != NULL)
        cfr_log(CFR_LOG_INFO, c->name, NULL, "published as %s; set in the application's environment: %s", files.p,
                variables.p);
    else if (files.p != NULL)
        cfr_log(CFR_LOG_INFO, c->name, NULL,
                "published as %s; SDKs find no such file by a variable: name the path to "
                "the application",
                files.p);
    cfr_str_free(&files);
    cfr_str_free(&variables);
    cfr_sdk_env_free(&e);
}

void cfr_daemon_report_variables(const struct cfr_config *config)
{
    for (size_t i = 0; i < config->credentials.count; i++)
        report(config, cfr_config_at(config, i));
}
