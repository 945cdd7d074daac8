/* SPDX-License-Identifier: MIT */
/* A request written as text, for the tests of the endpoints' shapes: "GET /path?query" and lines "Name: value". */
#ifndef TEST_SERVE_ASK_H
#define TEST_SERVE_ASK_H

#include "serve/sdk/endpoint.h"
#include "unit.h"

static const char *ask_headers; /* the lines of the request that is being made; NULL = none */

/* As the server does it: names without case, and what came twice is empty. */
static inline struct cfr_view ask_header(void *ctx, const char *name)
{
    struct cfr_view rest = cfr_view_of(ask_headers);
    struct cfr_view line;
    struct cfr_view found = {NULL, 0};

    (void)ctx;
    while (cfr_view_line(&rest, &line)) {
        size_t n = strlen(name);

        if (line.n <= n || line.p[n] != ':' || !cfr_view_is_nocase((struct cfr_view){line.p, n}, name))
            continue;
        found =
            found.p != NULL ? (struct cfr_view){"", 0} : cfr_view_trim((struct cfr_view){line.p + n + 1, line.n - n - 1});
        if (found.p == NULL)
            found.p = "";
    }
    return found;
}

/* LINE is "GET /path?query". */
static inline struct cfr_endpoint_request ask_request(const char *line, const char *headers)
{
    const char *path = strchr(line, ' ') + 1;
    size_t n = strcspn(path, "?");

    ask_headers = headers;
    return (struct cfr_endpoint_request){.method = {line, (size_t)(path - line) - 1},
                                         .path = {path, n},
                                         .query = path[n] == '?' ? cfr_view_of(path + n + 1) : (struct cfr_view){"", 0},
                                         .header = ask_header,
                                         .peer = "127.0.0.1"};
}

static inline const char *ask_answer_header(const struct cfr_endpoint_answer *a, const char *name)
{
    for (size_t i = 0; i < a->header_count; i++) {
        if (strcmp(a->headers[i].name, name) == 0)
            return a->headers[i].value;
    }
    return NULL;
}

static inline const char *ask_body(const struct cfr_endpoint_answer *a)
{
    return a->body.p != NULL ? a->body.p : "";
}

#endif
