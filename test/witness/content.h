/* SPDX-License-Identifier: MIT */
/* Contents of a credential file, and whether it is complete. Keeps digests, never the secrets. */
#ifndef CFW_CONTENT_H
#define CFW_CONTENT_H

#include <stddef.h>
#include <stdint.h>

enum cfw_kind { CFW_UNKNOWN, CFW_ANY, CFW_AWS, CFW_JSON, CFW_TOKEN, CFW_ENV };

#define CFW_IDS_MAX 8
#define CFW_NO_TIME INT64_MIN

/* One AWS key as digests; 0 where the file does not have the part. */
struct cfw_identity {
    uint64_t key;
    uint64_t secret;
    uint64_t token;
    char key_end[5]; /* the last four characters of the access key id, the only part ever shown */
};

struct cfw_content {
    enum cfw_kind kind;
    const char *torn;   /* why this is not a whole file of its kind (a constant), or NULL */
    int64_t expires_s;  /* seconds since 1970, or CFW_NO_TIME */
    int64_t generation; /* as the file itself counts, or -1 */
    uint64_t bearer;    /* digest of a token that is used as it is, or 0 */
    size_t n_ids;
    struct cfw_identity ids[CFW_IDS_MAX];
};

/* Judges the bytes of a file. With CFW_UNKNOWN the kind is found by content. Never fails; data may be NULL if
 * length is 0, which is not judged torn. */
void cfw_content_judge(const char *data, size_t length, enum cfw_kind kind, struct cfw_content *out);

/* The kind of this name as written on the command line, or -1. */
int cfw_content_kind(const char *name);

/* The name of a kind, for output. */
const char *cfw_content_kind_name(enum cfw_kind kind);

/* A digest, never 0, to compare by; not for anybody to see. */
uint64_t cfw_content_digest(const void *data, size_t length);

#endif
