/* SPDX-License-Identifier: MIT */
/* Variables that point an SDK at an endpoint. */
#include "serve/sdk/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_MAX 512

/* ---- the list ---- */

const struct cfr_sdk_env_variable *cfr_sdk_env_find(const struct cfr_sdk_env *e, const char *name)
{
    for (size_t i = 0; i < e->count; i++) {
        if (strcmp(e->items[i].name, name) == 0)
            return &e->items[i];
    }
    return NULL;
}

bool cfr_sdk_env_has_way(const struct cfr_sdk_env *e, enum cfr_sdk_env_way way)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->items[i].way == way)
            return true;
    }
    return false;
}

void cfr_sdk_env_free(struct cfr_sdk_env *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->items[i].value);
    for (size_t i = 0; i < e->note_count; i++)
        free(e->notes[i]);
    *e = (struct cfr_sdk_env){0};
}

int cfr_sdk_env_note(struct cfr_sdk_env *e, struct cfr_err *err, const char *fmt, ...)
{
    char *line = NULL;
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (rc < 0)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    for (size_t i = 0; line != NULL && i < e->note_count; i++) {
        if (strcmp(e->notes[i], line) == 0) {
            free(line);
            line = NULL;
        }
    }
    if (line != NULL && e->note_count < CFR_SDK_ENV_NOTES_MAX)
        e->notes[e->note_count++] = line;
    else
        free(line);
    return 0;
}

static int put(struct cfr_sdk_env *e, const struct cfr_sdk_env_variable *like, const char *value, struct cfr_err *err)
{
    const struct cfr_sdk_env_variable *old = cfr_sdk_env_find(e, like->name);
    struct cfr_sdk_env_variable *new = &e->items[e->count];

    if (old != NULL && old->from_file == like->from_file && strcmp(old->value, value) == 0)
        return 0;
    if (old != NULL)
        return cfr_sdk_env_note(e, err, "%s can name one of several only: it is %s, and %s is left out", old->name,
                                old->value, value);
    if (e->count == CFR_SDK_ENV_VARIABLES_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "the credential would need more than %d variables",
                           CFR_SDK_ENV_VARIABLES_MAX);
    *new = *like;
    new->value = cfr_str_dup(cfr_view_of(value));
    if (new->value == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    e->count++;
    return 0;
}

int cfr_sdk_env_set(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *value,
                    struct cfr_err *err)
{
    return put(e, &(struct cfr_sdk_env_variable){.name = name, .way = way}, value, err);
}

int cfr_sdk_env_set_file(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *path,
                         struct cfr_err *err)
{
    return put(e, &(struct cfr_sdk_env_variable){.name = name, .way = way, .from_file = true}, path, err);
}

/* ---- the shapes ---- */

static bool names(const char *configured, const char *credential)
{
    return configured != NULL && strcmp(configured, credential) == 0;
}

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static int set_url(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *listen,
                   const char *path, struct cfr_err *err)
{
    char url[URL_MAX];

    (void)snprintf(url, sizeof url, "http://%s%s", listen, path);
    return cfr_sdk_env_set(e, way, name, url, err);
}

int cfr_sdk_env_aws_container(struct cfr_sdk_env *e, const struct cfr_sdk_aws_container *c, const char *listen,
                              const char *credential, struct cfr_err *err)
{
    char path[URL_MAX / 2];
    int rc;

    if (!names(c->credential, credential))
        return 0;
    /* A second address would have its own secret: half of one and half of the other would not work. */
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_AWS_CONTAINER))
        return cfr_sdk_env_note(e, err, "http://%s%s serves it as well", listen, given(c->path) ? c->path : "");
    (void)snprintf(path, sizeof path, "%s%s", given(c->path) ? c->path : "/aws/", given(c->path) ? "" : credential);
    rc = set_url(e, CFR_SDK_ENV_AWS_CONTAINER, "AWS_CONTAINER_CREDENTIALS_FULL_URI", listen, path, err);
    if (rc == 0 && given(c->authorization_file))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_CONTAINER, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                             c->authorization_file, err);
    return rc;
}

int cfr_sdk_env_ec2_imds(struct cfr_sdk_env *e, const struct cfr_sdk_ec2_imds *c, const char *listen,
                         const char *credential, struct cfr_err *err)
{
    int rc;

    if (!names(c->credential, credential))
        return 0;
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_AWS_IMDS))
        return cfr_sdk_env_note(e, err, "http://%s serves it as well", listen);
    rc = set_url(e, CFR_SDK_ENV_AWS_IMDS, "AWS_EC2_METADATA_SERVICE_ENDPOINT", listen, "", err);
    if (rc == 0 && listen[0] == '[')
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_IMDS, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6", err);
    /* Half of the SDKs read the one, half the other. */
    if (rc == 0 && given(c->region))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_IMDS, "AWS_REGION", c->region, err);
    if (rc == 0 && given(c->region))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_IMDS, "AWS_DEFAULT_REGION", c->region, err);
    return rc;
}

static const struct cfr_sdk_gce_account *account_at(const struct cfr_sdk_gce_metadata *c, size_t i)
{
    return (const struct cfr_sdk_gce_account *)c->accounts.items + i;
}

static bool gives_identity(const struct cfr_sdk_gce_account *a, const char *credential)
{
    for (size_t i = 0; i < a->identities.count; i++) {
        if (names(((const struct cfr_sdk_gce_identity *)a->identities.items + i)->credential, credential))
            return true;
    }
    return false;
}

/* The account that CREDENTIAL is of; NULL if it is of none. Access tokens go before identity tokens, the default
 * account before the others. */
static const struct cfr_sdk_gce_account *account_of(const struct cfr_sdk_gce_metadata *c, const char *credential)
{
    const struct cfr_sdk_gce_account *found = NULL;

    for (size_t i = 0; i < c->accounts.count && found == NULL; i++)
        found = names(account_at(c, i)->credential, credential) ? account_at(c, i) : NULL;
    for (size_t i = 0; i < c->accounts.count && found == NULL; i++)
        found = gives_identity(account_at(c, i), credential) ? account_at(c, i) : NULL;
    return found;
}

/* Entries with one email are one account. */
static bool is_default(const struct cfr_sdk_gce_metadata *c, const struct cfr_sdk_gce_account *a)
{
    const struct cfr_sdk_gce_account *first = account_at(c, 0);

    return a == first || (a->email != NULL && first->email != NULL && strcmp(a->email, first->email) == 0);
}

int cfr_sdk_env_gce_metadata(struct cfr_sdk_env *e, const struct cfr_sdk_gce_metadata *c, const char *listen,
                             const char *credential, struct cfr_err *err)
{
    static const char *const host[] = {"GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"};
    const struct cfr_sdk_gce_account *a = account_of(c, credential);
    int rc = 0;

    if (a == NULL)
        return 0;
    /* Whoever was pointed there would be somebody else. */
    if (!is_default(c, a))
        return cfr_sdk_env_note(
            e, err,
            "http://%s serves it as the account %s, while SDKs ask for the default account, which is another "
            "credential: with GCE_METADATA_HOST=%s the program has to ask for that account by its name",
            listen, given(a->email) ? a->email : "that its identity names", listen);
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_GCP_METADATA))
        return cfr_sdk_env_note(e, err, "http://%s serves it as well", listen);
    for (size_t i = 0; rc == 0 && i < sizeof host / sizeof host[0]; i++)
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_GCP_METADATA, host[i], listen, err);
    /* Node looks once in its life whether the server is there. */
    if (rc == 0)
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_GCP_METADATA, "METADATA_SERVER_DETECTION", "assume-present", err);
    if (rc == 0 && given(c->project_id))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_GCP_METADATA, "GOOGLE_CLOUD_PROJECT", c->project_id, err);
    if (rc == 0 && given(a->credential) && !names(a->credential, credential))
        rc = cfr_sdk_env_note(e, err,
                              "http://%s gives its identity tokens; access tokens there are those of the credential %s",
                              listen, a->credential);
    return rc;
}

static const struct cfr_sdk_azure_identity *identity_at(const struct cfr_sdk_azure *c, size_t i)
{
    return (const struct cfr_sdk_azure_identity *)c->identities.items + i;
}

static int set_azure(struct cfr_sdk_env *e, const struct cfr_sdk_azure *c, const char *listen, struct cfr_err *err)
{
    int rc;

    if (c->header_file == NULL)
        return set_url(e, CFR_SDK_ENV_AZURE_IMDS, "AZURE_POD_IDENTITY_AUTHORITY_HOST", listen, "", err);
    rc = set_url(e, CFR_SDK_ENV_AZURE_APP_SERVICE, "IDENTITY_ENDPOINT", listen, "/msi/token", err);
    return rc != 0 ? rc
                   : cfr_sdk_env_set_file(e, CFR_SDK_ENV_AZURE_APP_SERVICE, "IDENTITY_HEADER", c->header_file, err);
}

int cfr_sdk_env_azure(struct cfr_sdk_env *e, const struct cfr_sdk_azure *c, const char *listen, const char *credential,
                      const char *client_id, struct cfr_err *err)
{
    enum cfr_sdk_env_way way = c->header_file != NULL ? CFR_SDK_ENV_AZURE_APP_SERVICE : CFR_SDK_ENV_AZURE_IMDS;
    const struct cfr_sdk_azure_identity *id;
    size_t i = 0;
    int rc;

    while (i < c->identities.count && !names(identity_at(c, i)->credential, credential))
        i++;
    if (i == c->identities.count)
        return 0;
    if (cfr_sdk_env_has_way(e, way))
        return cfr_sdk_env_note(e, err, "http://%s serves it as well", listen);
    id = identity_at(c, i);
    client_id = given(id->client_id) ? id->client_id : client_id;
    if (i != 0 && !given(client_id))
        return cfr_sdk_env_note(
            e, err,
            "http://%s serves it to those who select it by its object or resource ID, which no variable can "
            "say: write its client_id there",
            listen);
    rc = set_azure(e, c, listen, err);
    if (rc == 0 && given(client_id))
        rc = cfr_sdk_env_set(e, way, "AZURE_CLIENT_ID", client_id, err);
    return rc;
}
