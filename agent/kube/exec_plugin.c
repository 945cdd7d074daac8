/* SPDX-License-Identifier: MIT */
/* Finding, running and reading a kubeconfig's exec plugin. */
#include "agent/kube/exec_plugin_private.h"

#include "agent/loop/launcher.h"
#include "agent/loop/process.h"
#include "base/base64.h"
#include "base/str.h"
#include "base/writer.h"
#include "files/route.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT_MAX 1048576
#define READ_BYTES 65536
#define EARLY_S    10
#define INFO_NAME  "KUBERNETES_EXEC_INFO="
#define INFO_MAX   2097152

bool cfr_kube_exec_plugin_fresh(const struct cfr_kube_exec_plugin *l, struct cfr_now now)
{
    int64_t expires_s = l->credential.expires_s;

    return l->usable && (expires_s == 0 || now.wall_ms / 1000 < expires_s - EARLY_S);
}

/* ---- finding the program ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Where a file system may not answer, only the process that becomes the program may wait for it. */
static bool may_be_program(const char *path)
{
    struct cfr_route route;

    cfr_route_find(path, true, false, &route);
    return route.storage == CFR_ROUTE_REMOTE || is_program(path);
}

static int report_not_found(const struct cfr_kube_plugin *p, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_MISSING, "the exec plugin %s is not %s%s%s", p->command,
                       strchr(p->command, '/') != NULL ? "there, or is not executable" : "in any folder of PATH",
                       p->install_hint != NULL ? ": " : "; install it", p->install_hint != NULL ? p->install_hint : "");
}

int cfr_kube_exec_plugin_find(const struct cfr_kube_plugin *p, char **out, struct cfr_err *err)
{
    const char *path = getenv("PATH");

    *out = NULL;
    if (strchr(p->command, '/') != NULL) {
        if (!may_be_program(p->command))
            return report_not_found(p, err);
        *out = cfr_str_dup(cfr_view_of(p->command));
        return *out != NULL ? 0 : cfr_err_nomem(err);
    }
    if (path == NULL)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    while (*path != '\0') {
        struct cfr_str s = {.limit = 65536};
        size_t n = strcspn(path, ":");

        /* Relative entries depend on the working directory and are skipped. */
        if (path[0] == '/') {
            cfr_str_addf(&s, "%.*s/%s", (int)(n < 4096 ? n : 4096), path, p->command);
            if (s.failed)
                return cfr_err_nomem(err);
            if (is_program(s.p)) {
                *out = s.p;
                return 0;
            }
            cfr_str_free(&s);
        }
        path += n + (path[n] == ':' ? 1 : 0);
    }
    return report_not_found(p, err);
}

/* ---- its input ---- */

static int write_cluster(const struct cfr_kube_config *c, struct cfr_view ca, struct cfr_secret *out,
                         struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};
    struct cfr_secret data;

    cfr_secret_init(&data, INFO_MAX);
    w.rc = cfr_base64_encode(ca, &data, err);
    cfr_writer_object(&w, NULL);
    cfr_writer_optional(&w, "server", cfr_view_of(c->server));
    cfr_writer_optional(&w, "tls-server-name", cfr_view_of(c->server_name));
    cfr_writer_optional(&w, "certificate-authority-data", cfr_secret_view(&data));
    cfr_writer_optional(&w, "proxy-url", cfr_secret_view(&c->proxy));
    if (c->plugin->cluster_config != NULL)
        cfr_writer_raw(&w, "config", cfr_view_of(c->plugin->cluster_config));
    cfr_writer_close(&w);
    cfr_secret_free(&data);
    return w.rc;
}

static int make_info(const struct cfr_kube_config *c, struct cfr_view ca, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_secret cluster;
    int rc;

    cfr_secret_init(&cluster, INFO_MAX);
    cfr_secret_init(out, (size_t)INFO_MAX * 2);
    rc = cfr_secret_append_str(out, INFO_NAME, err);
    if (rc == 0 && c->plugin->cluster_info)
        rc = write_cluster(c, ca, &cluster, err);
    if (rc == 0)
        rc = cfr_k8s_exec_credential_info(c->plugin->api_version, cfr_secret_view(&cluster), out, err);
    cfr_secret_free(&cluster);
    return rc;
}

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static bool is_overridden(const struct cfr_kube_plugin *p, const char *variable)
{
    for (size_t i = 0; i < p->env_count; i++) {
        if (same_name(variable, p->env[i].p))
            return true;
    }
    return same_name(variable, INFO_NAME);
}

/* Our environment with the plugin's variables added or replaced. The strings are borrowed. */
static char **make_environment(const struct cfr_kube_plugin *p, char *info)
{
    size_t count = 0;
    size_t n = 0;
    char **all;

    while (environ[count] != NULL)
        count++;
    all = calloc(count + p->env_count + 2, sizeof *all);
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_overridden(p, environ[i]))
            all[n++] = environ[i];
    }
    for (size_t i = 0; i < p->env_count; i++) {
        bool last = true;

        for (size_t j = i + 1; j < p->env_count; j++)
            last = last && !same_name(p->env[i].p, p->env[j].p);
        if (last)
            all[n++] = p->env[i].p;
    }
    all[n] = info;
    return all;
}

/* ---- its run ---- */

static void end_run(struct cfr_kube_exec_plugin *l)
{
    if (l->out_fd >= 0)
        (void)close(l->out_fd);
    free(l->command);
    free(l->api_version);
    l->pid = 0;
    l->out_fd = -1;
    l->command = NULL;
    l->api_version = NULL;
}

/* What a plugin is started with. */
struct command {
    char **argv; /* argv[0] is PROGRAM */
    char **environment;
    char *program;
    struct cfr_secret info;
};

static void free_command(struct command *x)
{
    free(x->argv);
    free(x->environment);
    free(x->program);
    cfr_secret_free(&x->info);
}

/* The caller frees *X with free_command also after an error. */
static int make_command(const struct cfr_kube_config *config, struct cfr_view ca, struct command *x,
                        struct cfr_err *err)
{
    const struct cfr_kube_plugin *p = config->plugin;
    int rc;

    *x = (struct command){.argv = NULL};
    rc = cfr_kube_exec_plugin_find(p, &x->program, err);
    if (rc == 0)
        rc = make_info(config, ca, &x->info, err);
    if (rc != 0)
        return rc;
    x->environment = make_environment(p, x->info.p);
    x->argv = calloc(p->arg_count + 2, sizeof *x->argv);
    if (x->environment == NULL || x->argv == NULL)
        return cfr_err_nomem(err);
    x->argv[0] = x->program;
    for (size_t i = 0; i < p->arg_count; i++)
        x->argv[i + 1] = p->args[i];
    return 0;
}

int cfr_kube_exec_plugin_list(const struct cfr_kube_config *config, struct cfr_view ca, struct cfr_secret *list,
                              struct cfr_err *err)
{
    struct command x;
    int rc = make_command(config, ca, &x, err);

    if (rc == 0)
        rc = cfr_launcher_list_add(list, x.argv, x.environment, err);
    free_command(&x);
    return rc;
}

int cfr_kube_exec_plugin_start(struct cfr_kube_exec_plugin *l, const struct cfr_kube_config *config, struct cfr_view ca,
                               struct cfr_err *err)
{
    struct command x;
    int rc = make_command(config, ca, &x, err);

    l->api_version = cfr_str_dup(cfr_view_of(config->plugin->api_version));
    if (rc == 0 && l->api_version == NULL)
        rc = cfr_err_nomem(err);
    if (rc == 0)
        rc = cfr_process_start_piped(x.argv, x.environment, OUTPUT_MAX, &l->pid, &l->out_fd, err);
    l->command = x.program;
    x.program = NULL;
    free_command(&x);
    if (rc != 0) {
        end_run(l);
        return rc;
    }
    l->run++;
    l->outdated = false;
    return 0;
}

/* Reads the pipe's content, without waiting for a child of the plugin that still holds it. */
static int read_output(struct cfr_kube_exec_plugin *l, struct cfr_secret *out, struct cfr_err *err)
{
    for (;;) {
        char *to = cfr_secret_reserve(out, READ_BYTES, err);
        ssize_t n;

        if (to == NULL)
            return err->code;
        n = read(l->out_fd, to, READ_BYTES);
        if (n > 0)
            cfr_secret_grown(out, (size_t)n);
        else if (n == 0 || errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return cfr_err_sys(err, errno, "cannot read its output");
    }
}

static int read_credential(struct cfr_kube_exec_plugin *l, struct cfr_err *err)
{
    struct cfr_k8s_exec_credential fresh = {.expires_s = 0};
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, OUTPUT_MAX + 2 * READ_BYTES);
    rc = read_output(l, &text, err);
    if (rc == 0)
        rc = cfr_k8s_exec_credential_read(l->api_version, cfr_secret_view(&text), &fresh, err);
    cfr_secret_free(&text);
    if (rc != 0) {
        cfr_k8s_exec_credential_free(&fresh);
        return cfr_err_prefix(err, "%s", l->command);
    }
    cfr_k8s_exec_credential_free(&l->credential);
    l->credential = fresh;
    l->number++;
    l->usable = !l->outdated;
    return 0;
}

int cfr_kube_exec_plugin_ended(struct cfr_kube_exec_plugin *l, struct cfr_err *err)
{
    struct cfr_err how = {0};
    int rc = cfr_process_reap(l->pid, &how);

    if (rc != 0)
        rc = cfr_err_set(err, rc, "the exec plugin %s %s; its messages are on credfresh's standard error", l->command,
                         how.text);
    else
        rc = read_credential(l, err);
    end_run(l);
    return rc;
}

int cfr_kube_exec_plugin_overdue(struct cfr_kube_exec_plugin *l, struct cfr_err *err)
{
    int waiting = 0;
    int room = fcntl(l->out_fd, F_GETPIPE_SZ);
    int rc;

    (void)ioctl(l->out_fd, FIONREAD, &waiting);
    cfr_process_end(l->pid);
    if (waiting != 0 && waiting >= room - 4096)
        rc = cfr_err_set(err, CFR_E_LIMIT, "the exec plugin %s printed more than %d bytes and was ended", l->command,
                         waiting);
    else
        rc = cfr_err_set(err, CFR_E_TIMEOUT, "the exec plugin %s took longer than its time limit and was ended",
                         l->command);
    end_run(l);
    return rc;
}

void cfr_kube_exec_plugin_free(struct cfr_kube_exec_plugin *l)
{
    if (l->pid != 0)
        cfr_process_end(l->pid);
    end_run(l);
    cfr_k8s_exec_credential_free(&l->credential);
    *l = CFR_KUBE_EXEC_PLUGIN_NONE;
}
