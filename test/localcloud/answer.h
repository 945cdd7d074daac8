/* SPDX-License-Identifier: MIT */
/* Answers of the AWS query protocol, written as XML or, when the caller accepts it, as JSON. */
#ifndef LC_ANSWER_H
#define LC_ANSWER_H

#include "text.h"

/* Why a request is refused, as it goes over the wire. */
struct lc_refusal {
    unsigned status;
    char code[80];
    char type[48]; /* "Sender" or "Receiver"; of a fault, what its "type" says */
    char message[1400];
    bool no_message; /* the element is left out */
    bool front_end;  /* the dispatcher's XML namespace */
    bool own_type;   /* type was asked for by a fault */
};

/* Fills it (status < 500 is the sender's fault) and returns -1. */
int lc_refuse(struct lc_refusal *refusal, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* An answer being written. */
struct lc_answer {
    struct lc_buf *out;
    bool json;
    unsigned depth;
    bool fresh; /* nothing was written yet at this depth */
};

void lc_answer_start(struct lc_answer *answer, struct lc_buf *out, bool json, const char *root,
                     const char *xml_namespace);
void lc_answer_open(struct lc_answer *answer, const char *name);
void lc_answer_close(struct lc_answer *answer, const char *name);
void lc_answer_text(struct lc_answer *answer, const char *name, const char *value);
/* Optional member: left out in XML, null in JSON, when value is NULL. */
void lc_answer_maybe(struct lc_answer *answer, const char *name, const char *value);
void lc_answer_integer(struct lc_answer *answer, const char *name, long value);
/* ISO 8601 in XML, an epoch number in scientific notation in JSON. */
void lc_answer_time(struct lc_answer *answer, const char *name, int64_t when_s);
void lc_answer_end(struct lc_answer *answer, const char *root);

void lc_answer_refusal(const struct lc_refusal *refusal, bool json, const char *request_id, struct lc_buf *out);

#endif
