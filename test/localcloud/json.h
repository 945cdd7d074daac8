/* SPDX-License-Identifier: MIT */
/* Strict reading of JSON documents that people write: configuration and admin requests. */
#ifndef LC_JSON_H
#define LC_JSON_H

#include "text.h"

#include <jansson.h>

/* Parses a whole document that must be an object; duplicate keys are refused. NULL with the reason, line and
 * column. The caller drops the reference. */
json_t *lc_json_parse(const char *text, size_t len, struct lc_fail *fail);

/* Refuses every key of object that is not in allowed (which ends with NULL). `where` is for the text. */
int lc_json_keys(json_t *object, const char *where, const char *const allowed[], struct lc_fail *fail);

/* Each reads one optional key. Absent leaves *out alone and returns 0; a wrong type or range is -1 with the
 * reason. Borrowed strings live as long as the document. */
int lc_json_text(json_t *object, const char *where, const char *key, const char **out, struct lc_fail *fail);
int lc_json_bool(json_t *object, const char *where, const char *key, bool *out, struct lc_fail *fail);
int lc_json_integer(json_t *object, const char *where, const char *key, int64_t min, int64_t max, int64_t *out,
                    struct lc_fail *fail);
int lc_json_number(json_t *object, const char *where, const char *key, double min, double max, double *out,
                   struct lc_fail *fail);
/* An array of strings, or one string, or an object; *out is borrowed and untouched when absent. */
int lc_json_array(json_t *object, const char *where, const char *key, json_t **out, struct lc_fail *fail);
int lc_json_object(json_t *object, const char *where, const char *key, json_t **out, struct lc_fail *fail);
/* True when array (of strings) holds text. */
bool lc_json_holds(json_t *array, const char *text);

/* Writes the document (taking the reference) as text with a final newline. */
void lc_json_print(json_t *document, struct lc_buf *out);

#endif
