/* SPDX-License-Identifier: MIT */
/* Subcommands rotate, reload, quit and wait: requests to the running agent. */
#include "agent/cmd/commands_private.h"

#include "agent/cli/client.h"
#include "agent/loop/clock.h"
#include "base/json.h"
#include "base/writer.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_STEP_MS    100
#define WAIT_DEFAULT_MS 30000
#define WAIT_TEXT_MAX   1024
/* When what is waited for is printed, and printed again. */
#define NOTICE_TERMINAL_MS 2000
#define NOTICE_MS          10000 /* in a log */
#define NOTICE_AGAIN_MS    60000

/* With ALL, one that has nothing to rotate is no failure. */
static int rotate_one(const char *socket, const char *name, const char *reason, bool all)
{
    struct cfr_cli_answer answer;
    struct cfr_str body = {.limit = 4096};
    struct cfr_writer w = {.str = &body};
    struct cfr_err err = {0};
    char path[160];
    double replaces = 0;
    int status = CFR_EXIT_OK;

    if (!cfr_cli_is_plain_name(name)) {
        cfr_cli_complain("invalid credential name \"%s\"", name);
        return CFR_EXIT_USAGE;
    }
    (void)snprintf(path, sizeof path, "/v1/credentials/%s/rotate", name);
    if (reason != NULL) {
        cfr_writer_object(&w, NULL);
        cfr_writer_string(&w, "reason", cfr_view_of(reason));
        cfr_writer_close(&w);
    }
    if (cfr_cli_call(socket, "POST", path, body.len != 0 ? body.p : "", &answer, &err) != 0) {
        status = cfr_cli_report(&err);
    } else if (answer.status == 409 && reason != NULL) { /* an earlier call has asked for the same */
        (void)printf("%s: already done for this reason\n", name);
    } else if (answer.status != 202) {
        cfr_cli_explain(&answer, &err);
        cfr_cli_complain("%s: %s", name, err.text);
        status = all && answer.status == 400 ? CFR_EXIT_OK : CFR_EXIT_REFUSED;
    } else {
        (void)cfr_json_number(cfr_json_get(answer.json, "replaces"), &replaces);
        (void)printf("%s: rotation accepted, replaces generation %.0f\n", name, replaces);
    }
    cfr_cli_answer_free(&answer);
    cfr_str_free(&body);
    return status;
}

static int rotate_all(const char *socket, const char *reason)
{
    struct cfr_cli_answer answer;
    struct cfr_err err = {0};
    const struct cfr_json *list;
    int status = CFR_EXIT_OK;

    if (cfr_cli_list(socket, &answer, &list, &err) != 0)
        status = cfr_cli_report(&err);
    for (size_t i = 0; i < cfr_json_count(list); i++) {
        struct cfr_view name;
        int one;

        if (!cfr_json_string(cfr_json_get(cfr_json_at(list, i), "name"), &name))
            continue;
        one = rotate_one(socket, name.p, reason, true);
        status = one != CFR_EXIT_OK ? one : status;
    }
    cfr_cli_answer_free(&answer);
    return status;
}

static bool is_listed(const struct cfr_json *list, const char *wanted)
{
    struct cfr_view name;

    for (size_t i = 0; i < cfr_json_count(list); i++) {
        if (cfr_json_string(cfr_json_get(cfr_json_at(list, i), "name"), &name) && cfr_view_is(name, wanted))
            return true;
    }
    return false;
}

/* Prints which of the names that O gives LIST does not have. */
static bool knows_names(const struct cfr_cli_options *o, const struct cfr_json *list)
{
    bool known = true;

    for (int i = 0; i < o->arg_count; i++) {
        if (is_listed(list, o->args[i]))
            continue;
        cfr_cli_unknown_credential(o->args[i], list);
        known = false;
    }
    return known;
}

/* Before anything is renewed. Returns an exit status. */
static int check_names(const struct cfr_cli_options *o, const char *socket)
{
    struct cfr_cli_answer answer;
    const struct cfr_json *list;
    struct cfr_err err = {0};
    int status = CFR_EXIT_OK;

    if (cfr_cli_list(socket, &answer, &list, &err) != 0)
        status = cfr_cli_report(&err);
    else if (!knows_names(o, list))
        status = CFR_EXIT_REFUSED;
    cfr_cli_answer_free(&answer);
    return status;
}

int cfr_cmd_rotate(const struct cfr_cli_options *o)
{
    bool known;
    char *socket;
    int status = CFR_EXIT_OK;

    if (o->all == (o->arg_count != 0)) {
        cfr_cli_complain("rotate takes names, or --all");
        return CFR_EXIT_USAGE;
    }
    socket = cfr_cli_socket(o, &status);
    if (socket == NULL)
        return status;
    status = o->all ? rotate_all(socket, o->reason) : check_names(o, socket);
    known = status == CFR_EXIT_OK && !o->all;
    for (int i = 0; i < o->arg_count && known; i++) {
        int one = rotate_one(socket, o->args[i], o->reason, false);

        status = one != CFR_EXIT_OK ? one : status;
    }
    free(socket);
    return status;
}

/* POSTs to PATH; any other status than WANTED is an error that begins with REFUSED. */
static int post(const struct cfr_cli_options *o, const char *path, int wanted, const char *refused)
{
    int status = CFR_EXIT_OK;
    char *socket = cfr_cli_socket(o, &status);
    struct cfr_cli_answer answer = {0};
    struct cfr_err err = {0};

    if (socket == NULL)
        return status;
    if (cfr_cli_call(socket, "POST", path, "", &answer, &err) != 0) {
        status = cfr_cli_report(&err);
    } else if (answer.status != wanted) {
        cfr_cli_explain(&answer, &err);
        cfr_cli_complain("%s%s", refused, err.text);
        status = CFR_EXIT_REFUSED;
    }
    cfr_cli_answer_free(&answer);
    free(socket);
    return status;
}

int cfr_cmd_reload(const struct cfr_cli_options *o)
{
    return post(o, "/v1/reload", 200, "refused, the old configuration remains in use: ");
}

int cfr_cmd_quit(const struct cfr_cli_options *o)
{
    return post(o, "/v1/quit", 202, "");
}

/* ---- wait ---- */

static bool in(const struct cfr_cli_options *o, struct cfr_view name)
{
    for (int i = 0; i < o->arg_count; i++) {
        if (cfr_view_is(name, o->args[i]))
            return true;
    }
    return false;
}

static bool get_flag(const struct cfr_json *c, const char *key)
{
    bool value = false;

    return cfr_json_bool(cfr_json_get(c, key), &value) && value;
}

struct waited {
    bool unknown;                /* a name that was given, which is then printed */
    bool refused;                /* asking again does not help */
    char missing[WAIT_TEXT_MAX]; /* names that are not good yet, with why */
    size_t count;
    char first[WAIT_TEXT_MAX]; /* the first of these names, with what the agent does about it */
};

/* What the agent does about C, which is missing because of WHY. */
static void describe(char out[WAIT_TEXT_MAX], const struct cfr_json *c, struct cfr_view name, struct cfr_view why)
{
    struct cfr_view state = {"?", 1};
    struct cfr_view next = {"", 0};
    char words[CFR_TIME_WORDS_MAX];
    char retry[CFR_TIME_WORDS_MAX + 16] = "";
    int64_t left_s = 0;
    int64_t at_s;

    (void)cfr_json_string(cfr_json_get(c, "state"), &state);
    if (cfr_json_string(cfr_json_get(c, "next_refresh"), &next) && cfr_time_parse(next, &at_s))
        left_s = at_s - cfr_clock_now().wall_ms / 1000;
    if (left_s > 0)
        (void)snprintf(retry, sizeof retry, "; retry in %s", cfr_time_words(left_s * 1000, words));
    (void)snprintf(out, WAIT_TEXT_MAX, "%.*s: %.*s (%.*s%s)", (int)name.n, name.p, (int)state.n, state.p, (int)why.n,
                   why.p, retry);
}

static void find_missing(const struct cfr_cli_options *o, const struct cfr_json *list, struct waited *w)
{
    *w = (struct waited){0};
    for (size_t i = 0; i < cfr_json_count(list); i++) {
        const struct cfr_json *c = cfr_json_at(list, i);
        const struct cfr_json *message = cfr_json_path(c, (const char *const[]){"last_error", "message", NULL});
        struct cfr_view name = {"", 0};
        struct cfr_view why = cfr_view_of(get_flag(c, "published") ? "expired, or not in memory yet for its endpoint"
                                                                   : "not published yet");
        size_t n = strlen(w->missing);

        (void)cfr_json_string(cfr_json_get(c, "name"), &name);
        if (o->arg_count != 0 ? !in(o, name) : !get_flag(c, "required"))
            continue;
        if (get_flag(c, "ready"))
            continue;
        (void)cfr_json_string(message, &why);
        (void)snprintf(w->missing + n, sizeof w->missing - n, "%s%.*s: %.*s", n != 0 ? "; " : "", (int)name.n, name.p,
                       (int)why.n, why.p);
        if (w->count++ == 0)
            describe(w->first, c, name, why);
    }
}

static int64_t boot_ms(void)
{
    return cfr_clock_now().boot_ms;
}

static bool wait_once(const struct cfr_cli_options *o, const char *socket, int64_t end_ms, struct waited *w,
                      struct cfr_err *err)
{
    struct cfr_cli_answer answer;
    const struct cfr_json *list;
    struct cfr_err why = {0};
    int rc = cfr_cli_list_within(cfr_cli_limit_ms(end_ms), socket, &answer, &list, &why);
    bool good = false;

    /* The last request may be cut off by the time limit: what was answered before says more. */
    if (rc != 0 && (rc != CFR_E_TIMEOUT || err->code == 0))
        *err = why;
    w->refused = rc == CFR_E_REJECTED && answer.status < 500;
    if (rc == 0) {
        *err = (struct cfr_err){0};
        find_missing(o, list, w);
        w->unknown = !knows_names(o, list);
        good = !w->unknown && w->missing[0] == '\0';
    }
    cfr_cli_answer_free(&answer);
    return good;
}

/* Prints what is waited for. */
static void print_notice(const struct waited *w, const struct cfr_err *err)
{
    if (err->code != 0)
        cfr_cli_complain("waiting for the agent: %s", err->text);
    else if (w->count > 1)
        cfr_cli_complain("waiting for %s, and %zu more", w->first, w->count - 1);
    else
        cfr_cli_complain("waiting for %s", w->first);
}

int cfr_cmd_wait(const struct cfr_cli_options *o)
{
    int64_t end_ms = boot_ms() + (o->timeout_ms >= 0 ? o->timeout_ms : WAIT_DEFAULT_MS);
    struct timespec pause = {0, WAIT_STEP_MS * 1000000L};
    int status = CFR_EXIT_OK;
    char *socket = cfr_cli_socket(o, &status);
    struct waited w = {0};
    struct cfr_err err = {0};
    int64_t notice_ms = boot_ms() + (isatty(STDERR_FILENO) ? NOTICE_TERMINAL_MS : NOTICE_MS);
    bool good = false;

    if (socket == NULL)
        return status;
    while (!(good = wait_once(o, socket, end_ms, &w, &err)) && !w.unknown && !w.refused && boot_ms() < end_ms) {
        if (boot_ms() >= notice_ms) {
            print_notice(&w, &err);
            notice_ms = boot_ms() + NOTICE_AGAIN_MS;
        }
        (void)nanosleep(&pause, NULL);
    }
    free(socket);
    if (good)
        return CFR_EXIT_OK;
    if (w.unknown)
        return CFR_EXIT_REFUSED;
    if (err.code != 0 && err.code != CFR_E_TIMEOUT)
        return cfr_cli_report(&err);
    cfr_cli_complain("time is up: %s", err.code != 0 ? err.text : w.missing);
    return CFR_EXIT_TIMEOUT;
}
