/* SPDX-License-Identifier: MIT */
/* What the files of the container credentials provider share. */
#ifndef CFR_STS_AWS_CONTAINER_PRIVATE_H
#define CFR_STS_AWS_CONTAINER_PRIVATE_H

#include "sts/aws/container.h"
#include "sts/aws/ecr_private.h"
#include "sts/core/provider.h"

extern const struct cfr_table cfr_aws_container_table;

/* True if TEXT is a URL that such an endpoint may have: https, or http to a loopback address or to one of the
 * three that AWS gives (*LINK_LOCAL). CFR_E_CONFIG without naming the key. */
int cfr_aws_container_url(const char *text, bool *link_local, struct cfr_err *err);

/* ---- answers of container credential endpoints ---- */

/* Reads the keys into the empty GRANT. What is not 200, or names a Code other than Success, becomes an error
 * with class and advice; TOKEN is what an answer must not echo. CFR_E_ANSWER says what is missing or garbled.
 */
int cfr_aws_container_answer(const struct cfr_wire_reply *reply, struct cfr_view token, struct cfr_grant *grant,
                             struct cfr_err *err);

#endif
