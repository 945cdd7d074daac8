/* SPDX-License-Identifier: MIT */
/* Requested faults, each pending until a request matches it. */
#include "fault.h"

#include "pause.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAULTS = 10000, MOST_BYTES = 1 << 28, HOUR_MS = 3600000 };

struct lc_faults {
    pthread_mutex_t lock;
    json_t *list;
};

/* What each kind may say besides match, count and kind. */
struct kind {
    const char *name;
    const char *keys[6];
};

static const struct kind kinds[] = {
    {"error", {"code", "message", "status", "type", "headers"}},
    {"status", {"status", "body", "headers", "content_type"}},
    {"delay", {"ms"}},
    {"truncate", {"bytes"}},
    {"oversize", {"bytes"}},
    {"close", {NULL}},
    {"content_type", {"value"}},
    {"redirect", {"location", "status"}},
    {"slow", {"ms_per_byte"}},
    {"malformed", {"body"}},
    {"expiration", {"value"}},
    {"short_life", {"s"}},
};

struct lc_faults *lc_faults_new(struct lc_fail *fail)
{
    struct lc_faults *faults = calloc(1, sizeof *faults);

    if (faults == NULL || (faults->list = json_array()) == NULL) {
        free(faults);
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&faults->lock, NULL);
    return faults;
}

void lc_faults_free(struct lc_faults *faults)
{
    if (faults != NULL) {
        json_decref(faults->list);
        (void)pthread_mutex_destroy(&faults->lock);
        free(faults);
    }
}

const char *lc_fault_kind(json_t *fault)
{
    const char *kind = json_string_value(json_object_get(fault, "kind"));

    return kind == NULL ? "" : kind;
}

static int check_keys(json_t *fault, struct lc_fail *fail)
{
    const char *allowed[16] = {"match", "count", "kind", NULL};
    const char *name = lc_fault_kind(fault);
    size_t count = 3;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            for (size_t n = 0; n < 6 && kinds[i].keys[n] != NULL; n++) {
                allowed[count++] = kinds[i].keys[n];
            }
            return lc_json_keys(fault, "fault", allowed, fail);
        }
    }
    return lc_fail_set(fail, "fault: \"kind\" must be one of error, status, delay, truncate, oversize, close, "
                             "content_type, redirect, slow, malformed, expiration, short_life");
}

static int check_match(json_t *fault, struct lc_fail *fail)
{
    static const char *const allowed[] = {"action", "role", NULL};
    json_t *match = NULL;
    const char *text = NULL;

    if (lc_json_object(fault, "fault", "match", &match, fail) != 0) {
        return -1;
    }
    return match == NULL ? 0
           : lc_json_keys(match, "match", allowed, fail) != 0 ||
                   lc_json_text(match, "match", "action", &text, fail) != 0 ||
                   lc_json_text(match, "match", "role", &text, fail) != 0
               ? -1
               : 0;
}

static int need(json_t *fault, const char *kind, const char *key, struct lc_fail *fail)
{
    return strcmp(lc_fault_kind(fault), kind) != 0 || json_object_get(fault, key) != NULL
               ? 0
               : lc_fail_set(fail, "fault: kind \"%s\" needs \"%s\"", kind, key);
}

static int check_values(json_t *fault, struct lc_fail *fail)
{
    static const char *const texts[] = {"code", "message", "type", "body", "content_type", "value", "location"};
    const char *text = NULL;
    json_t *headers = NULL;
    json_t *value = NULL;
    const char *name = NULL;
    int64_t integer = 0;
    double number = 0;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (lc_json_text(fault, "fault", texts[i], &text, fail) != 0) {
            return -1;
        }
    }
    if (lc_json_integer(fault, "fault", "status", 200, 599, &integer, fail) != 0 ||
        lc_json_integer(fault, "fault", "bytes", 0, MOST_BYTES, &integer, fail) != 0 ||
        lc_json_integer(fault, "fault", "count", -1, 1000000000, &integer, fail) != 0 ||
        lc_json_number(fault, "fault", "ms", 0, HOUR_MS, &number, fail) != 0 ||
        lc_json_number(fault, "fault", "ms_per_byte", 0, HOUR_MS, &number, fail) != 0 ||
        lc_json_number(fault, "fault", "s", -43200, 43200, &number, fail) != 0 ||
        lc_json_object(fault, "fault", "headers", &headers, fail) != 0) {
        return -1;
    }
    json_object_foreach(headers, name, value)
    {
        if (!json_is_string(value)) {
            return lc_fail_set(fail, "fault: header \"%.60s\" must be a string", name);
        }
    }
    return need(fault, "delay", "ms", fail) != 0 || need(fault, "truncate", "bytes", fail) != 0 ||
                   need(fault, "oversize", "bytes", fail) != 0 || need(fault, "error", "code", fail) != 0 ||
                   need(fault, "status", "status", fail) != 0 || need(fault, "slow", "ms_per_byte", fail) != 0 ||
                   need(fault, "content_type", "value", fail) != 0 || need(fault, "expiration", "value", fail) != 0 ||
                   need(fault, "short_life", "s", fail) != 0
               ? -1
               : 0;
}

int lc_faults_add(struct lc_faults *faults, json_t *fault, struct lc_fail *fail)
{
    json_t *copy = NULL;
    int result = 0;

    if (check_keys(fault, fail) != 0 || check_match(fault, fail) != 0 || check_values(fault, fail) != 0) {
        return -1;
    }
    copy = json_deep_copy(fault);
    if (copy != NULL && json_object_get(copy, "count") == NULL) {
        (void)json_object_set_new(copy, "count", json_integer(1));
    }
    (void)pthread_mutex_lock(&faults->lock);
    if (json_array_size(faults->list) >= MOST_FAULTS || json_array_append_new(faults->list, copy) != 0) {
        result = lc_fail_set(fail, "too many faults are waiting");
    }
    (void)pthread_mutex_unlock(&faults->lock);
    return result;
}

void lc_faults_clear(struct lc_faults *faults)
{
    (void)pthread_mutex_lock(&faults->lock);
    (void)json_array_clear(faults->list);
    (void)pthread_mutex_unlock(&faults->lock);
}

json_t *lc_faults_report(struct lc_faults *faults)
{
    json_t *copy = NULL;

    (void)pthread_mutex_lock(&faults->lock);
    copy = json_deep_copy(faults->list);
    (void)pthread_mutex_unlock(&faults->lock);
    return json_pack("{s:o}", "faults", copy);
}

static bool matches(json_t *fault, const char *action, const char *role, bool named_only)
{
    json_t *match = json_object_get(fault, "match");
    const char *wanted_action = json_string_value(json_object_get(match, "action"));
    const char *wanted_role = json_string_value(json_object_get(match, "role"));

    return (wanted_action == NULL ? !named_only : lc_text_like(wanted_action, action)) &&
           (wanted_role == NULL || strcmp(wanted_role, role) == 0);
}

json_t *lc_faults_take(struct lc_faults *faults, const char *action, const char *role, bool named_only)
{
    json_t *fault = NULL;
    json_t *taken = NULL;
    size_t index = 0;

    (void)pthread_mutex_lock(&faults->lock);
    json_array_foreach(faults->list, index, fault)
    {
        json_int_t count = json_integer_value(json_object_get(fault, "count"));
        if (!matches(fault, action, role, named_only)) {
            continue;
        }
        taken = json_deep_copy(fault);
        if (count > 1) {
            (void)json_object_set_new(fault, "count", json_integer(count - 1));
        } else if (count >= 0) {
            (void)json_array_remove(faults->list, index);
        }
        break;
    }
    (void)pthread_mutex_unlock(&faults->lock);
    return taken;
}

static const char *text_of(json_t *fault, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(fault, key));

    return text == NULL ? otherwise : text;
}

static void put_headers(json_t *fault, struct lc_reply *reply)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(json_object_get(fault, "headers"), name, value)
    {
        lc_reply_header(reply, name, json_string_value(value));
    }
}

static void error_answer(json_t *fault, const struct lc_fault_words *words, struct lc_reply *reply)
{
    struct lc_refusal refusal;
    const char *type = text_of(fault, "type", NULL);
    json_int_t status = json_integer_value(json_object_get(fault, "status"));

    (void)lc_refuse(&refusal, status == 0 ? 400 : (unsigned)status, text_of(fault, "code", ""), "%s",
                    text_of(fault, "message", "A fault was asked for."));
    if (type != NULL) {
        (void)snprintf(refusal.type, sizeof refusal.type, "%s", type);
    }
    refusal.own_type = type != NULL;
    words->refuse(words->with, &refusal, reply);
    put_headers(fault, reply);
}

static void status_answer(json_t *fault, struct lc_reply *reply)
{
    reply->status = (unsigned)json_integer_value(json_object_get(fault, "status"));
    lc_buf_text(&reply->body, text_of(fault, "body", ""));
    lc_reply_header(reply, "Content-Type", text_of(fault, "content_type", "text/html"));
    put_headers(fault, reply);
}

bool lc_fault_instead(json_t *fault, const struct lc_fault_words *words, struct lc_reply *reply, char *code,
                      size_t code_room)
{
    const char *kind = lc_fault_kind(fault);

    (void)snprintf(code, code_room, "%s", strcmp(kind, "error") == 0 ? text_of(fault, "code", "") : "Fault");
    if (strcmp(kind, "error") == 0) {
        error_answer(fault, words, reply);
    } else if (strcmp(kind, "status") == 0) {
        status_answer(fault, reply);
    } else if (strcmp(kind, "close") == 0) {
        reply->no_answer = true;
        reply->status = 0;
    } else if (strcmp(kind, "redirect") == 0) {
        json_int_t status = json_integer_value(json_object_get(fault, "status"));
        reply->status = status == 0 ? 302 : (unsigned)status;
        lc_reply_header(reply, "Location", text_of(fault, "location", words->location));
    } else if (strcmp(kind, "malformed") == 0) {
        reply->status = 200;
        lc_buf_text(&reply->body, text_of(fault, "body", words->malformed));
        lc_reply_header(reply, "Content-Type", words->malformed_type);
    } else {
        if (strcmp(kind, "delay") == 0) {
            (void)lc_pause(json_number_value(json_object_get(fault, "ms")));
        }
        return false;
    }
    return true;
}

void lc_fault_spoil(json_t *fault, struct lc_reply *reply)
{
    const char *kind = lc_fault_kind(fault);
    size_t bytes = (size_t)json_integer_value(json_object_get(fault, "bytes"));

    if (strcmp(kind, "truncate") == 0) {
        reply->cut = true;
        reply->cut_bytes = bytes;
    } else if (strcmp(kind, "oversize") == 0) {
        reply->total_bytes = bytes;
    } else if (strcmp(kind, "slow") == 0) {
        reply->slow_ms = json_number_value(json_object_get(fault, "ms_per_byte"));
    } else if (strcmp(kind, "content_type") == 0) {
        lc_reply_header(reply, "Content-Type", text_of(fault, "value", ""));
    }
}
