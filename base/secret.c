/* SPDX-License-Identifier: MIT */
/* Secret bytes: growth, wiping, escaping. */
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From here on a secret has pages of its own: they move when it grows, where a copy would be there twice. */
#define PAGES_FROM 262144

void cfr_secret_wipe(void *p, size_t n)
{
    if (p != NULL && n != 0)
        explicit_bzero(p, n);
}

void cfr_secret_init(struct cfr_secret *s, size_t limit)
{
    *s = (struct cfr_secret){.limit = limit};
}

static void release(struct cfr_secret *s)
{
    cfr_secret_wipe(s->p, s->cap);
    if (s->cap >= PAGES_FROM)
        (void)munmap(s->p, s->cap);
    else
        free(s->p);
}

static char *moved_pages(struct cfr_secret *s, size_t cap)
{
    char *p = s->cap >= PAGES_FROM ? mremap(s->p, s->cap, cap, MREMAP_MAYMOVE)
                                   : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p != MAP_FAILED ? p : NULL;
}

static int grow(struct cfr_secret *s, size_t need, struct cfr_err *err)
{
    size_t cap = s->cap < 64 ? 64 : s->cap;
    char *p;

    if (need > SIZE_MAX / 4)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory for %zu bytes", need);
    while (cap < need + 1)
        cap *= 2;
    if (cap - 1 > s->limit)
        cap = s->limit + 1;
    /* Not realloc: it may move the bytes and leave the old copy behind. */
    p = cap >= PAGES_FROM ? moved_pages(s, cap) : malloc(cap);
    if (p == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory for %zu bytes", cap);
    if (s->cap < PAGES_FROM) {
        if (s->len != 0)
            memcpy(p, s->p, s->len);
        release(s);
    }
    s->p = p;
    s->cap = cap;
    s->p[s->len] = '\0';
    return 0;
}

static int make_room(struct cfr_secret *s, size_t n, struct cfr_err *err)
{
    if (n > s->limit - s->len)
        return cfr_err_set(err, CFR_E_LIMIT, "more than the %zu bytes that are allowed here", s->limit);
    return s->len + n + 1 > s->cap ? grow(s, s->len + n, err) : 0;
}

char *cfr_secret_reserve(struct cfr_secret *s, size_t n, struct cfr_err *err)
{
    return make_room(s, n, err) == 0 ? s->p + s->len : NULL;
}

void cfr_secret_grown(struct cfr_secret *s, size_t n)
{
    s->len += n;
    s->p[s->len] = '\0';
}

int cfr_secret_append(struct cfr_secret *s, struct cfr_view bytes, struct cfr_err *err)
{
    int rc = bytes.n != 0 ? make_room(s, bytes.n, err) : 0;

    if (rc != 0 || bytes.n == 0)
        return rc;
    memcpy(s->p + s->len, bytes.p, bytes.n);
    cfr_secret_grown(s, bytes.n);
    return 0;
}

int cfr_secret_append_str(struct cfr_secret *s, const char *text, struct cfr_err *err)
{
    return cfr_secret_append(s, cfr_view_of(text), err);
}

void cfr_secret_clear(struct cfr_secret *s)
{
    cfr_secret_wipe(s->p, s->cap);
    s->len = 0;
}

void cfr_secret_free(struct cfr_secret *s)
{
    release(s);
    *s = (struct cfr_secret){.limit = s->limit};
}

void cfr_secret_move(struct cfr_secret *to, struct cfr_secret *from)
{
    if (to == from)
        return;
    cfr_secret_free(to);
    *to = *from;
    *from = (struct cfr_secret){.limit = from->limit};
}

struct cfr_view cfr_secret_view(const struct cfr_secret *s)
{
    return (struct cfr_view){s->p, s->len};
}

static size_t json_escape(unsigned char c, char out[6])
{
    static const char hex[] = "0123456789abcdef";
    const char unicode[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    memcpy(out, unicode, sizeof unicode);
    if (c != '"' && c != '\\')
        return sizeof unicode;
    out[1] = (char)c;
    return 2;
}

static size_t percent_escape(unsigned char c, char out[6])
{
    static const char hex[] = "0123456789ABCDEF";

    out[0] = '%';
    out[1] = hex[c >> 4];
    out[2] = hex[c & 15];
    return 3;
}

/* One bit for each byte value, from 0 on: set for what needs no escape. */
struct plain_set {
    uint64_t bits[4];
};

static bool is_plain(const struct plain_set *plain, char c)
{
    return (plain->bits[(unsigned char)c >> 6] >> (c & 63) & 1) != 0;
}

/* How many bytes from P on JSON need not escape: all but control characters, the quotation mark and the backslash. */
static size_t json_stretch(const char *p, size_t n)
{
    static const struct plain_set plain = {
        {UINT64_C(0xfffffffb00000000), UINT64_C(0x7fffffffefffffff), UINT64_MAX, UINT64_MAX}};
    const uint64_t each = UINT64_C(0x0101010101010101);
    size_t i = 0;

    /* Eight at a time. The high bit of a byte of X - N * each is set, and that of X is not, only where X is less than
     * N, or a byte below it is. */
    for (; n - i >= 8; i += 8) {
        uint64_t x;
        uint64_t quote;
        uint64_t backslash;
        uint64_t del;

        memcpy(&x, p + i, sizeof x);
        quote = x ^ ('"' * each);
        backslash = x ^ ('\\' * each);
        del = x ^ (0x7f * each);
        if (((((x - 0x20 * each) | (quote - each) | (backslash - each) | (del - each)) & ~x) & 0x80 * each) != 0)
            break;
    }
    while (i < n && is_plain(&plain, p[i]))
        i++;
    return i;
}

/* All but letters, digits and -._~ (RFC 3986, 2.3). */
static size_t percent_stretch(const char *p, size_t n)
{
    static const struct plain_set plain = {{UINT64_C(0x03ff600000000000), UINT64_C(0x47fffffe87fffffe), 0, 0}};
    size_t i = 0;

    while (i < n && is_plain(&plain, p[i]))
        i++;
    return i;
}

/* Appends TEXT in stretches: what needs no escape as it is, the bytes between by ESCAPE. */
static int append_escaped(struct cfr_secret *s, struct cfr_view text, size_t (*stretch)(const char *p, size_t n),
                          size_t (*escape)(unsigned char, char out[6]), struct cfr_err *err)
{
    size_t i = 0;
    int rc = 0;

    while (rc == 0 && i < text.n) {
        size_t n = stretch(text.p + i, text.n - i);
        char esc[6];

        rc = cfr_secret_append(s, (struct cfr_view){text.p + i, n}, err);
        i += n;
        if (rc != 0 || i == text.n)
            break;
        n = escape((unsigned char)text.p[i++], esc);
        rc = cfr_secret_append(s, (struct cfr_view){esc, n}, err);
        cfr_secret_wipe(esc, sizeof esc);
    }
    return rc;
}

int cfr_secret_append_json(struct cfr_secret *s, struct cfr_view text, struct cfr_err *err)
{
    const struct cfr_view quote = {"\"", 1};
    int rc = make_room(s, text.n + 2, err);

    rc = rc != 0 ? rc : cfr_secret_append(s, quote, err);
    rc = rc != 0 ? rc : append_escaped(s, text, json_stretch, json_escape, err);
    return rc != 0 ? rc : cfr_secret_append(s, quote, err);
}

int cfr_secret_append_percent(struct cfr_secret *s, struct cfr_view text, struct cfr_err *err)
{
    return append_escaped(s, text, percent_stretch, percent_escape, err);
}

bool cfr_secret_equal(struct cfr_view a, struct cfr_view b)
{
    unsigned char diff = a.n == b.n ? 0 : 1;

    for (size_t i = 0; i < a.n; i++)
        diff |= (unsigned char)(a.p[i] ^ (b.n != 0 ? b.p[i % b.n] : 0));
    return diff == 0;
}
