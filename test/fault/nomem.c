/* SPDX-License-Identifier: MIT */
/* Preloaded: fails the allocation whose number CFR_NOMEM_AT gives, and writes how many there were to the file that
 * CFR_NOMEM_COUNT names. */
#include <fcntl.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);

static _Atomic unsigned long made;
static unsigned long fail_at;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("CFR_NOMEM_AT");

    fail_at = at != NULL ? made + strtoul(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("CFR_NOMEM_COUNT");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return;
    (void)dprintf(fd, "%lu\n", made);
    (void)close(fd);
}

static int fails(void)
{
    if (++made != fail_at)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}
