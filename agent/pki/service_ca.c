/* SPDX-License-Identifier: MIT */
/* Service CA: loads, rotates and announces the CA, and issues from it. */
#include "agent/pki/service_ca_private.h"

#include "agent/config/schema.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "agent/pki/service_ca_csr.h"
#include "agent/pki/service_ca_import_private.h"
#include "agent/pki/service_ca_owner_private.h"
#include "agent/pki/service_ca_sign_private.h"
#include "agent/pki/service_ca_store_private.h"
#include "agent/pki/service_ca_key_private.h"
#include "base/log.h"
#include "base/time.h"
#include "pki/bundle.h"
#include "pki/serving_cert.h"
#include "files/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKER      "_service-ca" /* in state_dir; no credential has such a name */
#define NAME        "service-ca"  /* in the log */
#define LOOK_MS     60000         /* at the store, whatever is due */
#define START_MS    1000          /* for a store that is busy */
#define TEXT_LIMIT  262144
#define KEY_ID_TEXT (2 * CFR_CERT_KEY_ID_BYTES + 1)

struct cfr_service_ca {
    struct cfr_config_service_ca config; /* a copy */
    struct cfr_ca authority;
    struct cfr_ca next; /* is being written; without generations: none is */
    enum cfr_ca_need next_need;
    struct cfr_service_ca_store store;
    struct cfr_slow_write marking;
    struct cfr_service_ca_keys keys;
    bool used;             /* there was a CA: there must be a store */
    bool rotating;         /* a child makes the key of the next CA */
    bool subject_reported; /* that the configured subject is another */
    bool reason_seen;      /* of the configured rotation: whether it was used before was looked at */
    bool reason_is_new;    /* the configuration had another one before */
    bool import_judged;    /* whether the CA to take over is one of the store's */
    int state_fd;
    int64_t next_boot_ms;
    uint64_t mark; /* as of the last step; 0 = nothing can be issued */
    struct cfr_backoff backoff;
    struct cfr_log_once logged;
    struct cfr_err err; /* why the last step failed; code 0 = it did not */
    char key_id[KEY_ID_TEXT];
};

static struct cfr_ca_rules rules_of(const struct cfr_service_ca *s)
{
    const struct cfr_config_service_ca *c = &s->config;

    return (struct cfr_ca_rules){
        .subject = c->subject,
        .key = (enum cfr_key_kind)c->key,
        .validity_s = c->validity_ms / 1000,
        .rotate_below_s = c->rotate_below_ms / 1000,
        .generations = (size_t)c->generations,
        .force = c->force != NULL ? c->force->reason : NULL,
        .force_validity_s = c->force != NULL ? c->force->validity_ms / 1000 : 0,
        .force_trust_s = c->force != NULL ? c->force->trust_previous_ms / 1000 : 0,
    };
}

void cfr_service_ca_close(struct cfr_service_ca *s)
{
    if (s == NULL)
        return;
    cfr_service_ca_keys_close(&s->keys);
    cfr_service_ca_store_close(&s->store);
    cfr_slow_write_close(&s->marking);
    cfr_ca_free(&s->authority);
    cfr_ca_free(&s->next);
    cfr_field_free(&cfr_config_service_ca_table, &s->config);
    free(s);
}

/* ---- configuration ---- */

/* A store that was lost must not look like a first start. */
static bool has_marker(int state_fd)
{
    struct cfr_secret text;
    bool found;

    cfr_secret_init(&text, CFR_STATE_MAX);
    found = cfr_state_load(state_fd, MARKER, &text, NULL) != CFR_E_MISSING;
    cfr_secret_free(&text);
    return found;
}

static void set_marker(struct cfr_service_ca *s)
{
    struct cfr_err err = {0};
    int rc;

    if (s->used || s->authority.count == 0)
        return;
    rc = cfr_slow_write(&s->marking, s->state_fd, cfr_state_save, MARKER, cfr_view_of("{}\n"), &err);
    s->used = rc == 0;
    if (rc < 0)
        cfr_log(CFR_LOG_WARN, NAME, NULL, "%s", err.text);
}

static struct cfr_service_ca *make(void)
{
    struct cfr_service_ca *s = calloc(1, sizeof *s);

    if (s != NULL)
        s->store = (struct cfr_service_ca_store)CFR_SERVICE_CA_STORE_NONE;
    return s;
}

int cfr_service_ca_configure(struct cfr_service_ca **s, const struct cfr_config *config, int state_fd,
                             struct cfr_err *err)
{
    struct cfr_config_service_ca next = {.store = NULL};

    if (config->service_ca == NULL) {
        cfr_service_ca_close(*s);
        *s = NULL;
        return 0;
    }
    if (*s == NULL)
        *s = make();
    if (*s == NULL || cfr_field_copy(&cfr_config_service_ca_table, config->service_ca, &next, err) != 0) {
        cfr_field_free(&cfr_config_service_ca_table, &next);
        return cfr_err_nomem(err);
    }
    if ((*s)->config.store != NULL && strcmp((*s)->config.store, next.store) != 0) {
        cfr_service_ca_store_close(&(*s)->store);
        cfr_ca_free(&(*s)->authority);
        cfr_ca_free(&(*s)->next);
    }
    (*s)->reason_is_new = (*s)->config.store != NULL && next.force != NULL &&
                          ((*s)->config.force == NULL || strcmp((*s)->config.force->reason, next.force->reason) != 0);
    (*s)->reason_seen = false;
    /* Another kind of key may be wanted now. */
    cfr_service_ca_keys_close(&(*s)->keys);
    cfr_field_free(&cfr_config_service_ca_table, &(*s)->config);
    (*s)->config = next;
    (*s)->state_fd = state_fd;
    (*s)->used = has_marker(state_fd);
    (*s)->subject_reported = false;
    (*s)->import_judged = false;
    (*s)->next_boot_ms = 0;
    return 0;
}

static int follow_store(struct cfr_service_ca *s, struct cfr_err *err)
{
    int rc = cfr_service_ca_store_follow(&s->store, s->config.store, &s->authority, err);

    if (rc == CFR_E_MISSING && s->used)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "the CA in %s is missing, although one existed: restore the directory from a backup. To "
                           "start over with a new CA, which no client trusts yet, remove " MARKER
                           ".json from state_dir",
                           s->config.store);
    if (rc == CFR_E_MISSING)
        rc = 0;
    if (rc == 0 && !s->subject_reported && s->authority.count != 0 && s->config.import == NULL &&
        strcmp(s->authority.subject, s->config.subject) != 0) {
        cfr_log(CFR_LOG_WARN, NAME, NULL, "subject: remains \"%s\", that of the first CA", s->authority.subject);
        s->subject_reported = true;
    }
    return rc;
}

/* ---- rotation ---- */

static void announce(const struct cfr_ca *a, enum cfr_ca_need need, const struct cfr_ca *before,
                     const struct cfr_ca_rules *rules, int64_t now_s)
{
    const struct cfr_cert *oldest = before->count != 0 ? &before->generations[before->count - 1].outgoing : NULL;
    char life[CFR_TIME_WORDS_MAX];

    cfr_log(CFR_LOG_INFO, NAME, NULL, "CA %" PRIu64 " made%s%s, valid for %s; the bundle holds %zu", a->number,
            need == CFR_CA_FORCED ? ", forced: "
            : need == CFR_CA_DUE  ? ", because the one before is old"
                                  : "",
            need == CFR_CA_FORCED && a->reason != NULL ? a->reason : "",
            cfr_time_words((a->generations[0].root.ends_s - now_s) * 1000, life),
            cfr_bundle_count(a, rules->generations, now_s));
    if (need == CFR_CA_FORCED && a->count > 1 && rules->force_trust_s != 0)
        cfr_log(CFR_LOG_WARN, NAME, NULL,
                "all CAs before CA %" PRIu64 " are trusted for %s more: clients must have read the new bundle by then",
                a->number, cfr_time_words(rules->force_trust_s * 1000, life));
    if (a->count <= before->count && oldest != NULL && oldest->ends_s > now_s)
        cfr_log(CFR_LOG_WARN, NAME, NULL,
                "the oldest CA is not in the bundle any more, though it would have been trusted for %s: a client that "
                "missed %zu "
                "rotations no longer trusts it; raise generations to keep more",
                cfr_time_words((oldest->ends_s - now_s) * 1000, life), before->count);
}

/* The next CA is the one once it is in the store. */
static int finish(struct cfr_service_ca *s, int64_t now_s, struct cfr_err *err)
{
    const struct cfr_ca_rules rules = rules_of(s);
    char life[CFR_TIME_WORDS_MAX];
    int rc = cfr_service_ca_store_write(&s->store, s->config.store, &s->next, err);

    /* It may get there yet. */
    if (rc == CFR_SERVICE_CA_LATER || rc == CFR_E_TIMEOUT)
        return rc;
    if (rc == 0 && s->next_need != CFR_CA_NOTHING)
        announce(&s->next, s->next_need, &s->authority, &rules, now_s);
    else if (rc == 0)
        cfr_log(CFR_LOG_INFO, NAME, NULL, "the CA \"%s\" of %s is taken over, valid for %s", s->next.subject,
                s->config.import != NULL ? s->config.import->certificate : "an import",
                cfr_time_words((s->next.generations[0].root.ends_s - now_s) * 1000, life));
    if (rc == 0)
        cfr_ca_move(&s->authority, &s->next);
    cfr_ca_free(&s->next);
    return rc;
}

static int take_over(struct cfr_service_ca *s, int64_t now_s, struct cfr_err *err)
{
    int rc = cfr_service_ca_import(&s->config, now_s, &s->next, err);

    s->next_need = CFR_CA_NOTHING;
    if (rc == 0)
        return finish(s, now_s, err);
    cfr_ca_free(&s->next);
    return rc;
}

static int rotate(struct cfr_service_ca *s, enum cfr_ca_need need, int64_t now_s, struct cfr_err *err)
{
    struct cfr_ca_rules rules = rules_of(s);
    struct cfr_secret key;
    int rc;

    cfr_secret_init(&key, CFR_KEY_PEM_MAX);
    rules.made = &key;
    rc = cfr_service_ca_key_take(&s->keys, rules.key, &key, err);
    if (rc == 0 && s->authority.count != 0)
        rc = cfr_ca_copy(&s->authority, &s->next, err);
    if (rc == 0)
        rc = cfr_ca_rotate(&s->next, &rules, now_s, err);
    s->next_need = need;
    if (rc == 0)
        rc = finish(s, now_s, err);
    else
        cfr_ca_free(&s->next);
    cfr_secret_free(&key);
    return rc;
}

/* The latest reason may stay in the configuration; an operator who writes one again expects a rotation. */
static void report_used_reason(struct cfr_service_ca *s)
{
    const char *reason = s->config.force != NULL ? s->config.force->reason : NULL;
    bool last;

    if (s->reason_seen)
        return;
    s->reason_seen = true;
    if (reason != NULL && cfr_ca_reason_is_used(&s->authority, reason, &last) && (!last || s->reason_is_new))
        cfr_log(CFR_LOG_WARN, NAME, NULL,
                "force.reason: \"%.200s\" forced a rotation before and forces no other one; write another reason",
                reason);
}

/* Once for each configuration. */
static void warn_unused_import(struct cfr_service_ca *s)
{
    if (s->config.import != NULL && !s->import_judged && !cfr_service_ca_import_is_known(&s->config, &s->authority))
        cfr_log(CFR_LOG_WARN, NAME, NULL,
                "import: not importing the CA in %s, because %s already has another; remove `import`",
                s->config.import->certificate, s->config.store);
    s->import_judged = true;
}

static int keep(struct cfr_service_ca *s, int64_t now_s, struct cfr_err *err)
{
    const struct cfr_ca_rules rules = rules_of(s);
    enum cfr_ca_need need;
    int rc = s->next.count != 0 ? finish(s, now_s, err) : 0;

    if (rc == 0)
        rc = follow_store(s, err);
    if (rc != 0)
        return rc;
    if (cfr_ca_is_ahead(&s->authority, now_s))
        return cfr_err_set(err, CFR_E_MISSING, "the CA is not valid yet: check this machine's clock");
    report_used_reason(s);
    need = cfr_ca_need(&s->authority, &rules, now_s);
    if (need == CFR_CA_FIRST && s->config.import != NULL) {
        rc = take_over(s, now_s, err);
        need = rc == 0 ? cfr_ca_need(&s->authority, &rules, now_s) : CFR_CA_NOTHING;
    } else if (need != CFR_CA_FIRST) {
        warn_unused_import(s);
    }
    if (rc == 0 && need != CFR_CA_NOTHING)
        rc = rotate(s, need, now_s, err);
    set_marker(s);
    return rc;
}

static void write_key_id(const struct cfr_cert *root, char out[KEY_ID_TEXT])
{
    for (size_t i = 0; i < CFR_CERT_KEY_ID_BYTES; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", root->subject_key[i]);
}

static void name_key(struct cfr_service_ca *s)
{
    s->key_id[0] = '\0';
    if (s->authority.count != 0)
        write_key_id(&s->authority.generations[0].root, s->key_id);
}

const char *cfr_service_ca_key_id(const struct cfr_service_ca *s)
{
    return s != NULL ? s->key_id : "";
}

bool cfr_service_ca_has_key(const struct cfr_service_ca *s, const char *key_id)
{
    char one[KEY_ID_TEXT];

    for (size_t i = 0; s != NULL && i < s->authority.count; i++) {
        write_key_id(&s->authority.generations[i].root, one);
        if (strcmp(one, key_id) == 0)
            return true;
    }
    return false;
}

static void plan_step(struct cfr_service_ca *s, int rc, struct cfr_now now)
{
    const struct cfr_ca_rules rules = rules_of(s);

    if (rc == 0) {
        int64_t wait_ms = cfr_ca_next_s(&s->authority, &rules, now.wall_ms / 1000) * 1000 - now.wall_ms;

        s->backoff = (struct cfr_backoff){0};
        s->logged = (struct cfr_log_once){0};
        s->next_boot_ms = now.boot_ms + (wait_ms < LOOK_MS ? wait_ms : LOOK_MS);
        return;
    }
    s->next_boot_ms =
        now.boot_ms +
        cfr_backoff_failed(&s->backoff, &(struct cfr_backoff_cause){.class = cfr_err_class(rc)}, cfr_clock_chance());
}

bool cfr_service_ca_step(struct cfr_service_ca *s, struct cfr_now now)
{
    struct cfr_err err = {0};
    uint64_t mark;
    bool changed;
    int rc;

    if (s == NULL || s->next_boot_ms > now.boot_ms)
        return false;
    rc = keep(s, now.wall_ms / 1000, &err);
    s->rotating = rc == CFR_SERVICE_CA_LATER;
    if (s->rotating) {
        s->next_boot_ms = now.boot_ms + (cfr_service_ca_store_is_waiting(&s->store) ? CFR_SLOW_WRITE_LOOK_MS : LOOK_MS);
        return false;
    }
    if (rc != 0 && cfr_log_once_is_news(&s->logged, &err))
        cfr_log(CFR_LOG_ERROR, NAME, NULL, "%s [%s, %s]", err.text, cfr_err_name(rc),
                cfr_err_class_name(cfr_err_class(rc)));
    changed = rc != s->err.code;
    s->err = rc != 0 ? err : (struct cfr_err){0};
    name_key(s);
    plan_step(s, rc, now);
    mark = s->authority.count != 0
               ? cfr_bundle_fingerprint(&s->authority, (size_t)s->config.generations, now.wall_ms / 1000)
               : 0;
    changed = changed || mark != s->mark;
    s->mark = mark;
    return changed;
}

void cfr_service_ca_start(struct cfr_service_ca *s, struct cfr_now now)
{
    if (s == NULL)
        return;
    s->store.patience_ms = START_MS;
    (void)cfr_service_ca_step(s, now);
    s->store.patience_ms = 0;
}

int64_t cfr_service_ca_deadline(const struct cfr_service_ca *s)
{
    return s != NULL ? s->next_boot_ms : INT64_MAX;
}

void cfr_service_ca_on_clock(struct cfr_service_ca *s)
{
    if (s != NULL)
        s->next_boot_ms = 0;
}

void cfr_service_ca_on_child(struct cfr_service_ca *s)
{
    if (s != NULL && (cfr_service_ca_keys_are_pending(&s->keys) || cfr_service_ca_store_is_waiting(&s->store)))
        s->next_boot_ms = 0;
}

bool cfr_service_ca_is_rotating(const struct cfr_service_ca *s)
{
    return s != NULL && s->rotating;
}

/* ---- issuing ---- */

int cfr_service_ca_fingerprint(const struct cfr_service_ca *s, struct cfr_now now, uint64_t *mark, struct cfr_err *err)
{
    if (s == NULL || s->authority.count == 0)
        return s != NULL && s->err.code != 0 ? cfr_err_set(err, s->err.code, "%s", s->err.text)
               : s != NULL && cfr_service_ca_keys_are_pending(&s->keys)
                   ? cfr_err_set(err, CFR_E_UNAVAILABLE, "the service CA's first key is being made")
               : s != NULL && cfr_service_ca_store_is_waiting(&s->store)
                   ? cfr_err_set(err, CFR_E_UNAVAILABLE, "the service CA's store has not answered yet")
                   : cfr_err_set(err, CFR_E_MISSING, "there is no service CA yet");
    *mark = cfr_bundle_fingerprint(&s->authority, (size_t)s->config.generations, now.wall_ms / 1000);
    return 0;
}

static int grant_certificate(struct cfr_service_ca *s, const struct cfr_service_ca_certificate *c, int64_t now_s,
                             struct cfr_grant *out, struct cfr_err *err)
{
    struct cfr_str certificate = {.limit = TEXT_LIMIT};
    struct cfr_secret made;
    struct cfr_secret key;
    struct cfr_str public_key = {.limit = CFR_KEY_PEM_MAX};
    struct cfr_serving_cert_order order = {.dns_names = &c->dns_names,
                                           .ip_addresses = &c->ip_addresses,
                                           .key = (enum cfr_key_kind)c->key,
                                           .validity_s = c->validity_ms / 1000,
                                           .made = &made};
    int rc;

    cfr_secret_init(&made, CFR_KEY_PEM_MAX);
    cfr_secret_init(&key, CFR_KEY_PEM_MAX);
    if (c->csr != NULL)
        rc = cfr_service_ca_csr_read(c, &public_key, err);
    else
        rc = cfr_service_ca_key_take(&s->keys, order.key, &made, err);
    order.public_key = cfr_str_view(&public_key);
    if (rc == 0)
        rc = cfr_serving_cert_issue(&s->authority, (size_t)s->config.generations, &order, now_s, &certificate, &key,
                                    &out->expires_s, err);
    if (rc == 0)
        rc = cfr_grant_set(out, CFR_FIELD_SERVICE_CERTIFICATE, cfr_str_view(&certificate), err);
    if (rc == 0 && c->csr == NULL)
        rc = cfr_grant_set(out, CFR_FIELD_SERVICE_KEY, cfr_secret_view(&key), err);
    if (rc == 0)
        rc = cfr_grant_set_identity(
            out, cfr_view_of(c->dns_names.count != 0 ? c->dns_names.items[0] : c->ip_addresses.items[0]), err);
    out->issued_s = now_s;
    cfr_str_free(&certificate);
    cfr_str_free(&public_key);
    cfr_secret_free(&key);
    cfr_secret_free(&made);
    return rc;
}

static int grant_key_ids(const struct cfr_service_ca *s, struct cfr_grant *out, struct cfr_err *err)
{
    struct cfr_str ids = {.limit = (size_t)CFR_CA_GENERATIONS_MAX * KEY_ID_TEXT};
    char one[KEY_ID_TEXT];
    int rc;

    for (size_t i = 0; i < s->authority.count; i++) {
        write_key_id(&s->authority.generations[i].root, one);
        cfr_str_addf(&ids, "%s%s", i != 0 ? "," : "", one);
    }
    rc = ids.failed ? cfr_err_nomem(err) : cfr_grant_set(out, CFR_FIELD_SERVICE_CA_KEYS, cfr_str_view(&ids), err);
    cfr_str_free(&ids);
    return rc;
}

int cfr_service_ca_grant(struct cfr_service_ca *s, const struct cfr_service_ca_issued *c, struct cfr_now now,
                         struct cfr_grant *out, struct cfr_err *err)
{
    struct cfr_str bundle = {.limit = TEXT_LIMIT};
    uint64_t mark;
    int rc = cfr_service_ca_fingerprint(s, now, &mark, err);

    if (rc != 0)
        return rc;
    rc = cfr_bundle_trust(&s->authority, (size_t)s->config.generations, now.wall_ms / 1000, &bundle, err);
    if (rc == 0)
        rc = cfr_grant_set(out, CFR_FIELD_SERVICE_BUNDLE, cfr_str_view(&bundle), err);
    if (rc == 0)
        rc = grant_key_ids(s, out, err);
    if (rc == 0 && c->certificate != NULL)
        rc = grant_certificate(s, c->certificate, now.wall_ms / 1000, out, err);
    cfr_str_free(&bundle);
    return rc;
}

int cfr_service_ca_sign(struct cfr_service_ca *s, const struct cfr_serving_cert_order *order, struct cfr_now now,
                        struct cfr_str *chain, int64_t *ends_s, struct cfr_err *err)
{
    uint64_t mark;
    int rc = cfr_service_ca_fingerprint(s, now, &mark, err);

    if (rc == 0)
        rc = cfr_serving_cert_issue(&s->authority, (size_t)s->config.generations, order, now.wall_ms / 1000, chain,
                                    NULL, ends_s, err);
    if (rc == 0 && chain->failed)
        rc = cfr_err_nomem(err);
    return rc;
}

bool cfr_service_ca_status(const struct cfr_service_ca *s, struct cfr_api_status_authority *out)
{
    const struct cfr_ca *a;
    struct cfr_ca_rules rules;

    if (s == NULL)
        return false;
    a = &s->authority;
    rules = rules_of(s);
    *out = (struct cfr_api_status_authority){
        .number = a->number,
        .generations = cfr_bundle_count(a, rules.generations, cfr_clock_now().wall_ms / 1000),
        .reason = a->reason,
        .error = s->err.code != 0 ? s->err.text : NULL,
        .error_code = s->err.code,
        .failures = s->backoff.failures,
    };
    if (a->count != 0) {
        out->subject = a->subject;
        out->key_id = s->key_id;
        out->issued_s = a->made_s;
        out->expires_s = a->generations[0].root.ends_s;
        out->rotates_s = cfr_ca_due_s(a, &rules);
    }
    return true;
}
