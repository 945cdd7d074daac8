/* SPDX-License-Identifier: MIT */
/* Table of the credentials' state, for a terminal of any width or a pipe. */
#include "agent/cmd/commands_private.h"

#include "base/time.h"
#include "serve/api/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BAR         20
#define BAR_MIN     6
#define LIFE_MAX    (BAR + 3)
#define SHOWN_MAX   2200 /* the longest identity fits */
#define NAME_MIN    10   /* of the heading CREDENTIAL */
#define NAME_MAX_   64   /* the longest name of a configuration */
#define FIXED       56   /* the columns of a row without its name and the bar */
#define MARGIN      4    /* before a note */
#define COLUMNS_MIN 64   /* a row without a bar */

struct paint {
    const char *good;
    const char *warn;
    const char *bad;
    const char *dim;
    const char *off;
};

static const struct paint plain = {"", "", "", "", ""};
static const struct paint colour = {"\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[0m"};

static struct cfr_view get_text(const struct cfr_json *object, const char *key, const char *otherwise)
{
    struct cfr_view v = cfr_view_of(otherwise);

    (void)cfr_json_string(cfr_json_get(object, key), &v);
    return v;
}

/* For a terminal. */
struct shown {
    char text[SHOWN_MAX];
};

static struct shown get_shown(const struct cfr_json *object, const char *key, const char *otherwise)
{
    struct shown s = {.text = ""};

    (void)cfr_view_show(get_text(object, key, otherwise), s.text, sizeof s.text);
    return s;
}

static int64_t get_time(const struct cfr_json *object, const char *key)
{
    int64_t t = 0;

    (void)cfr_time_parse(get_text(object, key, ""), &t);
    return t;
}

static bool get_flag(const struct cfr_json *object, const char *key)
{
    bool b = false;

    return cfr_json_bool(cfr_json_get(object, key), &b) && b;
}

static int64_t get_number(const struct cfr_json *object, const char *key)
{
    int64_t n = 0;

    (void)cfr_json_integer(cfr_json_get(object, key), &n);
    return n;
}

/* How wide a table is. */
struct layout {
    int columns; /* of the terminal; 0: no limit */
    int name;
    int bar; /* 0: none */
};

/* A life of WIDTH places: # is left, - is gone. */
static void bar(const struct cfr_json *c, int width, int64_t now_s, char out[LIFE_MAX])
{
    int64_t issued = get_time(c, "issued");
    int64_t expires = get_time(c, "expires");
    int64_t left = expires - now_s;
    int64_t filled = expires > issued ? (left * width + (expires - issued) - 1) / (expires - issued) : 0;

    if (!get_flag(c, "published")) {
        (void)snprintf(out, LIFE_MAX, "%*s", width + 2, "");
        return;
    }
    if (expires == 0)
        filled = width;
    out[0] = '[';
    for (int i = 0; i < width; i++)
        out[i + 1] = i < filled ? '#' : '-';
    out[width + 1] = ']';
    out[width + 2] = '\0';
}

static const char *in_words(int64_t at_s, int64_t now_s, char buf[CFR_TIME_WORDS_MAX])
{
    if (at_s == 0)
        return "-";
    if (at_s <= now_s)
        return "now";
    return cfr_time_words((at_s - now_s) * 1000, buf);
}

static bool is_expired(const struct cfr_json *c, int64_t now_s)
{
    int64_t expires = get_time(c, "expires");

    return get_flag(c, "published") && expires != 0 && expires <= now_s;
}

static bool has_failed(const struct cfr_json *list)
{
    for (size_t i = 0; i < cfr_json_count(list); i++) {
        if (cfr_view_is(get_text(cfr_json_at(list, i), "result", ""), "failed"))
            return true;
    }
    return false;
}

/* The seconds for which a rotated key's old one is still kept; 0 if it is not in its grace period. */
static int64_t grace_left_s(const struct cfr_json *mint, int64_t now_s)
{
    int64_t left_s = get_time(mint, "old_key_until") - now_s;

    return left_s > 0 && get_text(mint, "error", "").n == 0 ? left_s : 0;
}

/* The state for an operator: an expired credential is nothing else. Neither a hook that fails nor a request that waits
 * for the end of a grace period spoils a fresh one. */
static struct shown state_of(const struct cfr_json *c, int64_t now_s)
{
    struct shown state = get_shown(c, "state", "?");

    if (is_expired(c, now_s))
        return (struct shown){.text = "EXPIRED"};
    if ((strcmp(state.text, "reloading") == 0 && has_failed(cfr_json_get(c, "hooks"))) ||
        (get_flag(c, "ready") && grace_left_s(cfr_json_get(c, "mint"), now_s) > 0))
        return (struct shown){.text = "fresh"};
    return state;
}

/* Something for an operator to look at. */
static bool is_in_trouble(const struct cfr_json *c, int64_t now_s)
{
    return !get_flag(c, "ready") || is_expired(c, now_s) || cfr_json_is_object(cfr_json_get(c, "last_error")) ||
           has_failed(cfr_json_get(c, "hooks")) || has_failed(cfr_json_get(c, "deliveries"));
}

static const char *life_colour(const struct cfr_json *c, const struct paint *p, int64_t now_s)
{
    if (!get_flag(c, "ready") || is_expired(c, now_s))
        return p->bad;
    return cfr_json_is_object(cfr_json_get(c, "last_error")) ? p->warn : p->good;
}

/* Prints a line below a credential, broken between words where the terminal ends. */
__attribute__((format(printf, 3, 4))) static void print_note(const struct layout *l, const char *paint, const char *fmt,
                                                             ...)
{
    char text[3 * SHOWN_MAX];
    int room = l->columns - MARGIN - 2;
    int used = 0;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)printf("%*s%s", MARGIN, "", paint);
    for (const char *at = text; *at != '\0';) {
        int blanks = (int)strspn(at, " ");
        int n = (int)strcspn(at + blanks, " ");

        if (l->columns != 0 && used != 0 && used + blanks + n > room) {
            (void)printf("\n%*s", MARGIN + 2, "");
            used = blanks = 0;
            at += strspn(at, " ");
        }
        (void)printf("%.*s", blanks + n, at);
        used += blanks + n;
        at += blanks + n;
    }
    (void)printf("%s\n", paint[0] != '\0' ? colour.off : "");
}

/* Hooks, and Secrets of the cluster, which are shown alike. */
static void print_hooks(const struct cfr_json *hooks, const char *what, const struct paint *p, const struct layout *l)
{
    for (size_t i = 0; i < cfr_json_count(hooks); i++) {
        const struct cfr_json *h = cfr_json_at(hooks, i);
        struct shown name = get_shown(h, "name", "");
        struct shown result = get_shown(h, "result", "");
        struct shown error = get_shown(h, "error", "");

        print_note(l, strcmp(result.text, "failed") == 0 ? p->warn : p->dim, "%s%s: %s%s%s", what, name.text,
                   result.text, error.text[0] != '\0' ? ", " : "", error.text);
    }
}

static void print_consumers(const struct cfr_json *consumers, const struct paint *p, const struct layout *l)
{
    for (size_t i = 0; i < cfr_json_count(consumers); i++) {
        const struct cfr_json *k = cfr_json_at(consumers, i);
        struct shown name = get_shown(k, "name", "");
        bool behind = get_flag(k, "behind");
        char generation[40] = "nothing acknowledged yet";

        if (get_number(k, "generation") != 0)
            (void)snprintf(generation, sizeof generation, "generation %" PRId64, get_number(k, "generation"));
        print_note(l, behind ? p->warn : p->dim, "consumer %s: %s%s", name.text, generation,
                   behind ? ", stays behind" : "");
    }
}

static void print_mint(const struct cfr_json *m, const struct paint *p, const struct layout *l, int64_t now_s)
{
    int64_t left_s = grace_left_s(m, now_s);
    char words[CFR_TIME_WORDS_MAX];
    struct shown state = get_shown(m, "state", "");
    struct shown waits = get_shown(m, "waits_for", "");
    struct shown error = get_shown(m, "error", "");

    if (state.text[0] == '\0')
        return;
    if (left_s > 0) {
        print_note(l, p->dim, "old key kept for %s", cfr_time_words(left_s * 1000, words));
        return;
    }
    print_note(l, strcmp(state.text, "UPDATE_FAILED") == 0 ? p->warn : p->dim, "rotation %s, step %s", state.text,
               get_shown(m, "step", "?").text);
    if (waits.text[0] != '\0')
        print_note(l, p->dim, "waits for %s", waits.text);
    if (error.text[0] != '\0')
        print_note(l, p->warn, "%s", error.text);
}

struct notes {
    const struct paint *p;
    const struct layout *l;
};

static void print_member(void *ctx, const char *title, struct cfr_view value)
{
    const struct notes *n = ctx;
    struct shown text;

    print_note(n->l, n->p->dim, "%s%s%s", title, value.n != 0 ? ": " : "",
               cfr_view_show(value, text.text, sizeof text.text));
}

static void print_notes(const struct cfr_json *c, const struct paint *p, const struct layout *l, int64_t now_s)
{
    const struct cfr_json *error = cfr_json_get(c, "last_error");
    const struct cfr_json *token = cfr_json_get(c, "token");
    struct shown identity = get_shown(c, "identity", "");
    struct shown message = get_shown(error, "message", "");
    char words[CFR_TIME_WORDS_MAX];

    if (identity.text[0] != '\0')
        print_note(l, p->dim, "%s", identity.text);
    if (message.text[0] != '\0')
        print_note(l, p->bad, "%s (%s ago, %" PRId64 " in a row)", message.text,
                   cfr_time_words((now_s - get_time(error, "at")) * 1000, words),
                   get_number(c, "consecutive_failures"));
    if (get_flag(token, "overdue") && get_flag(token, "requested"))
        print_note(l, p->warn, "the token file was not renewed; using tokens requested from the API server");
    else if (get_flag(token, "overdue"))
        print_note(l, p->warn, "the token is %s old and was not replaced",
                   cfr_time_words((now_s - get_time(token, "issued")) * 1000, words));
    else if (get_flag(token, "requested"))
        print_note(l, p->dim, "the token was requested from the API server");
    print_mint(cfr_json_get(c, "mint"), p, l, now_s);
    print_hooks(cfr_json_get(c, "deliveries"), "", p, l);
    print_hooks(cfr_json_get(c, "hooks"), "hook ", p, l);
    print_consumers(cfr_json_get(c, "consumers"), p, l);
    cfr_api_status_each_line(c, print_member, &(struct notes){p, l});
}

/* "39 min 8 s", "12 min ago", "never" or "-". */
static void expiry_in_words(const struct cfr_json *c, int64_t now_s, char out[CFR_TIME_WORDS_MAX + 8])
{
    int64_t expires = get_time(c, "expires");
    char words[CFR_TIME_WORDS_MAX];

    if (is_expired(c, now_s))
        (void)snprintf(
            out, CFR_TIME_WORDS_MAX + 8, "%s ago",
            cfr_time_words((now_s - expires) / 60 == 0 ? (now_s - expires) * 1000 : (now_s - expires) / 60 * 60000,
                           words));
    else
        (void)snprintf(out, CFR_TIME_WORDS_MAX + 8, "%s",
                       !get_flag(c, "published") ? "-"
                       : expires == 0            ? "never"
                                                 : in_words(expires, now_s, words));
}

static void print_credential(const struct cfr_json *c, const struct paint *p, const struct layout *l, int64_t now_s)
{
    struct shown name = get_shown(c, "name", "?");
    struct shown state = state_of(c, now_s);
    const char *paint = life_colour(c, p, now_s);
    bool retries = cfr_json_is_object(cfr_json_get(c, "last_error"));
    char life[LIFE_MAX] = "";
    char left[CFR_TIME_WORDS_MAX + 8];
    char next[CFR_TIME_WORDS_MAX];

    if (l->bar != 0)
        bar(c, l->bar, now_s, life);
    expiry_in_words(c, now_s, left);
    if ((int)strlen(name.text) > l->name)
        (void)printf("%s\n%*s", name.text, l->name, "");
    else
        (void)printf("%-*s", l->name, name.text);
    (void)printf(" %s%-10s%s %5" PRId64 " %s%s%s %s%-12s%s ", paint, state.text, p->off, get_number(c, "generation"),
                 paint, life, p->off, paint, left, p->off);
    if (get_time(c, "next_refresh") == 0)
        (void)printf("-\n");
    else
        (void)printf("%s%s %s%s%s\n", retries ? p->warn : "", retries ? "retry" : "refresh",
                     get_time(c, "next_refresh") > now_s ? "in " : "",
                     in_words(get_time(c, "next_refresh"), now_s, next), retries ? p->off : "");
    print_notes(c, p, l, now_s);
}

static void print_authority(const struct cfr_json *a, const struct paint *p, const struct layout *l, int64_t now_s)
{
    struct shown error = get_shown(a, "error", "");
    char rotates[CFR_TIME_WORDS_MAX];

    if (!cfr_json_is_object(a))
        return;
    (void)printf("service CA %" PRId64 " (%" PRId64 " trusted), rotates in %s\n", get_number(a, "number"),
                 get_number(a, "generations"), in_words(get_time(a, "rotates"), now_s, rotates));
    if (error.text[0] != '\0')
        print_note(l, p->bad, "%s", error.text);
}

static void print_forgotten(const struct cfr_json *list, const struct paint *p, const struct layout *l)
{
    for (size_t i = 0; i < cfr_json_count(list); i++) {
        const struct cfr_json *one = cfr_json_at(list, i);
        struct shown name = get_shown(one, "name", "");
        struct shown subject = get_shown(one, "subject", "an unknown user");
        struct shown keys = get_shown(one, "keys", "not known");

        print_note(l, p->warn, "keys of %s, which is not in the configuration any more: %s of %s; `credfresh forget`",
                   name.text, keys.text, subject.text);
    }
}

/* Only what is not in force: the rest is as it should be. */
static void print_sandbox(const struct cfr_json *parts, const struct paint *p)
{
    for (size_t i = 0; i < cfr_json_count(parts); i++) {
        const struct cfr_json *one = cfr_json_at(parts, i);
        struct shown part = get_shown(one, "part", "");
        struct shown why = get_shown(one, "why_not", "");

        if (!get_flag(one, "on"))
            (void)printf("%ssandbox without %s: %s%s\n", p->bad, part.text, why.text, p->off);
    }
}

/* The widths for the credentials of LIST that are shown. */
static struct layout lay_out(const struct cfr_cli_options *o, const struct cfr_json *list, int columns, int64_t now_s)
{
    struct layout l = {.columns = columns, .name = NAME_MIN, .bar = BAR};

    for (size_t i = 0; i < cfr_json_count(list); i++) {
        const struct cfr_json *c = cfr_json_at(list, i);
        int n = (int)strlen(get_shown(c, "name", "?").text);

        if (cfr_cmd_status_is_shown(o, c, now_s) && n > l.name)
            l.name = n < NAME_MAX_ ? n : NAME_MAX_;
    }
    if (columns == 0)
        return l;
    l.columns = columns > COLUMNS_MIN ? columns : COLUMNS_MIN;
    if (l.name + FIXED + l.bar > l.columns)
        l.bar = l.columns - FIXED - l.name;
    if (l.bar < BAR_MIN) { /* a long name has a line of its own, next to a short bar */
        l.bar = l.columns - FIXED - NAME_MIN < BAR_MIN ? 0 : BAR_MIN;
        l.name = l.columns - FIXED - l.bar;
        l.name = l.name > NAME_MIN ? l.name : NAME_MIN;
    }
    return l;
}

static void print_head(const struct cfr_json *agent, const struct cfr_json *list, const struct layout *l, int64_t now_s)
{
    struct shown version = get_shown(agent, "version", "?");
    struct shown file = get_shown(cfr_json_get(agent, "config"), "file", "the environment");
    char up[CFR_TIME_WORDS_MAX];
    size_t ready = 0;

    for (size_t i = 0; i < cfr_json_count(list); i++)
        ready += get_flag(cfr_json_at(list, i), "ready") ? 1 : 0;
    if (now_s <= get_time(agent, "started"))
        (void)snprintf(up, sizeof up, "0 s");
    else
        (void)cfr_time_words((now_s - get_time(agent, "started")) * 1000, up);
    if (l->columns != 0 && strlen(version.text) + strlen(up) + strlen(file.text) + 40 > (size_t)l->columns)
        (void)printf("credfresh %s, up %s, %zu of %zu ready\n%s\n\n", version.text, up, ready, cfr_json_count(list),
                     file.text);
    else
        (void)printf("credfresh %s, up %s, %s, %zu of %zu ready\n\n", version.text, up, file.text, ready,
                     cfr_json_count(list));
}

bool cfr_cmd_status_is_shown(const struct cfr_cli_options *o, const struct cfr_json *c, int64_t now_s)
{
    bool named = o->arg_count == 0;

    for (int i = 0; i < o->arg_count && !named; i++)
        named = cfr_view_is(get_text(c, "name", ""), o->args[i]);
    return named && (!o->failed || is_in_trouble(c, now_s));
}

void cfr_cmd_status_print(const struct cfr_json *doc, const struct cfr_cli_options *o, bool colours, int columns,
                          int64_t now_s)
{
    const struct cfr_json *list = cfr_json_get(doc, "credentials");
    const struct cfr_json *agent = cfr_json_get(doc, "agent");
    const struct paint *p = colours ? &colour : &plain;
    struct shown refused = get_shown(cfr_json_get(agent, "config"), "error", "");
    struct layout l = lay_out(o, list, columns, now_s);
    bool any = false;

    print_head(agent, list, &l, now_s);
    if (refused.text[0] != '\0')
        (void)printf("%sthe last reload was refused: %s%s\n", p->bad, refused.text, p->off);
    for (size_t i = 0; i < cfr_json_count(list); i++) {
        const struct cfr_json *c = cfr_json_at(list, i);

        if (!cfr_cmd_status_is_shown(o, c, now_s))
            continue;
        if (!any)
            (void)printf("%-*s %-10s %5s %-*s %-12s %s\n", l.name, "CREDENTIAL", "STATE", "GEN",
                         l.bar != 0 ? l.bar + 2 : 0, l.bar != 0 ? "LIFE" : "", "EXPIRES IN", "NEXT");
        any = true;
        print_credential(c, p, &l, now_s);
    }
    if (!any && o->failed)
        (void)printf("no credential has an error\n");
    print_authority(cfr_json_get(doc, "service_ca"), p, &l, now_s);
    print_forgotten(cfr_json_get(doc, "forgotten"), p, &l);
    print_sandbox(cfr_json_get(doc, "sandbox"), p);
}
