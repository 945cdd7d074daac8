/* SPDX-License-Identifier: MIT */
/* Check of the service CA: its store, its lifetime, and the published certificates. Nothing is issued. */
#include "agent/doctor/doctor_private.h"

#include "agent/pki/service_ca.h"
#include "agent/pki/service_ca_import.h"
#include "agent/doctor/mountinfo_private.h"
#include "agent/loop/clock.h"
#include "base/time.h"
#include "pki/bundle.h"
#include "files/file.h"
#include "files/format/format.h"
#include "files/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOCUMENT "authority"
#define MARKER   "_service-ca" /* in state_dir: there was a CA once */
#define TEXT_MAX 262144
#define LATE_S   3600 /* what is due is done by then, or failing */

static int64_t now_s(void)
{
    return cfr_clock_now().wall_ms / 1000;
}

/* ---- the store ---- */

static bool had_ca(const struct cfr_doctor *d)
{
    char path[PATH_MAX];
    struct stat st;

    return (size_t)snprintf(path, sizeof path, "%s/" MARKER ".json", d->config->state_dir) < sizeof path &&
           stat(path, &st) == 0;
}

/* What the agent will do at its first start. */
static void report_import(struct cfr_doctor *d)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_err err = {0};

    if (d->config->service_ca->import == NULL)
        return;
    if (cfr_service_ca_import(d->config->service_ca, now_s(), &a, &err) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.import",
                          "give it a root CA's certificate and key, or remove `import` to have a new CA made", "%s",
                          err.text);
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "ca.import", NULL, "the CA \"%s\" can be taken over", a.subject);
    cfr_ca_free(&a);
}

static void report_missing(struct cfr_doctor *d, const char *store)
{
    char at[PATH_MAX];

    if (had_ca(d)) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.store",
                          "an agent that still runs writes it again within minutes; else give the directory "
                          "back from a backup. To start "
                          "over, with a CA that no client trusts yet, remove " MARKER ".json from state_dir",
                          "the CA in %s is missing, although one existed: an agent that starts now issues nothing",
                          store);
        return;
    }
    report_import(d);
    cfr_doctor_nearest(store, at);
    if (faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) == 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "ca.store", NULL, "there is no CA yet: the agent %s in %s",
                          d->config->service_ca->import != NULL ? "keeps the one that it takes over" : "makes it",
                          store);
    else
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.store",
                          "give the directory to credfresh's user (systemd: StateDirectory=), or set `store`",
                          "there is no CA yet, and uid %u may not write in %s: %s", (unsigned)geteuid(), at,
                          strerror(errno));
}

/* False if only another user, such as the agent's, can read it. */
static bool is_ours_to_read(struct cfr_doctor *d, const char *store, const struct cfr_err *err)
{
    struct stat st;

    if (err->code != CFR_E_PERM || stat(store, &st) != 0 || st.st_uid == geteuid())
        return true;
    cfr_doctor_report(d, CFR_FINDING_NOTE, "ca.store", "run doctor as the agent's user, or as root",
                      "cannot check the store: %s", err->text);
    return false;
}

static int read_store(struct cfr_doctor *d, int fd, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_CA_STORE_MAX);
    rc = cfr_state_load(fd, DOCUMENT, &text, err);
    if (rc == 0)
        rc = cfr_ca_load(cfr_secret_view(&text), &d->ca, err);
    cfr_secret_free(&text);
    return rc;
}

/* The CA's private key is in it. */
static void report_mode(struct cfr_doctor *d, int fd, const char *store)
{
    struct stat st;

    if (fstatat(fd, DOCUMENT ".json", &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & 077U) != 0)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "ca.store", "chmod 600, and consider which users may have read it",
                          "%s/" DOCUMENT ".json holds the CA's private key, and others may read it (mode %04o)", store,
                          (unsigned)st.st_mode & 07777U);
}

static void report_store(struct cfr_doctor *d, const char *store)
{
    struct cfr_err err = {0};
    int fd;
    int rc;

    if (d->ca_refused || cfr_doctor_check_link(d, "ca.store", "the store ", store))
        return;
    fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = fd >= 0 ? read_store(d, fd, &err) : cfr_err_sys(&err, errno, "cannot open %s", store);
    cfr_doctor_check_lasting(d, "ca.store", "the CA is kept in", store);
    cfr_doctor_check_lasting(d, "ca.state-dir", "that there is a CA is recorded in", d->config->state_dir);
    if (rc == CFR_E_MISSING)
        report_missing(d, store);
    else if (rc != 0 && is_ours_to_read(d, store, &err))
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.store",
                          "restore it from a backup: an agent that starts now issues nothing. Published files remain",
                          "the CA in %s/" DOCUMENT ".json cannot be used: %s", store, err.text);
    if (fd >= 0) {
        report_mode(d, fd, store);
        (void)close(fd);
    }
}

/* ---- the signer ---- */

static void report_signer(struct cfr_doctor *d, const struct cfr_config_service_ca *c)
{
    const struct cfr_ca_rules rules = {.validity_s = c->validity_ms / 1000,
                                       .rotate_below_s = c->rotate_below_ms / 1000,
                                       .generations = (size_t)c->generations};
    const struct cfr_cert *root = &d->ca.generations[0].root;
    int64_t left_s = root->ends_s - now_s();
    int64_t due_s = cfr_ca_due_s(&d->ca, &rules) - now_s();
    char left[CFR_TIME_WORDS_MAX];
    char due[CFR_TIME_WORDS_MAX];

    if (cfr_ca_is_ahead(&d->ca, now_s()))
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.signer", "set the clock of this machine",
                          "the CA is not valid yet by this machine's clock: nothing is issued until then");
    else if (left_s <= 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.signer",
                          "start the agent: it makes the next one; clients must read the new bundle",
                          "the CA has ended %s ago: what it issued is not trusted any more",
                          cfr_time_words(-left_s * 1000, left));
    else if (due_s < -LATE_S)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "ca.signer",
                          "is an agent running? see ca.agent and its log for the reason",
                          "CA %llu should have been replaced %s ago, and ends in %s", (unsigned long long)d->ca.number,
                          cfr_time_words(-due_s * 1000, due), cfr_time_words(left_s * 1000, left));
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "ca.signer", NULL, "CA %llu is valid for %s, and will be replaced in %s",
                          (unsigned long long)d->ca.number, cfr_time_words(left_s * 1000, left),
                          cfr_time_words((due_s > 0 ? due_s : 0) * 1000, due));
    if (c->import == NULL && strcmp(d->ca.subject, c->subject) != 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "ca.signer", NULL,
                          "its subject remains \"%s\"; `subject` has no effect on an existing CA", d->ca.subject);
}

static void report_agent(struct cfr_doctor *d)
{
    struct cfr_view text;

    if (cfr_json_string(cfr_json_get(cfr_json_get(d->agent.json, "service_ca"), "error"), &text) && text.n != 0)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "ca.agent", NULL, "the agent's last look at the CA failed: %.*s",
                          (int)text.n, text.p);
}

void cfr_doctor_ca(struct cfr_doctor *d, struct cfr_doctor_case *unused)
{
    const struct cfr_config_service_ca *c = d->config->service_ca;

    (void)unused;
    if (c == NULL)
        return;
    cfr_doctor_at(d, NULL, c->node.line);
    report_agent(d);
    report_store(d, c->store);
    if (d->ca.count != 0)
        report_signer(d, c);
}

/* ---- what is published of it ---- */

/* Certificate and key at one target. */
struct issued {
    struct cfr_doctor *d;
    struct cfr_cert cert;
    struct cfr_secret key;
};

/* Which of the CAs issued CERT: 0 is the newest; the count if none. */
static size_t issuer_of(const struct cfr_ca *ca, const struct cfr_cert *cert)
{
    size_t i = 0;

    while (i < ca->count && cfr_cert_verify(cert, &ca->generations[i].root, NULL) != 0)
        i++;
    return i;
}

static void report_life(struct cfr_doctor *d, const struct cfr_cert *cert, const char *path)
{
    int64_t now = now_s();
    int64_t late_s = now - (cert->begins_s + (cert->ends_s - cert->begins_s) * 9 / 10);
    char words[CFR_TIME_WORDS_MAX];

    if (cert->begins_s > now)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.certificate", "set the clock of this machine",
                          "the certificate in %s begins in this machine's future", path);
    else if (cert->ends_s <= now)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.certificate", "is an agent running? see agent.error for the reason",
                          "the certificate in %s has expired %s ago", path,
                          cfr_time_words((now - cert->ends_s) * 1000, words));
    else if (late_s > 0)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "ca.certificate",
                          "is an agent running? see agent.error for the reason",
                          "the certificate in %s should have been reissued at 80 %% of its lifetime, and expires in %s",
                          path, cfr_time_words((cert->ends_s - now) * 1000, words));
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "ca.certificate", NULL, "the certificate in %s is valid for %s", path,
                          cfr_time_words((cert->ends_s - now) * 1000, words));
}

static void check_certificate(struct issued *x, struct cfr_view text, const char *path)
{
    struct cfr_doctor *d = x->d;
    struct cfr_err err = {0};
    size_t by;

    cfr_cert_free(&x->cert);
    if (cfr_cert_read(text, &x->cert, &err) != 0) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.certificate", "remove the file: the agent reissues it", "%s: %s",
                          path, err.text);
        return;
    }
    report_life(d, &x->cert, path);
    by = issuer_of(&d->ca, &x->cert);
    if (d->ca.count != 0 && by == d->ca.count)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "ca.certificate",
                          "was the store brought back from an older backup? `credfresh rotate` with the "
                          "credential's name gets it "
                          "reissued",
                          "the certificate in %s is of none of the CAs in the store", path);
    else if (by != 0 && d->ca.count != 0)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "ca.certificate", "is an agent running? it reissues it at once",
                          "the certificate in %s is still of the previous CA", path);
}

static void check_key(struct issued *x, struct cfr_view text)
{
    cfr_secret_clear(&x->key);
    (void)cfr_secret_append(&x->key, text, NULL);
}

/* Whether one of the CAs, as a root, is in the bundle. */
static bool holds(struct cfr_view bundle, const struct cfr_ca *ca, size_t i)
{
    return cfr_view_find(bundle, ca->generations[i].root.pem) >= 0;
}

static void check_bundle(struct cfr_doctor *d, struct cfr_view text, const char *path)
{
    struct cfr_str expected = {.limit = TEXT_MAX};
    bool known = false;

    if (d->ca.count == 0)
        return;
    (void)cfr_bundle_trust(&d->ca, (size_t)d->config->service_ca->generations, now_s(), &expected, NULL);
    for (size_t i = 0; i < d->ca.count; i++)
        known = known || holds(text, &d->ca, i);
    if (cfr_view_eq(text, cfr_str_view(&expected)))
        cfr_doctor_report(d, CFR_FINDING_OK, "ca.bundle", NULL, "the bundle in %s has CA %llu", path,
                          (unsigned long long)d->ca.number);
    else if (!known)
        cfr_doctor_report(
            d, CFR_FINDING_WRONG, "ca.bundle",
            "is an agent running? was the store brought back from an older backup, or a new one started?",
            "the bundle in %s holds none of the CAs in the store: its readers trust no certificate of them", path);
    else
        cfr_doctor_report(d, CFR_FINDING_WARNING, "ca.bundle", "is an agent running? it publishes the new one at once",
                          "the bundle in %s is not the current one%s", path,
                          holds(text, &d->ca, 0) ? "" : ": it lacks the newest CA");
    cfr_str_free(&expected);
}

static void check_file(struct issued *x, const char *path, int format)
{
    const char *name = cfr_format_names[format];
    struct cfr_secret text;
    struct cfr_err err = {0};
    int rc;

    cfr_secret_init(&text, TEXT_MAX);
    rc = cfr_file_read(path, &text, &err);
    if (rc == CFR_E_PERM)
        cfr_doctor_report(x->d, CFR_FINDING_NOTE, "ca.certificate", NULL, "%s cannot be read: %s", path, err.text);
    else if (rc == 0 && strcmp(name, "certificate") == 0)
        check_certificate(x, cfr_secret_view(&text), path);
    else if (rc == 0 && strcmp(name, "private-key") == 0)
        check_key(x, cfr_secret_view(&text));
    else if (rc == 0 && strcmp(name, "ca-bundle") == 0)
        check_bundle(x->d, cfr_secret_view(&text), path);
    cfr_secret_free(&text);
}

static void check_pair(struct issued *x)
{
    struct cfr_err err = {0};

    if (x->cert.pem != NULL && x->key.len != 0 && cfr_cert_check_key(&x->cert, cfr_secret_view(&x->key), &err) != 0)
        cfr_doctor_report(x->d, CFR_FINDING_WRONG, "ca.key",
                          "have both in one directory, which changes in one step; `credfresh rotate` with the "
                          "credential's name has "
                          "them reissued",
                          "the published key and the certificate do not belong together: %s", err.text);
}

static void check_target(struct issued *x, const struct cfr_config_publish *p)
{
    char path[PATH_MAX];

    for (size_t i = 0; p->directory != NULL && i < p->files.count; i++) {
        const struct cfr_config_file *f = (const struct cfr_config_file *)p->files.items + i;

        if ((size_t)snprintf(path, sizeof path, "%s/%s", p->directory, f->name) < sizeof path)
            check_file(x, path, f->format);
    }
    if (p->file != NULL)
        check_file(x, p->file->path, p->file->format);
}

void cfr_doctor_issued(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    const struct cfr_config_credential *c = one->credential;
    struct issued x = {.d = d};

    if (cfr_service_ca_issued(c) == NULL)
        return;
    cfr_secret_init(&x.key, TEXT_MAX);
    for (size_t i = 0; i < c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)c->publish.items + i;

        cfr_doctor_at(d, c->name, p->node.line);
        check_target(&x, p);
        if (p->directory != NULL) {
            check_pair(&x);
            cfr_cert_free(&x.cert);
            cfr_secret_clear(&x.key);
        }
    }
    check_pair(&x);
    cfr_cert_free(&x.cert);
    cfr_secret_free(&x.key);
}
