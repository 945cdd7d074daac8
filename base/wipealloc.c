/* SPDX-License-Identifier: MIT */
/* The wiping allocator. */
#include "base/wipealloc.h"

#include "base/secret.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* free() is not told how much it frees, so the size stands in front of each block. */
struct header {
    alignas(max_align_t) size_t size;
};

void *cfr_wipealloc_malloc(size_t n)
{
    struct header *h = n <= SIZE_MAX - sizeof *h ? malloc(sizeof *h + n) : NULL;

    if (h == NULL)
        return NULL;
    h->size = n;
    return h + 1;
}

void *cfr_wipealloc_calloc(size_t count, size_t size)
{
    struct header *h;
    size_t n;

    if (__builtin_mul_overflow(count, size, &n) || n > SIZE_MAX - sizeof *h)
        return NULL;
    h = calloc(1, sizeof *h + n);
    if (h == NULL)
        return NULL;
    h->size = n;
    return h + 1;
}

void *cfr_wipealloc_realloc(void *p, size_t n)
{
    const struct header *h = p;
    void *to = cfr_wipealloc_malloc(n);

    if (to == NULL || h == NULL)
        return to;
    h--;
    memcpy(to, p, h->size < n ? h->size : n);
    cfr_wipealloc_free(p);
    return to;
}

char *cfr_wipealloc_strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = cfr_wipealloc_malloc(n);

    return p != NULL ? memcpy(p, text, n) : NULL;
}

void cfr_wipealloc_free(void *p)
{
    struct header *h = p;

    if (h == NULL)
        return;
    h--;
    cfr_secret_wipe(h, sizeof *h + h->size);
    free(h);
}
