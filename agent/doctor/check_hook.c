/* SPDX-License-Identifier: MIT */
/* Whom a credential tells: programs that must be there, processes that must live, servers that must listen,
 * and the files in which consumers acknowledge. */
#include "agent/doctor/doctor.h"

#include "agent/http/client.h"
#include "agent/http/probe.h"
#include "agent/loop/process.h"
#include "files/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CONNECT_MAX_MS 3000

/* A script is run by what its first line names. */
static void tell_interpreter(struct cfr_doctor *d, const char *program)
{
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
    if (access(name, X_OK) != 0)
        cfr_doctor_say(d, CFR_FINDING_WRONG, "hook.program",
                       "install it, mend the first line, or give a program without an interpreter (an image "
                       "from scratch has no "
                       "shell)",
                       "%s is a script for %s, which cannot be run: %s", program, name, strerror(errno));
}

static bool is_noexec(const char *program)
{
    struct statvfs v;

    return statvfs(program, &v) == 0 && (v.f_flag & ST_NOEXEC) != 0;
}

static void tell_program(struct cfr_doctor *d, const char *program)
{
    struct stat st;

    if (stat(program, &st) != 0) {
        cfr_doctor_say(d, CFR_FINDING_WRONG, "hook.program", "install it, or mend the path in `exec`",
                       "%s cannot be run: %s", program, strerror(errno));
        return;
    }
    if (is_noexec(program)) {
        cfr_doctor_say(d, CFR_FINDING_WRONG, "hook.program", "mount it without noexec, or keep the program elsewhere",
                       "%s cannot be run: its file system is mounted noexec", program);
        return;
    }
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) != 0) {
        cfr_doctor_say(d, CFR_FINDING_WRONG, "hook.program", "make it executable for credfresh's user (chmod +x)",
                       "uid %u cannot run %s (mode %04o, owner %u:%u)", (unsigned)geteuid(), program,
                       (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid, (unsigned)st.st_gid);
        return;
    }
    cfr_doctor_say(d, CFR_FINDING_OK, "hook.program", NULL, "%s can be run", program);
    tell_interpreter(d, program);
    if ((st.st_mode & (S_ISUID | S_ISGID)) != 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        cfr_doctor_say(d, CFR_FINDING_WARNING, "hook.privileges",
                       "let the service manager or the consumer do it, or run credfresh without no_new_privs "
                       "(NoNewPrivileges=, allowPrivilegeEscalation)",
                       "%s is setuid or setgid, which has no effect here: no_new_privs is set", program);
}

/* Signal 0 is none: it only asks whether there is somebody, and whether we might. */
static void tell_signal(struct cfr_doctor *d, const struct cfr_config_signal *s)
{
    struct cfr_err err = {0};
    const char *name = s->pid_file != NULL ? s->pid_file : s->executable;
    const char *check = s->pid_file != NULL ? "hook.pid-file" : "hook.signal";
    int rc = s->pid_file != NULL ? cfr_process_signal_file(s->pid_file, 0, &err)
                                 : cfr_process_signal_executable(s->executable, 0, &err);

    if (rc == 0)
        cfr_doctor_say(d, CFR_FINDING_OK, check, NULL, "%s names a process that runs and can be signalled", name);
    else if (rc == CFR_E_MISSING)
        cfr_doctor_say(d, CFR_FINDING_WARNING, check,
                       s->pid_file != NULL ? "start the consumer, or mend the path"
                                           : "start the consumer, or mend the name",
                       "%s", err.text);
    else
        cfr_doctor_say(d, CFR_FINDING_WRONG, check,
                       rc == CFR_E_CONFLICT ? "a pid file is written anew at each start: does the consumer?" : NULL,
                       "%s", err.text);
}

static void tell_http(struct cfr_doctor *d, const struct cfr_config_http *h)
{
    int64_t left_ms = cfr_doctor_left_ms(d);
    struct cfr_http_look_request request = {
        .url = h->url,
        .ca_file = h->ca_file,
        .connect_only = true,
        .timeout_ms = left_ms < CONNECT_MAX_MS ? left_ms : CONNECT_MAX_MS,
    };
    struct cfr_http_look seen;
    struct cfr_http *http = NULL;

    if (d->options->offline || left_ms == 0 || cfr_http_open(&http, NULL) != 0)
        return;
    cfr_http_look(&request, &seen);
    cfr_http_close(http);
    if (seen.error == 0)
        cfr_doctor_say(d, CFR_FINDING_OK, "hook.http", NULL, "somebody listens for the request to %s", seen.address);
    else
        cfr_doctor_say(d, CFR_FINDING_WARNING, "hook.http", "start the consumer, or mend the URL", "the request to %s",
                       seen.err.text);
}

static void tell_acknowledge(struct cfr_doctor *d, const char *path)
{
    struct cfr_err err = {0};
    const char *name;
    int fd = cfr_path_open_parent(path, false, &name, &err);

    if (fd >= 0)
        (void)close(fd);
    else
        cfr_doctor_say(d, fd == CFR_E_MISSING ? CFR_FINDING_WARNING : CFR_FINDING_WRONG, "hook.acknowledge", NULL, "%s",
                       err.text);
}

void cfr_doctor_hooks(struct cfr_doctor *d, const struct cfr_config_credential *c)
{
    for (size_t i = 0; i < c->reload.count; i++) {
        const struct cfr_config_hook *h = (const struct cfr_config_hook *)c->reload.items + i;

        cfr_doctor_at(d, c->name, h->node.line);
        if (h->exec.count != 0)
            tell_program(d, h->exec.items[0]);
        if (h->signal != NULL)
            tell_signal(d, h->signal);
        if (h->http != NULL)
            tell_http(d, h->http);
    }
    for (size_t i = 0; i < c->acknowledge.count; i++) {
        const struct cfr_config_acknowledge *a = (const struct cfr_config_acknowledge *)c->acknowledge.items + i;

        cfr_doctor_at(d, c->name, a->node.line);
        if (a->file != NULL)
            tell_acknowledge(d, a->file);
    }
}
