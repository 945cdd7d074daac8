/* SPDX-License-Identifier: MIT */
/* Directories of our own that may not answer, tried by a child. */
#include "agent/loop/slow_state.h"

#include "agent/loop/slow_file.h"
#include "files/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- in a child ---- */

static int read_all(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                    struct stat *status, struct cfr_err *err)
{
    struct cfr_secret text = {.limit = CFR_STATE_MAX};
    DIR *dir = opendir(what->path);
    struct dirent *entry;

    (void)reach;
    (void)out;
    (void)status;
    (void)err;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)cfr_file_read_at(dirfd(dir), entry->d_name, &text, NULL);
    cfr_secret_free(&text);
    if (dir != NULL)
        (void)closedir(dir);
    return 0;
}

static int open_and_read(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                         struct stat *status, struct cfr_err *err)
{
    int lock_fd;
    int fd = cfr_state_open(what->path, &lock_fd, err);

    if (fd < 0)
        return fd;
    (void)read_all(what, reach, out, status, err);
    (void)close(fd);
    (void)close(lock_fd);
    return 0;
}

/* ---- */

int cfr_slow_state_open(const char *directory, int64_t ms, int *lock_fd, struct cfr_err *err)
{
    const struct cfr_slow_read trial = {.read = open_and_read, .path = directory};
    int rc = cfr_slow_file_try(&trial, ms, err);

    *lock_fd = -1;
    return rc != 0 ? rc : cfr_state_open(directory, lock_fd, err);
}

int cfr_slow_state_answers(const char *directory, struct cfr_err *err)
{
    const struct cfr_slow_read trial = {.read = read_all, .path = directory};

    return cfr_slow_file_is(directory) ? cfr_slow_file_try(&trial, 0, err) : 0;
}
