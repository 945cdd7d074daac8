/* SPDX-License-Identifier: MIT */
/* Fields of a key in the files of other programs. */
#include "rotation/found.h"

#include "base/json.h"
#include "base/time.h"

#include <string.h>

/* What a field is called elsewhere: in SDKs' files, in the environment, in Secrets; in lower case. */
static const struct {
    const char *name;
    const char *field;
} names[] = {
    {"aws_access_key_id", CFR_FIELD_AWS_ACCESS_KEY_ID},
    {"accesskeyid", CFR_FIELD_AWS_ACCESS_KEY_ID},
    {"aws_secret_access_key", CFR_FIELD_AWS_SECRET_ACCESS_KEY},
    {"secretaccesskey", CFR_FIELD_AWS_SECRET_ACCESS_KEY},
    {"azure_client_id", CFR_FIELD_AZURE_CLIENT_ID},
    {"azure_tenant_id", CFR_FIELD_AZURE_TENANT_ID},
    {"azure_client_secret", CFR_FIELD_AZURE_CLIENT_SECRET},
    {"ibm_api_key", CFR_FIELD_IBM_API_KEY},
    {"ibmcloud_api_key", CFR_FIELD_IBM_API_KEY},
    {"ibmcloud_apikey", CFR_FIELD_IBM_API_KEY},
    {"ic_api_key", CFR_FIELD_IBM_API_KEY},
    {"ibm_api_key_id", CFR_FIELD_IBM_API_KEY_ID},
    {"ibm_iam_id", CFR_FIELD_IBM_IAM_ID},
    {"openstack_auth_url", CFR_FIELD_OPENSTACK_AUTH_URL},
    {"os_auth_url", CFR_FIELD_OPENSTACK_AUTH_URL},
    {"auth_url", CFR_FIELD_OPENSTACK_AUTH_URL},
    {"openstack_application_credential_id", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID},
    {"os_application_credential_id", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID},
    {"application_credential_id", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID},
    {"openstack_application_credential_secret", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET},
    {"os_application_credential_secret", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET},
    {"application_credential_secret", CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET},
};

struct reading {
    struct cfr_rotation_found *found;
    struct cfr_grant *out;
    const char *file; /* that is read, for errors */
};

/* The field that is called NAME; NULL for any other. */
static const char *field_of(struct cfr_view name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cfr_view_is_nocase(name, names[i].name))
            return names[i].field;
    }
    return NULL;
}

static int add(struct reading *r, const char *field, struct cfr_view value, struct cfr_err *err)
{
    struct cfr_view before = cfr_grant_get(r->out, field);

    if (value.n == 0)
        return 0;
    if (before.p != NULL && !cfr_view_eq(before, value))
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "%s occurs more than once with different values (the last in %.200s), so the key is "
                           "ambiguous: remove all but one",
                           cfr_grant_public_name(field), r->file);
    return before.p != NULL ? 0 : cfr_grant_set(r->out, field, value, err);
}

/* ---- lines ---- */

static struct cfr_view skip(struct cfr_view text, size_t n)
{
    return (struct cfr_view){text.p + n, text.n - n};
}

/* Takes the quotes off; a value with escapes is not guessed at. */
static int unquote(struct reading *r, struct cfr_view *value, struct cfr_err *err)
{
    char quote = value->n != 0 ? value->p[0] : '\0';
    const char *end;

    if (quote != '"' && quote != '\'')
        return 0;
    end = memchr(value->p + 1, quote, value->n - 1);
    if (end == NULL || memchr(value->p, '\\', value->n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "%.200s has a value whose quotes cannot be read: write it without escapes", r->file);
    *value = (struct cfr_view){value->p + 1, (size_t)(end - value->p) - 1};
    return 0;
}

static int read_line(struct reading *r, struct cfr_view line, struct cfr_err *err)
{
    struct cfr_view name = cfr_view_trim(line);
    struct cfr_view value;
    const char *field;
    ptrdiff_t comment;
    size_t at = 0;
    int rc;

    if (cfr_view_starts(name, "export "))
        name = cfr_view_trim(skip(name, strlen("export ")));
    while (at < name.n && name.p[at] != '=' && name.p[at] != ':')
        at++;
    if (at == name.n)
        return 0;
    value = cfr_view_trim(skip(name, at + 1));
    field = field_of(cfr_view_trim((struct cfr_view){name.p, at}));
    if (field == NULL)
        return 0;
    comment =
        name.p[at] == ':' && value.n != 0 && value.p[0] != '"' && value.p[0] != '\'' ? cfr_view_find(value, " #") : -1;
    if (comment >= 0)
        value = cfr_view_trim((struct cfr_view){value.p, (size_t)comment});
    rc = unquote(r, &value, err);
    return rc == 0 ? add(r, field, value, err) : rc;
}

static int read_lines(struct reading *r, struct cfr_view text, struct cfr_err *err)
{
    int rc = 0;

    while (rc == 0 && text.n != 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n;

        rc = read_line(r, (struct cfr_view){text.p, n}, err);
        text = skip(text, end != NULL ? n + 1 : n);
    }
    return rc;
}

/* ---- documents ---- */

static int read_members(struct reading *r, const struct cfr_json *object, struct cfr_err *err)
{
    int rc = 0;

    for (const struct cfr_json *m = cfr_json_first(object); rc == 0 && m != NULL; m = cfr_json_next(m)) {
        const char *field = field_of(cfr_json_key(m));
        struct cfr_view value;

        if (field != NULL && cfr_json_string(m, &value))
            rc = add(r, field, value, err);
    }
    return rc;
}

/* JSON that is none says nothing. */
static int read_document(struct reading *r, struct cfr_view text, struct cfr_err *err)
{
    const struct cfr_json *fields;
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(text, &doc, err);

    if (rc != 0)
        return rc == CFR_E_NOMEM ? rc : 0;
    fields = cfr_json_get(doc, "fields");
    rc = cfr_json_get(doc, "private_key_id") != NULL ? add(r, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, text, err) : 0;
    if (rc == 0 && cfr_json_is_object(doc))
        rc = read_members(r, doc, err);
    if (rc == 0 && cfr_json_is_object(fields))
        rc = read_members(r, fields, err);
    cfr_json_free(doc);
    return rc;
}

/* `TIME ID`, as credfresh writes it. */
static int read_minted(struct reading *r, struct cfr_view text, struct cfr_err *err)
{
    const char *blank = text.n != 0 ? memchr(text.p, ' ', text.n) : NULL;
    int64_t when_s;

    if (blank == NULL || !cfr_time_parse((struct cfr_view){text.p, (size_t)(blank - text.p)}, &when_s))
        return 0;
    r->found->since_s = when_s;
    return add(r, CFR_ROTATION_FOUND_ID, cfr_view_trim(skip(text, (size_t)(blank - text.p) + 1)), err);
}

static bool is_old(struct cfr_view name)
{
    return name.n > 4 && memcmp(name.p + name.n - 4, ".old", 4) == 0;
}

int cfr_rotation_found_fields(struct cfr_rotation_found *found, struct cfr_grant *out, struct cfr_err *err)
{
    struct reading r = {.found = found, .out = out};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < found->values.field_count; i++) {
        const struct cfr_grant_field *one = &found->values.fields[i];
        struct cfr_view name = cfr_view_of(one->name);
        struct cfr_view text = cfr_view_trim(cfr_secret_view(&one->value));

        r.file = one->name;
        if (text.n == 0 || is_old(name))
            continue;
        if (cfr_view_is(name, CFR_ROTATION_FOUND_FILE))
            rc = read_minted(&r, text, err);
        else if (field_of(name) != NULL)
            rc = add(&r, field_of(name), text, err);
        else if (text.p[0] == '{')
            rc = read_document(&r, text, err);
        else
            rc = read_lines(&r, text, err);
    }
    return rc;
}
