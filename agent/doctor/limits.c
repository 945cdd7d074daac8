/* SPDX-License-Identifier: MIT */
/* Open files that a configuration needs, and the memory limit of the control group. */
#include "agent/doctor/doctor_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILES_BASE   48 /* standard, state, signals, clocks, inotify, epoll, and 32 connections to clouds */
#define FILES_SERVER 64 /* connections of guests before the oldest make room */
#define UNLIMITED    (INT64_C(1) << 60) /* version 1 writes a number near 2^63 */

int64_t cfr_doctor_needed_files(const struct cfr_config *config)
{
    int64_t servers = 1 + (config->listen != NULL ? 1 : 0) + (config->token_socket != NULL ? 1 : 0) +
                      (int64_t)config->endpoints.count;
    int64_t hooks = 0;

    for (size_t i = 0; i < config->credentials.count; i++)
        hooks += cfr_config_at(config, i)->reload.count != 0 ? 1 : 0;
    return FILES_BASE + servers * FILES_SERVER + (hooks < 256 ? hooks : 256);
}

/* The number in a limit's file; -1 = none ("max"), or it is not there. */
static int64_t read_limit(const char *path)
{
    char text[64] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    int64_t value = -1;

    if (fd >= 0)
        (void)close(fd);
    if (n <= 0 || !cfr_view_int(cfr_view_trim((struct cfr_view){text, (size_t)n}), &value) || value >= UNLIMITED)
        return -1;
    return value;
}

/* From GROUP up to the root: the least limit holds. */
static int64_t climb(const char *root, struct cfr_view group, const char *file, char path[512], int64_t least)
{
    for (;;) {
        char at[512];
        int64_t limit;

        while (group.n != 0 && group.p[group.n - 1] == '/')
            group.n--;
        (void)snprintf(at, sizeof at, "%s%.*s/%s", root, (int)group.n, group.n != 0 ? group.p : "", file);
        limit = read_limit(at);
        if (limit >= 0 && (least < 0 || limit < least)) {
            least = limit;
            if (path != NULL)
                (void)snprintf(path, 512, "%s", at);
        }
        if (group.n == 0)
            return least;
        while (group.n != 0 && group.p[group.n - 1] != '/')
            group.n--;
    }
}

/* ID:CONTROLLERS:PATH (cgroups(7)); no controllers: version 2. */
int64_t cfr_doctor_memory_limit(struct cfr_view cgroup, const char *root, char path[512])
{
    char memory[256];
    struct cfr_view line;
    int64_t least = -1;

    (void)snprintf(memory, sizeof memory, "%.200s/memory", root);
    while (cfr_view_line(&cgroup, &line)) {
        const char *first = line.n != 0 ? memchr(line.p, ':', line.n) : NULL;
        const char *end = line.p + line.n;
        const char *second = first != NULL ? memchr(first + 1, ':', (size_t)(end - first) - 1) : NULL;
        struct cfr_view group;

        if (second == NULL)
            continue;
        group = (struct cfr_view){second + 1, (size_t)(end - second) - 1};
        if (second == first + 1) {
            least = climb(root, group, "memory.max", path, least);
        } else if (cfr_view_is((struct cfr_view){first + 1, (size_t)(second - first) - 1}, "memory")) {
            least = climb(memory, group, "memory.limit_in_bytes", path, least);
        }
    }
    return least;
}
