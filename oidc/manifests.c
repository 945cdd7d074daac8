/* SPDX-License-Identifier: MIT */
/* Command manifests: writes what the cluster and the clouds must know about an issuer. */
#include "oidc/oidc_private.h"

#include "agent/http/client.h"
#include "agent/http/probe.h"
#include "files/single.h"
#include "oidc/issuer/manifest.h"
#include "pki/cert.h"

#include <limits.h>
#include <stdio.h>

#define PROBE_MS 15000

/* IAM takes a provider without a thumbprint, and finds it itself: that it cannot be read is no failure. */
static bool read_thumbprint(const struct cfr_oidc_options *o, const char *url, char out[CFR_CERT_THUMBPRINT_MAX])
{
    const struct cfr_http_probe_request request = {.url = url, .ca_file = o->ca_file, .timeout_ms = PROBE_MS};
    struct cfr_str pem = {.limit = CFR_OIDC_MANIFEST_MAX};
    struct cfr_http *http = NULL;
    struct cfr_err err = {0};
    int rc = cfr_http_open(&http, &err);

    if (rc == 0)
        rc = cfr_http_probe_chain_end(&request, &pem, &err);
    if (rc == 0)
        rc = cfr_cert_thumbprint(cfr_str_view(&pem), out, &err);
    if (rc != 0)
        cfr_cli_complain("no thumbprint for IAM, which then finds it itself: %s", err.text);
    cfr_str_free(&pem);
    if (http != NULL)
        cfr_http_close(http);
    return rc == 0;
}

static int write_one(const char *directory, const char *name, unsigned mode, struct cfr_view content, bool *changed,
                     struct cfr_err *err)
{
    const struct cfr_file file = {
        .content = content, .mode = mode, .uid = CFR_FILE_KEEP_ID, .gid = (gid_t)CFR_FILE_KEEP_ID};
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        return cfr_err_set(err, CFR_E_PATH, "%.80s...: is too long a path", directory);
    return cfr_single_publish(path, &file, false, NULL, changed, err);
}

int cfr_oidc_write_manifests(const struct cfr_oidc_options *o, const struct cfr_oidc_issuer *issuer,
                             struct cfr_err *err)
{
    char thumbprint[CFR_CERT_THUMBPRINT_MAX];
    struct cfr_oidc_manifest_input in = {
        .issuer = issuer,
        .audience = o->cli.audience,
        .service_accounts = o->cli.service_accounts.items,
        .service_account_count = o->cli.service_accounts.count,
    };
    int rc = cfr_oidc_manifest_check(&in, err);
    bool more = true;

    if (rc != 0)
        return err->code = CFR_E_USAGE;
    if (!o->cli.offline && read_thumbprint(o, issuer->url, thumbprint))
        in.thumbprint = thumbprint;
    for (size_t n = 0; rc == 0 && more; n++) {
        struct cfr_str text = {.limit = CFR_OIDC_MANIFEST_MAX};
        char name[NAME_MAX + 1];
        bool changed = false;
        unsigned mode;

        more = cfr_oidc_manifest_write(&in, n, name, &text, &mode, &rc, err);
        if (more && rc == 0)
            rc = write_one(o->cli.output, name, mode, cfr_str_view(&text), &changed, err);
        if (changed)
            (void)printf("%s/%s\n", o->cli.output, name);
        cfr_str_free(&text);
    }
    return rc;
}
