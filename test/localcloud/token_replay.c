/* SPDX-License-Identifier: MIT */
/* Used assertions: a hash table of digests; expired ones are removed when it is full. */
#include "token_replay.h"

#include "crypto.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 4096, MOST_SLOTS = 1 << 24 };

struct slot {
    unsigned char digest[LC_SHA256_BYTES];
    int64_t expires_at_s; /* 0: empty */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static size_t room;
static size_t used;

static struct slot *find(struct slot *table, size_t size, const unsigned char *digest)
{
    size_t at = 0;

    memcpy(&at, digest, sizeof at);
    for (at &= size - 1; table[at].expires_at_s != 0; at = (at + 1) & (size - 1)) {
        if (memcmp(table[at].digest, digest, LC_SHA256_BYTES) == 0) {
            break;
        }
    }
    return &table[at];
}

/* Makes space by dropping what expired, in a table twice as large if that is not enough. */
static bool make_space(int64_t now)
{
    size_t live = 0;
    size_t size = FIRST_SLOTS;
    struct slot *table = NULL;

    if (room != 0 && used < room / 2) {
        return true;
    }
    for (size_t i = 0; i < room; i++) {
        live += slots[i].expires_at_s > now;
    }
    while (size < MOST_SLOTS && live >= size / 4) {
        size *= 2;
    }
    table = calloc(size, sizeof *table);
    if (table == NULL || live >= size / 2) {
        free(table);
        return false;
    }
    for (size_t i = 0; i < room; i++) {
        if (slots[i].expires_at_s > now) {
            *find(table, size, slots[i].digest) = slots[i];
        }
    }
    free(slots);
    slots = table;
    room = size;
    used = live;
    return true;
}

bool lc_token_first_use(const char *client, const char *jti, int64_t expires_at_s)
{
    unsigned char digest[LC_SHA256_BYTES];
    char *text = lc_text_format("%s\n%s", client, jti);
    int64_t now = (int64_t)lc_time_now();
    struct slot *slot = NULL;
    bool first = false;

    if (text == NULL) {
        return false;
    }
    lc_sha256(text, strlen(text), digest);
    free(text);
    (void)pthread_mutex_lock(&lock);
    if (make_space(now)) {
        slot = find(slots, room, digest);
        first = slot->expires_at_s <= now;
        used += slot->expires_at_s == 0;
        memcpy(slot->digest, digest, sizeof digest);
        slot->expires_at_s = first ? expires_at_s : slot->expires_at_s;
    }
    (void)pthread_mutex_unlock(&lock);
    return first;
}
