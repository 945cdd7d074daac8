/* SPDX-License-Identifier: MIT */
/* Checks of owner and mode where the agent keeps its own files: sockets, records, the service CA's store. */
#include "agent/doctor/doctor_private.h"

#include "files/file.h"
#include "files/path.h"
#include "files/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ENTRIES_MAX 4096
#define SUFFIX      ".json"
#define ROTATION    "+mint" /* has a check of its own */

typedef int check_fn(const struct stat *st, bool mounted, uid_t owner, const char *directory, struct cfr_err *err);

/* Root may start an agent that runs as another user, whom the state directory belongs to. False: nothing says which. */
static bool find_agent_user(const struct cfr_doctor *d, uid_t *uid)
{
    struct stat st;

    *uid = d->agent_pid > 0 ? d->agent_uid : geteuid();
    if (d->agent_pid > 0 || *uid != 0)
        return true;
    if (stat(d->config->state_dir, &st) != 0)
        return false;
    *uid = st.st_uid;
    return true;
}

/* False if FN refuses the directory DIR_FD. */
static bool check_directory(struct cfr_doctor *d, const char *check, const char *what, int dir_fd,
                            const char *directory, check_fn *fn)
{
    struct cfr_err err = {0};
    struct stat st;
    uid_t user;
    bool known = find_agent_user(d, &user);

    if (fstat(dir_fd, &st) != 0)
        return true;
    if (fn(&st, cfr_state_is_mounted(dir_fd, &st), known ? user : st.st_uid, directory, &err) != 0) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, check, NULL, "%s: %s", what, err.text);
        return false;
    }
    if (!known && st.st_uid != 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, check, NULL,
                          "%s: %s belongs to uid %u: an agent that runs as root refuses it", what, directory,
                          (unsigned)st.st_uid);
    return true;
}

/* False if a document in DIRECTORY could be another user's. Consumes DIR_FD. */
static bool check_documents(struct cfr_doctor *d, const char *check, int dir_fd, const char *directory)
{
    DIR *entries = fdopendir(dir_fd);
    const struct dirent *entry;
    bool safe = true;

    if (entries == NULL) {
        (void)close(dir_fd);
        return true;
    }
    for (int i = 0; i < ENTRIES_MAX && (entry = readdir(entries)) != NULL; i++) {
        size_t n = strlen(entry->d_name);
        struct cfr_err err = {0};
        struct stat st;

        if (n <= sizeof SUFFIX - 1 || strcmp(entry->d_name + n - (sizeof SUFFIX - 1), SUFFIX) != 0 ||
            strstr(entry->d_name, ROTATION) != NULL || fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode) || cfr_file_check_own(dir_fd, &st, &err) == 0)
            continue;
        cfr_doctor_report(d, CFR_FINDING_WRONG, check, NULL, "%s/%s: %s", directory, entry->d_name, err.text);
        safe = false;
    }
    (void)closedir(entries);
    return safe;
}

static void check_socket(struct cfr_doctor *d, const char *key, const char *path)
{
    char directory[PATH_MAX];
    struct cfr_err err = {0};
    const char *name = NULL;
    int fd = cfr_path_open_parent(path, false, &name, &err);

    /* A directory that is missing can still be made, and one that is closed to this user need not be to the agent's. */
    if (fd == CFR_E_PATH)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "machine.socket", NULL, "%s: %s", key, err.text);
    if (fd < 0)
        return;
    (void)snprintf(directory, sizeof directory, "%.*s", name - path > 1 ? (int)(name - path) - 1 : 1, path);
    if (check_directory(d, "machine.socket", key, fd, directory, cfr_state_check_shared))
        cfr_doctor_report(d, CFR_FINDING_OK, "machine.socket", NULL, "%s: no other user can replace %s", key, path);
    (void)close(fd);
}

static void check_sockets(struct cfr_doctor *d)
{
    const char *control = d->config->control_socket;
    size_t n = strlen(d->config->state_dir);

    cfr_doctor_at(d, NULL, d->config->node.line);
    /* The state directory has a check of its own. */
    if (strncmp(control, d->config->state_dir, n) != 0 || control[n] != '/' || strchr(control + n + 1, '/') != NULL)
        check_socket(d, "control_socket", control);
    if (d->config->token_socket != NULL)
        check_socket(d, "token_socket", d->config->token_socket);
}

void cfr_doctor_places(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const char *store = d->config->service_ca != NULL ? d->config->service_ca->store : NULL;
    int fd = open(d->config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)c;
    check_sockets(d);
    if (fd >= 0)
        (void)check_documents(d, "machine.state-dir", fd, d->config->state_dir);
    fd = store != NULL ? open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    cfr_doctor_at(d, NULL, d->config->service_ca->node.line);
    d->ca_refused = !check_directory(d, "ca.store", "service_ca.store", fd, store, cfr_state_check);
    if (d->ca_refused)
        (void)close(fd);
    else
        d->ca_refused = !check_documents(d, "ca.store", fd, store);
}

/* ---- what names the commands ---- */

#define PATHS_MAX 64 /* kubeconfigs that are checked */

struct changeable {
    struct cfr_doctor *d;
    uid_t user;
    const char *seen[PATHS_MAX];
    size_t count;
};

/* By owner and mode: groups of the agent are not known here. On a read-only mount no user can write, and in a directory
 * with the sticky bit only its owner can replace a file. */
static bool may_change(const char *path, uid_t user)
{
    struct statvfs fs;
    struct stat st;

    return stat(path, &st) == 0 && (st.st_uid == user || (st.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH) &&
           statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY) == 0;
}

/* Code that takes over the agent could add a command there, which credfresh-start would then start. */
static void check_changeable(struct changeable *c, const char *what, const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *open_to = path;

    (void)snprintf(directory, sizeof directory, "%.*s",
                   slash == NULL   ? 1
                   : slash == path ? 1
                                   : (int)(slash - path),
                   slash == NULL ? "." : path);
    if (!may_change(path, c->user)) {
        open_to = directory;
        if (!may_change(directory, c->user))
            return;
    }
    cfr_doctor_report(
        c->d, CFR_FINDING_WARNING, "machine.config",
        "give it to root, with mode 0644 (a directory: 0755), or name another place that only root may change",
        "%s %s: the agent's user (uid %u) may change %s, so that code that takes over the agent could "
        "add commands to it",
        what, path, (unsigned)c->user, open_to);
}

static void check_kubeconfig(void *ctx, const struct cfr_field_text *kubeconfig)
{
    struct changeable *c = ctx;

    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->seen[i], kubeconfig->text) == 0)
            return;
    }
    if (c->count == PATHS_MAX)
        return;
    c->seen[c->count++] = kubeconfig->text;
    check_changeable(c, "the kubeconfig", kubeconfig->text);
}

void cfr_doctor_config_places(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct changeable all = {.d = d};

    (void)c;
    /* Root may change every file that its sandbox does not protect. */
    if (!find_agent_user(d, &all.user) || all.user == 0)
        return;
    if (d->config_path != NULL)
        check_changeable(&all, "the configuration", d->config_path);
    cfr_field_each(&cfr_config_table, d->config, CFR_FIELD_KUBECONFIG, check_kubeconfig, &all);
}
