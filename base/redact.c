/* SPDX-License-Identifier: MIT */
/* Redaction of messages that may repeat a secret. */
#include "base/redact.h"

#include "base/view_private.h"

#include <stdint.h>
#include <string.h>

#define KEEP     (CFR_REDACT_MAX - 4)
#define WORD_MAX 64
#define SHARED   12
/* Fewer characters would be found in any text. */
#define LEAST 4
/* Shorter secrets may be a part of our own words, and shorter words of a passphrase may be our own. */
#define OWN_LEAST 8
/* No more is looked at: what is kept is shorter. */
#define LOOK_MAX 2048

static bool word_char(char c)
{
    return c > 0x20 && c < 0x7f;
}

/* Length of the character that TEXT begins with, or 0 if it is a blank or cannot be shown. */
static size_t letter_len(struct cfr_view text)
{
    return text.n != 0 && text.p[0] == ' ' ? 0 : cfr_view_shown_len(text);
}

/* `{"` in base64url, which is how the first two parts of every token begin. */
static bool like_token(struct cfr_view word)
{
    ptrdiff_t at = cfr_view_find(word, "eyJ");

    return at >= 0 && word.n - (size_t)at > 8;
}

static bool may_be_long(struct cfr_view word)
{
    while (word.n != 0 && strchr("\"'(<[", word.p[0]) != NULL) {
        word.p++;
        word.n--;
    }
    return (cfr_view_starts(word, "arn:") || cfr_view_starts(word, "https://") ||
            cfr_view_starts(word, "//iam.googleapis.com/") || cfr_view_starts(word, "system:serviceaccount:") ||
            cfr_view_starts(word, "system:node:")) &&
           memchr(word.p, '?', word.n) == NULL;
}

/* Where a piece of TEXT repeats the SECRETS. A secret may have a megabyte, and the agent does nothing else meanwhile:
 * each is read once, and its parts are looked up among the piece's positions in their order. */
struct scan {
    struct cfr_view text;
    const struct cfr_view *secrets;
    size_t count;
    bool own;
    size_t first;              /* position in TEXT of the piece */
    size_t n;                  /* positions of the piece; 0 = none was read yet */
    uint16_t order[LOOK_MAX];  /* these, sorted by the SHARED characters from there on */
    uint16_t found[LOOK_MAX];  /* bit N: the N characters from there on repeat a secret */
    unsigned char begin[8192]; /* a bit for each hash of the LEAST characters that begin at a position */
};

/* The SHARED characters at position I of the piece, or as many as there are. */
static struct cfr_view at(const struct scan *s, size_t i)
{
    struct cfr_view rest = {s->text.p + s->first + i, s->text.n - s->first - i};

    rest.n = rest.n < SHARED ? rest.n : SHARED;
    return rest;
}

static int compare(struct cfr_view a, struct cfr_view b)
{
    int sign = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return sign != 0 ? sign : (a.n > b.n) - (a.n < b.n);
}

static bool starts(struct cfr_view text, struct cfr_view part)
{
    return text.n >= part.n && memcmp(text.p, part.p, part.n) == 0;
}

/* Restores the heap of the first N below I. */
static void sift(struct scan *s, size_t i, size_t n)
{
    for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        uint16_t moved = s->order[i];

        if (child + 1 < n && compare(at(s, s->order[child]), at(s, s->order[child + 1])) < 0)
            child++;
        if (compare(at(s, moved), at(s, s->order[child])) >= 0)
            return;
        s->order[i] = s->order[child];
        s->order[child] = moved;
        i = child;
    }
}

/* A heap sort: it takes no memory, and no text makes it slow. */
static void sort(struct scan *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->order[i] = (uint16_t)i;
    for (size_t i = s->n / 2; i > 0; i--)
        sift(s, i - 1, s->n);
    for (size_t n = s->n; n > 1; n--) {
        uint16_t last = s->order[n - 1];

        s->order[n - 1] = s->order[0];
        s->order[0] = last;
        sift(s, 0, n - 1);
    }
}

static size_t hash(const char *p)
{
    uint32_t word;

    memcpy(&word, p, LEAST);
    return word * UINT32_C(2654435761) >> 16;
}

/* Notes all positions at which the text is PART, of LEAST to SHARED characters. */
static void mark(struct scan *s, struct cfr_view part)
{
    size_t bit = hash(part.p);
    size_t low = 0;
    size_t high = s->n;

    if ((s->begin[bit / 8] >> bit % 8 & 1) == 0)
        return;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (compare(at(s, s->order[middle]), part) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->n && starts(at(s, s->order[low]), part); low++) {
        uint16_t *found = &s->found[s->order[low]];

        /* Then all that follow have it, too. */
        if ((*found >> part.n & 1) != 0)
            return;
        *found |= (uint16_t)(1U << part.n);
    }
}

/* Notes what repeats SECRET: SHARED characters from anywhere in it, or all of a shorter one, with the blanks of a
 * passphrase; or one of its words. */
static void mark_secret(struct scan *s, struct cfr_view secret)
{
    size_t least = s->own ? OWN_LEAST : LEAST;
    size_t word = 0; /* characters of the word that ends before I */

    if (secret.n >= LEAST && secret.n < SHARED)
        mark(s, secret);
    for (size_t i = 0; i <= secret.n; i++) {
        if (i >= SHARED)
            mark(s, (struct cfr_view){secret.p + i - SHARED, SHARED});
        if (i < secret.n && word_char(secret.p[i])) {
            word++;
            continue;
        }
        if (word >= least && word < SHARED)
            mark(s, (struct cfr_view){secret.p + i - word, word});
        word = 0;
    }
}

/* Makes the piece that begins at position FIRST of the text. */
static void read_piece(struct scan *s, size_t first)
{
    s->first = first;
    s->n = s->text.n - first < LOOK_MAX ? s->text.n - first : LOOK_MAX;
    memset(s->found, 0, sizeof s->found);
    memset(s->begin, 0, sizeof s->begin);
    sort(s);
    for (size_t i = 0; i < s->n && at(s, i).n >= LEAST; i++) {
        size_t bit = hash(at(s, i).p);

        s->begin[bit / 8] |= (unsigned char)(1U << bit % 8);
    }
    for (size_t k = 0; k < s->count; k++)
        mark_secret(s, s->secrets[k]);
}

/* How much of the text from position I on, which follows BEFORE, repeats a secret; 0 = nothing. */
static size_t repeats(struct scan *s, size_t i, char before)
{
    struct cfr_view rest = {s->text.p + i, s->text.n - i};

    if (s->n == 0 || i >= s->first + s->n)
        read_piece(s, i);
    for (size_t n = SHARED; n >= LEAST; n--) {
        /* There are so many characters, if these were found. */
        if ((s->found[i - s->first] >> n & 1) != 0 &&
            (!s->own || n >= OWN_LEAST ||
             (!cfr_view_is_alnum(before) && (rest.n == n || !cfr_view_is_alnum(rest.p[n])))))
            return n;
    }
    return 0;
}

/* Where the last of what repeats a secret, and begins in the N characters from position I on, ends; 0 = there is
 * nothing. BEFORE precedes I. */
static size_t find_end(struct scan *s, size_t i, size_t n, char before)
{
    size_t end = 0;

    for (size_t k = i; k < i + n && s->count != 0; k++) {
        size_t m = repeats(s, k, k != i ? s->text.p[k - 1] : before);

        end = m != 0 && k + m > end ? k + m : end;
    }
    return end;
}

/* Tokens and keys are ASCII, so words of other scripts may have any length. */
static bool is_long(struct cfr_view word)
{
    size_t run = 0;

    for (size_t i = 0; i < word.n && run <= WORD_MAX; i++)
        run = word_char(word.p[i]) ? run + 1 : 0;
    return run > WORD_MAX;
}

static bool unfit(struct cfr_view word)
{
    return like_token(word) || (is_long(word) && !may_be_long(word));
}

/* How many bytes of WORD fit in ROOM, cut at a character. */
static size_t fit(struct cfr_view word, size_t room)
{
    if (word.n <= room)
        return word.n;
    while (room != 0 && (word.p[room] & 0xc0) == 0x80)
        room--;
    return room;
}

const char *cfr_redact(struct cfr_view text, const struct cfr_view *secrets, size_t count, char out[CFR_REDACT_MAX])
{
    struct cfr_view t = {text.p, text.n < LOOK_MAX ? text.n : LOOK_MAX};
    struct scan scan = {.text = t, .secrets = secrets, .count = count};
    size_t len = 0;
    size_t end = 0; /* of what repeats a secret */
    size_t i = 0;

    while (i < t.n) {
        struct cfr_view word = {t.p + i, 0};
        bool repeated;
        size_t found;
        size_t n = letter_len((struct cfr_view){t.p + i, t.n - i});

        for (; n != 0; n = letter_len((struct cfr_view){word.p + word.n, t.n - i - word.n}))
            word.n += n;
        found = find_end(&scan, i, word.n != 0 ? word.n : 1, i != 0 ? t.p[i - 1] : ' ');
        end = found > end ? found : end;
        repeated = end > i;
        i += word.n != 0 ? word.n : 1;
        if (word.n == 0)
            continue;
        if (repeated || unfit(word))
            word = cfr_view_of("[removed]");
        if (len != 0)
            out[len++] = ' ';
        n = fit(word, KEEP - len);
        memcpy(out + len, word.p, n);
        len += n;
        if (n < word.n || (len >= KEEP - 1 && i < t.n)) {
            memcpy(out + len, "...", 4);
            return out;
        }
    }
    out[len] = '\0';
    return out;
}

/* What replaces WORD, and is not longer. */
static struct cfr_view replacement(struct cfr_view word)
{
    if (word.n < sizeof "[removed]" - 1)
        return (struct cfr_view){"***", word.n < 3 ? word.n : 3};
    return cfr_view_of("[removed]");
}

char *cfr_redact_secrets(char *text, const struct cfr_view *secrets, size_t count)
{
    struct scan scan = {.text = cfr_view_of(text), .secrets = secrets, .count = count, .own = true};
    char *to = text;
    char before = ' ';
    size_t end = 0; /* of what repeats a secret */
    size_t i = 0;

    /* What was overwritten is shorter, so the rest is still as it was. */
    while (i < scan.text.n) {
        struct cfr_view word = {text + i, 0};
        size_t taken;
        size_t found;

        while (i + word.n < scan.text.n && word_char(word.p[word.n]))
            word.n++;
        taken = word.n != 0 ? word.n : 1;
        found = find_end(&scan, i, taken, before);
        end = found > end ? found : end;
        before = word.p[taken - 1];
        word = word.n == 0 ? (struct cfr_view){word.p, 1} : end > i ? replacement(word) : word;
        memmove(to, word.p, word.n);
        to += word.n;
        i += taken;
    }
    *to = '\0';
    return text;
}
