/* SPDX-License-Identifier: MIT */
/* Target kind `file`: a single file, replaced by rename or written in place. */
#include "agent/publish/target_private.h"
#include "files/format/format.h"
#include "files/single.h"

static bool is_file(const struct cfr_config_publish *t)
{
    return t->file != NULL;
}

static const char *path_of_file(const struct cfr_config_publish *t)
{
    return t->file->path;
}

static int render_file(const struct cfr_target *t, const struct cfr_publish_render *job, struct cfr_target_content *out,
                       struct cfr_err *err)
{
    return cfr_publish_content_file(out, job, t->config->file, err);
}

static int publish_file(const struct cfr_target *t, const struct cfr_publish_job *job,
                        struct cfr_target_content *content, uint64_t *hash, bool *changed, struct cfr_err *err)
{
    const struct cfr_config_file *f = t->config->file;

    (void)job;
    (void)hash;
    return cfr_single_publish(f->path, &content->files[0], f->in_place, cfr_formats[f->format].merge, changed, err);
}

static int recover_file(const struct cfr_target *t, bool recorded, struct cfr_err *err)
{
    (void)recorded;
    return cfr_single_recover(t->config->file->path, err);
}

static int look_at(const struct cfr_target *t, struct cfr_file_fingerprint *mark, struct cfr_err *err)
{
    struct cfr_file_fingerprint unused;

    return cfr_single_fingerprint(t->config->file->path, mark != NULL ? mark : &unused, err);
}

static void inspect_file(const struct cfr_target *t, const struct cfr_publish_inspection *i)
{
    const struct cfr_config_file *f = t->config->file;

    i->file(i->ctx, f->path, f->in_place);
    i->owner(i->ctx, f->owner, f->group);
}

const struct cfr_target_ops cfr_publish_file = {
    .inspect = inspect_file,
    .is_configured = is_file,
    .path = path_of_file,
    .render = render_file,
    .publish = publish_file,
    .recover = recover_file,
    .look = look_at,
};
