/* SPDX-License-Identifier: MIT */
/* Region, endpoint and switches of a service of AWS: the configuration before the environment, as the SDKs read it.
 * Pure: ENV looks up a variable, and may be NULL; an empty variable counts as unset. Strings are borrowed. CFR_E_CONFIG
 * for a variable whose value is none of its values, naming it. Source: the SDKs' reference on settings. */
#ifndef CFR_WIRE_AWS_SETTINGS_H
#define CFR_WIRE_AWS_SETTINGS_H

#include "wire/aws.h"

/* A choice that is left to an environment variable unless the configuration makes it. */
enum cfr_aws_switch { CFR_AWS_ENVIRONMENT, CFR_AWS_FALSE, CFR_AWS_TRUE };
/* As the configuration writes them; NULL-terminated. */
extern const char *const cfr_wire_aws_switches[];

/* What is known before a host is composed. */
struct cfr_aws_settings {
    const char *region;        /* or NULL */
    const char *region_from;   /* "region", "AWS_REGION" ...: for error texts */
    const char *endpoint;      /* a URL that replaces every composed host, or NULL */
    const char *endpoint_from; /* "endpoint", "AWS_ENDPOINT_URL_STS" ... */
    bool fips;
    const char *fips_from;
    bool dual_stack;
    const char *dual_stack_from;
    bool plain_http; /* an endpoint may be one of plain http */
};

/* CONFIGURED is NULL where the configuration says nothing. */
void cfr_wire_aws_find_region(const char *configured, const char *(*env)(const char *), struct cfr_aws_settings *out);
/* VARIABLE is the service's own, such as AWS_ENDPOINT_URL_ECR; AWS_ENDPOINT_URL follows it, and neither counts if
 * AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true. */
int cfr_wire_aws_find_endpoint(const char *configured, const char *variable, const char *(*env)(const char *),
                               struct cfr_aws_settings *out, struct cfr_err *err);
/* FIPS and DUAL_STACK are of enum cfr_aws_switch. */
int cfr_wire_aws_find_switches(int fips, int dual_stack, const char *(*env)(const char *), struct cfr_aws_settings *out,
                               struct cfr_err *err);
/* CFR_E_CONFIG for an endpoint together with a switch. */
int cfr_wire_aws_check_custom(const struct cfr_aws_settings *place, struct cfr_err *err);

#endif
