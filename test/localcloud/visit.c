/* SPDX-License-Identifier: MIT */
/* One request to a service on its way: form, fault, outage, answer, statistics. */
#include "visit.h"

#include "service.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names from outside go into the log and the statistics: keep them one line of text. */
static void clean(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7F || (unsigned char)*text >= 0x80) {
            *text = '?';
        }
    }
}

void lc_visit_record(struct lc_cloud *cloud, struct lc_record *record)
{
    clean(record->role);
    clean(record->session_name);
    clean(record->code);
    lc_stats_add(cloud->stats, record);
    if (cloud->log != NULL) {
        (void)fprintf(cloud->log, "%.3f %s %u %s role=%s session=%s key=%s connection=%lu%s%s\n", record->t,
                      record->action, record->status, record->code, record->role, record->session_name,
                      record->access_key_id, record->connection,
                      record->fault[0] == '\0' ? "" : " fault=", record->fault);
        (void)fflush(cloud->log);
    }
}

void lc_visit_outage(struct lc_reply *reply)
{
    reply->status = 503;
    lc_reply_header(reply, "Content-Type", "text/html");
    lc_reply_header(reply, "Retry-After", "1");
    lc_buf_text(&reply->body, "<html><body>Service Unavailable</body></html>\n");
}

static bool is_form(const struct lc_request *request)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const char *type = lc_request_header(request, "content-type");
    size_t len = sizeof form - 1;

    return type != NULL && strncasecmp(type, form, len) == 0 &&
           (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

/* A message may quote what came from outside, or be cut within a character: then it is ASCII that goes out.
 */
static void make_printable(char *text)
{
    if (lc_text_points(text) >= 0) {
        return;
    }
    for (; *text != '\0'; text++) {
        *text = (unsigned char)*text >= 0x80 ? '?' : *text;
    }
}

static void render(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    struct lc_refusal printable = *refusal;

    make_printable(printable.message);
    make_printable(printable.code);
    lc_buf_free(&visit->reply->body);
    visit->reply->status = printable.status;
    (void)snprintf(visit->record.code, sizeof visit->record.code, "%s", printable.code);
    visit->record.exchange = false;
    visit->record.access_key_id[0] = '\0';
    visit->service->refuse(visit, &printable);
}

int lc_visit_refuse(struct lc_visit *visit, unsigned status, const char *code, const char *format, ...)
{
    struct lc_refusal refusal = {.status = status};
    va_list args;

    (void)snprintf(refusal.code, sizeof refusal.code, "%s", code);
    va_start(args, format);
    (void)vsnprintf(refusal.message, sizeof refusal.message, format, args);
    va_end(args);
    render(visit, &refusal);
    return -1;
}

void lc_visit_json(struct lc_visit *visit, unsigned status, json_t *document)
{
    bool typed = false;

    for (size_t i = 0; i < visit->reply->header_count; i++) {
        typed = typed || strcasecmp(visit->reply->headers[i].name, "content-type") == 0;
    }
    if (!typed) {
        lc_reply_header(visit->reply, "Content-Type", "application/json; charset=utf-8");
    }
    visit->reply->status = status;
    lc_json_print(document, &visit->reply->body);
}

void lc_visit_granted(struct lc_visit *visit, const char *credential)
{
    char hex[LC_SHA256_HEX_BYTES];

    lc_sha256_hex(credential, strlen(credential), hex);
    hex[16] = '\0';
    (void)snprintf(visit->record.access_key_id, sizeof visit->record.access_key_id, "%.16s", hex);
    visit->record.exchange = true;
}

const char *lc_visit_param(const struct lc_visit *visit, const char *name)
{
    const char *value = lc_params_get(&visit->params, name);

    return value == NULL || *value == '\0' ? NULL : value;
}

const char *lc_visit_bearer(const struct lc_visit *visit)
{
    const char *header = lc_request_header(visit->request, "authorization");

    return header != NULL && strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : NULL;
}

bool lc_visit_basic(const struct lc_visit *visit, bool percent, char **user, char **password)
{
    const char *header = lc_request_header(visit->request, "authorization");
    struct lc_buf text = {0};
    const char *colon = NULL;
    bool good = false;

    *user = NULL;
    *password = NULL;
    if (header == NULL) {
        return true;
    }
    if (strncasecmp(header, "Basic ", 6) == 0 && lc_unbase64(&text, header + 6, strlen(header + 6), false) &&
        strlen(text.at) == text.len && (colon = strchr(text.at, ':')) != NULL) {
        *user = strndup(text.at, (size_t)(colon - text.at));
        *password = strdup(colon + 1);
        good = *user != NULL && *password != NULL &&
               (!percent || (lc_text_unpercent(*user, true) && lc_text_unpercent(*password, true)));
    }
    lc_buf_free(&text);
    if (!good) {
        free(*user);
        free(*password);
        *user = NULL;
        *password = NULL;
    }
    return good;
}

const char *lc_visit_host(const struct lc_visit *visit)
{
    const char *host = lc_request_header(visit->request, "host");

    return host != NULL && *host != '\0' && lc_text_only(host, "-.:[]") ? host : "localhost";
}

bool lc_visit_is_url(const struct lc_visit *visit, const char *text, const char *path)
{
    const char *host = lc_visit_host(visit);
    const char *rest = lc_text_starts(text, "https://") ? text + 8 : lc_text_starts(text, "http://") ? text + 7 : NULL;
    size_t len = strlen(host);

    return rest != NULL && strncasecmp(rest, host, len) == 0 && strcmp(rest + len, path) == 0;
}

int64_t lc_visit_life_s(const struct lc_visit *visit, int64_t asked_s)
{
    double life_s = (double)asked_s / visit->cloud->speed;

    if (strcmp(lc_fault_kind(visit->fault), "short_life") == 0) {
        life_s = json_number_value(json_object_get(visit->fault, "s"));
    }
    return life_s <= 1 ? 1 : (int64_t)ceil(life_s);
}

int64_t lc_visit_until(int64_t life_s)
{
    return (int64_t)ceil(lc_time_now() + (double)life_s);
}

int64_t lc_visit_left_s(int64_t expires_at_s)
{
    return (int64_t)floor((double)expires_at_s - lc_time_now());
}

void lc_visit_put_expiry(const struct lc_visit *visit, json_t *document, const char *key, json_t *normal, json_t *past)
{
    bool bent = strcmp(lc_fault_kind(visit->fault), "expiration") == 0;
    json_t *wanted = bent ? json_object_get(visit->fault, "value") : NULL;
    const char *value = json_string_value(wanted);

    if (value == NULL) {
        (void)json_object_set(document, key, normal);
    } else if (strcmp(value, "past") == 0) {
        (void)json_object_set(document, key, past);
    } else if (strcmp(value, "omit") != 0) {
        (void)json_object_set(document, key, wanted);
    }
    json_decref(normal);
    json_decref(past);
}

/* The action, or NULL with the status that says why there is none. */
static const struct lc_action *find_action(const struct lc_service *service, const struct lc_request *request,
                                           unsigned *status)
{
    *status = 404;
    for (size_t i = 0; i < service->action_count; i++) {
        const struct lc_action *action = &service->actions[i];
        if (!lc_text_like(action->path, request->path)) {
            continue;
        }
        if (strcmp(action->method, request->method) == 0) {
            return action;
        }
        *status = 405;
    }
    return NULL;
}

static void fault_refuse(void *with, const struct lc_refusal *refusal, struct lc_reply *reply)
{
    (void)reply;
    render(with, refusal);
}

static void answer(struct lc_visit *visit)
{
    const struct lc_fault_words words = {visit, fault_refuse, "/elsewhere", "{\"access_token\":", "application/json"};

    if (!visit->action->use && lc_service_is_out(visit->cloud, visit->service->name)) {
        lc_visit_outage(visit->reply);
        (void)snprintf(visit->record.code, sizeof visit->record.code, "Outage");
        return;
    }
    visit->fault = lc_faults_take(visit->cloud->faults, visit->action->name, visit->record.role, visit->action->use);
    (void)snprintf(visit->record.fault, sizeof visit->record.fault, "%s", lc_fault_kind(visit->fault));
    if (visit->fault != NULL &&
        lc_fault_instead(visit->fault, &words, visit->reply, visit->record.code, sizeof visit->record.code)) {
        return;
    }
    (void)snprintf(visit->record.code, sizeof visit->record.code, "OK");
    if (visit->request->too_big) {
        (void)lc_visit_refuse(visit, 413, "request_too_large", "The request is too large.");
    } else {
        visit->action->run(visit);
    }
    if (visit->fault != NULL) {
        lc_fault_spoil(visit->fault, visit->reply);
    }
}

static void begin(struct lc_visit *visit)
{
    const char *who = NULL;

    lc_uuid(visit->id);
    visit->record.t = lc_time_now();
    visit->record.connection = visit->request->connection;
    visit->form = is_form(visit->request);
    visit->form_broken = visit->form && !lc_params_read(visit->request->body, visit->request->body_len, &visit->params);
    (void)snprintf(visit->record.action, sizeof visit->record.action, "%s", visit->action->name);
    (void)snprintf(visit->record.code, sizeof visit->record.code, "OK");
    if (visit->action->who != NULL) {
        who = lc_params_get(&visit->params, visit->action->who);
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", who == NULL ? "" : who);
    }
    if (visit->service->note != NULL) {
        visit->service->note(visit);
    }
}

void lc_visit_run(const struct lc_service *service, struct lc_cloud *cloud, const struct lc_request *request,
                  struct lc_reply *reply)
{
    static const struct lc_action unknown = {.name = "(unknown)"};
    struct lc_visit visit = {.cloud = cloud, .service = service, .request = request, .reply = reply};
    struct lc_held *held = NULL;
    unsigned status = 0;

    visit.action = service->find != NULL ? service->find(request, &status) : find_action(service, request, &status);
    held = lc_service_hold(cloud, service, &visit.settings);
    if (visit.action == NULL) {
        visit.action = &unknown;
        begin(&visit);
        (void)lc_visit_refuse(&visit, status, status == 404 ? "NotFound" : "MethodNotAllowed", "%s",
                              status == 404 ? "There is no such path." : "This path has other methods.");
    } else {
        begin(&visit);
        answer(&visit);
    }
    visit.record.status = reply->status;
    lc_visit_record(cloud, &visit.record);
    json_decref(visit.fault);
    lc_service_release(held);
    lc_params_free(&visit.params);
}
