/* SPDX-License-Identifier: MIT */
/* JSON reader, by cJSON. */
#include "base/json.h"

#include "base/wipealloc.h"

#include <cjson/cJSON.h>
#include <string.h>

/* cJSON fails alike for bad input and for short memory. */
static bool out_of_memory;

static void *noting_malloc(size_t n)
{
    void *p = cfr_wipealloc_malloc(n);

    if (p == NULL)
        out_of_memory = true;
    return p;
}

void cfr_json_setup(void)
{
    cJSON_Hooks hooks = {noting_malloc, cfr_wipealloc_free};

    cJSON_InitHooks(&hooks);
}

static const cJSON *in(const struct cfr_json *v)
{
    return (const cJSON *)(const void *)v;
}

static const struct cfr_json *out_of(const cJSON *v)
{
    return (const struct cfr_json *)(const void *)v;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* True if a string in TEXT holds a NUL, raw or escaped: cJSON would cut the string there without a word. It
 * also takes an escape that is not four hex digits for a NUL. Outside of strings a backslash is an error
 * anyway. */
static bool has_nul(struct cfr_view text)
{
    if (memchr(text.p, '\0', text.n) != NULL)
        return true;
    for (size_t i = 0; i + 1 < text.n; i++) {
        const char *p = text.p + i;

        if (*p != '\\')
            continue;
        i++;
        if (p[1] == 'u' && text.n - i > 4 &&
            (!is_hex(p[2]) || !is_hex(p[3]) || !is_hex(p[4]) || !is_hex(p[5]) || memcmp(p + 2, "0000", 4) == 0))
            return true;
    }
    return false;
}

/* At least as many as TEXT has values: each but the first follows a comma or begins a container. */
static size_t count_values(struct cfr_view text)
{
    bool quoted = false;
    size_t n = 1;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ',' || c == '[' || c == '{'))
            n++;
    }
    return n;
}

int cfr_json_parse(struct cfr_view text, struct cfr_json **out, struct cfr_err *err)
{
    size_t most = text.n < CFR_JSON_MEMORY_MAX ? (CFR_JSON_MEMORY_MAX - text.n) / CFR_JSON_VALUE_SIZE : 0;

    if (text.n > most && count_values(text) > most) {
        *out = NULL;
        return cfr_err_set(err, CFR_E_LIMIT, "not usable JSON: its %zu bytes have more than %zu values", text.n, most);
    }
    return cfr_json_parse_own(text, out, err);
}

/* Sets the error to what TEXT is, if that is known; otherwise leaves it. */
static int explain(struct cfr_view text, struct cfr_err *err)
{
    const char *mistake = cfr_view_mistake(text, CFR_FORM_JSON);

    return mistake != NULL ? cfr_err_set(err, CFR_E_ANSWER, "not JSON, but %s", mistake) : CFR_E_ANSWER;
}

int cfr_json_parse_own(struct cfr_view text, struct cfr_json **out, struct cfr_err *err)
{
    struct cfr_view body = cfr_view_trim(text);
    const char *end = NULL;
    cJSON *doc;

    *out = NULL;
    if (body.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "not JSON: it is empty");
    if (has_nul(body)) {
        (void)cfr_err_set(err, CFR_E_ANSWER, "not usable JSON: it has a NUL or a broken \\u escape in a string");
        return explain(text, err);
    }
    out_of_memory = false;
    doc = cJSON_ParseWithLengthOpts(body.p, body.n, &end, 0);
    if (doc == NULL && out_of_memory)
        return cfr_err_nomem(err);
    if (doc == NULL) {
        (void)cfr_err_set(err, CFR_E_ANSWER, "not JSON: error near byte %td of %zu", end - body.p, body.n);
        return explain(text, err);
    }
    if ((size_t)(end - body.p) != body.n) {
        cJSON_Delete(doc);
        return cfr_err_set(err, CFR_E_ANSWER, "not JSON: something follows the document at byte %td", end - body.p);
    }
    *out = (struct cfr_json *)(void *)doc;
    return 0;
}

void cfr_json_free(struct cfr_json *doc)
{
    cJSON_Delete((cJSON *)(void *)doc);
}

const struct cfr_json *cfr_json_get(const struct cfr_json *object, const char *key)
{
    return cJSON_IsObject(in(object)) ? out_of(cJSON_GetObjectItemCaseSensitive(in(object), key)) : NULL;
}

const struct cfr_json *cfr_json_path(const struct cfr_json *object, const char *const *keys)
{
    for (; object != NULL && *keys != NULL; keys++)
        object = cfr_json_get(object, *keys);
    return object;
}

bool cfr_json_is_object(const struct cfr_json *value)
{
    return cJSON_IsObject(in(value)) != 0;
}

bool cfr_json_is_array(const struct cfr_json *value)
{
    return cJSON_IsArray(in(value)) != 0;
}

bool cfr_json_is_null(const struct cfr_json *value)
{
    return cJSON_IsNull(in(value)) != 0;
}

size_t cfr_json_count(const struct cfr_json *array)
{
    return cfr_json_is_array(array) ? (size_t)cJSON_GetArraySize(in(array)) : 0;
}

size_t cfr_json_members(const struct cfr_json *object)
{
    return cfr_json_is_object(object) ? (size_t)cJSON_GetArraySize(in(object)) : 0;
}

const struct cfr_json *cfr_json_at(const struct cfr_json *array, size_t index)
{
    return index < cfr_json_count(array) ? out_of(cJSON_GetArrayItem(in(array), (int)index)) : NULL;
}

const struct cfr_json *cfr_json_first(const struct cfr_json *container)
{
    return cfr_json_is_object(container) || cfr_json_is_array(container) ? out_of(in(container)->child) : NULL;
}

const struct cfr_json *cfr_json_next(const struct cfr_json *value)
{
    return value != NULL ? out_of(in(value)->next) : NULL;
}

struct cfr_view cfr_json_key(const struct cfr_json *value)
{
    return cfr_view_of(value != NULL ? in(value)->string : NULL);
}

bool cfr_json_string(const struct cfr_json *value, struct cfr_view *out)
{
    if (!cJSON_IsString(in(value)) || in(value)->valuestring == NULL)
        return false;
    *out = cfr_view_of(in(value)->valuestring);
    return true;
}

struct cfr_view cfr_json_text(const struct cfr_json *object, const char *key)
{
    struct cfr_view text = {NULL, 0};

    (void)cfr_json_string(cfr_json_get(object, key), &text);
    return text;
}

bool cfr_json_number(const struct cfr_json *value, double *out)
{
    if (!cJSON_IsNumber(in(value)))
        return false;
    *out = in(value)->valuedouble;
    return true;
}

bool cfr_json_integer(const struct cfr_json *value, int64_t *out)
{
    double d;

    /* Not valueint: cJSON saturates it at INT_MAX. 2^53 is where doubles stop being exact. */
    if (!cfr_json_number(value, &d) || !(d >= -9007199254740992.0 && d <= 9007199254740992.0) ||
        (double)(int64_t)d != d)
        return false;
    *out = (int64_t)d;
    return true;
}

bool cfr_json_bool(const struct cfr_json *value, bool *out)
{
    if (!cJSON_IsBool(in(value)))
        return false;
    *out = cJSON_IsTrue(in(value)) != 0;
    return true;
}

const char *cfr_json_library(void)
{
    return cJSON_Version();
}
