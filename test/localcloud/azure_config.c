/* SPDX-License-Identifier: MIT */
/* The settings of Entra ID: tenants, applications and their credentials. */
#include "azure.h"

#include "token_proof.h"
#include "volume.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FEDERATED = 20,
    MOST_CHARS = 600,
    MOST_PEM_BYTES = 65536,
    LIFE_S = 3599,
    MOST_DELAY_S = 3600,
    MOST_SECRETS = 600
};

/* What a tenant knows when an application names no resources. */
static const char *const common_resources[] = {
    "https://management.azure.com",        "https://management.core.windows.net",
    "https://graph.microsoft.com",         "https://vault.azure.net",
    "https://storage.azure.com",           "https://database.windows.net",
    "https://containerregistry.azure.net", "https://servicebus.azure.net",
    "https://eventhubs.azure.net",         "https://ossrdbms-aad.database.windows.net"};

static int check_text(const char *where, const char *key, const char *text, struct lc_fail *fail)
{
    return *text != '\0' && lc_text_points(text) <= MOST_CHARS
               ? 0
               : lc_fail_set(fail, "%s: \"%s\" must have 1 to %d characters", where, key, MOST_CHARS);
}

static int check_federated(struct lc_cloud *cloud, json_t *item, struct lc_fail *fail)
{
    static const char *const known[] = {"issuer", "subject", "audience", NULL};
    const char *issuer = lc_issuer_url(cloud->issuer);
    const char *subject = "";
    const char *audience = "";

    if (lc_json_keys(item, "federated", known, fail) != 0 ||
        lc_json_text(item, "federated", "issuer", &issuer, fail) != 0 ||
        lc_json_text(item, "federated", "subject", &subject, fail) != 0 ||
        lc_json_text(item, "federated", "audience", &audience, fail) != 0 ||
        check_text("federated", "issuer", issuer, fail) != 0 ||
        check_text("federated", "subject", subject, fail) != 0 ||
        check_text("federated", "audience", audience, fail) != 0) {
        return -1;
    }
    (void)json_object_set_new(item, "issuer", json_string(issuer));
    return 0;
}

static int check_secret(struct lc_cloud *cloud, json_t *item, struct lc_fail *fail)
{
    static const char *const known[] = {"value", "expires_in_s", "expires_at", "id", "name", NULL};
    const char *value = "";
    const char *id = NULL;
    const char *name = NULL;
    char fresh[LC_UUID_BYTES];
    double expires_in_s = 0;
    double expires_at = 0;

    if (lc_json_keys(item, "secrets", known, fail) != 0 || lc_json_text(item, "secrets", "value", &value, fail) != 0 ||
        lc_json_text(item, "secrets", "id", &id, fail) != 0 ||
        lc_json_text(item, "secrets", "name", &name, fail) != 0 ||
        lc_json_number(item, "secrets", "expires_in_s", -1e10, 1e10, &expires_in_s, fail) != 0 ||
        lc_json_number(item, "secrets", "expires_at", 0, 1e11, &expires_at, fail) != 0) {
        return -1;
    }
    if (*value == '\0') {
        return lc_fail_set(fail, "secrets: \"value\" must not be empty");
    }
    if (id == NULL) {
        lc_uuid(fresh);
        (void)json_object_set_new(item, "id", json_string(fresh));
    }
    if (json_object_get(item, "expires_in_s") != NULL) {
        /* Absolute from here on, so that settings that were shown can be given back. */
        (void)json_object_set_new(item, "expires_at", json_real(lc_time_now() + expires_in_s / cloud->speed));
        (void)json_object_del(item, "expires_in_s");
    }
    return 0;
}

/* "-----BEGIN..." or the path of a file with that; becomes an object with the thumbprints, which is taken
 * too. */
static int check_certificate(json_t *list, size_t index, struct lc_fail *fail)
{
    json_t *item = json_array_get(list, index);
    const char *text = json_string_value(json_is_object(item) ? json_object_get(item, "pem") : item);
    char sha1[LC_THUMB1_BYTES] = "";
    char sha256[LC_THUMB256_BYTES] = "";
    struct lc_buf pem = {0};
    int result = 0;

    if (text == NULL) {
        return lc_fail_set(fail, "certificates: each is a PEM text or the path of a PEM file");
    }
    if (strstr(text, "-----BEGIN") != NULL) {
        lc_buf_text(&pem, text);
    } else {
        result = lc_volume_get_file(text, MOST_PEM_BYTES, &pem, fail);
    }
    if (result == 0 && (!lc_token_thumbs(pem.at, sha1, sha256) || !lc_token_proof_key(pem.at))) {
        result = lc_fail_set(fail, "certificates: item %zu is no certificate of an RSA key in PEM", index);
    }
    if (result == 0) {
        (void)json_array_set_new(list, index,
                                 json_pack("{s:s,s:s,s:s}", "pem", pem.at, "x5t", sha1, "x5t#S256", sha256));
    }
    lc_buf_free(&pem);
    return result;
}

static int check_list(json_t *application, const char *name, json_t **list, struct lc_fail *fail)
{
    *list = json_object_get(application, name);
    return *list == NULL || json_is_array(*list) ? 0 : lc_fail_set(fail, "applications: \"%s\" must be an array", name);
}

static int check_proofs(struct lc_cloud *cloud, json_t *application, struct lc_fail *fail)
{
    json_t *federated = NULL;
    json_t *secrets = NULL;
    json_t *certificates = NULL;
    json_t *item = NULL;
    size_t index = 0;

    if (check_list(application, "federated", &federated, fail) != 0 ||
        check_list(application, "secrets", &secrets, fail) != 0 ||
        check_list(application, "certificates", &certificates, fail) != 0) {
        return -1;
    }
    if (json_array_size(federated) > MOST_FEDERATED) {
        return lc_fail_set(fail, "applications: at most %d federated identity credentials", MOST_FEDERATED);
    }
    json_array_foreach(federated, index, item)
    {
        if (check_federated(cloud, item, fail) != 0) {
            return -1;
        }
    }
    json_array_foreach(secrets, index, item)
    {
        if (check_secret(cloud, item, fail) != 0) {
            return -1;
        }
    }
    for (index = 0; index < json_array_size(certificates); index++) {
        if (check_certificate(certificates, index, fail) != 0) {
            return -1;
        }
    }
    return 0;
}

static int check_application(struct lc_cloud *cloud, json_t *application, struct lc_fail *fail)
{
    static const char *const known[] = {"client_id",    "object_id",    "federated", "secrets", "certificates",
                                        "resources",    "lifetime_s",   "disabled",  "owners",  "secret_delay_s",
                                        "list_delay_s", "secret_limit", NULL};
    const char *id = "";
    const char *object = NULL;
    json_t *resources = NULL;
    json_t *owners = NULL;
    int64_t life_s = LIFE_S;
    int64_t limit = 0;
    double delay_s = 0;
    bool disabled = false;

    if (lc_json_keys(application, "applications", known, fail) != 0 ||
        lc_json_text(application, "applications", "client_id", &id, fail) != 0 ||
        lc_json_array(application, "applications", "resources", &resources, fail) != 0 ||
        lc_json_integer(application, "applications", "lifetime_s", 300, 86400, &life_s, fail) != 0 ||
        lc_json_text(application, "applications", "object_id", &object, fail) != 0 ||
        lc_json_array(application, "applications", "owners", &owners, fail) != 0 ||
        lc_json_number(application, "applications", "secret_delay_s", 0, MOST_DELAY_S, &delay_s, fail) != 0 ||
        lc_json_number(application, "applications", "list_delay_s", 0, MOST_DELAY_S, &delay_s, fail) != 0 ||
        lc_json_integer(application, "applications", "secret_limit", 0, MOST_SECRETS, &limit, fail) != 0 ||
        lc_json_bool(application, "applications", "disabled", &disabled, fail) != 0) {
        return -1;
    }
    if (*id == '\0') {
        return lc_fail_set(fail, "applications: \"client_id\" is missing");
    }
    (void)json_object_set_new(application, "lifetime_s", json_integer(life_s));
    if (resources == NULL) {
        resources = json_array();
        for (size_t i = 0; i < sizeof common_resources / sizeof common_resources[0]; i++) {
            (void)json_array_append_new(resources, json_string(common_resources[i]));
        }
        (void)json_object_set_new(application, "resources", resources);
    }
    return check_proofs(cloud, application, fail);
}

static int check_tenant(struct lc_cloud *cloud, json_t *tenant, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "domains", "applications", NULL};
    const char *id = "";
    json_t *domains = NULL;
    json_t *applications = json_object_get(tenant, "applications");
    json_t *item = NULL;
    size_t index = 0;

    if (lc_json_keys(tenant, "tenants", known, fail) != 0 || lc_json_text(tenant, "tenants", "id", &id, fail) != 0 ||
        lc_json_array(tenant, "tenants", "domains", &domains, fail) != 0) {
        return -1;
    }
    if (strcmp(id, "adfs") != 0 && !lc_azure_is_guid(id)) {
        return lc_fail_set(fail, "tenants: \"id\" must be a GUID, or adfs");
    }
    if (applications != NULL && !json_is_array(applications)) {
        return lc_fail_set(fail, "tenants: \"applications\" must be an array");
    }
    json_array_foreach(applications, index, item)
    {
        if (check_application(cloud, item, fail) != 0) {
            return -1;
        }
    }
    return 0;
}

json_t *lc_azure_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"tenants", NULL};
    json_t *copy = json_deep_copy(settings);
    json_t *tenants = json_object_get(copy, "tenants");
    json_t *item = NULL;
    size_t index = 0;
    int result = lc_json_keys(copy, "azure", known, fail);

    if (result == 0 && tenants != NULL && !json_is_array(tenants)) {
        result = lc_fail_set(fail, "\"tenants\" must be an array");
    }
    json_array_foreach(tenants, index, item)
    {
        result = result != 0 ? result : check_tenant(cloud, item, fail);
    }
    if (result != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}
