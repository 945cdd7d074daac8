/* SPDX-License-Identifier: MIT */
/* Verifies the set of a directory, once for each change and again when the time may have made it valid. */
#include "tls_source.h"

#include <stdio.h>
#include <string.h>

const struct cfl_tls_verdict *cfl_tls_source_verdict(const struct cfl_tls_source *source)
{
    return source->watch_said.code != 0 ? &source->watch_said : &source->set_said;
}

static struct cfl_tls_file file_of(const struct credfresh_snapshot *snapshot, const char *name)
{
    const struct credfresh_file *file = name != NULL ? credfresh_snapshot_find(snapshot, name) : NULL;

    if (file == NULL)
        return (struct cfl_tls_file){name, NULL, 0};
    return (struct cfl_tls_file){name, file->bytes, file->size};
}

/* A certificate of tomorrow waits while today's is valid; with nothing better it is used, for peers' clocks may be
 * right. */
static bool must_wait(struct cfl_tls_source *source, const struct cfl_tls_set *set, int64_t now_s)
{
    if (set->not_before_s <= now_s || source->good == NULL || source->good->not_after_s <= now_s)
        return false;
    source->again_s = set->not_before_s < source->good->not_after_s ? set->not_before_s : source->good->not_after_s;
    source->set_said.code = CREDFRESH_TLS_E_EARLY;
    (void)snprintf(source->set_said.text, sizeof source->set_said.text, "%s is not valid yet: it begins in %lld s",
                   source->cert_name, (long long)(set->not_before_s - now_s));
    return true;
}

static enum cfl_tls_event verify_snapshot(struct cfl_tls_source *source, const struct credfresh_snapshot *snapshot,
                                          struct cfl_tls_input *in)
{
    struct cfl_tls_verdict *said = &source->set_said;
    struct cfl_tls_set *set = NULL;

    in->cert = file_of(snapshot, source->cert_name);
    in->key = file_of(snapshot, source->key_name);
    in->ca = file_of(snapshot, source->ca_name);
    *said = (struct cfl_tls_verdict){0, ""};
    source->again_s = 0;
    source->verified_s = in->now_s;
    said->code = cfl_tls_set_make(&set, in, said->text, sizeof said->text);
    if (said->code == CREDFRESH_E_NOMEM)
        source->again_s = in->now_s + 1;
    if (said->code != 0)
        return CFL_TLS_REFUSED;
    if (must_wait(source, set, in->now_s)) {
        cfl_tls_set_unref(set);
        return CFL_TLS_REFUSED;
    }
    cfl_tls_set_unref(source->good);
    source->good = set;
    source->generation = credfresh_snapshot_generation(snapshot);
    return CFL_TLS_TAKEN;
}

static bool same_verdict(const struct cfl_tls_verdict *a, const struct cfl_tls_verdict *b)
{
    return a->code == b->code && strcmp(a->text, b->text) == 0;
}

/* True if there is something about the directory that was not said before. */
static bool hear_watch(struct cfl_tls_source *source)
{
    struct credfresh_status status = {.struct_size = sizeof status};
    struct cfl_tls_verdict before = source->watch_said;

    source->watch_said = (struct cfl_tls_verdict){0, ""};
    if (credfresh_status(source->watch, &status) != 0 || status.error == CREDFRESH_E_UNSTABLE)
        return false; /* changing at this moment: the watcher looks again by itself */
    source->watch_said.code = status.error;
    if (status.error != 0)
        (void)snprintf(source->watch_said.text, sizeof source->watch_said.text, "%s", status.error_text);
    return status.error != 0 && !same_verdict(&before, &source->watch_said);
}

/* A clock that was ahead refused what is valid by the corrected one. No timer rings for that: the watcher's regular
 * check dispatches soon enough. */
static bool was_ahead(const struct cfl_tls_source *source, int64_t now_s)
{
    return source->set_said.code == CREDFRESH_TLS_E_EXPIRED && now_s < source->verified_s;
}

enum cfl_tls_event cfl_tls_source_refresh(struct cfl_tls_source *source, SSL_CTX *trial, unsigned int flags,
                                          int64_t now_s)
{
    struct cfl_tls_input in = {.trial = trial, .flags = flags, .now_s = now_s};
    const struct credfresh_snapshot *snapshot = NULL;
    enum cfl_tls_event event = CFL_TLS_NOTHING;
    bool news = false;
    bool back = was_ahead(source, now_s);
    struct cfl_tls_verdict before = source->set_said;

    source->fresh = credfresh_dispatch(source->watch) > 0 || source->fresh;
    news = hear_watch(source);
    if (source->fresh || back || (source->again_s != 0 && source->again_s <= now_s)) {
        back = back && !source->fresh;
        source->fresh = false;
        snapshot = credfresh_acquire(source->watch);
        if (snapshot != NULL)
            event = verify_snapshot(source, snapshot, &in);
        credfresh_release(snapshot);
        if (back && event == CFL_TLS_REFUSED && same_verdict(&before, &source->set_said))
            event = CFL_TLS_NOTHING;
    }
    return event == CFL_TLS_NOTHING && news ? CFL_TLS_REFUSED : event;
}
