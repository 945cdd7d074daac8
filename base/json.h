/* SPDX-License-Identifier: MIT */
/* Reads JSON (RFC 8259) by cJSON, in memory that is wiped when it is freed; base/writer.h writes it. Pure, but for
 * cfr_json_setup.
 * Memory: a document owns its values and their texts; views into it are valid until cfr_json_free. Errors:
 * CFR_E_ANSWER with the offset, CFR_E_LIMIT, CFR_E_NOMEM. Limits: cJSON's, 1000 levels; and CFR_JSON_MEMORY_MAX for
 * what a document takes, because a value of two bytes takes CFR_JSON_VALUE_SIZE. */
#ifndef CFR_BASE_JSON_H
#define CFR_BASE_JSON_H

#include "base/err.h"
#include "base/view.h"

#define CFR_JSON_MEMORY_MAX 2359296 /* bytes, of its text and of its values */
#define CFR_JSON_VALUE_SIZE 128

struct cfr_json; /* a value inside a parsed document */

/* Installs the wiping allocator; call once before the first parse. */
void cfr_json_setup(void);
/* Parses one whole document (trailing white space allowed, anything else is an error). On success *OUT is to be
 * freed with cfr_json_free. CFR_E_ANSWER with the offset of the error (a string with a NUL is one), CFR_E_LIMIT, or
 * CFR_E_NOMEM (distinguished only after cfr_json_setup). */
int cfr_json_parse(struct cfr_view text, struct cfr_json **out, struct cfr_err *err);
/* The same without CFR_E_LIMIT, for a document that this program wrote. */
int cfr_json_parse_own(struct cfr_view text, struct cfr_json **out, struct cfr_err *err);
void cfr_json_free(struct cfr_json *doc);

/* All getters accept NULL and then find nothing; results live as long as the document. */
const struct cfr_json *cfr_json_get(const struct cfr_json *object, const char *key);
/* Follows a NULL-terminated path of object keys. */
const struct cfr_json *cfr_json_path(const struct cfr_json *object, const char *const *keys);
bool cfr_json_is_object(const struct cfr_json *value);
bool cfr_json_is_array(const struct cfr_json *value);
bool cfr_json_is_null(const struct cfr_json *value);
size_t cfr_json_count(const struct cfr_json *array);
/* How many members an object has; a repeated key counts each time. */
size_t cfr_json_members(const struct cfr_json *object);
const struct cfr_json *cfr_json_at(const struct cfr_json *array, size_t index);
/* Walks an object's members or an array's items in their order: the first one, and the one after VALUE; NULL where
 * there is none. */
const struct cfr_json *cfr_json_first(const struct cfr_json *container);
const struct cfr_json *cfr_json_next(const struct cfr_json *value);
/* The key of an object's member; an empty view for other values. */
struct cfr_view cfr_json_key(const struct cfr_json *value);
/* False if VALUE is no string. */
bool cfr_json_string(const struct cfr_json *value, struct cfr_view *out);
/* The string that OBJECT has under KEY; empty if there is none, or OBJECT is no object. */
struct cfr_view cfr_json_text(const struct cfr_json *object, const char *key);
bool cfr_json_number(const struct cfr_json *value, double *out);
/* A number without fraction that fits; false otherwise. */
bool cfr_json_integer(const struct cfr_json *value, int64_t *out);
bool cfr_json_bool(const struct cfr_json *value, bool *out);

/* The version of cJSON, as in "1.7.15". */
const char *cfr_json_library(void);

#endif
