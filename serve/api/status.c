/* SPDX-License-Identifier: MIT */
/* The status document and the readiness page. */
#include "serve/api/status_private.h"

#include "base/time.h"
#include "base/writer.h"

bool cfr_api_status_is_ready(const struct cfr_api_status_credential *c, int64_t now_s)
{
    return c->published && !c->unserved && !c->source_missing && c->mint.key_refused == NULL &&
           (c->expires_s == 0 || c->expires_s > now_s);
}

/* 0 means "none" in every instant of struct cfr_api_status. */
static void add_instant(struct cfr_writer *w, const char *key, int64_t unix_s)
{
    char buf[CFR_TIME_RFC3339_MAX];

    cfr_writer_string(w, key, cfr_view_of(unix_s == 0 ? NULL : cfr_time_format(unix_s, buf)));
}

static void add_text(struct cfr_writer *w, const char *key, const char *text)
{
    cfr_writer_string(w, key, cfr_view_of(text));
}

static void add_hooks(struct cfr_writer *w, const char *key, const struct cfr_api_status_hook *hooks, size_t count)
{
    cfr_writer_array(w, key);
    for (size_t i = 0; i < count; i++) {
        const struct cfr_api_status_hook *h = &hooks[i];

        cfr_writer_object(w, NULL);
        add_text(w, "name", h->name);
        add_text(w, "result", h->result);
        add_text(w, "error", h->error);
        add_instant(w, "last_run", h->last_run_s);
        cfr_writer_count(w, "generation", h->generation);
        cfr_writer_count(w, "runs_ok", h->runs_ok);
        cfr_writer_count(w, "runs_failed", h->runs_failed);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

static void add_consumers(struct cfr_writer *w, const struct cfr_api_status_credential *c)
{
    cfr_writer_array(w, "consumers");
    for (size_t i = 0; i < c->consumer_count; i++) {
        const struct cfr_api_status_consumer *k = &c->consumers[i];

        cfr_writer_object(w, NULL);
        add_text(w, "name", k->name);
        cfr_writer_count(w, "generation", k->generation);
        add_instant(w, "said", k->said_s);
        cfr_writer_bool(w, "current", k->current);
        cfr_writer_bool(w, "behind", k->behind);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
    cfr_writer_bool(w, "previous_held", c->previous_held);
}

static void add_token(struct cfr_writer *w, const struct cfr_api_status_credential *c)
{
    cfr_writer_object(w, "token");
    add_instant(w, "issued", c->token_issued_s);
    add_instant(w, "expires", c->token_expires_s);
    cfr_writer_bool(w, "overdue", c->token_overdue);
    cfr_writer_bool(w, "requested", c->token_requested);
    add_text(w, "note", c->token_note);
    cfr_writer_close(w);
}

static void add_error(struct cfr_writer *w, const struct cfr_api_status_credential *c)
{
    if (c->error == NULL) {
        add_text(w, "last_error", NULL);
        return;
    }
    cfr_writer_object(w, "last_error");
    add_text(w, "code", cfr_err_name(c->error_code));
    add_text(w, "class", cfr_err_class_name(cfr_err_class(c->error_code)));
    add_text(w, "message", c->error);
    add_instant(w, "at", c->error_s);
    cfr_writer_close(w);
}

static void add_mint(struct cfr_writer *w, const struct cfr_api_status_mint *m)
{
    if (m->state == NULL)
        return;
    cfr_writer_object(w, "mint");
    add_text(w, "state", m->state);
    add_text(w, "step", m->step);
    add_text(w, "waits_for", m->waits_for);
    add_text(w, "error", m->error);
    add_text(w, "subject", m->subject);
    add_text(w, "key", m->key);
    add_text(w, "key_state", m->key_state);
    add_text(w, "old_key", m->old_key);
    add_instant(w, "old_key_until", m->old_key_until_s);
    add_text(w, "passed_on", m->passed_on);
    if (m->role != NULL) {
        add_text(w, "role", m->role);
        add_text(w, "holder", m->holder);
    }
    cfr_writer_array(w, "put_aside");
    for (size_t i = 0; i < m->put_aside_count; i++)
        add_text(w, NULL, m->put_aside[i]);
    cfr_writer_close(w);
    add_instant(w, "minted", m->minted_s);
    add_instant(w, "due", m->due_s);
    cfr_writer_count(w, "rotation", m->rotation);
    cfr_writer_close(w);
}

static void add_credential(struct cfr_writer *w, const struct cfr_api_status_credential *c, int64_t now_s)
{
    cfr_writer_object(w, NULL);
    add_text(w, "name", c->name);
    add_text(w, "state", c->state);
    add_text(w, "provider", c->provider);
    add_text(w, "identity", c->identity);
    cfr_writer_bool(w, "required", c->required);
    cfr_writer_bool(w, "published", c->published);
    cfr_writer_bool(w, "ready", cfr_api_status_is_ready(c, now_s));
    cfr_writer_count(w, "generation", c->generation);
    add_instant(w, "issued", c->published ? c->issued_s : 0);
    add_instant(w, "expires", c->published ? c->expires_s : 0);
    if (c->published && c->expires_s != 0)
        cfr_writer_number(w, "expires_in_s", c->expires_s - now_s);
    else
        add_text(w, "expires_in_s", NULL);
    add_instant(w, "next_refresh", c->refresh_s);
    add_instant(w, "last_success", c->last_success_s);
    add_token(w, c);
    add_error(w, c);
    cfr_writer_count(w, "consecutive_failures", c->failures);
    add_text(w, "last_reason", c->reason);
    add_hooks(w, "hooks", c->hooks, c->hook_count);
    add_hooks(w, "deliveries", c->deliveries, c->delivery_count);
    add_consumers(w, c);
    add_mint(w, &c->mint);
    cfr_writer_close(w);
}

static void add_agent(struct cfr_writer *w, const struct cfr_api_status *s)
{
    cfr_writer_object(w, "agent");
    add_text(w, "version", s->version);
    add_instant(w, "now", s->now_s);
    add_instant(w, "started", s->started_s);
    cfr_writer_bool(w, "stopping", s->stopping);
    cfr_writer_object(w, "config");
    add_text(w, "file", s->config_file);
    cfr_writer_bool(w, "ok", s->config_ok);
    add_instant(w, "loaded", s->config_loaded_s);
    add_text(w, "error", s->config_error);
    cfr_writer_close(w);
    cfr_writer_close(w);
}

static void add_sandbox(struct cfr_writer *w, const struct cfr_api_status *s)
{
    if (s->sandbox == NULL)
        return;
    cfr_writer_array(w, "sandbox");
    for (size_t i = 0; i < CFR_API_SANDBOX_PARTS && s->sandbox[i].part != NULL; i++) {
        cfr_writer_object(w, NULL);
        add_text(w, "part", s->sandbox[i].part);
        cfr_writer_bool(w, "on", s->sandbox[i].on);
        add_text(w, "why_not", s->sandbox[i].why);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

static void add_signers(struct cfr_writer *w, const struct cfr_api_status_authority *a)
{
    cfr_writer_array(w, "pod_certificates");
    for (size_t i = 0; i < a->signer_count; i++) {
        const struct cfr_api_status_signer *s = &a->signers[i];

        cfr_writer_object(w, NULL);
        add_text(w, "signer", s->name);
        add_text(w, "result", s->result);
        add_text(w, "error", s->error);
        add_instant(w, "last_run", s->last_run_s);
        cfr_writer_count(w, "issued", s->issued);
        cfr_writer_count(w, "denied", s->denied);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

static void add_authority(struct cfr_writer *w, const struct cfr_api_status *s)
{
    struct cfr_api_status_authority a = {.number = 0};

    if (s->get_authority == NULL || !s->get_authority(s->ctx, &a))
        return;
    cfr_writer_object(w, "service_ca");
    cfr_writer_count(w, "number", a.number);
    add_text(w, "subject", a.subject);
    add_text(w, "key_id", a.key_id);
    add_instant(w, "issued", a.issued_s);
    add_instant(w, "expires", a.expires_s);
    add_instant(w, "rotates", a.rotates_s);
    cfr_writer_count(w, "generations", a.generations);
    add_text(w, "last_reason", a.reason);
    add_text(w, "error", a.error);
    add_hooks(w, "injected", a.injected, a.injected_count);
    add_signers(w, &a);
    cfr_writer_close(w);
}

static void add_forgotten(struct cfr_writer *w, const struct cfr_api_status *s)
{
    if (s->forgotten_count == 0)
        return;
    cfr_writer_array(w, "forgotten");
    for (size_t i = 0; i < s->forgotten_count; i++) {
        cfr_writer_object(w, NULL);
        add_text(w, "name", s->forgotten[i].name);
        add_text(w, "subject", s->forgotten[i].subject);
        add_text(w, "keys", s->forgotten[i].keys);
        cfr_writer_count(w, "count", s->forgotten[i].count);
        add_text(w, "error", s->forgotten[i].error);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

void cfr_api_status_json(const struct cfr_api_status *s, const char *only, struct cfr_str *out)
{
    struct cfr_writer w = {.str = out};

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", 1);
    add_agent(&w, s);
    add_sandbox(&w, s);
    add_authority(&w, s);
    add_forgotten(&w, s);
    cfr_writer_array(&w, "credentials");
    for (size_t i = 0; i < s->count && !out->failed; i++) {
        struct cfr_api_status_credential c = {0};

        s->get(s->ctx, i, &c);
        if (only == NULL || cfr_view_is(cfr_view_of(c.name), only))
            add_credential(&w, &c, s->now_s);
    }
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
}

/* Which Secret of the cluster is behind, and why. False if none is known to be. */
static bool add_undelivered(struct cfr_str *out, const struct cfr_api_status_credential *c)
{
    for (size_t i = 0; i < c->delivery_count; i++) {
        const struct cfr_api_status_hook *d = &c->deliveries[i];

        if (d->generation == c->generation && d->error == NULL)
            continue;
        cfr_str_addf(out, "%s: %s", d->name, d->error != NULL ? d->error : d->result);
        return true;
    }
    return false;
}

/* Why C is not ready. The last error says more than the state does, where there is one. */
static void add_why(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    char words[CFR_TIME_WORDS_MAX];

    if (!c->published)
        cfr_str_addz(out, "not published yet: ");
    else if (c->mint.key_refused != NULL)
        cfr_str_addf(out, "%s%s", c->mint.key_refused, c->error != NULL ? ": " : "");
    else if (c->source_missing)
        cfr_str_addz(out, "published, but its source was removed: ");
    else if (c->expires_s == 0 || c->expires_s > now_s)
        cfr_str_addz(out, "published, but not in memory yet for its endpoint: ");
    else
        cfr_str_addf(out, "expired %s ago: ", cfr_time_words((now_s - c->expires_s) * 1000, words));
    if (c->error != NULL)
        cfr_str_addz(out, c->error);
    else if (c->mint.key_refused == NULL && !add_undelivered(out, c))
        cfr_str_addf(out, "its state is %s", c->state);
    cfr_str_addz(out, "\n");
}

static void add_verbose(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    char words[CFR_TIME_WORDS_MAX];

    if (!cfr_api_status_is_ready(c, now_s)) {
        cfr_str_addf(out, "[-]%s failed%s: ", c->name, c->required ? "" : " (not required)");
        add_why(out, c, now_s);
    } else if (c->expires_s == 0) {
        cfr_str_addf(out, "[+]%s ok, never expires\n", c->name);
    } else {
        cfr_str_addf(out, "[+]%s ok, expires in %s\n", c->name, cfr_time_words((c->expires_s - now_s) * 1000, words));
    }
}

bool cfr_api_status_ready(const struct cfr_api_status *s, bool verbose, struct cfr_str *out)
{
    bool all = !s->stopping;

    if (s->stopping)
        cfr_str_addz(out, "the agent is stopping\n");
    for (size_t i = 0; i < s->count; i++) {
        struct cfr_api_status_credential c = {0};
        bool counts;

        s->get(s->ctx, i, &c);
        counts = c.required && !cfr_api_status_is_ready(&c, s->now_s);
        all = all && !counts;
        if (verbose) {
            add_verbose(out, &c, s->now_s);
        } else if (counts) {
            cfr_str_addf(out, "%s: ", c.name);
            add_why(out, &c, s->now_s);
        }
    }
    if (all)
        cfr_str_addz(out, "ok\n");
    else if (verbose)
        cfr_str_addz(out, "not ready\n");
    return all;
}
