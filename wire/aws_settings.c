/* SPDX-License-Identifier: MIT */
/* Settings of AWS: configuration before environment. */
#include "wire/aws_settings.h"

#include <string.h>
#include <strings.h>

const char *const cfr_wire_aws_switches[] = {"environment", "false", "true", NULL};

/* NULL when unset. */
static const char *read_variable(const char *(*env)(const char *), const char *name)
{
    const char *value = env != NULL ? env(name) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static int env_bool(const char *(*env)(const char *), const char *name, bool *out, struct cfr_err *err)
{
    const char *value = read_variable(env, name);

    *out = value != NULL && strcasecmp(value, "true") == 0;
    if (value == NULL || *out || strcasecmp(value, "false") == 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "%s: its value must be true or false", name);
}

static int read_switch(int configured, const char *key, const char *(*env)(const char *), const char *variable,
                       bool *out, const char **from, struct cfr_err *err)
{
    *from = configured == CFR_AWS_ENVIRONMENT ? variable : key;
    *out = configured == CFR_AWS_TRUE;
    return configured == CFR_AWS_ENVIRONMENT ? env_bool(env, variable, out, err) : 0;
}

void cfr_wire_aws_find_region(const char *configured, const char *(*env)(const char *), struct cfr_aws_settings *out)
{
    static const char *const variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};

    out->region = configured;
    out->region_from = "region";
    for (size_t i = 0; out->region == NULL && i < 2; i++) {
        out->region = read_variable(env, variables[i]);
        out->region_from = variables[i];
    }
}

int cfr_wire_aws_find_endpoint(const char *configured, const char *variable, const char *(*env)(const char *),
                               struct cfr_aws_settings *out, struct cfr_err *err)
{
    const char *const variables[] = {variable, "AWS_ENDPOINT_URL"};
    bool ignored;
    int rc;

    out->endpoint = configured;
    out->endpoint_from = "endpoint";
    if (out->endpoint != NULL)
        return 0;
    rc = env_bool(env, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", &ignored, err);
    for (size_t i = 0; rc == 0 && !ignored && out->endpoint == NULL && i < 2; i++) {
        out->endpoint = read_variable(env, variables[i]);
        out->endpoint_from = variables[i];
    }
    return rc;
}

int cfr_wire_aws_find_switches(int fips, int dual_stack, const char *(*env)(const char *), struct cfr_aws_settings *out,
                               struct cfr_err *err)
{
    int rc = read_switch(fips, "fips", env, "AWS_USE_FIPS_ENDPOINT", &out->fips, &out->fips_from, err);

    return rc != 0 ? rc
                   : read_switch(dual_stack, "dual_stack", env, "AWS_USE_DUALSTACK_ENDPOINT", &out->dual_stack,
                                 &out->dual_stack_from, err);
}

int cfr_wire_aws_check_custom(const struct cfr_aws_settings *place, struct cfr_err *err)
{
    const char *from = place->fips ? place->fips_from : place->dual_stack_from;

    if (place->endpoint == NULL || (!place->fips && !place->dual_stack))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s cannot be combined with %s: give the %s host in the URL itself and set %s to false",
                       place->endpoint_from, from, place->fips ? "FIPS" : "dual-stack", from);
}
