/* SPDX-License-Identifier: MIT */
/* Check of the formats that fit only one form of a mounted Secret, which may change at any time. */
#include "agent/doctor/doctor_private.h"

#include "files/format/format.h"

#include <string.h>

/* A format, and what the Secret that it is made of is known to be. */
struct form {
    struct cfr_doctor *d;
    const struct cfr_mounted *mounted; /* NULL: the Secret could not be read yet */
    const char *format;
};

static bool needs_token(const struct cfr_config_file *f)
{
    const struct cfr_format *format = &cfr_formats[f->format];
    const struct cfr_grant_name *row;

    if (format->is_token || (format->needs_token_path && f->token_path == NULL))
        return true;
    for (size_t i = 0; (row = cfr_config_file_field(f, i)) != NULL; i++) {
        if (strcmp(row->field, CFR_FIELD_TOKEN) == 0)
            return true;
    }
    return false;
}

static void report_token(const struct form *f)
{
    if (f->mounted == NULL || f->mounted->token_file != NULL)
        cfr_doctor_report(f->d, CFR_FINDING_NOTE, "publish.format", NULL,
                          "%s: fits a Secret that names a token's file, but not one with long-lived keys: if it "
                          "changes to that, the last published files remain",
                          f->format);
    else
        cfr_doctor_report(f->d, CFR_FINDING_WRONG, "publish.format",
                          "write another format, or wait until the Secret names a token's file",
                          "%s: needs a token, and the Secret holds long-lived keys and names no token's file; write "
                          "another format",
                          f->format);
}

static const char *kind_of(const struct cfr_sts_provider *provider)
{
    return provider->family != NULL ? provider->family : provider->name;
}

/* The kind of Secret that FIELD comes from, or NULL: several. */
static const char *kind_of_field(const char *field)
{
    const char *name = cfr_grant_public_name(field);

    for (size_t i = 1; cfr_mounted_kinds[i] != NULL; i++) {
        size_t n = strlen(cfr_mounted_kinds[i]);

        if (strncmp(name, cfr_mounted_kinds[i], n) == 0 && name[n] == '_')
            return cfr_mounted_kinds[i];
    }
    return NULL;
}

/* Without `kind` and `exchange` any Secret is taken. */
static void report_kind(const struct form *f, const char *field)
{
    const char *fits = kind_of_field(field);
    const char *is = f->mounted != NULL && f->mounted->provider != NULL ? kind_of(f->mounted->provider) : NULL;

    if (strcmp(field, CFR_FIELD_SECRET_PREFIX) == 0 && is != NULL)
        cfr_doctor_report(f->d, CFR_FINDING_WRONG, "publish.format", "write another format, or `pass_on: true`",
                          "%s: needs a Secret that is passed on, and this one, of kind %s, is exchanged; write another "
                          "format, or `pass_on: true`",
                          f->format, is);
    else if (fits != NULL && is != NULL && strcmp(is, fits) != 0)
        cfr_doctor_report(f->d, CFR_FINDING_WRONG, "publish.format", "write another format",
                          "%s: needs a Secret of kind %s, and this one is of kind %s; write another format", f->format,
                          fits, is);
    else if (fits != NULL && f->mounted == NULL)
        cfr_doctor_report(f->d, CFR_FINDING_NOTE, "publish.format", "write `kind`",
                          "%s: fits a Secret of kind %s only; write `kind: %s`, and any other one is refused",
                          f->format, fits, fits);
}

void cfr_doctor_form(struct cfr_doctor *d, const struct cfr_doctor_case *c, const struct cfr_config_file *file)
{
    const struct cfr_config_mounted *secret = c->credential->secret;
    struct form f = {
        .d = d, .mounted = c->ready ? &c->material.mounted : NULL, .format = cfr_formats[file->format].name};
    const struct cfr_grant_name *row = cfr_config_file_field(file, 0);

    if (secret == NULL || cfr_config_secret_fate(c->credential) == CFR_CONFIG_PASSED_ON ||
        (f.mounted != NULL && f.mounted->provider == NULL))
        return;
    if (c->credential->token == NULL && needs_token(file))
        report_token(&f);
    else if (row != NULL && secret->kind == CFR_MOUNTED_UNKNOWN && c->credential->exchange == NULL)
        report_kind(&f, row->field);
}
