/* SPDX-License-Identifier: MIT */
/* Journals of credentials that are not configured any more. */
#include "agent/rotation/leftover.h"

#include "files/file.h"
#include "files/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX         "+mint"
#define NAME_MAX_BYTES 80

/* The credential whose journal FILE is; false for any other file. */
static bool read_name(const char *file, char name[NAME_MAX_BYTES])
{
    static const char end[] = SUFFIX ".json";
    size_t n = strlen(file);

    if (n <= sizeof end - 1 || n - (sizeof end - 1) >= NAME_MAX_BYTES || strcmp(file + n - (sizeof end - 1), end) != 0)
        return false;
    (void)snprintf(name, NAME_MAX_BYTES, "%.*s", (int)(n - (sizeof end - 1)), file);
    return true;
}

static bool is_minted(const struct cfr_config *config, const char *name)
{
    const struct cfr_config_credential *c = cfr_config_find(config, name);

    return c != NULL && c->mint != NULL;
}

static bool may_exist(const struct cfr_rotation_journal *j)
{
    return j->step == CFR_ROTATION_INTENT || j->step == CFR_ROTATION_LOST;
}

size_t cfr_rotator_leftover_count(const struct cfr_rotation_journal *j)
{
    size_t known = j->aside_count + j->former_count;

    known += j->current[0] != '\0' ? 1 : 0;
    known += j->old[0] != '\0' ? 1 : 0;
    known += j->minted[0] != '\0' ? 1 : 0;
    return known;
}

static void look(int state_fd, const char *name, cfr_rotator_leftover_fn *fn, void *ctx)
{
    struct cfr_rotation_journal journal;
    char file[NAME_MAX_BYTES + sizeof SUFFIX];
    struct cfr_err err = {0};
    struct cfr_secret text;
    int rc;

    (void)snprintf(file, sizeof file, "%s" SUFFIX, name);
    cfr_secret_init(&text, CFR_STATE_MAX);
    rc = cfr_state_load(state_fd, file, &text, &err);
    if (rc == 0)
        rc = cfr_rotation_journal_read(cfr_secret_view(&text), &journal, &err);
    cfr_secret_free(&text);
    if (rc != 0)
        fn(ctx, name, NULL, &err);
    else if (cfr_rotator_leftover_count(&journal) != 0 || may_exist(&journal))
        fn(ctx, name, &journal, NULL);
}

int cfr_rotator_each_leftover(int state_fd, const struct cfr_config *config, cfr_rotator_leftover_fn *fn, void *ctx,
                              struct cfr_err *err)
{
    int fd = openat(state_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    char name[NAME_MAX_BYTES];
    struct dirent *entry;

    if (dir == NULL) {
        int why = errno;

        if (fd >= 0)
            (void)close(fd);
        return cfr_err_sys(err, why, "cannot read the state directory");
    }
    while ((entry = readdir(dir)) != NULL) {
        if (read_name(entry->d_name, name) && !is_minted(config, name))
            look(state_fd, name, fn, ctx);
    }
    (void)closedir(dir);
    return 0;
}

static void add_key(struct cfr_str *out, const char *id)
{
    if (id[0] != '\0')
        cfr_str_addf(out, "%s%s", out->len != 0 ? ", " : "", id);
}

void cfr_rotator_leftover_keys(const struct cfr_rotation_journal *j, struct cfr_str *out)
{
    add_key(out, j->current);
    add_key(out, j->old);
    add_key(out, j->minted);
    for (size_t i = 0; i < j->aside_count; i++)
        add_key(out, j->aside[i].id);
    for (size_t i = 0; i < j->former_count; i++) {
        add_key(out, j->former[i].id);
        cfr_str_addf(out, " of the former owner %s", j->former[i].subject);
    }
    if (may_exist(j))
        cfr_str_addf(out, "%sone %sthat may have been created while its answer was lost", out->len != 0 ? "; " : "",
                     out->len != 0 ? "more " : "");
}

int cfr_rotator_forget_leftover(int state_fd, const char *name, struct cfr_err *err)
{
    static const char *const files[] = {".pending", ".seal", ".json"};
    char file[NAME_MAX_BYTES + sizeof SUFFIX + 16];
    int rc = 0;

    if (strchr(name, '/') != NULL || strlen(name) >= NAME_MAX_BYTES)
        return cfr_err_set(err, CFR_E_CONFIG, "%.80s cannot be the name of a credential", name);
    (void)snprintf(file, sizeof file, "%s" SUFFIX ".json", name);
    if (faccessat(state_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return cfr_err_set(err, CFR_E_MISSING, "no keys of %s are recorded", name);
    /* The journal last, so that what is interrupted can be repeated. */
    for (size_t i = 0; rc == 0 && i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(file, sizeof file, "%s" SUFFIX "%s", name, files[i]);
        rc = cfr_file_wipe(state_fd, file, err);
    }
    return rc;
}
