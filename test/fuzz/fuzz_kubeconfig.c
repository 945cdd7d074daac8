/* SPDX-License-Identifier: MIT */
/* Any bytes as a kubeconfig: parsed, or refused with a reason; and the mask restores every word.
 */
#include "fuzz.h"

#include "agent/kube/kubeconfig_private.h"
#include "agent/kube/yaml_mask_private.h"

#include <string.h>

static void check_line(const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        CFR_FUZZ_MUST((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* What those who make requests of it count on. */
static void check_config(const struct cfr_kube_config *c)
{
    size_t n = strlen(c->server);
    bool cert = c->cert.len != 0 || c->cert_file != NULL;
    bool key = c->key.len != 0 || c->key_file != NULL;

    CFR_FUZZ_MUST(n > 7 && c->server[n - 1] != '/' && strncmp(c->server, "http", 4) == 0);
    check_line(c->server);
    check_line(c->server_name);
    check_line(c->namespace_name);
    CFR_FUZZ_MUST(cert == key);
    CFR_FUZZ_MUST(c->token_file == NULL || (c->token_file[0] == '/' && c->token.len == 0));
    CFR_FUZZ_MUST(c->ca_file == NULL || c->ca_file[0] == '/');
    CFR_FUZZ_MUST((c->token.len != 0 || c->token_file != NULL) + (c->basic.len != 0) + (c->plugin != NULL) <= 1);
    for (size_t i = 0; i < c->header_count; i++) {
        CFR_FUZZ_MUST(cfr_view_starts(cfr_secret_view(&c->headers[i]), "Impersonate-"));
        CFR_FUZZ_MUST(strlen(c->headers[i].p) == c->headers[i].len);
        check_line(c->headers[i].p);
    }
    if (c->plugin == NULL)
        return;
    CFR_FUZZ_MUST(c->plugin->command[0] != '\0' && c->plugin->api_version != NULL);
    check_line(c->plugin->install_hint);
    for (size_t i = 0; i < c->plugin->env_count; i++)
        CFR_FUZZ_MUST(strchr(c->plugin->env[i].p, '=') > c->plugin->env[i].p);
}

static void check_veil(struct cfr_view text)
{
    struct cfr_view original;
    struct cfr_view rest;
    struct cfr_view piece;
    struct cfr_secret out;

    cfr_secret_init(&out, text.n * 2 + 64);
    CFR_FUZZ_MUST(cfr_kube_yaml_mask(text, &out, &original, NULL) == 0);
    rest = cfr_secret_view(&out);
    while (cfr_kube_yaml_mask_next(&rest, original, &piece)) {
        CFR_FUZZ_MUST(piece.n <= text.n && memcmp(piece.p, text.p, piece.n) == 0);
        text.p += piece.n;
        text.n -= piece.n;
    }
    CFR_FUZZ_MUST(text.n == 0);
    cfr_secret_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    struct cfr_kube_config c;
    struct cfr_err err = {0};
    int rc = cfr_kube_config_parse(text, "/d/f", NULL, &c, &err);

    CFR_FUZZ_MUST(rc == err.code && (rc == 0) == (c.server != NULL));
    if (rc == 0)
        check_config(&c);
    else
        CFR_FUZZ_MUST(rc == CFR_E_CONFIG && strncmp(err.text, "line ", 5) == 0);
    check_line(err.text);
    cfr_kube_config_free(&c);
    check_veil(text);
    return 0;
}
