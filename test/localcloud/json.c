/* SPDX-License-Identifier: MIT */
/* Strict reading of JSON documents that people write: configuration and admin requests. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

json_t *lc_json_parse(const char *text, size_t len, struct lc_fail *fail)
{
    json_error_t error;
    json_t *document = json_loadb(text == NULL ? "" : text, len, JSON_REJECT_DUPLICATES, &error);

    if (document == NULL) {
        (void)lc_fail_set(fail, "not valid JSON: line %d, column %d: %s", error.line, error.column, error.text);
        return NULL;
    }
    if (!json_is_object(document)) {
        json_decref(document);
        (void)lc_fail_set(fail, "the document must be a JSON object");
        return NULL;
    }
    return document;
}

int lc_json_keys(json_t *object, const char *where, const char *const allowed[], struct lc_fail *fail)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(object)) {
        return lc_fail_set(fail, "%s must be an object", where);
    }
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (allowed[i] != NULL && strcmp(allowed[i], key) != 0) {
            i++;
        }
        if (allowed[i] == NULL) {
            struct lc_buf list = {0};
            for (i = 0; allowed[i] != NULL; i++) {
                lc_buf_format(&list, "%s%s", i == 0 ? "" : ", ", allowed[i]);
            }
            (void)lc_fail_set(fail, "%s: unknown key \"%.60s\"; known are: %s", where, key,
                              list.at == NULL ? "none" : list.at);
            lc_buf_free(&list);
            return -1;
        }
    }
    return 0;
}

int lc_json_text(json_t *object, const char *where, const char *key, const char **out, struct lc_fail *fail)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return 0;
    }
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value)) {
        return lc_fail_set(fail, "%s: \"%s\" must be a string", where, key);
    }
    *out = json_string_value(value);
    return 0;
}

int lc_json_bool(json_t *object, const char *where, const char *key, bool *out, struct lc_fail *fail)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return 0;
    }
    if (!json_is_boolean(value)) {
        return lc_fail_set(fail, "%s: \"%s\" must be true or false", where, key);
    }
    *out = json_is_true(value);
    return 0;
}

int lc_json_integer(json_t *object, const char *where, const char *key, int64_t min, int64_t max, int64_t *out,
                    struct lc_fail *fail)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max) {
        return lc_fail_set(fail, "%s: \"%s\" must be a whole number from %lld to %lld", where, key, (long long)min,
                           (long long)max);
    }
    *out = json_integer_value(value);
    return 0;
}

int lc_json_number(json_t *object, const char *where, const char *key, double min, double max, double *out,
                   struct lc_fail *fail)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return 0;
    }
    if (!json_is_number(value) || json_number_value(value) < min || json_number_value(value) > max) {
        return lc_fail_set(fail, "%s: \"%s\" must be a number from %g to %g", where, key, min, max);
    }
    *out = json_number_value(value);
    return 0;
}

int lc_json_array(json_t *object, const char *where, const char *key, json_t **out, struct lc_fail *fail)
{
    json_t *value = json_object_get(object, key);
    json_t *item = NULL;
    size_t index = 0;

    if (value == NULL) {
        return 0;
    }
    if (!json_is_array(value)) {
        return lc_fail_set(fail, "%s: \"%s\" must be an array of strings", where, key);
    }
    json_array_foreach(value, index, item)
    {
        if (!json_is_string(item)) {
            return lc_fail_set(fail, "%s: \"%s\" must hold only strings (item %zu does not)", where, key, index);
        }
    }
    *out = value;
    return 0;
}

int lc_json_object(json_t *object, const char *where, const char *key, json_t **out, struct lc_fail *fail)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL) {
        return 0;
    }
    if (!json_is_object(value)) {
        return lc_fail_set(fail, "%s: \"%s\" must be an object", where, key);
    }
    *out = value;
    return 0;
}

bool lc_json_holds(json_t *array, const char *text)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(array, index, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0) {
            return true;
        }
    }
    return false;
}

void lc_json_print(json_t *document, struct lc_buf *out)
{
    char *text = json_dumps(document, JSON_COMPACT);

    json_decref(document);
    if (text == NULL) {
        out->broken = true;
        return;
    }
    lc_buf_text(out, text);
    lc_buf_text(out, "\n");
    free(text);
}
