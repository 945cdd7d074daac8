/* SPDX-License-Identifier: MIT */
/* The head of an HTTP answer, parsed line by line (RFC 9110). Pure. */
#ifndef CFR_AGENT_HTTP_HEADER_PRIVATE_H
#define CFR_AGENT_HTTP_HEADER_PRIVATE_H

#include "base/err.h"
#include "base/view.h"

#define CFR_HTTP_HEAD_MAX    65536
#define CFR_HTTP_RETRY_MAX_S 86400
#define CFR_HTTP_WARNING_MAX 256

/* Zero-initialised is an empty head. */
struct cfr_http_head {
    char content_type[128]; /* empty = none, or too long */
    char request_id[128];   /* empty = none; printable ASCII */
    /* The texts of the Warning fields with the code 299 (RFC 7234, 5.5), as API servers send them: joined by "; ",
     * without their quotes and escapes, not made printable, and cut to the room. */
    char warning[CFR_HTTP_WARNING_MAX];
    bool has_retry;
    int64_t retry_s;    /* Retry-After in seconds, or 0 */
    int64_t retry_at_s; /* Retry-After as an instant, or 0 */
    int64_t date_s;     /* 0 = none */
    size_t bytes;       /* of all lines so far */
};

/* Parses one line, with or without its line end: the status line (which discards an interim answer before it)
 * or a field. CFR_E_LIMIT once all lines together exceed CFR_HTTP_HEAD_MAX. */
int cfr_http_head_line(struct cfr_http_head *head, struct cfr_view line, struct cfr_err *err);
/* The server's Retry-After in seconds, 0 to CFR_HTTP_RETRY_MAX_S, or -1. An instant is relative to the server's own
 * Date if there is one, else to NOW_S. */
int64_t cfr_http_head_retry_after_s(const struct cfr_http_head *head, int64_t now_s);

#endif
