/* SPDX-License-Identifier: MIT */
/* Hook kind `exec`: runs a program in a process group of its own and ends it when it takes too long. */
#include "agent/hook/hook_private.h"

#include "agent/loop/launcher.h"
#include "agent/loop/process.h"
#include "agent/publish/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define KILL_AFTER_MS 5000

struct config {
    struct cfr_node node;
    struct cfr_strings exec;
};

static int check_exec(const void *node, struct cfr_err *err)
{
    const struct config *c = node;

    if (c->exec.count != 0 && c->exec.items[0][0] != '/')
        return cfr_err_set(err, CFR_E_CONFIG,
                           "exec: %.64s must be an absolute path, because there is no shell and no PATH",
                           c->exec.items[0]);
    return 0;
}

static const struct cfr_field fields[] = {
    {.key = "exec",
     .type = CFR_FIELD_STRINGS,
     .offset = offsetof(struct config, exec),
     .min = 1,
     .max = 64,
     .doc = CFR_DOC("Run a program: its absolute path and its arguments, without a shell. Exit status 0 "
                    "means success. Its environment describes the published generation, without secrets.")},
    {.key = NULL},
};

static const struct cfr_table table = {
    .name = "program",
    .size = sizeof(struct config),
    .fields = fields,
    .check = check_exec,
};

static const char *program_of(const void *config)
{
    return ((const struct config *)config)->exec.items[0];
}

static void describe_exec(const void *config, char text[CFR_HOOK_NAME_MAX])
{
    (void)snprintf(text, CFR_HOOK_NAME_MAX, "exec %s", program_of(config));
}

/* All published paths, colon-separated as in PATH. */
static void list_paths(const struct cfr_config_credential *c, struct cfr_str *out)
{
    const char *between = "";

    for (size_t i = 0; i < c->publish.count; i++) {
        const char *path = cfr_publish_path((const struct cfr_config_publish *)c->publish.items + i);

        if (path == NULL)
            continue;
        cfr_str_addf(out, "%s%s", between, path);
        between = ":";
    }
}

/* What a hook is started with. */
struct command {
    char **argv;
    char *environment[5];
    char name[128];
    char number[64];
    struct cfr_str paths;
    struct cfr_str search;
};

static void free_command(struct command *x)
{
    free(x->argv);
    cfr_str_free(&x->paths);
    cfr_str_free(&x->search);
}

/* The caller frees *X with free_command also after an error. */
static int make_command(const struct cfr_config_credential *c, const struct config *config, const char *generation,
                        struct command *x, struct cfr_err *err)
{
    const struct cfr_strings *exec = &config->exec;
    const char *path = getenv("PATH");

    *x = (struct command){.paths.limit = 65536, .search.limit = 65536};
    x->argv = calloc(exec->count + 1, sizeof(char *));
    (void)snprintf(x->name, sizeof x->name, "CREDFRESH_CREDENTIAL=%s", c->name);
    (void)snprintf(x->number, sizeof x->number, "CREDFRESH_GENERATION=%s", generation);
    cfr_str_addz(&x->paths, "CREDFRESH_PATHS=");
    list_paths(c, &x->paths);
    cfr_str_addf(&x->search, "PATH=%s", path != NULL ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
    if (x->argv == NULL || x->paths.failed || x->search.failed)
        return cfr_err_nomem(err);
    memcpy(x->argv, exec->items, exec->count * sizeof(char *));
    x->environment[0] = x->name;
    x->environment[1] = x->number;
    x->environment[2] = x->paths.p;
    x->environment[3] = x->search.p;
    return 0;
}

static int start_exec(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err)
{
    struct command x;
    char generation[24];
    int rc;

    (void)snprintf(generation, sizeof generation, "%" PRIu64, run->generation);
    rc = make_command(run->credential, run->config, generation, &x, err);
    if (rc == 0) {
        rc = cfr_process_start(x.argv, x.environment, &run->pid, err);
        run->deadline_ms = now.boot_ms + run->timeout_ms;
        run->terminated = false;
    }
    free_command(&x);
    return rc != 0 ? rc : CFR_HOOK_STARTED;
}

static int list_exec(const struct cfr_config_credential *c, const void *config, struct cfr_secret *list,
                     struct cfr_err *err)
{
    struct command x;
    int rc = make_command(c, config, CFR_LAUNCHER_NUMBER, &x, err);

    if (rc == 0)
        rc = cfr_launcher_list_add(list, x.argv, x.environment, err);
    free_command(&x);
    return rc;
}

static void end_slow(struct cfr_hook_run *run, struct cfr_now now)
{
    cfr_process_kill_group(run->pid, run->terminated ? SIGKILL : SIGTERM);
    run->deadline_ms = run->terminated ? INT64_MAX : now.boot_ms + KILL_AFTER_MS;
    run->terminated = true;
}

static void reap_exec(struct cfr_hook_run *run, struct cfr_now now)
{
    struct cfr_err err = {0};
    int rc;

    (void)now;
    /* What it started may have ignored SIGTERM. Until the leader is reaped, the number of the group stays taken. */
    if (run->terminated)
        cfr_process_kill_group(run->pid, SIGKILL);
    rc = cfr_process_reap(run->pid, &err);
    run->pid = 0;
    if (run->terminated)
        rc = cfr_err_set(&err, CFR_E_TIMEOUT, "took longer than its timeout of %" PRId64 " ms and was ended",
                         run->timeout_ms);
    run->ended(run->ctx, rc, &err, (struct cfr_view){NULL, 0});
}

static void cancel_exec(struct cfr_hook_run *run)
{
    cfr_process_end(run->pid);
    run->pid = 0;
}

/* The program that the first line of a script names must be there, too. */
static void inspect_interpreter(const char *program, const struct cfr_finding_sink *sink)
{
    struct cfr_err err = {0};
    char head[256] = {0};
    char *name;
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head - 1) : 0;

    if (fd >= 0)
        (void)close(fd);
    if (n < 3 || head[0] != '#' || head[1] != '!')
        return;
    name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\r\n")] = '\0';
    if (access(name, X_OK) != 0) {
        (void)cfr_err_sys(&err, errno, "%s is a script for %s, which cannot be run", program, name);
        cfr_finding_report(sink, CFR_FINDING_WRONG, "hook.program",
                           "install it, fix the first line, or use a program without an interpreter (an image from "
                           "scratch has no shell)",
                           "%s", err.text);
    }
}

static void inspect_exec(const void *config, const struct cfr_hook_inspection *i)
{
    const char *program = program_of(config);
    struct cfr_err err = {0};
    struct statvfs mount;
    struct stat st;

    if (stat(program, &st) != 0) {
        (void)cfr_err_sys(&err, errno, "%s cannot be run", program);
        cfr_finding_report(i->sink, CFR_FINDING_WRONG, "hook.program", "install it, or fix the path in `exec`", "%s",
                           err.text);
        return;
    }
    if (statvfs(program, &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
        cfr_finding_report(i->sink, CFR_FINDING_WRONG, "hook.program",
                           "mount it without noexec, or keep the program elsewhere",
                           "%s cannot be run: its file system is mounted noexec", program);
        return;
    }
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) != 0) {
        cfr_finding_report(i->sink, CFR_FINDING_WRONG, "hook.program",
                           "make it executable for credfresh's user (chmod +x)",
                           "uid %u cannot run %s (mode %04o, owner %u:%u)", (unsigned)geteuid(), program,
                           (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid, (unsigned)st.st_gid);
        return;
    }
    cfr_finding_report(i->sink, CFR_FINDING_OK, "hook.program", NULL, "%s can be run", program);
    inspect_interpreter(program, i->sink);
    if (strcmp(basename(program), "systemctl") == 0 && geteuid() != 0)
        cfr_finding_report(
            i->sink, CFR_FINDING_WARNING, "hook.privileges",
            "enable credfresh-reload@NAME.path, and touch /run/credfresh-reload/NAME",
            "uid %u may not manage units by systemctl; enable credfresh-reload@NAME.path, and let the hook be "
            "`exec: [/usr/bin/touch, /run/credfresh-reload/NAME]`",
            (unsigned)geteuid());
    if ((st.st_mode & (S_ISUID | S_ISGID)) != 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        cfr_finding_report(i->sink, CFR_FINDING_WARNING, "hook.privileges",
                           "let the service manager or the consumer do it, or run credfresh without no_new_privs "
                           "(NoNewPrivileges=, allowPrivilegeEscalation)",
                           "%s is setuid or setgid, which has no effect here: no_new_privs is set", program);
}

const struct cfr_hook_ops cfr_hook_exec = {
    .kind = {.variant = {.key = "exec", .table = &table, .flat = true}, .runs_program = true},
    .describe = describe_exec,
    .start = start_exec,
    .on_child = reap_exec,
    .on_deadline = end_slow,
    .cancel = cancel_exec,
    .list = list_exec,
    .inspect = inspect_exec,
};
