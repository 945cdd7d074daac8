/* SPDX-License-Identifier: MIT */
/* The configuration file of the local cloud. */
#include "config.h"

#include "service.h"
#include "volume.h"

#include <string.h>

enum { MOST_BYTES = 16 << 20 };

static const char demo_roles[] = "[{\"arn\":\"arn:aws:iam::123456789012:role/demo\",\"trust\":["
                                 "{\"subject\":\"system:serviceaccount:default:demo\","
                                 "\"audience\":[\"sts.amazonaws.com\"]}]}]";
static const char demo_volumes[] =
    "[{\"name\":\"demo\",\"namespace\":\"default\",\"service_account\":\"demo\","
    "\"audience\":\"sts.amazonaws.com\"},"
    "{\"name\":\"gcp\",\"audience\":"
    "\"//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo\"},"
    "{\"name\":\"azure\",\"audience\":\"api://AzureADTokenExchange\"},"
    "{\"name\":\"oauth\",\"audience\":\"oauth\"}]";

static json_t *read_file(const char *path, struct lc_fail *fail)
{
    struct lc_buf text = {0};
    struct lc_fail why = {""};
    json_t *config = NULL;

    if (lc_volume_get_file(path, MOST_BYTES, &text, fail) == 0) {
        config = lc_json_parse(text.at, text.len, &why);
        if (config == NULL) {
            (void)lc_fail_set(fail, "%s: %.500s", path, why.text);
        }
    }
    lc_buf_free(&text);
    return config;
}

static const char *const lists[] = {"roles", "volumes", "iam_keys", "issuers"};

enum { LISTS = sizeof lists / sizeof lists[0], MOST_KEYS = LISTS + 40 };

/* Each service with settings has a section of its name. */
static int complete_services(json_t *config, const char *path, struct lc_fail *fail)
{
    const struct lc_service *service = NULL;

    for (size_t n = 0; (service = lc_service_at(n)) != NULL; n++) {
        json_t *section = json_object_get(config, service->name);
        if (service->demo == NULL) {
            continue;
        }
        if (section == NULL) {
            (void)json_object_set_new(config, service->name, json_loads(service->demo, 0, NULL));
        } else if (!json_is_object(section)) {
            return lc_fail_set(fail, "%s: \"%s\" must be an object", path, service->name);
        }
    }
    return 0;
}

static int check_keys(json_t *config, const char *path, struct lc_fail *fail)
{
    const char *known[MOST_KEYS] = {"region"};
    const struct lc_service *service = NULL;
    size_t count = 1;

    for (size_t i = 0; i < LISTS; i++) {
        known[count++] = lists[i];
    }
    for (size_t n = 0; (service = lc_service_at(n)) != NULL; n++) {
        if (service->demo != NULL) {
            known[count++] = service->name;
        }
    }
    return lc_json_keys(config, path, known, fail);
}

static int complete(json_t *config, const char *path, struct lc_fail *fail)
{
    static const char *const otherwise[LISTS] = {demo_roles, demo_volumes, "[]", "[]"};
    const char *region = NULL;

    if (check_keys(config, path, fail) != 0 || lc_json_text(config, path, "region", &region, fail) != 0) {
        return -1;
    }
    for (size_t i = 0; i < LISTS; i++) {
        json_t *list = json_object_get(config, lists[i]);
        if (list == NULL) {
            (void)json_object_set_new(config, lists[i], json_loads(otherwise[i], 0, NULL));
        } else if (!json_is_array(list)) {
            return lc_fail_set(fail, "%s: \"%s\" must be an array", path, lists[i]);
        }
    }
    return complete_services(config, path, fail);
}

json_t *lc_config_load(const char *path, struct lc_fail *fail)
{
    json_t *config = path == NULL ? json_object() : read_file(path, fail);

    if (config != NULL && complete(config, path == NULL ? "configuration" : path, fail) != 0) {
        json_decref(config);
        config = NULL;
    }
    return config;
}

const char *lc_config_region(json_t *config)
{
    return json_string_value(json_object_get(config, "region"));
}

json_t *lc_config_part(json_t *config, const char *name)
{
    return json_object_get(config, name);
}
