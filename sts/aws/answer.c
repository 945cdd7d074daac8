/* SPDX-License-Identifier: MIT */
/* Answers of STS. */
#include "sts/aws/answer_private.h"

#include "base/json.h"
#include "base/time.h"
#include "base/xml.h"
#include "sts/aws/params_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Before this no credential was ever granted: an Expiration that old is a mistake, not a clock. */
#define EARLIEST_S INT64_C(1262304000) /* 2010-01-01 */
#define LATEST_S   INT64_C(253402300799)

#define SHOWN_TYPE 40

#define PLACES_MAX 6
/* The envelope of AWS; some servers that are not AWS's leave one or both of its members out of JSON. */
#define GRANTED "/*Response/*Result/Credentials/"
#define IN_JSON(member)                                                                                                \
    {                                                                                                                  \
        "/*Response/*Result/" member, "/*Result/" member, "/" member                                                   \
    }

/* Where each field is in an answer of each form; an asterisk is replaced by the operation. */
static const struct row {
    const char *name;
    size_t limit;
    const char *xml[PLACES_MAX + 1];
    const char *json[PLACES_MAX + 1];
} rows[CFR_AWS_FIELDS] = {
    [CFR_AWS_KEY_ID] = {.name = "AccessKeyId",
                        .limit = 256,
                        .xml = {GRANTED "AccessKeyId"},
                        .json = IN_JSON("Credentials/AccessKeyId")},
    [CFR_AWS_SECRET] = {.name = "SecretAccessKey",
                        .limit = 1024,
                        .xml = {GRANTED "SecretAccessKey"},
                        .json = IN_JSON("Credentials/SecretAccessKey")},
    [CFR_AWS_SESSION_TOKEN] = {.name = "SessionToken",
                               .limit = CFR_GRANT_VALUE_MAX,
                               .xml = {GRANTED "SessionToken"},
                               .json = IN_JSON("Credentials/SessionToken")},
    [CFR_AWS_EXPIRATION] = {.name = "Expiration",
                            .limit = 64,
                            .xml = {GRANTED "Expiration"},
                            .json = IN_JSON("Credentials/Expiration")},
    [CFR_AWS_ARN] = {.name = "Arn",
                     .limit = CFR_GRANT_IDENTITY_MAX,
                     .xml = {"/*Response/*Result/AssumedRoleUser/Arn", "/*Response/*Result/Arn"},
                     .json = {"/*Response/*Result/AssumedRoleUser/Arn", "/*Response/*Result/Arn",
                              "/*Result/AssumedRoleUser/Arn", "/AssumedRoleUser/Arn", "/*Result/Arn", "/Arn"}},
    [CFR_AWS_ACCOUNT] = {.name = "Account",
                         .limit = 64,
                         .xml = {"/*Response/*Result/Account"},
                         .json = IN_JSON("Account")},
    [CFR_AWS_CODE] = {.name = "Code",
                      .limit = 128,
                      .xml = {"/ErrorResponse/Error/Code", "/Error/Code", "/ErrorResponse/Errors/Error/Code",
                              "/Response/Errors/Error/Code"},
                      .json = {"/Error/Code"}},
    [CFR_AWS_MESSAGE] = {.name = "Message",
                         .limit = 8192,
                         .xml = {"/ErrorResponse/Error/Message", "/Error/Message",
                                 "/ErrorResponse/Errors/Error/Message", "/Response/Errors/Error/Message"},
                         .json = {"/Error/Message"}},
    [CFR_AWS_REQUEST_ID] = {.name = "RequestId",
                            .limit = 256,
                            .xml = {"/*Response/ResponseMetadata/RequestId", "/ErrorResponse/RequestId",
                                    "/Error/RequestId", "/Response/RequestID"},
                            .json = {"/*Response/ResponseMetadata/RequestId", "/RequestId"}},
};

struct reading {
    const char *operation;
    struct cfr_aws_answer *out;
};

static int store(struct cfr_aws_answer *a, enum cfr_aws_answer_field field, struct cfr_view text, struct cfr_err *err)
{
    struct cfr_secret *s = &a->fields[field];

    /* A message is only shown, so a long one is cut. */
    if (field == CFR_AWS_MESSAGE && text.n > s->limit)
        text.n = s->limit;
    if (text.n > s->limit)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s has %zu bytes, more than %zu", rows[field].name, text.n,
                           s->limit);
    if (s->len != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has %s twice", rows[field].name);
    return cfr_secret_append(s, text, err);
}

/* Compares PATH with PATTERN, in which an asterisk is OPERATION. */
static bool path_is(const char *path, const char *pattern, const char *operation)
{
    size_t n = strlen(operation);

    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '*') {
            if (strncmp(path, operation, n) != 0)
                return false;
            path += n;
        } else if (*path++ != *pattern) {
            return false;
        }
    }
    return *path == '\0';
}

static int on_leaf(void *context, const char *path, struct cfr_view text, struct cfr_err *err)
{
    struct reading *r = context;

    for (size_t i = 0; i < CFR_AWS_FIELDS; i++) {
        for (const char *const *place = rows[i].xml; *place != NULL; place++) {
            if (path_is(path, *place, r->operation))
                return store(r->out, (enum cfr_aws_answer_field)i, cfr_view_trim(text), err);
        }
    }
    return 0;
}

/* Follows such a pattern through objects. */
static const struct cfr_json *walk(const struct cfr_json *value, const char *pattern, const char *operation)
{
    char key[128];

    while (*pattern != '\0') {
        size_t n = strcspn(++pattern, "/");
        bool star = pattern[0] == '*';

        (void)snprintf(key, sizeof key, "%s%.*s", star ? operation : "", (int)(star ? n - 1 : n),
                       star ? pattern + 1 : pattern);
        value = cfr_json_get(value, key);
        pattern += n;
    }
    return value;
}

/* Stores the field that VALUE is; a number may be an Expiration. */
static int store_json(const struct reading *r, enum cfr_aws_answer_field field, const struct cfr_json *value,
                      struct cfr_err *err)
{
    struct cfr_view text;
    double number;

    if (cfr_json_string(value, &text))
        return store(r->out, field, text, err);
    if (field == CFR_AWS_EXPIRATION && cfr_json_number(value, &number) && number >= 0 && number <= (double)LATEST_S)
        r->out->expires_s = (int64_t)number;
    return 0;
}

static int read_json(const struct reading *r, struct cfr_view body, struct cfr_err *err)
{
    struct cfr_json *doc;
    int rc = cfr_json_parse(body, &doc, err);

    for (size_t i = 0; rc == 0 && i < CFR_AWS_FIELDS; i++) {
        for (const char *const *place = rows[i].json; rc == 0 && *place != NULL; place++)
            rc = store_json(r, (enum cfr_aws_answer_field)i, walk(doc, *place, r->operation), err);
    }
    cfr_json_free(doc);
    return rc;
}

static struct cfr_view without_mark(struct cfr_view body)
{
    if (cfr_view_starts(body, "\xef\xbb\xbf"))
        body = (struct cfr_view){body.p + 3, body.n - 3};
    return cfr_view_trim(body);
}

static int not_understood(struct cfr_view type, struct cfr_view body, struct cfr_err *err)
{
    char shown[SHOWN_TYPE + 1] = "";

    if (body.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is empty");
    if (type.n != 0 && cfr_view_printable(type))
        (void)snprintf(shown, sizeof shown, "%.*s", (int)(type.n < SHOWN_TYPE ? type.n : SHOWN_TYPE), type.p);
    return cfr_err_set(err, CFR_E_ANSWER,
                       "the answer is neither XML nor JSON (its type is %s); check `endpoint`, and that no proxy or "
                       "login page answers instead",
                       shown[0] != '\0' ? shown : "not given");
}

int cfr_aws_answer_read(const char *operation, struct cfr_view content_type, struct cfr_view body,
                        struct cfr_aws_answer *out, struct cfr_err *err)
{
    struct reading r = {.operation = operation, .out = out};
    struct cfr_view text = without_mark(body);
    int rc;

    *out = (struct cfr_aws_answer){0};
    for (size_t i = 0; i < CFR_AWS_FIELDS; i++)
        cfr_secret_init(&out->fields[i], rows[i].limit);
    /* A page for people may well be XML, too. */
    if (text.n != 0 && text.p[0] == '<' && cfr_view_find(content_type, "text/html") < 0)
        rc = cfr_xml_read(text, on_leaf, &r, err);
    else if (text.n != 0 && text.p[0] == '{')
        rc = read_json(&r, text, err);
    else
        return not_understood(content_type, text, err);
    if (rc == 0 && out->fields[CFR_AWS_EXPIRATION].len != 0 &&
        !cfr_time_parse(cfr_secret_view(&out->fields[CFR_AWS_EXPIRATION]), &out->expires_s))
        out->expires_s = 0;
    return rc;
}

void cfr_aws_answer_free(struct cfr_aws_answer *a)
{
    for (size_t i = 0; i < CFR_AWS_FIELDS; i++)
        cfr_secret_free(&a->fields[i]);
    *a = (struct cfr_aws_answer){0};
}

struct cfr_view cfr_aws_answer_get(const struct cfr_aws_answer *a, enum cfr_aws_answer_field field)
{
    return cfr_secret_view(&a->fields[field]);
}

static int copy_key(const struct cfr_aws_answer *a, enum cfr_aws_answer_field field, const char *name,
                    struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view v = cfr_aws_answer_get(a, field);

    if (v.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no %s", rows[field].name);
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] <= 0x20 || v.p[i] > 0x7e)
            return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s holds a space or a character that is not printable",
                               rows[field].name);
    }
    return cfr_grant_set(g, name, v, err);
}

static int copy_expiry(const struct cfr_aws_answer *a, struct cfr_grant *g, struct cfr_err *err)
{
    if (a->expires_s == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's Expiration is missing or not a time");
    if (a->expires_s < EARLIEST_S)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's Expiration lies in a year before 2010");
    g->expires_s = a->expires_s;
    return 0;
}

static int copy_identity(const struct cfr_aws_answer *a, const char *fallback_arn, struct cfr_grant *g,
                         struct cfr_err *err)
{
    struct cfr_view arn = cfr_aws_answer_get(a, CFR_AWS_ARN);
    struct cfr_view account;
    int64_t digits;
    int rc;

    if (arn.n == 0)
        arn = cfr_view_of(fallback_arn);
    if (arn.n == 0)
        return 0;
    rc = cfr_grant_set_identity(g, arn, err);
    if (rc != 0)
        return rc;
    account = cfr_aws_params_arn_part(g->identity, 4);
    if (account.n != 12 && fallback_arn != NULL)
        account = cfr_aws_params_arn_part(fallback_arn, 4);
    return account.n == 12 && cfr_view_int(account, &digits) ? cfr_grant_set(g, CFR_FIELD_AWS_ACCOUNT_ID, account, err)
                                                             : 0;
}

int cfr_aws_answer_grant(const struct cfr_aws_answer *a, const char *fallback_arn, struct cfr_grant *g,
                         struct cfr_err *err)
{
    int rc = copy_key(a, CFR_AWS_KEY_ID, CFR_FIELD_AWS_ACCESS_KEY_ID, g, err);

    if (rc == 0)
        rc = copy_key(a, CFR_AWS_SECRET, CFR_FIELD_AWS_SECRET_ACCESS_KEY, g, err);
    if (rc == 0)
        rc = copy_key(a, CFR_AWS_SESSION_TOKEN, CFR_FIELD_AWS_SESSION_TOKEN, g, err);
    if (rc == 0)
        rc = copy_expiry(a, g, err);
    return rc != 0 ? rc : copy_identity(a, fallback_arn, g, err);
}
