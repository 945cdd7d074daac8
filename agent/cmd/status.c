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

#define BAR       20
#define SHOWN_MAX 2200 /* the longest identity fits */

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
        struct shown name = get_shown(h, "name", "");
        struct shown result = get_shown(h, "result", "");
        struct shown error = get_shown(h, "error", "");
        bool failed = strcmp(result.text, "failed") == 0;

        (void)printf("    %s%s%s: %s%s%s%s\n", failed ? p->warn : p->dim, what, name.text, result.text,
                     error.text[0] != '\0' ? ", " : "", error.text, p->off);
    }
}

static void print_consumers(const struct cfr_json *consumers, const struct paint *p)
{
    for (size_t i = 0; i < cfr_json_count(consumers); i++) {
        const struct cfr_json *k = cfr_json_at(consumers, i);
        struct shown name = get_shown(k, "name", "");
        bool behind = get_flag(k, "behind");

        (void)printf("    %sconsumer %s: ", behind ? p->warn : p->dim, name.text);
        if (get_number(k, "generation") != 0)
            (void)printf("generation %" PRId64, get_number(k, "generation"));
        else
            (void)printf("nothing acknowledged yet");
        (void)printf("%s%s\n", behind ? ", stays behind" : "", p->off);
    }
}

static void print_mint(const struct cfr_json *m, const struct paint *p)
{
    struct shown state = get_shown(m, "state", "");
    struct shown waits = get_shown(m, "waits_for", "");
    struct shown error = get_shown(m, "error", "");
    bool failed = strcmp(state.text, "UPDATE_FAILED") == 0;

    if (state.text[0] == '\0')
        return;
    (void)printf("    %srotation %s, step %s%s\n", failed ? p->warn : p->dim, state.text,
                 get_shown(m, "step", "?").text, p->off);
    if (waits.text[0] != '\0')
        (void)printf("    %swaits for %s%s\n", p->dim, waits.text, p->off);
    if (error.text[0] != '\0')
        (void)printf("    %s%s%s\n", p->warn, error.text, p->off);
}

static void print_notes(const struct cfr_json *c, const struct paint *p, int64_t now_s)
{
    const struct cfr_json *error = cfr_json_get(c, "last_error");
    const struct cfr_json *token = cfr_json_get(c, "token");
    struct shown identity = get_shown(c, "identity", "");
    struct shown message = get_shown(error, "message", "");
    char words[CFR_TIME_WORDS_MAX];

    if (identity.text[0] != '\0')
        (void)printf("    %s%s%s\n", p->dim, identity.text, p->off);
    if (message.text[0] != '\0')
        (void)printf("    %s%s (%s ago, %" PRId64 " in a row)%s\n", p->bad, message.text,
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
    struct shown name = get_shown(c, "name", "?");
    struct shown state = get_shown(c, "state", "?");
    char life[BAR + 3];
    char left[CFR_TIME_WORDS_MAX];
    char next[CFR_TIME_WORDS_MAX];

    bar(c, now_s, life);
    (void)printf("%-24s %s%-10s%s %6" PRId64 "  %s%s%s  %-12s %-12s\n", name.text, life_colour(c, p), state.text,
                 p->off, get_number(c, "generation"), life_colour(c, p), life, p->off,
                 get_flag(c, "published")
                     ? get_time(c, "expires") == 0 ? "never" : in_words(get_time(c, "expires"), now_s, left)
                     : "-",
                 in_words(get_time(c, "next_refresh"), now_s, next));
    print_notes(c, p, now_s);
}

static void print_authority(const struct cfr_json *a, const struct paint *p, int64_t now_s)
{
    struct shown error = get_shown(a, "error", "");
    char rotates[CFR_TIME_WORDS_MAX];

    if (!cfr_json_is_object(a))
        return;
    (void)printf("service CA %" PRId64 ", of %" PRId64 " that are trusted; rotates in %s\n", get_number(a, "number"),
                 get_number(a, "generations"), in_words(get_time(a, "rotates"), now_s, rotates));
    if (error.text[0] != '\0')
        (void)printf("    %s%s%s\n", p->bad, error.text, p->off);
}

/* Only what is not in force: the rest is as it should be. */
static void print_sandbox(const struct cfr_json *parts, const struct paint *p)
{
    for (size_t i = 0; i < cfr_json_count(parts); i++) {
        const struct cfr_json *one = cfr_json_at(parts, i);
        struct cfr_view part = get_text(one, "part", "");
        struct cfr_view why = get_text(one, "why_not", "");

        if (!get_flag(one, "on"))
            (void)printf("%ssandbox without %.*s: %.*s%s\n", p->bad, (int)part.n, part.p, (int)why.n, why.p, p->off);
    }
}

static void print_table(const struct cfr_json *doc, const struct paint *p)
{
    const struct cfr_json *list = cfr_json_get(doc, "credentials");
    const struct cfr_json *agent = cfr_json_get(doc, "agent");
    struct shown refused = get_shown(cfr_json_get(agent, "config"), "error", "");
    int64_t now_s = cfr_clock_now().wall_ms / 1000;

    if (refused.text[0] != '\0')
        (void)printf("%sthe last reload was refused: %s%s\n", p->bad, refused.text, p->off);
    (void)printf("%-24s %-10s %6s  %-22s  %-12s %-12s\n", "CREDENTIAL", "STATE", "GEN", "LIFE", "EXPIRES IN",
                 "NEXT IN");
    for (size_t i = 0; i < cfr_json_count(list); i++)
        print_credential(cfr_json_at(list, i), p, now_s);
    print_authority(cfr_json_get(doc, "service_ca"), p, now_s);
    print_sandbox(cfr_json_get(doc, "sandbox"), p);
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
