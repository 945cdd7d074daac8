/* SPDX-License-Identifier: MIT */
/* The status page: what a person wants to know of the agent and its credentials at a glance. */
#include "serve/api/status_private.h"

#include "base/time.h"
#include "serve/api/page_private.h"
#include "serve/api/rows_private.h"

#include <inttypes.h>
#include <string.h>

/* The unit test computes the hash in the policy from this text. */
#define STYLE                                                                                                          \
    ":root{color-scheme:light dark;--page:#fff;--card:#f6f8fa;--text:#1f2328;--dim:#59636e;--line:#d1d9e0;"            \
    "--good:#1a7f37;--failing:#bf8700;--failing-text:#9a6700;--bad:#cf222e}\n"                                         \
    "@media(prefers-color-scheme:dark){:root{--page:#0d1117;--card:#161b22;--text:#f0f6fc;--dim:#9198a1;"              \
    "--line:#3d444d;--good:#3fb950;--failing:#d29922;--failing-text:#d29922;--bad:#f85149}}\n"                         \
    "body{margin:0 auto;max-width:96rem;padding:1rem;background:var(--page);color:var(--text);"                        \
    "font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\n"                                                    \
    "h1,h2,p,dl,dd,ul{margin:0;padding:0}h1{font-size:1.4rem}h2{font-size:1.1rem}ul{list-style:none}\n"                \
    "header,footer,.dim,dt,.axis{color:var(--dim)}header h1{color:var(--text)}\n"                                      \
    "main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem;margin:1rem 0}\n"  \
    "main>p{grid-column:1/-1}section{padding:.7rem 1rem;background:var(--card);border:1px solid var(--line);"          \
    "border-left:.4rem solid var(--line);border-radius:.4rem}\n"                                                       \
    ".top{display:flex;flex-wrap:wrap;gap:0 .8rem;align-items:baseline;justify-content:space-between}\n"               \
    "dl{display:grid;grid-template-columns:6.5rem 1fr;gap:.1rem .8rem;margin:.5rem 0}\n"                               \
    "@media(max-width:30rem){dl{display:block}dt{margin-top:.3rem}}\n"                                                 \
    "svg{display:block;width:100%;shape-rendering:crispEdges}.life{height:12px;margin-top:.5rem}.day{height:20px}\n"   \
    ".axis{display:flex;justify-content:space-between;gap:.5rem;font-size:.8rem;text-align:center;overflow-wrap:"      \
    "normal}\n"                                                                                                        \
    ".track{fill:var(--line)}.due{fill:var(--text)}\n"                                                                 \
    "section.good{border-left-color:var(--good)}section.failing{border-left-color:var(--failing)}"                     \
    "section.bad{border-left-color:var(--bad)}\n"                                                                      \
    "rect.good,.good .left{fill:var(--good)}rect.failing,.failing .left{fill:var(--failing)}"                          \
    "rect.bad,.bad .left{fill:var(--bad)}\n"                                                                           \
    "b.good{color:var(--good)}b.failing{color:var(--failing-text)}b.bad,.error{color:var(--bad)}a{color:inherit}\n"

const char cfr_api_status_page_policy[] =
    "default-src 'none'; style-src 'sha256-QVltVzaJF5ZbY940O3kAE/JqqY2YBZDsTOKFlyFSn9A='; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

#define REFRESH_S "10"

/* What needs attention first. */
enum health { BAD, FAILING, STARTING, GOOD, HEALTH_COUNT };

static const char *const classes[] = {"bad", "failing", "starting", "good"};

static bool has_failed(const struct cfr_api_status_hook *hooks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hooks[i].error != NULL || strcmp(hooks[i].result, "failed") == 0)
            return true;
    }
    return false;
}

static enum health health_of(const struct cfr_api_status_credential *c)
{
    bool failing = c->error != NULL || c->failures != 0 || has_failed(c->deliveries, c->delivery_count);

    if (c->ready)
        return failing || has_failed(c->hooks, c->hook_count) || c->mint.error != NULL ? FAILING : GOOD;
    return failing || c->published ? BAD : STARTING;
}

/* The state in a word or two. */
static const char *word_of(const struct cfr_api_status_credential *c, enum health health, int64_t now_s)
{
    if (health == FAILING)
        return c->error != NULL || c->failures != 0           ? "renewal fails"
               : c->mint.error != NULL                        ? "rotation fails"
               : has_failed(c->deliveries, c->delivery_count) ? "a Secret is behind"
                                                              : "a hook fails";
    if (c->ready)
        return "fresh";
    if (!c->published)
        return "not published yet";
    if (c->mint.key_refused != NULL)
        return "refused by the cloud";
    if (c->source_missing)
        return "source removed";
    return c->expires_s != 0 && c->expires_s <= now_s ? "EXPIRED" : "not in memory yet";
}

static void begin_row(struct cfr_str *out, const char *name)
{
    cfr_str_addf(out, "<dt>%s</dt><dd>", name);
}

static void end_row(struct cfr_str *out)
{
    cfr_str_addz(out, "</dd>\n");
}

static void add_alarm(struct cfr_str *out, const char *text)
{
    cfr_str_addz(out, "<span class=\"error\">");
    cfr_api_page_text(out, text);
    cfr_str_addz(out, "</span>");
}

/* The members that are shown by themselves. */
static void add_members(struct cfr_str *out, const struct cfr_api_row *rows, const void *node, int64_t now_s)
{
    for (const struct cfr_api_row *row = rows; row->type != CFR_API_END; row++) {
        const void *at = (const char *)node + row->offset;

        if (row->type == CFR_API_OBJECT && cfr_api_row_applies(row, node))
            add_members(out, row->rows, node, now_s);
        if ((row->flags & CFR_API_ON_PAGE) == 0 || cfr_api_row_is_zero(row, node))
            continue;
        begin_row(out, row->title);
        if (row->type == CFR_API_TEXT)
            cfr_api_page_text(out, cfr_api_row_pointer(node, row->offset));
        else if (row->type == CFR_API_INSTANT)
            cfr_api_page_moment(out, *(const int64_t *)at, now_s);
        else if (row->type == CFR_API_COUNT)
            cfr_str_addf(out, "%" PRIu64, *(const uint64_t *)at);
        else
            cfr_str_addz(out, "yes");
        end_row(out);
    }
}

static void add_lifetime(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    char buf[CFR_TIME_RFC3339_MAX];

    begin_row(out, "Lifetime");
    if (!c->published) {
        cfr_str_addz(out, "nothing is published");
    } else if (c->expires_s == 0) {
        cfr_str_addz(out, "never expires");
    } else {
        cfr_str_addz(out, c->expires_s > now_s ? "expires " : "expired ");
        cfr_api_page_moment(out, c->expires_s, now_s);
        cfr_str_addf(out, ", <span class=\"dim\">at %s", cfr_time_format(c->expires_s, buf));
        if (c->issued_s != 0) {
            cfr_str_addz(out, ", issued ");
            cfr_api_page_moment(out, c->issued_s, now_s);
        }
        cfr_str_addz(out, "</span>");
    }
    end_row(out);
}

static void add_next(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    begin_row(out, "Next");
    if (c->refresh_s == 0) {
        cfr_str_addf(out, "nothing is planned; its state is %s", c->state);
    } else {
        cfr_str_addz(out, c->failures != 0 ? "retry " : "refresh ");
        if (c->refresh_s > now_s)
            cfr_api_page_moment(out, c->refresh_s, now_s);
        else
            cfr_str_addz(out, "now");
    }
    if (c->failures != 0 && c->expires_s > now_s)
        cfr_str_addf(out, ", at least %" PRIu64 " tr%s left", c->tries_left, c->tries_left == 1 ? "y" : "ies");
    end_row(out);
}

static void add_error(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    if (c->error == NULL)
        return;
    begin_row(out, "Last error");
    add_alarm(out, c->error);
    cfr_str_addf(out, " <span class=\"dim\">[%s, %s]", c->error_name, c->error_class);
    if (c->error_s != 0) {
        cfr_str_addz(out, " ");
        cfr_api_page_moment(out, c->error_s, now_s);
    }
    if (c->failures > 1)
        cfr_str_addf(out, ", %" PRIu64 " failures in a row", c->failures);
    cfr_str_addz(out, "</span>");
    end_row(out);
}

static void add_hooks(struct cfr_str *out, const char *name, const struct cfr_api_status_hook *hooks, size_t count,
                      int64_t now_s)
{
    if (count == 0)
        return;
    begin_row(out, name);
    cfr_str_addz(out, "<ul>");
    for (size_t i = 0; i < count; i++) {
        const struct cfr_api_status_hook *h = &hooks[i];

        cfr_str_addz(out, "<li>");
        cfr_api_page_text(out, h->name);
        cfr_str_addz(out, ": ");
        if (h->error != NULL)
            add_alarm(out, h->error);
        else
            cfr_str_addz(out, strcmp(h->result, "none") == 0 ? "has not run" : h->result);
        if (h->last_run_s != 0) {
            cfr_str_addz(out, " <span class=\"dim\">");
            cfr_api_page_moment(out, h->last_run_s, now_s);
            cfr_str_addz(out, "</span>");
        }
        cfr_str_addz(out, "</li>\n");
    }
    cfr_str_addz(out, "</ul>");
    end_row(out);
}

static void add_consumers(struct cfr_str *out, const struct cfr_api_status_credential *c)
{
    if (c->consumer_count == 0)
        return;
    begin_row(out, "Consumers");
    cfr_str_addz(out, "<ul>");
    for (size_t i = 0; i < c->consumer_count; i++) {
        const struct cfr_api_status_consumer *k = &c->consumers[i];

        cfr_str_addz(out, "<li>");
        cfr_api_page_text(out, k->name);
        if (k->generation == 0)
            cfr_str_addz(out, ": no report yet");
        else
            cfr_str_addf(out, ": uses generation %" PRIu64, k->generation);
        cfr_str_addz(out, k->behind ? ", <span class=\"error\">which is overdue</span></li>\n" : "</li>\n");
    }
    cfr_str_addz(out, "</ul>");
    end_row(out);
}

static void add_mint(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    const struct cfr_api_status_mint *m = &c->mint;

    if (m->state == NULL)
        return;
    begin_row(out, "Rotation");
    cfr_api_page_text(out, m->subject);
    if (m->error == NULL && m->old_key_until_s > now_s) {
        char words[CFR_TIME_WORDS_MAX];

        cfr_str_addf(out, ", old key kept for %s", cfr_time_words((m->old_key_until_s - now_s) * 1000, words));
    } else {
        cfr_str_addf(out, ", %s", m->state);
    }
    if (m->due_s != 0) {
        cfr_str_addz(out, ", next ");
        cfr_api_page_moment(out, m->due_s, now_s);
    }
    if (m->error != NULL || m->key_refused != NULL) {
        cfr_str_addz(out, ": ");
        add_alarm(out, m->key_refused != NULL ? m->key_refused : m->error);
    }
    end_row(out);
}

static void add_credential(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    enum health health = health_of(c);

    cfr_str_addf(out, "<section class=\"%s\">\n<div class=\"top\"><h2>", classes[health]);
    cfr_api_page_text(out, c->name);
    cfr_str_addf(out, "</h2><b class=\"%s\">%s</b></div>\n<p class=\"dim\">", classes[health],
                 word_of(c, health, now_s));
    cfr_api_page_text(out, c->provider);
    if (c->identity != NULL) {
        cfr_str_addz(out, " &middot; ");
        cfr_api_page_text(out, c->identity);
    }
    if (c->generation != 0)
        cfr_str_addf(out, " &middot; generation %" PRIu64, c->generation);
    cfr_str_addz(out, c->required ? "</p>\n" : " &middot; not required</p>\n");
    cfr_api_page_life(out, c, now_s);
    cfr_str_addz(out, "<dl>\n");
    add_lifetime(out, c, now_s);
    add_next(out, c, now_s);
    add_error(out, c, now_s);
    if (c->token_overdue)
        cfr_str_addf(out, "<dt>Token</dt><dd>%s</dd>\n",
                     c->token_requested ? "the file was not renewed; using tokens requested from the API server"
                                        : "past 80 % of its lifetime and not replaced");
    add_members(out, cfr_api_credential_rows, c, now_s);
    add_mint(out, c, now_s);
    add_hooks(out, "Hooks", c->hooks, c->hook_count, now_s);
    add_hooks(out, "Secrets", c->deliveries, c->delivery_count, now_s);
    add_consumers(out, c);
    cfr_str_addz(out, "</dl>\n");
    if (c->history != NULL)
        cfr_api_page_history(out, c->history);
    cfr_str_addz(out, "</section>\n");
}

static void add_head(struct cfr_str *out, const struct cfr_api_status *s, size_t ready)
{
    char words[CFR_TIME_WORDS_MAX];
    char buf[CFR_TIME_RFC3339_MAX];

    cfr_str_addf(out,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta http-equiv=\"refresh\" content=\"" REFRESH_S "\">\n"
                 "<title>%zu of %zu ready - credfresh</title>\n<style>%s</style></head>\n<body>\n"
                 "<header><h1>%zu of %zu credential%s ready</h1>\n<p>credfresh ",
                 ready, s->count, STYLE, ready, s->count, s->count == 1 ? "" : "s");
    cfr_api_page_text(out, s->version);
    cfr_str_addf(out, ", running for %s, at %s</p>\n", cfr_time_words((s->now_s - s->started_s) * 1000, words),
                 cfr_time_format(s->now_s, buf));
    if (s->stopping)
        cfr_str_addz(out, "<p class=\"error\">The agent is stopping.</p>\n");
    /* The error quotes the configuration, which is not for everyone on the network. */
    if (!s->config_ok)
        cfr_str_addz(out, "<p class=\"error\">The configuration was changed and refused, so the former one is in use: "
                          "<code>credfresh status</code> says why.</p>\n");
    cfr_str_addz(out, "</header>\n<main>\n");
}

static void add_authority(struct cfr_str *out, const struct cfr_api_status *s)
{
    struct cfr_api_status_authority a;

    if (s->get_authority == NULL || !s->get_authority(s->ctx, &a))
        return;
    cfr_str_addf(out, "<section class=\"%s\"><h2>Service CA</h2>\n<dl>\n", a.error != NULL ? "bad" : "good");
    if (a.number != 0) {
        begin_row(out, "Newest");
        cfr_str_addf(out, "number %" PRIu64 ", replaced ", a.number);
        cfr_api_page_moment(out, a.rotates_s, s->now_s);
        cfr_str_addz(out, ", expires ");
        cfr_api_page_moment(out, a.expires_s, s->now_s);
        end_row(out);
    }
    if (a.error != NULL) {
        begin_row(out, "Last error");
        add_alarm(out, a.error);
        end_row(out);
    }
    cfr_str_addz(out, "</dl></section>\n");
}

/* The credentials of one HEALTH, up to LIMIT. Returns how many. */
static size_t add_credentials(struct cfr_str *out, const struct cfr_api_status *s, enum health health, size_t limit)
{
    size_t n = 0;

    for (size_t i = 0; i < s->count && n < limit; i++) {
        struct cfr_api_status_credential c;

        cfr_api_status_get(s, i, &c);
        if (health_of(&c) != health)
            continue;
        add_credential(out, &c, s->now_s);
        n++;
    }
    return n;
}

void cfr_api_status_page(const struct cfr_api_status *s, struct cfr_str *out)
{
    size_t counts[HEALTH_COUNT] = {0};
    size_t ready = 0;
    size_t shown = 0;

    for (size_t i = 0; i < s->count; i++) {
        struct cfr_api_status_credential c;

        cfr_api_status_get(s, i, &c);
        counts[health_of(&c)]++;
        ready += c.ready ? 1 : 0;
    }
    add_head(out, s, ready);
    add_authority(out, s);
    for (size_t i = 0; i < HEALTH_COUNT && !out->failed; i++) {
        if (counts[i] != 0)
            shown += add_credentials(out, s, (enum health)i, CFR_API_STATUS_PAGE_CREDENTIALS - shown);
    }
    if (shown < s->count)
        cfr_str_addf(out, "<p>%zu more are not shown; <code>credfresh status</code> has them all.</p>\n",
                     s->count - shown);
    cfr_str_addz(
        out,
        "</main>\n<footer><p>The bar shows how much of the lifetime is left, and when the next refresh is due. The "
        "strip shows the last day in quarters of an hour, each by its worst minute: low and green is good, "
        "higher means that a renewal failed, full height that the credential was expired, missing or "
        "refused. The page reloads every " REFRESH_S " s.</p>\n"
        "<p><a href=\"/readyz?verbose\">readiness</a> &middot; <a href=\"/metrics\">metrics</a> &middot; "
        "<a href=\"/livez\">liveness</a></p></footer>\n</body></html>\n");
}
