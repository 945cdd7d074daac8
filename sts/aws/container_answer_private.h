/* SPDX-License-Identifier: MIT */
/* Answers of container credential endpoints. */
#ifndef CFR_STS_AWS_CONTAINER_ANSWER_PRIVATE_H
#define CFR_STS_AWS_CONTAINER_ANSWER_PRIVATE_H

#include "sts/core/provider.h"

/* Reads the keys into the empty GRANT. What is not 200, or names a Code other than Success, becomes an error
 * with class and advice; TOKEN is what an answer must not echo. CFR_E_ANSWER says what is missing or garbled.
 */
int cfr_aws_container_answer(const struct cfr_wire_reply *reply, struct cfr_view token, struct cfr_grant *grant,
                             struct cfr_err *err);

#endif
