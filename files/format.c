/* SPDX-License-Identifier: MIT */
/* Output formats. */
#include "files/format.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROFILE_MAX   64
#define PROFILE_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
/* What needs no quotes in a shell, in systemd's EnvironmentFile and in docker's --env-file, all at once. */
#define ENV_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%"

/* A document being put together: the first error stays, and what follows it does nothing. */
struct pen {
    struct cfr_secret *out;
    struct cfr_err *err;
    int rc;
};

static void put(struct pen *p, struct cfr_view text)
{
    if (p->rc == 0)
        p->rc = cfr_secret_append(p->out, text, p->err);
}

static void put_text(struct pen *p, const char *text)
{
    put(p, cfr_view_of(text));
}

static void put_json(struct pen *p, struct cfr_view text)
{
    if (p->rc == 0)
        p->rc = cfr_secret_append_json(p->out, text, p->err);
}

static struct cfr_view get(const struct cfr_format_input *in, const char *field)
{
    return cfr_grant_get(in->grant, field);
}

static struct cfr_view region_of(const struct cfr_format_input *in)
{
    return in->region != NULL && in->region[0] != '\0' ? cfr_view_of(in->region)
                                                       : get(in, CFR_FIELD_AWS_REGION);
}

static int need(const struct cfr_format_input *in, const char *format, const char *field, struct cfr_err *err)
{
    if (get(in, field).n != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "the format %s needs %s, which this credential does not have",
                       format, field);
}

static int need_keys(const struct cfr_format_input *in, const char *format, struct cfr_err *err)
{
    int rc = need(in, format, CFR_FIELD_AWS_ACCESS_KEY_ID, err);

    return rc != 0 ? rc : need(in, format, CFR_FIELD_AWS_SECRET_ACCESS_KEY, err);
}

/* Readers of ini files differ on quotes, comments and blanks; what is left is read alike by all. */
static const char *ini_objection(struct cfr_view value, bool blanks)
{
    struct cfr_view trimmed = cfr_view_trim(value);
    char first = value.n != 0 ? value.p[0] : '\0';
    char last = value.n != 0 ? value.p[value.n - 1] : '\0';

    if (!cfr_view_printable(value))
        return "has a control or non-ASCII character";
    if (trimmed.n != value.n || (!blanks && memchr(value.p, ' ', value.n) != NULL))
        return "has a blank";
    if (first == '#' || first == ';' || cfr_view_find(value, " #") >= 0 || cfr_view_find(value, " ;") >= 0)
        return "has what some SDKs take for a comment";
    if ((first == '"' || first == '\'') && last == first)
        return "is in quotes, which some SDKs drop";
    return NULL;
}

static void ini_line(struct pen *p, const char *key, struct cfr_view value, int code, bool blanks)
{
    const char *objection;

    if (value.n == 0 || p->rc != 0)
        return; /* an empty value starts a nested block for most SDKs, so the line is left out */
    objection = ini_objection(value, blanks);
    if (objection != NULL) {
        p->rc = cfr_err_set(p->err, code, "the value of %s %s, so it cannot be written to an AWS profile",
                            key, objection);
        return;
    }
    put_text(p, key);
    put_text(p, " = ");
    put(p, value);
    put_text(p, "\n");
}

static void section_header(struct pen *p, const struct cfr_format_input *in, const char *format)
{
    char section[CFR_FORMAT_SECTION_MAX] = "";

    if (p->rc != 0 || !in->section_header)
        return;
    p->rc = cfr_format_section(cfr_format_find(cfr_view_of(format)), in->profile, section, p->err);
    put_text(p, "[");
    put_text(p, section);
    put_text(p, "]\n");
}

static void grant_line(struct pen *p, const struct cfr_format_input *in, const char *field)
{
    ini_line(p, field, get(in, field), CFR_E_ANSWER, false);
}

static int aws_credentials(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct pen p = {out, err, need_keys(in, "aws-credentials", err)};

    section_header(&p, in, "aws-credentials");
    grant_line(&p, in, CFR_FIELD_AWS_ACCESS_KEY_ID);
    grant_line(&p, in, CFR_FIELD_AWS_SECRET_ACCESS_KEY);
    grant_line(&p, in, CFR_FIELD_AWS_SESSION_TOKEN);
    grant_line(&p, in, CFR_FIELD_AWS_ACCOUNT_ID);
    return p.rc;
}

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static int aws_config(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct pen p = {out, err, 0};

    if (given(in->token_path) && !given(in->role_arn))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format aws-config needs a role_arn beside the token's path");
    if (!given(in->token_path) && !given(in->command))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "the format aws-config needs the path of a published token, with a role_arn, or a command");
    section_header(&p, in, "aws-config");
    if (given(in->token_path)) {
        ini_line(&p, "role_arn", cfr_view_of(in->role_arn), CFR_E_CONFIG, false);
        ini_line(&p, "web_identity_token_file", cfr_view_of(in->token_path), CFR_E_CONFIG, true);
        ini_line(&p, "role_session_name", cfr_view_of(in->session_name), CFR_E_CONFIG, false);
    } else {
        ini_line(&p, "credential_process", cfr_view_of(in->command), CFR_E_CONFIG, true);
    }
    ini_line(&p, "region", region_of(in), given(in->region) ? CFR_E_CONFIG : CFR_E_ANSWER, false);
    return p.rc;
}

static void json_member(struct pen *p, const char *key, struct cfr_view value)
{
    if (value.n == 0)
        return;
    put_text(p, ",");
    put_json(p, cfr_view_of(key));
    put_text(p, ":");
    put_json(p, value);
}

static int aws_credential_process(const struct cfr_format_input *in, struct cfr_secret *out,
                                  struct cfr_err *err)
{
    struct pen p = {out, err, need_keys(in, "aws-credential-process", err)};
    char when[CFR_TIME_RFC3339_MAX];

    put_text(&p, "{\"Version\":1");
    json_member(&p, "AccessKeyId", get(in, CFR_FIELD_AWS_ACCESS_KEY_ID));
    json_member(&p, "SecretAccessKey", get(in, CFR_FIELD_AWS_SECRET_ACCESS_KEY));
    json_member(&p, "SessionToken", get(in, CFR_FIELD_AWS_SESSION_TOKEN));
    /* Without an Expiration SDKs never ask again, which is right for what never expires. */
    if (in->grant->expires_s != 0)
        json_member(&p, "Expiration", cfr_view_of(cfr_time_format(in->grant->expires_s, when)));
    json_member(&p, "AccountId", get(in, CFR_FIELD_AWS_ACCOUNT_ID));
    put_text(&p, "}\n");
    return p.rc;
}

static int token(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = need(in, "token", CFR_FIELD_TOKEN, err);

    return rc != 0 ? rc : cfr_secret_append(out, get(in, CFR_FIELD_TOKEN), err);
}

static void env_line(struct pen *p, const char *field, struct cfr_view value, int code)
{
    char key[64];

    if (value.n == 0 || p->rc != 0)
        return;
    (void)snprintf(key, sizeof key, "%s", field);
    for (char *c = key; *c != '\0'; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\0' || strchr(ENV_CHARS, value.p[i]) == NULL) {
            p->rc = cfr_err_set(p->err, code,
                                "the value of %s would need quotes, which readers of env files do not "
                                "read alike, so it cannot be written as env: publish json instead",
                                key);
            return;
        }
    }
    put_text(p, key);
    put_text(p, "=");
    put(p, value);
    put_text(p, "\n");
}

static int env(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_grant *g = in->grant;
    bool aws = get(in, CFR_FIELD_AWS_ACCESS_KEY_ID).n != 0;
    int code = given(in->region) ? CFR_E_CONFIG : CFR_E_ANSWER;
    struct pen p = {out, err, 0};
    char when[CFR_TIME_RFC3339_MAX];
    size_t before = out->len;

    for (size_t i = 0; i < g->field_count; i++) {
        if (strcmp(g->fields[i].name, CFR_FIELD_AWS_REGION) != 0)
            env_line(&p, g->fields[i].name, cfr_secret_view(&g->fields[i].value), CFR_E_ANSWER);
    }
    if (p.rc == 0 && out->len == before)
        return cfr_err_set(err, CFR_E_CONFIG, "the format env needs a credential with at least one value");
    if (aws && g->expires_s != 0)
        env_line(&p, "aws_credential_expiration", cfr_view_of(cfr_time_format(g->expires_s, when)),
                 CFR_E_ANSWER);
    /* Half of the SDKs read the one, half the other. */
    env_line(&p, "aws_region", region_of(in), code);
    env_line(&p, "aws_default_region", region_of(in), code);
    return p.rc;
}

static void json_time(struct pen *p, const char *key, int64_t unix_s)
{
    char when[CFR_TIME_RFC3339_MAX];

    put_text(p, key);
    if (unix_s == 0)
        put_text(p, "null");
    else
        put_json(p, cfr_view_of(cfr_time_format(unix_s, when)));
}

static int json(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_grant *g = in->grant;
    struct pen p = {out, err, 0};
    char number[24];

    (void)snprintf(number, sizeof number, "%" PRIu64, in->generation);
    put_text(&p, "{\"version\":1,\"credential\":");
    put_json(&p, cfr_view_of(in->credential));
    put_text(&p, ",\"generation\":");
    put_text(&p, number);
    put_text(&p, ",\"identity\":");
    if (g->identity != NULL)
        put_json(&p, cfr_view_of(g->identity));
    else
        put_text(&p, "null");
    json_time(&p, ",\"issued\":", g->issued_s);
    json_time(&p, ",\"expires\":", g->expires_s);
    put_text(&p, ",\"fields\":{");
    for (size_t i = 0; i < g->field_count; i++) {
        put_text(&p, i == 0 ? "" : ",");
        put_json(&p, cfr_view_of(g->fields[i].name));
        put_text(&p, ":");
        put_json(&p, cfr_secret_view(&g->fields[i].value));
    }
    put_text(&p, "}}\n");
    return p.rc;
}

/* One list makes the table and the names. */
#define FORMATS(X)                                                                                           \
    X("aws-credentials", aws_credentials, true, CFR_FIELD_AWS_ACCESS_KEY_ID,                                 \
      "a profile of an AWS shared credentials file")                                                         \
    X("aws-config", aws_config, true, NULL,                                                                  \
      "a profile of an AWS config file that makes SDKs use a published token, or run a command")             \
    X("aws-credential-process", aws_credential_process, false, CFR_FIELD_AWS_ACCESS_KEY_ID,                  \
      "the JSON that AWS SDKs expect of a credential_process")                                               \
    X("token", token, false, CFR_FIELD_TOKEN, "the token alone, without a line feed")                        \
    X("env", env, false, NULL, "KEY=value lines for shells, systemd and containers")                         \
    X("json", json, false, NULL, "everything that is known, as one JSON object")

const struct cfr_format cfr_formats[] = {
#define X(name, render, profile, needs, doc) {name, render, profile, needs, doc},
    FORMATS(X)
#undef X
        {0}};

const char *const cfr_format_names[] = {
#define X(name, render, profile, needs, doc) name,
    FORMATS(X)
#undef X
        NULL};

const struct cfr_format *cfr_format_find(struct cfr_view name)
{
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++) {
        if (cfr_view_is(name, f->name))
            return f;
    }
    return NULL;
}

int cfr_format_section(const struct cfr_format *format, const char *profile, char out[CFR_FORMAT_SECTION_MAX],
                       struct cfr_err *err)
{
    const char *name = profile != NULL ? profile : "default";
    bool in_config = format->render == aws_config;

    if (!format->profile)
        return cfr_err_set(err, CFR_E_CONFIG, "the format %s has no profiles", format->name);
    if (name[0] == '\0' || strlen(name) > PROFILE_MAX || name[strspn(name, PROFILE_CHARS)] != '\0' ||
        strcmp(name, "DEFAULT") == 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "\"%.80s\" is not a profile name that all SDKs take: use 1 to %d letters, digits, `_`, `.` "
            "and `-`, and not DEFAULT",
            name, PROFILE_MAX);
    (void)snprintf(out, CFR_FORMAT_SECTION_MAX, "%s%s",
                   in_config && strcmp(name, "default") != 0 ? "profile " : "", name);
    return 0;
}
