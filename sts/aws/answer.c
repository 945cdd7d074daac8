/* SPDX-License-Identifier: MIT */
/* Answers of STS. */
#include "sts/aws/answer_private.h"

#include "base/time.h"
#include "base/xml.h"
#include "sts/aws/params_private.h"

#include <stdio.h>
#include <string.h>

/* Before this no credential was ever granted: an Expiration that old is a mistake, not a clock. */
#define EARLIEST_S INT64_C(1262304000) /* 2010-01-01 */

#define SHOWN_TYPE 40

#define PLACES_MAX 4
#define GRANTED    "/*Response/*Result/Credentials/"

/* Where each field is in an answer; an asterisk is replaced by the operation. */
static const struct row {
    const char *name;
    size_t limit;
    const char *places[PLACES_MAX + 1];
} rows[CFR_AWS_FIELDS] = {
    [CFR_AWS_KEY_ID] = {"AccessKeyId", 256, {GRANTED "AccessKeyId"}},
    [CFR_AWS_SECRET] = {"SecretAccessKey", 1024, {GRANTED "SecretAccessKey"}},
    [CFR_AWS_SESSION_TOKEN] = {"SessionToken", CFR_GRANT_VALUE_MAX, {GRANTED "SessionToken"}},
    [CFR_AWS_EXPIRATION] = {"Expiration", 64, {GRANTED "Expiration"}},
    [CFR_AWS_ARN] = {"Arn",
                     CFR_GRANT_IDENTITY_MAX,
                     {"/*Response/*Result/AssumedRoleUser/Arn", "/*Response/*Result/Arn"}},
    [CFR_AWS_ACCOUNT] = {"Account", 64, {"/*Response/*Result/Account"}},
    [CFR_AWS_CODE] = {"Code",
                      128,
                      {"/ErrorResponse/Error/Code", "/Error/Code", "/ErrorResponse/Errors/Error/Code",
                       "/Response/Errors/Error/Code"}},
    [CFR_AWS_MESSAGE] = {"Message",
                         8192,
                         {"/ErrorResponse/Error/Message", "/Error/Message", "/ErrorResponse/Errors/Error/Message",
                          "/Response/Errors/Error/Message"}},
    [CFR_AWS_REQUEST_ID] = {"RequestId",
                            256,
                            {"/*Response/ResponseMetadata/RequestId", "/ErrorResponse/RequestId", "/Error/RequestId",
                             "/Response/RequestID"}},
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
        for (const char *const *place = rows[i].places; *place != NULL; place++) {
            if (path_is(path, *place, r->operation))
                return store(r->out, (enum cfr_aws_answer_field)i, cfr_view_trim(text), err);
        }
    }
    return 0;
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
                       "the answer is not XML (its type is %s); check `endpoint`, and that no proxy or "
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
