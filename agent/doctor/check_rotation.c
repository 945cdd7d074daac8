/* SPDX-License-Identifier: MIT */
/* Check of a rotated long-lived key: its journal, whether that outlives a restart, the credential that makes the keys,
 * and the published key in its directory. The cloud is not called; see check_rotation_key.c. */
#include "agent/doctor/doctor_private.h"
#include "agent/loop/env.h"

#include "agent/doctor/mountinfo_private.h"
#include "agent/kube/client.h"
#include "agent/loop/clock.h"
#include "agent/rotation/leftover.h"
#include "base/str.h"
#include "base/time.h"
#include "files/file.h"
#include "files/state.h"
#include "rotation/rotation.h"
#include "sts/aws/aws.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING_MAX 262144
#define LATE_S      3600 /* past expire_after: one that is begun in time is done by then, or failing */

/* One key being looked at. */
struct look {
    struct cfr_doctor *d;
    const struct cfr_config_credential *c;
    const struct cfr_rotation_provider *provider;
    const void *config;
    struct cfr_rotation_journal journal;
};

/* False if this user cannot read FILE, though the agent may be able to. */
static bool is_ours_to_read(struct cfr_doctor *d, const char *check, const char *file, const struct cfr_err *err)
{
    struct stat st;

    if (err->code != CFR_E_PERM || stat(d->config->state_dir, &st) != 0 || st.st_uid == geteuid())
        return true;
    cfr_doctor_report(d, CFR_FINDING_NOTE, check, "run doctor as the agent's user, or as root", "%s cannot be read: %s",
                      file, err->text);
    return false;
}

/* ---- the pending secret ---- */

static bool has_text(const struct cfr_json *doc, const char *key, const char *wanted)
{
    struct cfr_view text;

    return cfr_json_string(cfr_json_get(doc, key), &text) && cfr_view_is(text, wanted);
}

static int read_pending(const struct look *l, int dir_fd, const char *name, struct cfr_err *err)
{
    struct cfr_secret text;
    struct cfr_json *doc = NULL;
    int rc;

    cfr_secret_init(&text, PENDING_MAX);
    rc = cfr_file_read_at(dir_fd, name, &text, err);
    if (rc == 0 && cfr_json_parse(cfr_secret_view(&text), &doc, NULL) != 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not a JSON document");
    if (rc == 0 && (!has_text(doc, "name", l->journal.name) || !has_text(doc, "id", l->journal.minted)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "it belongs to another key");
    cfr_json_free(doc);
    cfr_secret_free(&text);
    return rc;
}

/* Between making a key and publishing it, its secret is there and nowhere else. */
static void report_pending(const struct look *l, int dir_fd)
{
    bool verified = l->journal.step == CFR_ROTATION_VERIFIED;
    char name[160];
    struct cfr_err err = {0};

    if (!verified && l->journal.step != CFR_ROTATION_MINTED)
        return;
    (void)snprintf(name, sizeof name, "%.63s+mint.pending", l->c->name);
    if (read_pending(l, dir_fd, name, &err) == 0)
        cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.pending", NULL,
                          "the secret of the new key %s is kept until it is published", l->journal.minted);
    else if (is_ours_to_read(l->d, "mint.pending", name, &err))
        cfr_doctor_report(l->d, verified ? CFR_FINDING_WRONG : CFR_FINDING_WARNING, "mint.pending",
                          verified ? "restore it from a backup of state_dir; until then the rotation pauses, and the "
                                     "published key remains valid"
                                   : "nothing: the agent removes that key, and makes another one",
                          "the secret of the new key %s is not available: %s in %s: %s", l->journal.minted, name,
                          l->d->config->state_dir, err.text);
}

/* ---- the journal ---- */

static int read_journal(struct look *l, int dir_fd, const char *name, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_STATE_MAX);
    rc = cfr_state_load(dir_fd, name, &text, err);
    if (rc == 0)
        rc = cfr_rotation_journal_read(cfr_secret_view(&text), &l->journal, err);
    cfr_secret_free(&text);
    return rc;
}

static bool is_of_another(const struct look *l)
{
    char subject[CFR_ROTATION_SUBJECT_MAX];

    cfr_config_mint_subject(l->c->mint, subject);
    return l->journal.subject[0] != '\0' && strcmp(l->journal.subject, subject) != 0;
}

static void report_age(const struct look *l, int64_t now_s)
{
    const struct cfr_rotation_journal *j = &l->journal;
    const struct cfr_rotation_rules rules = {.expire_after_s = l->c->mint->expire_after_ms / 1000};
    int64_t end_s = cfr_rotation_due_s(j, &rules);
    char age[CFR_TIME_WORDS_MAX];
    char words[CFR_TIME_WORDS_MAX];

    if (j->current[0] == '\0')
        return;
    (void)cfr_time_words((now_s - j->current_s) * 1000, age);
    if (j->current_s > now_s + LATE_S)
        cfr_doctor_report(l->d, CFR_FINDING_WARNING, "mint.age", "set the clock of this machine",
                          "the key %s was minted in this machine's future: its clock is behind, or was ahead then",
                          j->current);
    else if (j->current_ends_s != 0 && now_s >= j->current_ends_s)
        cfr_doctor_report(l->d, CFR_FINDING_WRONG, "mint.age",
                          "is an agent running? see agent.error and mint.waits for the reason",
                          "the key %s ended %s ago, and has not been replaced: the cloud refuses it", j->current,
                          cfr_time_words((now_s - j->current_ends_s) * 1000, words));
    else if (now_s > end_s + LATE_S)
        cfr_doctor_report(l->d, CFR_FINDING_WARNING, "mint.age",
                          "is an agent running? see agent.error and mint.waits for the reason",
                          "the key %s is %s old, and should have been replaced %s ago", j->current, age,
                          cfr_time_words((now_s - end_s) * 1000, words));
    else
        cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.age", NULL, "the key %s is %s old, and to be replaced within %s",
                          j->current, now_s > j->current_s ? age : "0s",
                          cfr_time_words((now_s < end_s ? end_s - now_s : 0) * 1000, words));
}

static void report_aside(const struct look *l)
{
    const struct cfr_rotation_journal *j = &l->journal;
    bool keep = l->c->mint->keep_unknown || !l->provider->sole;
    struct cfr_str ids = {.limit = (size_t)CFR_ROTATION_ASIDE_MAX * (CFR_ROTATION_ID_MAX + 2)};

    for (size_t i = 0; i < j->aside_count; i++) {
        if (!j->aside[i].ours && (keep || !j->aside[i].lost))
            cfr_str_addf(&ids, "%s%s", ids.len != 0 ? ", " : "", j->aside[i].id);
    }
    if (ids.len != 0 && !ids.failed)
        cfr_doctor_report(l->d, CFR_FINDING_WARNING, "mint.aside",
                          "delete them in the cloud if nothing uses them, or activate them",
                          "set aside, because each may be a key whose answer was lost or another user's; credfresh "
                          "never deletes them: %s of %s",
                          ids.p, j->subject);
    cfr_str_free(&ids);
}

static void report_journal(const struct look *l)
{
    const struct cfr_rotation_journal *j = &l->journal;
    int64_t now_s = cfr_clock_now().wall_ms / 1000;
    char words[CFR_TIME_WORDS_MAX];

    if (is_of_another(l)) {
        cfr_doctor_report(l->d, CFR_FINDING_NOTE, "mint.journal", "nothing, if the change of the owner is meant",
                          "the journal is about the keys of %s, which the agent removes once the new owner's key is "
                          "published and the "
                          "grace is over: %s%s%s",
                          j->subject, j->current[0] != '\0' ? j->current : "none", j->old[0] != '\0' ? ", " : "",
                          j->old);
        return;
    }
    cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.journal", NULL, "rotation %llu is at the step %s, since %s",
                      (unsigned long long)j->rotation, cfr_rotation_step_name(j->step),
                      cfr_time_words((now_s > j->step_s ? now_s - j->step_s : 0) * 1000, words));
    report_age(l, now_s);
    report_aside(l);
}

/* ---- what is published ---- */

/* Reads the id of the key in DIRECTORY; false if there is no rotated key. */
static bool read_minted(const char *directory, char id[CFR_ROTATION_ID_MAX])
{
    char path[PATH_MAX];
    struct cfr_secret text;
    struct cfr_view line;
    bool found = false;

    cfr_secret_init(&text, 1024);
    if ((size_t)snprintf(path, sizeof path, "%s/" CFR_ROTATION_FILE, directory) < sizeof path &&
        cfr_file_read(path, &text, NULL) == 0) {
        const char *blank;

        line = cfr_view_trim(cfr_secret_view(&text));
        blank = line.n != 0 ? memchr(line.p, ' ', line.n) : NULL;
        found = blank != NULL;
        if (found)
            (void)snprintf(id, CFR_ROTATION_ID_MAX, "%.*s", (int)(line.p + line.n - blank - 1), blank + 1);
    }
    cfr_secret_free(&text);
    return found;
}

static bool is_settled(enum cfr_rotation_step step)
{
    return step == CFR_ROTATION_REST || step == CFR_ROTATION_PUBLISHED || step == CFR_ROTATION_RETIRING ||
           step == CFR_ROTATION_INACTIVE || step == CFR_ROTATION_DELETING;
}

static void report_published(const struct look *l, bool has_journal)
{
    for (size_t i = 0; i < l->c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)l->c->publish.items + i;
        char id[CFR_ROTATION_ID_MAX];

        if (p->directory == NULL || !read_minted(p->directory, id))
            continue;
        if (!has_journal)
            cfr_doctor_report(l->d, CFR_FINDING_WARNING, "mint.published",
                              "restore state_dir from a backup before the agent starts; otherwise another key is "
                              "created, and this one remains until you delete it",
                              "%s holds the key %s, but its journal is missing in %s", p->directory, id,
                              l->d->config->state_dir);
        else if (is_settled(l->journal.step) && strcmp(id, l->journal.current) != 0)
            cfr_doctor_report(
                l->d, CFR_FINDING_WARNING, "mint.published",
                "was state_dir, or the directory, brought back from a backup? see which key the cloud has",
                "%s holds the key %s, and by the journal it is %s", p->directory, id,
                l->journal.current[0] != '\0' ? l->journal.current : "none");
        else
            cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.published", NULL, "%s holds the key %s", p->directory, id);
    }
}

/* ---- what was written down ---- */

static void report_written(struct look *l)
{
    const char *dir = l->d->config->state_dir;
    char name[128];
    struct cfr_err err = {0};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc;

    (void)snprintf(name, sizeof name, "%.63s+mint", l->c->name);
    rc = fd >= 0 ? read_journal(l, fd, name, &err) : cfr_err_sys(&err, errno, "cannot open %s", dir);
    if (rc == 0) {
        report_journal(l);
        if (!is_of_another(l)) {
            report_pending(l, fd);
            report_published(l, true);
        }
    } else if (rc == CFR_E_MISSING) {
        cfr_doctor_report(l->d, CFR_FINDING_NOTE, "mint.journal", NULL,
                          "no key has been created yet: %s/%s.json does not exist", dir, name);
        report_published(l, false);
    } else if (is_ours_to_read(l->d, "mint.journal", name, &err)) {
        cfr_doctor_report(l->d, CFR_FINDING_WRONG, "mint.journal",
                          "restore it from a backup of state_dir; or remove it, and delete the unused keys in the "
                          "cloud. The published key remains valid",
                          "the journal %s/%s.json cannot be used, and without it nothing is done: %s", dir, name,
                          err.text);
    }
    if (fd >= 0)
        (void)close(fd);
}

/* What the Secret says only the agent tells, whose rights it takes. */
static void report_shared(struct look *l)
{
    const struct cfr_config_mint_state *s = l->c->mint->state;
    char name[256];

    cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.state", NULL,
                      "the rotation is kept in the Secret %.63s%s%.253s, and other agents may go on with it",
                      s->namespace_name != NULL ? s->namespace_name : "", s->namespace_name != NULL ? "/" : "",
                      s->secret);
    (void)snprintf(name, sizeof name, "%.100s/%.63s+mint.json", l->d->config->state_dir, l->c->name);
    if (access(name, F_OK) == 0)
        cfr_doctor_report(l->d, CFR_FINDING_WRONG, "mint.journal",
                          "remove it once the keys that it names are deleted or adopted (`adopt`), or remove `state`",
                          "%s is the journal of an unshared rotation, which a shared one does not continue", name);
    cfr_doctor_cluster(l->d, &(struct cfr_kube_where){s->kubeconfig, s->context});
}

/* ---- the credential that makes the keys ---- */

static void report_unfit(const struct look *l, const char *remedy, const char *why)
{
    cfr_doctor_report(l->d, CFR_FINDING_WRONG, "mint.with", remedy, "%s cannot make keys of %s: %s", l->c->mint->with,
                      l->provider->name, why);
}

/* The keys of a Secret that is passed on, tried by building a request that is not sent. */
static void check_passed_on(const struct look *l, const struct cfr_source_inputs *m)
{
    struct cfr_grant grant = {0};
    struct cfr_rotation_ask ask = {
        .op = CFR_ROTATION_LIST, .now_s = cfr_clock_now().wall_ms / 1000, .admin = &grant, .env = cfr_env_get};
    struct cfr_wire_request request = {.method = NULL};
    struct cfr_err err = {0};
    int rc = cfr_source_inputs_grant(m, &grant, &err);

    if (rc == 0)
        rc = l->provider->build(l->config, &ask, "", &request, &err);
    if (rc != 0)
        report_unfit(l, NULL, err.text);
    else
        cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.with", NULL, "%s can be used to manage keys of %s",
                          l->c->mint->with, l->provider->name);
    cfr_wire_request_free(&request);
    cfr_grant_free(&grant);
}

static void check_exchanged(const struct look *l, const struct cfr_source_inputs *m)
{
    const char *family = m->provider->family != NULL ? m->provider->family : m->provider->name;

    if (strcmp(family, l->provider->name) != 0)
        report_unfit(l, "name one in `mint.with` that has credentials of the same cloud", "it is for another cloud");
    else if (m->provider == &cfr_aws_provider && ((const struct cfr_aws *)m->config)->role_arn == NULL)
        report_unfit(l, "set `pass_on: true` for its Secret, or `role_arn` for its exchange",
                     "what GetSessionToken gives may not call IAM");
    else
        cfr_doctor_report(l->d, CFR_FINDING_OK, "mint.with", NULL,
                          "%s has credentials of %s; whether they permit it, only the cloud knows", l->c->mint->with,
                          l->provider->name);
}

static void report_with(const struct look *l)
{
    const struct cfr_config_credential *with = cfr_config_find(l->d->config, l->c->mint->with);
    struct cfr_source_inputs m;
    struct cfr_err err = {0};
    int64_t wait_ms;
    int rc;

    if (with == NULL)
        return;
    rc = cfr_source_inputs_read(with, cfr_clock_now().wall_ms, false, &m, &wait_ms, &err);
    if (rc != 0 && !cfr_doctor_wants(l->d, with->name)) /* else it has its own finding */
        cfr_doctor_report(l->d, CFR_FINDING_WRONG, "mint.with", "`credfresh doctor` with its name says more",
                          "%s, which is to make the keys, cannot be got: %s", with->name, err.text);
    else if (rc == 0 && m.provider != NULL)
        check_exchanged(l, &m);
    else if (rc == 0 && m.volume != NULL)
        check_passed_on(l, &m);
    else if (rc == 0)
        report_unfit(l, "name one in `mint.with` that has credentials of that cloud",
                     "it has none of a cloud's credentials");
    cfr_source_inputs_free(&m);
}

/* ---- keys of credentials that left the configuration ---- */

static void report_forgotten(void *ctx, const char *name, const struct cfr_rotation_journal *j,
                             const struct cfr_err *err)
{
    struct cfr_doctor *d = ctx;
    struct cfr_str keys = {.limit = CFR_ROTATOR_LEFTOVER_MAX};

    if (j == NULL && !is_ours_to_read(d, "mint.forgotten", name, err))
        return;
    if (j != NULL)
        cfr_rotator_leftover_keys(j, &keys);
    cfr_doctor_report(d, CFR_FINDING_WARNING, "mint.forgotten",
                      "delete them in the cloud if nothing uses them; then `credfresh forget` with its name",
                      "%s is not in the configuration any more, and its keys work on: %s%s%s", name,
                      j == NULL        ? "which, its journal does not tell: "
                      : keys.p != NULL ? keys.p
                                       : "",
                      j != NULL ? " of " : "", j != NULL ? j->subject : err->text);
    cfr_str_free(&keys);
}

void cfr_doctor_mint_forgotten(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    int fd = open(d->config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)one;
    if (fd < 0)
        return;
    (void)cfr_rotator_each_leftover(fd, d->config, report_forgotten, d, NULL);
    (void)close(fd);
}

/* ---- all of it ---- */

void cfr_doctor_mint(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    const struct cfr_config_credential *c = one->credential;
    struct look l = {.d = d, .c = c};

    if (c->mint == NULL)
        return;
    l.provider = cfr_config_mint_provider(c->mint, &l.config);
    cfr_doctor_at(d, c->name, c->mint->node.line);
    if (c->mint->state != NULL) {
        report_shared(&l);
    } else {
        cfr_doctor_check_lasting(d, "mint.state-dir", "the rotation is written down in", d->config->state_dir);
        report_written(&l);
    }
    report_with(&l);
}

void cfr_doctor_mint_agent(struct cfr_doctor *d, const struct cfr_json *credential)
{
    const struct cfr_json *mint = cfr_json_get(credential, "mint");
    struct cfr_view text;
    bool waits_for_time;

    if (cfr_json_string(cfr_json_get(mint, "error"), &text) && text.n != 0)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "mint.error", NULL, "the rotation: %.*s", (int)text.n, text.p);
    if (!cfr_json_string(cfr_json_get(mint, "waits_for"), &text) || text.n == 0)
        return;
    waits_for_time =
        !cfr_view_starts(text, CFR_ROTATION_WAITS_OPERATOR) && !cfr_view_starts(text, CFR_ROTATION_WAITS_ROOM);
    cfr_doctor_report(d, waits_for_time ? CFR_FINDING_NOTE : CFR_FINDING_WARNING, "mint.waits", NULL,
                      "the rotation waits for %.*s", (int)text.n, text.p);
}
