/* SPDX-License-Identifier: MIT */
/* Subcommand status: state of the agent and its credentials, once or each second, as a table or as JSON. */
#include "agent/cmd/commands_private.h"

#include "agent/cli/client.h"
#include "agent/loop/clock.h"
#include "base/str.h"
#include "base/time.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define CLEAR "\033[H\033[2J"

/* Of one run of the command. */
struct view_of_status {
    const struct cfr_cli_options *o;
    const char *socket;
    bool terminal;
    struct cfr_cli_answer last; /* the last good one; json NULL: none yet */
    int64_t last_boot_ms;
    bool again; /* something was printed before */
};

static int columns_of(const struct view_of_status *v)
{
    return v->terminal ? (int)cfr_cli_columns(STDOUT_FILENO) : 0;
}

static const struct cfr_json *find_credential(const struct cfr_json *list, const char *wanted)
{
    struct cfr_view name;

    for (size_t i = 0; i < cfr_json_count(list); i++) {
        if (cfr_json_string(cfr_json_get(cfr_json_at(list, i), "name"), &name) && cfr_view_is(name, wanted))
            return cfr_json_at(list, i);
    }
    return NULL;
}

static bool is_ready(const struct cfr_json *c)
{
    bool ready = false;

    return cfr_json_bool(cfr_json_get(c, "ready"), &ready) && ready;
}

/* The exit status that the answer means: of an unknown name, and with --exit-code of what is not ready. */
static int find_exit_status(const struct view_of_status *v)
{
    const struct cfr_json *list = cfr_json_get(v->last.json, "credentials");
    int status = CFR_EXIT_OK;

    for (int i = 0; i < v->o->arg_count; i++) {
        if (find_credential(list, v->o->args[i]) == NULL) {
            cfr_cli_unknown_credential(v->o->args[i], list);
            return CFR_EXIT_REFUSED;
        }
        if (v->o->exit_code && !is_ready(find_credential(list, v->o->args[i])))
            status = CFR_EXIT_FAILED;
    }
    for (size_t i = 0; v->o->exit_code && v->o->arg_count == 0 && i < cfr_json_count(list); i++)
        status = is_ready(cfr_json_at(list, i)) ? status : CFR_EXIT_FAILED;
    return status;
}

/* Prints what is known; STALE: why it is old, or NULL. */
static void print_last(struct view_of_status *v, const char *stale)
{
    bool colours = v->terminal && getenv("NO_COLOR") == NULL;
    char now[CFR_TIME_RFC3339_MAX];
    char age[CFR_TIME_WORDS_MAX];

    if (v->o->watch && v->terminal)
        (void)fputs(CLEAR, stdout);
    else if (v->again)
        (void)fputs("\n", stdout);
    v->again = true;
    if (v->o->watch)
        (void)printf("%s%s\n", cfr_time_format(cfr_clock_now().wall_ms / 1000, now),
                     v->terminal ? ", every second; q ends it" : "");
    if (stale != NULL)
        (void)printf("%sSTALE, %s old: %s%s\n", colours ? "\033[31m" : "",
                     cfr_time_words(cfr_clock_now().boot_ms - v->last_boot_ms, age), stale, colours ? "\033[0m" : "");
    cfr_cmd_status_print(v->last.json, v->o, colours, columns_of(v), cfr_clock_now().wall_ms / 1000);
}

/* Prints the answer as it came. The agent escapes what a terminal must not get; another program at its socket may not.
 */
static void print_json(struct cfr_view rest)
{
    struct cfr_str out = {.limit = rest.n + 1};
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        cfr_str_add_shown(&out, line, line.n);
        cfr_str_addz(&out, "\n");
    }
    (void)fwrite(out.p, 1, out.len, stdout);
    cfr_str_free(&out);
}

/* Prints the agent's document with one credential for each name that was given. Returns an exit status. */
static int print_named_json(const struct view_of_status *v)
{
    int status = CFR_EXIT_OK;

    for (int i = 0; i < v->o->arg_count && status == CFR_EXIT_OK; i++) {
        struct cfr_cli_answer answer;
        struct cfr_err err = {0};
        char path[160];

        (void)snprintf(path, sizeof path, "/v1/credentials/%s", v->o->args[i]);
        if (cfr_cli_call(v->socket, "GET", path, NULL, &answer, &err) == 0 && answer.status != 200)
            cfr_cli_explain(&answer, &err);
        if (err.code == 0)
            print_json(cfr_secret_view(&answer.text));
        else
            status = cfr_cli_report(&err);
        cfr_cli_answer_free(&answer);
    }
    return status;
}

/* Asks the agent once, and prints. Returns the exit status. */
static int show(struct view_of_status *v)
{
    struct cfr_cli_answer answer;
    const struct cfr_json *list;
    struct cfr_err err = {0};
    int status;

    if (cfr_cli_list(v->socket, &answer, &list, &err) == 0) {
        cfr_cli_answer_free(&v->last);
        v->last = answer;
        v->last_boot_ms = cfr_clock_now().boot_ms;
        status = find_exit_status(v);
        if (status != CFR_EXIT_REFUSED && v->o->json && v->o->arg_count != 0) {
            int printed = print_named_json(v);

            status = printed != CFR_EXIT_OK ? printed : status;
        } else if (status != CFR_EXIT_REFUSED && v->o->json)
            print_json(cfr_secret_view(&v->last.text));
        else if (status != CFR_EXIT_REFUSED)
            print_last(v, NULL);
        (void)fflush(stdout);
        return status;
    }
    cfr_cli_answer_free(&answer);
    if (!v->o->watch || !v->terminal || v->last.json == NULL)
        return cfr_cli_report(&err);
    print_last(v, err.text);
    (void)fflush(stdout);
    return cfr_cli_exit_status(&err);
}

/* Waits for a second. False if a key or a signal ends the command; the signal is *ENDED then, else 0. */
static bool wait_second(bool keys, int signals, int *ended)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN}};
    int64_t end_ms = cfr_clock_now().boot_ms + 1000;
    int64_t left;

    *ended = 0;
    while ((left = end_ms - cfr_clock_now().boot_ms) > 0) {
        struct signalfd_siginfo info;
        char key;

        if (poll(fds, 2, (int)left) <= 0)
            continue;
        if (fds[0].revents != 0 && read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
            *ended = (int)info.ssi_signo;
            return false;
        }
        if (fds[1].revents != 0) {
            ssize_t n = read(STDIN_FILENO, &key, 1);

            if (n == 1 && (key == 'q' || key == 'Q'))
                return false;
            fds[1].fd = n == 1 ? fds[1].fd : -1; /* the terminal is gone, or nothing more comes from it */
        }
    }
    return true;
}

/* Shows the status each second, until q is typed or a signal comes. */
static int watch(struct view_of_status *v)
{
    bool keys = v->terminal && isatty(STDIN_FILENO) == 1;
    struct termios before = {0};
    struct termios raw;
    sigset_t set;
    sigset_t old;
    int signals;
    int ended = 0;
    int status;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, &old);
    signals = signalfd(-1, &set, SFD_CLOEXEC);
    keys = keys && tcgetattr(STDIN_FILENO, &before) == 0;
    if (keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    do
        status = show(v);
    while (status != CFR_EXIT_REFUSED && wait_second(keys, signals, &ended));
    if (keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (signals >= 0)
        (void)close(signals);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    if (ended != 0)
        (void)raise(ended);
    return status;
}

int cfr_cmd_status(const struct cfr_cli_options *o)
{
    int status = CFR_EXIT_OK;
    char *socket = cfr_cli_socket(o, &status);
    struct view_of_status v = {.o = o, .socket = socket, .terminal = isatty(STDOUT_FILENO) == 1};

    if (socket == NULL)
        return status;
    if (o->json && o->failed) {
        cfr_cli_complain("status: --json and --failed do not go together; filter the JSON by `ready`");
        status = CFR_EXIT_USAGE;
    } else {
        status = o->watch ? watch(&v) : show(&v);
    }
    cfr_cli_answer_free(&v.last);
    free(socket);
    return status;
}
