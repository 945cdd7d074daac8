/* SPDX-License-Identifier: MIT */
/* Everything one running local cloud consists of. */
#ifndef LC_CLOUD_H
#define LC_CLOUD_H

#include "fault.h"
#include "issuer.h"
#include "kubelet.h"
#include "stats.h"
#include "trust.h"

#include <stdatomic.h>
#include <stdio.h>

struct lc_cloud {
    double speed;                  /* lifetimes are divided by it */
    const char *region;            /* the one that signatures must name; NULL: any well-formed one */
    unsigned char session_key[32]; /* seals session tokens */
    struct lc_issuer *issuer;
    struct lc_trust *trust;
    struct lc_kubelet *kubelet;
    struct lc_faults *faults;
    struct lc_stats *stats;
    atomic_bool outage; /* STS answers 503 */
    FILE *log;          /* NULL: no log */
};

#endif
