/* SPDX-License-Identifier: MIT */
/* The parts of a running local cloud. */
#ifndef LC_CLOUD_H
#define LC_CLOUD_H

#include "fault.h"
#include "issuer.h"
#include "kubelet.h"
#include "stats.h"
#include "trust.h"

#include <stdatomic.h>
#include <stdio.h>

struct lc_cert;
struct lc_iam;
struct lc_keystone;
struct lc_kube;
struct lc_minted;
struct lc_objects;
struct lc_services;
struct lc_token_key;

struct lc_cloud {
    double speed;                  /* lifetimes are divided by it */
    const char *region;            /* the one that signatures must name; NULL: any well-formed one */
    unsigned char session_key[32]; /* seals session tokens */
    const struct lc_cert *ca;      /* signs certificates of the listeners and of clients */
    struct lc_issuer *issuer;
    struct lc_trust *trust;
    struct lc_kubelet *kubelet;
    struct lc_faults *faults;
    struct lc_stats *stats;
    struct lc_services *services;   /* their settings */
    struct lc_minted *minted;       /* keys of GCP and Azure that were made meanwhile */
    struct lc_token_key *token_key; /* signs the tokens that clouds give out */
    struct lc_iam *iam;             /* made when its settings are checked first; so are the next three */
    struct lc_keystone *keystone;
    struct lc_kube *kube;
    struct lc_objects *objects;
    atomic_uint outages; /* bit n: service n of the table answers 503 */
    FILE *log;           /* NULL: no log */
};

#endif
