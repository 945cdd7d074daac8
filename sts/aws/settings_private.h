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

/* ---- endpoint of STS or another service of AWS, made of the settings ---- */

/* Decides host, path and signing region. PARTITION is the one in the role's ARN (empty when there is no
 * role): it serves for regions that are newer than this table. CFR_E_CONFIG names the setting that is wrong:
 * no region, a region that is no DNS label, a partition that is not the region's, an endpoint that is not
 * https (or http to loopback), an endpoint together with FIPS or dual-stack, a VPC endpoint of another
 * region. */
int cfr_aws_endpoint_resolve(const struct cfr_aws_settings *place, struct cfr_view partition,
                             struct cfr_wire_aws_endpoint *out, struct cfr_err *err);

#endif
