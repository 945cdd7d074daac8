/* SPDX-License-Identifier: MIT */
/* Errors of clouds, made by tables of rows. */
#include "base/error_table.h"

#include "base/redact.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WHO_MAX      128
#define HINT_MAX     320
#define CODE_MAX     64
#define REQUEST_MAX  96 /* room for two ids */
#define FRAME_MAX    40 /* the text between the parts */

#define HINT_REFUSED "the server refuses; check its URL, and the token, key or secret that is sent to it"

static const struct cfr_error_table_row redirect = {
    NULL, NULL, 0, CFR_E_REDIRECT,
    "this service never redirects; check its URL, and that no proxy answers in its place"};
static const struct cfr_error_table_row unexpected = {NULL, NULL, 0, CFR_E_ANSWER,
                                                      "such an answer was not expected; check the service's URL"};
static const struct cfr_error_table_row unavailable = {NULL, NULL, 0, CFR_E_UNAVAILABLE,
                                                       "the server is unavailable; this is usually temporary"};
static const struct cfr_error_table_row of_status[] = {
    {NULL, NULL, 401, CFR_E_DENIED, HINT_REFUSED},
    {NULL, NULL, 403, CFR_E_DENIED, HINT_REFUSED},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no such service at this URL; check it"},
    {NULL, NULL, 405, CFR_E_REJECTED, "there is no such service at this URL; check it"},
    {NULL, NULL, 407, CFR_E_DENIED,
     "a proxy requires a user and password: write them into the proxy's URL, or name this server in no_proxy"},
    {NULL, NULL, 408, CFR_E_UNAVAILABLE, "the server is unavailable; this is usually temporary"},
    {NULL, NULL, 413, CFR_E_REJECTED, "the request is too large for the server"},
    {NULL, NULL, 429, CFR_E_THROTTLED, "the server limits the rate of calls; this is usually temporary"},
    {0},
};
static const struct cfr_error_table_row rejected = {
    NULL, NULL, 0, CFR_E_REJECTED, "the server does not accept the request; correct what its message names"};

static bool contains(struct cfr_view text, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; text.p != NULL && i + n <= text.n; i++) {
        if (strncasecmp(text.p + i, part, n) == 0)
            return true;
    }
    return false;
}

static bool is_one_of(struct cfr_view code, const char *codes)
{
    size_t n;

    for (; *codes != '\0'; codes += n + strspn(codes + n, " ")) {
        n = strcspn(codes, " ");
        if (cfr_view_eq(code, (struct cfr_view){codes, n}))
            return true;
    }
    return false;
}

const struct cfr_error_table_row *cfr_error_table_find(const struct cfr_error_table_row *rows, long status,
                                                       struct cfr_view code, struct cfr_view message)
{
    for (const struct cfr_error_table_row *row = rows; row->hint != NULL; row++) {
        if ((row->status == 0 || row->status == status) && (row->code == NULL || is_one_of(code, row->code)) &&
            (row->message == NULL || contains(message, row->message)))
            return row;
    }
    return NULL;
}

static const struct cfr_error_table_row *row_of_status(long status)
{
    const struct cfr_error_table_row *row =
        cfr_error_table_find(of_status, status, (struct cfr_view){NULL, 0}, (struct cfr_view){NULL, 0});

    if (row != NULL)
        return row;
    if (status >= 300 && status < 400)
        return &redirect;
    return status >= 500 ? &unavailable : status >= 400 ? &rejected : &unexpected;
}

/* Replaces `{who}` in HINT. */
static void write_hint(const char *hint, const struct cfr_error_table *r, char out[HINT_MAX])
{
    char clean[CFR_REDACT_MAX];
    char who[WHO_MAX + 64];
    const char *at = strstr(hint, "{who}");

    if (at == NULL) {
        (void)snprintf(out, HINT_MAX, "%s", hint);
        return;
    }
    (void)cfr_redact(r->who, r->secrets, r->secret_count, clean);
    if (clean[0] == '\0' && r->who_is == NULL)
        (void)snprintf(who, sizeof who, "the caller");
    else if (clean[0] == '\0')
        (void)snprintf(who, sizeof who, "the %.40s", r->who_is);
    else
        (void)snprintf(who, sizeof who, "%.40s%s\"%.*s%s\"", r->who_is != NULL ? r->who_is : "",
                       r->who_is != NULL ? " " : "", WHO_MAX, clean, strlen(clean) > WHO_MAX ? "..." : "");
    (void)snprintf(out, HINT_MAX, "%.*s%s%s", (int)(at - hint), hint, who, at + strlen("{who}"));
}

/* The message is truncated when the text would be too long, so that the advice after it is kept. */
static void make_room(char *message, size_t taken)
{
    size_t room = taken < CFR_ERR_TEXT_MAX ? CFR_ERR_TEXT_MAX - taken : 0;

    if (strlen(message) <= room)
        return;
    if (room < 4)
        message[0] = '\0';
    else
        (void)cfr_view_show(cfr_view_of(message), message, room);
}

static int set(const struct cfr_error_table *r, int result, const char *hint, struct cfr_err *err)
{
    char code[CFR_REDACT_MAX];
    char message[CFR_REDACT_MAX];
    char request[CFR_REDACT_MAX];

    (void)cfr_redact(r->code, r->secrets, r->secret_count, code);
    (void)cfr_redact(r->message, r->secrets, r->secret_count, message);
    (void)cfr_redact(r->request_id, r->secrets, r->secret_count, request);
    code[CODE_MAX] = '\0';
    request[REQUEST_MAX] = '\0';
    if (code[0] == '\0' && message[0] == '\0')
        return cfr_err_set(err, result, "HTTP %ld without an error code%s%s: %s", r->status,
                           request[0] != '\0' ? ", request " : "", request, hint);
    make_room(message, FRAME_MAX + strlen(code) + strlen(request) + strlen(hint));
    return cfr_err_set(err, result, "%s%s%s (HTTP %ld%s%s): %s", code,
                       code[0] != '\0' && message[0] != '\0' ? ": " : "", message, r->status,
                       request[0] != '\0' ? ", request " : "", request, hint);
}

int cfr_error_table_set(const struct cfr_error_table *r, struct cfr_err *err)
{
    const struct cfr_error_table_row *row =
        r->rows != NULL ? cfr_error_table_find(r->rows, r->status, r->code, r->message) : NULL;
    char hint[HINT_MAX];

    if (row == NULL)
        row = row_of_status(r->status);
    write_hint(row->hint, r, hint);
    return set(r, row->result, hint, err);
}
