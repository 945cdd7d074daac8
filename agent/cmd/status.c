/* SPDX-License-Identifier: MIT */
/* Subcommand status: state of the agent and its credentials, as a table or as JSON. */
#include "agent/cmd/commands_private.h"

#include "agent/cli/client.h"
#include "agent/loop/clock.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR 20

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

/* A life of twenty places: # is left, - is gone. */
static void bar(const struct cfr_json *c, int64_t now_s, char out[BAR + 3])
{
    int64_t issued = get_time(c, "issued");
    int64_t expires = get_time(c, "expires");
    int64_t left = expires - now_s;
    int64_t filled = expires > issued ? (left * BAR + (expires - issued) - 1) / (expires - issued) : 0;

    if (!get_flag(c, "published")) {
        (void)snprintf(out, BAR + 3, "%*s", BAR + 2, "");
        return;
    }
    if (expires == 0)
        filled = BAR;
    out[0] = '[';
    for (int i = 0; i < BAR; i++)
        out[i + 1] = i < filled ? '#' : '-';
    out[BAR + 1] = ']';
    out[BAR + 2] = '\0';
}

static const char *in_words(int64_t at_s, int64_t now_s, char buf[CFR_TIME_WORDS_MAX])
{
    if (at_s == 0)
        return "-";
    if (at_s <= now_s)
        return "now";
    return cfr_time_words((at_s - now_s) * 1000, buf);
}

static const char *life_colour(const struct cfr_json *c, const struct paint *p)
{
    if (!get_flag(c, "ready"))
        return p->bad;
    return cfr_json_is_object(cfr_json_get(c, "last_error")) ? p->warn : p->good;
}

/* Hooks, and Secrets of the cluster, which are shown alike. */
static void print_hooks(const struct cfr_json *hooks, const char *what, const struct paint *p)
{

    for (size_t i = 0; i < cfr_json_count(hooks); i++) {
        const struct cfr_json *h = cfr_json_at(hooks, i);
        struct cfr_view name = get_text(h, "name", "");
        struct cfr_view result = get_text(h, "result", "");
        struct cfr_view error = get_text(h, "error", "");
        bool failed = cfr_view_is(result, "failed");

        (void)printf("    %s%s%.*s: %.*s%s%.*s%s\n", failed ? p->warn : p->dim, what, (int)name.n, name.p,
                     (int)result.n, result.p, error.n != 0 ? ", " : "", (int)error.n, error.p, p->off);
    }
}

static void print_consumers(const struct cfr_json *consumers, const struct paint *p)
{
    for (size_t i = 0; i < cfr_json_count(consumers); i++) {
        const struct cfr_json *k = cfr_json_at(consumers, i);
        struct cfr_view name = get_text(k, "name", "");
        bool behind = get_flag(k, "behind");

        (void)printf("    %sconsumer %.*s: ", behind ? p->warn : p->dim, (int)name.n, name.p);
        if (get_number(k, "generation") != 0)
            (void)printf("generation %" PRId64, get_number(k, "generation"));
        else
            (void)printf("nothing acknowledged yet");
        (void)printf("%s%s\n", behind ? ", stays behind" : "", p->off);
    }
}

static void print_mint(const struct cfr_json *m, const struct paint *p)
{
    struct cfr_view state = get_text(m, "state", "");
    struct cfr_view waits = get_text(m, "waits_for", "");
    struct cfr_view error = get_text(m, "error", "");
    bool failed = cfr_view_is(state, "UPDATE_FAILED");

    if (state.n == 0)
        return;
    (void)printf("    %srotation %.*s, step %.*s%s\n", failed ? p->warn : p->dim, (int)state.n, state.p,
                 (int)get_text(m, "step", "?").n, get_text(m, "step", "?").p, p->off);
    if (waits.n != 0)
        (void)printf("    %swaits for %.*s%s\n", p->dim, (int)waits.n, waits.p, p->off);
    if (error.n != 0)
        (void)printf("    %s%.*s%s\n", p->warn, (int)error.n, error.p, p->off);
}

static void print_notes(const struct cfr_json *c, const struct paint *p, int64_t now_s)
{
    const struct cfr_json *error = cfr_json_get(c, "last_error");
    const struct cfr_json *token = cfr_json_get(c, "token");
    struct cfr_view identity = get_text(c, "identity", "");
    struct cfr_view message = get_text(error, "message", "");
    char words[CFR_TIME_WORDS_MAX];

    if (identity.n != 0)
        (void)printf("    %s%.*s%s\n", p->dim, (int)identity.n, identity.p, p->off);
    if (message.n != 0)
        (void)printf("    %s%.*s (%s ago, %" PRId64 " in a row)%s\n", p->bad, (int)message.n, message.p,
                     cfr_time_words((now_s - get_time(error, "at")) * 1000, words),
                     get_number(c, "consecutive_failures"), p->off);
    if (get_flag(token, "overdue"))
        (void)printf("    %sthe token is %s old and was not replaced%s\n", p->warn,
                     cfr_time_words((now_s - get_time(token, "issued")) * 1000, words), p->off);
    if (get_flag(token, "requested"))
        (void)printf("    %sthe token was requested from the API server%s\n", p->dim, p->off);
    print_mint(cfr_json_get(c, "mint"), p);
    print_hooks(cfr_json_get(c, "deliveries"), "", p);
    print_hooks(cfr_json_get(c, "hooks"), "hook ", p);
    print_consumers(cfr_json_get(c, "consumers"), p);
    if (get_flag(c, "previous_held"))
        (void)printf("    %sthe previous generation is kept until all it is kept for have acknowledged%s\n", p->dim,
                     p->off);
}

static void print_credential(const struct cfr_json *c, const struct paint *p, int64_t now_s)
{
    struct cfr_view name = get_text(c, "name", "?");
    struct cfr_view state = get_text(c, "state", "?");
    char life[BAR + 3];
    char left[CFR_TIME_WORDS_MAX];
    char next[CFR_TIME_WORDS_MAX];

    bar(c, now_s, life);
    (void)printf("%-24.*s %s%-10.*s%s %6" PRId64 "  %s%s%s  %-12s %-12s\n", (int)name.n, name.p, life_colour(c, p),
                 (int)state.n, state.p, p->off, get_number(c, "generation"), life_colour(c, p), life, p->off,
                 get_flag(c, "published")
                     ? get_time(c, "expires") == 0 ? "never" : in_words(get_time(c, "expires"), now_s, left)
                     : "-",
                 in_words(get_time(c, "next_refresh"), now_s, next));
    print_notes(c, p, now_s);
}

static void print_authority(const struct cfr_json *a, const struct paint *p, int64_t now_s)
{
    struct cfr_view error = get_text(a, "error", "");
    char rotates[CFR_TIME_WORDS_MAX];

    if (!cfr_json_is_object(a))
        return;
    (void)printf("service CA %" PRId64 ", of %" PRId64 " that are trusted; rotates in %s\n", get_number(a, "number"),
                 get_number(a, "generations"), in_words(get_time(a, "rotates"), now_s, rotates));
    if (error.n != 0)
        (void)printf("    %s%.*s%s\n", p->bad, (int)error.n, error.p, p->off);
}

static void print_table(const struct cfr_json *doc, const struct paint *p)
{
    const struct cfr_json *list = cfr_json_get(doc, "credentials");
    const struct cfr_json *agent = cfr_json_get(doc, "agent");
    struct cfr_view refused = get_text(cfr_json_get(agent, "config"), "error", "");
    int64_t now_s = cfr_clock_now().wall_ms / 1000;

    if (refused.n != 0)
        (void)printf("%sthe last reload was refused: %.*s%s\n", p->bad, (int)refused.n, refused.p, p->off);
    (void)printf("%-24s %-10s %6s  %-22s  %-12s %-12s\n", "CREDENTIAL", "STATE", "GEN", "LIFE", "EXPIRES IN",
                 "NEXT IN");
    for (size_t i = 0; i < cfr_json_count(list); i++)
        print_credential(cfr_json_at(list, i), p, now_s);
    print_authority(cfr_json_get(doc, "service_ca"), p, now_s);
}

static int show(const struct cfr_cli_options *o, const char *socket)
{
    bool tty = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == NULL;
    struct cfr_cli_answer answer;
    struct cfr_err err = {0};
    int status = CFR_EXIT_OK;

    if (cfr_cli_call(socket, "GET", "/v1/credentials", NULL, &answer, &err) != 0) {
        cfr_cli_complain("%s", err.text);
        status = CFR_EXIT_NO_AGENT;
    } else if (answer.status != 200) {
        cfr_cli_explain(&answer, &err);
        cfr_cli_complain("%s", err.text);
        status = CFR_EXIT_REFUSED;
    } else if (o->json) {
        (void)fwrite(answer.text.p, 1, answer.text.len, stdout);
    } else {
        if (o->watch && tty)
            (void)fputs("\033[H\033[2J", stdout);
        print_table(answer.json, tty ? &colour : &plain);
    }
    cfr_cli_answer_free(&answer);
    (void)fflush(stdout);
    return status;
}

int cfr_cmd_status(const struct cfr_cli_options *o)
{
    struct timespec second = {1, 0};
    char *socket = cfr_cli_socket(o);
    int status;

    if (socket == NULL)
        return CFR_EXIT_FAILED;
    status = show(o, socket);
    while (o->watch && status != CFR_EXIT_REFUSED) {
        (void)nanosleep(&second, NULL);
        status = show(o, socket);
    }
    free(socket);
    return status;
}
