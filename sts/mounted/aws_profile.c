/* SPDX-License-Identifier: MIT */
/* Profiles of a mounted AWS Secret. Sources: the cloud credential operator's actuator, ccoctl and the page on
 * short-term credentials, whose examples have `:` and `role_name`; the AWS SDKs' reference on the shared files. */
#include "sts/mounted/aws_profile_private.h"

#include "sts/aws/aws.h"
#include "sts/core/ini.h"

#include <string.h>

static struct cfr_view *member(struct cfr_mounted_profile *p, struct cfr_view key)
{
    const struct {
        const char *key;
        struct cfr_view *to;
    } known[] = {
        {"role_arn", &p->role_arn},
        {"web_identity_token_file", &p->token_file},
        {"source_profile", &p->source_profile},
        {"external_id", &p->external_id},
        {"duration_seconds", &p->duration},
        {"role_session_name", &p->session_name},
        {"aws_access_key_id", &p->access_key_id},
        {"aws_secret_access_key", &p->secret_access_key},
        {"aws_session_token", &p->session_token},
        {"region", &p->region},
        {"sts_regional_endpoints", &p->regional},
        {"credential_process", &p->process},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (cfr_view_is_nocase(key, known[i].key))
            return known[i].to;
    }
    return NULL;
}

/* The names that the operator's page has in place of those that SDKs read. What SDKs read comes first. */
static struct cfr_view *alias(const struct cfr_mounted_case *c, struct cfr_mounted_profile *p, struct cfr_view key)
{
    if (cfr_view_is_nocase(key, "role_name") && p->role_arn.n == 0) {
        cfr_mounted_note(c, "credentials has role_name, which no SDK reads: they call it role_arn");
        return &p->role_arn;
    }
    if (cfr_view_is_nocase(key, "secret_access_key") && p->secret_access_key.n == 0) {
        cfr_mounted_note(c, "credentials has secret_access_key, which no SDK reads: they call it "
                            "aws_secret_access_key");
        return &p->secret_access_key;
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
        {"credential_process",
         "is not supported: it names a program of this machine, and credfresh runs none for keys"},
        {"credential_source", "is not supported: it means the keys of this machine, which are not the Secret's"},
        {"sso_session", "is not supported: it needs a person to log in"},
        {"sso_start_url", "is not supported: it needs a person to log in"},
        {"mfa_serial", "is not supported: an unattended agent has no MFA device"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (cfr_view_is_nocase(key, refused[i].key))
            return cfr_err_set(c->err, CFR_E_CONFIG, "%s in credentials %s, and remove it from the Secret",
                               refused[i].key, refused[i].why);
    }
    return 0;
}

static int read_setting(const struct cfr_mounted_case *c, const struct cfr_sts_ini *ini, struct cfr_mounted_profile *p)
{
    struct cfr_view *to;
    int rc;

    if (ini->key.n == 0)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials is not an ini file: it has a line without `=`");
    rc = c->options->pass_on ? 0 : refuse_member(c, ini->key);
    if (rc != 0)
        return rc;
    to = member(p, ini->key);
    if (to == NULL)
        to = alias(c, p, ini->key);
    if (to != NULL)
        *to = ini->value;
    return to == NULL || cfr_view_printable(*to)
               ? 0
               : cfr_err_set(c->err, CFR_E_CONFIG, "credentials has a value with a character that is not printable");
}

static struct cfr_view profile_name(struct cfr_view section)
{
    static const char prefix[] = "profile ";

    if (!cfr_view_starts(section, prefix))
        return section;
    return cfr_view_trim((struct cfr_view){section.p + sizeof prefix - 1, section.n - sizeof prefix + 1});
}

int cfr_mounted_profile_read(const struct cfr_mounted_case *c, struct cfr_view name, struct cfr_mounted_profile *out)
{
    struct cfr_sts_ini ini = {.rest = cfr_mounted_get(c, "credentials")};
    int rc = 0;

    *out = (struct cfr_mounted_profile){.name = name};
    while (rc == 0 && cfr_sts_ini_next(&ini)) {
        if (ini.section.p == NULL || !cfr_view_eq(profile_name(ini.section), name))
            continue;
        out->found = true;
        if (!ini.head)
            rc = read_setting(c, &ini, out);
    }
    if (rc == 0 && out->role_arn.n != 0 && !c->options->pass_on && !cfr_view_starts(out->role_arn, "arn:"))
        rc = cfr_err_set(c->err, CFR_E_CONFIG,
                         "role_arn in credentials: it must be the ARN of a role, such as "
                         "\"arn:aws:iam::123456789012:role/NAME\"");
    return rc;
}

/* The only section, or an empty view: there is none, or there are several. */
static struct cfr_view only_section(const struct cfr_mounted_case *c)
{
    struct cfr_sts_ini ini = {.rest = cfr_mounted_get(c, "credentials")};
    struct cfr_view only = {NULL, 0};

    while (cfr_sts_ini_next(&ini)) {
        if (!ini.head || (only.p != NULL && cfr_view_eq(only, profile_name(ini.section))))
            continue;
        if (only.p != NULL)
            return (struct cfr_view){NULL, 0};
        only = profile_name(ini.section);
    }
    return only;
}

/* Of the configuration; NULL where it is that of a file of its own, or there is none. */
static const char *wanted_profile(const struct cfr_mounted_case *c)
{
    const struct cfr_aws *aws = c->options->provider == &cfr_aws_provider ? c->options->config : NULL;

    return aws != NULL && aws->credentials_file == NULL ? aws->profile : NULL;
}

int cfr_mounted_profile_choose(const struct cfr_mounted_case *c, struct cfr_mounted_profile *out)
{
    const char *wanted = wanted_profile(c);
    int rc;

    *out = (struct cfr_mounted_profile){.found = false};
    if (cfr_mounted_get(c, "credentials").n == 0)
        return 0;
    rc = cfr_mounted_profile_read(c, cfr_view_of(wanted != NULL ? wanted : "default"), out);
    if (rc != 0 || out->found)
        return rc;
    if (wanted != NULL)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials has no section [%.64s], which `profile` names", wanted);
    out->name = only_section(c);
    if (out->name.n == 0 && c->options->pass_on)
        return 0;
    if (out->name.n == 0)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "credentials has no section [default]; name another one in `profile` of `exchange: {aws: "
                           "...}`");
    if (!c->options->pass_on)
        cfr_mounted_note(c, "credentials has no section [default]; its only one is followed");
    return cfr_mounted_profile_read(c, out->name, out);
}
