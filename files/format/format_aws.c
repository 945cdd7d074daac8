/* SPDX-License-Identifier: MIT */
/* Output formats for AWS SDKs. */
#include "files/format/format_private.h"

#include "base/time.h"

#include <string.h>

static int need_keys(const struct cfr_format_input *in, const char *format, struct cfr_err *err)
{
    int rc = cfr_format_need(in, format, CFR_FIELD_AWS_ACCESS_KEY_ID, err);

    return rc != 0 ? rc : cfr_format_need(in, format, CFR_FIELD_AWS_SECRET_ACCESS_KEY, err);
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
        return "has what some SDKs read as a comment";
    if ((first == '"' || first == '\'') && last == first)
        return "is in quotes, which some SDKs drop";
    return NULL;
}

static void ini_line(struct cfr_writer *p, const char *key, struct cfr_view value, int code, bool blanks)
{
    const char *objection;

    if (value.n == 0 || p->rc != 0)
        return; /* an empty value starts a nested block for most SDKs, so the line is left out */
    objection = ini_objection(value, blanks);
    if (objection != NULL) {
        p->rc =
            cfr_err_set(p->err, code, "the value of %s %s, so it cannot be written to an AWS profile", key, objection);
        return;
    }
    cfr_writer_text(p, key);
    cfr_writer_text(p, " = ");
    cfr_writer_view(p, value);
    cfr_writer_text(p, "\n");
}

static void section_header(struct cfr_writer *p, const struct cfr_format_input *in, const char *format)
{
    char section[CFR_FORMAT_SECTION_MAX] = "";

    if (p->rc != 0 || !in->section_header)
        return;
    p->rc = cfr_format_section(cfr_format_find(cfr_view_of(format)), in->profile, section, p->err);
    cfr_writer_text(p, "[");
    cfr_writer_text(p, section);
    cfr_writer_text(p, "]\n");
}

static void grant_line(struct cfr_writer *p, const struct cfr_format_input *in, const char *field)
{
    ini_line(p, field, cfr_format_get(in, field), CFR_E_ANSWER, false);
}

int cfr_format_aws_credentials(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {.secret = out, .err = err, .rc = need_keys(in, "aws-credentials", err)};

    section_header(&p, in, "aws-credentials");
    grant_line(&p, in, CFR_FIELD_AWS_ACCESS_KEY_ID);
    grant_line(&p, in, CFR_FIELD_AWS_SECRET_ACCESS_KEY);
    grant_line(&p, in, CFR_FIELD_AWS_SESSION_TOKEN);
    grant_line(&p, in, CFR_FIELD_AWS_ACCOUNT_ID);
    return p.rc;
}

int cfr_format_aws_config(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {.secret = out, .err = err};

    if (cfr_format_given(in->token_path) && !cfr_format_given(in->role_arn))
        return cfr_err_set(err, CFR_E_CONFIG, "the format aws-config needs a role_arn with the token's path");
    if (!cfr_format_given(in->token_path) && !cfr_format_given(in->command))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format aws-config needs the path of a published token, with a role_arn, or a command");
    section_header(&p, in, "aws-config");
    ini_line(&p, "sts_regional_endpoints", cfr_view_of(in->sts_regional_endpoints), CFR_E_CONFIG, false);
    if (cfr_format_given(in->token_path)) {
        ini_line(&p, "role_arn", cfr_view_of(in->role_arn), CFR_E_CONFIG, false);
        ini_line(&p, "web_identity_token_file", cfr_view_of(in->token_path), CFR_E_CONFIG, true);
        ini_line(&p, "role_session_name", cfr_view_of(in->session_name), CFR_E_CONFIG, false);
    } else {
        ini_line(&p, "credential_process", cfr_view_of(in->command), CFR_E_CONFIG, true);
    }
    ini_line(&p, "region", cfr_format_region(in), cfr_format_given(in->region) ? CFR_E_CONFIG : CFR_E_ANSWER, false);
    return p.rc;
}

int cfr_format_aws_credential_process(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {.secret = out, .err = err, .rc = need_keys(in, "aws-credential-process", err)};
    char when[CFR_TIME_RFC3339_MAX];

    cfr_writer_object(&p, NULL);
    cfr_writer_number(&p, "Version", 1);
    cfr_writer_optional(&p, "AccessKeyId", cfr_format_get(in, CFR_FIELD_AWS_ACCESS_KEY_ID));
    cfr_writer_optional(&p, "SecretAccessKey", cfr_format_get(in, CFR_FIELD_AWS_SECRET_ACCESS_KEY));
    cfr_writer_optional(&p, "SessionToken", cfr_format_get(in, CFR_FIELD_AWS_SESSION_TOKEN));
    /* Without an Expiration SDKs never ask again, which is right for what never expires. */
    if (in->grant->expires_s != 0)
        cfr_writer_optional(&p, "Expiration", cfr_view_of(cfr_time_format(in->grant->expires_s, when)));
    cfr_writer_optional(&p, "AccountId", cfr_format_get(in, CFR_FIELD_AWS_ACCOUNT_ID));
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}
