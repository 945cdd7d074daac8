/* SPDX-License-Identifier: MIT */
/* Check of the API server of a published Secret: its kubeconfig, and whether it answers. */
#include "agent/doctor/doctor_private.h"

#include "agent/kube/client.h"

#define ANSWER_MAX_MS 10000

struct asking {
    struct cfr_doctor *d;
    bool done;
};

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct asking *a = ctx;

    a->done = true;
    if (answer->error != 0)
        cfr_doctor_report(a->d, CFR_FINDING_WRONG, "publish.cluster",
                          "check the server of the kubeconfig, its CA, and the way there", "%s", answer->err.text);
    else if (answer->status == 401)
        cfr_doctor_report(a->d, CFR_FINDING_WRONG, "publish.cluster",
                          "renew the credentials of the kubeconfig's user; in a pod: is the service account's token "
                          "mounted and current?",
                          "the API server does not accept the credentials (HTTP 401)");
    else
        cfr_doctor_report(a->d, CFR_FINDING_OK, "publish.cluster", NULL, "the API server answers (HTTP %ld, %.0f ms)",
                          answer->status, answer->duration_s * 1000);
}

static int ask_server(struct cfr_doctor *d, const struct cfr_kube_where *where, struct cfr_http *http,
                      struct cfr_kube *kube, struct cfr_err *err)
{
    struct cfr_kube_request request = {.method = "GET", .path = "/api"};
    struct cfr_kube_call *call = NULL;
    int64_t left_ms = cfr_doctor_left_ms(d);
    int64_t limit_ms = left_ms < ANSWER_MAX_MS ? left_ms : ANSWER_MAX_MS;
    struct asking a = {d, false};
    int rc = cfr_kube_start(kube, where, &request, on_answer, &a, &call, err);

    if (rc == 0)
        rc = cfr_http_run(http, &a.done, cfr_clock_now().boot_ms + limit_ms, err);
    if (rc == CFR_E_TIMEOUT)
        (void)cfr_err_set(err, rc, "the API server did not answer in time");
    if (!a.done)
        cfr_kube_cancel(call);
    (void)cfr_doctor_left_ms(d); /* a wait that the limit has cut short counts as left out */
    return rc;
}

void cfr_doctor_cluster(struct cfr_doctor *d, const struct cfr_kube_where *where)
{
    struct cfr_http *http = NULL;
    struct cfr_kube *kube = NULL;
    struct cfr_err err = {0};
    int rc = cfr_kube_check(where, &err);

    if (rc == 0 && d->options->offline) {
        cfr_doctor_report(d, CFR_FINDING_OK, "publish.cluster", NULL, "requests to the API server can be made");
        return;
    }
    if (rc == 0)
        rc = cfr_http_open(&http, &err);
    if (rc == 0)
        rc = cfr_kube_open(http, &kube, &err);
    if (rc == 0)
        rc = ask_server(d, where, http, kube, &err);
    if (rc != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.cluster", NULL, "%s", err.text);
    cfr_kube_close(kube);
    cfr_http_close(http);
}
