/* SPDX-License-Identifier: MIT */
/* Kinds of file systems, by the kernel's table of mounts. */
#include "files/mount_private.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNTS_MAX  65536
#define POINT_FIELD 4 /* fields before the mount point */

struct mount {
    unsigned id;
    enum cfr_route_storage storage;
    char *point; /* where it is, if it may not answer; else NULL */
};

/* Read again only after the kernel has said that it changed: a node has thousands of mounts. */
static struct {
    FILE *file;
    struct mount *items;
    size_t count;
    size_t room;
} table;

static enum cfr_route_storage storage_of(const char *type)
{
    static const char *const memory[] = {"tmpfs", "ramfs", "devtmpfs"};
    static const char *const disk[] = {"ext2", "ext3", "ext4",  "xfs",   "btrfs",    "f2fs",  "overlay", "zfs",
                                       "jfs",  "vfat", "msdos", "exfat", "bcachefs", "erofs", "ntfs3",   "squashfs"};

    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        if (strcmp(type, memory[i]) == 0)
            return CFR_ROUTE_MEMORY;
    }
    for (size_t i = 0; i < sizeof disk / sizeof disk[0]; i++) {
        if (strcmp(type, disk[i]) == 0)
            return CFR_ROUTE_DISK;
    }
    return CFR_ROUTE_REMOTE;
}

/* Mount points have blanks, tabs, line feeds and backslashes as \ooo. */
static char *read_point(const char *field)
{
    size_t n = strcspn(field, " ");
    char *point = malloc(n + 1);
    size_t len = 0;

    for (size_t i = 0; point != NULL && i < n; i++) {
        char c = field[i];

        if (c == '\\' && strspn(field + i + 1, "01234567") >= 3) {
            c = (char)((field[i + 1] - '0') << 6 | (field[i + 2] - '0') << 3 | (field[i + 3] - '0'));
            i += 3;
        }
        point[len++] = c;
    }
    if (point != NULL)
        point[len] = '\0';
    return point;
}

static void add(unsigned id, enum cfr_route_storage storage, const char *point)
{
    struct mount *more;

    if (table.count == table.room) {
        if (table.room >= MOUNTS_MAX)
            return;
        more = realloc(table.items, (table.room * 2 + 64) * sizeof *more);
        if (more == NULL)
            return;
        table.items = more;
        table.room = table.room * 2 + 64;
    }
    table.items[table.count++] =
        (struct mount){.id = id, .storage = storage, .point = storage == CFR_ROUTE_REMOTE ? read_point(point) : NULL};
}

static void clear_table(void)
{
    for (size_t i = 0; i < table.count; i++)
        free(table.items[i].point);
    table.count = 0;
}

/* A line is `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS TAG... - TYPE SOURCE OPTIONS`. */
static void read_table(void)
{
    char *line = NULL;
    size_t room = 0;

    clear_table();
    rewind(table.file);
    while (getline(&line, &room, table.file) > 0) {
        char *type = strstr(line, " - ");
        const char *point = line;
        unsigned long id = strtoul(line, NULL, 10);

        for (int i = 0; point != NULL && i < POINT_FIELD; i++)
            point = strchr(point + (i > 0), ' ');
        if (type == NULL || point == NULL)
            continue;
        type += 3;
        type[strcspn(type, " \n")] = '\0';
        add((unsigned)id, storage_of(type), point + 1);
    }
    free(line);
}

void cfr_mount_refresh(void)
{
    struct pollfd changed = {.events = POLLPRI};

    if (table.file == NULL) {
        table.file = fopen("/proc/self/mountinfo", "re");
        if (table.file == NULL)
            return;
        (void)poll(&(struct pollfd){fileno(table.file), POLLPRI, 0}, 1, 0);
        read_table();
        return;
    }
    changed.fd = fileno(table.file);
    if (poll(&changed, 1, 0) > 0)
        read_table();
}

/* Kernels before 5.8 tell the number of a mount only in /proc (proc(5)). */
static bool read_old_id(int fd, unsigned *id)
{
    char path[64];
    char line[128];
    bool found = false;
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    f = fopen(path, "re");
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        found = strncmp(line, "mnt_id:", 7) == 0;
        *id = found ? (unsigned)strtoul(line + 7, NULL, 10) : 0;
    }
    if (f != NULL)
        (void)fclose(f);
    return found;
}

static bool read_id(int fd, unsigned *id)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &st) != 0 ||
        (st.stx_mask & STATX_MNT_ID) == 0)
        return read_old_id(fd, id);
    *id = (unsigned)st.stx_mnt_id;
    return true;
}

unsigned cfr_mount_of(int fd)
{
    unsigned id = 0;

    return read_id(fd, &id) ? id : 0;
}

/* We lie there ourselves, so that it answers as long as we run. In a chroot the table does not have it, and in a
 * container it may be a FUSE (fuse-overlayfs). */
static bool is_root(unsigned id)
{
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    unsigned root = 0;
    bool same = fd >= 0 && read_id(fd, &root) && root == id;

    if (fd >= 0)
        (void)close(fd);
    return same;
}

static enum cfr_route_storage find_storage(unsigned id)
{
    for (size_t i = 0; i < table.count; i++) {
        if (table.items[i].id == id)
            return table.items[i].storage;
    }
    return CFR_ROUTE_REMOTE;
}

enum cfr_route_storage cfr_mount_storage(int fd, unsigned mount)
{
    enum cfr_route_storage storage;
    unsigned id = mount;

    if (id == 0 && !read_old_id(fd, &id))
        return CFR_ROUTE_REMOTE;
    storage = find_storage(id);
    return storage == CFR_ROUTE_REMOTE && is_root(id) ? CFR_ROUTE_DISK : storage;
}

bool cfr_mount_is_remote_below(const char *path)
{
    size_t n = strlen(path);

    for (size_t i = 0; i < table.count; i++) {
        const char *point = table.items[i].point;

        if (point != NULL && strncmp(point, path, n) == 0 &&
            (point[n] == '\0' || point[n] == '/' || strcmp(point + n, CFR_MOUNT_LOCK) == 0))
            return true;
    }
    return false;
}
