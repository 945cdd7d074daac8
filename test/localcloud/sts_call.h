/* SPDX-License-Identifier: MIT */
/* One call to STS under way, and helpers of the actions. */
#ifndef LC_STS_CALL_H
#define LC_STS_CALL_H

#include "answer.h"
#include "auth.h"
#include "cloud.h"
#include "params.h"
#include "session.h"

struct lc_query;

struct lc_call {
    const struct lc_query *api;
    struct lc_cloud *cloud;
    const struct lc_request *request;
    struct lc_params params;
    bool json;
    char request_id[40];
    json_t *fault; /* may bend the expiry; NULL: none */
    struct lc_reply *reply;
    struct lc_record record;
    struct lc_refusal refusal;
};

/* The session policy parameters that both AssumeRole actions have, and DurationSeconds. */
struct lc_ask {
    int64_t duration_s;
    long packed_size; /* percent; 0: nothing to pack */
};

/* Sums up the checks as one ValidationError; 0 when there was nothing. Frees them. */
int lc_call_checked(struct lc_call *call, struct lc_checks *checks);

/* DurationSeconds (range only), Policy, PolicyArns. policy_limit is the longest Policy, 0: none. */
int lc_call_ask(struct lc_call *call, struct lc_checks *checks, long policy_limit, struct lc_ask *ask);
/* What needs the role: its maximum, the limit of chaining. */
int lc_call_duration(struct lc_call *call, const struct lc_role *role, bool chained, const struct lc_ask *ask);
/* Policy syntax and packed size; extra_bytes counts tags. */
int lc_call_policy(struct lc_call *call, size_t extra_bytes, struct lc_ask *ask);

/* Draws the credentials. The session's name, source identity and transitive keys are copied in. */
int lc_call_issue(struct lc_call *call, const struct lc_role *role, const char *source_identity, json_t *transitive,
                  const struct lc_ask *ask, struct lc_session *session);

/* Parts of the answer. */
void lc_call_write_user(struct lc_answer *answer, const struct lc_role *role, const char *session_name);
void lc_call_write_credentials(struct lc_call *call, struct lc_answer *answer, const struct lc_session *session);
void lc_call_write_end(struct lc_call *call, struct lc_answer *answer, const char *action);

/* The actions: 0 with the body written, or -1 with the refusal set. The trust is locked. */
int lc_sts_web_identity(struct lc_call *call);
int lc_sts_assume_role(struct lc_call *call);
int lc_sts_caller_identity(struct lc_call *call);
int lc_sts_session_token(struct lc_call *call);

#endif
