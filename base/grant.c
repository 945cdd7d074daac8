/* SPDX-License-Identifier: MIT */
/* Grants: named secret values with one lifetime. */
#include "base/grant.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const struct cfr_grant_kind cfr_grant_kinds[] = {
    {.field = CFR_FIELD_AWS_ACCESS_KEY_ID, .kind = "aws"},
    {.field = CFR_FIELD_GCP_ACCESS_TOKEN, .kind = "gcp", .token = true, .cluster = 3},
    {.field = CFR_FIELD_AZURE_ACCESS_TOKEN, .kind = "azure", .token = true, .cluster = 2},
    {.field = CFR_FIELD_OPENSTACK_TOKEN, .kind = "openstack", .token = true},
    {.field = CFR_FIELD_OPENSTACK_AUTH_URL, .kind = "openstack"},
    {.field = CFR_FIELD_OAUTH_ACCESS_TOKEN, .kind = "oauth", .token = true, .cluster = 4},
    {.field = CFR_FIELD_GCP_ID_TOKEN, .kind = "gcp", .token = true, .subject = 3},
    {.field = CFR_FIELD_OAUTH_ID_TOKEN, .kind = "oauth", .token = true, .subject = 2, .cluster = 1},
    {.field = CFR_FIELD_REGISTRY_AUTHS, .kind = "registry"},
    {.field = CFR_FIELD_TOKEN, .kind = "token", .token = true, .subject = 1, .cluster = 5},
    {.field = NULL}};

/* Index of the field, or field_count. */
static size_t find(const struct cfr_grant *g, const char *name)
{
    size_t i = 0;

    while (i < g->field_count && strcmp(g->fields[i].name, name) != 0)
        i++;
    return i;
}

int cfr_grant_set(struct cfr_grant *g, const char *name, struct cfr_view value, struct cfr_err *err)
{
    size_t i = find(g, name);
    struct cfr_secret copy;
    char *own = NULL;
    int rc;

    if (i == CFR_GRANT_FIELDS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "no room for the field %s", name);
    cfr_secret_init(&copy, CFR_GRANT_VALUE_MAX);
    rc = cfr_secret_append(&copy, value, err);
    if (rc == 0 && i == g->field_count) {
        own = strdup(name);
        if (own == NULL)
            rc = cfr_err_nomem(err);
    }
    if (rc != 0) {
        cfr_secret_free(&copy);
        return rc;
    }
    if (i == g->field_count)
        g->fields[g->field_count++] = (struct cfr_grant_field){.name = own};
    cfr_secret_move(&g->fields[i].value, &copy);
    return 0;
}

struct cfr_view cfr_grant_get(const struct cfr_grant *g, const char *name)
{
    size_t i = find(g, name);

    return i < g->field_count ? cfr_secret_view(&g->fields[i].value) : (struct cfr_view){NULL, 0};
}

int cfr_grant_set_identity(struct cfr_grant *g, struct cfr_view identity, struct cfr_err *err)
{
    char *copy;

    if (identity.n > CFR_GRANT_IDENTITY_MAX || !cfr_view_printable(identity))
        return cfr_err_set(err, CFR_E_ANSWER, "the identity in the answer is too long or not printable");
    copy = cfr_str_dup(identity);
    if (copy == NULL)
        return cfr_err_nomem(err);
    free(g->identity);
    g->identity = copy;
    return 0;
}

void cfr_grant_free(struct cfr_grant *g)
{
    for (size_t i = 0; i < g->field_count; i++) {
        cfr_secret_free(&g->fields[i].value);
        free(g->fields[i].name);
    }
    free(g->identity);
    *g = (struct cfr_grant){0};
}

void cfr_grant_move(struct cfr_grant *to, struct cfr_grant *from)
{
    if (to == from)
        return;
    cfr_grant_free(to);
    *to = *from;
    *from = (struct cfr_grant){0};
}
