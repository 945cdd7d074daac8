/* SPDX-License-Identifier: MIT */
/* What answers on the service listeners: the issuer's documents below /issuer, STS on /. */
#include "service.h"

#include "sts.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Faults reach the issuer too, under the action names OpenIDConfiguration and JWKS. */
static void issuer_handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply)
{
    bool discovery = strcmp(request->path, "/issuer/.well-known/openid-configuration") == 0;
    bool jwks = strcmp(request->path, "/issuer/openid/v1/jwks") == 0;
    struct lc_record record = {
        .t = lc_time_now(), .status = 200, .code = "OK", .connection = request->connection};
    json_t *fault = NULL;

    if (!discovery && !jwks) {
        plain(reply, 404,
              "404: the issuer has /issuer/.well-known/openid-configuration and /issuer/openid/v1/jwks\n");
        return;
    }
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) {
        lc_reply_header(reply, "Allow", "GET, HEAD");
        plain(reply, 405, "405: only GET\n");
        return;
    }
    (void)snprintf(record.action, sizeof record.action, "%s", discovery ? "OpenIDConfiguration" : "JWKS");
    fault = lc_faults_take(cloud->faults, record.action, "");
    (void)snprintf(record.fault, sizeof record.fault, "%s", lc_fault_kind(fault));
    if (fault == NULL || !lc_fault_instead(fault, true, "", reply, record.code, sizeof record.code)) {
        serve_document(cloud, discovery, reply);
        (void)snprintf(record.code, sizeof record.code, "OK");
    }
    if (fault != NULL) {
        lc_fault_spoil(fault, reply);
    }
    record.status = reply->status;
    lc_stats_add(cloud->stats, &record);
    json_decref(fault);
}

void lc_service_handle(void *owner, const struct lc_request *request, struct lc_reply *reply)
{
    struct lc_cloud *cloud = owner;

    if (strcmp(request->path, "/") == 0) {
        lc_sts_handle(cloud, request, reply);
    } else if (strcmp(request->path, "/issuer") == 0 || lc_text_starts(request->path, "/issuer/")) {
        issuer_handle(cloud, request, reply);
    } else {
        plain(reply, 404, "404: the services are / (AWS STS) and /issuer (OpenID Connect)\n");
    }
}
