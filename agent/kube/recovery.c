/* SPDX-License-Identifier: MIT */
/* Notices that an API server accepts requests again: by a success, or by another kubeconfig, token or CA. */
#include "agent/kube/client_private.h"

#include <string.h>

#define LOOK_MS  1000  /* between two checks of the files of a kubeconfig that does not work */
#define AGAIN_MS 30000 /* between two ends of pauses: a server may answer some requests, and never others */

/* A context that was not asked for longer than any pause lasts is not used any more. */
#define UNUSED_MS INT64_C(900000)

void cfr_kube_on_resume(struct cfr_kube *k, cfr_kube_resume_fn *resume, void *ctx)
{
    k->resume = resume;
    k->resume_ctx = ctx;
}

/* Two contexts may lead to one server. */
static bool share_server(const struct cfr_kube_context *p, const struct cfr_kube_context *q)
{
    return p == q ||
           (p->config.server != NULL && q->config.server != NULL && strcmp(p->config.server, q->config.server) == 0);
}

static void end_pauses(struct cfr_kube *k, struct cfr_kube_context *p, struct cfr_now now)
{
    p->failing = false;
    cfr_loop_off(&p->look);
    p->refused = false;
    p->resumed_boot_ms = now.boot_ms;
    for (struct cfr_kube_context *q = k->contexts; q != NULL; q = q->next) {
        const struct cfr_kube_where where = {q->kubeconfig, q->context};

        if (!share_server(p, q))
            continue;
        cfr_kube_streams_resume(k, &where);
        if (k->resume != NULL)
            k->resume(k->resume_ctx, &where);
    }
}

/* Changes with the content of each file. */
static uint64_t identity_of(const struct cfr_kube_context *p)
{
    const uint64_t versions[] = {p->source.version, p->ca.version, p->cert.version, p->key.version, p->token.version};
    uint64_t identity = 0;

    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        identity = identity * 1000003 + versions[i];
    return identity;
}

/* While a context does not work, its files are checked each second. */
static void look(struct cfr_task *task)
{
    struct cfr_kube_context *p = CFR_TASK_OWNER(task, struct cfr_kube_context, look);
    struct cfr_now now = cfr_clock_now();
    struct cfr_err err = {0};

    if (now.boot_ms - p->used_boot_ms >= UNUSED_MS)
        return;
    cfr_loop_at(&p->look, now.boot_ms + LOOK_MS);
    (void)cfr_kube_refresh(p->kube, p, false, now, &err);
}

static void note_failing(struct cfr_kube_context *p, struct cfr_now now)
{
    p->look.run = look;
    cfr_loop_by(&p->look, now.boot_ms + LOOK_MS);
    p->failing = true;
}

int cfr_kube_refresh(struct cfr_kube *k, struct cfr_kube_context *p, bool force, struct cfr_now now,
                     struct cfr_err *err)
{
    int rc = cfr_kube_context_refresh(p, force, now, err);
    bool changed = identity_of(p) != p->identity;

    p->identity = identity_of(p);
    if (rc != 0)
        note_failing(p, now);
    else if (changed && (p->failing || p->refused))
        end_pauses(k, p, now);
    return rc;
}

void cfr_kube_note_answer(struct cfr_kube *k, struct cfr_kube_context *p, int error, long status)
{
    struct cfr_now now = cfr_clock_now();
    bool ours = error == CFR_E_NOMEM || error == CFR_E_LIMIT || error == CFR_E_ANSWER;

    if (ours)
        return;
    if (error != 0 || status == 401 || status >= 500)
        note_failing(p, now);
    else if (status == 403)
        p->refused = true;
    else if (status != 429 && p->failing && (p->resumed_boot_ms == 0 || now.boot_ms - p->resumed_boot_ms >= AGAIN_MS))
        end_pauses(k, p, now);
}
