/* SPDX-License-Identifier: MIT */
/* Hook kind `signal`: sends a signal to the consumer's process. */
#include "agent/hook/hook_private.h"

#include "agent/loop/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct config {
    struct cfr_node node;
    char *pid_file;
    char *executable; /* absolute path, or a bare name compared with the executable's last component */
    int signal;       /* index into cfr_hook_signal_names */
};

/* Without SIG. */
const char *const cfr_hook_signal_names[] = {"HUP",  "INT",  "QUIT",  "USR1",  "USR2",
                                             "TERM", "CONT", "WINCH", "RTMIN", NULL};

int cfr_hook_signal_number(int index)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGWINCH};

    if (index < 0 || (size_t)index > sizeof numbers / sizeof numbers[0])
        return 0;
    /* SIGRTMIN is no constant: the C library decides it when the program starts. */
    return (size_t)index == sizeof numbers / sizeof numbers[0] ? SIGRTMIN : numbers[index];
}

static int check_signal(const void *node, struct cfr_err *err)
{
    const struct config *s = node;

    if ((s->pid_file != NULL) == (s->executable != NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           s->pid_file == NULL ? "has no process; write `pid_file` or `executable`"
                                               : "executable: cannot be used with pid_file; keep one of the two");
    if (s->executable != NULL && s->executable[0] != '/' && strchr(s->executable, '/') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "executable: write an absolute path, or the bare name of the program without /");
    return 0;
}

#define AT(member) offsetof(struct config, member)
static const struct cfr_field fields[] = {
    {FIELD(pid_file, STRING), .flags = CFR_FIELD_PATH, .doc = CFR_DOC("File with the process id.")},
    {FIELD(executable, STRING), .min = 1, .max = 4095,
     .doc = CFR_DOC("Every process that runs this program: an absolute path, or the bare name, which is compared "
                    "with the last component. In a pod the containers must share their process namespace.")},
    {FIELD(signal, ENUM), .fallback = "HUP", .choices = cfr_hook_signal_names,
     .doc = CFR_DOC("Name of the signal, without SIG.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "signal",
    .size = sizeof(struct config),
    .fields = fields,
    .check = check_signal,
    .doc = CFR_DOC("A signal, to exactly one of `pid_file` and `executable`."),
};

static const char *name_process(const struct config *s)
{
    return s->pid_file != NULL ? s->pid_file : s->executable;
}

static void describe_signal(const void *config, char text[CFR_HOOK_NAME_MAX])
{
    const struct config *s = config;

    (void)snprintf(text, CFR_HOOK_NAME_MAX, "signal %s to %s", cfr_hook_signal_names[s->signal], name_process(s));
}

static int send_signal(const struct config *s, int signal, struct cfr_err *err)
{
    return s->pid_file != NULL ? cfr_process_signal_file(s->pid_file, signal, err)
                               : cfr_process_signal_executable(s->executable, signal, err);
}

static int start_signal(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err)
{
    const struct config *s = run->config;

    (void)now;
    return send_signal(s, cfr_hook_signal_number(s->signal), err);
}

/* Signal 0 only asks whether there is such a process and whether it may be signalled. */
static void inspect_signal(const void *config, const struct cfr_hook_inspection *i)
{
    const struct config *s = config;
    const char *check = s->pid_file != NULL ? "hook.pid-file" : "hook.signal";
    struct cfr_err err = {0};
    int rc = send_signal(s, 0, &err);

    if (rc == 0)
        cfr_finding_report(i->sink, CFR_FINDING_OK, check, NULL, "%s names a process that runs and can be signalled",
                           name_process(s));
    else if (rc == CFR_E_MISSING)
        cfr_finding_report(i->sink, CFR_FINDING_WARNING, check,
                           s->pid_file != NULL ? "start the consumer, or fix the path"
                                               : "start the consumer, or fix the name",
                           "%s", err.text);
    else
        cfr_finding_report(i->sink, CFR_FINDING_WRONG, check,
                           rc == CFR_E_CONFLICT ? "a consumer should write its pid file at each start: does it?" : NULL,
                           "%s", err.text);
}

static bool finds_process(const void *config)
{
    return ((const struct config *)config)->executable != NULL;
}

const struct cfr_hook_ops cfr_hook_signal = {
    .kind = {.finds_process = finds_process,
             .variant = {.key = "signal", .table = &table, .doc = CFR_DOC("Send a signal.")}},
    .describe = describe_signal,
    .start = start_signal,
    .inspect = inspect_signal,
};
