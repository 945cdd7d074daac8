/* SPDX-License-Identifier: MIT */
/* The commands of an issuer's directory: init, rotate, publish, manifests, status. */
#include "oidc/oidc_private.h"

#include "agent/loop/clock.h"
#include "base/time.h"
#include "base/writer.h"
#include "files/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_KEY      CFR_KEY_RSA_2048 /* Azure takes RS256 alone */
#define DEFAULT_SETTLE_S 3600             /* an API server lets its key set be kept for an hour */

static int64_t now_s(void)
{
    return cfr_clock_now().wall_ms / 1000;
}

int cfr_oidc_complain(const struct cfr_err *err)
{
    cfr_cli_complain("%s", err->text);
    switch (err->code) {
    case CFR_E_CONFLICT:
        return CFR_EXIT_REFUSED;
    case CFR_E_USAGE:
        return CFR_EXIT_USAGE;
    case CFR_E_TIMEOUT:
        return CFR_EXIT_TIMEOUT;
    default:
        return CFR_EXIT_FAILED;
    }
}

static const char *shown(int64_t unix_s, char buf[CFR_TIME_RFC3339_MAX])
{
    return unix_s > 0 ? cfr_time_format(unix_s, buf) : "-";
}

/* What is to be done next, in words. */
static void print_next(const struct cfr_oidc_issuer *i)
{
    char when[CFR_TIME_RFC3339_MAX];
    int64_t ready_s = cfr_oidc_issuer_ready_s(i);

    if (cfr_oidc_issuer_is_intent(i))
        (void)printf("a step was begun and not ended: run credfresh-oidc rotate --continue\n");
    else if (i->phase == CFR_OIDC_ISSUER_STEADY && !cfr_oidc_issuer_is_uploaded(i))
        (void)printf("one key; the documents are not uploaded: run credfresh-oidc publish\n");
    else if (i->phase == CFR_OIDC_ISSUER_STEADY)
        (void)printf("one key: nothing to do until the next rotation\n");
    else if (i->phase == CFR_OIDC_ISSUER_PUBLISHED && ready_s < 0)
        (void)printf("both keys are in the documents, which are not uploaded: run credfresh-oidc publish\n");
    else if (i->phase == CFR_OIDC_ISSUER_PUBLISHED && i->cluster_key)
        (void)printf(
            "both keys are published: let the cluster sign with the new one not before %s, then run credfresh-oidc "
            "rotate --confirm\n",
            shown(ready_s, when));
    else if (i->phase == CFR_OIDC_ISSUER_PUBLISHED)
        (void)printf("both keys are published: let API servers read signing.pub, and switch the signer not before %s\n",
                     shown(ready_s, when));
    else if (ready_s < 0)
        (void)printf("the signing key's file is the new key: let every signer use it, then run credfresh-oidc rotate "
                     "--confirm\n");
    else
        (void)printf("the new key signs: the old one can be retired not before %s\n", shown(ready_s, when));
}

/* ---- init ---- */

static int duration(const char *option, const char *text, int64_t otherwise_s, int64_t *out, struct cfr_err *err)
{
    int64_t ms;

    *out = otherwise_s;
    if (text == NULL)
        return 0;
    if (!cfr_time_parse_duration(cfr_view_of(text), &ms))
        return cfr_err_set(err, CFR_E_USAGE, "--%s %.40s is not a duration: write 24h, 90m or 0s", option, text);
    *out = (ms + 999) / 1000;
    return 0;
}

static int kind_of(const char *text, enum cfr_key_kind *out, struct cfr_err *err)
{
    *out = DEFAULT_KEY;
    for (int i = 0; text != NULL; i++) {
        if (cfr_key_kinds[i] == NULL)
            return cfr_err_set(
                err, CFR_E_USAGE,
                "--key %.40s: there is no such kind; write rsa-2048, rsa-3072, rsa-4096, ecdsa-p256 or ecdsa-p384",
                text);
        if (strcmp(cfr_key_kinds[i], text) == 0) {
            *out = (enum cfr_key_kind)i;
            break;
        }
    }
    return 0;
}

/* Serving or copying the web root would publish the key. */
static bool holds(const char *web_root, const char *directory)
{
    size_t n = strlen(web_root);

    while (n != 0 && web_root[n - 1] == '/')
        n--;
    return strncmp(directory, web_root, n) == 0 && (directory[n] == '\0' || directory[n] == '/');
}

/* What ERR says of the value of OPTION. */
static int usage_of(const char *option, struct cfr_err *err)
{
    (void)cfr_err_prefix(err, "%s", option);
    return err->code = CFR_E_USAGE;
}

static int check_init(const struct cfr_oidc_options *o, struct cfr_err *err)
{
    if (o->issuer == NULL || o->token_life == NULL)
        return cfr_err_set(err, CFR_E_USAGE,
                           "init needs --issuer URL and --token-life, the longest lifetime of its tokens: a shorter "
                           "value invalidates tokens at the end of a rotation");
    if (o->signing_key != NULL && o->public_key != NULL)
        return cfr_err_set(err, CFR_E_USAGE, "init takes one of --signing-key and --public-key");
    if (o->public_key != NULL && (o->key != NULL || o->signer_lag != NULL || o->x5c))
        return cfr_err_set(
            err, CFR_E_USAGE,
            "--public-key: the cluster keeps the private key, so it makes the keys and switches to them, "
            "and nothing here can sign; leave out --key, --signer-lag and --certificates");
    if (o->jwks_path != NULL && cfr_oidc_issuer_check_path(o->jwks_path, err) != 0)
        return usage_of("--jwks-path", err);
    if (cfr_oidc_issuer_check_url(o->issuer, err) != 0)
        return usage_of("--issuer", err);
    if (o->web_root != NULL && o->web_root[0] != '/')
        return cfr_err_set(err, CFR_E_USAGE, "--web-root %.200s must be an absolute path", o->web_root);
    if (o->web_root != NULL && holds(o->web_root, o->directory))
        return cfr_err_set(err, CFR_E_USAGE,
                           "--web-root %.200s would hold the signing key, which -d names the place of", o->web_root);
    return 0;
}

static int settings(const struct cfr_oidc_options *o, struct cfr_oidc_issuer *i, struct cfr_err *err)
{
    char web_root[PATH_MAX];
    int rc = check_init(o, err);

    if (rc == 0)
        rc = duration("token-life", o->token_life, 0, &i->token_life_s, err);
    if (rc == 0)
        rc = duration("settle", o->settle, DEFAULT_SETTLE_S, &i->settle_s, err);
    if (rc == 0)
        rc = duration("signer-lag", o->signer_lag, -1, &i->lag_s, err);
    if (rc == 0)
        rc = kind_of(o->key, &i->key, err);
    if (rc == 0 && i->token_life_s == 0)
        rc = cfr_err_set(err, CFR_E_USAGE, "--token-life: must be longer than 0s");
    if (rc != 0)
        return rc;
    if ((size_t)snprintf(web_root, sizeof web_root, "%s/web", o->directory) >= sizeof web_root)
        return cfr_err_set(err, CFR_E_LIMIT, "the path of -d is too long");
    i->claims = o->claims;
    i->certified = o->x5c;
    i->cluster_key = o->public_key != NULL;
    i->url = strdup(o->issuer);
    i->web_root = strdup(o->web_root != NULL ? o->web_root : web_root);
    i->jwks_path = strdup(o->jwks_path != NULL ? o->jwks_path : CFR_OIDC_ISSUER_JWKS_PATH);
    return i->url != NULL && i->web_root != NULL && i->jwks_path != NULL ? 0 : cfr_err_nomem(err);
}

typedef int import_fn(struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err);

static int import_first(struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err)
{
    return cfr_oidc_issuer_begin_with(issuer, pem, now_s(), err);
}

/* Hands the key in the file PATH to IMPORT. */
static int import_key(const char *path, import_fn *import, struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    struct cfr_secret pem;
    int rc;

    cfr_secret_init(&pem, CFR_KEY_PEM_MAX);
    rc = cfr_file_read(path, &pem, err);
    if (rc == 0 && (rc = import(issuer, cfr_secret_view(&pem), err)) != 0)
        rc = cfr_err_prefix(err, "%.200s", path);
    cfr_secret_free(&pem);
    return rc;
}

/* One that was begun and never came to be is begun again as it is wanted now; its key may be in files already. */
static int begin(struct cfr_oidc_issuer *next, const struct cfr_oidc_options *o, struct cfr_oidc_store *d,
                 struct cfr_err *err)
{
    bool imported = o->signing_key != NULL || o->public_key != NULL;
    const struct cfr_oidc_issuer *before = &d->issuer;
    bool same = before->key == next->key && before->certified == next->certified && !before->cluster_key;
    int rc = 0;

    if (!imported && before->signing.kid[0] != '\0' && same) {
        next->signing = d->issuer.signing;
        d->issuer.signing = (struct cfr_oidc_issuer_key){.public_pem = NULL};
    } else if (!imported) {
        rc = cfr_oidc_issuer_begin(next, now_s(), err);
    }
    if (rc == 0 && !o->replace)
        rc = cfr_oidc_store_check(d, next, err);
    if (rc != 0)
        return rc;
    cfr_oidc_issuer_free(&d->issuer);
    d->issuer = *next;
    *next = (struct cfr_oidc_issuer){.url = NULL};
    return rc != 0 ? rc : cfr_oidc_store_save(d, err);
}

static void print_made(const struct cfr_oidc_store *d)
{
    const struct cfr_oidc_issuer *i = &d->issuer;

    (void)printf("created the issuer %s\n", i->url);
    (void)printf("%s: the documents; serve them at this URL, or upload them: credfresh-oidc publish -d %s\n",
                 i->web_root, d->directory);
    if (!i->cluster_key)
        (void)printf("%s/signing.key: the private key for API servers (--service-account-signing-key-file)\n",
                     d->directory);
    (void)printf("%s/signing.pub: the public key for API servers (--service-account-key-file)\n", d->directory);
    (void)printf("next, write what the cluster and the clouds must know: credfresh-oidc manifests -d %s --output DIR\n",
                 d->directory);
}

static int init(const struct cfr_oidc_options *o, struct cfr_oidc_store *d, struct cfr_err *err)
{
    struct cfr_oidc_issuer next = {.url = NULL};
    const char *key = o->signing_key != NULL ? o->signing_key : o->public_key;
    bool changed;
    int rc = settings(o, &next, err);

    if (rc == 0 && key != NULL)
        rc = import_key(key, import_first, &next, err);
    if (rc == 0 && key != NULL && o->key != NULL)
        rc = kind_of(o->key, &next.key, err);
    if (rc != 0) {
        cfr_oidc_issuer_free(&next);
        return rc;
    }
    rc = cfr_oidc_store_open(o->directory, d, err);
    if (rc == 0 && d->issuer.phase != CFR_OIDC_ISSUER_BEGINNING)
        rc = cfr_err_set(err, CFR_E_CONFLICT, "%s is the issuer %.200s already; see credfresh-oidc status",
                         o->directory, d->issuer.url);
    else if (rc == 0 || rc == CFR_E_MISSING)
        rc = begin(&next, o, d, err);
    cfr_oidc_issuer_free(&next);
    return rc != 0 ? rc : cfr_oidc_store_publish(d, now_s(), &changed, err);
}

/* ---- rotate ---- */

static int open_existing(const char *directory, struct cfr_oidc_store *d, struct cfr_err *err)
{
    int rc = cfr_oidc_store_is_there(directory) ? cfr_oidc_store_open(directory, d, err) : CFR_E_MISSING;

    return rc != CFR_E_MISSING
               ? rc
               : cfr_err_set(err, rc, "%.200s holds no issuer: begin with credfresh-oidc init", directory);
}

static int step(const struct cfr_oidc_options *o, struct cfr_oidc_store *d, struct cfr_err *err)
{
    bool changed;
    int rc;

    if (o->only_continue && d->issuer.phase == CFR_OIDC_ISSUER_STEADY)
        return 0;
    rc = o->public_key != NULL ? import_key(o->public_key, cfr_oidc_issuer_next_with, &d->issuer, err)
                               : cfr_oidc_issuer_next(&d->issuer, now_s(), err);
    /* A timer comes again: not yet is no failure. */
    if (rc == CFR_E_CONFLICT && o->only_continue)
        return 0;
    if (rc == 0)
        rc = cfr_oidc_store_save(d, err);
    return rc != 0 ? rc : cfr_oidc_store_publish(d, now_s(), &changed, err);
}

/* No verifier can have read what was just written. */
static int not_yet(const struct cfr_oidc_options *o, struct cfr_err *err)
{
    return cfr_err_set(
        err, CFR_E_CONFLICT,
        "files of %.200s had to be written just now, for a step was interrupted or they were changed: let every "
        "signer use the new key, then confirm again",
        o->directory);
}

/* Where the cluster switches, it may have done so too early, which is a fact and no reason to stop. */
static void warn_early(const struct cfr_oidc_issuer *i)
{
    char when[CFR_TIME_RFC3339_MAX];
    int64_t ready_s = cfr_oidc_issuer_ready_s(i);

    if (i->phase != CFR_OIDC_ISSUER_PUBLISHED || !i->cluster_key)
        return;
    if (ready_s < 0)
        cfr_cli_complain(
            "the new key signs, and is not uploaded: verifiers refuse its tokens; run credfresh-oidc publish "
            "now");
    else if (now_s() < ready_s)
        cfr_cli_complain("the new key signs earlier than %s: until then some verifiers may refuse its tokens",
                         shown(ready_s, when));
}

static int confirm(struct cfr_oidc_store *d, struct cfr_err *err)
{
    int rc;

    warn_early(&d->issuer);
    rc = cfr_oidc_issuer_confirm(&d->issuer, now_s(), err);

    return rc != 0 ? rc : cfr_oidc_store_save(d, err);
}

/* After the completion of an interrupted step. That step may have been about another key than the one that is given. */
static int resume(const struct cfr_oidc_options *o, struct cfr_oidc_store *d, struct cfr_err *err)
{
    if (o->public_key == NULL)
        return 0;
    return d->issuer.phase == CFR_OIDC_ISSUER_PUBLISHED
               ? import_key(o->public_key, cfr_oidc_issuer_check_next, &d->issuer, err)
               : step(o, d, err);
}

static int recount(struct cfr_oidc_store *d, struct cfr_err *err)
{
    if (!cfr_oidc_issuer_recount(&d->issuer, now_s()))
        return cfr_err_set(
            err, CFR_E_CONFLICT,
            "no time in the journal is in the future of this machine's clock: there is nothing to count again");
    return cfr_oidc_store_save(d, err);
}

static int rotate(const struct cfr_oidc_options *o, struct cfr_oidc_store *d, struct cfr_err *err)
{
    bool resumed;
    bool changed;
    int rc = open_existing(o->directory, d, err);

    if (rc == 0 && o->recount)
        return recount(d, err);
    if (rc == 0)
        rc = cfr_oidc_issuer_check_clock(&d->issuer, now_s(), err);
    if (rc == 0 && o->public_key != NULL && !d->issuer.cluster_key)
        rc = cfr_err_set(err, CFR_E_USAGE,
                         "--public-key is for an issuer whose private keys the cluster keeps; this one "
                         "makes its next key itself");
    if (rc == 0 && !o->replace)
        rc = cfr_oidc_store_check(d, &d->issuer, err);
    if (rc != 0)
        return rc;
    resumed = cfr_oidc_issuer_is_intent(&d->issuer);
    rc = cfr_oidc_store_publish(d, now_s(), &changed, err);
    if (rc == 0 && changed && !resumed)
        cfr_cli_complain("restored files that were missing or changed: check that the server serves %s",
                         d->issuer.web_root);
    if (rc == 0 && o->confirm)
        return resumed || changed ? not_yet(o, err) : confirm(d, err);
    if (rc != 0)
        return rc;
    return resumed ? resume(o, d, err) : step(o, d, err);
}

/* ---- status ---- */

static void print_json(const struct cfr_oidc_issuer *i)
{
    struct cfr_str out = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};
    struct cfr_writer w = {.str = &out};
    char when[CFR_TIME_RFC3339_MAX];
    int64_t ready_s = cfr_oidc_issuer_ready_s(i);
    struct cfr_str uri = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};

    cfr_str_addf(&uri, "%s/%s", i->url, cfr_oidc_issuer_jwks_path(i));
    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", 1);
    cfr_writer_string(&w, "issuer", cfr_view_of(i->url));
    cfr_writer_string(&w, "web_root", cfr_view_of(i->web_root));
    cfr_writer_bool(&w, "cluster_key", i->cluster_key);
    cfr_writer_string(&w, "jwks_uri", cfr_str_view(&uri));
    cfr_writer_string(&w, "store", cfr_view_of(i->store));
    cfr_writer_bool(&w, "uploaded", i->store != NULL && cfr_oidc_issuer_is_uploaded(i));
    cfr_writer_string(&w, "phase", cfr_view_of(cfr_oidc_issuer_phase_name(i->phase)));
    cfr_writer_string(&w, "since", cfr_view_of(cfr_time_format(i->since_s, when)));
    cfr_writer_string(&w, "signing", cfr_view_of(i->signing.kid));
    cfr_writer_string(&w, "other", cfr_view_of(i->other.kid[0] != '\0' ? i->other.kid : NULL));
    cfr_writer_string(&w, "ready", cfr_view_of(ready_s > 0 ? cfr_time_format(ready_s, when) : NULL));
    cfr_writer_bool(&w, "confirmed", i->confirmed_s != 0);
    cfr_writer_count(&w, "rotations", i->rotations);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    (void)fwrite(out.p, 1, out.len, stdout);
    cfr_str_free(&out);
    cfr_str_free(&uri);
}

/* ---- the commands ---- */

/* The journal names places, which must not depend on where a command is run. */
static int make_absolute(const char *directory, char out[PATH_MAX], struct cfr_err *err)
{
    char here[PATH_MAX];

    if (directory[0] == '/' && strlen(directory) < PATH_MAX)
        (void)snprintf(out, PATH_MAX, "%s", directory);
    else if (realpath(directory, out) == NULL) { /* it is still to be made */
        if (getcwd(here, sizeof here) == NULL)
            return cfr_err_sys(err, errno, "cannot find the working directory");
        if ((size_t)snprintf(out, PATH_MAX, "%s/%s", here, directory) >= PATH_MAX)
            return cfr_err_set(err, CFR_E_LIMIT, "the path of -d is too long");
    }
    return 0;
}

/* An open directory, and the options with its absolute path. */
struct opened {
    struct cfr_oidc_options o;
    char directory[PATH_MAX];
    struct cfr_oidc_store d;
};

static int begin_command(const struct cfr_oidc_options *o, struct opened *out, struct cfr_err *err)
{
    out->o = *o;
    out->o.directory = out->directory;
    out->d = (struct cfr_oidc_store){.fd = -1, .lock_fd = -1};
    if (o->directory == NULL || o->directory[0] == '\0')
        return cfr_err_set(err, CFR_E_USAGE, "-d is missing: name the issuer's directory");
    return make_absolute(o->directory, out->directory, err);
}

static int end_command(struct opened *c, int rc, const struct cfr_err *err)
{
    cfr_oidc_store_close(&c->d);
    return rc == 0 ? CFR_EXIT_OK : cfr_oidc_complain(err);
}

int cfr_oidc_init(const struct cfr_oidc_options *o)
{
    struct opened c;
    struct cfr_err err = {0};
    int rc = begin_command(o, &c, &err);

    if (rc == 0)
        rc = init(&c.o, &c.d, &err);
    if (rc == 0)
        print_made(&c.d);
    return end_command(&c, rc, &err);
}

static int check_ways(const struct cfr_oidc_options *o, struct cfr_err *err)
{
    int ways = o->confirm + o->only_continue + o->recount;

    if (ways > 1)
        return cfr_err_set(err, CFR_E_USAGE, "--confirm, --continue and --recount exclude each other: give one");
    if (o->public_key != NULL && ways != 0)
        return cfr_err_set(err, CFR_E_USAGE,
                           "--public-key begins a rotation: leave out --confirm, --continue and --recount");
    return 0;
}

int cfr_oidc_rotate(const struct cfr_oidc_options *o)
{
    struct opened c;
    struct cfr_err err = {0};
    int rc = begin_command(o, &c, &err);

    if (rc == 0)
        rc = check_ways(o, &err);
    if (rc == 0)
        rc = rotate(&c.o, &c.d, &err);
    if (rc == 0)
        print_next(&c.d.issuer);
    return end_command(&c, rc, &err);
}

int cfr_oidc_publish(const struct cfr_oidc_options *o)
{
    struct opened c;
    struct cfr_err err = {0};
    bool changed;
    int rc = begin_command(o, &c, &err);

    if (rc == 0)
        rc = open_existing(c.directory, &c.d, &err);
    if (rc == 0)
        rc = cfr_oidc_issuer_check_clock(&c.d.issuer, now_s(), &err);
    if (rc == 0 && !o->replace)
        rc = cfr_oidc_store_check(&c.d, &c.d.issuer, &err);
    /* A step that was interrupted is completed first: its documents are those to upload. */
    if (rc == 0)
        rc = cfr_oidc_store_publish(&c.d, now_s(), &changed, &err);
    if (rc == 0)
        rc = cfr_oidc_upload(&c.o, &c.d, &err);
    if (rc == 0)
        print_next(&c.d.issuer);
    return end_command(&c, rc, &err);
}

int cfr_oidc_manifests(const struct cfr_oidc_options *o)
{
    struct opened c;
    struct cfr_err err = {0};
    int rc = begin_command(o, &c, &err);

    if (rc == 0 && (o->cli.output == NULL || o->cli.output[0] != '/'))
        rc =
            cfr_err_set(&err, CFR_E_USAGE, "manifests needs --output with an absolute path, the directory to write to");
    if (rc == 0)
        rc = open_existing(c.directory, &c.d, &err);
    if (rc == 0)
        rc = cfr_oidc_write_manifests(&c.o, &c.d.issuer, &err);
    return end_command(&c, rc, &err);
}

static void print_status(const struct cfr_oidc_issuer *i)
{
    struct cfr_err clock = {0};
    char when[CFR_TIME_RFC3339_MAX];

    (void)printf("issuer    %s\nweb root  %s\nphase     %s since %s\nsigning   %s\n", i->url, i->web_root,
                 cfr_oidc_issuer_phase_name(i->phase), shown(i->since_s, when), i->signing.kid);
    if (i->other.kid[0] != '\0')
        (void)printf("%s %s\n", i->phase < CFR_OIDC_ISSUER_SWITCHING ? "next     " : "before   ", i->other.kid);
    if (cfr_oidc_issuer_check_clock(i, now_s(), &clock) != 0)
        (void)printf("%s\n", clock.text);
    else
        print_next(i);
}

int cfr_oidc_status(const struct cfr_oidc_options *o)
{
    struct opened c;
    struct cfr_err err = {0};
    int rc = begin_command(o, &c, &err);

    if (rc == 0)
        rc = open_existing(c.directory, &c.d, &err);
    if (rc == 0 && o->cli.json)
        print_json(&c.d.issuer);
    else if (rc == 0)
        print_status(&c.d.issuer);
    return end_command(&c, rc, &err);
}
