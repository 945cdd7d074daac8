/* SPDX-License-Identifier: MIT */
/* Snapshots: their memory, and the slots from which any thread acquires the current one without waiting. */
#ifndef CFL_SNAPSHOT_H
#define CFL_SNAPSHOT_H

#include "error.h"

struct cfl_core;

/* An unpublished snapshot with room for FILE_COUNT files whose names (with their zeros) take NAMES_BYTES, and whose
 * contents, without the zeros, take BYTES. NULL if there is no memory. One mapping, which core dumps leave out. */
struct credfresh_snapshot *cfl_snapshot_new(size_t file_count, size_t names_bytes, size_t bytes);
/* Adds the next file, in the order of names. Returns the place for its SIZE bytes and one more, which has to stay zero.
 */
unsigned char *cfl_snapshot_add(struct credfresh_snapshot *s, const char *name, size_t size);
void cfl_snapshot_stamp(struct credfresh_snapshot *s, uint64_t generation, int64_t time_ms);
/* Wipes and unmaps an unpublished snapshot. NULL is allowed. */
void cfl_snapshot_drop(struct credfresh_snapshot *s);
/* 1 if both have the same generation and the same files. Either may be NULL. */
int cfl_snapshot_same(const struct credfresh_snapshot *a, const struct credfresh_snapshot *b);

/* NULL if there is no memory. */
struct cfl_core *cfl_core_new(void);
/* Ends the watcher's use; held snapshots keep the parts they need. */
void cfl_core_close(struct cfl_core *core);
/* Makes S the current snapshot, and owns it from then on. One thread at a time. CREDFRESH_E_HELD: S still belongs to
 * the caller. */
int cfl_core_publish(struct cfl_core *core, struct credfresh_snapshot *s);
const struct credfresh_snapshot *cfl_core_acquire(struct cfl_core *core);
uint64_t cfl_core_sequence(const struct cfl_core *core);

#endif
