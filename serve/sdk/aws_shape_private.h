/* SPDX-License-Identifier: MIT */
/* What the two shapes of AWS share. Sources: the providers of botocore 1.29, the SDKs for Go v2, Java v2, JavaScript
 * v3, Rust and C++. Not for others. */
#ifndef CFR_SERVE_SDK_AWS_SHAPE_PRIVATE_H
#define CFR_SERVE_SDK_AWS_SHAPE_PRIVATE_H

#include "serve/sdk/endpoint_private.h"

#define CFR_SDK_AWS_JSON "application/json" /* exactly: the SDK for Go reads errors of no other type */
#define CFR_SDK_AWS_TEXT "text/plain"
/* Long-lived keys have no end, but botocore and the SDKs for JavaScript and Rust demand an Expiration, and the one for
 * Go would never ask again without: the answer then says that it is good for this long, so that a change of the keys is
 * seen.
 */
#define CFR_SDK_AWS_ROLLING_S 3600

/* {"code","message","Code","Message"}: some SDKs read the one spelling, some the other. */
void cfr_sdk_aws_error(struct cfr_sdk_endpoint_answer *out, int status, const char *code, const char *message);
/* False, and OUT a 403, if a proxy brought the request (X-Forwarded-For, Forwarded, Via). */
bool cfr_sdk_aws_direct(const struct cfr_sdk_endpoint_request *r, struct cfr_sdk_endpoint_answer *out);
/* False, and OUT a 405, if the method is neither GET nor HEAD. */
bool cfr_sdk_aws_reads(const struct cfr_sdk_endpoint_request *r, struct cfr_sdk_endpoint_answer *out);
/* The offer of CREDENTIAL, with AWS keys that live. False, and OUT a 503 with Retry-After if there are none now, or a
 * 500 if there never can be (which the configuration's check excludes). */
bool cfr_sdk_aws_offer(const struct cfr_sdk_endpoint_world *w, const char *credential, struct cfr_offer *offer,
                       struct cfr_sdk_endpoint_answer *out);
/* Adds "AccessKeyId", "SecretAccessKey", "Token", "Expiration" and, when it is known, "AccountId" to the open object.
 * Token is always there, and empty for long-lived keys: botocore and the SDKs for JavaScript and Rust demand it. */
void cfr_sdk_aws_keys(const struct cfr_offer *offer, int64_t now_s, struct cfr_writer *w);
/* The member NAME with a time as 2026-01-02T03:04:05Z: the one spelling that all SDKs read. */
void cfr_sdk_aws_time(struct cfr_writer *w, const char *name, int64_t unix_s);
/* A part of the ARN that TEXT is: 1 partition, 4 account, 5 resource (all that follows). Empty if it is no ARN, or
 * NULL. */
struct cfr_view cfr_sdk_aws_arn_part(const char *text, unsigned part);
/* Twelve digits, or empty. */
struct cfr_view cfr_sdk_aws_account(const struct cfr_grant *grant);

#endif
