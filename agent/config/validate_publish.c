/* SPDX-License-Identifier: MIT */
/* Rules across the fields of what says where a credential is written. */
#include "agent/config/validate_private.h"

#include "agent/config/config_private.h"
#include "agent/config/schema_private.h"
#include "agent/config/kinds.h"
#include "files/format/format.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

/* A key that only some formats take. */
struct option {
    const char *key;
    bool given;
    enum cfr_format_option option;
};

/* Refuses the options that FORMAT does not take, naming the formats that do: of a profile only those that can be one.
 */
static int check_options(const struct option *options, size_t count, const struct cfr_format *format, bool profile,
                         struct cfr_err *err)
{
    char names[256] = "";

    for (size_t i = 0; i < count; i++) {
        const struct option *o = &options[i];
        size_t used = 0;

        if (!o->given || (format->options & o->option) != 0)
            continue;
        for (const struct cfr_format *f = cfr_formats; f->name != NULL && used < sizeof names; f++) {
            if ((f->options & o->option) != 0 && (!profile || f->profile))
                used += (size_t)snprintf(names + used, sizeof names - used, " %s", f->name);
        }
        return cfr_err_set(err, CFR_E_CONFIG, "%s: has no effect with format %s, only with:%s; remove it", o->key,
                           format->name, names);
    }
    return 0;
}

static int check_aws_config(const char *role_arn, const char *token_path, const char *session_name, const char *command,
                            struct cfr_err *err)
{
    if (role_arn != NULL && token_path == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "role_arn: needs token_path, where the SDK finds the token");
    if (token_path != NULL && role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "token_path: needs role_arn, the role that the SDK assumes");
    if (session_name != NULL && role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "session_name: needs role_arn and token_path");
    if (command != NULL && role_arn != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "command: cannot be used with role_arn; keep one of the two");
    if (command == NULL && role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "format: aws-config needs `role_arn` and `token_path`, or `command`");
    return 0;
}

/* What the format's own keys have to name. */
static int check_named(const struct cfr_config_file *f, const struct cfr_format *format, struct cfr_err *err)
{
    struct cfr_url url;
    int rc = 0;

    if ((format->options & CFR_FORMAT_FIELD) != 0 && f->field == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "format: field needs `field`, which says which one");
    if ((format->options & CFR_FORMAT_TEMPLATE) != 0 && f->template_text == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "format: template needs `template`, the text with its fields");
    if (f->field != NULL)
        rc = cfr_format_field_check(f->field, err);
    if (rc != 0)
        return cfr_err_prefix(err, "field");
    if (f->template_text != NULL)
        rc = cfr_format_template_check(f->template_text, err);
    if (rc != 0)
        return cfr_err_prefix(err, "template");
    if (f->server != NULL && cfr_url_parse(f->server, &url, err) != 0)
        return cfr_err_prefix(err, "server");
    return 0;
}

static int check_section(const struct cfr_format *format, const char *profile, struct cfr_err *err)
{
    char section[CFR_FORMAT_SECTION_MAX];

    return profile != NULL ? cfr_format_section(format, profile, section, err) : 0;
}

int cfr_config_rules_file(const void *node, struct cfr_err *err)
{
    const struct cfr_config_file *f = node;
    const struct cfr_format *format = &cfr_formats[f->format];
    const struct option options[] = {
        {"role_arn", f->role_arn != NULL, CFR_FORMAT_ROLE_ARN},
        {"session_name", f->session_name != NULL, CFR_FORMAT_SESSION_NAME},
        {"token_path", f->token_path != NULL, CFR_FORMAT_TOKEN_PATH},
        {"region", f->region != NULL, CFR_FORMAT_REGION},
        {"command", f->command != NULL, CFR_FORMAT_COMMAND},
        {"key", f->key != NULL, CFR_FORMAT_KEY},
        {"scope", f->scope != NULL, CFR_FORMAT_SCOPE},
        {"cloud", f->cloud != NULL, CFR_FORMAT_CLOUD},
        {"cacert", f->cacert != NULL, CFR_FORMAT_CACERT},
        {"clouds_auth", f->clouds_auth != 0, CFR_FORMAT_CLOUDS_AUTH},
        {"sts_regional_endpoints", f->sts_regional_endpoints != 0, CFR_FORMAT_STS_ENDPOINTS},
        {"field", f->field != NULL, CFR_FORMAT_FIELD},
        {"template", f->template_text != NULL, CFR_FORMAT_TEMPLATE},
        {"values", f->values != 0, CFR_FORMAT_TEMPLATE},
        {"server", f->server != NULL, CFR_FORMAT_SERVER},
    };
    int rc;

    if (f->profile != NULL && !format->profile)
        return cfr_err_set(err, CFR_E_CONFIG, "profile: format %s has no profiles; remove it", format->name);
    rc = check_options(options, sizeof options / sizeof options[0], format, false, err);
    if (rc == 0)
        rc = check_named(f, format, err);
    if (rc == 0 && check_section(format, f->profile, err) != 0)
        rc = cfr_err_prefix(err, "profile");
    if (rc == 0 && format->config_file)
        rc = check_aws_config(f->role_arn, f->token_path, f->session_name, f->command, err);
    return rc;
}

int cfr_config_check_profile(const struct cfr_config_file *p, struct cfr_err *err)
{
    const struct cfr_format *format = &cfr_formats[p->format];
    const struct option options[] = {
        {"role_arn", p->role_arn != NULL, CFR_FORMAT_ROLE_ARN},
        {"session_name", p->session_name != NULL, CFR_FORMAT_SESSION_NAME},
        {"token_path", p->token_path != NULL, CFR_FORMAT_TOKEN_PATH},
        {"region", p->region != NULL, CFR_FORMAT_REGION},
        {"command", p->command != NULL, CFR_FORMAT_COMMAND},
        {"sts_regional_endpoints", p->sts_regional_endpoints != 0, CFR_FORMAT_STS_ENDPOINTS},
    };
    int rc;

    if (!format->profile)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "format: %s cannot be merged into a file as a profile; write aws-credentials or aws-config",
                           format->name);
    rc = check_options(options, sizeof options / sizeof options[0], format, true, err);
    if (rc == 0 && check_section(format, p->profile, err) != 0)
        rc = cfr_err_prefix(err, "name");
    if (rc == 0 && format->config_file)
        rc = check_aws_config(p->role_arn, p->token_path, p->session_name, p->command, err);
    return rc;
}

static const struct cfr_config_file *file_at(const struct cfr_list *list, size_t i)
{
    return (const struct cfr_config_file *)list->items + i;
}

static int check_names(const char *key, const struct cfr_list *files, struct cfr_err *err)
{
    for (size_t i = 0; i < files->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const char *a = file_at(files, i)->name;
            const char *b = file_at(files, j)->name;

            if (a != NULL && b != NULL && strcmp(a, b) == 0)
                return cfr_err_set(err, CFR_E_CONFIG, "%s: two are named %.64s, on lines %d and %d; rename one of them",
                                   key, a, file_at(files, j)->node.line, file_at(files, i)->node.line);
        }
    }
    return 0;
}

int cfr_config_rules_secret(const void *node, struct cfr_err *err)
{
    const struct cfr_config_secret *s = node;

    if (s->context != NULL && s->kubeconfig == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "context: has no effect without `kubeconfig`; add it");
    return check_names("keys", &s->keys, err);
}

/* The first secret field that F is made of, as users name it, or its format; NULL if all of it is public. */
static const char *find_secret_part(const struct cfr_config_file *f)
{
    const struct cfr_format *format = &cfr_formats[f->format];
    const struct cfr_grant_name *row;

    if (!format->is_public)
        return format->name;
    for (size_t i = 0; (row = cfr_config_file_field(f, i)) != NULL; i++) {
        if (!row->shown)
            return cfr_grant_public_name(row->field);
    }
    return NULL;
}

int cfr_config_rules_configmap(const void *node, struct cfr_err *err)
{
    const struct cfr_config_secret *s = node;

    for (size_t i = 0; i < s->keys.count; i++) {
        const struct cfr_config_file *f = file_at(&s->keys, i);
        const char *part = find_secret_part(f);

        if (part != NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "keys: %.64s, on line %d: %.64s holds a secret, which every reader of a ConfigMap sees; "
                               "publish it by `secret`",
                               f->name != NULL ? f->name : "without name", f->node.line, part);
    }
    return cfr_config_rules_secret(node, err);
}

static int check_directory(const struct cfr_config_publish *p, struct cfr_err *err)
{
    if (p->directory == NULL && p->files.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "files: needs `directory`, where they are published");
    if (p->directory == NULL && p->directory_mode != -1)
        return cfr_err_set(err, CFR_E_CONFIG, "directory_mode: belongs to `directory`; write `mode` in the file");
    if (p->directory == NULL && (p->owner != NULL || p->group != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: belongs to `directory`; write it in the file",
                           p->owner != NULL ? "owner" : "group");
    if (p->files_mode != -1 && (p->directory == NULL || p->files.count != 0))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "files_mode: belongs to a `directory` without `files`; write `mode` in each file");
    return 0;
}

/* The keys of which a target has one: its own, and those of the registered kinds in their place. */
static struct cfr_variant key_at(size_t index)
{
    struct cfr_variant v = {.key = index == 0 ? "directory" : "file"};

    if (index < 2)
        return v;
    v = cfr_config_target_variant(index - 2);
    if (v.key == NULL && (index == 2 || cfr_config_target_variant(index - 3).key != NULL))
        v.key = "secret";
    else if (v.key == NULL && (index == 3 || cfr_config_target_variant(index - 4).key != NULL))
        v.key = "configmap";
    return v;
}

int cfr_config_rules_publish(const void *node, struct cfr_err *err)
{
    const struct cfr_config_publish *p = node;
    size_t kinds = (size_t)(p->directory != NULL) + (p->file != NULL) + (p->secret != NULL) + (p->configmap != NULL) +
                   p->kind.count;
    char keys[CFR_CONFIG_KEYS_MAX];
    int rc = 0;

    if (p->directory == NULL && p->files.count != 0)
        return check_directory(p, err);
    if (kinds == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "does not say where to publish; write one of %s",
                           cfr_config_keys(key_at, "or", keys));
    if (kinds > 1)
        return cfr_err_set(err, CFR_E_CONFIG, "has more than one of %s; write a list with one in each item",
                           cfr_config_keys(key_at, "and", keys));
    rc = check_directory(p, err);
    return rc != 0 ? rc : check_names("files", &p->files, err);
}
