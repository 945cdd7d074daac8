/* SPDX-License-Identifier: MIT */
/* What the providers share whose clouds speak JSON and take a token: URLs, headers, bodies, lists. */
#ifndef CFR_ROTATION_REST_PRIVATE_H
#define CFR_ROTATION_REST_PRIVATE_H

#include "base/json.h"
#include "base/error_table.h"
#include "base/str.h"
#include "base/writer.h"
#include "rotation/provider.h"

#define CFR_ROTATION_URL_MAX 2048 /* of what a configuration may hold */

/* A URL of a configuration: by the rule of wire/url.h, and without query and percent-encoding. URL may be NULL.
 * CFR_E_CONFIG, with a text that begins with KEY. */
int cfr_rotation_rest_check_url(const char *key, const char *url, struct cfr_err *err);
/* Appends BASE without the slash that it may end in. */
void cfr_rotation_rest_base(struct cfr_str *url, const char *base);
/* Appends TEXT percent-encoded. */
void cfr_rotation_rest_part(struct cfr_str *url, const char *text);
/* The header that authorises: NAME, and PREFIX with TOKEN. CFR_E_CONFIG, with MISSING as its text, if TOKEN
 * is empty or no token. */
int cfr_rotation_rest_token(struct cfr_wire_request *out, const char *name, const char *prefix, struct cfr_view token,
                            const char *missing, struct cfr_err *err);

/* Reads the answer DOC, which is NULL if the body of REPLY is not JSON. */
typedef int cfr_rotation_rest_read_fn(const void *config, const struct cfr_rotation_ask *ask,
                                      const struct cfr_wire_reply *reply, const struct cfr_json *doc,
                                      struct cfr_rotation_answer *out, struct cfr_err *err);
/* Parses REPLY and reads it with READ. The text of an error begins with what was done, which is DOING by operation. */
int cfr_rotation_rest_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                            cfr_rotation_rest_read_fn *read, const char *const *doing, struct cfr_rotation_answer *out,
                            struct cfr_err *err);
/* Starts OUT's body, of JSON, and its Content-Type. */
struct cfr_writer cfr_rotation_rest_body(struct cfr_wire_request *out, struct cfr_err *err);

/* A member's instant in Unix seconds; 0 where there is none, and after the year 9998, which means never. */
int64_t cfr_rotation_rest_time(const struct cfr_json *object, const char *key);
/* KEY expires at ENDS_S, 0 = never: if that is not after NOW_S it is not active. Clouds list expired keys, too. */
void cfr_rotation_rest_set_end(struct cfr_rotation_key *key, int64_t ends_s, int64_t now_s);
/* Copies TEXT to TO, which is empty if TEXT is too long or not printable. True if it was copied. */
bool cfr_rotation_rest_copy(char *to, size_t size, struct cfr_view text);
/* The longest list of keys is limited: of a longer one those are left out that neither have a name of ours nor are what
 * ASK wants kept. ASK is NULL where keys have no names. CFR_E_ANSWER. */
int cfr_rotation_rest_keep(struct cfr_rotation_keys *keys, const struct cfr_rotation_key *key,
                           const struct cfr_rotation_ask *ask, struct cfr_err *err);

#endif
