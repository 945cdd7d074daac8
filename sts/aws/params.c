/* SPDX-License-Identifier: MIT */
/* Parameters of STS operations. */
#include "sts/aws/params_private.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SUBJECT_PREFIX "system:serviceaccount:"
#define HASH_TEXT      9 /* "-" and eight hexadecimal digits */

/* The class `[\w+=,.@-]` of session names and source identities, and the characters of MORE. */
static bool name_char(char c, const char *more)
{
    return c != '\0' && (cfr_view_is_alnum(c) || strchr("_+=,.@-", c) != NULL || strchr(more, c) != NULL);
}

static bool digits(struct cfr_view v)
{
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] < '0' || v.p[i] > '9')
            return false;
    }
    return v.n != 0;
}

struct cfr_view cfr_aws_params_arn_part(const char *arn, unsigned index)
{
    const char *p = arn;

    for (unsigned i = 0; i < index; i++) {
        p = strchr(p, ':');
        if (p == NULL)
            return (struct cfr_view){NULL, 0};
        p++;
    }
    return (struct cfr_view){p, index < 5 ? strcspn(p, ":") : strlen(p)};
}

/* `arn:PARTITION:iam::`, and characters that an ARN may have. */
static bool iam_arn(const char *arn)
{
    struct cfr_view partition = cfr_aws_params_arn_part(arn, 1);

    for (const char *p = arn; *p != '\0'; p++) {
        if (!name_char(*p, ":/"))
            return false;
    }
    for (size_t i = 0; i < partition.n; i++) {
        if (!(cfr_view_is_alnum(partition.p[i]) || partition.p[i] == '-'))
            return false;
    }
    return cfr_view_is(cfr_aws_params_arn_part(arn, 0), "arn") && partition.n != 0 &&
           cfr_view_is(cfr_aws_params_arn_part(arn, 2), "iam") && cfr_view_is(cfr_aws_params_arn_part(arn, 3), "") &&
           cfr_aws_params_arn_part(arn, 5).p != NULL;
}

int cfr_aws_params_check_role(const char *key, const char *arn, struct cfr_err *err)
{
    struct cfr_view account = arn != NULL ? cfr_aws_params_arn_part(arn, 4) : (struct cfr_view){NULL, 0};
    struct cfr_view rest = arn != NULL ? cfr_aws_params_arn_part(arn, 5) : (struct cfr_view){NULL, 0};

    if (arn == NULL)
        return 0;
    /* Servers other than AWS have roles without an account; whether that is meant is decided with the
     * endpoint. */
    if (iam_arn(arn) && strlen(arn) >= 20 && strlen(arn) <= 2048 && cfr_view_starts(rest, "role/") && rest.n > 5 &&
        rest.p[rest.n - 1] != '/' && (account.n == 0 || (account.n == 12 && digits(account))))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: it must be the ARN of a role, such as \"arn:aws:iam::123456789012:role/NAME\"", key);
}

static int check_class(const char *key, const char *text, size_t min, size_t max, const char *more, const char *allowed,
                       struct cfr_err *err)
{
    size_t n;

    if (text == NULL)
        return 0;
    n = strlen(text);
    if (n < min || n > max)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has %zu characters; AWS allows %zu to %zu", key, n, min, max);
    for (size_t i = 0; i < n; i++) {
        if (!name_char(text[i], more))
            return cfr_err_set(err, CFR_E_CONFIG, "%s: character %zu is not allowed; AWS allows letters, digits and %s",
                               key, i + 1, allowed);
    }
    return 0;
}

int cfr_aws_params_check_session_name(const char *key, const char *name, struct cfr_err *err)
{
    return check_class(key, name, 2, CFR_AWS_SESSION_NAME_MAX, "", "_ + = , . @ -", err);
}

int cfr_aws_params_check_external_id(const char *key, const char *id, struct cfr_err *err)
{
    return check_class(key, id, 2, 1224, ":/", "_ + = , . @ : / -", err);
}

size_t cfr_aws_params_length(const char *policy)
{
    size_t n = 0;

    /* Continuation bytes of UTF-8 do not count. */
    for (; policy != NULL && *policy != '\0'; policy++)
        n += ((unsigned char)*policy & 0xc0) != 0x80 ? 1 : 0;
    return n;
}

/* TAB, LF, CR and U+0020 to U+00FF; the latter half is C2 or C3 and one more byte in UTF-8. */
static bool policy_chars(const char *p)
{
    for (; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == 0xc2 || c == 0xc3) {
            if (((unsigned char)p[1] & 0xc0) != 0x80)
                return false;
            p++;
        } else if (c >= 0x80 || (c < 0x20 && c != '\t' && c != '\n' && c != '\r')) {
            return false;
        }
    }
    return true;
}

int cfr_aws_params_check_policy(const char *key, const char *policy, struct cfr_err *err)
{
    struct cfr_err why = {0};
    struct cfr_json *doc;
    bool object;
    int rc;

    if (policy == NULL)
        return 0;
    if (!policy_chars(policy))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: AWS allows only TAB, LF, CR and the characters U+0020 to U+00FF",
                           key);
    rc = cfr_json_parse(cfr_view_of(policy), &doc, &why);
    if (rc != 0)
        return cfr_err_set(err, rc == CFR_E_NOMEM ? rc : CFR_E_CONFIG, "%s: it must be a policy document in JSON: %s",
                           key, why.text);
    object = cfr_json_is_object(doc);
    cfr_json_free(doc);
    return object ? 0 : cfr_err_set(err, CFR_E_CONFIG, "%s: it must be a policy document: a JSON object", key);
}

int cfr_aws_params_check_policy_arns(const char *key, const struct cfr_strings *arns, struct cfr_err *err)
{
    if (arns->count > 10)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: there are %zu; AWS allows at most 10", key, arns->count);
    for (size_t i = 0; i < arns->count; i++) {
        const char *arn = arns->items[i];
        struct cfr_view account = cfr_aws_params_arn_part(arn, 4);

        if (strlen(arn) < 20 || strlen(arn) > 2048 || !iam_arn(arn) ||
            !cfr_view_starts(cfr_aws_params_arn_part(arn, 5), "policy/") ||
            !(cfr_view_is(account, "aws") || (account.n == 12 && digits(account))))
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: element %zu must be the ARN of a managed policy, such as "
                               "\"arn:aws:iam::aws:policy/ReadOnlyAccess\"",
                               key, i + 1);
    }
    return 0;
}

/* Tags are letters, numbers and separators of Unicode; only ASCII is checked, AWS checks the rest. */
static bool tag_chars(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x80 && !cfr_view_is_alnum(*text) && strchr(" _.:/=+-@", *text) == NULL)
            return false;
    }
    return true;
}

static int check_tag(const struct cfr_pairs *tags, size_t i, struct cfr_err *err)
{
    const struct cfr_pair *tag = &tags->items[i];
    size_t key = cfr_aws_params_length(tag->key);

    if (key < 1 || key > 128 || cfr_aws_params_length(tag->value) > 256)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "tags: in tag %zu the key must have 1 to 128 characters and the value at most 256", i + 1);
    if (!tag_chars(tag->key) || !tag_chars(tag->value))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "tags: tag %zu has a character that AWS does not take: only letters, digits, "
                           "spaces and _ . : / = + - @",
                           i + 1);
    if (strncasecmp(tag->key, "aws:", 4) == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "tags: tag %zu begins with \"aws:\", which AWS reserves", i + 1);
    for (size_t k = 0; k < i; k++) {
        if (strcasecmp(tags->items[k].key, tag->key) == 0)
            return cfr_err_set(err, CFR_E_CONFIG, "tags: tags %zu and %zu differ at most in case, which AWS ignores",
                               k + 1, i + 1);
    }
    return 0;
}

int cfr_aws_params_check_tags(const struct cfr_pairs *tags, const struct cfr_strings *transitive, struct cfr_err *err)
{
    int rc = 0;

    if (tags->count > 50)
        return cfr_err_set(err, CFR_E_CONFIG, "tags: there are %zu; AWS allows at most 50", tags->count);
    for (size_t i = 0; rc == 0 && i < tags->count; i++)
        rc = check_tag(tags, i, err);
    for (size_t i = 0; rc == 0 && i < transitive->count; i++) {
        bool known = false;

        for (size_t k = 0; k < tags->count; k++)
            known = known || strcasecmp(tags->items[k].key, transitive->items[i]) == 0;
        if (!known)
            rc = cfr_err_set(err, CFR_E_CONFIG, "transitive_tag_keys: element %zu is not a key of tags", i + 1);
    }
    return rc;
}

static uint32_t hash(struct cfr_view text)
{
    uint32_t h = 2166136261U;

    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (unsigned char)text.p[i]) * 16777619U;
    return h;
}

/* FNV-1a of the whole, so that two long names with one beginning stay apart. */
static void map_name(struct cfr_view text, char out[CFR_AWS_SESSION_NAME_MAX + 1])
{
    bool cut = text.n > CFR_AWS_SESSION_NAME_MAX;
    size_t n = cut ? CFR_AWS_SESSION_NAME_MAX - HASH_TEXT : text.n;

    for (size_t i = 0; i < n; i++)
        out[i] = (char)(text.p[i] == ':' ? '.' : name_char(text.p[i], "") ? text.p[i] : '-');
    out[n] = '\0';
    if (cut)
        (void)snprintf(out + n, HASH_TEXT + 1, "-%08" PRIx32, hash(text));
}

const char *cfr_aws_params_session_name(const char *configured, struct cfr_view subject, const char *credential,
                                        char out[CFR_AWS_SESSION_NAME_MAX + 1])
{
    if (configured != NULL)
        return configured;
    if (cfr_view_starts(subject, SUBJECT_PREFIX)) {
        subject.p += strlen(SUBJECT_PREFIX);
        subject.n -= strlen(SUBJECT_PREFIX);
    }
    if (subject.n < 2)
        subject = cfr_view_of(credential);
    if (subject.n < 2) {
        char padded[16];

        (void)snprintf(padded, sizeof padded, "credfresh-%.*s", (int)subject.n, subject.n != 0 ? subject.p : "");
        map_name(cfr_view_of(padded), out);
        return out;
    }
    map_name(subject, out);
    return out;
}

/* A form body that grows; the first error sticks. */
struct form {
    struct cfr_secret *body;
    struct cfr_err *err;
    int rc;
};

static void raw(struct form *f, const char *text)
{
    if (f->rc == 0)
        f->rc = cfr_secret_append_str(f->body, text, f->err);
}

static void put_view(struct form *f, const char *name, struct cfr_view value)
{
    if (f->body->len != 0)
        raw(f, "&");
    raw(f, name);
    raw(f, "=");
    if (f->rc == 0)
        f->rc = cfr_secret_append_percent(f->body, value, f->err);
}

static void put(struct form *f, const char *name, const char *value)
{
    if (value != NULL)
        put_view(f, name, cfr_view_of(value));
}

static void put_member(struct form *f, const char *list, size_t index, const char *suffix, const char *value)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s.member.%zu%s", list, index + 1, suffix);
    put(f, name, value);
}

static void put_common(struct form *f, const char *operation, const char *role, const char *session,
                       int64_t duration_ms)
{
    char seconds[24];

    (void)snprintf(seconds, sizeof seconds, "%" PRId64, duration_ms / 1000);
    put(f, "Action", operation);
    put(f, "Version", "2011-06-15");
    put(f, "RoleArn", role);
    put(f, "RoleSessionName", session);
    put(f, "DurationSeconds", seconds);
}

static void put_policies(struct form *f, const char *policy, const struct cfr_strings *arns)
{
    put(f, "Policy", policy);
    for (size_t i = 0; i < arns->count; i++)
        put_member(f, "PolicyArns", i, ".arn", arns->items[i]);
}

int cfr_aws_params_web_identity(const struct cfr_aws *config, const char *session_name, struct cfr_view token,
                                struct cfr_secret *body, struct cfr_err *err)
{
    struct form f = {.body = body, .err = err};

    if (token.n < 4 || token.n > CFR_AWS_TOKEN_MAX)
        return cfr_err_set(err, CFR_E_TOKEN, "the token has %zu characters; AWS allows 4 to %d", token.n,
                           CFR_AWS_TOKEN_MAX);
    /* Room for the whole form at once, rather than growing, copying and wiping on the way. */
    if (cfr_secret_reserve(body, token.n + 1024, err) == NULL)
        return err != NULL ? err->code : CFR_E_NOMEM;
    put_common(&f, "AssumeRoleWithWebIdentity", config->role_arn, session_name, cfr_aws_duration_ms(config));
    put_policies(&f, config->policy, &config->policy_arns);
    put_view(&f, "WebIdentityToken", token);
    return f.rc;
}

int cfr_aws_params_assume_role(const struct cfr_aws_step *step, const char *session_name, struct cfr_secret *body,
                               struct cfr_err *err)
{
    struct form f = {.body = body, .err = err};

    put_common(&f, "AssumeRole", step->role_arn, session_name, step->duration_ms);
    put(&f, "ExternalId", step->external_id);
    put_policies(&f, step->policy, &step->policy_arns);
    for (size_t i = 0; i < step->tags.count; i++) {
        put_member(&f, "Tags", i, ".Key", step->tags.items[i].key);
        put_member(&f, "Tags", i, ".Value", step->tags.items[i].value);
    }
    for (size_t i = 0; i < step->transitive_tag_keys.count; i++)
        put_member(&f, "TransitiveTagKeys", i, "", step->transitive_tag_keys.items[i]);
    put(&f, "SourceIdentity", step->source_identity);
    return f.rc;
}

int cfr_aws_params_session_token(int64_t duration_ms, struct cfr_secret *body, struct cfr_err *err)
{
    struct form f = {.body = body, .err = err};

    put_common(&f, "GetSessionToken", NULL, NULL, duration_ms);
    return f.rc;
}
