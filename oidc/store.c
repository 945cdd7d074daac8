/* SPDX-License-Identifier: MIT */
/* OIDC issuer on disk: journal, keys and documents. */
#include "oidc/store_private.h"

#include "files/file.h"
#include "files/single.h"
#include "files/state.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL         "issuer"
#define SIGNING_KEY     "signing.key"
#define PUBLIC_KEYS     "signing.pub"
#define MODE_OF_KEY     0600
#define MODE_FOR_PUBLIC 0644

bool cfr_oidc_store_is_there(const char *directory)
{
    struct cfr_file_fingerprint mark;
    char path[PATH_MAX];

    return (size_t)snprintf(path, sizeof path, "%s/" JOURNAL ".json", directory) < sizeof path &&
           cfr_single_fingerprint(path, &mark, NULL) != CFR_E_MISSING;
}

int cfr_oidc_store_open(const char *directory, struct cfr_oidc_store *out, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    *out = (struct cfr_oidc_store){.directory = directory, .fd = -1, .lock_fd = -1};
    out->fd = cfr_state_open(directory, &out->lock_fd, err);
    if (out->fd < 0)
        return out->fd;
    cfr_secret_init(&text, CFR_OIDC_ISSUER_STORE_MAX);
    rc = cfr_state_load(out->fd, JOURNAL, &text, err);
    if (rc == 0 && cfr_oidc_issuer_load(cfr_secret_view(&text), &out->issuer, err) != 0)
        rc = cfr_err_prefix(err, "%s/" JOURNAL ".json", directory);
    cfr_secret_free(&text);
    return rc;
}

void cfr_oidc_store_close(struct cfr_oidc_store *o)
{
    cfr_oidc_issuer_free(&o->issuer);
    if (o->fd >= 0)
        (void)close(o->fd);
    if (o->lock_fd >= 0)
        (void)close(o->lock_fd);
    o->fd = -1;
    o->lock_fd = -1;
}

int cfr_oidc_store_save(struct cfr_oidc_store *o, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_OIDC_ISSUER_STORE_MAX);
    rc = cfr_oidc_issuer_store(&o->issuer, &text, err);
    if (rc == 0)
        rc = cfr_state_save(o->fd, JOURNAL, cfr_secret_view(&text), err);
    cfr_secret_free(&text);
    return rc != 0 ? cfr_err_prefix(err, "%s", o->directory) : 0;
}

static int write_file(const char *directory, const char *name, struct cfr_view content, mode_t mode, bool *changed,
                      struct cfr_err *err)
{
    const struct cfr_file file = {.content = content, .mode = mode, .uid = CFR_FILE_KEEP_ID, .gid = CFR_FILE_KEEP_ID};
    char path[PATH_MAX];
    bool wrote = false;
    int rc;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        return cfr_err_set(err, CFR_E_PATH, "%.80s...: is too long a path", directory);
    rc = cfr_single_recover(path, NULL);
    (void)rc; /* what a crash has left does not matter */
    rc = cfr_single_publish(path, &file, false, NULL, &wrote, err);
    *changed = *changed || wrote;
    return rc;
}

typedef int make_fn(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);

static int write_document(const struct cfr_oidc_issuer *issuer, const char *directory, const char *name, make_fn *make,
                          bool *changed, struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};
    int rc = make(issuer, &text, err);

    if (rc == 0)
        rc = write_file(directory, name, cfr_str_view(&text), MODE_FOR_PUBLIC, changed, err);
    cfr_str_free(&text);
    return rc;
}

/* What cannot be looked at is not replaced; what is no regular file is refused when it is written. */
static int check_file(const struct cfr_oidc_store *o, const struct cfr_oidc_issuer *next, const char *directory,
                      const char *name, struct cfr_err *err)
{
    struct cfr_str kid = {.limit = 256};
    struct cfr_secret found;
    char path[PATH_MAX];
    int rc;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        return cfr_err_set(err, CFR_E_PATH, "%.80s...: is too long a path", directory);
    cfr_secret_init(&found, CFR_OIDC_ISSUER_STORE_MAX);
    rc = cfr_file_read(path, &found, err);
    if (rc == CFR_E_MISSING || rc == CFR_E_PATH)
        rc = 0;
    else if (rc == 0 && cfr_oidc_issuer_finds_unknown(next, &o->issuer, cfr_secret_view(&found), &kid))
        rc = cfr_err_set(
            err, CFR_E_CONFLICT,
            "%.300s holds the key %s, which %.100s/" JOURNAL ".json does not know: tokens that it signed would be "
            "refused. If the journal is lost or old, restore it; if no such token is in use, repeat with --replace",
            path, kid.p != NULL ? kid.p : "-", o->directory);
    cfr_secret_free(&found);
    cfr_str_free(&kid);
    return rc;
}

int cfr_oidc_store_check(const struct cfr_oidc_store *o, const struct cfr_oidc_issuer *next, struct cfr_err *err)
{
    int rc = check_file(o, next, next->web_root, cfr_oidc_issuer_jwks_path(next), err);

    return rc != 0 || next->cluster_key ? rc : check_file(o, next, o->directory, SIGNING_KEY, err);
}

/* *THERE stays true if the file has the document and can be read by anyone. */
static int look_at(const struct cfr_oidc_issuer *issuer, const char *directory, const char *name, make_fn *make,
                   bool *there, struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};
    struct cfr_secret found;
    char path[PATH_MAX];
    struct stat st;
    int rc = make(issuer, &text, err);

    cfr_secret_init(&found, CFR_OIDC_ISSUER_DOCUMENT_MAX);
    if (rc == 0 && (size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        rc = cfr_err_set(err, CFR_E_PATH, "%.80s...: is too long a path", directory);
    if (rc == 0)
        *there = *there && stat(path, &st) == 0 && (st.st_mode & 07777) == MODE_FOR_PUBLIC &&
                 cfr_file_read(path, &found, NULL) == 0 && cfr_view_eq(cfr_secret_view(&found), cfr_str_view(&text));
    cfr_secret_free(&found);
    cfr_str_free(&text);
    return rc;
}

/* Verifiers that read what is there instead do not know the next key: the wait for them begins again, also after a
 * crash, so this is stored first. */
static int notice_loss(struct cfr_oidc_store *o, struct cfr_err *err)
{
    const struct cfr_oidc_issuer *i = &o->issuer;
    bool there = true;
    int rc;

    if (i->phase != CFR_OIDC_ISSUER_PUBLISHED)
        return 0;
    rc = look_at(i, i->web_root, cfr_oidc_issuer_jwks_path(i), cfr_oidc_issuer_jwks, &there, err);
    if (rc == 0)
        rc = look_at(i, i->web_root, CFR_JWKS_DISCOVERY, cfr_oidc_issuer_discovery, &there, err);
    if (rc == 0)
        rc = look_at(i, o->directory, PUBLIC_KEYS, cfr_oidc_issuer_public_keys, &there, err);
    if (rc != 0 || there)
        return rc;
    cfr_oidc_issuer_set_lost(&o->issuer);
    return cfr_oidc_store_save(o, err);
}

int cfr_oidc_store_publish(struct cfr_oidc_store *o, int64_t now_s, bool *changed, struct cfr_err *err)
{
    const struct cfr_oidc_issuer *i = &o->issuer;
    int rc = notice_loss(o, err);

    *changed = false;
    /* In this order: no key signs before it is published. */
    if (rc == 0)
        rc = write_document(i, i->web_root, cfr_oidc_issuer_jwks_path(i), cfr_oidc_issuer_jwks, changed, err);
    if (rc == 0)
        rc = write_document(i, i->web_root, CFR_JWKS_DISCOVERY, cfr_oidc_issuer_discovery, changed, err);
    if (rc == 0)
        rc = write_document(i, o->directory, PUBLIC_KEYS, cfr_oidc_issuer_public_keys, changed, err);
    if (rc == 0 && !i->cluster_key)
        rc = write_file(o->directory, SIGNING_KEY, cfr_secret_view(&i->signing.private_pem), MODE_OF_KEY, changed, err);
    if (rc != 0 || !cfr_oidc_issuer_is_intent(i))
        return rc;
    cfr_oidc_issuer_done(&o->issuer, now_s);
    return cfr_oidc_store_save(o, err);
}
