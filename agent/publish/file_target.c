/* SPDX-License-Identifier: MIT */
/* Target kind `file`: a single file, replaced by rename or written in place. */
#include "agent/publish/target_private.h"
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
                        struct cfr_target_content *content, struct cfr_publish_record *record, bool *changed,
                        struct cfr_err *err)
{
    const struct cfr_config_file *f = t->config->file;
    struct cfr_file_fingerprint *mark = &record->targets[t->index];
    int rc = cfr_single_publish(f->path, &content->files[0], f->in_place, changed, err);

    (void)job;
    if (rc != 0)
        return rc;
    *mark = (struct cfr_file_fingerprint){0};
    (void)cfr_single_fingerprint(f->path, mark, NULL);
    return 0;
}

static int recover_file(const struct cfr_target *t, struct cfr_err *err)
{
    return cfr_single_recover(t->config->file->path, err);
}

static int verify_file(const struct cfr_target *t, const struct cfr_publish_record *record, struct cfr_err *err)
{
    const struct cfr_file_fingerprint *remembered = &record->targets[t->index];
    struct cfr_file_fingerprint now;
    int rc = cfr_single_fingerprint(t->config->file->path, &now, err);

    if (rc != 0)
        return rc;
    if (now.inode != remembered->inode || now.size != remembered->size || now.mtime_ns != remembered->mtime_ns)
        return cfr_err_set(err, CFR_E_MISSING, "%s was changed by another program", t->config->file->path);
    return 0;
}

static int check_present(const struct cfr_target *t, struct cfr_err *err)
{
    struct cfr_file_fingerprint mark;

    return cfr_single_fingerprint(t->config->file->path, &mark, err);
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
    .verify = verify_file,
    .present = check_present,
};
