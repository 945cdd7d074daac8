/* SPDX-License-Identifier: MIT */
/* Owned fields of a Secret, and their field managers. */
#include "kube_fields.h"

#include <stdlib.h>
#include <string.h>

/* Maps whose members are owned one by one, and what is owned as a whole. The order is that of an answer. */
static const char *const maps[] = {"metadata.labels.", "metadata.annotations.", "data.", "binaryData."};
static const char *const atoms[] = {"metadata.finalizers", "metadata.ownerReferences", "immutable", "type"};

enum { MAPS = sizeof maps / sizeof maps[0], ATOMS = sizeof atoms / sizeof atoms[0] };

/* The member of secret (or of its metadata) that a path begins with; *leaf is its last name. */
static json_t *place_of(json_t *secret, const char *path, const char **leaf)
{
    static const char metadata[] = "metadata.";
    bool inside = lc_text_starts(path, metadata);

    *leaf = inside ? path + sizeof metadata - 1 : path;
    return inside ? json_object_get(secret, "metadata") : secret;
}

/* "metadata.labels." to its map. */
static json_t *map_of(json_t *secret, const char *prefix)
{
    const char *leaf = NULL;
    json_t *place = place_of(secret, prefix, &leaf);
    char *name = strndup(leaf, strlen(leaf) - 1);
    json_t *map = name == NULL ? NULL : json_object_get(place, name);

    free(name);
    return map;
}

json_t *lc_kube_flatten(json_t *secret)
{
    json_t *flat = json_object();

    for (size_t i = 0; i < MAPS; i++) {
        const char *key = NULL;
        json_t *value = NULL;
        json_object_foreach(map_of(secret, maps[i]), key, value)
        {
            char *path = lc_text_format("%s%s", maps[i], key);
            if (path != NULL) {
                (void)json_object_set(flat, path, value);
            }
            free(path);
        }
    }
    for (size_t i = 0; i < ATOMS; i++) {
        const char *leaf = NULL;
        json_t *place = place_of(secret, atoms[i], &leaf);
        json_t *value = json_object_get(place, leaf);
        if (value != NULL && !json_is_null(value)) {
            (void)json_object_set(flat, atoms[i], value);
        }
    }
    return flat;
}

/* The members of flat below the prefix, NULL when there are none. */
static json_t *gather(json_t *flat, const char *prefix)
{
    json_t *map = NULL;
    const char *path = NULL;
    json_t *value = NULL;

    json_object_foreach(flat, path, value)
    {
        if (lc_text_starts(path, prefix)) {
            map = map == NULL ? json_object() : map;
            (void)json_object_set(map, path + strlen(prefix), value);
        }
    }
    return map;
}

json_t *lc_kube_unflatten(const char *kind, json_t *flat, json_t *metadata)
{
    json_t *own = json_copy(metadata);
    json_t *secret = json_pack("{s:s,s:s,s:o}", "kind", kind, "apiVersion", "v1", "metadata", own);

    for (size_t i = 0; i < MAPS; i++) {
        json_t *map = gather(flat, maps[i]);
        const char *leaf = NULL;
        json_t *place = place_of(secret, maps[i], &leaf);
        char *name = strndup(leaf, strlen(leaf) - 1);
        if (map != NULL && name != NULL) {
            (void)json_object_set(place, name, map);
        }
        json_decref(map);
        free(name);
    }
    for (size_t i = 0; i < ATOMS; i++) {
        const char *leaf = NULL;
        json_t *place = place_of(secret, atoms[i], &leaf);
        if (json_object_get(flat, atoms[i]) != NULL) {
            (void)json_object_set(place, leaf, json_object_get(flat, atoms[i]));
        }
    }
    return secret;
}

/* Puts {"f:NAME": {}} below object, as deep as the path of a prefix goes. An update names the map itself too.
 */
static void put_field(json_t *object, const char *path, bool update)
{
    const char *leaf = NULL;
    json_t *place = object;
    char *name = NULL;
    char *dot = NULL;

    if (lc_text_starts(path, "metadata.")) {
        if (json_object_get(object, "f:metadata") == NULL) {
            (void)json_object_set_new(object, "f:metadata", json_object());
        }
        place = json_object_get(object, "f:metadata");
        path += strlen("metadata.");
    }
    name = lc_text_format("f:%s", path);
    /* Keys of maps may have dots, names of maps have none. */
    dot = name == NULL ? NULL : strchr(name, '.');
    if (dot != NULL) {
        *dot = '\0';
        if (json_object_get(place, name) == NULL) {
            (void)json_object_set_new(place, name, update ? json_pack("{s:{}}", ".") : json_object());
        }
        place = json_object_get(place, name);
        leaf = dot + 1;
        dot = lc_text_format("f:%s", leaf);
        free(name);
        name = dot;
    }
    if (name != NULL) {
        (void)json_object_set_new(place, name, json_object());
    }
    free(name);
}

json_t *lc_kube_managed(json_t *managers)
{
    json_t *out = json_array();
    json_t *entry = NULL;
    size_t index = 0;

    json_array_foreach(managers, index, entry)
    {
        bool update = strcmp(json_string_value(json_object_get(entry, "operation")), "Update") == 0;
        json_t *fields = json_object();
        const char *path = NULL;
        json_t *value = NULL;
        json_object_foreach(json_object_get(entry, "fields"), path, value)
        {
            put_field(fields, path, update);
        }
        (void)json_array_append_new(
            out, json_pack("{s:O,s:O,s:s,s:O,s:s,s:o}", "manager", json_object_get(entry, "manager"), "operation",
                           json_object_get(entry, "operation"), "apiVersion", "v1", "time",
                           json_object_get(entry, "time"), "fieldsType", "FieldsV1", "fieldsV1", fields));
    }
    return out;
}

static bool is_entry(json_t *entry, const char *manager, const char *operation)
{
    return strcmp(json_string_value(json_object_get(entry, "manager")), manager) == 0 &&
           strcmp(json_string_value(json_object_get(entry, "operation")), operation) == 0;
}

static json_t *find_entry(json_t *managers, const char *manager, const char *operation)
{
    json_t *entry = NULL;
    size_t index = 0;

    json_array_foreach(managers, index, entry)
    {
        if (is_entry(entry, manager, operation)) {
            return entry;
        }
    }
    return NULL;
}

/* The owner of the path other than `self`; borrowed, NULL: none. */
static json_t *other_owner(json_t *managers, json_t *self, const char *path)
{
    json_t *entry = NULL;
    size_t index = 0;

    json_array_foreach(managers, index, entry)
    {
        if (entry != self && json_object_get(json_object_get(entry, "fields"), path) != NULL) {
            return entry;
        }
    }
    return NULL;
}

static void touch(json_t *entry)
{
    char now[LC_TIME_BYTES];

    lc_time_iso((int64_t)lc_time_now(), now);
    (void)json_object_set_new(entry, "time", json_string(now));
}

/* Takes the path away from everybody but `self`. */
static void disown(json_t *managers, json_t *self, const char *path)
{
    json_t *entry = NULL;
    size_t index = 0;

    json_array_foreach(managers, index, entry)
    {
        if (entry != self && json_object_del(json_object_get(entry, "fields"), path) == 0) {
            touch(entry);
        }
    }
}

static void drop_empty(json_t *managers)
{
    for (size_t i = json_array_size(managers); i-- > 0;) {
        if (json_object_size(json_object_get(json_array_get(managers, i), "fields")) == 0) {
            (void)json_array_remove(managers, i);
        }
    }
}

static json_t *entry_for(json_t *managers, const char *manager, const char *operation)
{
    json_t *entry = find_entry(managers, manager, operation);

    if (entry == NULL) {
        entry = json_pack("{s:s,s:s,s:{}}", "manager", manager, "operation", operation, "fields");
        (void)json_array_append_new(managers, entry);
        touch(entry);
    }
    return entry;
}

/* Text of a conflict's other side: who applied stands alone, who updated with version and time. */
static char *name_of(json_t *entry)
{
    const char *manager = json_string_value(json_object_get(entry, "manager"));

    return strcmp(json_string_value(json_object_get(entry, "operation")), "Update") == 0
               ? lc_text_format("\"%s\" using v1 at %s", manager, json_string_value(json_object_get(entry, "time")))
               : lc_text_format("\"%s\"", manager);
}

static json_t *conflicts_of(json_t *flat, json_t *managers, json_t *config, json_t *self)
{
    json_t *conflicts = json_array();
    const char *path = NULL;
    json_t *value = NULL;

    json_object_foreach(config, path, value)
    {
        json_t *live = json_object_get(flat, path);
        json_t *owner = live == NULL || json_equal(live, value) == 1 ? NULL : other_owner(managers, self, path);
        if (owner != NULL) {
            char *who = name_of(owner);
            (void)json_array_append_new(conflicts, json_pack("{s:s,s:s}", "who", who == NULL ? "" : who, "path", path));
            free(who);
        }
    }
    return conflicts;
}

/* A field that the manager applied before and leaves out now is removed, unless another manager owns it too. */
static void forget_omitted(json_t *flat, json_t *managers, json_t *config, json_t *self)
{
    json_t *fields = json_object_get(self, "fields");
    const char *path = NULL;
    json_t *value = NULL;
    void *next = NULL;

    json_object_foreach_safe(fields, next, path, value)
    {
        if (json_object_get(config, path) == NULL) {
            if (other_owner(managers, self, path) == NULL) {
                (void)json_object_del(flat, path);
            }
            (void)json_object_del(fields, path);
            touch(self);
        }
    }
}

json_t *lc_kube_apply(json_t *flat, json_t *managers, json_t *config, const char *manager, bool force)
{
    json_t *self = entry_for(managers, manager, "Apply");
    json_t *conflicts = conflicts_of(flat, managers, config, self);
    const char *path = NULL;
    json_t *value = NULL;
    size_t index = 0;

    if (json_array_size(conflicts) > 0 && !force) {
        return conflicts;
    }
    json_array_foreach(conflicts, index, value)
    {
        disown(managers, self, json_string_value(json_object_get(value, "path")));
    }
    (void)json_array_clear(conflicts);
    forget_omitted(flat, managers, config, self);
    json_object_foreach(config, path, value)
    {
        if (json_equal(json_object_get(flat, path), value) != 1 ||
            json_object_get(json_object_get(self, "fields"), path) == NULL) {
            touch(self);
        }
        (void)json_object_set(flat, path, value);
        (void)json_object_set_new(json_object_get(self, "fields"), path, json_true());
    }
    drop_empty(managers);
    return conflicts;
}

void lc_kube_wrote(json_t *managers, json_t *before, json_t *flat, const char *manager)
{
    json_t *self = entry_for(managers, manager, "Update");
    const char *path = NULL;
    json_t *value = NULL;

    json_object_foreach(flat, path, value)
    {
        if (json_equal(json_object_get(before, path), value) != 1) {
            disown(managers, self, path);
            (void)json_object_set_new(json_object_get(self, "fields"), path, json_true());
            touch(self);
        }
    }
    json_object_foreach(before, path, value)
    {
        if (json_object_get(flat, path) == NULL) {
            disown(managers, self, path);
            (void)json_object_del(json_object_get(self, "fields"), path);
        }
    }
    drop_empty(managers);
}

bool lc_kube_same_managers(json_t *a, json_t *b)
{
    json_t *entry = NULL;
    size_t index = 0;

    if (json_array_size(a) != json_array_size(b)) {
        return false;
    }
    json_array_foreach(a, index, entry)
    {
        json_t *other = find_entry(b, json_string_value(json_object_get(entry, "manager")),
                                   json_string_value(json_object_get(entry, "operation")));
        if (json_equal(json_object_get(entry, "fields"), json_object_get(other, "fields")) != 1) {
            return false;
        }
    }
    return true;
}
