/* SPDX-License-Identifier: MIT */
/* Objects in Amazon S3 (and what speaks its protocol), Azure Blob Storage and Google Cloud Storage: requests that write
 * and read one, and their answers.
 *
 * Pure; a request and an error belong to the caller, everything else is borrowed for one call. Errors: CFR_E_CONFIG for
 * a store that cannot be, CFR_E_MISSING for an object or bucket that is not there, the classes of base/error_table.h
 * for refusals, CFR_E_NOMEM, CFR_E_LIMIT.
 * Sources: S3 API Reference, PutObject, GetObject, Error responses; Azure REST API, Put Blob, Get Blob, with
 * Authorization by Microsoft Entra ID; Google Cloud Storage XML API, PUT and GET Object. */
#ifndef CFR_OBJECTS_OBJECT_STORE_H
#define CFR_OBJECTS_OBJECT_STORE_H

#include "base/grant.h"
#include "wire/aws.h"
#include "wire/request.h"

#define CFR_OBJECTS_OBJECT_MAX  65536 /* bytes of an object's content */
#define CFR_OBJECTS_VERSION_MAX 256   /* of its ETag or generation, with its NUL */

enum cfr_objects_kind { CFR_OBJECTS_S3, CFR_OBJECTS_BLOB, CFR_OBJECTS_GCS };

/* Zero-initialised is none. */
struct cfr_objects_store {
    enum cfr_objects_kind kind;
    char base[CFR_AWS_ENDPOINT_MAX]; /* URL that precedes the names of the objects, without a slash at its end */
    char region[CFR_AWS_REGION_MAX]; /* of S3 */
};

/* Reads TEXT, a URL with `s3@REGION:`, `blob:` or `gcs:` before it, which may be left out where the host says it as
 * AWS, Azure and Google name theirs. */
int cfr_objects_parse(const char *text, struct cfr_objects_store *out, struct cfr_err *err);
/* "Amazon S3", "Azure Blob Storage" or "Google Cloud Storage". */
const char *cfr_objects_name(enum cfr_objects_kind kind);

/* What is written. */
struct cfr_objects_content {
    const char *name; /* below the store's base: unreserved characters and slashes */
    const char *content_type;
    const char *cache_control;
    const char *version;   /* it is written only if it has this version, empty: if it does not exist; NULL: always */
    struct cfr_view bytes; /* up to CFR_OBJECTS_OBJECT_MAX */
};

/* The header with an object's version in the answer to a read. */
const char *cfr_objects_version_header(enum cfr_objects_kind kind);

/* Fills OUT with a request that writes OBJECT with the credential G. CFR_E_CONFIG, in words, if G has not what the
 * store takes: keys of AWS, an access token of Azure or of Google. */
int cfr_objects_put(const struct cfr_objects_store *store, const struct cfr_grant *g,
                    const struct cfr_objects_content *object, int64_t now_s, struct cfr_wire_request *out,
                    struct cfr_err *err);
/* The same for reading the object NAME, which its answer's body holds. */
int cfr_objects_get(const struct cfr_objects_store *store, const struct cfr_grant *g, const char *name, int64_t now_s,
                    struct cfr_wire_request *out, struct cfr_err *err);
/* 0 for the answer that a request with the credential G hopes for; else why not. CFR_E_MISSING: there is no such
 * object, but its bucket is not known to be missing. CFR_E_CONFLICT: it does not have the version. */
int cfr_objects_answer(const struct cfr_objects_store *store, const struct cfr_grant *g,
                       const struct cfr_wire_reply *reply, struct cfr_err *err);

#endif
