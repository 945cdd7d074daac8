/* SPDX-License-Identifier: MIT */
/* Target kind `profile`: one section of an ini file that other programs write, too. */
#include "agent/publish/render_private.h"
#include "agent/publish/target_private.h"
#include "files/format/format.h"
#include "files/profile.h"
#include "files/single.h"

static bool is_profile(const struct cfr_config_publish *t)
{
    return t->profile != NULL;
}

static const char *path_of_profile(const struct cfr_config_publish *t)
{
    return t->profile->path;
}

static int name_section(const struct cfr_config_profile *p, char section[CFR_FORMAT_SECTION_MAX], struct cfr_err *err)
{
    return cfr_format_section(&cfr_formats[p->format], p->name, section, err);
}

static int render_profile(const struct cfr_target *t, const struct cfr_publish_render *job,
                          struct cfr_target_content *out, struct cfr_err *err)
{
    const struct cfr_config_profile *p = t->config->profile;
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
                           struct cfr_target_content *content, struct cfr_publish_record *record, bool *changed,
                           struct cfr_err *err)
{
    const struct cfr_config_profile *p = t->config->profile;
    char section[CFR_FORMAT_SECTION_MAX];
    int rc = name_section(p, section, err);

    (void)job;
    if (rc == 0)
        rc = cfr_profile_publish(p->path, section, &content->files[0], changed, err);
    if (rc == 0)
        record->targets[t->index] = (struct cfr_file_fingerprint){0};
    return rc;
}

static int recover_profile(const struct cfr_target *t, struct cfr_err *err)
{
    return cfr_single_recover(t->config->profile->path, err);
}

static int check_present(const struct cfr_target *t, struct cfr_err *err)
{
    char section[CFR_FORMAT_SECTION_MAX];
    int rc = name_section(t->config->profile, section, err);

    return rc != 0 ? rc : cfr_profile_verify(t->config->profile->path, section, err);
}

/* Other programs may have rewritten the file around the section: its inode proves nothing. */
static int verify_profile(const struct cfr_target *t, const struct cfr_publish_record *record, struct cfr_err *err)
{
    (void)record;
    return check_present(t, err);
}

const struct cfr_target_ops cfr_publish_profile = {
    .name = "profile",
    .is_configured = is_profile,
    .path = path_of_profile,
    .render = render_profile,
    .publish = publish_profile,
    .recover = recover_profile,
    .verify = verify_profile,
    .present = check_present,
};
