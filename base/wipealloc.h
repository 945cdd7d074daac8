/* SPDX-License-Identifier: MIT */
/* An allocator for libraries that hold copies of secrets: every block is wiped before it goes back to the heap.
 * Returns NULL when memory is short. */
#ifndef CFR_BASE_WIPEALLOC_H
#define CFR_BASE_WIPEALLOC_H

#include <stddef.h>

/* As their namesakes in the C library. What one of them returned goes only to these functions. NULL when memory is
 * short; a failed cfr_wipealloc_realloc leaves the old block as it was. */
void *cfr_wipealloc_malloc(size_t n);
void *cfr_wipealloc_calloc(size_t count, size_t size);
void *cfr_wipealloc_realloc(void *p, size_t n);
char *cfr_wipealloc_strdup(const char *text);
void cfr_wipealloc_free(void *p);
/* How often memory was short so far. */
size_t cfr_wipealloc_failures(void);

#endif
