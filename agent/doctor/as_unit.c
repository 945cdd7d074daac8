/* SPDX-License-Identifier: MIT */
/* Runs the same command again as the systemd unit that has the configuration: as its user, in its sandbox. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/unit.h"
#include "files/file.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSTEMCTL     "/usr/bin/systemctl"
#define SYSTEMD_RUN   "/usr/bin/systemd-run"
#define DIRECTORY     "/etc/credfresh/"
#define SUFFIX        ".yaml"
#define SHOWN_MAX     65536
#define ARGS_MAX      128
#define EXEC_FAILED   200 /* the first exit status that is systemd's own (systemd.exec(5)) */
#define UNIT_NAME_MAX 128

/* Of the unit, what decides who it is and which files it can use. The user and its directories come with it. */
#define PROPERTIES                                                                                                     \
    "LoadState,User,Group,SupplementaryGroups,Environment,AmbientCapabilities,"                                        \
    "CapabilityBoundingSet,NoNewPrivileges,ProtectSystem,ProtectHome,ProtectProc,ProcSubset,PrivateTmp,"               \
    "PrivateDevices,PrivateNetwork,ReadWritePaths,ReadOnlyPaths,InaccessiblePaths,TemporaryFileSystem,"                \
    "RuntimeDirectory,RuntimeDirectoryMode,RuntimeDirectoryPreserve,StateDirectory,StateDirectoryMode"

/* The packages' unit that reads the configuration PATH: /etc/credfresh/NAME.yaml. False if there is none. */
static bool find_unit(const char *path, char unit[UNIT_NAME_MAX])
{
    char real[PATH_MAX];
    char *name = real + sizeof DIRECTORY - 1;
    char *end;

    if (path == NULL || access("/run/systemd/system", F_OK) != 0 || realpath(path, real) == NULL ||
        strncmp(real, DIRECTORY, sizeof DIRECTORY - 1) != 0)
        return false;
    end = strrchr(name, '.');
    if (end == NULL || strcmp(end, SUFFIX) != 0)
        return false;
    *end = '\0';
    if (!cfr_cli_is_plain_name(name))
        return false;
    if (strcmp(name, "credfresh") == 0)
        (void)snprintf(unit, UNIT_NAME_MAX, "credfresh.service");
    else
        (void)snprintf(unit, UNIT_NAME_MAX, "credfresh@%.64s.service", name);
    return true;
}

/* Whether the configuration PATH names files that systemd gives to UNIT alone (LoadCredential=): no other unit sees
 * them. */
static bool has_own_files(const char *path, const char *unit)
{
    char directory[UNIT_NAME_MAX + 32];
    struct cfr_secret text;
    struct cfr_err err = {0};
    bool found;

    (void)snprintf(directory, sizeof directory, "/run/credentials/%s/", unit);
    cfr_secret_init(&text, CFR_CONFIG_FILE_MAX);
    found = cfr_file_read(path, &text, &err) == 0 &&
            memmem(cfr_secret_view(&text).p, cfr_secret_view(&text).n, directory, strlen(directory)) != NULL;
    cfr_secret_free(&text);
    return found;
}

/* Runs ARGV and returns its exit status, -1 if it has none. OUT takes what it prints, unless it is NULL. */
static int run_program(char *const *argv, struct cfr_str *out)
{
    posix_spawn_file_actions_t actions;
    char buffer[4096];
    int ends[2] = {-1, -1};
    int status = 0;
    ssize_t n;
    pid_t pid = -1;
    bool started;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    started =
        out == NULL || (pipe(ends) == 0 && posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0 &&
                        posix_spawn_file_actions_addclose(&actions, ends[0]) == 0 &&
                        posix_spawn_file_actions_addclose(&actions, ends[1]) == 0);
    started = started && posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    if (ends[1] >= 0)
        (void)close(ends[1]);
    while (started && out != NULL && (n = read(ends[0], buffer, sizeof buffer)) > 0)
        cfr_str_add(out, (struct cfr_view){buffer, (size_t)n});
    if (ends[0] >= 0)
        (void)close(ends[0]);
    return started && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The command line of systemd-run. */
struct command {
    char *argv[ARGS_MAX];
    size_t count;
    bool loaded; /* the unit exists */
};

static void add(struct command *c, const char *word)
{
    if (c->count < ARGS_MAX - 1)
        c->argv[c->count++] = (char *)(uintptr_t)word;
}

/* Adds the properties in SHOWN, the lines that systemctl prints, which are cut into texts. */
static void add_properties(struct command *c, char *shown)
{
    char *rest = NULL;

    for (char *line = strtok_r(shown, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *value = strchr(line, '=');

        if (value == NULL || value[1] == '\0')
            continue;
        if (strncmp(line, "LoadState=", strlen("LoadState=")) == 0) {
            c->loaded = strcmp(value + 1, "loaded") == 0;
        } else {
            add(c, "-p");
            add(c, line);
        }
    }
}

bool cfr_doctor_as_unit(const struct cfr_cli_options *o, const char *config, int *status)
{
    static const char *const kept[] = {"--setenv=NO_COLOR", "--setenv=CREDFRESH_CONFIG", "--setenv=CREDFRESH_SOCKET"};
    struct cfr_str shown = {.limit = SHOWN_MAX};
    struct command c = {.count = 0};
    char unit[UNIT_NAME_MAX];
    char program[PATH_MAX] = "";
    char directory[PATH_MAX + 32] = "WorkingDirectory=-";
    char *const show[] = {(char *)(uintptr_t)SYSTEMCTL,
                          (char *)(uintptr_t) "show",
                          (char *)(uintptr_t) "-p",
                          (char *)(uintptr_t)PROPERTIES,
                          unit,
                          NULL};
    int ended;

    /* Files of the command line may be pipes, or for root only. */
    if (geteuid() != 0 || cfr_unit_name() != NULL || o->trust_policy != NULL || o->federated_credential != NULL ||
        o->pool_provider != NULL || !find_unit(config, unit) || has_own_files(config, unit) ||
        access("/run/dbus/system_bus_socket", F_OK) != 0 ||
        readlink("/proc/self/exe", program, sizeof program - 1) <= 0 ||
        getcwd(directory + strlen(directory), PATH_MAX) == NULL)
        return false;
    /* 1. Who the unit is, and what it can use. */
    add(&c, SYSTEMD_RUN);
    add(&c, "--quiet");
    add(&c, "--pipe");
    add(&c, "--wait");
    add(&c, "--collect");
    if (run_program(show, &shown) == 0 && shown.p != NULL)
        add_properties(&c, shown.p);
    add(&c, "-p");
    add(&c, directory);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (getenv(kept[i] + strlen("--setenv=")) != NULL)
            add(&c, kept[i]);
    }
    /* 2. The command, as it was given. */
    add(&c, "--");
    add(&c, program);
    for (char **word = o->argv; *word != NULL; word++)
        add(&c, *word);
    if (!c.loaded || c.count == ARGS_MAX - 1) {
        cfr_str_free(&shown);
        return false;
    }
    /* 3. What it prints is the result. */
    ended = run_program(c.argv, NULL);
    cfr_str_free(&shown);
    if (ended < 0)
        return false;
    if (ended >= EXEC_FAILED)
        cfr_cli_complain("systemd cannot start a process with the sandbox of %s (status %d): is each directory of "
                         "ReadWritePaths= there? `systemctl cat %s`",
                         unit, ended, unit);
    *status = ended >= EXEC_FAILED ? CFR_EXIT_FAILED : ended;
    return true;
}

void cfr_doctor_add_judge(const struct cfr_doctor *d, struct cfr_str *out)
{
    char unit[UNIT_NAME_MAX];

    if (cfr_unit_name() != NULL)
        cfr_str_addf(out, ", checked as %s", cfr_unit_name());
    else if (geteuid() == 0 && find_unit(d->config_path, unit))
        cfr_str_addf(out, ", checked as root: %s may have fewer rights", unit);
}
