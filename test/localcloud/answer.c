/* SPDX-License-Identifier: MIT */
/* Answers of the AWS query protocol, written as XML or, when the caller accepts it, as JSON. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

#define STS_NAMESPACE       "https://sts.amazonaws.com/doc/2011-06-15/"
#define FRONT_END_NAMESPACE "http://webservices.amazon.com/AWSFault/2005-15-09"

int lc_refuse(struct lc_refusal *refusal, unsigned status, const char *code, const char *format, ...)
{
    va_list args;

    *refusal = (struct lc_refusal){.status = status};
    (void)snprintf(refusal->code, sizeof refusal->code, "%s", code);
    (void)snprintf(refusal->type, sizeof refusal->type, "%s", status < 500 ? "Sender" : "Receiver");
    va_start(args, format);
    (void)vsnprintf(refusal->message, sizeof refusal->message, format, args);
    va_end(args);
    return -1;
}

static void put_xml(struct lc_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            lc_buf_text(out, "&amp;");
            break;
        case '<':
            lc_buf_text(out, "&lt;");
            break;
        case '>':
            lc_buf_text(out, "&gt;");
            break;
        case '"':
            lc_buf_text(out, "&quot;");
            break;
        case '\'':
            lc_buf_text(out, "&#39;");
            break;
        default:
            /* XML 1.0 has no other control characters, not even as references. */
            lc_buf_add(out, (unsigned char)*text < 0x20 && strchr("\t\n\r", *text) == NULL ? "?" : text, 1);
        }
    }
}

static void put_json(struct lc_buf *out, const char *text)
{
    lc_buf_text(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            lc_buf_text(out, "\\");
            lc_buf_add(out, text, 1);
        } else if ((unsigned char)*text < 0x20) {
            lc_buf_format(out, "\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            lc_buf_add(out, text, 1);
        }
    }
    lc_buf_text(out, "\"");
}

static void indent(struct lc_answer *answer)
{
    lc_buf_fill(answer->out, ' ', 2 * (size_t)answer->depth);
}

static void json_name(struct lc_answer *answer, const char *name)
{
    lc_buf_text(answer->out, answer->fresh ? "" : ",");
    put_json(answer->out, name);
    lc_buf_text(answer->out, ":");
    answer->fresh = false;
}

void lc_answer_start(struct lc_answer *answer, struct lc_buf *out, bool json, const char *root,
                     const char *xml_namespace)
{
    *answer = (struct lc_answer){.out = out, .json = json, .fresh = true};
    if (json) {
        lc_buf_text(out, "{");
        json_name(answer, root);
        lc_buf_text(out, "{");
        answer->fresh = true;
    } else {
        lc_buf_format(out, "<%s xmlns=\"%s\">\n", root, xml_namespace == NULL ? STS_NAMESPACE : xml_namespace);
    }
    answer->depth = 1;
}

void lc_answer_open(struct lc_answer *answer, const char *name)
{
    if (answer->json) {
        json_name(answer, name);
        lc_buf_text(answer->out, "{");
    } else {
        indent(answer);
        lc_buf_format(answer->out, "<%s>\n", name);
    }
    answer->depth++;
    answer->fresh = true;
}

void lc_answer_close(struct lc_answer *answer, const char *name)
{
    answer->depth--;
    answer->fresh = false;
    if (answer->json) {
        lc_buf_text(answer->out, "}");
    } else {
        indent(answer);
        lc_buf_format(answer->out, "</%s>\n", name);
    }
}

void lc_answer_text(struct lc_answer *answer, const char *name, const char *value)
{
    if (answer->json) {
        json_name(answer, name);
        put_json(answer->out, value);
        return;
    }
    indent(answer);
    lc_buf_format(answer->out, "<%s>", name);
    put_xml(answer->out, value);
    lc_buf_format(answer->out, "</%s>\n", name);
}

void lc_answer_maybe(struct lc_answer *answer, const char *name, const char *value)
{
    if (value != NULL) {
        lc_answer_text(answer, name, value);
    } else if (answer->json) {
        json_name(answer, name);
        lc_buf_text(answer->out, "null");
    }
}

static void raw_number(struct lc_answer *answer, const char *name, const char *number)
{
    if (answer->json) {
        json_name(answer, name);
        lc_buf_text(answer->out, number);
    } else {
        lc_answer_text(answer, name, number);
    }
}

void lc_answer_integer(struct lc_answer *answer, const char *name, long value)
{
    char number[32] = "";

    (void)snprintf(number, sizeof number, "%ld", value);
    raw_number(answer, name, number);
}

/* 1767326645 becomes 1.767326645E9: all digits that count, at least one after the point. */
static void scientific(int64_t value, char *out, size_t room)
{
    char digits[24] = "";
    size_t len = 0;
    size_t exponent = 0;

    (void)snprintf(digits, sizeof digits, "%lld", (long long)(value < 0 ? 0 : value));
    len = strlen(digits);
    exponent = len - 1;
    while (len > 1 && digits[len - 1] == '0') {
        digits[--len] = '\0';
    }
    (void)snprintf(out, room, "%c.%sE%zu", digits[0], len > 1 ? digits + 1 : "0", exponent);
}

void lc_answer_time(struct lc_answer *answer, const char *name, int64_t when_s)
{
    char text[LC_TIME_BYTES] = "";

    if (answer->json) {
        scientific(when_s, text, sizeof text);
        raw_number(answer, name, text);
    } else {
        lc_time_iso(when_s, text);
        lc_answer_text(answer, name, text);
    }
}

void lc_answer_end(struct lc_answer *answer, const char *root)
{
    if (answer->json) {
        lc_buf_text(answer->out, "}}");
    } else {
        lc_buf_format(answer->out, "</%s>\n", root);
    }
}

void lc_answer_refusal(const struct lc_refusal *refusal, bool json, const char *request_id, struct lc_buf *out)
{
    struct lc_answer answer;

    if (json) {
        answer = (struct lc_answer){.out = out, .json = true, .fresh = true};
        lc_buf_text(out, "{");
    } else {
        lc_answer_start(&answer, out, false, "ErrorResponse", refusal->front_end ? FRONT_END_NAMESPACE : NULL);
    }
    lc_answer_open(&answer, "Error");
    lc_answer_text(&answer, "Type", refusal->type);
    lc_answer_text(&answer, "Code", refusal->code);
    if (!refusal->no_message) {
        lc_answer_text(&answer, "Message", refusal->message);
    }
    lc_answer_close(&answer, "Error");
    lc_answer_text(&answer, "RequestId", request_id);
    if (json) {
        lc_buf_text(out, "}");
    } else {
        lc_answer_end(&answer, "ErrorResponse");
    }
}
