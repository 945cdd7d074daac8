/* SPDX-License-Identifier: MIT */
/* Reading a credential's source, and logging what changes about it. */
#include "agent/worker/worker_private.h"

#include "agent/source/token_file.h"
#include "base/log.h"
#include "base/time.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD_MS 5000 /* clocks that differ by less are not worth a warning */

/* Logs once what a mounted Secret's content calls for. */
static void note_mounted(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    if (m->mounted.note[0] == '\0' || (w->note != NULL && strcmp(w->note, m->mounted.note) == 0))
        return;
    cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "the Secret in %s: %s",
            w->config->secret->directory, m->mounted.note);
    free(w->note);
    w->note = strdup(m->mounted.note);
}

void cfr_worker_note_warning(struct cfr_worker *w, const char *warning)
{
    if (warning == NULL || (w->warning != NULL && strcmp(w->warning, warning) == 0))
        return;
    free(w->warning);
    w->warning = warning[0] != '\0' ? strdup(warning) : NULL;
    if (w->warning != NULL)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "the API server gave a token and warns: %s",
                w->warning);
}

/* Watches the token that a mounted Secret names now. True if it is another one than before. */
static bool follow_mounted(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    const char *path = w->config->token == NULL || w->config->token->file == NULL ? m->token_path : NULL;
    struct cfr_err err = {0};

    if (path == NULL || (w->watched != NULL && strcmp(w->watched, path) == 0) || w->host->watch == NULL)
        return false;
    free(w->watched);
    w->watched = strdup(path);
    cfr_watch_remove(w->host->watch, &w->source_watcher);
    w->unwatched = cfr_source_inputs_watch(w->config, m, w->host->watch, &w->source_watcher, &err) != 0;
    if (w->unwatched)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w), "%s; polling once a minute", err.text);
    return true;
}

/* The state of the module that W's source is granted by; NULL if there is none. */
static void *find_module(const struct cfr_worker *w)
{
    const struct cfr_module_slot *m = w->host->modules;

    while (m != NULL && m->row != NULL && m->row != w->source->module)
        m++;
    return m != NULL ? m->state : NULL;
}

struct cfr_source_env cfr_worker_source_env(const struct cfr_worker *w)
{
    struct cfr_now now = cfr_clock_now();

    return (struct cfr_source_env){.now = now,
                                   .server_ms = w->skew_known ? now.wall_ms + w->skew_s * 1000 : 0,
                                   .trust = w->token.refused,
                                   .in_agent = true,
                                   .module = find_module(w)};
}

static void read_inputs(struct cfr_worker *w, struct cfr_worker_inputs *r)
{
    const struct cfr_source_env env = cfr_worker_source_env(w);

    r->err = (struct cfr_err){0};
    r->rc = cfr_source_read(&env, w->config, &r->source, &r->wait_ms, &r->err);
}

/* What is published is a copy of a mounted Secret: nothing but the Secret itself says how long it is valid. A Secret
 * that only rotations use may be absent. */
static bool is_copy(const struct cfr_worker *w)
{
    return w->config->secret != NULL && !w->config->admin_only &&
           cfr_config_secret_fate(w->config) != CFR_CONFIG_EXCHANGED && w->life.published &&
           w->life.life.expires_ms == INT64_MAX;
}

void cfr_worker_read(struct cfr_worker *w, struct cfr_worker_inputs *r)
{
    read_inputs(w, r);
    /* Also when the token at that path does not exist yet, or is no good: it is what will change. A change before the
     * watch would be missed, so it is read once more. */
    if (w->source->names_provider && follow_mounted(w, &r->source)) {
        cfr_source_inputs_free(&r->source);
        read_inputs(w, r);
    }
    if (r->rc == 0 || r->rc == CFR_E_MISSING)
        w->source_missing = r->rc != 0 && is_copy(w);
    if (r->rc != 0)
        return;
    w->provider = r->source.provider;
    w->found_final = cfr_source_inputs_is_final(&r->source);
    if (w->source->names_provider)
        note_mounted(w, &r->source);
}

void cfr_worker_note_request(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    bool fallback = m->requested && m->token_path != NULL;

    if (fallback && !w->token.requested)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "now requesting tokens from the API server, until the file is renewed: %s", m->fallback_reason);
    else if (!m->requested && w->token.requested && m->token_path != NULL)
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w),
                w->token.refused ? "the API server gave none, so the token in %s is used while it is good"
                                 : "the token file %s is good again and is used instead of requests",
                m->token_path);
    w->token.requested = m->requested;
}

/* A new token is used although this machine's clock says that it is not valid. */
static void note_clock(const struct cfr_worker *w, const struct cfr_source_inputs *m, struct cfr_now now)
{
    char words[CFR_TIME_WORDS_MAX];
    char when[CFR_TIME_RFC3339_MAX];

    if (m->issued_s * 1000 > now.wall_ms + AHEAD_MS)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "the token in %s was issued at %s, and this machine's clock is %s behind that; trying it anyway: check "
                "the clocks",
                m->token_path, cfr_time_format(m->issued_s, when),
                cfr_time_words(m->issued_s * 1000 - now.wall_ms, words));
    else if (m->expires_s != 0 && m->expires_s * 1000 <= now.wall_ms)
        cfr_log(CFR_LOG_WARN, w->config->name, cfr_worker_state_name(w),
                "the token in %s expired at %s by this machine's clock, which may be ahead; trying it anyway",
                m->token_path, cfr_time_format(m->expires_s, when));
}

void cfr_worker_note_token(struct cfr_worker *w, const struct cfr_source_inputs *m)
{
    struct cfr_now now = cfr_clock_now();
    int64_t overdue_ms = cfr_source_token_file_overdue_ms(m->issued_s, m->expires_s);

    if (m->requested && m->token_mark != 0 && !w->token.overdue) {
        w->token.overdue = true;
        w->token.sub_path = cfr_file_leads_to_mount(m->token_path);
        w->token.mark = m->token_mark;
        w->token.overdue_boot_ms = now.boot_ms + CFR_LIFECYCLE_LOOK_AGAIN_MS;
    }
    if (m->requested)
        return;
    if (m->mark != 0 && m->mark != w->token.mark && w->token.overdue)
        cfr_log(CFR_LOG_INFO, w->config->name, cfr_worker_state_name(w), "the token file was renewed at last");
    w->token.issued_s = m->issued_s;
    w->token.expires_s = m->expires_s;
    /* A token known from an earlier run has no deadline yet. */
    if (m->mark != 0 && (m->mark != w->token.mark || w->token.overdue_boot_ms == INT64_MAX)) {
        if (m->mark != w->token.mark && m->token_path != NULL)
            note_clock(w, m, now);
        w->token.mark = m->mark;
        w->token.overdue = false;
        w->token.refused = false;
        w->token.used_last = false;
        w->token.overdue_boot_ms = overdue_ms == INT64_MAX ? INT64_MAX : now.boot_ms + overdue_ms - now.wall_ms;
    }
}
