/* SPDX-License-Identifier: MIT */
/* Looks into every block at the moment it is given back to the heap. For programs linked with -Wl,--wrap=free
 * and
 * --wrap=malloc, which make the calls in our own libraries come here. */
#ifndef CFR_TEST_HEAP_WATCH_H
#define CFR_TEST_HEAP_WATCH_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void __real_free(void *p);
void __wrap_free(void *p);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

/* What must not be in a block that is freed; NULL = do not look. */
static const char *heap_secret;
static size_t heap_leaks;   /* blocks that held it */
static size_t heap_frees;   /* blocks looked at */
static size_t heap_fail_at; /* 1 = the next malloc fails, 0 = none */

void __wrap_free(void *p)
{
    if (p != NULL && heap_secret != NULL) {
        heap_frees++;
        if (memmem(p, malloc_usable_size(p), heap_secret, strlen(heap_secret)) != NULL)
            heap_leaks++;
    }
    __real_free(p);
}

void *__wrap_malloc(size_t n)
{
    if (heap_fail_at != 0 && --heap_fail_at == 0)
        return NULL;
    return __real_malloc(n);
}

static void heap_watch(const char *secret)
{
    heap_secret = secret;
    heap_leaks = 0;
    heap_frees = 0;
}

#endif
