/* SPDX-License-Identifier: MIT */
/* Which region, endpoint and switches hold for one step: the configuration before the environment. */
#ifndef CFR_STS_AWS_SETTINGS_PRIVATE_H
#define CFR_STS_AWS_SETTINGS_PRIVATE_H

#include "sts/aws/aws.h"
#include "wire/aws_settings.h"

/* The settings for STEP (0 = the web identity, N = the N-th element of then_assume). ENV may be NULL. The
 * order for an endpoint is that of the SDKs: the configuration, AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL, the
 * latter two unless AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true. CFR_E_CONFIG for a variable whose value is
 * none of its values. */
int cfr_aws_settings_of(const struct cfr_aws *config, unsigned step, const char *(*env)(const char *),
                        struct cfr_aws_settings *out, struct cfr_err *err);
/* The same, composed into a host. */
int cfr_aws_settings_resolve(const struct cfr_aws *config, unsigned step, const char *(*env)(const char *),
                             struct cfr_wire_aws_endpoint *out, struct cfr_err *err);
/* The region of the workload (configuration, AWS_REGION, AWS_DEFAULT_REGION, else what the endpoint's name
 * says), or an empty text: what is published with the keys. BUF holds it. */
const char *cfr_aws_settings_region(const struct cfr_aws *config, const char *(*env)(const char *),
                                    char buf[CFR_AWS_REGION_MAX]);

#endif
