/* SPDX-License-Identifier: MIT */
/* Patch that restarts a workload, and the state of its rollout. */
#include "kube/rollout.h"

#include "base/json.h"
#include "base/time.h"
#include "base/writer.h"
#include "kube/name_private.h"
#include "kube/secret_apply.h"

#include <inttypes.h>
#include <stdio.h>

#define MARK     "restarted-for.credfresh.io/"
#define MARK_MAX 48

enum { DEPLOYMENT, STATEFULSET, DAEMONSET };

const char *const cfr_k8s_workloads[] = {"Deployment", "StatefulSet", "DaemonSet", NULL};
static const char *const resources[] = {"deployments", "statefulsets", "daemonsets"};

const char *cfr_k8s_workload_resource(int kind)
{
    static const char *const names[] = {"deployments.apps", "statefulsets.apps", "daemonsets.apps"};

    return names[kind];
}

bool cfr_k8s_rollout_path(const struct cfr_k8s_restart *r, bool patch, char out[CFR_K8S_ROLLOUT_PATH_MAX])
{
    out[0] = '\0';
    if (!cfr_k8s_name_is_label(r->namespace_name) || !cfr_k8s_name_is_subdomain(r->name))
        return false;
    (void)snprintf(out, CFR_K8S_ROLLOUT_PATH_MAX, "/apis/apps/v1/namespaces/%s/%s/%s%s", r->namespace_name,
                   resources[r->kind], r->name, patch ? "?fieldManager=" CFR_K8S_SECRET_MANAGER : "");
    return true;
}

static void write_mark(const struct cfr_k8s_restart *r, char key[128], char value[MARK_MAX])
{
    (void)snprintf(key, 128, MARK "%.63s", r->credential);
    (void)snprintf(value, MARK_MAX, "%" PRIu64 "-%" PRId64, r->generation, r->issued_ms);
}

int cfr_k8s_rollout_body(const struct cfr_k8s_restart *r, int64_t now_s, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};
    char at[CFR_TIME_RFC3339_MAX];
    char key[128];
    char value[MARK_MAX];

    write_mark(r, key, value);
    cfr_writer_object(&w, NULL);
    cfr_writer_object(&w, "spec");
    cfr_writer_object(&w, "template");
    cfr_writer_object(&w, "metadata");
    cfr_writer_object(&w, "annotations");
    cfr_writer_string(&w, "kubectl.kubernetes.io/restartedAt", cfr_view_of(cfr_time_format(now_s, at)));
    cfr_writer_string(&w, key, cfr_view_of(value));
    for (int i = 0; i < 5; i++)
        cfr_writer_close(&w);
    return w.rc;
}

/* ---- state ---- */

static int64_t number(const struct cfr_json *object, const char *key, int64_t absent)
{
    int64_t value = absent;

    return cfr_json_integer(cfr_json_get(object, key), &value) ? value : absent;
}

static bool exceeded_deadline(const struct cfr_json *status)
{
    const struct cfr_json *c = cfr_json_first(cfr_json_get(status, "conditions"));

    while (c != NULL && !(cfr_view_is(cfr_json_text(c, "type"), "Progressing") &&
                          cfr_view_is(cfr_json_text(c, "reason"), "ProgressDeadlineExceeded")))
        c = cfr_json_next(c);
    return c != NULL;
}

/* Pods of the new template, those that are available, those of the old one, and how many there should be of the first
 * two. */
struct pods {
    int64_t updated_wanted;
    int64_t updated;
    int64_t available_wanted;
    int64_t available;
    int64_t old;
};

static struct pods count_pods(int kind, const struct cfr_json *spec, const struct cfr_json *status)
{
    static const char *const path[] = {"updateStrategy", "rollingUpdate", NULL};
    int64_t wanted = kind == DAEMONSET ? number(status, "desiredNumberScheduled", 0) : number(spec, "replicas", 1);
    struct pods p = {.updated_wanted = wanted, .available_wanted = wanted};

    if (kind == DAEMONSET) {
        p.updated = number(status, "updatedNumberScheduled", 0);
        p.available = number(status, "numberAvailable", 0);
        return p;
    }
    p.updated = number(status, "updatedReplicas", 0);
    if (kind == STATEFULSET) {
        /* Those below the partition keep the old template, and count as ready. */
        p.updated_wanted -= number(cfr_json_path(spec, path), "partition", 0);
        p.available = number(status, "readyReplicas", 0);
        return p;
    }
    p.available = number(status, "availableReplicas", 0);
    p.old = number(status, "replicas", 0) - p.updated;
    return p;
}

static bool is_marked(const struct cfr_k8s_restart *r, const struct cfr_json *spec)
{
    static const char *const path[] = {"template", "metadata", "annotations", NULL};
    struct cfr_view mark;
    char key[128];
    char value[MARK_MAX];
    int64_t at = 0;
    ptrdiff_t dash;

    write_mark(r, key, value);
    mark = cfr_json_text(cfr_json_path(spec, path), key);
    dash = cfr_view_find(mark, "-");
    return cfr_view_is(mark, value) ||
           (r->shared && dash > 0 && cfr_view_int((struct cfr_view){mark.p, (size_t)dash}, &at) && at > 0 &&
            (uint64_t)at > r->generation);
}

int cfr_k8s_rollout_read(const struct cfr_k8s_restart *r, struct cfr_view body, struct cfr_k8s_rollout *out,
                         struct cfr_err *err)
{
    const char *kind = cfr_k8s_workloads[r->kind];
    const struct cfr_json *status;
    const struct cfr_json *spec;
    struct cfr_json *doc;
    struct pods p;
    bool seen;
    int rc = cfr_json_parse(body, &doc, err);

    *out = (struct cfr_k8s_rollout){.restarted = false};
    if (rc != 0)
        return rc;
    spec = cfr_json_get(doc, "spec");
    status = cfr_json_get(doc, "status");
    if (!cfr_view_is(cfr_json_text(doc, "kind"), kind) ||
        !cfr_view_is(cfr_json_text(cfr_json_get(doc, "metadata"), "name"), r->name)) {
        cfr_json_free(doc);
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is not the %s %.100s; check the API server's address", kind,
                           r->name);
    }
    p = count_pods(r->kind, spec, status);
    seen = number(status, "observedGeneration", 0) >= number(cfr_json_get(doc, "metadata"), "generation", 0);
    out->restarted = is_marked(r, spec);
    (void)cfr_json_bool(cfr_json_get(spec, "paused"), &out->paused);
    out->on_delete = cfr_view_is(cfr_json_text(cfr_json_get(spec, "updateStrategy"), "type"), "OnDelete");
    out->complete = seen && p.updated >= p.updated_wanted && p.available >= p.available_wanted && p.old <= 0;
    (void)snprintf(out->text, sizeof out->text,
                   "%" PRId64 " of %" PRId64 " pods are new, %" PRId64 " of %" PRId64 " are available, %" PRId64
                   " are old",
                   p.updated, p.updated_wanted, p.available, p.available_wanted, p.old);
    if (seen && out->restarted && !out->complete && exceeded_deadline(status))
        rc = cfr_err_set(err, CFR_E_REJECTED, "the rollout has exceeded its progress deadline: %s", out->text);
    cfr_json_free(doc);
    return rc;
}
