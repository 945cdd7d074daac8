/* SPDX-License-Identifier: MIT */
/* Parsing the head of an HTTP answer. */
#include "agent/http/header_private.h"

#include "base/time.h"

#include <string.h>

/* The request ids of clouds and API servers. */
static const char *const id_names[] = {
    "x-amzn-requestid",       "x-amz-request-id", "x-ms-request-id", "x-goog-request-id",
    "x-openstack-request-id", "audit-id",         "x-request-id",
};

static void copy_value(char *to, size_t cap, struct cfr_view value)
{
    if (value.n == 0 || value.n >= cap || !cfr_view_printable(value))
        return;
    memcpy(to, value.p, value.n);
    to[value.n] = '\0';
}

static bool is_request_id(struct cfr_view name)
{
    for (size_t i = 0; i < sizeof id_names / sizeof id_names[0]; i++) {
        if (cfr_view_is_nocase(name, id_names[i]))
            return true;
    }
    return false;
}

static void parse_retry_after(struct cfr_http_head *head, struct cfr_view value)
{
    int64_t n;

    if (cfr_view_int(value, &n) && n >= 0) {
        head->has_retry = true;
        head->retry_s = n;
        head->retry_at_s = 0;
    } else if (cfr_time_parse_http(value, &n)) {
        head->has_retry = true;
        head->retry_at_s = n;
    }
}

/* Appends the text of `299 AGENT "TEXT"`; other codes are about caches. A text that does not fit is cut. */
static void add_warning(struct cfr_http_head *head, struct cfr_view value)
{
    ptrdiff_t quote = cfr_view_find(value, "\"");
    size_t at = strlen(head->warning);

    if (!cfr_view_starts(value, "299 ") || quote < 0)
        return;
    for (const char *p = at != 0 ? "; " : ""; *p != '\0' && at < sizeof head->warning - 1; p++)
        head->warning[at++] = *p;
    for (size_t i = (size_t)quote + 1; i < value.n && value.p[i] != '"' && at < sizeof head->warning - 1; i++) {
        i += value.p[i] == '\\' && i + 1 < value.n;
        head->warning[at++] = value.p[i];
    }
    head->warning[at] = '\0';
}

int cfr_http_head_line(struct cfr_http_head *head, struct cfr_view line, struct cfr_err *err)
{
    size_t bytes = head->bytes + line.n;
    const char *colon;
    struct cfr_view name;
    struct cfr_view value;

    if (cfr_view_starts(line, "HTTP/"))
        *head = (struct cfr_http_head){0};
    head->bytes = bytes;
    if (bytes > CFR_HTTP_HEAD_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "the answer's head is larger than %d bytes", CFR_HTTP_HEAD_MAX);
    colon = line.n != 0 ? memchr(line.p, ':', line.n) : NULL;
    if (colon == NULL)
        return 0;
    name = (struct cfr_view){line.p, (size_t)(colon - line.p)};
    value = cfr_view_trim((struct cfr_view){colon + 1, line.n - name.n - 1});
    if (cfr_view_is_nocase(name, "content-type"))
        copy_value(head->content_type, sizeof head->content_type, value);
    else if (cfr_view_is_nocase(name, "retry-after"))
        parse_retry_after(head, value);
    else if (cfr_view_is_nocase(name, "date"))
        (void)cfr_time_parse_http(value, &head->date_s);
    else if (cfr_view_is_nocase(name, "warning"))
        add_warning(head, value);
    else if (is_request_id(name) && head->request_id[0] == '\0')
        copy_value(head->request_id, sizeof head->request_id, value);
    return 0;
}

int64_t cfr_http_head_retry_after_s(const struct cfr_http_head *head, int64_t now_s)
{
    int64_t s = head->retry_s;

    if (!head->has_retry)
        return -1;
    if (head->retry_at_s != 0)
        s = head->retry_at_s - (head->date_s != 0 ? head->date_s : now_s);
    return s < 0 ? 0 : s > CFR_HTTP_RETRY_MAX_S ? CFR_HTTP_RETRY_MAX_S : s;
}
