/* SPDX-License-Identifier: MIT */
/* A volume as the kubelet writes it, in the order of its steps. */
#ifndef CFR_TEST_RELOAD_VOLUME_H
#define CFR_TEST_RELOAD_VOLUME_H

#include "files_scratch.h"

#include "credfresh.h"

#include <poll.h>

/* The name of version NUMBER, as credfresh gives it. */
static UNUSED const char *version_name(unsigned number)
{
    static char name[64];

    (void)snprintf(name, sizeof name, "..2026_01_02_03_04_05.%09u", number);
    return name;
}

/* Makes version NUMBER with FILES = {name, text, name, text, NULL}, and links for those without a `/`. */
static UNUSED void version_make(const char *volume, unsigned number, const char *const *files)
{
    char path[PATH_MAX + 300];
    char target[300];

    (void)snprintf(path, sizeof path, "%s/%s", volume, version_name(number));
    assert_int_equal(mkdir(path, 0755), 0);
    for (size_t i = 0; files[i] != NULL; i += 2) {
        const char *slash = strchr(files[i], '/');

        if (slash != NULL) {
            (void)snprintf(path, sizeof path, "%s/%s/%.*s", volume, version_name(number), (int)(slash - files[i]), files[i]);
            (void)mkdir(path, 0755);
        }
        (void)snprintf(path, sizeof path, "%s/%s/%s", volume, version_name(number), files[i]);
        put(path, files[i + 1]);
        (void)snprintf(path, sizeof path, "%s/%s", volume, files[i]);
        (void)snprintf(target, sizeof target, "..data/%s", files[i]);
        if (slash == NULL && symlink(target, path) != 0)
            assert_int_equal(errno, EEXIST);
    }
}

static UNUSED void version_swap(const char *volume, unsigned number)
{
    char tmp[PATH_MAX + 16];
    char data[PATH_MAX + 16];

    (void)snprintf(tmp, sizeof tmp, "%s/..data_tmp", volume);
    (void)snprintf(data, sizeof data, "%s/..data", volume);
    assert_int_equal(symlink(version_name(number), tmp), 0);
    assert_int_equal(rename(tmp, data), 0);
}

static UNUSED void tree_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static UNUSED void version_remove(const char *volume, unsigned number)
{
    char path[PATH_MAX + 80];

    (void)snprintf(path, sizeof path, "%s/%s", volume, version_name(number));
    tree_remove(path);
}

/* A whole update: version NUMBER appears, version NUMBER - 1 goes. */
static UNUSED void update(const char *volume, unsigned number, const char *const *files)
{
    version_make(volume, number, files);
    version_swap(volume, number);
    if (number > 1)
        version_remove(volume, number - 1);
}

static UNUSED void update_token(const char *volume, unsigned number, const char *token)
{
    update(volume, number, (const char *const[]){"token", token, NULL});
}

static UNUSED const char *volume_make(void)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/volume", scratch);
    assert_int_equal(mkdir(path, 0755), 0);
    return path;
}

/* True if the descriptor becomes readable within MS. */
static UNUSED bool wakes(struct credfresh *w, int ms)
{
    struct pollfd p = {.fd = credfresh_fd(w), .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

/* Waits for it to become readable and dispatches, until that tells a change. False after ten seconds. */
static UNUSED bool changes(struct credfresh *w)
{
    return credfresh_wait(w, 10000) == 1;
}

static UNUSED struct credfresh *follow(const char *directory, const struct credfresh_options *o)
{
    struct credfresh *w = NULL;
    char text[400] = "";

    if (credfresh_open(&w, directory, o, text, sizeof text) != 0)
        fail_msg("%s", text);
    return w;
}

static UNUSED struct credfresh_status status_of(struct credfresh *w)
{
    struct credfresh_status s = {.struct_size = sizeof s};

    assert_int_equal(credfresh_status(w, &s), 0);
    return s;
}

/* The text of file NAME of the current snapshot; "(none)". Good until the next call. */
static UNUSED const char *now(struct credfresh *w, const char *name)
{
    static char text[256];
    const struct credfresh_snapshot *s = credfresh_acquire(w);
    const struct credfresh_file *f = s == NULL ? NULL : credfresh_snapshot_find(s, name);

    (void)snprintf(text, sizeof text, "%s", f == NULL ? "(none)" : (const char *)f->bytes);
    if (f != NULL)
        assert_int_equal(strlen((const char *)f->bytes), f->size);
    credfresh_release(s);
    return text;
}

#endif
