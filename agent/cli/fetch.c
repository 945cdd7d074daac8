/* SPDX-License-Identifier: MIT */
/* A credential from the running agent. */
#include "agent/cli/fetch.h"

#include "agent/cli/client.h"
#include "agent/config/config.h"
#include "agent/loop/clock.h"
#include "base/str.h"
#include "base/yaml.h"
#include "files/file.h"
#include "serve/sdk/plugin_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 50

/* The token socket that the file at PATH names, heap; or NULL. */
static char *token_socket(const char *path)
{
    const struct cfr_yaml_node *value = NULL;
    struct cfr_yaml *doc = NULL;
    struct cfr_secret text;
    char *found = NULL;
    int line;

    if (path == NULL)
        return NULL;
    cfr_secret_init(&text, CFR_CONFIG_FILE_MAX);
    if (cfr_file_read(path, &text, NULL) == 0 && cfr_yaml_parse(cfr_secret_view(&text), &doc, &line, NULL) == 0)
        value = cfr_yaml_get(cfr_yaml_root(doc), "token_socket", &line);
    if (value != NULL && value->kind == CFR_YAML_SCALAR)
        found = cfr_str_dup(value->text);
    cfr_yaml_free(doc);
    cfr_secret_free(&text);
    return found;
}

/* Heap; NULL with ERR. */
static char *find_socket(const struct cfr_cli_options *o, struct cfr_err *err)
{
    char *control;
    char *token;

    (void)cfr_cli_find_socket(o, &control, err);
    /* Not to be seen counts as not to be used: its directory is closed to others. */
    if (control == NULL || access(control, W_OK) == 0 || errno != EACCES)
        return control;
    if (o->token_socket != NULL)
        token = strdup(o->token_socket);
    else
        token = o->socket == NULL ? token_socket(o->config) : NULL;
    if (token == NULL)
        return control;
    free(control);
    return token;
}

static int status_of(long http)
{
    return http == 404 || http == 403 ? CFR_EXIT_REFUSED : CFR_EXIT_FAILED;
}

/* True if it is worth asking again. */
static bool ask_once(const char *socket, const char *path, int64_t end_boot_ms, struct cfr_grant *out, int *status,
                     struct cfr_err *err)
{
    struct cfr_cli_answer answer = {0};
    int rc = cfr_cli_call_within(cfr_cli_limit_ms(end_boot_ms), socket, "GET", path, NULL, &answer, err);
    bool again = rc == CFR_E_MISSING || rc == CFR_E_NET || rc == CFR_E_TIMEOUT;

    *status = rc == CFR_E_TIMEOUT ? CFR_EXIT_TIMEOUT : again ? CFR_EXIT_NO_AGENT : CFR_EXIT_FAILED;
    if (rc == 0 && answer.status == 200) {
        (void)cfr_sdk_plugin_read(cfr_secret_view(&answer.text), out, err);
    } else if (rc == 0) {
        again = answer.status == 503;
        *status = status_of(answer.status);
        cfr_cli_explain(&answer, err);
    }
    cfr_cli_answer_free(&answer);
    return again;
}

int cfr_cli_fetch(const struct cfr_cli_options *o, const char *name, int64_t end_boot_ms, struct cfr_grant *out,
                  int *status, struct cfr_err *err)
{
    struct timespec pause = {0, STEP_MS * 1000000L};
    char *socket = find_socket(o, err);
    char path[128];

    *out = (struct cfr_grant){0};
    *status = err->code == CFR_E_NOMEM ? CFR_EXIT_FAILED : CFR_EXIT_CONFIG;
    if (socket == NULL)
        return err->code;
    (void)snprintf(path, sizeof path, "/v1/token/%s", name);
    while (ask_once(socket, path, end_boot_ms, out, status, err) && cfr_clock_now().boot_ms < end_boot_ms) {
        *err = (struct cfr_err){0};
        (void)nanosleep(&pause, NULL);
    }
    free(socket);
    return err->code;
}
