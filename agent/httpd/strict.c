/* SPDX-License-Identifier: MIT */
/* Finds ambiguous request heads. */
#include "agent/httpd/strict_private.h"

#include "base/view.h"

#include <string.h>

static void refuse(struct cfr_httpd_strict *s, const char *why)
{
    if (s->why == NULL)
        s->why = why;
}

/* RFC 9110, 5.6.2. */
static bool is_token(const char *name)
{
    static const char chars[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return name[0] != '\0' && name[strspn(name, chars)] == '\0';
}

static bool has_control(const char *text, const char *allowed)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if ((*p < 0x20 || *p == 0x7f) && strchr(allowed, *p) == NULL)
            return true;
    }
    return false;
}

void cfr_httpd_strict_line(struct cfr_httpd_strict *s, bool in_place, const char *method, const char *uri,
                           const char *uri_end, const char *version)
{
    for (const char *p = uri; p < uri_end; p++) {
        /* The library has overwritten the question mark. */
        if (has_control(p, ""))
            refuse(s, "the path or query has a control character");
        p += strlen(p);
    }
    if (!in_place)
        return;
    if (uri != method + strlen(method) + 1 || version != uri_end + 1)
        refuse(s, "the request line is not METHOD PATH VERSION with one blank between each");
    s->next = version + strlen(version) + 2;
}

void cfr_httpd_strict_field(struct cfr_httpd_strict *s, const char *name, const char *value)
{
    const char *text = value != NULL ? value : "";

    if (s->next != NULL && name != s->next)
        refuse(s, "a line of the head does not end with CR and LF, is folded, or has a NUL");
    if (!is_token(name))
        refuse(s, "a header's name has a character that is not allowed there");
    if (has_control(text, "\t"))
        refuse(s, "a header's value has a control character");
    if (cfr_view_is_nocase(cfr_view_of(name), "Host") && ++s->hosts > 1)
        refuse(s, "Host is given twice");
    if (cfr_view_is_nocase(cfr_view_of(name), "Content-Length") && ++s->lengths > 1)
        refuse(s, "Content-Length is given twice");
    if (cfr_view_is_nocase(cfr_view_of(name), "Transfer-Encoding"))
        refuse(s, "Transfer-Encoding is not supported; send Content-Length");
    if (s->next != NULL)
        s->next = text + strlen(text) + 2;
}

const char *cfr_httpd_strict_end(struct cfr_httpd_strict *s, const char *end)
{
    if (s->next != NULL && end != s->next + 2)
        refuse(s, "a line of the head does not end with CR and LF, is folded, or has a NUL");
    return s->why;
}
