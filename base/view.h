/* SPDX-License-Identifier: MIT */
/* A borrowed, read-only range of bytes, not NUL-terminated. Pure; owns nothing, allocates nothing, cannot fail. */
#ifndef CFR_BASE_VIEW_H
#define CFR_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfr_view {
    const char *p;
    size_t n;
};

/* A string literal or any C string; NULL gives the empty view. */
struct cfr_view cfr_view_of(const char *s);
bool cfr_view_eq(struct cfr_view a, struct cfr_view b);
bool cfr_view_is(struct cfr_view a, const char *s);
/* True if both are NULL, or equal. */
bool cfr_view_same(const char *a, const char *b);
/* True for a letter or a digit of ASCII. */
static inline bool cfr_view_is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
/* ASCII case-insensitive comparison with a C string. */
bool cfr_view_is_nocase(struct cfr_view a, const char *s);
bool cfr_view_starts(struct cfr_view a, const char *prefix);
/* Offset of NEEDLE in A, or -1. */
ptrdiff_t cfr_view_find(struct cfr_view a, const char *needle);
/* Without leading and trailing space, tab, CR and LF. */
struct cfr_view cfr_view_trim(struct cfr_view a);
/* Decimal integer with optional sign, the whole view. False on anything else or overflow. */
bool cfr_view_int(struct cfr_view a, int64_t *out);
/* True if every byte is printable ASCII (0x20-0x7e). */
bool cfr_view_printable(struct cfr_view a);
/* True for UTF-8 whose characters can all be shown, which includes the empty view. */
bool cfr_view_is_text(struct cfr_view a);
/* Copies TEXT into OUT, NUL-terminated, as it may be shown: on a terminal, in one line of a log. Each byte of a control
 * character (C0, DEL, C1), of a format character (marks of direction, joiners, soft hyphens, tags), of a separator of
 * lines, of a character for private use or of none, and each byte that is no UTF-8, becomes `?`. What does not fit in
 * SIZE (at least 4) is cut at a character and ends in "...". OUT may be TEXT's own bytes. Returns OUT. */
char *cfr_view_show(struct cfr_view text, char *out, size_t size);
/* What bytes look like to a person: the first of these that fits. The names hold nothing of the bytes. */
#define CFR_VIEW_FORM_LIST(X)                                                                                          \
    X(UTF16, "text in UTF-16 (save it as UTF-8)")                                                                      \
    X(MARKED, "text that begins with a byte order mark (save it as UTF-8 without one)")                                \
    X(ARCHIVE, "a compressed file")                                                                                    \
    X(DER, "DER, which is binary (convert it to PEM: openssl x509 -inform DER, openssl pkey -inform DER)")             \
    X(BINARY, "binary data, or text in another encoding than UTF-8")                                                   \
    X(QUOTED, "text in quotes (remove them)")                                                                          \
    X(HEADER, "a line of an HTTP header (keep only what follows `Bearer`)")                                            \
    X(JSON, "JSON")                                                                                                    \
    X(CERTIFICATE, "a certificate in PEM form")                                                                        \
    X(REQUEST, "a certificate request")                                                                                \
    X(ENCRYPTED_KEY, "a private key with a passphrase (remove it: openssl pkey)")                                      \
    X(OPENSSH_KEY, "a private key in OpenSSH's form (convert it: ssh-keygen -p -m PKCS8)")                             \
    X(KEY, "a private key in PEM form")                                                                                \
    X(PUBLIC_KEY, "a public key")                                                                                      \
    X(PEM, "PEM of another kind")                                                                                      \
    X(JWT, "a JSON Web Token")                                                                                         \
    X(BASE64_JWT, "base64 of a JSON Web Token (decode it)")                                                            \
    X(BASE64_PEM, "base64 of a PEM file (decode it)")                                                                  \
    X(BASE64_JSON, "base64 of JSON (decode it)")                                                                       \
    X(MARKUP, "HTML or XML")                                                                                           \
    X(MANIFEST, "a Kubernetes object in YAML")                                                                         \
    X(INI, "an ini file")

enum cfr_view_form {
    CFR_FORM_TEXT, /* none of these */
    CFR_FORM_EMPTY,
#define X(name, text) CFR_FORM_##name,
    CFR_VIEW_FORM_LIST(X)
#undef X
};

enum cfr_view_form cfr_view_form(struct cfr_view a);
/* For "not a token, but %s": what A looks like, if it is anything else than EXPECTED; NULL if it is not known, or A
 * is empty. */
const char *cfr_view_mistake(struct cfr_view a, enum cfr_view_form expected);
/* Length of the well-formed UTF-8 sequence (RFC 3629, 4) that A begins with, or 0. */
size_t cfr_view_utf8_len(struct cfr_view a);
/* True for well-formed UTF-8, which may hold any character; the empty view is. */
bool cfr_view_is_utf8(struct cfr_view a);
/* Cuts the first line (without its LF) off *REST into *LINE. False when *REST is empty. */
bool cfr_view_line(struct cfr_view *rest, struct cfr_view *line);

#endif
