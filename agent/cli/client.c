/* SPDX-License-Identifier: MIT */
/* Client of the control socket. */
#include "agent/cli/client.h"

#include "agent/config/config.h"
#include "agent/http/client.h"
#include "agent/loop/clock.h"
#include "base/secret.h"
#include "base/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_TIMEOUT_MS 10000
#define CALL_LEAST_MS   100
#define ANSWER_MAX      33554432

int cfr_cli_find_socket(const struct cfr_cli_options *o, char **out, struct cfr_err *err)
{
    struct cfr_err why = {0};

    cfr_json_setup();
    *out = NULL;
    if (o->socket == NULL && cfr_config_socket(o->config, out, &why) == 0)
        return 0;
    if (o->socket == NULL && o->config_given)
        return cfr_err_set(err, why.code, "%s; thus it is not known which agent to ask: name its socket with -s",
                           why.text);
    *out = strdup(o->socket != NULL ? o->socket : CFR_DEFAULT_SOCKET);
    return *out != NULL ? 0 : cfr_err_nomem(err);
}

char *cfr_cli_socket(const struct cfr_cli_options *o, int *status)
{
    struct cfr_err err = {0};
    char *path;

    if (cfr_cli_find_socket(o, &path, &err) != 0) {
        cfr_cli_complain("%s", err.text);
        *status = err.code == CFR_E_NOMEM ? CFR_EXIT_FAILED : CFR_EXIT_CONFIG;
    }
    return path;
}

struct call {
    struct cfr_cli_answer *out;
    struct cfr_err *err;
    int rc;
    bool done;
};

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct call *c = ctx;

    c->done = true;
    c->rc = answer->error;
    if (answer->error != 0) {
        *c->err = answer->err;
        return;
    }
    c->out->status = answer->status;
    c->rc = cfr_secret_append(&c->out->text, answer->body, c->err);
    if (c->rc == 0 && cfr_view_starts(answer->content_type, "application/json"))
        c->rc = cfr_json_parse_own(cfr_secret_view(&c->out->text), &c->out->json, c->err);
}

static int check_socket(const char *socket, struct cfr_err *err)
{
    if (access(socket, W_OK) == 0)
        return 0;
    if (errno == ENOENT)
        return cfr_err_set(err, CFR_E_MISSING, "no agent: there is no socket %s (name another one with -s)", socket);
    if (errno == EACCES)
        return cfr_err_set(err, CFR_E_PERM,
                           "permission denied for the agent's socket %s: run this as root or as the agent's user",
                           socket);
    return cfr_err_sys(err, errno, "cannot use the agent's socket %s", socket);
}

int cfr_cli_call_within(int64_t limit_ms, const char *socket, const char *method, const char *path, const char *body,
                        struct cfr_cli_answer *out, struct cfr_err *err)
{
    struct cfr_http *http = NULL;
    struct cfr_secret payload = {0};
    char url[512];
    struct cfr_http_request request = {
        .method = method,
        .url = url,
        .unix_socket = socket,
        .body = body != NULL ? &payload : NULL,
        .answer_max = ANSWER_MAX,
        .timeout_ms = limit_ms,
    };
    struct call call = {out, err, 0, false};
    int rc = check_socket(socket, err);

    *out = (struct cfr_cli_answer){0};
    cfr_secret_init(&out->text, ANSWER_MAX);
    cfr_secret_init(&payload, 4096);
    (void)snprintf(url, sizeof url, "http://localhost%s", path);
    if (rc == 0 && body != NULL)
        rc = cfr_secret_append_str(&payload, body, err);
    if (rc == 0)
        rc = cfr_http_open(&http, err);
    if (rc == 0)
        rc = cfr_http_start(http, &request, on_answer, &call, NULL, err);
    if (rc == 0)
        rc = cfr_http_run(http, &call.done, INT64_MAX, err); /* the request has its own limit */
    if (http != NULL)
        cfr_http_close(http);
    cfr_secret_free(&payload);
    return rc != 0 ? rc : call.rc;
}

int cfr_cli_call(const char *socket, const char *method, const char *path, const char *body, struct cfr_cli_answer *out,
                 struct cfr_err *err)
{
    return cfr_cli_call_within(CALL_TIMEOUT_MS, socket, method, path, body, out, err);
}

int64_t cfr_cli_limit_ms(int64_t end_boot_ms)
{
    int64_t left_ms = end_boot_ms - cfr_clock_now().boot_ms;

    return left_ms < CALL_LEAST_MS ? CALL_LEAST_MS : left_ms < CALL_TIMEOUT_MS ? left_ms : CALL_TIMEOUT_MS;
}

int cfr_cli_list(const char *socket, struct cfr_cli_answer *out, const struct cfr_json **list, struct cfr_err *err)
{
    return cfr_cli_list_within(CALL_TIMEOUT_MS, socket, out, list, err);
}

int cfr_cli_list_within(int64_t limit_ms, const char *socket, struct cfr_cli_answer *out, const struct cfr_json **list,
                        struct cfr_err *err)
{
    int rc = cfr_cli_call_within(limit_ms, socket, "GET", "/v1/credentials", NULL, out, err);

    *list = rc == 0 ? cfr_json_get(out->json, "credentials") : NULL;
    if (rc != 0 || (out->status == 200 && cfr_json_is_array(*list)))
        return rc;
    if (out->status == 200)
        return cfr_err_set(err, CFR_E_REJECTED, "the answer of the agent has no list of credentials");
    cfr_cli_explain(out, err);
    return CFR_E_REJECTED;
}

int cfr_cli_exit_status(const struct cfr_err *err)
{
    if (err->code == CFR_E_REJECTED)
        return CFR_EXIT_REFUSED;
    return err->code == CFR_E_MISSING || err->code == CFR_E_NET ? CFR_EXIT_NO_AGENT : CFR_EXIT_FAILED;
}

int cfr_cli_report(const struct cfr_err *err)
{
    cfr_cli_complain("%s", err->text);
    return cfr_cli_exit_status(err);
}

void cfr_cli_answer_free(struct cfr_cli_answer *a)
{
    cfr_json_free(a->json);
    cfr_secret_free(&a->text);
}

void cfr_cli_explain(const struct cfr_cli_answer *a, struct cfr_err *err)
{
    const struct cfr_json *message = cfr_json_path(a->json, (const char *const[]){"error", "message", NULL});
    struct cfr_view text;

    if (cfr_json_string(message, &text))
        (void)cfr_err_set(err, CFR_E_REJECTED, "%.*s", (int)text.n, text.p);
    else
        (void)cfr_err_set(err, CFR_E_REJECTED, "the agent answered %ld", a->status);
}

void cfr_cli_unknown_credential(const char *name, const struct cfr_json *list)
{
    char names[1024] = "";
    size_t n = 0;
    struct cfr_view one;

    for (size_t i = 0; i < cfr_json_count(list) && n < sizeof names; i++) {
        if (cfr_json_string(cfr_json_get(cfr_json_at(list, i), "name"), &one))
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%.*s", n != 0 ? ", " : "", (int)one.n, one.p);
    }
    if (n == 0)
        cfr_cli_complain("no credential \"%s\": the agent has none", name);
    else
        cfr_cli_complain("no credential \"%s\": there %s %s%s", name, cfr_json_count(list) == 1 ? "is" : "are", names,
                         n >= sizeof names ? " ..." : "");
}
