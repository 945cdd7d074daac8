/* SPDX-License-Identifier: MIT */
/* The front end of the query protocol, and AWS STS: AssumeRoleWithWebIdentity, AssumeRole, GetCallerIdentity. */
#ifndef LC_STS_H
#define LC_STS_H

#include "cloud.h"

/* Answers a request to "/" completely, faults, outage and statistics included. */
void lc_sts_handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply);

struct lc_call;

struct lc_query_action {
    const char *name;
    int (*run)(struct lc_call *call); /* 0 with the body written, or -1 with the refusal set. The trust is locked */
    bool use;                         /* by consumers: goes on during an outage, and only faults that name it are its */
};

/* A service that speaks the query protocol. */
struct lc_query {
    const char *service; /* in the table of services */
    const char *version;
    const struct lc_query_action *actions;
    size_t count;
};

/* Answers completely, as lc_sts_handle does. */
void lc_query_handle(const struct lc_query *api, struct lc_cloud *cloud, const struct lc_request *request,
                     struct lc_reply *reply);

#endif
