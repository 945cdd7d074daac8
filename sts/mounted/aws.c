/* SPDX-License-Identifier: MIT */
/* Mounted Secrets of AWS: two keys, an ini file with the same, or an ini file that names a role and a token.
 * Source: the cloud credential operator's AWS actuator and ccoctl. */
#include "sts/mounted/mounted_private.h"

#include "base/secret.h"
#include "sts/aws/aws.h"

#include <string.h>

/* What the [default] section of `credentials` says. */
struct ini {
    struct cfr_view role_arn;
    struct cfr_view token_file;
    struct cfr_view access_key_id;
    struct cfr_view secret_access_key;
    struct cfr_view session_token;
    struct cfr_view region;
    struct cfr_view session_name;
    struct cfr_view regional;
};

static struct cfr_view *member(struct ini *ini, struct cfr_view key)
{
    const struct {
        const char *key;
        struct cfr_view *to;
    } known[] = {
        {"role_arn", &ini->role_arn},
        {"web_identity_token_file", &ini->token_file},
        {"aws_access_key_id", &ini->access_key_id},
        {"aws_secret_access_key", &ini->secret_access_key},
        {"aws_session_token", &ini->session_token},
        {"region", &ini->region},
        {"role_session_name", &ini->session_name},
        {"sts_regional_endpoints", &ini->regional},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (cfr_view_is_nocase(key, known[i].key))
            return known[i].to;
    }
    return NULL;
}

/* What SDKs find in a profile, and a Secret does not decide. */
static int refuse_member(const struct cfr_mounted_case *c, struct cfr_view key)
{
    static const struct {
        const char *key;
        const char *why;
    } refused[] = {
        {"endpoint_url", "says where requests go: set `endpoint` in `exchange: {aws: ...}`"},
        {"services", "says where requests go: set `endpoint` in `exchange: {aws: ...}`"},
        {"ca_bundle", "names a file of this machine: set `ca_file` in `exchange: {aws: ...}`"},
        {"credential_process", "names a program of this machine, and credfresh runs none for keys"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (cfr_view_is_nocase(key, refused[i].key))
            return cfr_err_set(c->err, CFR_E_CONFIG, "%s in credentials %s, and remove it from the Secret",
                               refused[i].key, refused[i].why);
    }
    return 0;
}

static int read_line(const struct cfr_mounted_case *c, struct cfr_view line, struct ini *ini)
{
    const char *equals = memchr(line.p, '=', line.n);
    struct cfr_view key;
    struct cfr_view *to;
    int rc;

    if (equals == NULL)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials is no ini file: it has a line without `=`");
    key = cfr_view_trim((struct cfr_view){line.p, (size_t)(equals - line.p)});
    rc = c->options->pass_on ? 0 : refuse_member(c, key);
    if (rc != 0)
        return rc;
    to = member(ini, key);
    if (to != NULL)
        *to = cfr_view_trim((struct cfr_view){equals + 1, line.n - (size_t)(equals - line.p) - 1});
    return to == NULL || cfr_view_printable(*to)
               ? 0
               : cfr_err_set(c->err, CFR_E_CONFIG, "credentials has a value with a character that is not printable");
}

static int read_ini(const struct cfr_mounted_case *c, struct ini *ini)
{
    struct cfr_view rest = cfr_mounted_get(c, "credentials");
    struct cfr_view line;
    bool inside = false;
    bool found = false;
    int rc = 0;

    if (rest.n == 0)
        return 0;
    while (rc == 0 && cfr_view_line(&rest, &line)) {
        line = cfr_view_trim(line);
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
            continue;
        if (line.p[0] == '[') {
            inside = cfr_view_is(line, "[default]");
            found = found || inside;
        } else if (inside) {
            rc = read_line(c, line, ini);
        }
    }
    if (rc == 0 && !found)
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "credentials has no section [default]");
    return rc;
}

static int set_common(const struct cfr_mounted_case *c, const struct ini *ini)
{
    struct cfr_aws *aws = c->out->config;

    /* With an endpoint of its own the configuration has said where to go. */
    if (aws->regional == CFR_AWS_REGIONAL_ENVIRONMENT && ini->regional.n != 0 && aws->endpoint == NULL)
        aws->regional = cfr_view_is_nocase(ini->regional, "legacy") ? CFR_AWS_LEGACY : CFR_AWS_REGIONAL;
    return cfr_mounted_fill(c, "region", ini->region);
}

static int configure_role(const struct cfr_mounted_case *c, const struct ini *ini)
{
    int rc = cfr_mounted_token(c, "web_identity_token_file in credentials", ini->token_file);

    if (rc != 0)
        return rc;
    if (ini->access_key_id.n != 0 || cfr_mounted_get(c, "aws_access_key_id").n != 0)
        cfr_mounted_note(
            c, "it holds stale long-lived keys next to the role; the role is followed, delete aws_access_key_id "
               "and aws_secret_access_key");
    if (c->options->pass_on)
        return 0;
    rc = cfr_mounted_exchange(c, &cfr_aws_provider);
    if (rc == 0)
        rc = cfr_mounted_fill(c, "role_arn", ini->role_arn);
    if (rc == 0)
        rc = cfr_mounted_fill(c, "session_name", ini->session_name);
    return rc == 0 ? set_common(c, ini) : rc;
}

/* The two keys of the Secret, or those inside `credentials` where the Secret has none. */
static int find_keys(const struct cfr_mounted_case *c, const struct ini *ini, struct cfr_view *id,
                     struct cfr_view *secret)
{
    bool alone =
        cfr_mounted_get(c, "aws_access_key_id").p == NULL && cfr_mounted_get(c, "aws_secret_access_key").p == NULL;
    int rc;

    *id = ini->access_key_id;
    *secret = ini->secret_access_key;
    if (alone && id->n != 0 && secret->n != 0)
        return 0;
    if (alone && cfr_mounted_get(c, "credentials").n == 0)
        return cfr_err_set(c->err, CFR_E_MISSING, "waiting for a value of the key credentials, which is empty");
    rc = cfr_mounted_need(c, "aws_access_key_id", id);
    if (rc == 0)
        rc = cfr_mounted_need(c, "aws_secret_access_key", secret);
    if (rc == 0 && ((ini->access_key_id.n != 0 && !cfr_view_eq(*id, ini->access_key_id)) ||
                    (ini->secret_access_key.n != 0 && !cfr_secret_equal(*secret, ini->secret_access_key))))
        cfr_mounted_note(
            c, "aws_access_key_id and aws_secret_access_key are not those in credentials; the former are used");
    return rc;
}

static int configure_keys(const struct cfr_mounted_case *c, const struct ini *ini)
{
    const struct cfr_aws *aws;
    struct cfr_view id;
    struct cfr_view secret;
    int rc = find_keys(c, ini, &id, &secret);

    if (rc != 0 || c->options->pass_on)
        return rc;
    if (ini->session_token.n != 0)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "credentials holds an aws_session_token, so its keys are short-lived already; write "
                           "pass_on: true to publish them as they are");
    rc = cfr_mounted_exchange(c, &cfr_aws_provider);
    if (rc != 0)
        return rc;
    aws = c->out->config;
    if (aws->credentials_file != NULL)
        return set_common(c, ini);
    rc = cfr_mounted_content(c, "access_key_id_file", id);
    if (rc == 0)
        rc = cfr_mounted_content(c, "secret_access_key_file", secret);
    return rc == 0 ? set_common(c, ini) : rc;
}

int cfr_mounted_aws(const struct cfr_mounted_case *c)
{
    struct ini ini = {.role_arn = {NULL, 0}};
    int rc = read_ini(c, &ini);

    if (rc != 0)
        return rc;
    if ((ini.role_arn.n != 0) != (ini.token_file.n != 0) && !c->options->pass_on)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials has %s without %s in [default]",
                           ini.role_arn.n != 0 ? "role_arn" : "web_identity_token_file",
                           ini.role_arn.n != 0 ? "web_identity_token_file" : "role_arn");
    if (ini.role_arn.n != 0 && ini.token_file.n != 0)
        rc = configure_role(c, &ini);
    else if (ini.role_arn.n == 0 && ini.token_file.n == 0)
        rc = configure_keys(c, &ini);
    return rc == 0 && c->out->provider != NULL ? cfr_aws_check_begin(c->out->config, c->err) : rc;
}
