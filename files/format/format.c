/* SPDX-License-Identifier: MIT */
/* Helpers that the output formats share. */
#include "files/format/format.h"

#include "files/format/format_private.h"

#include <stdio.h>
#include <string.h>

#define PROFILE_MAX   64
#define PROFILE_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/%@:+"
/* What needs no quotes in a shell, in systemd's EnvironmentFile and in docker's --env-file, all at once. */
#define ENV_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%"

/* A tilde is no home directory there but at the beginning, after a colon and, in some shells, after an equals sign. */
static bool needs_no_quotes(struct cfr_view value, size_t i)
{
    char c = value.p[i];

    if (c == '~')
        return i != 0 && strchr(":=", value.p[i - 1]) == NULL;
    return c != '\0' && strchr(ENV_CHARS, c) != NULL;
}

struct cfr_view cfr_format_get(const struct cfr_format_input *in, const char *field)
{
    return cfr_grant_get(in->grant, field);
}

struct cfr_view cfr_format_region(const struct cfr_format_input *in)
{
    return in->region != NULL && in->region[0] != '\0' ? cfr_view_of(in->region)
                                                       : cfr_format_get(in, CFR_FIELD_AWS_REGION);
}

int cfr_format_need(const struct cfr_format_input *in, const char *format, const char *field, struct cfr_err *err)
{
    if (cfr_format_get(in, field).n != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "the format %s needs %s, which this credential does not have", format, field);
}

bool cfr_format_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

void cfr_format_write_env(struct cfr_writer *p, const char *field, struct cfr_view value, int code)
{
    char key[64];

    if (value.n == 0 || p->rc != 0)
        return;
    (void)snprintf(key, sizeof key, "%s", field);
    for (char *c = key; *c != '\0'; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    for (size_t i = 0; i < value.n; i++) {
        if (!needs_no_quotes(value, i)) {
            p->rc = cfr_err_set(p->err, code,
                                "the value of %s would need quotes, which readers of env files do not "
                                "read alike, so it cannot be written as env: publish json instead",
                                key);
            return;
        }
    }
    cfr_writer_text(p, key);
    cfr_writer_text(p, "=");
    cfr_writer_view(p, value);
    cfr_writer_text(p, "\n");
}

int cfr_format_section(const struct cfr_format *format, const char *profile, char out[CFR_FORMAT_SECTION_MAX],
                       struct cfr_err *err)
{
    const char *name = profile != NULL ? profile : "default";
    bool in_config = format->config_file;

    if (!format->profile)
        return cfr_err_set(err, CFR_E_CONFIG, "the format %s has no profiles", format->name);
    if (name[0] == '\0' || strlen(name) > PROFILE_MAX || name[strspn(name, PROFILE_CHARS)] != '\0' ||
        strcmp(name, "DEFAULT") == 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "\"%.80s\" is not a profile name that all SDKs take: use 1 to %d letters, digits and `_.-/%%@:+`, and "
            "not DEFAULT",
            name, PROFILE_MAX);
    (void)snprintf(out, CFR_FORMAT_SECTION_MAX, "%s%s", in_config && strcmp(name, "default") != 0 ? "profile " : "",
                   name);
    return 0;
}
