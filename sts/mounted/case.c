/* SPDX-License-Identifier: MIT */
/* Helpers that the kinds of mounted Secrets share: reading keys, and filling in the exchange that follows from them. */
#include "sts/mounted/mounted_private.h"

#include "base/grant.h"
#include "base/str.h"
#include "sts/core/config.h"

#include <stdio.h>
#include <string.h>

/* A long value is held four times while it is parsed. */
#define YAML_MAX 524288

const char *const cfr_mounted_kinds[] = {"auto",  "aws",     "azure",   "gcp",      "openstack", "kubevirt",
                                         "ovirt", "vsphere", "nutanix", "ibmcloud", NULL};

struct cfr_view cfr_mounted_get(const struct cfr_mounted_case *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->keys[i].name, name) == 0)
            return cfr_view_trim(c->keys[i].value);
    }
    return (struct cfr_view){NULL, 0};
}

int cfr_mounted_await(const struct cfr_mounted_case *c, const char *name, struct cfr_view *out)
{
    *out = cfr_mounted_get(c, name);
    if (out->p == NULL)
        return cfr_err_set(c->err, CFR_E_MISSING, "waiting for the key %s, which it does not have yet", name);
    if (out->n == 0)
        return cfr_err_set(c->err, CFR_E_MISSING, "waiting for a value of the key %s, which is empty", name);
    return 0;
}

int cfr_mounted_need(const struct cfr_mounted_case *c, const char *name, struct cfr_view *out)
{
    int rc = cfr_mounted_await(c, name, out);

    if (rc == 0 && !cfr_view_printable(*out))
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "the value of %s has a line break or a character that is not printable",
                         name);
    return rc;
}

int cfr_mounted_yaml(const struct cfr_mounted_case *c, const char *key, struct cfr_view text, struct cfr_yaml **out)
{
    int line = 0;

    if (text.n > YAML_MAX)
        return cfr_err_set(c->err, CFR_E_CONFIG, "%s has %zu bytes; at most %d are read", key, text.n, YAML_MAX);
    return cfr_yaml_parse_limited(text, out, &line, c->err) != 0 ? cfr_err_prefix(c->err, "%s, line %d", key, line) : 0;
}

void cfr_mounted_note(const struct cfr_mounted_case *c, const char *note)
{
    if (c->out->note[0] == '\0')
        (void)snprintf(c->out->note, sizeof c->out->note, "%s", note);
}

void cfr_mounted_taken(const struct cfr_mounted_case *c, const char *word)
{
    char *to = c->out->taken;
    size_t n = strlen(to);

    (void)snprintf(to + n, sizeof c->out->taken - n, "%s%s", n != 0 ? ", " : "", word);
}

int cfr_mounted_token(const struct cfr_mounted_case *c, const char *key, struct cfr_view path)
{
    if (path.n == 0 || path.n > 4000 || path.p[0] != '/' || !cfr_view_printable(path))
        return cfr_err_set(c->err, CFR_E_CONFIG, "%s names no absolute path for the token", key);
    c->out->short_lived = true;
    cfr_mounted_taken(c, "the token's path");
    c->out->token_file = cfr_str_dup(path);
    return c->out->token_file != NULL ? 0 : cfr_err_nomem(c->err);
}

int cfr_mounted_exchange(const struct cfr_mounted_case *c, const struct cfr_sts_provider *provider)
{
    const struct cfr_sts_provider *wanted = c->options->provider;

    if (wanted != NULL && wanted != provider)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "it is one of kind %s, and `exchange:` is for %s; correct one of the two",
                           cfr_mounted_kinds[c->out->kind], wanted->name);
    c->out->provider = provider;
    return cfr_sts_config_new(provider, wanted != NULL ? c->options->config : NULL, &c->out->config, c->err);
}

int cfr_mounted_fill(const struct cfr_mounted_case *c, const char *key, struct cfr_view value)
{
    const struct cfr_mounted *m = c->out;
    int rc;

    if (value.n == 0 || cfr_sts_config_has(m->provider, m->config, key))
        return 0;
    rc = cfr_sts_config_set(m->provider, m->config, key, value, c->err);
    if (rc == 0)
        cfr_mounted_taken(c, key);
    return rc;
}

int cfr_mounted_content(const struct cfr_mounted_case *c, const char *key, struct cfr_view value)
{
    struct cfr_mounted *m = c->out;
    size_t before = m->content_count;
    int rc = cfr_sts_config_add_content(m->provider, m->config, key, value, m->contents, &m->content_count, c->err);
    char word[64];

    if (rc == 0 && m->content_count != before) {
        (void)snprintf(word, sizeof word, "%.*s", (int)(strlen(key) - strlen("_file")), key);
        cfr_mounted_taken(c, word);
    }
    return rc;
}

/* The field of the grant has the name of the key. */
static const struct {
    const char *field;
    enum cfr_mounted_kind kind;
} facts[] = {
    {CFR_FIELD_AZURE_REGION, CFR_MOUNTED_AZURE},
    {CFR_FIELD_AZURE_SUBSCRIPTION_ID, CFR_MOUNTED_AZURE},
    {CFR_FIELD_AZURE_RESOURCEGROUP, CFR_MOUNTED_AZURE},
    {CFR_FIELD_AZURE_RESOURCE_PREFIX, CFR_MOUNTED_AZURE},
};

int cfr_mounted_kind_of_fact(const char *field)
{
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (strcmp(facts[i].field, field) == 0)
            return (int)facts[i].kind;
    }
    return CFR_MOUNTED_UNKNOWN;
}

int cfr_mounted_facts(const struct cfr_mounted_case *c)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof facts / sizeof facts[0]; i++) {
        struct cfr_view value = {NULL, 0};

        if (facts[i].kind != c->out->kind || cfr_mounted_get(c, facts[i].field).n == 0)
            continue;
        rc = cfr_mounted_need(c, facts[i].field, &value);
        c->out->facts[c->out->fact_count++] = (struct cfr_mounted_fact){facts[i].field, value};
    }
    return rc;
}

/* True if KEY is among the words of what was taken; a file's content is there without "_file". */
static bool is_taken(const struct cfr_mounted *m, struct cfr_view key)
{
    static const char suffix[] = "_file";
    const size_t n = sizeof suffix - 1;
    struct cfr_view rest = cfr_view_of(m->taken);

    if (key.n > n && memcmp(key.p + key.n - n, suffix, n) == 0)
        key.n -= n;
    while (rest.n != 0) {
        const char *end = memchr(rest.p, ',', rest.n);
        struct cfr_view word = {rest.p, end != NULL ? (size_t)(end - rest.p) : rest.n};

        if (cfr_view_eq(word, key))
            return true;
        rest = (struct cfr_view){word.p + word.n, rest.n - word.n};
        while (rest.n != 0 && (rest.p[0] == ',' || rest.p[0] == ' '))
            rest = (struct cfr_view){rest.p + 1, rest.n - 1};
    }
    return false;
}

/* Keys whose names in the Secret are others. */
static const struct {
    enum cfr_mounted_kind kind;
    const char *key;
    const char *name;
} names[] = {
    {CFR_MOUNTED_AWS, "session_name", "role_session_name in credentials"},
    {CFR_MOUNTED_AWS, "duration", "duration_seconds in credentials"},
    {CFR_MOUNTED_AWS, "access_key_id_file", "aws_access_key_id"},
    {CFR_MOUNTED_AWS, "secret_access_key_file", "aws_secret_access_key"},
    {CFR_MOUNTED_AWS, "role_arn", "role_arn in credentials"},
    {CFR_MOUNTED_AWS, "external_id", "external_id in credentials"},
    {CFR_MOUNTED_AWS, "region", "region in credentials"},
    {CFR_MOUNTED_AZURE, "client_id", "azure_client_id"},
    {CFR_MOUNTED_AZURE, "tenant_id", "azure_tenant_id"},
    {CFR_MOUNTED_AZURE, "client_secret_file", "azure_client_secret"},
    {CFR_MOUNTED_GCP, "credentials_file", "service_account.json"},
    {CFR_MOUNTED_OPENSTACK, "application_credential_secret_file", "application_credential_secret in clouds.yaml"},
    {CFR_MOUNTED_OPENSTACK, "password_file", "password in clouds.yaml"},
    {CFR_MOUNTED_OPENSTACK, "ca_file", "cacert"},
};

static const char *find_name(const void *ctx, struct cfr_view key, char buf[CFR_STS_ORIGIN_MAX])
{
    const struct cfr_mounted *m = ctx;

    (void)snprintf(buf, CFR_STS_ORIGIN_MAX, "%.*s", (int)(key.n < 100 ? key.n : 100), key.p);
    if (!is_taken(m, key) && cfr_sts_config_has(m->provider, m->config, buf))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].kind == m->kind && cfr_view_is(key, names[i].key))
            return names[i].name;
    }
    /* Most keys of clouds.yaml are those of the configuration. */
    if (m->kind != CFR_MOUNTED_OPENSTACK || cfr_field_find(m->provider->table, key) == NULL)
        return NULL;
    (void)snprintf(buf, CFR_STS_ORIGIN_MAX, "%.*s in clouds.yaml", (int)(key.n < 100 ? key.n : 100), key.p);
    return buf;
}

void cfr_mounted_name_keys(const struct cfr_mounted *m, struct cfr_err *err)
{
    if (m->provider == NULL || m->config == NULL)
        return;
    cfr_sts_config_name_origin(m->provider, m->config, err->text, sizeof err->text);
    cfr_sts_name_origin(err->text, sizeof err->text, find_name, m);
}
