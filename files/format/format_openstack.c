/* SPDX-License-Identifier: MIT */
/* Output formats for OpenStack clients. */
#include "files/format/format_private.h"

#include <stdio.h>

#define CLOUD "openstack" /* the name that OpenShift asks for */

/* Takes one well-formed UTF-8 sequence off REST. */
static unsigned long read_character(struct cfr_view *rest, size_t n)
{
    unsigned long code = (unsigned char)rest->p[0];

    if (n > 1)
        code &= 0xffU >> (n + 1);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)rest->p[i] & 0x3fU);
    rest->p += n;
    rest->n -= n;
    return code;
}

/* VALUE in the double quotes of YAML (1.2, 5.7): everything but printable ASCII is escaped, for what else is
 * a line break or not allowed differs with the version. */
static void yaml_string(struct cfr_writer *p, const char *key, struct cfr_view value, int code)
{
    cfr_writer_text(p, "\"");
    while (value.n != 0 && p->rc == 0) {
        size_t n = cfr_view_utf8_len(value);
        struct cfr_view raw = {value.p, 1};
        char escape[16];
        unsigned long c;

        if (n == 0) {
            p->rc =
                cfr_err_set(p->err, code, "the value of %s is not text (UTF-8), so it cannot be written as YAML", key);
            return;
        }
        c = read_character(&value, n);
        if (c == '"' || c == '\\')
            cfr_writer_text(p, "\\");
        if (c >= 0x20 && c < 0x7f) {
            cfr_writer_view(p, raw);
        } else {
            (void)snprintf(escape, sizeof escape, c < 0x10000 ? "\\u%04lX" : "\\U%08lX", c);
            cfr_writer_text(p, escape);
        }
    }
    cfr_writer_text(p, "\"");
}

/* A line KEY: "VALUE", or nothing if VALUE is empty. */
static void yaml_line(struct cfr_writer *p, const char *indent, const char *key, struct cfr_view value, int code)
{
    if (value.n == 0)
        return;
    cfr_writer_text(p, indent);
    cfr_writer_text(p, key);
    cfr_writer_text(p, ": ");
    yaml_string(p, key, value, code);
    cfr_writer_text(p, "\n");
}

static void auth_line(struct cfr_writer *p, const struct cfr_format_input *in, const char *key, const char *field)
{
    yaml_line(p, "      ", key, cfr_format_get(in, field), CFR_E_ANSWER);
}

static bool has(const struct cfr_format_input *in, const char *field)
{
    return cfr_format_get(in, field).n != 0;
}

static void type_line(struct cfr_writer *p, const char *type)
{
    yaml_line(p, "    ", "auth_type", cfr_view_of(type), CFR_E_INTERNAL);
    cfr_writer_text(p, "    auth:\n");
}

/* What the token is to be for; an application credential brings its own. */
static void scope_lines(struct cfr_writer *p, const struct cfr_format_input *in)
{
    auth_line(p, in, "project_id", CFR_FIELD_OPENSTACK_PROJECT_ID);
    auth_line(p, in, "domain_id", CFR_FIELD_OPENSTACK_DOMAIN_ID);
    auth_line(p, in, "system_scope", CFR_FIELD_OPENSTACK_SYSTEM_SCOPE);
}

/* Clients that hold a token ask Keystone for another one with it. */
static void auth_by_token(struct cfr_writer *p, const struct cfr_format_input *in)
{
    if (p->rc == 0 && has(in, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET)) {
        p->rc = cfr_err_set(p->err, CFR_E_CONFIG,
                            "clients would ask Keystone for a new token with the one in clouds.yaml, and it gives none "
                            "for that of an application credential: write `clouds_auth: credential`, or use the format "
                            "openstack-token");
        return;
    }
    type_line(p, "v3token");
    auth_line(p, in, "auth_url", CFR_FIELD_OPENSTACK_AUTH_URL);
    auth_line(p, in, "token", CFR_FIELD_OPENSTACK_TOKEN);
    scope_lines(p, in);
}

static void auth_by_credential(struct cfr_writer *p, const struct cfr_format_input *in)
{
    bool application = has(in, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET);
    bool password = has(in, CFR_FIELD_OPENSTACK_PASSWORD);

    type_line(p, application ? "v3applicationcredential" : (password ? "v3password" : "v3oidcaccesstoken"));
    auth_line(p, in, "auth_url", CFR_FIELD_OPENSTACK_AUTH_URL);
    if (application) {
        auth_line(p, in, "application_credential_id", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID);
        auth_line(p, in, "application_credential_secret", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET);
        return;
    }
    if (password) {
        auth_line(p, in, "user_id", CFR_FIELD_OPENSTACK_USER_ID);
        auth_line(p, in, "password", CFR_FIELD_OPENSTACK_PASSWORD);
    } else {
        if (p->rc == 0)
            p->rc = cfr_format_need(in, "clouds-yaml", CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER, p->err);
        if (p->rc == 0)
            p->rc = cfr_format_need(in, "clouds-yaml", CFR_FIELD_TOKEN, p->err);
        auth_line(p, in, "identity_provider", CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER);
        auth_line(p, in, "protocol", CFR_FIELD_OPENSTACK_PROTOCOL);
        auth_line(p, in, "access_token", CFR_FIELD_TOKEN);
    }
    scope_lines(p, in);
}

/* The configured value, else the grant's. */
static struct cfr_view either(const struct cfr_format_input *in, const char *configured, const char *field)
{
    return cfr_format_given(configured) ? cfr_view_of(configured) : cfr_format_get(in, field);
}

int cfr_format_clouds_yaml(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {
        .secret = out, .err = err, .rc = cfr_format_need(in, "clouds-yaml", CFR_FIELD_OPENSTACK_AUTH_URL, err)};

    cfr_writer_text(&p, "clouds:\n  ");
    yaml_string(&p, "cloud", cfr_view_of(cfr_format_given(in->cloud) ? in->cloud : CLOUD), CFR_E_CONFIG);
    cfr_writer_text(&p, ":\n");
    if (in->token_only)
        auth_by_token(&p, in);
    else
        auth_by_credential(&p, in);
    yaml_line(&p, "    ", "region_name", either(in, in->region, CFR_FIELD_OPENSTACK_REGION_NAME), CFR_E_CONFIG);
    yaml_line(&p, "    ", "interface", cfr_format_get(in, CFR_FIELD_OPENSTACK_INTERFACE), CFR_E_CONFIG);
    cfr_writer_text(&p, "    identity_api_version: 3\n");
    yaml_line(&p, "    ", "cacert", either(in, in->cacert, CFR_FIELD_OPENSTACK_CACERT), CFR_E_CONFIG);
    return p.rc;
}

/* A line KEY = "VALUE" of the ini dialect that Go programs read (gcfg), or nothing if VALUE is empty. */
static void conf_line(struct cfr_writer *p, const char *key, struct cfr_view value, int code)
{
    struct cfr_view rest = value;

    if (value.n == 0 || p->rc != 0)
        return;
    cfr_writer_text(p, key);
    cfr_writer_text(p, " = \"");
    while (rest.n != 0 && p->rc == 0) {
        size_t n = cfr_view_utf8_len(rest);

        if (n == 0 || (unsigned char)rest.p[0] < 0x20 || rest.p[0] == 0x7f) {
            p->rc = cfr_err_set(p->err, code,
                                "the value of %s has a control character or is not text (UTF-8), so it cannot be "
                                "written as clouds-conf",
                                key);
            return;
        }
        if (rest.p[0] == '"' || rest.p[0] == '\\')
            cfr_writer_text(p, "\\");
        cfr_writer_view(p, (struct cfr_view){rest.p, n});
        rest = (struct cfr_view){rest.p + n, rest.n - n};
    }
    cfr_writer_text(p, "\"\n");
}

static void conf_field(struct cfr_writer *p, const struct cfr_format_input *in, const char *key, const char *field)
{
    conf_line(p, key, cfr_format_get(in, field), CFR_E_ANSWER);
}

int cfr_format_clouds_conf(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {
        .secret = out, .err = err, .rc = cfr_format_need(in, "clouds-conf", CFR_FIELD_OPENSTACK_AUTH_URL, err)};
    bool application = has(in, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET);

    if (p.rc == 0 && !application &&
        (!has(in, CFR_FIELD_OPENSTACK_PASSWORD) || has(in, CFR_FIELD_OPENSTACK_SYSTEM_SCOPE)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format clouds-conf has a place for an application credential, or for a password and a "
                           "project or domain, and this credential has neither: use clouds-yaml or openstack-token");
    cfr_writer_text(&p, "[Global]\n");
    conf_field(&p, in, "auth-url", CFR_FIELD_OPENSTACK_AUTH_URL);
    if (application) {
        conf_field(&p, in, "application-credential-id", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID);
        conf_field(&p, in, "application-credential-secret", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET);
    } else {
        conf_field(&p, in, "user-id", CFR_FIELD_OPENSTACK_USER_ID);
        conf_field(&p, in, "password", CFR_FIELD_OPENSTACK_PASSWORD);
        conf_field(&p, in, "tenant-id", CFR_FIELD_OPENSTACK_PROJECT_ID);
        conf_field(&p, in, "domain-id", CFR_FIELD_OPENSTACK_DOMAIN_ID);
    }
    conf_line(&p, "region", either(in, in->region, CFR_FIELD_OPENSTACK_REGION_NAME), CFR_E_CONFIG);
    conf_field(&p, in, "os-endpoint-type", CFR_FIELD_OPENSTACK_INTERFACE);
    conf_line(&p, "ca-file", either(in, in->cacert, CFR_FIELD_OPENSTACK_CACERT), CFR_E_CONFIG);
    return p.rc;
}

int cfr_format_openstack_token(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_format_need(in, "openstack-token", CFR_FIELD_OPENSTACK_TOKEN, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, CFR_FIELD_OPENSTACK_TOKEN), err);
}
