/* SPDX-License-Identifier: MIT */
/* Answers of object stores: all three write their errors as <Error><Code>...<Message>. */
#include "base/error_table.h"
#include "base/xml.h"
#include "oidc/objects/object_store.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX   1024

#define WHICH_HOST "the bucket is in another region: write the host of that region, or s3@REGION: before the URL"
#define LATER      "the store is unavailable; this is usually temporary"
#define BUSY       "the store limits the rate of requests; this is usually temporary"
#define NO_BUCKET  "create the bucket first; see docs/oidc.md"
#define CHANGED    "another program has written the object since it was read: publish again"
#define ENDED      "the session has expired: renew the credential"

static const struct cfr_error_table_row s3_rows[] = {
    {"NoSuchBucket", NULL, 0, CFR_E_REJECTED, NO_BUCKET},
    {"AccessDenied", NULL, 0, CFR_E_DENIED,
     "allow s3:PutObject and s3:GetObject on the bucket's objects, and s3:ListBucket on the bucket, without which a "
     "missing "
     "object is called a refusal"},
    {"PermanentRedirect", NULL, 0, CFR_E_REJECTED, WHICH_HOST},
    {"TemporaryRedirect", NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {"AuthorizationHeaderMalformed", NULL, 0, CFR_E_REJECTED, WHICH_HOST},
    {"InvalidAccessKeyId", NULL, 0, CFR_E_REJECTED,
     "the key is not known: it is new, deleted, or of another partition"},
    {"ExpiredToken", NULL, 0, CFR_E_UNAVAILABLE, ENDED},
    {"InvalidToken", NULL, 0, CFR_E_REJECTED, "the session token is none: renew the credential"},
    {"OperationAborted", NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {"PreconditionFailed ConditionalRequestConflict", NULL, 0, CFR_E_CONFLICT, CHANGED},
    {"NotImplemented", NULL, 0, CFR_E_REJECTED,
     "the store must support conditional writes (If-Match and If-None-Match)"},
    {0},
};

static const struct cfr_error_table_row blob_rows[] = {
    {"ContainerNotFound", NULL, 0, CFR_E_REJECTED, "create the container first; see docs/oidc.md"},
    {"ContainerBeingDeleted", NULL, 0, CFR_E_REJECTED, "the container is being deleted: wait, then create it"},
    {"AuthorizationPermissionMismatch", NULL, 0, CFR_E_DENIED,
     "the identity needs the role Storage Blob Data Contributor on the container; a new assignment takes some minutes"},
    {"AuthorizationFailure", NULL, 0, CFR_E_DENIED, "a firewall of the storage account refuses this address"},
    {"AuthenticationFailed InvalidAuthenticationInfo", NULL, 0, CFR_E_REJECTED,
     "the token is not for storage, or has expired: its scope is https://storage.azure.com/.default"},
    {"ConditionNotMet BlobAlreadyExists", NULL, 0, CFR_E_CONFLICT, CHANGED},
    {"LeaseIdMissing", NULL, 0, CFR_E_CONFLICT, "another program holds a lease on the blob"},
    {"ServerBusy", NULL, 0, CFR_E_THROTTLED, BUSY},
    {"OperationTimedOut InternalError", NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {0},
};

static const struct cfr_error_table_row gcs_rows[] = {
    {"NoSuchBucket", NULL, 0, CFR_E_REJECTED, NO_BUCKET},
    {"AccessDenied", NULL, 0, CFR_E_DENIED,
     "the account needs roles/storage.objectAdmin on the bucket, and the token a scope that writes, such as "
     "cloud-platform"},
    {"AuthenticationRequired", NULL, 0, CFR_E_REJECTED,
     "the access token is none, or has expired: renew the credential"},
    {"PreconditionFailed", NULL, 0, CFR_E_CONFLICT, CHANGED},
    {"SlowDown", NULL, 0, CFR_E_THROTTLED, BUSY},
    {"InternalError ServiceUnavailable", NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {0},
};

/* Codes of an object that is not there. */
static const char *const missing[] = {"NoSuchKey", "BlobNotFound", "ResourceNotFound"};

struct refusal {
    char code[TEXT_MAX];
    char message[TEXT_MAX];
};

static int on_leaf(void *context, const char *path, struct cfr_view text, struct cfr_err *err)
{
    struct refusal *r = context;

    (void)err;
    if (strcmp(path, "/Error/Code") == 0)
        (void)snprintf(r->code, sizeof r->code, "%.*s", (int)(text.n < TEXT_MAX ? text.n : TEXT_MAX - 1), text.p);
    else if (strcmp(path, "/Error/Message") == 0)
        (void)snprintf(r->message, sizeof r->message, "%.*s", (int)(text.n < TEXT_MAX ? text.n : TEXT_MAX - 1), text.p);
    return 0;
}

static bool is_missing(const struct refusal *r)
{
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        if (strcmp(r->code, missing[i]) == 0)
            return true;
    }
    return false;
}

int cfr_objects_answer(const struct cfr_objects_store *store, const struct cfr_grant *g,
                       const struct cfr_wire_reply *reply, struct cfr_err *err)
{
    static const struct cfr_error_table_row *const rows[] = {
        [CFR_OBJECTS_S3] = s3_rows, [CFR_OBJECTS_BLOB] = blob_rows, [CFR_OBJECTS_GCS] = gcs_rows};
    const struct cfr_error_table_row *own = rows[store->kind];
    struct cfr_view secrets[CFR_GRANT_FIELDS_MAX];
    struct cfr_error_table table = {.status = reply->status, .request_id = reply->request_id, .secrets = secrets};
    struct refusal r = {.code = ""};

    if (reply->status == 200 || reply->status == 201)
        return 0;
    /* An answer that is no XML is judged by its status. */
    if (cfr_xml_read(reply->body, on_leaf, &r, NULL) != 0)
        r = (struct refusal){.code = ""};
    if (is_missing(&r))
        return cfr_err_set(err, CFR_E_MISSING, "%s: there is no such object", cfr_objects_name(store->kind));
    table.secret_count = cfr_grant_list_secrets(g, secrets);
    table.code = cfr_view_of(r.code);
    table.message = cfr_view_of(r.message);
    table.rows = own;
    if (store->kind == CFR_OBJECTS_S3 && cfr_error_table_find(own, reply->status, table.code, table.message) == NULL)
        table.rows = cfr_wire_aws_error_rows;
    return cfr_error_table_set(&table, err);
}
