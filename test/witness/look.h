/* SPDX-License-Identifier: MIT */
/* Reading credentials the way consumers do. Only reads; every path is opened again each time. */
#ifndef CFW_LOOK_H
#define CFW_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "content.h"
#include "options.h"

#define CFW_NAMES_MAX 128 /* files in one directory */

/* What was found under one name. */
struct cfw_fact {
    char name[256];
    int err; /* errno of opening or reading it, or 0 */
    ino_t inode;
    size_t size;   /* bytes read */
    unsigned mode; /* permission bits */
    uint64_t digest;
    struct cfw_content content;
};

/* NAMES opens each visible name by itself. SNAPSHOT opens `..data` once and reads everything below it (or the
 * directory itself, if that has never had a `..data`). SINGLE reads one file. */
enum cfw_reader { CFW_NAMES, CFW_SNAPSHOT, CFW_SINGLE };

/* One reader's look at one target, facts sorted by name. */
struct cfw_view {
    enum cfw_reader reader;
    int err;              /* errno of opening the directory or its `..data`, or 0 */
    char generation[256]; /* what `..data` pointed to, or empty */
    size_t n;
    struct cfw_fact facts[CFW_NAMES_MAX];
};

/* What a reader remembers of a name that it has seen whole. */
struct cfw_known {
    char name[256];
    enum cfw_kind kind;
    int64_t expires_s;
};

/* What a reader remembers from its earlier views of one target. Starts zeroed. */
struct cfw_memory {
    bool complete;      /* has seen a complete state */
    bool layered;       /* has seen a `..data` */
    uint64_t signature; /* of the last view that was reported, or 0 */
    char generation[256];
    size_t n;
    struct cfw_known known[CFW_NAMES_MAX];
};

/* Looks that no consumer can be blamed for, nor the writer. */
struct cfw_luck {
    uint64_t stumbles;  /* a name resolved through a generation that was removed just then; the next try worked */
    uint64_t discarded; /* snapshots of a generation that was replaced and removed while being read */
    uint64_t unread;    /* names beyond CFW_NAMES_MAX */
};

/* Each fills *view. Returns false if the look has to be thrown away and made again. */
bool cfw_look_names(const char *dir, const struct cfw_options *o, const struct cfw_memory *memory,
                    struct cfw_view *view, struct cfw_luck *luck);
bool cfw_look_snapshot(const char *dir, const struct cfw_options *o, struct cfw_memory *memory, struct cfw_view *view,
                       struct cfw_luck *luck);
bool cfw_look_file(const char *path, const struct cfw_options *o, const struct cfw_memory *memory,
                   struct cfw_view *view);

/* What is remembered of a name, or NULL. */
const struct cfw_known *cfw_look_known(const struct cfw_memory *memory, const char *name);

/* The fact about a name, or NULL. */
const struct cfw_fact *cfw_look_fact(const struct cfw_view *view, const char *name);

#endif
