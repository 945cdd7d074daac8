/* SPDX-License-Identifier: MIT */
/* Configuration before environment. */
#include "sts/aws/settings_private.h"

#include "sts/aws/aws_private.h"
#include "sts/aws/params_private.h"

#include <stdio.h>
#include <string.h>

int cfr_aws_settings_of(const struct cfr_aws *config, unsigned step, const char *(*env)(const char *),
                        struct cfr_aws_settings *out, struct cfr_err *err)
{
    const struct cfr_aws_step *s = step == 0 ? NULL : cfr_aws_step_at(config, step - 1);
    int rc;

    *out = (struct cfr_aws_settings){.plain_http = config->plain_http};
    cfr_wire_aws_find_region(s != NULL && s->region != NULL ? s->region : config->region, env, out);
    rc = cfr_wire_aws_find_endpoint(s != NULL && s->endpoint != NULL ? s->endpoint : config->endpoint,
                                    "AWS_ENDPOINT_URL_STS", env, out, err);
    return rc != 0 ? rc : cfr_wire_aws_find_switches(config->fips, config->dual_stack, env, out, err);
}

int cfr_aws_settings_resolve(const struct cfr_aws *config, unsigned step, const char *(*env)(const char *),
                             struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    const struct cfr_aws_step *s = step == 0 ? NULL : cfr_aws_step_at(config, step - 1);
    const char *role = s != NULL ? s->role_arn : config->role_arn;
    struct cfr_aws_settings place;
    int rc = cfr_aws_settings_of(config, step, env, &place, err);

    if (rc != 0)
        return rc;
    return cfr_aws_endpoint_resolve(
        &place, role != NULL ? cfr_aws_params_arn_part(role, 1) : (struct cfr_view){NULL, 0}, out, err);
}

const char *cfr_aws_settings_region(const struct cfr_aws *config, const char *(*env)(const char *),
                                    char buf[CFR_AWS_REGION_MAX])
{
    struct cfr_aws_settings place;
    struct cfr_wire_aws_endpoint endpoint;

    buf[0] = '\0';
    if (cfr_aws_settings_of(config, 0, env, &place, NULL) != 0)
        return buf;
    /* The pseudo region names the global STS; no other service knows it. */
    if (place.region != NULL && strcmp(place.region, "aws-global") == 0)
        (void)snprintf(buf, CFR_AWS_REGION_MAX, "us-east-1");
    else if (place.region != NULL && cfr_wire_aws_region_ok(cfr_view_of(place.region)))
        (void)snprintf(buf, CFR_AWS_REGION_MAX, "%s", place.region);
    else if (place.endpoint != NULL &&
             cfr_wire_aws_endpoint_parse_as(place.plain_http, place.endpoint, &endpoint, NULL) == 0)
        (void)snprintf(buf, CFR_AWS_REGION_MAX, "%s", endpoint.region);
    return buf;
}
