/* SPDX-License-Identifier: MIT */
/* Counts the name lookups that outlived their requests. */
#include "agent/http/lookup_private.h"

#include "base/hash.h"

#include <string.h>
#include <sys/stat.h>

static uint64_t hash_of(const char *target)
{
    return cfr_hash_add(CFR_HASH_START, target, strlen(target));
}

static void forget_oldest(struct cfr_http_lookups *l, size_t n)
{
    l->count -= n;
    memmove(l->hosts, l->hosts + n, l->count * sizeof l->hosts[0]);
}

void cfr_http_lookup_abandon(struct cfr_http_lookups *l, const char *target)
{
    if (l->count == CFR_HTTP_LOOKUPS_MAX)
        forget_oldest(l, 1);
    l->hosts[l->count++] = hash_of(target);
}

int cfr_http_lookup_check(struct cfr_http_lookups *l, size_t running, const char *target, struct cfr_err *err)
{
    uint64_t hash = hash_of(target);
    size_t same = 0;

    if (l->count > running)
        forget_oldest(l, l->count - running);
    for (size_t i = 0; i < l->count; i++)
        same += l->hosts[i] == hash ? 1 : 0;
    if (same < CFR_HTTP_LOOKUPS_HOST_MAX && l->count < CFR_HTTP_LOOKUPS_MAX)
        return 0;
    return cfr_err_set(err, CFR_E_NET,
                       "its name is not looked up now, as the name servers have not answered %zu earlier lookups; "
                       "check DNS and /etc/resolv.conf",
                       same < CFR_HTTP_LOOKUPS_HOST_MAX ? l->count : same);
}

size_t cfr_http_lookup_threads(void)
{
    struct stat st;

    /* A directory for each thread, and each counts as a link. */
    return stat("/proc/self/task", &st) == 0 ? (size_t)st.st_nlink : 0;
}
