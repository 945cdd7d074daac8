/* SPDX-License-Identifier: MIT */
/* Target kind `file`: a single file, replaced by rename or written in place. */
#include "agent/publish/target_private.h"
#include "base/log.h"
#include "base/time.h"
#include "files/format/format.h"
#include "files/single.h"

#include <stdio.h>
#include <string.h>

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

/* A file in another format that has keys of credfresh's is its own, too: the configuration was changed. */
static bool is_own(const struct cfr_config_file *f, struct cfr_view there)
{
    const struct cfr_format_input in = {.profile = f->profile, .template_text = f->template_text};
    bool own = cfr_format_is_own(&cfr_formats[f->format], &in, there);

    for (const struct cfr_format *other = cfr_formats; !own && other->name != NULL; other++)
        own = other->own != NULL && (strncmp(other->own, "lines ", 6) == 0 || strncmp(other->own, "json ", 5) == 0) &&
              cfr_format_is_own(other, &in, there);
    return own;
}

/* True if a publish of F would destroy what another program has written, or would have no effect; TEXT explains it.
 * OURS is what is to be published, empty where that is not known yet. Blocks on disk. */
static bool would_lose(const struct cfr_config_file *f, struct cfr_view ours, char text[CFR_ERR_TEXT_MAX])
{
    const struct cfr_format *format = &cfr_formats[f->format];
    char when[CFR_TIME_RFC3339_MAX];
    struct cfr_secret there;
    int64_t changed_s = 0;
    int64_t bytes = 0;
    const char *ignored = NULL;
    int rc;

    text[0] = '\0';
    cfr_secret_init(&there, CFR_SINGLE_MERGE_MAX);
    rc = cfr_single_read(f->path, &there, &bytes, &changed_s, NULL);
    if (rc == 0 && format->ignored != NULL)
        ignored = format->ignored(cfr_secret_view(&there), ours);
    if (ignored != NULL)
        (void)snprintf(text, CFR_ERR_TEXT_MAX,
                       "%.300s has %s: docker asks that helper and ignores the logins that credfresh writes; remove it "
                       "there, or publish to another file",
                       f->path, ignored);
    else if (format->merge == NULL && (rc == CFR_E_LIMIT || (rc == 0 && !is_own(f, cfr_secret_view(&there)))))
        (void)snprintf(text, CFR_ERR_TEXT_MAX,
                       "%.300s exists, was not written by credfresh, and will be replaced (%lld bytes, last changed "
                       "%s); move it away if it is needed",
                       f->path, (long long)bytes, cfr_time_format(changed_s, when));
    cfr_secret_free(&there);
    return text[0] != '\0';
}

static int publish_file(const struct cfr_target *t, const struct cfr_publish_job *job,
                        struct cfr_target_content *content, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    const struct cfr_config_file *f = t->config->file;
    char loss[CFR_ERR_TEXT_MAX];
    int rc;

    /* Known: this agent, or one before it, has published it. */
    if (seen->hash == 0 && would_lose(f, content->files[0].content, loss))
        cfr_log(CFR_LOG_WARN, job->render.credential, NULL, "%s", loss);
    rc =
        cfr_single_publish(f->path, &content->files[0], f->in_place, cfr_formats[f->format].merge, &seen->changed, err);
    if (rc == 0)
        seen->hash = 1;
    return rc;
}

static int recover_file(const struct cfr_target *t, bool recorded, struct cfr_err *err)
{
    (void)recorded;
    return cfr_single_recover(t->config->file->path, err);
}

static int look_at(const struct cfr_target *t, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    return cfr_single_fingerprint(t->config->file->path, &seen->mark, err);
}

static void inspect_file(const struct cfr_target *t, const struct cfr_publish_inspection *i)
{
    const struct cfr_config_file *f = t->config->file;

    char loss[CFR_ERR_TEXT_MAX];

    i->file(i->ctx, f->path, f->in_place);
    if (i->loss != NULL && would_lose(f, (struct cfr_view){NULL, 0}, loss))
        i->loss(i->ctx, loss);
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
