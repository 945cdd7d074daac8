/* SPDX-License-Identifier: MIT */
/* Output formats for Azure: the token as its local endpoints answer, and the environment of workload
 * identity. */
#include "files/format/format_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_SUFFIX "/.default"

/* The text before the suffix is the resource, including a slash at its end. */
static struct cfr_view resource_of(struct cfr_view scope)
{
    size_t n = strlen(DEFAULT_SUFFIX);

    if (scope.n > n && cfr_view_is((struct cfr_view){scope.p + scope.n - n, n}, DEFAULT_SUFFIX))
        scope.n -= n;
    return scope;
}

/* With and without the suffix a scope is the same. */
static bool is_scope(struct cfr_view scope, const char *wanted)
{
    return scope.n != 0 && cfr_view_eq(resource_of(scope), resource_of(cfr_view_of(wanted)));
}

/* The token for the scope that is wanted, and that scope as it was sent. */
static int find_token(const struct cfr_format_input *in, struct cfr_view *token, struct cfr_view *scope,
                      struct cfr_err *err)
{
    static const char prefix[] = CFR_FIELD_AZURE_ACCESS_TOKEN ":";

    *token = cfr_format_get(in, CFR_FIELD_AZURE_ACCESS_TOKEN);
    *scope = cfr_format_get(in, CFR_FIELD_AZURE_SCOPE);
    if (!cfr_format_given(in->scope) || is_scope(*scope, in->scope))
        return 0;
    for (size_t i = 0; i < in->grant->field_count; i++) {
        const struct cfr_grant_field *f = &in->grant->fields[i];

        *scope = cfr_view_of(f->name + (strncmp(f->name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0));
        *token = cfr_secret_view(&f->value);
        if (scope->p != f->name && is_scope(*scope, in->scope))
            return 0;
    }
    return cfr_err_set(
        err, CFR_E_CONFIG,
        "the format azure-token-json finds no token for the scope \"%.200s\"; write one of the exchange's "
        "`scopes`",
        in->scope);
}

/* Only texts, as those endpoints have it. There is no `expires_in`: in a file it would be wrong a second
 * later. */
int cfr_format_azure_token_json(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {
        .secret = out, .err = err, .rc = cfr_format_need(in, "azure-token-json", CFR_FIELD_AZURE_ACCESS_TOKEN, err)};
    struct cfr_view token = {NULL, 0};
    struct cfr_view scope = {NULL, 0};
    char number[24] = "";

    if (p.rc == 0)
        p.rc = find_token(in, &token, &scope, err);
    if (in->grant->expires_s != 0)
        (void)snprintf(number, sizeof number, "%" PRId64, in->grant->expires_s);
    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "access_token", token);
    cfr_writer_optional(&p, "expires_on", cfr_view_of(number));
    cfr_writer_optional(&p, "resource", resource_of(scope));
    cfr_writer_optional(&p, "token_type", cfr_view_of("Bearer"));
    cfr_writer_optional(&p, "client_id", cfr_format_get(in, CFR_FIELD_AZURE_CLIENT_ID));
    cfr_writer_optional(&p, "scope", scope);
    cfr_writer_optional(&p, "tenant_id", cfr_format_get(in, CFR_FIELD_AZURE_TENANT_ID));
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}

/* The configured value, else the grant's. */
static void line(struct cfr_writer *p, const struct cfr_format_input *in, const char *key, const char *configured,
                 const char *field)
{
    if (cfr_format_given(configured))
        cfr_format_write_env(p, key, cfr_view_of(configured), CFR_E_CONFIG);
    else
        cfr_format_write_env(p, key, cfr_format_get(in, field), CFR_E_ANSWER);
}

static int missing(const char *what, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_CONFIG, "the format azure-env needs %s", what);
}

int cfr_format_azure_env(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {.secret = out, .err = err};
    bool secret = cfr_format_get(in, CFR_FIELD_AZURE_CLIENT_SECRET).n != 0;

    if (!secret && !cfr_format_given(in->token_path))
        return missing("the path of a token: write `token_path`, where the consumer finds its own, or in a directory "
                       "add a file with format token",
                       err);
    if (!cfr_format_given(in->azure_client_id) && cfr_format_get(in, CFR_FIELD_AZURE_CLIENT_ID).n == 0)
        return missing("a client ID, from an azure exchange or the configuration", err);
    if (!cfr_format_given(in->azure_tenant_id) && cfr_format_get(in, CFR_FIELD_AZURE_TENANT_ID).n == 0)
        return missing("a tenant ID, from an azure exchange or the configuration", err);
    line(&p, in, "azure_client_id", in->azure_client_id, CFR_FIELD_AZURE_CLIENT_ID);
    line(&p, in, "azure_tenant_id", in->azure_tenant_id, CFR_FIELD_AZURE_TENANT_ID);
    if (secret)
        line(&p, in, "azure_client_secret", NULL, CFR_FIELD_AZURE_CLIENT_SECRET);
    else
        line(&p, in, "azure_federated_token_file", in->token_path, "");
    line(&p, in, "azure_authority_host", in->azure_authority_host, CFR_FIELD_AZURE_AUTHORITY_HOST);
    return p.rc;
}
