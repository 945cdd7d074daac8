/* SPDX-License-Identifier: MIT */
/* Target kind `profile`: one section of an ini file that other programs write, too. */
#include "agent/publish/render_private.h"
#include "agent/publish/target_private.h"
#include "base/log.h"
#include "files/format/format.h"
#include "files/profile.h"
#include "files/single.h"

/* FIELD(member): the head of a row. */
#define FIELD(member, type_) .key = #member, .type = CFR_FIELD_##type_, .offset = AT(member)

static int check_keys(const void *node, struct cfr_err *err)
{
    return cfr_config_check_profile(node, err);
}

#define AT(member) offsetof(struct cfr_config_file, member)
static const struct cfr_field fields[] = {
    {FIELD(path, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = CFR_DOC("The AWS credentials or config file. It is created if it does not exist. Everything "
                    "outside the profile remains unchanged.")},
    {.key = "name",
     .type = CFR_FIELD_STRING,
     .offset = AT(profile),
     .fallback = "default",
     .min = 1,
     .max = 64,
     .doc = CFR_DOC("Name of the profile.")},
    {FIELD(format, ENUM), .fallback = "aws-credentials", .choices = cfr_format_names,
     .doc = CFR_DOC("Format of the profile: aws-credentials or aws-config.")},
    {FIELD(mode, MODE), .fallback = "0600",
     .doc = CFR_DOC("Permission bits of a new file, octal and in quotes. An existing file keeps its "
                    "mode, but users that these bits exclude cannot read secrets in it.")},
    {FIELD(owner, STRING), .min = 1, .max = 256, .doc = CFR_DOC("Owner of a new file, a user name or number.")},
    {FIELD(group, STRING), .min = 1, .max = 256, .doc = CFR_DOC("Group of a new file, a group name or number.")},
    {FIELD(role_arn, STRING), .min = 1, .max = 2048, .doc = CFR_DOC(CFR_CONFIG_DOC_ROLE_ARN)},
    {FIELD(session_name, STRING), .min = 2, .max = 64, .doc = CFR_DOC(CFR_CONFIG_DOC_SESSION_NAME)},
    {FIELD(token_path, STRING), .flags = CFR_FIELD_PATH,
     .doc = CFR_DOC("With format aws-config: where the SDK finds the token for `role_arn`.")},
    {FIELD(region, STRING), .min = 1, .max = 63, .doc = CFR_DOC(CFR_CONFIG_DOC_REGION)},
    {FIELD(sts_regional_endpoints, ENUM), .fallback = "unset", .choices = cfr_config_sts_endpoints,
     .doc = CFR_DOC(CFR_CONFIG_DOC_STS_ENDPOINTS)},
    {FIELD(command, STRING), .min = 1, .max = 4096, .doc = CFR_DOC(CFR_CONFIG_DOC_COMMAND)},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "profile",
    .size = sizeof(struct cfr_config_file),
    .fields = fields,
    .check = check_keys,
    .doc = CFR_DOC("One profile inside a shared AWS file, changed under a lock (the file's name with `.lock`)."),
};

/* A config names tokens and commands, and is meant to be read. */
static bool holds_secret(const struct cfr_config_file *p)
{
    return cfr_formats[p->format].needs != NULL;
}

static void describe_profile(const void *config, struct cfr_config_target_use *out)
{
    const struct cfr_config_file *p = config;

    /* Without its path or name it has been refused. */
    *out = (struct cfr_config_target_use){.key = "publish.profile.path",
                                          .path = p->profile != NULL ? p->path : NULL,
                                          .section = p->profile,
                                          .format = p->format,
                                          .line = p->node.line};
}

static int name_section(const struct cfr_config_file *p, char section[CFR_FORMAT_SECTION_MAX], struct cfr_err *err)
{
    return cfr_format_section(&cfr_formats[p->format], p->profile, section, err);
}

static int render_profile(const struct cfr_target *t, const struct cfr_publish_render *job,
                          struct cfr_target_content *out, struct cfr_err *err)
{
    const struct cfr_config_file *p = t->own;
    struct cfr_secret *secret = cfr_publish_content_add(out);
    char section[CFR_FORMAT_SECTION_MAX];
    int rc = cfr_publish_render_profile(job, p, secret, err);

    if (rc == 0)
        rc = name_section(p, section, err);
    if (rc != 0)
        return rc;
    out->files[0] = (struct cfr_file){.content = cfr_secret_view(secret), .mode = (mode_t)p->mode};
    out->count = 1;
    return cfr_publish_content_ids(p->owner, p->group, &out->files[0].uid, &out->files[0].gid, err);
}

static int publish_profile(const struct cfr_target *t, const struct cfr_publish_job *job,
                           struct cfr_target_content *content, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    const struct cfr_config_file *p = t->own;
    char section[CFR_FORMAT_SECTION_MAX];
    mode_t was = 0;
    int rc = name_section(p, section, err);

    if (rc == 0)
        rc = cfr_profile_publish(p->path, section, &content->files[0], job->may_wait, holds_secret(p) ? &was : NULL,
                                 &seen->changed, err);
    if (was != 0)
        cfr_log(CFR_LOG_WARN, job->render.credential, NULL,
                "%s could be read by other users (mode %04o): its mode is now %04o; set `mode` of the profile to "
                "change that",
                p->path, (unsigned)was, (unsigned)was & (unsigned)p->mode);
    return rc;
}

static int recover_profile(const struct cfr_target *t, bool recorded, struct cfr_err *err)
{
    (void)recorded;
    return cfr_profile_recover(((const struct cfr_config_file *)t->own)->path, err);
}

/* Other programs may have rewritten the file around the section: only that counts. */
static int look_at(const struct cfr_target *t, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    const struct cfr_config_file *p = t->own;
    char section[CFR_FORMAT_SECTION_MAX];
    int rc = name_section(p, section, err);

    return rc != 0 ? rc : cfr_profile_verify(p->path, section, &seen->mark, err);
}

static void inspect_profile(const struct cfr_target *t, const struct cfr_publish_inspection *i)
{
    const struct cfr_config_file *p = t->own;

    i->parent(i->ctx, p->path);
    i->owner(i->ctx, p->owner, p->group);
    if (holds_secret(p) && i->secret_file != NULL)
        i->secret_file(i->ctx, p->path, (mode_t)p->mode);
}

const struct cfr_target_ops cfr_publish_profile = {
    .kind = {.variant = {.key = "profile", .table = &table, .doc = CFR_DOC("A profile inside a shared AWS file.")},
             .describe = describe_profile},
    .locks = true,
    .inspect = inspect_profile,
    .render = render_profile,
    .publish = publish_profile,
    .recover = recover_profile,
    .look = look_at,
};
