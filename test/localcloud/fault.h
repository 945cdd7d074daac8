/* SPDX-License-Identifier: MIT */
/* Requested faults, each pending until a request matches it. */
#ifndef LC_FAULT_H
#define LC_FAULT_H

#include "answer.h"
#include "http.h"
#include "json.h"

struct lc_faults;

struct lc_faults *lc_faults_new(struct lc_fail *fail);
void lc_faults_free(struct lc_faults *faults);

/* Takes a checked copy of a fault description. */
int lc_faults_add(struct lc_faults *faults, json_t *fault, struct lc_fail *fail);
void lc_faults_clear(struct lc_faults *faults);
/* {"faults": [description with the count that is left]} */
json_t *lc_faults_report(struct lc_faults *faults);

/* The oldest fault that matches, its count taken down by one; NULL when there is none. With named_only it
 * must name the action. The caller drops it. */
json_t *lc_faults_take(struct lc_faults *faults, const char *action, const char *role, bool named_only);

/* How the service that is asked words what a fault wants. */
struct lc_fault_words {
    void *with;
    void (*refuse)(void *with, const struct lc_refusal *refusal, struct lc_reply *reply);
    const char *location; /* of a redirect that names none */
    const char *malformed;
    const char *malformed_type;
};

/* A fault that is an answer by itself writes it into reply and returns true. "delay" waits and returns false.
 */
bool lc_fault_instead(json_t *fault, const struct lc_fault_words *words, struct lc_reply *reply, char *code,
                      size_t code_room);
/* A fault that spoils a normal answer does it here. */
void lc_fault_spoil(json_t *fault, struct lc_reply *reply);

const char *lc_fault_kind(json_t *fault);

#endif
