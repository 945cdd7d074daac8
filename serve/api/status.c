/* SPDX-License-Identifier: MIT */
/* The status document and the readiness page. */
#include "serve/api/status.h"

#include "base/time.h"

#include <inttypes.h>

bool cfr_api_status_is_ready(const struct cfr_api_status_credential *c, int64_t now_s)
{
    return c->published && (c->expires_s == 0 || c->expires_s > now_s);
}

static void add_key(struct cfr_str *out, const char *key)
{
    cfr_str_addf(out, "\"%s\":", key);
}

static void add_text(struct cfr_str *out, const char *key, const char *text)
{
    add_key(out, key);
    cfr_str_add_json(out, cfr_view_of(text));
    cfr_str_addz(out, ",");
}

static void add_bool(struct cfr_str *out, const char *key, bool value)
{
    cfr_str_addf(out, "\"%s\":%s,", key, value ? "true" : "false");
}

static void add_count(struct cfr_str *out, const char *key, uint64_t value)
{
    cfr_str_addf(out, "\"%s\":%" PRIu64 ",", key, value);
}

/* 0 stands for "none" in every instant of struct cfr_api_status. */
static void add_instant(struct cfr_str *out, const char *key, int64_t unix_s)
{
    char buf[CFR_TIME_RFC3339_MAX];

    add_text(out, key, unix_s == 0 ? NULL : cfr_time_format(unix_s, buf));
}

/* Each add_ leaves a comma behind, and the last one has nothing to part. */
static void close_with(struct cfr_str *out, char bracket)
{
    if (!out->failed && out->p[out->len - 1] == ',')
        out->p[out->len - 1] = bracket;
    else
        cfr_str_addf(out, "%c", bracket);
}

static void open_object(struct cfr_str *out, const char *key)
{
    add_key(out, key);
    cfr_str_addz(out, "{");
}

static void end_object(struct cfr_str *out)
{
    close_with(out, '}');
    cfr_str_addz(out, ",");
}

static void add_hooks(struct cfr_str *out, const char *key, const struct cfr_api_status_hook *hooks, size_t count)
{
    add_key(out, key);
    cfr_str_addz(out, "[");
    for (size_t i = 0; i < count; i++) {
        const struct cfr_api_status_hook *h = &hooks[i];

        cfr_str_addz(out, "{");
        add_text(out, "name", h->name);
        add_text(out, "result", h->result);
        add_text(out, "error", h->error);
        add_instant(out, "last_run", h->last_run_s);
        add_count(out, "generation", h->generation);
        add_count(out, "runs_ok", h->runs_ok);
        add_count(out, "runs_failed", h->runs_failed);
        end_object(out);
    }
    close_with(out, ']');
    cfr_str_addz(out, ",");
}

static void add_consumers(struct cfr_str *out, const struct cfr_api_status_credential *c)
{
    add_key(out, "consumers");
    cfr_str_addz(out, "[");
    for (size_t i = 0; i < c->consumer_count; i++) {
        const struct cfr_api_status_consumer *k = &c->consumers[i];

        cfr_str_addz(out, "{");
        add_text(out, "name", k->name);
        add_count(out, "generation", k->generation);
        add_instant(out, "said", k->said_s);
        add_bool(out, "current", k->current);
        add_bool(out, "behind", k->behind);
        end_object(out);
    }
    close_with(out, ']');
    cfr_str_addz(out, ",");
    add_bool(out, "previous_held", c->previous_held);
}

static void add_token(struct cfr_str *out, const struct cfr_api_status_credential *c)
{
    open_object(out, "token");
    add_instant(out, "issued", c->token_issued_s);
    add_instant(out, "expires", c->token_expires_s);
    add_bool(out, "overdue", c->token_overdue);
    add_bool(out, "requested", c->token_requested);
    add_text(out, "note", c->token_note);
    end_object(out);
}

static void add_error(struct cfr_str *out, const struct cfr_api_status_credential *c)
{
    if (c->error == NULL) {
        add_text(out, "last_error", NULL);
        return;
    }
    open_object(out, "last_error");
    add_text(out, "code", cfr_err_name(c->error_code));
    add_text(out, "class", cfr_err_class_name(cfr_err_class(c->error_code)));
    add_text(out, "message", c->error);
    add_instant(out, "at", c->error_s);
    end_object(out);
}

static void add_mint(struct cfr_str *out, const struct cfr_api_status_mint *m)
{
    if (m->state == NULL)
        return;
    open_object(out, "mint");
    add_text(out, "state", m->state);
    add_text(out, "step", m->step);
    add_text(out, "waits_for", m->waits_for);
    add_text(out, "error", m->error);
    add_text(out, "subject", m->subject);
    add_text(out, "key", m->key);
    add_text(out, "old_key", m->old_key);
    add_instant(out, "minted", m->minted_s);
    add_instant(out, "due", m->due_s);
    add_count(out, "rotation", m->rotation);
    end_object(out);
}

static void add_credential(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    cfr_str_addz(out, "{");
    add_text(out, "name", c->name);
    add_text(out, "state", c->state);
    add_text(out, "provider", c->provider);
    add_text(out, "identity", c->identity);
    add_bool(out, "required", c->required);
    add_bool(out, "published", c->published);
    add_bool(out, "ready", cfr_api_status_is_ready(c, now_s));
    add_count(out, "generation", c->generation);
    add_instant(out, "issued", c->published ? c->issued_s : 0);
    add_instant(out, "expires", c->published ? c->expires_s : 0);
    if (c->published && c->expires_s != 0)
        cfr_str_addf(out, "\"expires_in_s\":%" PRId64 ",", c->expires_s - now_s);
    else
        cfr_str_addz(out, "\"expires_in_s\":null,");
    add_instant(out, "next_refresh", c->refresh_s);
    add_instant(out, "last_success", c->last_success_s);
    add_token(out, c);
    add_error(out, c);
    add_count(out, "consecutive_failures", c->failures);
    add_text(out, "last_reason", c->reason);
    add_hooks(out, "hooks", c->hooks, c->hook_count);
    add_hooks(out, "deliveries", c->deliveries, c->delivery_count);
    add_consumers(out, c);
    add_mint(out, &c->mint);
    end_object(out);
}

static void add_agent(struct cfr_str *out, const struct cfr_api_status *s)
{
    open_object(out, "agent");
    add_text(out, "version", s->version);
    add_instant(out, "now", s->now_s);
    add_instant(out, "started", s->started_s);
    add_bool(out, "stopping", s->stopping);
    open_object(out, "config");
    add_bool(out, "ok", s->config_ok);
    add_instant(out, "loaded", s->config_loaded_s);
    add_text(out, "error", s->config_error);
    end_object(out);
    end_object(out);
}

static void add_authority(struct cfr_str *out, const struct cfr_api_status *s)
{
    struct cfr_api_status_authority a;

    if (s->get_authority == NULL || !s->get_authority(s->ctx, &a))
        return;
    open_object(out, "service_ca");
    add_count(out, "number", a.number);
    add_text(out, "subject", a.subject);
    add_text(out, "key_id", a.key_id);
    add_instant(out, "issued", a.issued_s);
    add_instant(out, "expires", a.expires_s);
    add_instant(out, "rotates", a.rotates_s);
    add_count(out, "generations", a.generations);
    add_text(out, "last_reason", a.reason);
    add_text(out, "error", a.error);
    end_object(out);
}

void cfr_api_status_json(const struct cfr_api_status *s, const char *only, struct cfr_str *out)
{
    cfr_str_addz(out, "{\"version\":1,");
    add_agent(out, s);
    add_authority(out, s);
    add_key(out, "credentials");
    cfr_str_addz(out, "[");
    for (size_t i = 0; i < s->count && !out->failed; i++) {
        struct cfr_api_status_credential c = {0};

        s->get(s->ctx, i, &c);
        if (only == NULL || cfr_view_is(cfr_view_of(c.name), only))
            add_credential(out, &c, s->now_s);
    }
    close_with(out, ']');
    cfr_str_addz(out, "}\n");
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
    else
        cfr_str_addf(out, "expired %s ago: ", cfr_time_words((now_s - c->expires_s) * 1000, words));
    if (c->error != NULL)
        cfr_str_addz(out, c->error);
    else if (!add_undelivered(out, c))
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
    bool all = true;

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
