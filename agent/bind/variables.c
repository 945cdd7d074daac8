/* SPDX-License-Identifier: MIT */
/* Errors about a configuration that was made from the environment, in the names that the environment has. */
#include "agent/bind/variables.h"

#include "sts/core/origin.h"
#include "sts/providers.h"

#include <stdio.h>
#include <string.h>

/* Keys that are not the provider's. */
static const struct {
    const char *credential; /* NULL: of each, or of the whole configuration */
    const char *key;
    const char *variables;
} others[] = {
    {NULL, "state_dir", "CREDFRESH_STATE_DIR"},
    {NULL, "control_socket", "CREDFRESH_STATE_DIR"},
    {NULL, "listen", "CREDFRESH_LISTEN"},
    {NULL, "directory", "CREDFRESH_DIRECTORY"},
    {"aws", "file", "AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"},
    {"azure", "file", "AZURE_FEDERATED_TOKEN_FILE"},
    {"gcp", "file", "GOOGLE_APPLICATION_CREDENTIALS"},
    {"gcp", "json_field", "GOOGLE_APPLICATION_CREDENTIALS"},
};

/* What an error is about. */
struct place {
    const char *(*env)(const char *);
    struct cfr_view credential;
};

static const char *list_variables(struct cfr_view credential, struct cfr_view key)
{
    struct cfr_variant v;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (cfr_view_is(key, others[i].key) &&
            (others[i].credential == NULL || cfr_view_is(credential, others[i].credential)))
            return others[i].variables;
    }
    /* The credential has the name of its provider, or of the one that aws_container belongs to. */
    for (size_t i = 0; credential.n != 0 && (v = cfr_sts_variant(i)).key != NULL; i++) {
        const struct cfr_field *f = cfr_field_find(v.table, key);

        if (strncmp(v.key, credential.p, credential.n) == 0 && f != NULL && f->variables != NULL)
            return f->variables;
    }
    return NULL;
}

/* The variable that KEY was made from, or the one to set where none is; NULL where the environment has no such key. */
static const char *find_variable(const void *ctx, struct cfr_view key, char buf[CFR_STS_ORIGIN_MAX])
{
    const struct place *place = ctx;
    const char *all = list_variables(place->credential, key);
    const char *rest = all;

    while (rest != NULL && *rest != '\0') {
        size_t n = strcspn(rest, " ");
        const char *value;

        (void)snprintf(buf, CFR_STS_ORIGIN_MAX, "%.*s", (int)n, rest);
        value = place->env(buf);
        if (value != NULL && value[0] != '\0')
            return buf;
        rest += n + strspn(rest + n, " ");
    }
    if (all != NULL)
        (void)snprintf(buf, CFR_STS_ORIGIN_MAX, "%.*s", (int)strcspn(all, " "), all);
    return all != NULL ? buf : NULL;
}

void cfr_config_diagnostics_name_variables(const char *(*env)(const char *), const char *credential, char *text,
                                           size_t size)
{
    static const char of[] = "credential ";
    struct place place = {env, cfr_view_of(credential)};
    static const char used[] = "it is used at once";
    static const char restart[] = "restart credfresh"; /* the environment of a process remains as it is */
    const char *at = strncmp(text, of, sizeof of - 1) == 0 ? strstr(text, ": ") : NULL;
    char name[64];
    char *end;

    if (credential == NULL && at != NULL) {
        place.credential = (struct cfr_view){text + sizeof of - 1, (size_t)(at - text) - (sizeof of - 1)};
        (void)cfr_view_show(place.credential, name, sizeof name);
        place.credential = cfr_view_of(name);
        memmove(text, at + 2, strlen(at + 2) + 1);
    }
    cfr_sts_name_origin(text, size, find_variable, &place);
    end = strstr(text, used);
    if (end != NULL) {
        memcpy(end, restart, sizeof restart - 1);
        memmove(end + sizeof restart - 1, end + sizeof used - 1, strlen(end + sizeof used - 1) + 1);
    }
}
