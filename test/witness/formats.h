/* SPDX-License-Identifier: MIT */
/* The readers of the text formats; each fills in the fields found and sets `torn` if the file is not complete. */
#ifndef CFW_FORMATS_H
#define CFW_FORMATS_H

#include <stdbool.h>

#include "content.h"

/* An INI file of AWS profiles. */
void cfw_formats_aws(const char *data, size_t length, struct cfw_content *out);

/* Lines of KEY=value. */
void cfw_formats_env(const char *data, size_t length, struct cfw_content *out);

/* A JWT: three base64url parts; one newline at the end is forgiven. */
void cfw_formats_token(const char *data, size_t length, struct cfw_content *out);
bool cfw_formats_is_token(const char *data, size_t length);

/* RFC 3339 with an optional fraction. Returns CFW_NO_TIME if it is not one. */
int64_t cfw_formats_time(const char *text, size_t length);

/* Sets one part of a key from its text. */
void cfw_formats_key(struct cfw_identity *id, const char *text, size_t length);

/* Says if a key lacks a part that it needs, as a constant text, or returns NULL. */
const char *cfw_formats_lacks(const struct cfw_identity *id);

#endif
