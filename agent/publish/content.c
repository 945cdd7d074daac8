/* SPDX-License-Identifier: MIT */
/* Rendered content of a target: its files, and the secrets that they are views of. */
#include "agent/publish/render_private.h"
#include "agent/publish/target_private.h"
#include "files/format/format.h"
#include "files/path.h"

#include <stdlib.h>
#include <string.h>

struct cfr_secret *cfr_publish_content_add(struct cfr_target_content *content)
{
    struct cfr_secret *secret = &content->contents[content->content_count++];

    cfr_secret_init(secret, CFR_FORMAT_OUTPUT_MAX);
    return secret;
}

void cfr_publish_content_free(struct cfr_target_content *content)
{
    for (size_t i = 0; i < content->content_count; i++)
        cfr_secret_free(&content->contents[i]);
    for (size_t i = 0; i < content->count; i++)
        free(content->names[i]);
    content->content_count = 0;
    content->count = 0;
}

int cfr_publish_content_ids(const char *owner, const char *group, uid_t *uid, gid_t *gid, struct cfr_err *err)
{
    int rc = 0;

    *uid = CFR_FILE_KEEP_ID;
    *gid = CFR_FILE_KEEP_ID;
    if (owner != NULL)
        rc = cfr_path_uid(owner, uid, err);
    if (rc == 0 && group != NULL)
        rc = cfr_path_gid(group, gid, err);
    return rc;
}

int cfr_publish_content_file(struct cfr_target_content *content, const struct cfr_publish_render *job,
                             const struct cfr_config_file *f, struct cfr_err *err)
{
    struct cfr_file *file = &content->files[content->count];
    struct cfr_secret *secret = cfr_publish_content_add(content);
    int rc = cfr_publish_render_file(job, f, secret, err);

    if (rc != 0)
        return rc;
    *file = (struct cfr_file){.content = cfr_secret_view(secret), .mode = (mode_t)f->mode};
    /* A file of its own has none. */
    if (f->name != NULL) {
        file->name = content->names[content->count] = strdup(f->name);
        if (file->name == NULL)
            return cfr_err_nomem(err);
    }
    content->count++;
    return cfr_publish_content_ids(f->owner, f->group, &file->uid, &file->gid, err);
}

void cfr_publish_content_keys(struct cfr_target_content *content, const struct cfr_publish_render *job, mode_t mode)
{
    struct cfr_view value;
    const char *name;

    while (content->count < CFR_CONFIG_FILES_MAX &&
           (name = cfr_publish_render_key(job->grant, content->count, &value)) != NULL)
        content->files[content->count++] = (struct cfr_file){name, value, mode, CFR_FILE_KEEP_ID, CFR_FILE_KEEP_ID};
}
