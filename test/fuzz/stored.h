/* SPDX-License-Identifier: MIT */
/* For targets that read what credfresh itself has stored: a folder to read from, and which texts come back as
 * they were. */
#ifndef CFR_TEST_STORED_H
#define CFR_TEST_STORED_H

#include "fuzz.h"

#include "base/view.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char stored_path[64];
static const char *stored_names[4];

static void stored_remove(void)
{
    int fd = open(stored_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < sizeof stored_names / sizeof stored_names[0]; i++) {
        if (stored_names[i] != NULL)
            (void)unlinkat(fd, stored_names[i], 0);
    }
    (void)close(fd);
    (void)rmdir(stored_path);
}

/* A folder of this process, removed at its end with the files NAMES (up to four, then NULL). */
static int stored_folder(const char *const *names)
{
    static int fd = -1;

    if (fd >= 0)
        return fd;
    for (size_t i = 0; names[i] != NULL; i++)
        stored_names[i] = names[i];
    /* In memory where that can be: what is stored is synced. */
    (void)snprintf(stored_path, sizeof stored_path, "%s/cfr-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CFR_FUZZ_MUST(mkdtemp(stored_path) != NULL && atexit(stored_remove) == 0);
    fd = open(stored_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CFR_FUZZ_MUST(fd >= 0);
    return fd;
}

static void stored_write(int folder, const char *name, struct cfr_view content)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CFR_FUZZ_MUST(fd >= 0 && write(fd, content.n != 0 ? content.p : "", content.n) == (ssize_t)content.n);
    (void)close(fd);
}

#endif
