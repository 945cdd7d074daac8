/* SPDX-License-Identifier: MIT */
/* What IAM answers, and STS to a new key. */
#include "base/error_table.h"
#include "base/time.h"
#include "base/xml.h"
#include "rotation/aws_private.h"
#include "rotation/provider_private.h"
#include "wire/aws.h"

#include <stdio.h>
#include <string.h>

#define KEY_ID_MIN 16 /* characters */
#define SECRET_MAX 1024
#define TEXT_MAX   1024

#define ALLOW                                                                                                          \
    "the keys of `with` may not do this: allow them iam:ListAccessKeys, iam:CreateAccessKey, "                         \
    "iam:UpdateAccessKey, "                                                                                            \
    "iam:GetAccessKeyLastUsed and iam:DeleteAccessKey for {who}"
#define ENDED   "the session of `with` has expired; is it still refreshed?"
#define LATER   "AWS is unavailable; this is usually temporary"
#define NOT_YET "AWS does not know the new key there yet, which is normal for some seconds"

static const struct cfr_error_table_row verify_rows[] = {
    {"InvalidClientTokenId UnrecognizedClientException AuthFailure", NULL, 0, CFR_E_UNAVAILABLE, NOT_YET},
    {"SignatureDoesNotMatch", "signature we calculated", 0, CFR_E_UNAVAILABLE, NOT_YET},
    {"RegionDisabledException", NULL, 0, CFR_E_REJECTED,
     "that region is not active in the account; remove it from `regions`"},
    {0},
};

static const struct cfr_error_table_row rights_rows[] = {
    {"AccessDenied", NULL, 0, CFR_E_DENIED,
     "`with` may not ask IAM's policy simulator: allow it iam:SimulatePrincipalPolicy on itself to have its rights "
     "checked"},
    {"NoSuchEntity", NULL, 0, CFR_E_REJECTED,
     "IAM does not know the role of `with` under this ARN: the role has a path, which its session does not tell"},
    {"InvalidInput", NULL, 0, CFR_E_REJECTED, "IAM's policy simulator knows users and roles only"},
    {0},
};

static const struct cfr_error_table_row rows[] = {
    {"LimitExceeded", "AccessKeysPerUser", 0, CFR_E_LIMIT,
     "{who} has as many access keys as AWS allows; remove the one that is not in use"},
    {"LimitExceeded", NULL, 0, CFR_E_LIMIT, "a limit of the account is reached; remove something, or ask AWS for more"},
    {"NoSuchEntity", NULL, 0, CFR_E_REJECTED,
     "there is no such user in the account that the keys of `with` belong to; check `user_name` and `with`"},
    {"AccessDenied AccessDeniedException NotAuthorized", NULL, 0, CFR_E_DENIED, ALLOW},
    {"InvalidClientTokenId", NULL, 0, CFR_E_DENIED,
     "AWS does not know the keys of `with`: they were deleted or made inactive, or they are session keys of "
     "GetSessionToken, which cannot call IAM"},
    {"ExpiredToken ExpiredTokenException", NULL, 0, CFR_E_TOKEN_EXPIRED, ENDED},
    {"SignatureDoesNotMatch", "Credential should be scoped", 0, CFR_E_REJECTED,
     "the endpoint belongs to another partition; check `regions` and `endpoint`"},
    {"SignatureDoesNotMatch", "signature we calculated", 0, CFR_E_REJECTED,
     "the secret access key that `with` has is not the one of its key id"},
    {"InvalidAction", NULL, 0, CFR_E_REJECTED, "there is no IAM at this endpoint; check `endpoint`"},
    {"EntityTemporarilyUnmodifiable ConcurrentModification", NULL, 0, CFR_E_UNAVAILABLE,
     "another client is changing the user at the same time"},
    {"ServiceFailure", NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {0},
};

/* ---- reading ---- */

struct reading {
    const char *operation;
    struct cfr_rotation_answer *out;
    bool seen;     /* it is an answer to this operation */
    bool more;     /* IsTruncated */
    unsigned have; /* of the list's present member: what was read already */
    struct cfr_secret secret;
    char user[TEXT_MAX];
    char arn[TEXT_MAX];
    char action[TEXT_MAX];   /* of the simulation's present member */
    char decision[TEXT_MAX]; /* likewise */
    char code[TEXT_MAX];
    char message[TEXT_MAX];
    char request_id[TEXT_MAX];
};

/* Cut where it is too long: what must be whole is looked at by its reader. */
static void copy(char *to, size_t size, struct cfr_view text)
{
    size_t n = text.n < size ? text.n : size - 1;

    if (n != 0)
        memcpy(to, text.p, n);
    to[n] = '\0';
}

enum { HAS_USER = 1, HAS_ID = 2, HAS_STATUS = 4, HAS_DATE = 8 };

/* The members' order is not promised; that each has the same is. */
static int member(struct reading *r, unsigned what, struct cfr_rotation_key **out, struct cfr_err *err)
{
    struct cfr_rotation_keys *keys = &r->out->keys;

    if (r->have == 0 || (r->have & what) != 0) {
        if (keys->count == CFR_ROTATION_KEYS_MAX)
            return cfr_err_set(err, CFR_E_ANSWER, "the list has more than %d keys", CFR_ROTATION_KEYS_MAX);
        keys->key[keys->count++] = (struct cfr_rotation_key){.active = true};
        r->have = 0;
    }
    r->have |= what;
    *out = &keys->key[keys->count - 1];
    return 0;
}

static int read_key(struct reading *r, const char *name, struct cfr_view text, bool listed, struct cfr_err *err)
{
    struct cfr_rotation_key *key = &r->out->made;
    unsigned what = strcmp(name, "UserName") == 0      ? HAS_USER
                    : strcmp(name, "AccessKeyId") == 0 ? HAS_ID
                    : strcmp(name, "Status") == 0      ? HAS_STATUS
                    : strcmp(name, "CreateDate") == 0  ? HAS_DATE
                                                       : 0;
    int rc = listed && what != 0 ? member(r, what, &key, err) : 0;

    if (rc != 0)
        return rc;
    if (what == HAS_ID)
        copy(key->id, sizeof key->id, text);
    else if (what == HAS_STATUS)
        key->active = cfr_view_is(text, "Active");
    else if (what == HAS_DATE && !cfr_time_parse(text, &key->created_s))
        key->created_s = 0;
    else if (what == HAS_USER && !listed)
        copy(r->user, sizeof r->user, text);
    else if (strcmp(name, "SecretAccessKey") == 0)
        return cfr_secret_append(&r->secret, text, err);
    return 0;
}

/* The members' order is not promised. */
static int read_simulated(struct reading *r, const char *name, struct cfr_view text, struct cfr_err *err)
{
    int rc;

    if (strcmp(name, "EvalActionName") == 0)
        copy(r->action, sizeof r->action, text);
    else if (strcmp(name, "EvalDecision") == 0)
        copy(r->decision, sizeof r->decision, text);
    if (r->action[0] == '\0' || r->decision[0] == '\0')
        return 0;
    rc = cfr_rotation_aws_judge(r->action, r->decision, r->out, err);
    r->action[0] = '\0';
    r->decision[0] = '\0';
    return rc;
}

static int read_result(struct reading *r, const char *path, struct cfr_view text, struct cfr_err *err)
{
    static const char list[] = "/AccessKeyMetadata/member/";
    static const char made[] = "/AccessKey/";
    static const char simulated[] = "/EvaluationResults/member/";

    if (strncmp(path, simulated, sizeof simulated - 1) == 0)
        return read_simulated(r, path + sizeof simulated - 1, text, err);

    if (strncmp(path, list, sizeof list - 1) == 0)
        return read_key(r, path + sizeof list - 1, text, true, err);
    if (strncmp(path, made, sizeof made - 1) == 0)
        return read_key(r, path + sizeof made - 1, text, false, err);
    if (strcmp(path, "/IsTruncated") == 0)
        r->more = cfr_view_is(text, "true");
    else if (strcmp(path, "/Marker") == 0 && text.n >= sizeof r->out->next)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's Marker is longer than %d bytes", CFR_ROTATION_NEXT_MAX - 1);
    else if (strcmp(path, "/Marker") == 0)
        copy(r->out->next, sizeof r->out->next, text);
    else if (strcmp(path, "/Arn") == 0)
        copy(r->arn, sizeof r->arn, text);
    else if (strcmp(path, "/AccessKeyLastUsed/LastUsedDate") == 0 && !cfr_time_parse(text, &r->out->used_s))
        r->out->used_s = 0; /* "N/A" */
    return 0;
}

static int on_leaf(void *context, const char *path, struct cfr_view text, struct cfr_err *err)
{
    struct reading *r = context;
    size_t n = strlen(r->operation);

    if (strcmp(path, "/ErrorResponse/Error/Code") == 0)
        copy(r->code, sizeof r->code, text);
    else if (strcmp(path, "/ErrorResponse/Error/Message") == 0)
        copy(r->message, sizeof r->message, text);
    else if (strcmp(path, "/ErrorResponse/RequestId") == 0)
        copy(r->request_id, sizeof r->request_id, text);
    if (path[0] != '/' || strncmp(path + 1, r->operation, n) != 0 || strncmp(path + 1 + n, "Response/", 9) != 0)
        return 0;
    r->seen = true;
    path += n + 9;
    if (path[0] != '/' || strncmp(path + 1, r->operation, n) != 0 || strncmp(path + 1 + n, "Result/", 7) != 0)
        return 0;
    return read_result(r, path + n + 7, text, err);
}

static int read_body(const struct cfr_wire_reply *reply, struct reading *r, struct cfr_err *err)
{
    struct cfr_view body = cfr_view_trim(reply->body);

    if (body.n == 0 || body.p[0] != '<' || cfr_view_find(reply->content_type, "text/html") >= 0)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the answer is no XML; check `endpoint`, and that no proxy or login page answers instead");
    return cfr_xml_read(body, on_leaf, r, err);
}

/* ---- judging ---- */

static int refuse(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                  const struct cfr_wire_reply *reply, const struct reading *r, struct cfr_err *err)
{
    const struct cfr_grant *keys = ask->op == CFR_ROTATION_VERIFY ? ask->fresh : ask->admin;
    const struct cfr_view secrets[] = {
        keys != NULL ? cfr_rotation_admin_field(keys, CFR_FIELD_AWS_SECRET_ACCESS_KEY) : (struct cfr_view){NULL, 0},
        keys != NULL ? cfr_rotation_admin_field(keys, CFR_FIELD_AWS_SESSION_TOKEN) : (struct cfr_view){NULL, 0},
    };
    const struct cfr_error_table_row *const tables[] = {
        ask->op == CFR_ROTATION_VERIFY   ? verify_rows
        : ask->op == CFR_ROTATION_RIGHTS ? rights_rows
                                         : rows,
        rows,
        cfr_wire_aws_error_rows,
    };
    struct cfr_error_table refusal = {
        .status = reply->status,
        .code = cfr_view_of(r->code),
        .message = cfr_view_of(r->message),
        .request_id = r->request_id[0] != '\0' ? cfr_view_of(r->request_id) : reply->request_id,
        .who = cfr_view_of(c->user_name),
        .who_is = "the user",
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };

    for (size_t i = 0; refusal.rows == NULL && i < sizeof tables / sizeof tables[0]; i++) {
        if (cfr_error_table_find(tables[i], refusal.status, refusal.code, refusal.message) != NULL)
            refusal.rows = tables[i];
    }
    r->out->may_not = strcmp(r->code, "AccessDenied") == 0 || strcmp(r->code, "AccessDeniedException") == 0 ||
                      strcmp(r->code, "NotAuthorized") == 0;
    return cfr_error_table_set(&refusal, err);
}

static bool is_key_id(const char *id)
{
    size_t n = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return id[n] == '\0' && n >= KEY_ID_MIN && n < CFR_ROTATION_ID_MAX - 1;
}

static int check_next(struct reading *r, struct cfr_err *err)
{
    if (!r->more)
        r->out->next[0] = '\0';
    else if (r->out->next[0] == '\0')
        return cfr_err_set(err, CFR_E_ANSWER, "the list is truncated and has no marker for the next page");
    return 0;
}

static int check_list(struct reading *r, struct cfr_err *err)
{
    for (size_t i = 0; i < r->out->keys.count; i++) {
        if (!is_key_id(r->out->keys.key[i].id))
            return cfr_err_set(err, CFR_E_ANSWER, "the list has a key without a proper AccessKeyId");
    }
    return check_next(r, err);
}

/* Who the caller is, or what it may do. */
static int check_rights(const struct cfr_rotation_ask *ask, struct reading *r, struct cfr_err *err)
{
    int rc;

    if (ask->id[0] == '\0')
        return cfr_rotation_aws_principal(r->arn, r->out->caller)
                   ? 0
                   : cfr_err_set(err, CFR_E_REJECTED, "IAM's policy simulator knows users and roles only, not %.300s",
                                 r->arn);
    rc = check_next(r, err);
    return rc == 0 && !r->more ? cfr_rotation_aws_check_judged(r->out, err) : rc;
}

static bool is_secret(struct cfr_view text)
{
    return text.n != 0 && cfr_view_printable(text) && cfr_view_find(text, " ") < 0;
}

static int fill(const struct cfr_rotation_aws *c, struct cfr_view secret, struct cfr_rotation_answer *out,
                struct cfr_err *err)
{
    struct cfr_grant *g = &out->grant;
    char identity[CFR_ROTATION_ID_MAX + 160];
    int rc = cfr_grant_set(g, CFR_FIELD_AWS_ACCESS_KEY_ID, cfr_view_of(out->made.id), err);

    (void)snprintf(identity, sizeof identity, "%s of %s", out->made.id, c->user_name);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY, secret, err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_AWS_REGION, cfr_view_of(c->regions.items[0]), err);
    return rc == 0 ? cfr_grant_set_identity(g, cfr_view_of(identity), err) : rc;
}

int cfr_rotation_aws_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                               struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_view id = cfr_grant_get(fields, CFR_FIELD_AWS_ACCESS_KEY_ID);
    struct cfr_view secret = cfr_grant_get(fields, CFR_FIELD_AWS_SECRET_ACCESS_KEY);

    (void)ask;
    if (id.n == 0 && secret.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "there is no access key of AWS");
    copy(out->made.id, sizeof out->made.id, id);
    if (id.n >= sizeof out->made.id || !is_key_id(out->made.id) || !is_secret(secret))
        return cfr_err_set(err, CFR_E_ANSWER, "the access key has no proper %s",
                           is_key_id(out->made.id) ? "aws_secret_access_key" : "aws_access_key_id");
    return fill(config, secret, out, err);
}

static int store_made(const struct cfr_rotation_aws *c, struct reading *r, struct cfr_err *err)
{
    const char *id = r->out->made.id;

    if (!is_key_id(id) || !is_secret(cfr_secret_view(&r->secret)))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper %s",
                           is_key_id(id) ? "SecretAccessKey" : "AccessKeyId");
    if (strcmp(r->user, c->user_name) != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is about another user than %s", c->user_name);
    r->out->grant.issued_s = r->out->made.created_s;
    return fill(c, cfr_secret_view(&r->secret), r->out, err);
}

/* arn:aws:iam::123456789012:user/PATH/NAME */
static int check_use(const struct cfr_rotation_aws *c, const struct reading *r, struct cfr_err *err)
{
    const char *name = strrchr(r->arn, '/');

    if (name != NULL && strstr(r->arn, ":user/") != NULL && strcmp(name + 1, c->user_name) == 0)
        return 0;
    return cfr_err_set(err, CFR_E_ANSWER, "the new key does not belong to %s; check `sts_endpoint`", c->user_name);
}

static int check_answer(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                        const struct cfr_wire_reply *reply, struct reading *r, struct cfr_err *err)
{
    bool gone = reply->status == 404 && strcmp(r->code, "NoSuchEntity") == 0;

    /* The user may be gone, too: then so are its keys. */
    if (gone &&
        (ask->op == CFR_ROTATION_DELETE || ask->op == CFR_ROTATION_DEACTIVATE || ask->op == CFR_ROTATION_LAST_USED))
        return 0;
    if (reply->status != 200 || r->code[0] != '\0')
        return refuse(c, ask, reply, r, err);
    if (!r->seen)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is not one to %s; check `endpoint`", r->operation);
    if (ask->op == CFR_ROTATION_LIST)
        return check_list(r, err);
    if (ask->op == CFR_ROTATION_RIGHTS)
        return check_rights(ask, r, err);
    if (ask->op == CFR_ROTATION_CREATE)
        return store_made(c, r, err);
    return ask->op == CFR_ROTATION_VERIFY ? check_use(c, r, err) : 0;
}

int cfr_rotation_aws_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                           struct cfr_rotation_answer *out, struct cfr_err *err)
{
    static const char *const operations[] = {
        [CFR_ROTATION_LIST] = "ListAccessKeys",
        [CFR_ROTATION_CREATE] = "CreateAccessKey",
        [CFR_ROTATION_VERIFY] = "GetCallerIdentity",
        [CFR_ROTATION_DEACTIVATE] = "UpdateAccessKey",
        [CFR_ROTATION_LAST_USED] = "GetAccessKeyLastUsed",
        [CFR_ROTATION_DELETE] = "DeleteAccessKey",
        [CFR_ROTATION_RIGHTS] = "SimulatePrincipalPolicy",
    };
    bool whoami = ask->op == CFR_ROTATION_RIGHTS && ask->id[0] == '\0';
    struct reading r = {.operation = operations[whoami ? CFR_ROTATION_VERIFY : ask->op], .out = out};
    int rc;

    out->next[0] = '\0';
    cfr_secret_init(&r.secret, SECRET_MAX);
    rc = read_body(reply, &r, err);
    if (rc == 0 || (rc != CFR_E_NOMEM && reply->status != 200))
        rc = check_answer(config, ask, reply, &r, err);
    cfr_secret_free(&r.secret);
    return rc != 0 && rc != CFR_E_NOMEM ? cfr_err_prefix(err, "%s", r.operation) : rc;
}
