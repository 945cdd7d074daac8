/* SPDX-License-Identifier: MIT */
/* The OIDC issuer's journal as a JSON document. */
#include "base/json.h"
#include "base/writer.h"
#include "pki/cert.h"
#include "pki/key.h"
#include "oidc/issuer/issuer.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 1

static void write_key(struct cfr_writer *w, const char *name, const struct cfr_oidc_issuer_key *k)
{
    if (k->kid[0] == '\0')
        return;
    cfr_writer_object(w, name);
    cfr_writer_string(w, "kid", cfr_view_of(k->kid));
    cfr_writer_string(w, "public", cfr_view_of(k->public_pem));
    cfr_writer_optional(w, "private", cfr_secret_view(&k->private_pem));
    cfr_writer_optional(w, "certificate", cfr_view_of(k->certificate));
    cfr_writer_close(w);
}

static void write_flag(struct cfr_writer *w, const char *name, bool value)
{
    if (value)
        cfr_writer_bool(w, name, value);
}

int cfr_oidc_issuer_store(const struct cfr_oidc_issuer *issuer, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", VERSION);
    cfr_writer_string(&w, "issuer", cfr_view_of(issuer->url));
    cfr_writer_string(&w, "web_root", cfr_view_of(issuer->web_root));
    cfr_writer_optional(&w, "jwks_path", cfr_view_of(issuer->jwks_path));
    write_flag(&w, "claims_supported", issuer->claims);
    write_flag(&w, "x5c", issuer->certified);
    write_flag(&w, "cluster_key", issuer->cluster_key);
    cfr_writer_string(&w, "key", cfr_view_of(cfr_key_kinds[issuer->key]));
    cfr_writer_number(&w, "token_life", issuer->token_life_s);
    cfr_writer_number(&w, "settle", issuer->settle_s);
    cfr_writer_number(&w, "lag", issuer->lag_s);
    cfr_writer_string(&w, "phase", cfr_view_of(cfr_oidc_issuer_phase_name(issuer->phase)));
    cfr_writer_number(&w, "since", issuer->since_s);
    cfr_writer_number(&w, "confirmed", issuer->confirmed_s);
    cfr_writer_count(&w, "rotations", issuer->rotations);
    cfr_writer_optional(&w, "store", cfr_view_of(issuer->store));
    cfr_writer_optional(&w, "uploaded", cfr_view_of(issuer->uploaded));
    if (issuer->uploaded != NULL)
        cfr_writer_number(&w, "uploaded_at", issuer->uploaded_s);
    write_key(&w, "signing", &issuer->signing);
    write_key(&w, "other", &issuer->other);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return w.rc;
}

/* ---- reading ---- */

static int report_wrong(const char *name, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_CONFIG, "%s is missing or not what it should be", name);
}

static int read_text(const struct cfr_json *doc, const char *name, char **out, struct cfr_err *err)
{
    struct cfr_view v;

    if (!cfr_json_string(cfr_json_get(doc, name), &v) || v.n == 0)
        return report_wrong(name, err);
    *out = cfr_str_dup(v);
    return *out != NULL ? 0 : cfr_err_nomem(err);
}

static int read_number(const struct cfr_json *doc, const char *name, int64_t min, int64_t *out, struct cfr_err *err)
{
    return cfr_json_integer(cfr_json_get(doc, name), out) && *out >= min ? 0 : report_wrong(name, err);
}

/* Missing is false. */
static int read_flag(const struct cfr_json *doc, const char *name, bool *out, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(doc, name);

    return value == NULL || cfr_json_bool(value, out) ? 0 : report_wrong(name, err);
}

/* Which of NAMES, up to COUNT of them; -1 if none. */
static int read_choice(const struct cfr_json *doc, const char *name, const char *const *names, int count)
{
    struct cfr_view v;

    if (!cfr_json_string(cfr_json_get(doc, name), &v))
        return -1;
    for (int i = 0; i < count && names[i] != NULL; i++) {
        if (cfr_view_is(v, names[i]))
            return i;
    }
    return -1;
}

static int read_phase(const struct cfr_json *doc, struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    const char *names[CFR_OIDC_ISSUER_PHASE_COUNT];
    int phase;
    int kind;

    for (int i = 0; i < (int)CFR_OIDC_ISSUER_PHASE_COUNT; i++)
        names[i] = cfr_oidc_issuer_phase_name((enum cfr_oidc_issuer_phase)i);
    phase = read_choice(doc, "phase", names, CFR_OIDC_ISSUER_PHASE_COUNT);
    kind = read_choice(doc, "key", cfr_key_kinds, CFR_KEY_RSA_4096 + 1);
    if (phase < 0 || kind < 0)
        return report_wrong(phase < 0 ? "phase" : "key", err);
    issuer->phase = (enum cfr_oidc_issuer_phase)phase;
    issuer->key = (enum cfr_key_kind)kind;
    return 0;
}

static int read_certificate(struct cfr_view pem, struct cfr_oidc_issuer_key *out, struct cfr_err *err)
{
    struct cfr_cert c;
    int rc = cfr_cert_read(pem, &c, err);

    out->certificate = c.pem; /* moved */
    return rc;
}

static int read_key(const struct cfr_json *doc, const char *name, bool needed, struct cfr_oidc_issuer_key *out,
                    struct cfr_err *err)
{
    const struct cfr_json *k = cfr_json_get(doc, name);
    struct cfr_str written = {.limit = CFR_KEY_PEM_MAX};
    char kid[CFR_KEY_KID_MAX];
    struct cfr_view pem;
    int rc;

    if (k == NULL)
        return needed ? report_wrong(name, err) : 0;
    /* Both are written again from what was parsed: whatever else the texts hold would be published with them. */
    if (cfr_json_string(cfr_json_get(k, "certificate"), &pem) && read_certificate(pem, out, err) != 0)
        return cfr_err_prefix(err, "%s", name);
    rc = cfr_json_string(cfr_json_get(k, "public"), &pem) ? cfr_key_public(pem, &written, err)
                                                          : report_wrong("public", err);
    out->public_pem = written.p;
    if (rc == 0)
        rc = cfr_key_kid(cfr_view_of(out->public_pem), out->kid, err);
    cfr_secret_init(&out->private_pem, CFR_KEY_PEM_MAX);
    if (rc == 0 && cfr_json_string(cfr_json_get(k, "private"), &pem)) {
        rc = cfr_key_private(pem, &out->private_pem, err);
        if (rc == 0)
            rc = cfr_key_kid(cfr_secret_view(&out->private_pem), kid, err);
        if (rc == 0 && strcmp(kid, out->kid) != 0)
            rc = cfr_err_set(err, CFR_E_CONFIG, "the private key is not that of the public one");
    }
    return rc != 0 ? cfr_err_prefix(err, "%s", name) : 0;
}

/* The members that are there only if they are not the usual ones. */
static int read_form(const struct cfr_json *doc, struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    int rc = 0;

    if (cfr_json_get(doc, "jwks_path") != NULL) {
        rc = read_text(doc, "jwks_path", &issuer->jwks_path, err);
        if (rc == 0)
            rc = cfr_oidc_issuer_check_path(issuer->jwks_path, err);
    }
    if (rc == 0 && cfr_json_get(doc, "store") != NULL)
        rc = read_text(doc, "store", &issuer->store, err);
    if (rc == 0 && cfr_json_get(doc, "uploaded") != NULL) {
        rc = read_text(doc, "uploaded", &issuer->uploaded, err);
        if (rc == 0)
            rc = read_number(doc, "uploaded_at", 0, &issuer->uploaded_s, err);
    }
    if (rc == 0)
        rc = read_flag(doc, "claims_supported", &issuer->claims, err);
    if (rc == 0)
        rc = read_flag(doc, "x5c", &issuer->certified, err);
    return rc != 0 ? rc : read_flag(doc, "cluster_key", &issuer->cluster_key, err);
}

static int read_all(const struct cfr_json *doc, struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    int64_t rotations = 0;
    int rc = read_text(doc, "issuer", &issuer->url, err);

    if (rc == 0)
        rc = read_text(doc, "web_root", &issuer->web_root, err);
    if (rc == 0)
        rc = read_form(doc, issuer, err);
    if (rc == 0)
        rc = read_number(doc, "token_life", 1, &issuer->token_life_s, err);
    if (rc == 0)
        rc = read_number(doc, "settle", 0, &issuer->settle_s, err);
    if (rc == 0)
        rc = read_number(doc, "lag", -1, &issuer->lag_s, err);
    if (rc == 0)
        rc = read_number(doc, "since", 0, &issuer->since_s, err);
    if (rc == 0)
        rc = read_number(doc, "confirmed", 0, &issuer->confirmed_s, err);
    if (rc == 0)
        rc = read_number(doc, "rotations", 0, &rotations, err);
    issuer->rotations = (uint64_t)rotations;
    return rc != 0 ? rc : read_phase(doc, issuer, err);
}

static int check_keys(const struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    bool one = issuer->phase == CFR_OIDC_ISSUER_BEGINNING || issuer->phase == CFR_OIDC_ISSUER_STEADY;
    bool next = issuer->phase == CFR_OIDC_ISSUER_PUBLISHING || issuer->phase == CFR_OIDC_ISSUER_PUBLISHED;

    bool wanted = !issuer->cluster_key; /* the private halves */

    if (wanted != (issuer->signing.private_pem.len != 0))
        return report_wrong("signing", err);
    if (one != (issuer->other.kid[0] == '\0') || (next && wanted != (issuer->other.private_pem.len != 0)))
        return report_wrong("other", err);
    return cfr_oidc_issuer_check_url(issuer->url, err);
}

int cfr_oidc_issuer_load(struct cfr_view content, struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    int64_t version = 0;
    int rc = cfr_json_parse(content, &doc, err);

    if (rc != 0 && rc != CFR_E_NOMEM)
        rc = cfr_err_set(err, CFR_E_CONFIG, "it is not a JSON document");
    *issuer = (struct cfr_oidc_issuer){.url = NULL};
    if (rc == 0 && (!cfr_json_integer(cfr_json_get(doc, "version"), &version) || version != VERSION))
        rc = cfr_err_set(err, CFR_E_CONFIG, "it is not of version %d", VERSION);
    if (rc == 0)
        rc = read_all(doc, issuer, err);
    if (rc == 0)
        rc = read_key(doc, "signing", true, &issuer->signing, err);
    if (rc == 0)
        rc = read_key(doc, "other", false, &issuer->other, err);
    if (rc == 0)
        rc = check_keys(issuer, err);
    cfr_json_free(doc);
    if (rc != 0)
        cfr_oidc_issuer_free(issuer);
    return rc;
}
