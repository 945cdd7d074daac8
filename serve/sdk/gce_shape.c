/* SPDX-License-Identifier: MIT */
/* Configuration of the GCE metadata shape, and the variables that lead to it. */
#include "serve/sdk/gce_private.h"

#include <string.h>

static int check_digits(const char *key, const char *text, struct cfr_err *err)
{
    if (text == NULL || strspn(text, "0123456789") == strlen(text))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "%s: is a number of decimal digits", key);
}

/* What ACCOUNT is asked for by: its email first, then its aliases; NULL after the last. */
static const char *name_at(const struct cfr_sdk_gce_account *a, size_t i)
{
    if (a->email != NULL && i-- == 0)
        return a->email;
    return i < a->aliases.count ? a->aliases.items[i] : NULL;
}

static bool has_name(const struct cfr_sdk_gce_account *a, const char *name)
{
    const char *other;

    for (size_t i = 0; (other = name_at(a, i)) != NULL; i++) {
        if (strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Two accounts of one name: only the first would ever be asked. */
static int check_names(const struct cfr_list *accounts, struct cfr_err *err)
{
    const struct cfr_sdk_gce_account *all = accounts->items;

    for (size_t i = 0; i < accounts->count; i++) {
        const char *name;

        for (size_t n = 0; (name = name_at(&all[i], n)) != NULL; n++) {
            if (i != 0 && strcmp(name, "default") == 0)
                return cfr_err_set(
                    err, CFR_E_CONFIG,
                    "accounts: the alias default belongs to the first account, on line %d; remove it on line %d",
                    all[0].node.line, all[i].node.line);
            for (size_t k = 0; k < i; k++) {
                if (has_name(&all[k], name))
                    return cfr_err_set(err, CFR_E_CONFIG,
                                       "accounts: two are called %.100s, on lines %d and %d; rename one", name,
                                       all[k].node.line, all[i].node.line);
            }
        }
    }
    return 0;
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_gce_metadata *g = node;
    int rc = check_digits("numeric_project_id", g->numeric_project_id, err);

    if (rc == 0)
        rc = check_digits("instance_id", g->instance_id, err);
    if (rc == 0 && g->cluster_location != NULL && g->cluster_name == NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG, "cluster_location: has no effect without `cluster_name`; add it");
    return rc != 0 ? rc : check_names(&g->accounts, err);
}

static int check_account(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_gce_account *a = node;
    const char *name;

    for (size_t i = 0; (name = name_at(a, i)) != NULL; i++) {
        if (!cfr_sdk_shape_is_plain(name, "@._+-:"))
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: %.100s cannot be a part of a path; use letters, digits and @._+-:",
                               name == a->email ? "email" : "aliases", name);
    }
    if (a->credential == NULL && a->identities.count == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "has nothing to serve; write `credential`, `identities` or both");
    if (a->credential == NULL && a->scopes.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "scopes: are those of an access token; add `credential`");
    for (size_t i = 0; i < a->identities.count; i++) {
        const struct cfr_sdk_gce_identity *all = a->identities.items;

        for (size_t k = 0; k < i; k++) {
            if (all[i].audience != NULL && all[k].audience != NULL && strcmp(all[i].audience, all[k].audience) == 0)
                return cfr_err_set(err, CFR_E_CONFIG, "identities: %.100s occurs twice, on lines %d and %d; remove one",
                                   all[i].audience, all[k].node.line, all[i].node.line);
        }
    }
    return 0;
}

#define AT(member) offsetof(struct cfr_sdk_gce_identity, member)
static const struct cfr_field identity_fields[] = {
    {FIELD(audience, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 512,
     .doc = CFR_DOC("The audience that a client requests.")},
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = CFR_DOC("The credential with the identity token for it (`id_token_audience` of its exchange).")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table identity_table = {
    .name = "identity token",
    .size = sizeof(struct cfr_sdk_gce_identity),
    .fields = identity_fields,
    .doc = CFR_DOC("An identity token of the account."),
};

#define AT(member) offsetof(struct cfr_sdk_gce_account, member)
static const struct cfr_field account_fields[] = {
    {FIELD(credential, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC(
         "The credential with the access token, by its name. Default: none, the account has identity tokens only.")},
    {FIELD(email, STRING), .min = 1, .max = 320,
     .doc = CFR_DOC("The account's name. Default: the credential's service account. Several accounts "
                    "with one name are one account with several sets of scopes.")},
    {FIELD(aliases, STRINGS), .min = 1, .max = 8,
     .doc = CFR_DOC("Further names. The first account is also `default`.")},
    {FIELD(scopes, STRINGS), .min = 1, .max = 16,
     .doc = CFR_DOC("Scopes of the access token. Default: "
                    "`https://www.googleapis.com/auth/cloud-platform`.")},
    {FIELD(identities, LIST), .table = &identity_table, .min = 1, .max = CFR_SDK_SHAPE_LIST_MAX,
     .doc = CFR_DOC("Identity tokens, one for each audience.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table account_table = {
    .name = "account",
    .size = sizeof(struct cfr_sdk_gce_account),
    .fields = account_fields,
    .check = check_account,
    .doc = CFR_DOC("A service account of the machine."),
};

#define AT(member) offsetof(struct cfr_sdk_gce_metadata, member)
static const struct cfr_field fields[] = {
    {FIELD(project_id, STRING), .min = 1, .max = 63, .doc = CFR_DOC("The project's id. Default: clients find none.")},
    {FIELD(numeric_project_id, STRING), .min = 1, .max = 20, .doc = CFR_DOC("The project's number, in quotes.")},
    {FIELD(zone, STRING), .min = 1, .max = 63, .doc = CFR_DOC("Such as europe-west1-b.")},
    {FIELD(universe_domain, STRING), .min = 1, .max = 253,
     .doc = CFR_DOC("Domain of the universe. Default: none, which clients take for googleapis.com.")},
    {FIELD(instance_name, STRING), .min = 1, .max = 63, .doc = CFR_DOC("The machine's name.")},
    {FIELD(instance_id, STRING), .min = 1, .max = 20,
     .doc = CFR_DOC("The machine's number, in quotes. Default: computed from project, zone and name.")},
    {FIELD(cluster_name, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC("Name of the Kubernetes cluster, for clients that read it.")},
    {FIELD(cluster_location, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC("Its location. Default: the zone, if a cluster is set.")},
    {FIELD(accounts, LIST), .flags = CFR_FIELD_REQUIRED, .table = &account_table, .min = 1,
     .max = CFR_SDK_SHAPE_LIST_MAX, .doc = CFR_DOC("The machine's service accounts.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "GCE metadata endpoint",
    .size = sizeof(struct cfr_sdk_gce_metadata),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("The metadata server of Google's machines (`GCE_METADATA_HOST`). Clients send no secret: every "
                   "process that can connect gets the credentials."),
};

/* Names that resolve nowhere but on Google's machines and where they are pointed here on purpose. */
static bool is_host(struct cfr_view host)
{
    static const char *const names[] = {"metadata.google.internal",    "metadata.google.internal.",    "metadata",
                                        "metadata.google.internal:80", "metadata.google.internal.:80", "metadata:80"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cfr_view_is_nocase(host, names[i]))
            return true;
    }
    return false;
}

static const struct cfr_sdk_gce_account *account_at(const struct cfr_sdk_gce_metadata *c, size_t i)
{
    return (const struct cfr_sdk_gce_account *)c->accounts.items + i;
}

static bool gives_identity(const struct cfr_sdk_gce_account *a, const char *credential)
{
    for (size_t i = 0; i < a->identities.count; i++) {
        if (cfr_sdk_shape_names(((const struct cfr_sdk_gce_identity *)a->identities.items + i)->credential, credential))
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
        found = cfr_sdk_shape_names(account_at(c, i)->credential, credential) ? account_at(c, i) : NULL;
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

static void each_use(const void *config, cfr_sdk_use_fn *each, void *ctx)
{
    const struct cfr_sdk_gce_metadata *c = config;

    for (size_t i = 0; i < c->accounts.count; i++) {
        const struct cfr_sdk_gce_account *a = account_at(c, i);
        const struct cfr_sdk_gce_identity *ids = a->identities.items;

        if (a->credential != NULL)
            each(ctx, &(struct cfr_sdk_use){.credential = a->credential,
                                            .key = "gce_metadata.accounts.credential",
                                            .line = a->node.line,
                                            .field = CFR_FIELD_GCP_ACCESS_TOKEN});
        for (size_t k = 0; k < a->identities.count; k++)
            each(ctx, &(struct cfr_sdk_use){.credential = ids[k].credential,
                                            .key = "gce_metadata.accounts.identities.credential",
                                            .line = ids[k].node.line,
                                            .field = CFR_FIELD_GCP_ID_TOKEN,
                                            .audience = ids[k].audience});
    }
}

static int add_env(struct cfr_sdk_env *e, const void *config, const char *listen, const char *credential,
                   const char *client_id, struct cfr_err *err)
{
    const struct cfr_sdk_gce_metadata *c = config;
    static const char *const host[] = {"GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"};
    const struct cfr_sdk_gce_account *a = account_of(c, credential);
    int rc = 0;

    (void)client_id;
    if (a == NULL)
        return 0;
    /* SDKs that are pointed there would get another credential. */
    if (!is_default(c, a))
        return cfr_sdk_env_note(
            e, err,
            "http://%s serves it as the account %s, while SDKs ask for the default account, which is another "
            "credential: with GCE_METADATA_HOST=%s the program has to ask for that account by its name",
            listen, cfr_sdk_shape_given(a->email) ? a->email : "that its identity names", listen);
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_GCP_METADATA))
        return cfr_sdk_shape_note_second(e, listen, "", err);
    for (size_t i = 0; rc == 0 && i < sizeof host / sizeof host[0]; i++)
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_GCP_METADATA, host[i], listen, err);
    /* Node looks once in its life whether the server is there. */
    if (rc == 0)
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_GCP_METADATA, "METADATA_SERVER_DETECTION", "assume-present", err);
    if (rc == 0 && cfr_sdk_shape_given(c->project_id))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_GCP_METADATA, "GOOGLE_CLOUD_PROJECT", c->project_id, err);
    if (rc == 0 && cfr_sdk_shape_given(a->credential) && !cfr_sdk_shape_names(a->credential, credential))
        rc = cfr_sdk_env_note(e, err,
                              "http://%s gives its identity tokens; access tokens there are those of the credential %s",
                              listen, a->credential);
    return rc;
}

const struct cfr_sdk_shape cfr_sdk_gce_metadata_shape = {
    .name = "gce_metadata",
    .doc = CFR_DOC("GCE's metadata server."),
    .table = &table,
    .prefix = CFR_SDK_GCE_PATH,
    .is_host = is_host,
    .each_use = each_use,
    .answer = cfr_sdk_gce_answer,
    .env = add_env,
};
