/* SPDX-License-Identifier: MIT */
/* Wiping allocator. */
#include "base/wipealloc.h"

#include "base/secret.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t failures;

static void *count_failure(void *p)
{
    failures += p == NULL ? 1 : 0;
    return p;
}

size_t cfr_wipealloc_failures(void)
{
    return failures;
}

void *cfr_wipealloc_malloc(size_t n)
{
    return count_failure(malloc(n));
}

void *cfr_wipealloc_calloc(size_t count, size_t size)
{
    return count_failure(calloc(count, size));
}

void *cfr_wipealloc_realloc(void *p, size_t n)
{
    void *to = cfr_wipealloc_malloc(n);
    size_t had;

    if (to == NULL || p == NULL)
        return to;
    had = malloc_usable_size(p);
    memcpy(to, p, had < n ? had : n);
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
    if (p == NULL)
        return;
    /* The heap knows how much it gave. A size of our own before each of OpenSSL's many blocks costs 100 KiB. */
    cfr_secret_wipe(p, malloc_usable_size(p));
    free(p);
}
