/* SPDX-License-Identifier: MIT */
/* Statistics: counters and the last requests. */
#include "stats.h"

#include <pthread.h>
#include <stdlib.h>

enum { LOG_ENTRIES = 2000, MOST_CODES = 500 };

struct lc_stats {
    pthread_mutex_t lock;
    json_t *actions; /* {ACTION: {CODE: count}} */
    unsigned long connections;
    unsigned long requests;
    unsigned long exchanges;
    unsigned long in_flight;
    unsigned long most_in_flight;
    struct lc_record log[LOG_ENTRIES];
    size_t logged; /* ever */
};

struct lc_stats *lc_stats_new(struct lc_fail *fail)
{
    struct lc_stats *stats = calloc(1, sizeof *stats);

    if (stats == NULL || (stats->actions = json_object()) == NULL) {
        free(stats);
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&stats->lock, NULL);
    return stats;
}

void lc_stats_free(struct lc_stats *stats)
{
    if (stats != NULL) {
        json_decref(stats->actions);
        (void)pthread_mutex_destroy(&stats->lock);
        free(stats);
    }
}

void lc_stats_connection(struct lc_stats *stats)
{
    (void)pthread_mutex_lock(&stats->lock);
    stats->connections++;
    (void)pthread_mutex_unlock(&stats->lock);
}

void lc_stats_began(struct lc_stats *stats)
{
    (void)pthread_mutex_lock(&stats->lock);
    stats->in_flight++;
    if (stats->in_flight > stats->most_in_flight) {
        stats->most_in_flight = stats->in_flight;
    }
    (void)pthread_mutex_unlock(&stats->lock);
}

void lc_stats_ended(struct lc_stats *stats)
{
    (void)pthread_mutex_lock(&stats->lock);
    if (stats->in_flight > 0) {
        stats->in_flight--;
    }
    (void)pthread_mutex_unlock(&stats->lock);
}

void lc_stats_add(struct lc_stats *stats, const struct lc_record *record)
{
    json_t *codes = NULL;

    (void)pthread_mutex_lock(&stats->lock);
    codes = json_object_get(stats->actions, record->action);
    if (codes == NULL) {
        codes = json_object();
        (void)json_object_set_new(stats->actions, record->action, codes);
    }
    if (json_object_get(codes, record->code) != NULL || json_object_size(codes) < MOST_CODES) {
        json_int_t count = json_integer_value(json_object_get(codes, record->code));
        (void)json_object_set_new(codes, record->code, json_integer(count + 1));
    }
    stats->requests++;
    stats->exchanges += record->exchange;
    stats->log[stats->logged % LOG_ENTRIES] = *record;
    stats->logged++;
    (void)pthread_mutex_unlock(&stats->lock);
}

void lc_stats_reset(struct lc_stats *stats)
{
    (void)pthread_mutex_lock(&stats->lock);
    (void)json_object_clear(stats->actions);
    stats->connections = 0;
    stats->requests = 0;
    stats->exchanges = 0;
    stats->most_in_flight = stats->in_flight;
    stats->logged = 0;
    (void)pthread_mutex_unlock(&stats->lock);
}

static json_t *entry(const struct lc_record *record)
{
    return json_pack("{s:f,s:s,s:s,s:s,s:i,s:s,s:s,s:I,s:s}", "t", record->t, "action", record->action, "role",
                     record->role, "session_name", record->session_name, "status", (int)record->status, "code",
                     record->code, "access_key_id", record->access_key_id, "connection", (json_int_t)record->connection,
                     "fault", record->fault);
}

json_t *lc_stats_report(struct lc_stats *stats, size_t log_entries)
{
    json_t *log = json_array();
    json_t *report = NULL;
    size_t held = 0;

    (void)pthread_mutex_lock(&stats->lock);
    held = stats->logged < LOG_ENTRIES ? stats->logged : LOG_ENTRIES;
    if (log_entries < held) {
        held = log_entries;
    }
    for (size_t i = stats->logged - held; i < stats->logged; i++) {
        (void)json_array_append_new(log, entry(&stats->log[i % LOG_ENTRIES]));
    }
    report = json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:o}", "actions", json_deep_copy(stats->actions), "connections",
                       (json_int_t)stats->connections, "requests", (json_int_t)stats->requests, "exchanges",
                       (json_int_t)stats->exchanges, "in_flight", (json_int_t)stats->in_flight, "most_in_flight",
                       (json_int_t)stats->most_in_flight, "log", log);
    (void)pthread_mutex_unlock(&stats->lock);
    return report;
}
