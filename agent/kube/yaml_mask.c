/* SPDX-License-Identifier: MIT */
/* Masking long words of a YAML text, and finding the originals. */
#include "agent/kube/yaml_mask_private.h"

#include <stdio.h>
#include <string.h>

#define MARK       "CFRVEIL"
#define MARK_BYTES (sizeof MARK - 1)
#define MASK_BYTES (MARK_BYTES + 16) /* and eight hexadecimal digits each for offset and length */
/* Shorter ones fit into the library's first buffer, which the caller wipes with the event. */
#define WORD_MIN 16

/* True for characters without a meaning to YAML inside a word, in any style. */
static bool in_word(char c)
{
    return c > 0x20 && c < 0x7f && strchr(",[]{}:#'\"\\", c) == NULL;
}

/* Length of the escape sequence at P, after its backslash. */
static size_t escape_len(const char *p, size_t n)
{
    size_t len = 1;

    if (n == 0)
        return 0;
    if (*p == 'x')
        len = 3;
    else if (*p == 'u')
        len = 5;
    else if (*p == 'U')
        len = 9;
    return len < n ? len : n;
}

/* Anchors and their aliases must stay the same word, and keys are no secrets: the parser compares them. */
static bool is_name(struct cfr_view text, size_t begin, size_t end)
{
    static const char *const keys[] = {
        "certificate-authority", "certificate-authority-data", "client-certificate", "client-certificate-data",
        "disable-compression",   "insecure-skip-tls-verify",   "provideClusterInfo"};
    char sign = begin != 0 ? text.p[begin - 1] : ' ';

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (cfr_view_is((struct cfr_view){text.p + begin, end - begin}, keys[i]))
            return true;
    }
    return (sign == '&' || sign == '*') && (begin == 1 || strchr(" \t\r\n[{,", text.p[begin - 2]) != NULL);
}

static int append_mark(struct cfr_secret *out, size_t at, size_t len, struct cfr_err *err)
{
    char mark[MASK_BYTES + 1];

    (void)snprintf(mark, sizeof mark, MARK "%08x%08x", (unsigned)at, (unsigned)len);
    return cfr_secret_append_str(out, mark, err);
}

int cfr_kube_yaml_mask(struct cfr_view text, struct cfr_secret *out, struct cfr_view *original, struct cfr_err *err)
{
    size_t done = 0;
    size_t i = 0;
    int rc = 0;

    *original = (struct cfr_view){NULL, 0};
    if (text.n > UINT32_MAX || cfr_view_find(text, MARK) >= 0)
        return cfr_secret_append(out, text, err);
    *original = text;
    while (rc == 0 && i < text.n) {
        size_t end = i;

        if (text.p[i] == '\\')
            i += 1 + escape_len(text.p + i + 1, text.n - i - 1);
        else if (!cfr_view_is_alnum(text.p[i]))
            i++;
        if (end != i)
            continue;
        while (end < text.n && in_word(text.p[end]))
            end++;
        if (end - i >= WORD_MIN && !is_name(text, i, end)) {
            rc = cfr_secret_append(out, (struct cfr_view){text.p + done, i - done}, err);
            if (rc == 0)
                rc = append_mark(out, i, end - i, err);
            done = end;
        }
        i = end;
    }
    return rc != 0 ? rc : cfr_secret_append(out, (struct cfr_view){text.p + done, text.n - done}, err);
}

/* Eight hexadecimal digits, as append_mark wrote them. */
static size_t parse_number(const char *p)
{
    size_t n = 0;

    for (int i = 0; i < 8; i++)
        n = n * 16 + (size_t)(p[i] >= 'a' ? p[i] - 'a' + 10 : p[i] - '0') % 16;
    return n;
}

bool cfr_kube_yaml_mask_next(struct cfr_view *rest, struct cfr_view original, struct cfr_view *piece)
{
    ptrdiff_t mark = original.n != 0 ? cfr_view_find(*rest, MARK) : -1;
    size_t at;
    size_t len;

    if (rest->n == 0)
        return false;
    *piece = (struct cfr_view){rest->p, mark < 0 ? rest->n : (size_t)mark};
    if (mark == 0 && rest->n >= MASK_BYTES) {
        at = parse_number(rest->p + MARK_BYTES);
        len = parse_number(rest->p + MARK_BYTES + 8);
        piece->n = MASK_BYTES;
        rest->p += MASK_BYTES;
        rest->n -= MASK_BYTES;
        if (at <= original.n && len <= original.n - at)
            *piece = (struct cfr_view){original.p + at, len};
        return true;
    }
    if (mark == 0)
        piece->n = rest->n;
    rest->p += piece->n;
    rest->n -= piece->n;
    return true;
}
