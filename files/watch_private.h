/* SPDX-License-Identifier: MIT */
/* Watched paths and their owners. The tables only hold them; files/watch.c connects them with inotify. */
#ifndef CFR_FILES_WATCH_PRIVATE_H
#define CFR_FILES_WATCH_PRIVATE_H

#include "files/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A path. One that ends with `.` is a directory above other paths, and has no owner. */
struct cfr_watch_entry {
    struct cfr_watch_entry *above;         /* the directory above its directory, if that is watched, too */
    struct cfr_watch_entry *next_path;     /* in its bucket of paths */
    struct cfr_watch_entry *next_part;     /* in its bucket of parts, while it has a directory */
    struct cfr_watch_directory *directory; /* NULL while it cannot be watched */
    struct cfr_watch_entry *next;          /* in the directory */
    struct cfr_watch_entry **back;         /* the pointer to this entry there */
    struct cfr_watch_link *links;
    uint64_t seen;      /* the file's identity when last read; 0: none */
    uint32_t checked_s; /* when the path was last followed */
    uint32_t below;     /* paths of which it is the directory above */
    uint16_t name_at;   /* offset of the path's last component */
    uint16_t part_at;   /* of the component to find in the directory; name_at once all parents exist */
    bool moved;         /* a directory above: the paths below it must be followed again */
    char path[];
};

/* One owner's watch of one path. */
struct cfr_watch_link {
    struct cfr_watch_watcher *watcher;
    struct cfr_watch_entry *entry;
    struct cfr_watch_link *next_of_entry;
    struct cfr_watch_link *next_of_watcher;
    unsigned expected; /* own renames of ..data among the events that are pending */
    unsigned round;    /* the dispatch that EXPECTED is for */
};

struct cfr_watch_watcher {
    void *owner;
    struct cfr_watch_watcher *next; /* in its bucket */
    struct cfr_watch_link *links;
    struct cfr_watch_watcher *next_pending;
    bool pending;
};

struct cfr_watch_directory {
    int wd;
    struct cfr_watch_entry *first;
};

struct cfr_watch {
    int fd;
    struct cfr_watch_directory **directories; /* sorted by wd */
    size_t directory_count;
    size_t directory_cap;
    /* Hash tables of one size, a power of 2: by path, by directory and part, by owner. */
    struct cfr_watch_entry **paths;
    struct cfr_watch_entry **parts;
    struct cfr_watch_watcher **watchers;
    size_t buckets;
    size_t entry_count;
    size_t watcher_count;
    struct cfr_watch_watcher *pending;
    struct cfr_watch_watcher *later; /* to be called by the next dispatch or rescan */
    unsigned round;
    bool moved; /* some directory above is */
};

/* False without memory. */
bool cfr_watch_make_tables(struct cfr_watch *w);
/* Frees all paths and owners with the tables. */
void cfr_watch_free_tables(struct cfr_watch *w);

/* NULL: there is none. */
struct cfr_watch_entry *cfr_watch_find_entry(const struct cfr_watch *w, const char *path);
/* PATH is absolute and has no entry. NULL without memory. */
struct cfr_watch_entry *cfr_watch_add_entry(struct cfr_watch *w, const char *path);
/* E has neither a directory nor links. */
void cfr_watch_free_entry(struct cfr_watch *w, struct cfr_watch_entry *e);

/* The bucket with what waits for the component that PART begins with in the directory WD, among others. */
struct cfr_watch_entry **cfr_watch_part_bucket(const struct cfr_watch *w, int wd, const char *part);
/* Of the entry's directory and component. */
void cfr_watch_add_part(struct cfr_watch *w, struct cfr_watch_entry *e);
void cfr_watch_remove_part(struct cfr_watch *w, const struct cfr_watch_entry *e);

/* NULL: OWNER watches nothing. */
struct cfr_watch_watcher *cfr_watch_find_watcher(const struct cfr_watch *w, const void *owner);
/* X has no links. */
void cfr_watch_free_watcher(struct cfr_watch *w, struct cfr_watch_watcher *x);
/* NULL: X does not watch E. */
struct cfr_watch_link *cfr_watch_find_link(const struct cfr_watch_watcher *x, const struct cfr_watch_entry *e);
/* OWNER watches E, too. CFR_E_NOMEM. */
int cfr_watch_add_link(struct cfr_watch *w, struct cfr_watch_entry *e, void *owner);

#endif
