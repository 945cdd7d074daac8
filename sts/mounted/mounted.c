/* SPDX-License-Identifier: MIT */
/* Determines the kind of a mounted Secret by its keys. */
#include "sts/mounted/mounted_private.h"

#include "base/str.h"
#include "sts/core/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key by which a kind is known. */
static const struct mark {
    const char *key;
    enum cfr_mounted_kind kind;
} marks[] = {
    {"aws_access_key_id", CFR_MOUNTED_AWS},     {"aws_secret_access_key", CFR_MOUNTED_AWS},
    {"azure_client_id", CFR_MOUNTED_AZURE},     {"azure_tenant_id", CFR_MOUNTED_AZURE},
    {"azure_client_secret", CFR_MOUNTED_AZURE}, {"azure_federated_token_file", CFR_MOUNTED_AZURE},
    {"service_account.json", CFR_MOUNTED_GCP},  {"clouds.yaml", CFR_MOUNTED_OPENSTACK},
    {"kubeconfig", CFR_MOUNTED_KUBEVIRT},       {"ovirt_url", CFR_MOUNTED_OVIRT},
    {"ovirt_username", CFR_MOUNTED_OVIRT},      {"ovirt_password", CFR_MOUNTED_OVIRT},
    {"ibmcloud_api_key", CFR_MOUNTED_IBMCLOUD},
};

static cfr_mounted_fn *const readers[] = {
    [CFR_MOUNTED_AWS] = cfr_mounted_aws,           [CFR_MOUNTED_AZURE] = cfr_mounted_azure,
    [CFR_MOUNTED_GCP] = cfr_mounted_gcp,           [CFR_MOUNTED_OPENSTACK] = cfr_mounted_openstack,
    [CFR_MOUNTED_KUBEVIRT] = cfr_mounted_kubevirt, [CFR_MOUNTED_OVIRT] = cfr_mounted_ovirt,
    [CFR_MOUNTED_VSPHERE] = cfr_mounted_vsphere,   [CFR_MOUNTED_NUTANIX] = cfr_mounted_nutanix,
    [CFR_MOUNTED_IBMCLOUD] = cfr_mounted_ibmcloud,
};

bool cfr_mounted_is_exchanged(int kind)
{
    return kind == CFR_MOUNTED_AWS || kind == CFR_MOUNTED_AZURE || kind == CFR_MOUNTED_GCP ||
           kind == CFR_MOUNTED_OPENSTACK;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t m = strlen(suffix);

    return n > m && strcmp(text + n - m, suffix) == 0;
}

/* `credentials` is an ini file for AWS and a JSON array for Nutanix, and both begin with a bracket. Which of
 * the two it will be while it is still EMPTY is up to the caller. */
static enum cfr_mounted_kind kind_of_credentials(struct cfr_view value, enum cfr_mounted_kind empty)
{
    struct cfr_view inside = cfr_view_trim(value);

    if (inside.n == 0)
        return empty;
    if (inside.p[0] != '[')
        return CFR_MOUNTED_AWS;
    inside = cfr_view_trim((struct cfr_view){inside.p + 1, inside.n - 1});
    return inside.n != 0 && (inside.p[0] == '{' || inside.p[0] == ']') ? CFR_MOUNTED_NUTANIX : CFR_MOUNTED_AWS;
}

static enum cfr_mounted_kind kind_of(const struct cfr_mounted_key *key, enum cfr_mounted_kind expect)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (strcmp(key->name, marks[i].key) == 0)
            return marks[i].kind;
    }
    if (strcmp(key->name, "credentials") == 0)
        return kind_of_credentials(key->value, expect == CFR_MOUNTED_NUTANIX ? expect : CFR_MOUNTED_AWS);
    if (has_suffix(key->name, ".username") || has_suffix(key->name, ".password"))
        return CFR_MOUNTED_VSPHERE;
    return CFR_MOUNTED_UNKNOWN;
}

static int recognise(const struct cfr_mounted_case *c, enum cfr_mounted_kind *out)
{
    const char *first = NULL;

    *out = CFR_MOUNTED_UNKNOWN;
    for (size_t i = 0; i < c->count; i++) {
        enum cfr_mounted_kind kind = kind_of(&c->keys[i], CFR_MOUNTED_UNKNOWN);

        if (kind == CFR_MOUNTED_UNKNOWN || kind == *out)
            continue;
        if (*out != CFR_MOUNTED_UNKNOWN)
            return cfr_err_set(
                c->err, CFR_E_CONFIG,
                "it holds the key %.64s of kind %s and the key %.64s of kind %s; say which it is with `kind`", first,
                cfr_mounted_kinds[*out], c->keys[i].name, cfr_mounted_kinds[kind]);
        *out = kind;
        first = c->keys[i].name;
    }
    return 0;
}

static bool has_kind(const struct cfr_mounted_case *c, enum cfr_mounted_kind kind)
{
    for (size_t i = 0; i < c->count; i++) {
        if (kind_of(&c->keys[i], kind) == kind)
            return true;
    }
    return false;
}

static int decide_kind(const struct cfr_mounted_case *c)
{
    enum cfr_mounted_kind expect = (enum cfr_mounted_kind)c->options->expect;
    int rc;

    if (expect != CFR_MOUNTED_UNKNOWN) {
        c->out->kind = expect;
        return has_kind(c, expect)
                   ? 0
                   : cfr_err_set(c->err, CFR_E_CONFIG, "it holds no key of kind %s, which is expected here",
                                 cfr_mounted_kinds[expect]);
    }
    rc = recognise(c, &c->out->kind);
    if (rc == CFR_E_CONFIG && c->options->pass_on) {
        cfr_mounted_note(c, "it holds keys of more than one kind; they are passed on unchecked");
        c->out->kind = CFR_MOUNTED_UNKNOWN;
        return 0;
    }
    if (rc == 0 && c->out->kind == CFR_MOUNTED_UNKNOWN && !c->options->pass_on)
        rc = cfr_err_set(c->err, CFR_E_CONFIG,
                         "it is of no kind that is known (its first key is %.64s); write pass_on: true to "
                         "publish it as it is",
                         c->count != 0 ? c->keys[0].name : "none");
    return rc;
}

/* No exchange is wanted: what was found out about one is dropped. */
static void drop_exchange(struct cfr_mounted *m)
{
    cfr_sts_config_free(m->provider, m->config);
    m->config = NULL;
    m->provider = NULL;
    m->content_count = 0;
    m->fact_count = 0;
    free(m->token_file);
    m->token_file = NULL;
    free(m->token_field);
    m->token_field = NULL;
}

/* The rules of an exchange name its keys: "KEY: ...". */
static int refuse_value(const struct cfr_mounted_case *c, int rc)
{
    const char *end = c->err != NULL ? strstr(c->err->text, ": ") : NULL;

    if (end != NULL && strcspn(c->err->text, " ") == (size_t)(end - c->err->text) + 1)
        cfr_mounted_name_keys(c->out, c->err);
    return rc;
}

int cfr_mounted_read(const struct cfr_mounted_key *keys, size_t count, const struct cfr_mounted_options *options,
                     struct cfr_mounted *out, struct cfr_err *err)
{
    struct cfr_mounted_case c = {keys, count, options, out, err};
    int rc;

    *out = (struct cfr_mounted){.kind = CFR_MOUNTED_UNKNOWN};
    rc = decide_kind(&c);
    if (rc == 0 && out->kind != CFR_MOUNTED_UNKNOWN)
        rc = readers[out->kind](&c);
    if (rc != 0)
        return refuse_value(&c, rc);
    if (options->pass_on)
        drop_exchange(out);
    else if (options->provider != NULL && out->provider == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "a Secret of kind %s is passed on, but `exchange:` is for %s; remove `exchange`",
                           cfr_mounted_kinds[out->kind], options->provider->name);
    if (out->provider != NULL && out->provider->table->check != NULL)
        rc = out->provider->table->check(out->config, err);
    return rc != 0 ? refuse_value(&c, rc) : 0;
}

void cfr_mounted_free(struct cfr_mounted *m)
{
    drop_exchange(m);
    cfr_secret_free(&m->own);
    cfr_secret_free(&m->ca);
}
