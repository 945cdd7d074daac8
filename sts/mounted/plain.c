/* SPDX-License-Identifier: MIT */
/* Mounted Secrets of clouds that give nothing short-lived for them: checked, and passed on as they are.
 * Source: the cloud credential operator's actuators and ccoctl. */
#include "sts/mounted/mounted_private.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

int cfr_mounted_kubevirt(const struct cfr_mounted_case *c)
{
    struct cfr_view text;
    struct cfr_yaml *doc = NULL;
    int rc = cfr_mounted_await(c, "kubeconfig", &text);

    if (rc == 0)
        rc = cfr_mounted_yaml(c, "kubeconfig", text, &doc);
    if (rc == 0 && cfr_yaml_get(cfr_yaml_root(doc), "clusters", NULL) == NULL)
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "kubeconfig names no clusters");
    cfr_yaml_free(doc);
    return rc;
}

/* Go's strconv.ParseBool, with which the operator reads it. */
static bool is_go_bool(struct cfr_view v)
{
    static const char *const words[] = {"1", "t", "T", "TRUE",  "true",  "True",
                                        "0", "f", "F", "FALSE", "false", "False"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (cfr_view_is(v, words[i]))
            return true;
    }
    return false;
}

int cfr_mounted_ovirt(const struct cfr_mounted_case *c)
{
    static const char *const needed[] = {"ovirt_url", "ovirt_username", "ovirt_password", "ovirt_insecure"};
    struct cfr_view value = {NULL, 0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof needed / sizeof needed[0]; i++)
        rc = cfr_mounted_await(c, needed[i], &value);
    if (rc == 0 && !is_go_bool(value))
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "ovirt_insecure is neither true nor false");
    if (rc == 0 && cfr_mounted_get(c, "ovirt_ca_bundle").p == NULL)
        rc = cfr_err_set(c->err, CFR_E_MISSING, "waiting for the key ovirt_ca_bundle, which it does not have yet");
    return rc;
}

/* Each vCenter has a pair. */
static int check_pair(const struct cfr_mounted_case *c, const char *name, const char *suffix, const char *other)
{
    char want[300];
    size_t n = strlen(name);
    size_t m = strlen(suffix);
    struct cfr_view value;
    int rc;

    if (n <= m || strcmp(name + n - m, suffix) != 0 || n > 253)
        return 0;
    (void)snprintf(want, sizeof want, "%.*s%s", (int)(n - m), name, other);
    rc = cfr_mounted_await(c, name, &value);
    return rc == 0 ? cfr_mounted_await(c, want, &value) : rc;
}

int cfr_mounted_vsphere(const struct cfr_mounted_case *c)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->count; i++) {
        rc = check_pair(c, c->keys[i].name, ".username", ".password");
        if (rc == 0)
            rc = check_pair(c, c->keys[i].name, ".password", ".username");
    }
    return rc;
}

static int check_nutanix(const struct cfr_mounted_case *c, const struct cfr_json *item)
{
    static const char *const user[] = {"data", "prismCentral", "username", NULL};
    static const char *const password[] = {"data", "prismCentral", "password", NULL};
    struct cfr_view type;
    struct cfr_view value;

    if (!cfr_json_string(cfr_json_get(item, "type"), &type) || !cfr_view_is(type, "basic_auth"))
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials holds an item that is not of the type basic_auth");
    if (!cfr_json_string(cfr_json_path(item, user), &value) || value.n == 0 ||
        !cfr_json_string(cfr_json_path(item, password), &value) || value.n == 0)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials lacks data.prismCentral with username and password");
    return 0;
}

int cfr_mounted_nutanix(const struct cfr_mounted_case *c)
{
    struct cfr_json *doc = NULL;
    struct cfr_view text;
    int rc = cfr_mounted_await(c, "credentials", &text);

    if (rc == 0)
        rc = cfr_json_parse(text, &doc, c->err);
    if (rc == CFR_E_ANSWER)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials is no JSON");
    if (rc == 0 && (!cfr_json_is_array(doc) || cfr_json_count(doc) == 0))
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "credentials is no JSON array with a credential in it");
    for (size_t i = 0; rc == 0 && i < cfr_json_count(doc); i++)
        rc = check_nutanix(c, cfr_json_at(doc, i));
    cfr_json_free(doc);
    return rc;
}

int cfr_mounted_ibmcloud(const struct cfr_mounted_case *c)
{
    struct cfr_view key;
    struct cfr_view file = cfr_mounted_get(c, "ibm-credentials.env");
    int rc = cfr_mounted_need(c, "ibmcloud_api_key", &key);

    if (rc == 0 && file.n != 0 && cfr_view_find(file, "IBMCLOUD_APIKEY=") < 0)
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "ibm-credentials.env has no IBMCLOUD_APIKEY");
    return rc;
}
