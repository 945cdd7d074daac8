/* SPDX-License-Identifier: MIT */
/* State of a rotated key as the source of a credential: rotated_key.c, rotated_key_pass_on.c. */
#ifndef CFR_AGENT_ROTATION_ROTATED_KEY_PRIVATE_H
#define CFR_AGENT_ROTATION_ROTATED_KEY_PRIVATE_H

#include "agent/publish/found.h"
#include "agent/publish/publisher.h"
#include "agent/publish/record.h"
#include "agent/publish/secret_target.h"
#include "agent/rotation/rotated_key.h"
#include "agent/rotation/rotator_use_private.h"

struct cfr_rotator_key {
    struct cfr_source_client client;
    const struct cfr_config_credential *config;
    struct cfr_rotator *rotator;
    struct cfr_publish_search *search; /* for a key that is adopted; NULL = none is in progress */
    cfr_source_exchange_fn *done;
    void *done_ctx;
    bool counts;         /* the start in progress answers the request of an operator */
    bool again;          /* it publishes in another way what may be published already */
    bool pass_on_logged; /* that the key of `with` is published */
};

/* The key of `with` is what is published. */
bool cfr_rotator_key_is_passed_on(const struct cfr_rotator_key *k);
/* R is a failure. If `or` says so, and the cloud refuses to create a key or the key of `with` is already published,
 * puts that key in its place: in GRANT, which is empty, or without a grant if it is published. */
void cfr_rotator_key_pass_on(struct cfr_rotator_key *k, struct cfr_source_exchange_result *r, struct cfr_grant *grant);
/* When creating a key is tried again, by the wall clock. */
int64_t cfr_rotator_key_retry_ms(void);

#endif
