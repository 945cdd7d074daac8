/* SPDX-License-Identifier: MIT */
/* Checks of the directories of the agent's sockets: owner and mode. */
#include "agent/doctor/doctor_private.h"

#include "files/path.h"
#include "files/state.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Root may start an agent that runs as another user, whom the state directory belongs to. */
static uid_t find_agent_user(const struct cfr_doctor *d)
{
    struct stat st;

    if (d->agent_pid > 0)
        return d->agent_uid;
    return geteuid() == 0 && stat(d->config->state_dir, &st) == 0 ? st.st_uid : geteuid();
}

static void check_socket(struct cfr_doctor *d, const char *key, const char *path)
{
    char directory[PATH_MAX];
    struct cfr_err err = {0};
    const char *name = NULL;
    struct stat st;
    int fd = cfr_path_open_parent(path, false, &name, &err);
    int rc = fd;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        int n = (int)(name - path) - 1;

        (void)snprintf(directory, sizeof directory, "%.*s", n > 0 ? n : 1, path);
        rc = cfr_state_check_shared(&st, cfr_state_is_mounted(fd, &st), find_agent_user(d), directory, &err);
    }
    if (fd >= 0)
        (void)close(fd);
    /* A directory that is missing can still be made, and one that is closed to this user need not be to the agent's. */
    if (rc == CFR_E_PATH || (fd >= 0 && rc == CFR_E_PERM))
        cfr_doctor_report(d, CFR_FINDING_WRONG, "machine.socket", NULL, "%s: %s", key, err.text);
    else if (rc >= 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "machine.socket", NULL, "%s: no other user can replace %s", key, path);
}

void cfr_doctor_sockets(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const char *control = d->config->control_socket;
    size_t n = strlen(d->config->state_dir);

    (void)c;
    cfr_doctor_at(d, NULL, d->config->node.line);
    /* The state directory has a check of its own. */
    if (strncmp(control, d->config->state_dir, n) != 0 || control[n] != '/' || strchr(control + n + 1, '/') != NULL)
        check_socket(d, "control_socket", control);
    if (d->config->token_socket != NULL)
        check_socket(d, "token_socket", d->config->token_socket);
}
