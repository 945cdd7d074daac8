/* SPDX-License-Identifier: MIT */
/* Statistics: counters and the last requests. Any thread may call these. */
#ifndef LC_STATS_H
#define LC_STATS_H

#include "json.h"

/* One request to the services. */
struct lc_record {
    double t;
    char action[48];
    char role[256];
    char session_name[72];
    unsigned status; /* 0: the connection was closed without an answer */
    char code[80];   /* "OK" or the error code */
    char access_key_id[24];
    unsigned long connection;
    bool exchange;  /* credentials were given out */
    char fault[16]; /* kind of the fault that was applied, or "" */
};

struct lc_stats;

struct lc_stats *lc_stats_new(struct lc_fail *fail);
void lc_stats_free(struct lc_stats *stats);

void lc_stats_connection(struct lc_stats *stats);
void lc_stats_began(struct lc_stats *stats);
void lc_stats_ended(struct lc_stats *stats);
void lc_stats_add(struct lc_stats *stats, const struct lc_record *record);
void lc_stats_reset(struct lc_stats *stats);

/* The last log_entries requests (oldest first) with the counters. */
json_t *lc_stats_report(struct lc_stats *stats, size_t log_entries);

#endif
