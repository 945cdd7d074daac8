/* SPDX-License-Identifier: MIT */
/* Subcommand image-credential-provider: one request of the kubelet on standard input, its response on standard output.
 */
#include "agent/cmd/commands_private.h"

#include "agent/config/schema.h"
#include "agent/config/image.h"
#include "agent/loop/env.h"
#include "agent/source/image_token.h"
#include "agent/source/exchange_sync.h"
#include "base/json.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT_MS    50000 /* the kubelet waits one minute */
#define CHUNK_BYTES 4096
#define MARGIN_S    600 /* of life that a login has left at least when the kubelet asks for another */
#define SKEW_S      30  /* as for all lives, see exchange.c */

/* One question. */
struct image_run {
    const struct cfr_config_image *item;
    bool image_only; /* the login is not for all images of the registry */
    struct cfr_k8s_image_request request;
    struct cfr_secret response;
    int64_t end_boot_ms;
    const struct cfr_config_credential *credential;
    int rc; /* of the exchange, with err */
    struct cfr_err err;
    int64_t retry_after_s;
};

static int64_t left_ms(const struct image_run *r)
{
    int64_t left = r->end_boot_ms - cfr_clock_now().boot_ms;

    return left > 0 ? left : 0;
}

/* ---- standard input and output ---- */

static int wait_input(const struct image_run *r, struct cfr_err *err)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    int n = poll(&in, 1, (int)left_ms(r));

    if (n > 0 || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0)
        return cfr_err_sys(err, errno, "cannot wait for standard input");
    return cfr_err_set(err, CFR_E_TIMEOUT,
                       "no whole request came on standard input; this command is run by the kubelet");
}

/* Up to one byte more than is allowed, so that input above the limit is noticed. */
static int read_input(const struct image_run *r, struct cfr_secret *text, struct cfr_err *err)
{
    cfr_secret_init(text, CFR_K8S_IMAGE_REQUEST_MAX + 1);
    while (text->len < text->limit) {
        size_t room = text->limit - text->len < CHUNK_BYTES ? text->limit - text->len : CHUNK_BYTES;
        int rc = wait_input(r, err);
        char *to = rc == 0 ? cfr_secret_reserve(text, room, err) : NULL;
        ssize_t n;

        if (to == NULL)
            return rc != 0 ? rc : CFR_E_NOMEM;
        n = read(STDIN_FILENO, to, room);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return cfr_err_sys(err, errno, "cannot read standard input");
        if (n == 0)
            return 0;
        if (n > 0)
            cfr_secret_grown(text, (size_t)n);
    }
    return 0;
}

static int read_request(struct image_run *r, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc = read_input(r, &text, err);

    if (rc == 0)
        rc = cfr_k8s_image_request_read(cfr_secret_view(&text), &r->request, err);
    cfr_secret_free(&text);
    return rc;
}

/* Not by stdio, which would leave a copy. */
static int write_response(const struct cfr_secret *response, struct cfr_err *err)
{
    size_t done = 0;

    while (done < response->len) {
        ssize_t n = write(STDOUT_FILENO, response->p + done, response->len - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return cfr_err_sys(err, errno, "cannot write the response");
    }
    return 0;
}

/* ---- the exchange ---- */

/* How long the kubelet may keep the login. It expires by the clock of the server that granted it. */
static int64_t cache_s(const struct cfr_config_image *item, const struct cfr_source_exchange_result *result)
{
    int64_t now_s = cfr_clock_now().wall_ms / 1000;
    int64_t most_s = item->cache_ms >= 0 ? item->cache_ms / 1000 : INT64_MAX;
    int64_t skew_s = result->server_date_s != 0 ? result->server_date_s - now_s : 0;
    int64_t left_s;

    if (skew_s > SKEW_S || skew_s < -SKEW_S)
        now_s = result->server_date_s;
    if (result->grant->expires_s == 0)
        return item->cache_ms >= 0 ? most_s : 0;
    left_s = result->grant->expires_s - now_s - MARGIN_S;
    if (left_s > most_s)
        left_s = most_s;
    return left_s > 0 ? left_s : 0;
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct image_run *r = ctx;
    struct cfr_view auths = cfr_grant_get(result->grant, CFR_FIELD_REGISTRY_AUTHS);

    r->rc = result->rc;
    r->err = result->err;
    r->retry_after_s = result->retry_after_s;
    if (r->rc == 0 && auths.n == 0)
        r->rc = cfr_err_set(&r->err, CFR_E_CONFIG, "the exchange gave no login to a registry");
    else if (r->rc == 0)
        r->rc = cfr_k8s_image_response(auths, cache_s(r->item, result), r->image_only, &r->response, &r->err);
}

/* The token of the request, else the configured one. */
static int read_material(const struct image_run *r, const struct cfr_config_credential *c,
                         struct cfr_source_inputs *out, struct cfr_err *err)
{
    int64_t now_ms = cfr_clock_now().wall_ms;
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &config);
    struct cfr_source_token_file token;
    int64_t wait_ms;
    int rc;

    if (r->request.token.n == 0 && c->token == NULL && cfr_sts_needs_token(provider, config))
        return cfr_err_set(err, CFR_E_TOKEN,
                           "the kubelet's request carries no service account token: set tokenAttributes in its "
                           "CredentialProviderConfig, or write `token` in this credential");
    if (r->request.token.n == 0)
        return cfr_source_inputs_read(c, now_ms, 0, out, &wait_ms, err);
    rc = cfr_source_image_token_read(r->request.token, r->item->audience, &token, err);
    if (rc == 0)
        rc = cfr_source_inputs_with_token(c, &token, out, err);
    cfr_source_token_file_free(&token);
    return rc;
}

static int try_exchange(void *ctx, int64_t *retry_after_s, struct cfr_err *err)
{
    struct image_run *r = ctx;
    struct cfr_source_inputs m = {.provider = NULL};
    int rc = read_material(r, r->credential, &m, err);

    if (rc == 0) {
        rc = cfr_source_sync_exchange(r->credential, &m, r->end_boot_ms, on_exchanged, r, err);
        if (rc == 0 && r->rc != 0) {
            *err = r->err;
            *retry_after_s = r->retry_after_s;
            rc = r->rc;
        }
    }
    cfr_source_inputs_free(&m);
    /* Only the kubelet can bring another token than that of its request. */
    if (rc == CFR_E_TOKEN_EXPIRED && r->request.token.n != 0)
        rc = err->code = CFR_E_TOKEN;
    return rc;
}

static int log_in(struct image_run *r, struct cfr_err *err)
{
    struct cfr_config_exchange x;
    struct cfr_config_credential c = {
        .name = r->item->name, .token = r->item->token, .exchange = &x, .keep_previous_ms = -1};
    int rc = cfr_config_image_resolve(r->item, &r->request, cfr_env_get, &x, err);

    r->credential = &c;
    if (rc == 0)
        rc = cfr_source_sync_retry(try_exchange, r, r->end_boot_ms, err);
    r->credential = NULL;
    cfr_field_free(&cfr_config_exchange_table, &x);
    return rc;
}

static int answer(struct image_run *r, const struct cfr_config *config, struct cfr_err *err)
{
    int rc = read_request(r, err);

    if (rc != 0)
        return rc;
    r->item = cfr_config_image_find(config, r->request.image);
    r->image_only = cfr_config_image_by_path(config, r->request.image);
    rc = r->item != NULL ? log_in(r, err)
                         : cfr_k8s_image_response((struct cfr_view){NULL, 0}, 0, r->image_only, &r->response, err);
    return rc != 0 ? rc : write_response(&r->response, err);
}

/* ---- the command ---- */

static void complain(const struct cfr_config_image *item, struct cfr_err *err)
{
    if (item != NULL)
        cfr_cli_complain("image credential %s: %s", item->name, err->text);
    else
        cfr_cli_complain("%s", err->text);
}

static int load(const char *path, struct cfr_config **out, struct cfr_err *err)
{
    int rc;

    if (path == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "there is no configuration " CFR_DEFAULT_CONFIG
                           ": write one with image_credentials, or give "
                           "its path with -c in `args` of the kubelet's CredentialProviderConfig");
    rc = cfr_config_load(path, cfr_env_get, out, NULL, err);
    if (rc == 0 && (*out)->image_credentials.count == 0)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "%s: has no image_credentials; list the providers of logins and their images", path);
    return rc;
}

int cfr_cmd_image(const struct cfr_cli_options *o)
{
    struct image_run r = {.end_boot_ms = cfr_clock_now().boot_ms + LIMIT_MS};
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    int status = CFR_EXIT_CONFIG;
    int rc;

    cfr_json_setup();
    cfr_secret_init(&r.response, CFR_K8S_IMAGE_RESPONSE_MAX);
    rc = load(o->config, &config, &err);
    if (rc == 0) {
        rc = answer(&r, config, &err);
        status = rc == CFR_E_TIMEOUT ? CFR_EXIT_TIMEOUT : rc != 0 ? CFR_EXIT_FAILED : CFR_EXIT_OK;
    }
    if (rc != 0)
        complain(r.item, &err);
    cfr_secret_free(&r.response);
    cfr_k8s_image_request_free(&r.request);
    cfr_config_free(config);
    return status;
}
