/* SPDX-License-Identifier: MIT */
/* The issuer's documents: discovery and JWKS below /issuer. */
#include "issuer_site.h"

#include "service.h"

#include <stdio.h>
#include <string.h>

static void plain(struct lc_reply *reply, unsigned status, const char *text)
{
    reply->status = status;
    lc_reply_header(reply, "Content-Type", "text/plain");
    lc_buf_text(&reply->body, text);
}

static void serve_document(struct lc_cloud *cloud, bool discovery, struct lc_reply *reply)
{
    reply->status = 200;
    lc_reply_header(reply, "Content-Type", discovery ? "application/json" : "application/jwk-set+json");
    lc_reply_header(reply, "Cache-Control", "public, max-age=3600");
    if (discovery) {
        lc_issuer_discovery(cloud->issuer, &reply->body);
    } else {
        lc_issuer_jwks(cloud->issuer, &reply->body);
    }
}

static void refuse(void *with, const struct lc_refusal *refusal, struct lc_reply *reply)
{
    (void)with;
    reply->status = refusal->status;
    lc_answer_refusal(refusal, true, "", &reply->body);
    lc_reply_header(reply, "Content-Type", "application/json");
}

static void answer(struct lc_cloud *cloud, bool discovery, struct lc_reply *reply, struct lc_record *record)
{
    static const struct lc_fault_words words = {NULL, refuse, "https://aws.amazon.com/iam", "{\"keys\":[",
                                                "application/json"};
    json_t *fault = NULL;

    if (lc_service_is_out(cloud, "issuer")) {
        lc_visit_outage(reply);
        (void)snprintf(record->code, sizeof record->code, "Outage");
        return;
    }
    fault = lc_faults_take(cloud->faults, record->action, "", false);
    (void)snprintf(record->fault, sizeof record->fault, "%s", lc_fault_kind(fault));
    if (fault == NULL || !lc_fault_instead(fault, &words, reply, record->code, sizeof record->code)) {
        serve_document(cloud, discovery, reply);
        (void)snprintf(record->code, sizeof record->code, "OK");
    }
    if (fault != NULL) {
        lc_fault_spoil(fault, reply);
    }
    json_decref(fault);
}

/* Faults reach the issuer too, under the action names OpenIDConfiguration and JWKS. */
void lc_issuer_handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply)
{
    bool discovery = strcmp(request->path, "/issuer/.well-known/openid-configuration") == 0;
    bool jwks = strcmp(request->path, "/issuer/openid/v1/jwks") == 0;
    struct lc_record record = {.t = lc_time_now(), .status = 200, .code = "OK", .connection = request->connection};

    if (!discovery && !jwks) {
        plain(reply, 404, "404: the issuer has /issuer/.well-known/openid-configuration and /issuer/openid/v1/jwks\n");
        return;
    }
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) {
        lc_reply_header(reply, "Allow", "GET, HEAD");
        plain(reply, 405, "405: only GET\n");
        return;
    }
    (void)snprintf(record.action, sizeof record.action, "%s", discovery ? "OpenIDConfiguration" : "JWKS");
    answer(cloud, discovery, reply, &record);
    record.status = reply->status;
    lc_stats_add(cloud->stats, &record);
}
