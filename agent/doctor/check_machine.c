/* SPDX-License-Identifier: MIT */
/* Checks of the machine: user, state directory, open files, watches, memory, privileges. */
#include "agent/doctor/doctor_private.h"

#include "agent/http/client.h"

#include "agent/doctor/mountinfo_private.h"
#include "agent/publish/targets.h"
#include "files/state.h"
#include "files/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROC_MAX 8192

static size_t read_proc(const char *path, char out[PROC_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, PROC_MAX - 1) : 0;

    if (fd >= 0)
        (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

bool cfr_doctor_capable(unsigned capability)
{
    char status[PROC_MAX];
    const char *line = read_proc("/proc/self/status", status) != 0 ? strstr(status, "\nCapEff:") : NULL;
    unsigned long long set = line != NULL ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : 0;

    return ((set >> capability) & 1U) != 0;
}

/* Findings about rights hold for the user that runs this, which should be the agent's. */
void cfr_doctor_user(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct stat st;
    uid_t agent = d->agent_uid;

    (void)c;
    if (d->agent_pid <= 0)
        agent = stat(d->config->state_dir, &st) == 0 ? st.st_uid : geteuid();
    if (agent != geteuid())
        cfr_doctor_report(d, CFR_FINDING_NOTE, "machine.user",
                          "run doctor as the agent's user: `sudo -u USER credfresh doctor`, `kubectl exec`, or "
                          "`systemd-run -p User=USER --pty`",
                          "you are uid %u, and %s uid %u: findings about rights hold for uid %u", (unsigned)geteuid(),
                          d->agent_pid > 0 ? "the agent runs as" : "the state directory belongs to", (unsigned)agent,
                          (unsigned)geteuid());
}

/* The agent refuses a directory that is another user's, or that others can write. For root without a running agent it
 * is unknown as which user that will run. True if there is nothing against it. */
static bool is_state_safe(struct cfr_doctor *d, const char *dir)
{
    uid_t owner = d->agent_pid > 0 ? d->agent_uid : geteuid();
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct cfr_err err = {0};
    struct stat st;
    bool known;
    bool safe = true;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        known = d->agent_pid > 0 || geteuid() != 0 || st.st_uid == 0;
        safe = cfr_state_check(&st, cfr_state_is_mounted(fd, &st), known ? owner : st.st_uid, dir, &err) == 0;
        if (!safe)
            cfr_doctor_report(d, CFR_FINDING_WRONG, "machine.state-dir", NULL, "the state directory %s", err.text);
        else if (!known)
            cfr_doctor_report(d, CFR_FINDING_NOTE, "machine.state-dir", NULL,
                              "the state directory %s belongs to uid %u: an agent that runs as root refuses it", dir,
                              (unsigned)st.st_uid);
    }
    if (fd >= 0)
        (void)close(fd);
    return safe;
}

void cfr_doctor_state(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const char *dir = d->config->state_dir;
    char at[PATH_MAX];
    struct stat st = {0};

    (void)c;
    if (d->config->credentials.count == 0)
        return;
    if (cfr_doctor_check_link(d, "machine.state-dir", "the state directory ", dir))
        return;
    cfr_doctor_nearest(dir, at);
    if (stat(at, &st) == 0 && !S_ISDIR(st.st_mode)) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "machine.state-dir", "remove it, or set `state_dir`",
                          "the state directory %s: %s is not a directory", dir, at);
        return;
    }
    if (!is_state_safe(d, dir))
        return;
    if (faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) == 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "machine.state-dir", NULL, "the state directory %s can be written", dir);
    else
        cfr_doctor_report(
            d, CFR_FINDING_WRONG, "machine.state-dir",
            "give it to credfresh's user (systemd: RuntimeDirectory= or StateDirectory=; in a "
            "pod: an emptyDir), or "
            "set `state_dir`",
            "%s: cannot write in %s: %s (the state directory; uid %u may not write there: mode %04o, owner %u:%u)", dir,
            at, strerror(errno), (unsigned)geteuid(), (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid,
            (unsigned)st.st_gid);
}

/* The file NAME of the running agent, or else of this process. */
static size_t read_its(const struct cfr_doctor *d, const char *name, char out[PROC_MAX])
{
    char path[64];
    size_t n = 0;

    if (d->agent_pid > 0) {
        (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)d->agent_pid, name);
        n = read_proc(path, out);
    }
    if (n != 0)
        return n;
    (void)snprintf(path, sizeof path, "/proc/self/%s", name);
    return read_proc(path, out);
}

/* The hard limit, which the agent raises its soft one to by itself. */
static rlim_t files_limit(const struct cfr_doctor *d)
{
    static const char title[] = "\nMax open files";
    char limits[PROC_MAX];
    struct rlimit own = {RLIM_INFINITY, RLIM_INFINITY};
    char *line = read_its(d, "limits", limits) != 0 ? strstr(limits, title) : NULL;
    char *end;
    unsigned long long hard;

    (void)getrlimit(RLIMIT_NOFILE, &own);
    if (line == NULL)
        return own.rlim_max;
    (void)strtoull(line + sizeof title - 1, &end, 10);
    line = end;
    hard = strtoull(line, &end, 10);
    return end != line ? (rlim_t)hard : RLIM_INFINITY; /* "unlimited" */
}

static void report_files(struct cfr_doctor *d)
{
    int64_t needed = cfr_doctor_needed_files(d->config);
    rlim_t limit = files_limit(d);

    if (limit != RLIM_INFINITY && (int64_t)limit < needed)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "machine.open-files",
                          "raise it (systemd: LimitNOFILE=; container: --ulimit nofile)",
                          "at most %lld files may be open (hard limit), and this configuration may need %lld",
                          (long long)limit, (long long)needed);
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "machine.open-files", NULL,
                          "the limit of open files suffices: up to %lld are needed", (long long)needed);
}

/* Adds every watch of the agent for a moment: a count would miss what other programs use. */
static void report_watches(struct cfr_doctor *d)
{
    static struct cfr_watcher watcher;
    struct cfr_watch *w = NULL;
    struct cfr_err err = {0};
    int rc = cfr_watch_open(&w, &err);

    for (size_t i = 0; rc == 0 && i < d->config->credentials.count; i++) {
        struct cfr_err one = {0};

        if (cfr_source_inputs_watch(cfr_config_at(d->config, i), NULL, w, &watcher, &one) == CFR_E_LIMIT ||
            cfr_publish_watch(cfr_config_at(d->config, i), w, &watcher, &one) == CFR_E_LIMIT) {
            rc = CFR_E_LIMIT;
            err = one;
        }
    }
    cfr_watch_close(w);
    if (rc == 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "machine.inotify", NULL,
                          "the kernel gives all the watches that are needed");
    else
        cfr_doctor_report(d, CFR_FINDING_WARNING, "machine.inotify",
                          "raise fs.inotify.max_user_instances and fs.inotify.max_user_watches (sysctl); until then "
                          "files are polled once a minute",
                          "%s", err.text);
}

static void report_memory(struct cfr_doctor *d)
{
    char cgroup[PROC_MAX];
    char path[512] = "";
    size_t n = read_its(d, "cgroup", cgroup);
    int64_t limit = cfr_doctor_memory_limit((struct cfr_view){cgroup, n}, "/sys/fs/cgroup", path);

    if (limit >= 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "machine.memory", NULL, "the memory limit is %lld MiB (%s)",
                          (long long)(limit / 1048576), path);
    else if (n == 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "machine.memory", NULL,
                          "cannot read the memory limit: /proc is missing");
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "machine.memory", NULL, "there is no memory limit");
}

static bool has_programs(const struct cfr_config *config)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_list *hooks = &cfr_config_at(config, i)->reload;

        for (size_t k = 0; k < hooks->count; k++) {
            const void *unused;

            if (cfr_config_hook_kind((const struct cfr_config_hook *)hooks->items + k, &unused)->runs_program)
                return true;
        }
    }
    return false;
}

static void report_privileges(struct cfr_doctor *d)
{
    char status[PROC_MAX];
    const char *line = read_proc("/proc/self/status", status) != 0 ? strstr(status, "\nSeccomp:") : NULL;
    bool filtered = line != NULL && strtol(line + strlen("\nSeccomp:"), NULL, 10) == 2;
    bool bound = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;

    if (has_programs(d->config) && (filtered || bound))
        cfr_doctor_report(d, CFR_FINDING_NOTE, "machine.privileges", NULL,
                          "programs of hooks run with%s%s%s: they can do no more than credfresh itself (no "
                          "sudo, no setuid)",
                          bound ? " no_new_privs" : "", bound && filtered ? " and" : "",
                          filtered ? " a seccomp filter" : "");
}

/* With 1 the kernel writes core dumps of processes that have changed their user, and makes them dumpable again. */
static void report_dumps(struct cfr_doctor *d)
{
    char text[PROC_MAX];

    if (read_proc("/proc/sys/fs/suid_dumpable", text) != 0 && strtol(text, NULL, 10) == 1)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "machine.core-dumps", "`sysctl fs.suid_dumpable=0`",
                          "fs.suid_dumpable is 1: processes that change their user can leave core dumps, with the "
                          "secrets in their memory, that other users can read");
}

void cfr_doctor_proxy(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    (void)c;
    cfr_http_check_proxy(&d->sink);
}

void cfr_doctor_machine(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    (void)c;
    report_files(d);
    report_watches(d);
    report_memory(d);
    report_privileges(d);
    report_dumps(d);
}
