/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation. For programs linked with -Wl,--wrap=malloc, --wrap=calloc and --wrap=realloc,
 * which make the calls in our own libraries come here. */
#ifndef CFR_TEST_HEAP_FUSE_H
#define CFR_TEST_HEAP_FUSE_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long fuse = -1; /* allocations until one fails; negative: none does */

static bool burnt(void)
{
    return fuse >= 0 && fuse-- == 0;
}

void *__wrap_malloc(size_t n)
{
    return burnt() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return burnt() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return burnt() ? NULL : __real_realloc(p, n);
}

#endif
