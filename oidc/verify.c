/* SPDX-License-Identifier: MIT */
/* Command verify: checks a token as a cloud does, and prints each check with what to do. Never prints the token. */
#include "oidc/oidc_private.h"

#include "agent/cli/token_input.h"
#include "agent/loop/clock.h"
#include "agent/pki/issuer_keys.h"
#include "base/time.h"
#include "files/file.h"
#include "pki/jwks.h"
#include "token/verify.h"

#include <stdio.h>

#define TIMEOUT_MS 30000
#define SHOWN_MAX  100
#define AT_MAX_S   INT64_C(253402300799) /* 9999-12-31T23:59:59Z, as for a token's times */

static void print_finding(void *ctx, const struct cfr_finding *f)
{
    static const char *const marks[CFR_FINDING_LEVELS] = {"ok", "note", "note", "PROBLEM"};
    unsigned *problems = ctx;

    (void)printf("%-8s %s\n", marks[f->level], f->text);
    if (f->remedy != NULL)
        (void)printf("%-8s %s\n", "", f->remedy);
    *problems += f->level == CFR_FINDING_WRONG ? 1 : 0;
}

static int read_time(const char *text, int64_t *out, struct cfr_err *err)
{
    *out = cfr_clock_now().wall_ms / 1000;
    if (text == NULL || cfr_time_parse(cfr_view_of(text), out) ||
        (cfr_view_int(cfr_view_of(text), out) && *out >= 0 && *out <= AT_MAX_S))
        return 0;
    return cfr_err_set(err, CFR_E_USAGE, "--at %.40s is not a time: write 2026-01-02T03:04:05Z, or Unix seconds", text);
}

static int read_keys(const struct cfr_oidc_options *o, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_issuer_keys_request request = {
        .issuer = o->issuer,
        .ca_file = o->ca_file,
        .timeout_ms = o->cli.timeout_ms >= 0 ? o->cli.timeout_ms : TIMEOUT_MS,
    };

    return o->jwks != NULL ? cfr_file_read(o->jwks, out, err) : cfr_issuer_keys_read(&request, out, err);
}

static void check_signature(const struct cfr_oidc_options *o, struct cfr_view text, const struct cfr_claims *claims,
                            const struct cfr_finding_sink *sink)
{
    const struct cfr_jwks_token token = {text, claims->alg, claims->kid};
    char alg[SHOWN_MAX];
    char kid[SHOWN_MAX];
    struct cfr_secret keys;
    struct cfr_err err = {0};
    size_t count;
    int rc;

    cfr_secret_init(&keys, CFR_JWKS_MAX);
    rc = read_keys(o, &keys, &err);
    if (rc != 0) {
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.signature",
                           o->jwks != NULL ? "give a file with a JSON Web Key Set"
                                           : "make both documents public: clouds must be able to read them, too",
                           "the signature is not verified, because the key set cannot be read: %s", err.text);
    } else if (cfr_jwks_verify(cfr_secret_view(&keys), &token, &count, &err) != 0) {
        cfr_finding_report(sink, CFR_FINDING_WRONG, "token.signature", cfr_jwks_remedy(err.code), "%s", err.text);
    } else {
        (void)cfr_view_show(claims->alg, alg, sizeof alg);
        (void)cfr_view_show(claims->kid.n != 0 ? claims->kid : cfr_view_of("(none)"), kid, sizeof kid);
        cfr_finding_report(sink, CFR_FINDING_OK, "token.signature", NULL,
                           "the signature matches the key kid=%s (%s; keys in the set: %zu)", kid, alg, count);
    }
    cfr_secret_free(&keys);
}

static int verify(const struct cfr_oidc_options *o, struct cfr_view text, int64_t now_s, struct cfr_err *err)
{
    const struct cfr_claims_expected expected = {o->issuer, o->cli.audience, now_s};
    struct cfr_claims claims;
    unsigned problems = 0;
    const struct cfr_finding_sink sink = {print_finding, &problems};
    int rc = cfr_claims_read(text, &claims, err);

    if (rc != 0)
        return rc;
    check_signature(o, text, &claims, &sink);
    cfr_claims_verify(&claims, &expected, &sink);
    cfr_claims_free(&claims);
    if (fflush(stdout) != 0)
        return cfr_err_set(err, CFR_E_IO, "the report could not be written whole");
    return problems == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

int cfr_oidc_verify(const struct cfr_oidc_options *o)
{
    struct cfr_secret raw;
    struct cfr_err err = {0};
    int64_t now_s;
    int rc = read_time(o->at, &now_s, &err);

    if (rc == 0 && o->issuer == NULL && o->jwks == NULL)
        rc = cfr_err_set(&err, CFR_E_USAGE, "verify needs --issuer URL, whose keys are read, or --jwks FILE");
    cfr_secret_init(&raw, CFR_TOKEN_MAX + 1);
    if (rc == 0)
        rc = cfr_cli_read_token(o->cli.args[0], true, &raw, &err);
    if (rc == 0)
        rc = verify(o, cfr_view_trim(cfr_secret_view(&raw)), now_s, &err);
    cfr_secret_free(&raw);
    return rc < 0 ? cfr_oidc_complain(&err) : rc;
}
