/* SPDX-License-Identifier: MIT */
/* Calls to the cloud of a rotated key. */
#include "agent/doctor/doctor_private.h"

#include "agent/http/client.h"
#include "agent/loop/env.h"

#include <stdlib.h>

#define REQUEST_TIMEOUT_MS 30000

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_doctor_rotation *l = ctx;
    struct cfr_view secrets[CFR_GRANT_FIELDS_MAX];
    struct cfr_wire_reply reply = {.status = answer->status,
                                   .content_type = answer->content_type,
                                   .body = answer->body,
                                   .request_id = answer->request_id};

    l->ended = true;
    l->rc = answer->error;
    if (l->rc != 0)
        *l->err = answer->err;
    else
        l->rc = l->provider->parse(l->config, &l->ask, &reply, &l->answer, l->err);
    l->rc = cfr_rotation_hide(&l->answer, secrets, cfr_grant_list_secrets(l->ask.admin, secrets), l->rc, l->err);
}

static int ask_page(struct cfr_doctor_rotation *l, struct cfr_http *http, int64_t end_boot_ms, struct cfr_err *err)
{
    struct cfr_http_request r = {.answer_max = CFR_ROTATION_ANSWER_MAX, .timeout_ms = REQUEST_TIMEOUT_MS};
    void *handle = NULL;
    int rc;

    cfr_wire_request_free(&l->request);
    l->ended = false;
    rc = l->provider->build(l->config, &l->ask, l->answer.next, &l->request, err);
    if (rc != 0)
        return rc;
    r.method = l->request.method;
    r.url = l->request.url;
    r.ca_file = cfr_env_ca_file(&l->request);
    r.headers = l->request.headers;
    r.header_count = l->request.header_count;
    r.body = &l->request.body;
    rc = cfr_http_start(http, &r, on_answer, l, &handle, err);
    if (rc == 0)
        rc = cfr_http_run(http, &l->ended, end_boot_ms, err);
    if (rc != 0)
        cfr_http_cancel(http, handle);
    return rc != 0 ? rc : l->rc;
}

int cfr_doctor_rotation_call(struct cfr_doctor_rotation *l, int64_t end_boot_ms, struct cfr_err *err)
{
    struct cfr_http *http = NULL;
    unsigned pages = 0;
    int rc = cfr_http_open(&http, err);

    while (rc == 0) {
        bool named = l->answer.caller[0] != '\0';

        rc = ask_page(l, http, end_boot_ms, err);
        if (rc == 0 && !named && l->answer.caller[0] != '\0') {
            l->ask.id = l->answer.caller;
            continue;
        }
        if (rc != 0 || l->answer.next[0] == '\0')
            break;
        if (++pages == CFR_ROTATION_KEYS_MAX)
            rc = cfr_err_set(err, CFR_E_ANSWER, "the list has no end: %u pages, and there are more", pages);
    }
    if (http != NULL)
        cfr_http_close(http);
    return rc;
}

void cfr_doctor_rotation_free(struct cfr_doctor_rotation *l)
{
    cfr_wire_request_free(&l->request);
    cfr_rotation_answer_free(&l->answer);
    free(l);
}
