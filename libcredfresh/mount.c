/* SPDX-License-Identifier: MIT */
/* Detecting subPath mounts through /proc. */
#include "mount.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cfl_mount_id(int fd)
{
    char path[64];
    char line[128];
    int id = -1;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    while (id < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "mnt_id:", 7) == 0)
            id = (int)strtol(line + 7, NULL, 10);
    (void)fclose(file);
    return id;
}

/* `..2026_`, as the kubelet's and credfresh's versions begin. */
static bool is_version(const char *name)
{
    return strncmp(name, "..", 2) == 0 && isdigit((unsigned char)name[2]) && isdigit((unsigned char)name[3]) &&
           isdigit((unsigned char)name[4]) && isdigit((unsigned char)name[5]) && name[6] == '_';
}

bool cfl_mount_line_is_frozen(const char *line, int mount_id)
{
    char *end;
    const char *p = line;

    if (strtol(line, &end, 10) != mount_id || end == line || mount_id < 0)
        return false;
    for (int field = 0; field < 3; field++) { /* to the fourth, the root of the mount */
        p = strchr(p, ' ');
        if (p == NULL)
            return false;
        p++;
    }
    for (; *p != '\0' && *p != ' '; p++)
        if (*p == '/' && is_version(p + 1))
            return true;
    return false;
}

bool cfl_mount_is_frozen(int mount_id)
{
    FILE *file = mount_id < 0 ? NULL : fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    bool frozen = false;

    if (file == NULL)
        return false;
    while (!frozen && getline(&line, &size, file) > 0)
        frozen = cfl_mount_line_is_frozen(line, mount_id);
    free(line);
    (void)fclose(file);
    return frozen;
}
