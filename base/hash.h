/* SPDX-License-Identifier: MIT */
/* FNV-1a, 64 bits: a fingerprint of contents, without protection against forgery. Pure. The values are
 * kept on disk, so they never change. */
#ifndef CFR_BASE_HASH_H
#define CFR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define CFR_HASH_START UINT64_C(0xcbf29ce484222325)

/* H with N bytes at P mixed in; P may be NULL if N is 0. */
static inline uint64_t cfr_hash_add(uint64_t h, const void *p, size_t n)
{
    const unsigned char *bytes = p;

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
