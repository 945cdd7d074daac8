/* SPDX-License-Identifier: MIT */
/* Command publish: uploads the documents of an issuer in the safe order, reads them back, and waits until the
 * issuer's URL shows them. */
#include "oidc/oidc_private.h"

#include "agent/config/config.h"
#include "agent/loop/env.h"
#include "agent/source/exchange_sync.h"
#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "oidc/objects/object_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMEOUT_MS     600000
#define REQUEST_MS     30000
#define LOOK_MS        1000 /* between two looks at the public URL, at first; then longer */
#define LOOK_MOST_MS   15000
#define CACHE_MOST_S   300 /* how long caches may keep a document, unless verifiers settle sooner */
#define CONTENT_TYPE   "application/json"
#define DOCUMENTS      2
#define CACHE_TEXT_MAX 48

/* A document on its way. */
struct document {
    const char *name; /* below the issuer's URL and the store's base */
    struct cfr_str want;
    struct cfr_secret there; /* what the store or the URL has */
    bool missing;
    bool written;
    char version[CFR_OBJECTS_VERSION_MAX]; /* of what the store has; empty: it has nothing, or does not tell */
};

struct publishing {
    const struct cfr_oidc_options *o;
    struct cfr_oidc_store *d;
    struct cfr_objects_store store;
    struct cfr_grant grant;
    struct cfr_http *http;
    int64_t end_boot_ms;
    struct document documents[DOCUMENTS]; /* in the order of writing: no discovery before the keys that it names */
    /* of the request under way */
    struct document *document;
    struct cfr_wire_request request;
    bool writes;
    bool is_public;
    bool done;
    int rc;
    struct cfr_err err;
    int64_t retry_after_s;
};

static int64_t now_s(void)
{
    return cfr_clock_now().wall_ms / 1000;
}

/* ---- one request ---- */

static int keep_content(struct publishing *p, struct cfr_view body, struct cfr_err *err)
{
    cfr_secret_free(&p->document->there);
    cfr_secret_init(&p->document->there, CFR_OBJECTS_OBJECT_MAX);
    return cfr_secret_append(&p->document->there, body, err);
}

static void keep_version(struct document *d, struct cfr_view version)
{
    bool fits = version.n != 0 && version.n < sizeof d->version && cfr_view_printable(version);

    (void)snprintf(d->version, sizeof d->version, "%.*s", fits ? (int)version.n : 0, fits ? version.p : "");
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct publishing *p = ctx;
    const struct cfr_wire_reply reply = {
        .status = answer->status,
        .content_type = answer->content_type,
        .body = answer->body,
        .request_id = answer->request_id,
    };

    p->done = true;
    p->retry_after_s = answer->retry_after_s;
    p->err = answer->err;
    p->rc = answer->error;
    if (p->rc == 0 && p->is_public && answer->status != 200)
        p->rc = cfr_err_set(&p->err, CFR_E_MISSING, "it answers HTTP %ld", answer->status);
    else if (p->rc == 0 && !p->is_public)
        p->rc = cfr_objects_answer(&p->store, &p->grant, &reply, &p->err);
    if (p->rc == 0 && !p->writes)
        p->rc = keep_content(p, answer->body, &p->err);
    if (p->rc == 0 && !p->writes && !p->is_public)
        keep_version(p->document, answer->header);
}

static int send_request(struct publishing *p, struct cfr_err *err)
{
    int64_t now_ms = cfr_clock_now().boot_ms;
    int64_t left_ms = p->end_boot_ms - now_ms;
    struct cfr_http_request r = {
        .method = p->request.method,
        .url = p->request.url,
        .ca_file = p->o->ca_file != NULL ? p->o->ca_file : cfr_env_ca_file(&p->request),
        .headers = p->request.headers,
        .header_count = p->request.header_count,
        .body = p->writes ? &p->request.body : NULL,
        .keep_header = cfr_objects_version_header(p->store.kind),
        .answer_max = CFR_OBJECTS_OBJECT_MAX,
        .timeout_ms = left_ms < REQUEST_MS ? left_ms : REQUEST_MS,
    };
    void *handle = NULL;
    int rc;

    p->done = false;
    if (left_ms <= 0)
        return cfr_err_set(err, CFR_E_TIMEOUT, "the time is up");
    rc = cfr_http_start(p->http, &r, on_answer, p, &handle, err);
    if (rc != 0)
        return rc;
    rc = cfr_http_run(p->http, &p->done, p->end_boot_ms, err);
    if (!p->done)
        cfr_http_cancel(p->http, handle);
    if (!p->done)
        return rc;
    *err = p->err;
    return p->rc;
}

/* Each try is signed again, because a signature is for its time. */
static int try_object(void *ctx, int64_t *retry_after_s, struct cfr_err *err)
{
    struct publishing *p = ctx;
    struct document *d = p->document;
    char cache[CACHE_TEXT_MAX];
    const struct cfr_objects_content content = {.name = d->name,
                                                .content_type = CONTENT_TYPE,
                                                .cache_control = cache,
                                                .version = d->missing || d->version[0] != '\0' ? d->version : NULL,
                                                .bytes = cfr_str_view(&d->want)};
    int64_t settle_s = p->d->issuer.settle_s;
    int rc;

    (void)snprintf(cache, sizeof cache, "public, max-age=%d", (int)(settle_s < CACHE_MOST_S ? settle_s : CACHE_MOST_S));
    p->is_public = false;
    p->retry_after_s = -1;
    rc = p->writes ? cfr_objects_put(&p->store, &p->grant, &content, now_s(), &p->request, err)
                   : cfr_objects_get(&p->store, &p->grant, d->name, now_s(), &p->request, err);
    if (rc == 0)
        rc = send_request(p, err);
    cfr_wire_request_free(&p->request);
    *retry_after_s = p->retry_after_s;
    return rc;
}

static int call_store(struct publishing *p, struct document *d, bool writes, struct cfr_err *err)
{
    int rc;

    p->document = d;
    p->writes = writes;
    rc = cfr_source_sync_retry(try_object, p, p->end_boot_ms, err);
    if (!writes)
        d->missing = rc == CFR_E_MISSING;
    if (!writes && d->missing) {
        cfr_secret_free(&d->there);
        d->version[0] = '\0';
        rc = 0;
    }
    return rc != 0 ? cfr_err_prefix(err, "%s %.200s/%s", writes ? "writing" : "reading", p->store.base, d->name) : 0;
}

static bool is_same(const struct document *d)
{
    return !d->missing && cfr_view_eq(cfr_secret_view(&d->there), cfr_str_view(&d->want));
}

/* ---- what is there already ---- */

/* A key of the set that is there and unknown here is in tokens, which would be refused. */
static int check_keys(const struct publishing *p, const struct document *d, struct cfr_err *err)
{
    struct cfr_str kid = {.limit = 256};
    int rc = 0;

    if (!d->missing && cfr_oidc_issuer_finds_unknown(&p->d->issuer, NULL, cfr_secret_view(&d->there), &kid))
        rc = cfr_err_set(
            err, CFR_E_CONFLICT,
            "%.200s/%s holds the key %s, which %.100s does not know: tokens that it signed would be refused. "
            "If none is in use, publish with --replace",
            p->store.base, d->name, kid.p != NULL ? kid.p : "-", p->d->directory);
    cfr_str_free(&kid);
    return rc;
}

static int check_issuer(const struct publishing *p, const struct document *d, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view issuer;
    int rc = 0;

    if (d->missing || cfr_json_parse(cfr_secret_view(&d->there), &doc, NULL) != 0)
        return 0;
    if (cfr_json_string(cfr_json_get(doc, "issuer"), &issuer) && !cfr_view_is(issuer, p->d->issuer.url)) {
        struct cfr_str shown = {.limit = 512};

        cfr_str_add_shown(&shown, issuer, 300);
        rc = cfr_err_set(err, CFR_E_CONFLICT,
                         "%.200s is the place of another issuer, %s: give another store, or publish with --replace",
                         p->store.base, shown.p != NULL ? shown.p : "-");
        cfr_str_free(&shown);
    }
    cfr_json_free(doc);
    return rc;
}

/* Stored before anything else is tried: however this run ends, no later one takes the new key for published. */
static int drop_record(struct publishing *p, struct cfr_err *err)
{
    return cfr_oidc_issuer_set_not_uploaded(&p->d->issuer) ? cfr_oidc_store_save(p->d, err) : 0;
}

static void drop_record_after_error(struct publishing *p)
{
    struct cfr_err unsaved = {0};

    if (drop_record(p, &unsaved) != 0)
        cfr_cli_complain("%s", unsaved.text);
}

/* Another discovery document counts like another key set: it may lead verifiers to other keys. */
static int look_at_store(struct publishing *p, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < DOCUMENTS; i++) {
        rc = call_store(p, &p->documents[i], false, err);
        if (rc == 0 && !is_same(&p->documents[i]))
            rc = drop_record(p, err);
        else if (rc == CFR_E_LIMIT) /* larger than any of ours */
            drop_record_after_error(p);
    }
    if (rc != 0 || p->o->replace)
        return rc;
    rc = check_issuer(p, &p->documents[1], err);
    return rc != 0 ? rc : check_keys(p, &p->documents[0], err);
}

/* ---- the steps ---- */

/* The version is another one by now: perhaps because of our own write, whose answer was lost. */
static int check_conflict(struct publishing *p, struct document *d, struct cfr_err *err)
{
    struct cfr_err unread = {0};

    d->written = true;
    return call_store(p, d, false, &unread) == 0 && is_same(d) ? 0 : err->code;
}

static int write_one(struct publishing *p, struct document *d, struct cfr_err *err)
{
    int rc;

    if (is_same(d))
        return 0;
    rc = call_store(p, d, true, err);
    if (rc == CFR_E_CONFLICT)
        return check_conflict(p, d, err);
    if (rc == 0)
        rc = call_store(p, d, false, err);
    if (rc == 0 && !is_same(d))
        rc = cfr_err_set(
            err, CFR_E_CONFLICT,
            "%.200s/%s differs from what was uploaded: another program may write there; stop it and publish again",
            p->store.base, d->name);
    d->written = true;
    return rc;
}

/* 0, or CFR_E_MISSING while the URL shows something else. */
static int look_at_url(struct publishing *p, struct document *d, struct cfr_err *err)
{
    struct cfr_str url = {.limit = 4096};
    int rc;

    cfr_str_addf(&url, "%s/%s", p->d->issuer.url, d->name);
    if (url.failed) {
        cfr_str_free(&url);
        return cfr_err_nomem(err);
    }
    p->document = d;
    p->writes = false;
    p->is_public = true;
    p->request.method = "GET";
    p->request.url = url.p;
    rc = send_request(p, err);
    d->missing = rc != 0;
    if (rc == 0 && !is_same(d))
        rc = cfr_err_set(err, CFR_E_MISSING, "it shows another document");
    if (rc != 0)
        (void)cfr_err_prefix(err, "%.300s", url.p);
    cfr_wire_request_free(&p->request);
    return rc;
}

/* Through whatever caches there are: until they show it, verifiers read the old one. */
static int wait_for_url(struct publishing *p, struct document *d, struct cfr_err *err)
{
    int64_t pause_ms = LOOK_MS;
    bool said = false;

    for (;;) {
        int rc = look_at_url(p, d, err);
        int64_t left_ms = p->end_boot_ms - cfr_clock_now().boot_ms;
        bool late = left_ms <= pause_ms;

        if (rc == CFR_E_MISSING || rc == CFR_E_LIMIT)
            drop_record_after_error(p);
        if (rc == 0 || (rc != CFR_E_MISSING && cfr_err_class(rc) == CFR_CLASS_LOCAL))
            return rc;
        if (late) {
            const struct cfr_err last = *err;

            drop_record_after_error(p); /* of a URL that cannot be reached nothing is known until now */
            return cfr_err_set(err, CFR_E_TIMEOUT,
                               "%s. The store has the document: wait for the caches in front of it, and check that the "
                               "issuer's URL leads to the store and can be read by anyone; then publish again",
                               last.text);
        }
        if (!said)
            cfr_cli_complain("waiting: %s", err->text);
        said = true;
        (void)nanosleep(&(struct timespec){pause_ms / 1000, (long)(pause_ms % 1000) * 1000000L}, NULL);
        pause_ms = pause_ms * 2 < LOOK_MOST_MS ? pause_ms * 2 : LOOK_MOST_MS;
    }
}

static int upload(struct publishing *p, struct cfr_err *err)
{
    bool changed = false;
    int rc = look_at_store(p, err);

    for (size_t i = 0; rc == 0 && i < DOCUMENTS; i++) {
        rc = write_one(p, &p->documents[i], err);
        /* A discovery document leads verifiers to the keys: they are to be there. */
        if (rc == 0)
            rc = wait_for_url(p, &p->documents[i], err);
        changed = changed || p->documents[i].written;
    }
    if (rc == 0)
        rc = cfr_oidc_issuer_set_uploaded(&p->d->issuer, changed, now_s(), err);
    if (rc == 0)
        rc = cfr_oidc_store_save(p->d, err);
    if (rc == 0)
        (void)printf(changed ? "uploaded to %s (%s), read back, and shown by %s\n"
                             : "%s (%s) has the documents, and %s shows them\n",
                     cfr_objects_name(p->store.kind), p->store.base, p->d->issuer.url);
    return rc;
}

/* ---- the command ---- */

static int get_grant(struct publishing *p, struct cfr_err *err)
{
    const struct cfr_oidc_options *o = p->o;
    const struct cfr_config_credential *c;
    struct cfr_config *config = NULL;
    int rc;

    if (o->cli.names.count != 1)
        return cfr_err_set(err, CFR_E_USAGE,
                           "publish needs --name NAME, a credential of the configuration that may write to the store");
    cfr_log_setup(CFR_LOG_ERROR, CFR_LOG_TEXT, false);
    rc = cfr_config_load(o->cli.config, cfr_env_get, &config, NULL, err);
    if (rc != 0)
        return rc;
    c = cfr_config_find(config, o->cli.names.items[0]);
    rc = c == NULL
             ? cfr_err_set(err, CFR_E_CONFIG, "%.200s has no credential %.80s", o->cli.config, o->cli.names.items[0])
             : cfr_source_sync_grant(c, p->end_boot_ms, &p->grant, err);
    if (c != NULL && rc != 0)
        (void)cfr_err_prefix(err, "%s", c->name);
    cfr_config_free(config);
    return rc;
}

/* By --to, else where they went before, else the issuer's URL if that is a store's own. */
static int choose_store(struct publishing *p, struct cfr_err *err)
{
    struct cfr_oidc_issuer *issuer = &p->d->issuer;
    const char *to = p->o->to != NULL ? p->o->to : issuer->store != NULL ? issuer->store : issuer->url;
    int rc = cfr_objects_parse(to, &p->store, err);

    if (rc != 0 && p->o->to == NULL && issuer->store == NULL)
        return cfr_err_set(err, CFR_E_USAGE,
                           "publish needs --to [s3@REGION:|blob:|gcs:]URL, the bucket or container of the documents");
    if (rc != 0) {
        (void)cfr_err_prefix(err, "--to %.200s", to);
        return err->code = CFR_E_USAGE;
    }
    return cfr_oidc_issuer_set_store(issuer, to, err);
}

int cfr_oidc_upload(const struct cfr_oidc_options *o, struct cfr_oidc_store *d, struct cfr_err *err)
{
    struct publishing p = {
        .o = o,
        .d = d,
        .end_boot_ms = cfr_clock_now().boot_ms + (o->cli.timeout_ms >= 0 ? o->cli.timeout_ms : TIMEOUT_MS),
        .documents = {{.name = cfr_oidc_issuer_jwks_path(&d->issuer), .want = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX}},
                      {.name = CFR_JWKS_DISCOVERY, .want = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX}}},
    };
    int rc = choose_store(&p, err);

    if (rc == 0)
        rc = cfr_oidc_issuer_jwks(&d->issuer, &p.documents[0].want, err);
    if (rc == 0)
        rc = cfr_oidc_issuer_discovery(&d->issuer, &p.documents[1].want, err);
    if (rc == 0)
        rc = get_grant(&p, err);
    /* From now on a key counts as published when it is there: this is stored before anything is. */
    if (rc == 0)
        rc = cfr_oidc_store_save(d, err);
    if (rc == 0)
        rc = cfr_http_open(&p.http, err);
    if (rc == 0)
        rc = upload(&p, err);
    if (p.http != NULL)
        cfr_http_close(p.http);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        cfr_str_free(&p.documents[i].want);
        cfr_secret_free(&p.documents[i].there);
    }
    cfr_grant_free(&p.grant);
    return rc;
}
