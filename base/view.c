/* SPDX-License-Identifier: MIT */
/* Comparing, searching and showing borrowed bytes. */
#include "base/view_private.h"

#include <string.h>
#include <strings.h>

struct cfr_view cfr_view_of(const char *s)
{
    return (struct cfr_view){s, s != NULL ? strlen(s) : 0};
}

bool cfr_view_eq(struct cfr_view a, struct cfr_view b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool cfr_view_is(struct cfr_view a, const char *s)
{
    return cfr_view_eq(a, cfr_view_of(s));
}

bool cfr_view_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool cfr_view_is_nocase(struct cfr_view a, const char *s)
{
    return a.n == strlen(s) && (a.n == 0 || strncasecmp(a.p, s, a.n) == 0);
}

bool cfr_view_starts(struct cfr_view a, const char *prefix)
{
    size_t n = strlen(prefix);

    return n == 0 || (a.n >= n && memcmp(a.p, prefix, n) == 0);
}

ptrdiff_t cfr_view_find(struct cfr_view a, const char *needle)
{
    const char *hit = a.n != 0 ? memmem(a.p, a.n, needle, strlen(needle)) : NULL;

    return hit != NULL ? hit - a.p : -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct cfr_view cfr_view_trim(struct cfr_view a)
{
    while (a.n > 0 && is_space(a.p[0])) {
        a.p++;
        a.n--;
    }
    while (a.n > 0 && is_space(a.p[a.n - 1]))
        a.n--;
    return a;
}

bool cfr_view_int(struct cfr_view a, int64_t *out)
{
    bool negative = a.n > 0 && a.p[0] == '-';
    size_t i = negative || (a.n > 0 && a.p[0] == '+') ? 1 : 0;
    int64_t value = 0;

    if (i == a.n)
        return false;
    for (; i < a.n; i++) {
        if (a.p[i] < '0' || a.p[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, a.p[i] - '0', &value))
            return false;
    }
    /* Built as a negative number, because INT64_MIN has no positive twin. */
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

bool cfr_view_printable(struct cfr_view a)
{
    for (size_t i = 0; i < a.n; i++) {
        if (a.p[i] < 0x20 || a.p[i] > 0x7e)
            return false;
    }
    return true;
}

size_t cfr_view_utf8_len(struct cfr_view a)
{
    static const unsigned char least[5] = {0, 0, 0xc2, 0xe0, 0xf0};
    const unsigned char *p = (const unsigned char *)a.p;
    size_t k = a.n == 0 ? 0 : p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

    if (k == 0 || k > a.n || (k > 1 && p[0] < least[k]))
        return 0;
    for (size_t i = 1; i < k; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return k;
}

size_t cfr_view_utf8_prefix(struct cfr_view a)
{
    size_t i = 0;
    size_t k = 1;

    while (k != 0 && i < a.n) {
        uint64_t eight = UINT64_MAX;

        if (a.n - i >= sizeof eight)
            memcpy(&eight, a.p + i, sizeof eight);
        /* Every byte of a longer sequence has the highest bit. */
        if ((eight & UINT64_C(0x8080808080808080)) == 0)
            k = sizeof eight;
        else
            k = (a.p[i] & 0x80) == 0 ? 1 : cfr_view_utf8_len((struct cfr_view){a.p + i, a.n - i});
        i += k;
    }
    return i;
}

bool cfr_view_is_utf8(struct cfr_view a)
{
    return cfr_view_utf8_prefix(a) == a.n;
}

/* Characters that are not shown, or change where others are: of Unicode's categories Cc, Cf, Co, Zl and Zp, and the
 * rest of the plane of tags, sorted. The last two of each plane, which are no characters, follow from their numbers. */
static const struct {
    uint32_t first;
    uint32_t last;
} hidden[] = {
    {0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0xfffff}, {0x100000, 0x10ffff},
};

bool cfr_view_is_shown(uint32_t c)
{
    if ((c & 0xfffe) == 0xfffe)
        return false;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0] && c >= hidden[i].first; i++) {
        if (c <= hidden[i].last)
            return false;
    }
    return true;
}

size_t cfr_view_char(struct cfr_view a, uint32_t *c)
{
    const unsigned char *p = (const unsigned char *)a.p;
    size_t n = cfr_view_utf8_len(a);

    *c = n == 0 ? 0 : n == 1 ? p[0] : p[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++)
        *c = *c << 6 | (p[i] & 0x3fU);
    return n;
}

size_t cfr_view_shown_len(struct cfr_view text)
{
    uint32_t c;
    size_t n = cfr_view_char(text, &c);

    return n != 0 && cfr_view_is_shown(c) ? n : 0;
}

bool cfr_view_is_text(struct cfr_view a)
{
    size_t k;

    for (; a.n != 0; a = (struct cfr_view){a.p + k, a.n - k}) {
        k = cfr_view_shown_len(a);
        if (k == 0)
            return false;
    }
    return true;
}

char *cfr_view_show(struct cfr_view text, char *out, size_t size)
{
    size_t most = text.n < size ? text.n : size - 4;
    size_t i = 0;

    while (i < text.n) {
        size_t n = cfr_view_shown_len((struct cfr_view){text.p + i, text.n - i});

        if (i + (n != 0 ? n : 1) > most)
            break;
        if (n == 0)
            out[i++] = '?';
        for (; n != 0; n--, i++)
            out[i] = text.p[i];
    }
    memcpy(out + i, i < text.n ? "..." : "", i < text.n ? 4 : 1);
    return out;
}

/* ---- what bytes look like ---- */

/* Every second byte of ASCII text is NUL. */
static bool is_utf16(struct cfr_view a)
{
    static const unsigned char little[] = {0xff, 0xfe};
    static const unsigned char big[] = {0xfe, 0xff};

    if (a.n >= 2 && (memcmp(a.p, little, 2) == 0 || memcmp(a.p, big, 2) == 0))
        return true;
    return a.n >= 4 && ((a.p[0] == '\0') != (a.p[1] == '\0')) && (a.p[0] == '\0') == (a.p[2] == '\0') &&
           (a.p[1] == '\0') == (a.p[3] == '\0');
}

static enum cfr_view_form form_of_bytes(struct cfr_view a)
{
    static const struct {
        const char *begins;
        enum cfr_view_form form;
    } rows[] = {
        {"\xef\xbb\xbf", CFR_FORM_MARKED},      {"\x1f\x8b", CFR_FORM_ARCHIVE}, {"PK\x03\x04", CFR_FORM_ARCHIVE},
        {"\x28\xb5\x2f\xfd", CFR_FORM_ARCHIVE}, {"\x30\x82", CFR_FORM_DER},
    };

    if (is_utf16(a))
        return CFR_FORM_UTF16;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cfr_view_starts(a, rows[i].begins))
            return rows[i].form;
    }
    return cfr_view_is_utf8(a) && memchr(a.p, '\0', a.n) == NULL ? CFR_FORM_TEXT : CFR_FORM_BINARY;
}

/* A begins with "-----BEGIN ". */
static enum cfr_view_form form_of_pem(struct cfr_view a)
{
    static const struct {
        const char *label;
        enum cfr_view_form form;
    } rows[] = {
        {"CERTIFICATE REQUEST", CFR_FORM_REQUEST},
        {"NEW CERTIFICATE REQUEST", CFR_FORM_REQUEST},
        {"CERTIFICATE", CFR_FORM_CERTIFICATE},
        {"TRUSTED CERTIFICATE", CFR_FORM_CERTIFICATE},
        {"ENCRYPTED PRIVATE", CFR_FORM_ENCRYPTED_KEY},
        {"OPENSSH PRIVATE", CFR_FORM_OPENSSH_KEY},
        {"PRIVATE KEY", CFR_FORM_KEY},
        {"RSA PRIVATE KEY", CFR_FORM_KEY},
        {"EC PRIVATE KEY", CFR_FORM_KEY},
        {"EC PARAMETERS", CFR_FORM_KEY},
        {"PUBLIC KEY", CFR_FORM_PUBLIC_KEY},
        {"RSA PUBLIC KEY", CFR_FORM_PUBLIC_KEY},
    };
    const size_t skip = sizeof "-----BEGIN " - 1;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!cfr_view_starts((struct cfr_view){a.p + skip, a.n - skip}, rows[i].label))
            continue;
        return rows[i].form == CFR_FORM_KEY && cfr_view_find(a, "ENCRYPTED") >= 0 ? CFR_FORM_ENCRYPTED_KEY
                                                                                  : rows[i].form;
    }
    return CFR_FORM_PEM;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t count_dots(struct cfr_view a)
{
    size_t dots = 0;

    for (size_t i = 0; i < a.n; i++)
        dots += a.p[i] == '.';
    return dots;
}

enum cfr_view_form cfr_view_form(struct cfr_view a)
{
    struct cfr_view text = cfr_view_trim(a);
    enum cfr_view_form form = text.n == 0 ? CFR_FORM_EMPTY : form_of_bytes(a);

    if (form != CFR_FORM_TEXT)
        return form;
    if (text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0])
        return CFR_FORM_QUOTED;
    if ((text.n > 7 && cfr_view_is_nocase((struct cfr_view){text.p, 7}, "bearer ")) ||
        (text.n > 14 && cfr_view_is_nocase((struct cfr_view){text.p, 14}, "authorization:")))
        return CFR_FORM_HEADER;
    if (cfr_view_starts(text, "-----BEGIN "))
        return form_of_pem(text);
    if (text.p[0] == '[' && text.n > 1 && is_letter(text.p[1]))
        return CFR_FORM_INI;
    if (text.p[0] == '{' || text.p[0] == '[')
        return CFR_FORM_JSON;
    if (text.p[0] == '<' && text.n > 1 && (strchr("!?/", text.p[1]) != NULL || is_letter(text.p[1])))
        return CFR_FORM_MARKUP;
    /* `{"` in base64 and base64url, and what base64 makes of that; "-----BEGIN". */
    if (cfr_view_starts(text, "eyJ"))
        return count_dots(text) == 2 ? CFR_FORM_JWT : count_dots(text) == 0 ? CFR_FORM_BASE64_JSON : CFR_FORM_TEXT;
    if (cfr_view_starts(text, "ZXlK"))
        return CFR_FORM_BASE64_JWT;
    if (cfr_view_starts(text, "LS0tLS1CRUdJTi"))
        return CFR_FORM_BASE64_PEM;
    if (cfr_view_starts(text, "apiVersion:") || cfr_view_starts(text, "kind:"))
        return CFR_FORM_MANIFEST;
    return CFR_FORM_TEXT;
}

const char *cfr_view_mistake(struct cfr_view a, enum cfr_view_form expected)
{
    static const char *const names[] = {
#define X(name, text) [CFR_FORM_##name] = (text),
        CFR_VIEW_FORM_LIST(X)
#undef X
    };
    enum cfr_view_form form = cfr_view_form(a);

    return form == expected ? NULL : names[form];
}

bool cfr_view_line(struct cfr_view *rest, struct cfr_view *line)
{
    const char *lf;

    if (rest->n == 0)
        return false;
    lf = memchr(rest->p, '\n', rest->n);
    line->p = rest->p;
    line->n = lf != NULL ? (size_t)(lf - rest->p) : rest->n;
    rest->p += line->n + (lf != NULL ? 1 : 0);
    rest->n -= line->n + (lf != NULL ? 1 : 0);
    return true;
}
