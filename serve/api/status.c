/* SPDX-License-Identifier: MIT */
/* Readiness of a credential, and the readiness page. */
#include "serve/api/status_private.h"

#include "base/time.h"

void cfr_api_status_get(const struct cfr_api_status *s, size_t index, struct cfr_api_status_credential *out)
{
    *out = (struct cfr_api_status_credential){.name = NULL};
    s->get(s->ctx, index, out);
    out->ready = out->published && !out->unserved && !out->source_missing && out->mint.key_refused == NULL &&
                 (out->expires_s == 0 || out->expires_s > s->now_s);
    out->expires = out->published && out->expires_s != 0;
    out->expires_in_s = out->expires_s - s->now_s;
    out->error_name = cfr_err_name(out->error_code);
    out->error_class = cfr_err_class_name(cfr_err_class(out->error_code));
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

    if (!c->ready) {
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
        struct cfr_api_status_credential c;
        bool counts;

        cfr_api_status_get(s, i, &c);
        counts = c.required && !c.ready;
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
