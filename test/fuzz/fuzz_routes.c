/* SPDX-License-Identifier: MIT */
/* Any method, path, query and body, sent to the health address and to the control socket. The input is a line
 * "METHOD PATH?QUERY" and the body. */
#include "fuzz.h"

#include "base/json.h"
#include "serve/api/routes.h"

#include <string.h>

static const char *const names[] = {"registry", "t\xc3\xb6ken", "a/b c"};

static void get(void *ctx, size_t index, struct cfr_api_status_credential *out)
{
    (void)ctx;
    *out = (struct cfr_api_status_credential){.name = names[index],
                                              .state = "fresh",
                                              .provider = "aws",
                                              .required = true,
                                              .published = index != 1,
                                              .expires_s = 2000};
}

static const struct cfr_api_status status = {.version = "1", .now_s = 1000, .config_ok = true, .count = 3, .get = get};

static bool clean(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    }
    return true;
}

static void check_answer(struct cfr_httpd_response *out)
{
    struct cfr_json *doc = NULL;

    CFR_FUZZ_MUST(out->status == 200 || out->status == 400 || out->status == 404 || out->status == 405 ||
                  out->status == 503);
    CFR_FUZZ_MUST((out->allow != NULL) == (out->status == 405));
    CFR_FUZZ_MUST(out->content_type != NULL && !out->body.failed && out->body.len != 0);
    if (strcmp(out->content_type, "application/json") == 0)
        CFR_FUZZ_MUST(cfr_json_parse(cfr_str_view(&out->body), &doc, NULL) == 0);
    cfr_json_free(doc);
    cfr_str_free(&out->body);
}

static void check_request(const struct cfr_action *action, const struct cfr_httpd_request *req,
                          const struct cfr_httpd_response *out)
{
    bool known =
        (action->kind == CFR_API_ACTION_RELOAD || action->kind == CFR_API_ACTION_QUIT) && action->name[0] == '\0';

    for (size_t i = 0; i < 3 && action->kind == CFR_API_ACTION_ROTATE; i++)
        known = known || strcmp(action->name, names[i]) == 0;
    CFR_FUZZ_MUST(known && cfr_view_is(req->method, "POST") && out->body.p == NULL);
    CFR_FUZZ_MUST(memchr(action->reason, '\0', sizeof action->reason) != NULL && clean(action->reason));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view body = {(const char *)data, size};
    struct cfr_httpd_request req = {0};
    struct cfr_view line = {0};
    struct cfr_httpd_response out;
    struct cfr_action action;
    const char *mark;

    cfr_json_setup();
    (void)cfr_view_line(&body, &line);
    req.body = body;
    mark = line.n != 0 ? memchr(line.p, ' ', line.n) : NULL;
    req.method = (struct cfr_view){line.p, mark != NULL ? (size_t)(mark - line.p) : line.n};
    req.path = mark != NULL ? (struct cfr_view){mark + 1, line.n - req.method.n - 1} : (struct cfr_view){0};
    mark = req.path.n != 0 ? memchr(req.path.p, '?', req.path.n) : NULL;
    if (mark != NULL) {
        req.query = (struct cfr_view){mark + 1, req.path.n - (size_t)(mark - req.path.p) - 1};
        req.path.n = (size_t)(mark - req.path.p);
    }
    cfr_api_routes_health(&req, &status, &out);
    check_answer(&out);
    cfr_api_routes_control(&req, &status, &action, &out);
    if (action.kind == CFR_API_ACTION_NONE)
        check_answer(&out);
    else
        check_request(&action, &req, &out);
    return 0;
}
