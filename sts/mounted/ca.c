/* SPDX-License-Identifier: MIT */
/* CA certificates that a Secret brings.
 * Only whole blocks of base64 are passed on: OpenSSL would ask the terminal for the password of a block with headers.
 */
#include "sts/mounted/mounted_private.h"

#include "base/base64.h"
#include "wire/decode.h"

#define CA_MAX 262144
#define BEGIN  "-----BEGIN "
#define FIRST  "-----BEGIN CERTIFICATE-----"
#define LAST   "-----END CERTIFICATE-----"

static bool is_base64(struct cfr_view line)
{
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];

        if (!(cfr_view_is_alnum(c) || c == '+' || c == '/' || c == '='))
            return false;
    }
    return line.n != 0;
}

static int add_line(const struct cfr_mounted_case *c, struct cfr_view line)
{
    int rc = cfr_secret_append(&c->out->ca, line, c->err);

    return rc != 0 ? rc : cfr_secret_append_str(&c->out->ca, "\n", c->err);
}

/* The author of a Secret has room for 240 certificates: with curves of their own they took 12 s to read. */
static int check_block(const struct cfr_mounted_case *c, const char *key, const struct cfr_secret *text)
{
    struct cfr_secret der;
    int rc;

    cfr_secret_init(&der, CA_MAX);
    rc = cfr_base64_decode(cfr_secret_view(text), &der, c->err);
    if (rc == CFR_E_ANSWER)
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "%s has a certificate that is not base64", key);
    if (rc == 0 && cfr_decode_check_ca(cfr_secret_view(&der), c->err) != 0)
        rc = cfr_err_prefix(c->err, "%s has a certificate that is refused", key);
    cfr_secret_free(&der);
    return rc;
}

int cfr_mounted_ca(const struct cfr_mounted_case *c, const char *key, struct cfr_view pem)
{
    struct cfr_secret block; /* the base64 of a certificate */
    const char *mistake = cfr_view_mistake(pem, CFR_FORM_CERTIFICATE);
    struct cfr_view line;
    bool inside = false;
    int rc = 0;

    if (pem.n > CA_MAX)
        return cfr_err_set(c->err, CFR_E_CONFIG, "%s has %zu bytes, and CA certificates may have %d", key, pem.n,
                           CA_MAX);
    cfr_secret_init(&c->out->ca, CA_MAX + 1);
    cfr_secret_init(&block, CA_MAX);
    while (rc == 0 && cfr_view_line(&pem, &line)) {
        bool ends = cfr_view_is(cfr_view_trim(line), LAST);

        line = cfr_view_trim(line);
        if (inside ? !ends && !is_base64(line) : cfr_view_starts(line, BEGIN) && !cfr_view_is(line, FIRST))
            rc = cfr_err_set(
                c->err, CFR_E_CONFIG,
                "%s holds something other than certificates in PEM form; leave " FIRST " to " LAST " of each CA", key);
        if (rc == 0 && (inside || cfr_view_is(line, FIRST)))
            rc = add_line(c, line);
        if (rc == 0 && inside)
            rc = ends ? check_block(c, key, &block) : cfr_secret_append(&block, line, c->err);
        if (ends)
            cfr_secret_clear(&block);
        inside = inside ? !ends : cfr_view_is(line, FIRST);
    }
    cfr_secret_free(&block);
    if (rc == 0 && (inside || c->out->ca.len == 0))
        rc = mistake != NULL && !inside
                 ? cfr_err_set(c->err, CFR_E_CONFIG, "%s is not a certificate in PEM form, but %s", key, mistake)
                 : cfr_err_set(c->err, CFR_E_CONFIG, "%s holds no whole certificate in PEM form", key);
    if (rc == 0)
        cfr_mounted_taken(c, "CA certificates");
    return rc;
}
