/* SPDX-License-Identifier: MIT */
/* Hook kind `rollout`: restarts a workload of the cluster, and waits until its pods are replaced. */
#include "agent/hook/hook_private.h"

#include "agent/kube/client.h"
#include "kube/rollout.h"
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 1000

struct config {
    struct cfr_node node;
    int kind;             /* index into cfr_k8s_workloads */
    char *namespace_name; /* NULL: the kubeconfig's or the pod's */
    char *name;
    bool wait;
    char *kubeconfig;
    char *context;
};

/* A run. */
struct work {
    struct cfr_hook_run *run;
    struct cfr_kube_call *call;
    struct cfr_secret body;
    char namespace_name[254];
    bool patching;
    int64_t ends_boot_ms;
    char text[160]; /* how far it is */
};

static int check_keys(const void *node, struct cfr_err *err)
{
    const struct config *c = node;

    if (c->context != NULL && c->kubeconfig == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "context: has no effect without `kubeconfig`; add it");
    return 0;
}

#define AT(member) offsetof(struct config, member)
static const struct cfr_field fields[] = {
    {FIELD(kind, ENUM), .flags = CFR_FIELD_REQUIRED, .choices = cfr_k8s_workloads,
     .doc = CFR_DOC("Kind of the workload: Deployment, StatefulSet or DaemonSet, of apps/v1.")},
    {.key = "namespace",
     .type = CFR_FIELD_STRING,
     .offset = AT(namespace_name),
     .min = 1,
     .max = 63,
     .doc = CFR_DOC("Its namespace. Default: that of the kubeconfig's context, or of the pod that credfresh runs in.")},
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 253, .doc = CFR_DOC("Its name.")},
    {FIELD(wait, BOOL), .fallback = "false",
     .doc = CFR_DOC("Succeed only when all pods are replaced and available. The hook fails after "
                    "`timeout`; its retries only wait, because a workload is restarted once for a "
                    "generation. Not with updateStrategy OnDelete.")},
    {FIELD(kubeconfig, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_KUBECONFIG,
     .doc = CFR_DOC("Kubeconfig for the API server. Default: the pod that credfresh runs in.")},
    {FIELD(context, STRING), .min = 1, .max = 253,
     .doc = CFR_DOC("Context of `kubeconfig`. Default: its current one.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "rollout",
    .size = sizeof(struct config),
    .fields = fields,
    .check = check_keys,
    .doc = CFR_DOC("A workload of the cluster to restart, as by `kubectl rollout restart`. Requires the "
                   "verbs get and patch on it, which resourceNames may limit."),
};

static void describe_rollout(const void *config, char text[CFR_HOOK_NAME_MAX])
{
    const struct config *c = config;

    (void)snprintf(text, CFR_HOOK_NAME_MAX, "rollout %s %.63s%s%.253s", cfr_k8s_workloads[c->kind],
                   c->namespace_name != NULL ? c->namespace_name : "", c->namespace_name != NULL ? "/" : "", c->name);
}

static void free_work(struct cfr_hook_run *run)
{
    struct work *w = run->request;

    if (w == NULL)
        return;
    cfr_kube_cancel(w->call);
    cfr_secret_free(&w->body);
    free(w);
    run->request = NULL;
}

static void end_run(struct cfr_hook_run *run, int rc, const struct cfr_err *err)
{
    free_work(run);
    run->ended(run->ctx, rc, err, (struct cfr_view){NULL, 0});
}

static struct cfr_k8s_restart restart_of(const struct work *w)
{
    const struct config *c = w->run->config;

    return (struct cfr_k8s_restart){.kind = c->kind,
                                    .namespace_name = w->namespace_name,
                                    .name = c->name,
                                    .credential = w->run->credential->name,
                                    .generation = w->run->number != 0 ? w->run->number : w->run->generation,
                                    .issued_ms = w->run->issued_ms,
                                    .shared = w->run->number != 0};
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer);

/* Reads the workload, or patches it. */
static int send(struct work *w, bool patch, struct cfr_err *err)
{
    const struct config *c = w->run->config;
    struct cfr_kube_where where = {c->kubeconfig, c->context};
    struct cfr_k8s_restart restart = restart_of(w);
    char path[CFR_K8S_ROLLOUT_PATH_MAX];
    struct cfr_kube_request request = {
        .method = patch ? "PATCH" : "GET", .path = path, .answer_max = CFR_K8S_ROLLOUT_MAX};
    int rc = 0;

    w->patching = patch;
    if (!cfr_k8s_rollout_path(&restart, patch, path))
        return cfr_err_set(err, CFR_E_CONFIG, "the namespace or the name cannot be one of Kubernetes");
    if (patch) {
        cfr_secret_free(&w->body);
        cfr_secret_init(&w->body, CFR_K8S_ROLLOUT_BODY_MAX);
        rc = cfr_k8s_rollout_body(&restart, cfr_clock_now().wall_ms / 1000, &w->body, err);
        request.content_type = CFR_K8S_ROLLOUT_TYPE;
        request.body = &w->body;
    }
    return rc != 0 ? rc : cfr_kube_start(w->run->kube, &where, &request, on_answer, w, &w->call, err);
}

static int read_workload(struct work *w, const struct cfr_kube_answer *answer, struct cfr_k8s_rollout *out,
                         struct cfr_err *err)
{
    const struct config *c = w->run->config;
    struct cfr_k8s_restart restart = restart_of(w);
    struct cfr_k8s_asked asked = {
        .what = cfr_k8s_workloads[c->kind],
        .verb = w->patching ? "patch" : "get",
        .resource = cfr_k8s_workload_resource(c->kind),
        .name = c->name,
        .namespace_name = w->namespace_name,
        .secrets = answer->secrets,
        .secret_count = answer->secret_count,
    };
    int64_t retry_after_s = -1;
    int rc = answer->error;

    *err = answer->err;
    if (rc == 0 && answer->status != 200)
        rc = cfr_k8s_refusal(answer->status, answer->body, &asked, &retry_after_s, err);
    if (rc == 0)
        rc = cfr_k8s_rollout_read(&restart, answer->body, out, err);
    if (rc == 0 && out->paused && !out->restarted)
        rc = cfr_err_set(err, CFR_E_REJECTED, "it is paused; resume it (kubectl rollout resume)");
    if (rc == 0 && out->on_delete && c->wait)
        rc =
            cfr_err_set(err, CFR_E_REJECTED,
                        "its pods are replaced only when they are deleted (updateStrategy OnDelete); leave out `wait`, "
                        "or set the type RollingUpdate");
    return rc;
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct work *w = ctx;
    const struct config *c = w->run->config;
    struct cfr_k8s_rollout state;
    struct cfr_err err = {0};
    int rc;

    w->call = NULL;
    rc = read_workload(w, answer, &state, &err);
    if (rc == 0 && !state.restarted) {
        rc = w->patching ? cfr_err_set(&err, CFR_E_ANSWER, "the API server did not keep the annotation")
                         : send(w, true, &err);
        if (rc == 0)
            return;
    }
    if (rc != 0 || !c->wait || state.complete) {
        end_run(w->run, rc, &err);
        return;
    }
    (void)snprintf(w->text, sizeof w->text, "%s", state.text);
}

static int start_rollout(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err)
{
    const struct config *c = run->config;
    struct cfr_kube_where where = {c->kubeconfig, c->context};
    struct work *w = calloc(1, sizeof *w);
    const char *space = c->namespace_name;
    int rc = 0;

    if (w == NULL)
        return cfr_err_nomem(err);
    run->request = w;
    w->run = run;
    w->ends_boot_ms = now.boot_ms + run->timeout_ms;
    run->deadline_ms = now.boot_ms + POLL_MS;
    if (space == NULL)
        rc = cfr_kube_find_namespace(run->kube, &where, "rollout", &space, err);
    if (rc == 0)
        (void)snprintf(w->namespace_name, sizeof w->namespace_name, "%s", space);
    if (rc == 0)
        rc = send(w, false, err);
    if (rc != 0)
        free_work(run);
    return rc != 0 ? rc : CFR_HOOK_STARTED;
}

static void on_deadline(struct cfr_hook_run *run, struct cfr_now now)
{
    struct work *w = run->request;
    struct cfr_err err = {0};
    int rc = 0;

    run->deadline_ms = now.boot_ms + POLL_MS;
    if (now.boot_ms >= w->ends_boot_ms)
        rc = cfr_err_set(&err, CFR_E_TIMEOUT, "%s", w->text[0] != '\0' ? w->text : "no answer in time");
    else if (w->call == NULL)
        rc = send(w, false, &err);
    if (rc != 0)
        end_run(run, rc, &err);
}

static void inspect_rollout(const void *config, const struct cfr_hook_inspection *i)
{
    const struct config *c = config;
    struct cfr_err err = {0};

    if (cfr_kube_check(&(struct cfr_kube_where){c->kubeconfig, c->context}, &err) == 0)
        cfr_finding_report(i->sink, CFR_FINDING_OK, "hook.rollout", NULL,
                           "the API server can be asked to restart %s %s", cfr_k8s_workloads[c->kind], c->name);
    else
        cfr_finding_report(i->sink, CFR_FINDING_WRONG, "hook.rollout", NULL, "%s", err.text);
}

const struct cfr_hook_ops cfr_hook_rollout = {
    .kind = {.variant = {.key = "rollout", .table = &table, .doc = CFR_DOC("Restart a workload of the cluster.")},
             .names_annotation = true},
    .describe = describe_rollout,
    .start = start_rollout,
    .on_deadline = on_deadline,
    .cancel = free_work,
    .inspect = inspect_rollout,
};
