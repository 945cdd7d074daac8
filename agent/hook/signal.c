/* SPDX-License-Identifier: MIT */
/* Hook kind `signal`: sends a signal to the consumer's process. */
#include "agent/hook/hook_private.h"

#include "agent/loop/process.h"

#include <stdio.h>

static bool is_signal(const struct cfr_config_hook *c)
{
    return c->signal != NULL;
}

static const char *name_process(const struct cfr_config_signal *s)
{
    return s->pid_file != NULL ? s->pid_file : s->executable;
}

static void describe_signal(const struct cfr_config_hook *c, char text[CFR_HOOK_NAME_MAX])
{
    (void)snprintf(text, CFR_HOOK_NAME_MAX, "signal %s to %s", cfr_config_signals[c->signal->signal],
                   name_process(c->signal));
}

static int send_signal(const struct cfr_config_signal *s, int signal, struct cfr_err *err)
{
    return s->pid_file != NULL ? cfr_process_signal_file(s->pid_file, signal, err)
                               : cfr_process_signal_executable(s->executable, signal, err);
}

static int start_signal(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err)
{
    const struct cfr_config_signal *s = run->config->signal;

    (void)now;
    return send_signal(s, cfr_config_signal_number(s->signal), err);
}

/* Signal 0 only asks whether there is such a process and whether it may be signalled. */
static void inspect_signal(const struct cfr_config_hook *c, const struct cfr_hook_inspection *i)
{
    const struct cfr_config_signal *s = c->signal;
    const char *check = s->pid_file != NULL ? "hook.pid-file" : "hook.signal";
    struct cfr_err err = {0};
    int rc = send_signal(s, 0, &err);

    if (rc == 0)
        cfr_finding_say(i->sink, CFR_FINDING_OK, check, NULL, "%s names a process that runs and can be signalled",
                        name_process(s));
    else if (rc == CFR_E_MISSING)
        cfr_finding_say(i->sink, CFR_FINDING_WARNING, check,
                        s->pid_file != NULL ? "start the consumer, or fix the path"
                                            : "start the consumer, or fix the name",
                        "%s", err.text);
    else
        cfr_finding_say(i->sink, CFR_FINDING_WRONG, check,
                        rc == CFR_E_CONFLICT ? "a consumer should write its pid file at each start: does it?" : NULL,
                        "%s", err.text);
}

const struct cfr_hook_ops cfr_hook_signal = {
    .name = "signal",
    .is_configured = is_signal,
    .describe = describe_signal,
    .start = start_signal,
    .inspect = inspect_signal,
};
