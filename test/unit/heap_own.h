/* SPDX-License-Identifier: MIT */
/* A malloc of the program's own, which shared libraries use, too: counts, fails, and looks for secrets in
 * what is given back. OWN_HEAP is 0 where a sanitizer has a heap of its own. */
#ifndef CFR_TEST_HEAP_OWN_H
#define CFR_TEST_HEAP_OWN_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define OWN_HEAP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OWN_HEAP 0
#endif
#endif
#ifndef OWN_HEAP
#define OWN_HEAP 1
#endif

#if OWN_HEAP

/* glibc's allocator under its own names. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *p);

/* Volatile, because the compiler knows of the real ones that they look at none of this. */
static volatile long fail_in; /* the allocation that fails, counted down; 0 = none */
static volatile bool failed;
static volatile long live;
static const char *volatile hunted; /* bytes that must not be in freed memory */
static volatile int found;

static bool fails(void)
{
    if (fail_in == 0 || --fail_in != 0)
        return false;
    failed = true;
    errno = ENOMEM;
    return true;
}

static void *counted(void *p)
{
    live += p != NULL ? 1 : 0;
    return p;
}

void *malloc(size_t n)
{
    return fails() ? NULL : counted(__libc_malloc(n));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void free(void *p)
{
    if (p == NULL)
        return;
    if (hunted != NULL && memmem(p, malloc_usable_size(p), hunted, strlen(hunted)) != NULL)
        found++;
    live--;
    __libc_free(p);
}

/* Always to another place, and so past the hunter. */
void *realloc(void *p, size_t n)
{
    size_t old = p != NULL ? malloc_usable_size(p) : 0;
    void *to = malloc(n);

    if (to == NULL)
        return NULL;
    if (p != NULL)
        memcpy(to, p, old < n ? old : n);
    free(p);
    return to;
}

#endif
#endif
