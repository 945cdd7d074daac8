/* SPDX-License-Identifier: MIT */
/* libcredfresh: follows a directory of credentials that is replaced as a whole, either one that credfresh publishes or
 * any volume that the kubelet mounts (Secret, ConfigMap, projected token), and hands out complete, immutable snapshots
 * of it.
 *
 * A watcher (struct credfresh) belongs to one thread, or event loop, which polls credfresh_fd() and calls
 * credfresh_dispatch(). Any thread may call credfresh_changed(), credfresh_acquire() and credfresh_release() at any
 * time; none of these waits for another thread or, unless it frees a snapshot, enters the kernel.
 *
 * The library has no threads, no signal handlers and no global variables, and depends on libc only; it writes nothing
 * to standard output or error. Every descriptor is close-on-exec.
 *
 * Functions that return int return 0 or more, or one of the negative codes below. With (TEXT, TEXT_SIZE), an error is
 * written there as a sentence that says what is wrong, where, and what to do, always terminated, cut if too long;
 * (NULL, 0) is allowed. No text contains a byte of any file. */
#ifndef CREDFRESH_H
#define CREDFRESH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CREDFRESH_API __attribute__((visibility("default")))
#else
#define CREDFRESH_API
#endif

/* The version of this interface. Within one major version it stays compatible, in source and binary form. */
#define CREDFRESH_VERSION_MAJOR 0
#define CREDFRESH_VERSION_MINOR 1
#define CREDFRESH_VERSION_PATCH 0

/* The library's own version, "MAJOR.MINOR.PATCH". A constant. */
CREDFRESH_API const char *credfresh_version(void);

/* ---- errors ---- */

#define CREDFRESH_E_INVALID   (-1) /* an argument is wrong */
#define CREDFRESH_E_NOMEM     (-2) /* no memory */
#define CREDFRESH_E_MISSING   (-3) /* no such directory, no file in it, or not all wanted files */
#define CREDFRESH_E_PERM      (-4) /* not allowed to read (or write) it */
#define CREDFRESH_E_LIMIT     (-5) /* more files or bytes than the limits, or no descriptor left */
#define CREDFRESH_E_UNSTABLE  (-6) /* it kept changing during the read; the read is repeated shortly */
#define CREDFRESH_E_IO        (-7) /* any other failure of the system */
#define CREDFRESH_E_BUSY      (-8) /* another thread dispatches, or this call came from within the watcher's callback */
#define CREDFRESH_E_HELD      (-9) /* CREDFRESH_HELD_MAX older snapshots are still held and not released */
#define CREDFRESH_E_NO_EXPIRY (-10) /* it has no expiry */

/* A short description of CODE; never NULL. A constant. Any thread. */
CREDFRESH_API const char *credfresh_strerror(int code);

/* ---- limits ---- */

#define CREDFRESH_FILES_MAX 1024 /* of one directory, whatever the options say */
#define CREDFRESH_HELD_MAX  62   /* older snapshots of one watcher that may be held at one time */

/* ---- the watcher ---- */

struct credfresh;
struct credfresh_snapshot;

/* Called by credfresh_dispatch() (and credfresh_wait()), in its thread, after a new snapshot has become the current
 * one. SNAPSHOT is borrowed: it is valid until the function returns, and longer after a credfresh_retain() on
 * it. The function must not call credfresh_dispatch(), credfresh_wait(), credfresh_after_fork() (CREDFRESH_E_BUSY) or
 * credfresh_close() (undefined) on W. It is not called for the snapshot that credfresh_open() reads. */
typedef void credfresh_change_fn(struct credfresh *w, const struct credfresh_snapshot *snapshot, void *context);

/* Flags of the options. */
#define CREDFRESH_POLL_ONLY 1u /* never use inotify: for file systems without its events */

/* All zero but struct_size selects the defaults. Initialise it with CREDFRESH_OPTIONS_INIT, or zero it and set
 * struct_size.
 */
struct credfresh_options {
    size_t struct_size; /* sizeof(struct credfresh_options) */
    unsigned flags;
    /* Interval of checks for changes that caused no event. 0: 60,000 ms. At least 100. */
    unsigned check_ms;
    /* Interval of checks without events, or while there is no directory. 0: 5,000 ms. At least 10. */
    unsigned poll_ms;
    /* Maximum size of a snapshot, all files together. 0: 4 MiB. At most 256 MiB. */
    size_t bytes_max;
    /* Maximum number of files. 0: 256. At most CREDFRESH_FILES_MAX. */
    size_t files_max;
    /* The wanted files, as paths below the directory, for example "tls.crt". A snapshot then holds exactly these; it is
     * not taken while one is missing, and no other file is opened. NULL, 0: all files. Copied. */
    const char *const *names;
    size_t name_count;
    credfresh_change_fn *on_change; /* NULL for none */
    void *context;                  /* passed to on_change */
};

#define CREDFRESH_OPTIONS_INIT                                                                                         \
    {                                                                                                                  \
        sizeof(struct credfresh_options), 0, 0, 0, 0, 0, NULL, 0, NULL, NULL                                           \
    }

/* Starts to follow DIRECTORY and takes a first snapshot of it. A missing directory, or an incomplete one, is no error:
 * credfresh_acquire() then returns NULL until it is complete, and credfresh_status() says why. OPTIONS may be NULL. A
 * relative path is resolved now, against the current directory. Blocks on disk.
 * CREDFRESH_E_INVALID, CREDFRESH_E_NOMEM, CREDFRESH_E_LIMIT (descriptors), CREDFRESH_E_IO; *W is then NULL.
 *
 * In a directory with the link `..data` the files are those of the version that it leads to (sub-directories included,
 * with names such as "tokens/vault"), and all of one version. In any other directory (credfresh_status() reports
 * the kind) they are the regular files in it, and links to such, whose names do not begin with a dot (or the wanted
 * ones); each is read while it does not change, but a snapshot may fall between the replacements of two files. */
CREDFRESH_API int credfresh_open(struct credfresh **w, const char *directory, const struct credfresh_options *options,
                                 char *text, size_t text_size);

/* Ends the watcher and closes its descriptors. Held snapshots stay valid until they are released. No other thread may
 * use W at the same time or later. NULL is allowed. */
CREDFRESH_API void credfresh_close(struct credfresh *w);

/* The descriptor to wait on for reading (poll, select, epoll, libevent, libuv ...): readable when credfresh_dispatch()
 * has something to do. It stays the same until credfresh_close(), which closes it. It includes the timer: nothing
 * else needs to be scheduled. Any thread. */
CREDFRESH_API int credfresh_fd(const struct credfresh *w);

/* Reads the events and checks the directory; if it has changed, makes a new snapshot the current one and calls
 * on_change. Returns 1 if it did, 0 if there is no change, or a negative code if the directory could not be read
 * (credfresh_status() has the text); the last snapshot then stays the current one, and the read is repeated later.
 * Never waits; reads files. To be called when the descriptor is readable; harmless at any other time. One thread at a
 * time: CREDFRESH_E_BUSY. */
CREDFRESH_API int credfresh_dispatch(struct credfresh *w);

/* Waits up to TIMEOUT_MS milliseconds (negative: indefinitely) for a new snapshot and dispatches meanwhile: for
 * programs without a loop, and for the first snapshot. Returns 1 if there is a new one, 0 after the timeout or a signal
 * handler, or CREDFRESH_E_BUSY, CREDFRESH_E_IO, or in a child the result of credfresh_after_fork(). While the directory
 * cannot be read it keeps waiting. */
CREDFRESH_API int credfresh_wait(struct credfresh *w, int timeout_ms);

/* For the child after fork(): opens its own descriptors, under the same number, and checks the directory.
 * credfresh_dispatch() calls it if needed, but a child that polls the descriptor before that shares it with its parent
 * and may miss events that the parent reads. A loop must then add the descriptor again (libevent: event_reinit()). In
 * the parent it does nothing. Snapshots, and all functions that any thread may call, work in the child as in the
 * parent. Returns as credfresh_dispatch(); CREDFRESH_E_LIMIT or CREDFRESH_E_IO if no descriptors are available. */
CREDFRESH_API int credfresh_after_fork(struct credfresh *w);

/* ---- checking for a change: any thread, nanoseconds, no system call, never waits ---- */

/* Number of the current snapshot: 0 while there is none, then 1, 2, 3 ... in the order in which this watcher took them.
 */
CREDFRESH_API uint64_t credfresh_sequence(const struct credfresh *w);

/* 1 if there is a newer snapshot than SEQUENCE (0 for none), else 0. A credfresh_acquire() that follows a 1 gets the
 * newer one. */
CREDFRESH_API int credfresh_changed(const struct credfresh *w, uint64_t sequence);

/* ---- snapshots: complete, immutable, any thread ---- */

/* The current snapshot, held for the caller until credfresh_release(); NULL while there is none. One atomic addition,
 * never a wait for another thread, and no system call. */
CREDFRESH_API const struct credfresh_snapshot *credfresh_acquire(struct credfresh *w);

/* Adds a hold to a snapshot that the caller holds or has borrowed. Returns it. */
CREDFRESH_API const struct credfresh_snapshot *credfresh_retain(const struct credfresh_snapshot *snapshot);

/* Ends a hold, in any thread. The last release of a snapshot that is no longer the current one wipes and unmaps its
 * memory. Allowed after credfresh_close(). NULL is allowed. */
CREDFRESH_API void credfresh_release(const struct credfresh_snapshot *snapshot);

/* One file. Owned by the snapshot. More members may follow in later versions: never copy or index the struct itself. */
struct credfresh_file {
    const char *name;           /* below the directory: "token", "tokens/vault" */
    const unsigned char *bytes; /* SIZE bytes and then a zero, so that text can be used as a string */
    size_t size;
};

/* Its number, as credfresh_sequence(). */
CREDFRESH_API uint64_t credfresh_snapshot_sequence(const struct credfresh_snapshot *snapshot);

/* The number of the version: the part after the last dot of the name that `..data` leads to. credfresh counts it up,
 * and credfresh_ack() takes it; the kubelet chooses it at random, so that it only distinguishes two versions. 0 for
 * none. */
CREDFRESH_API uint64_t credfresh_snapshot_generation(const struct credfresh_snapshot *snapshot);

/* When it was written, in milliseconds since 1970: the time of the version's directory, or of the newest file. */
CREDFRESH_API int64_t credfresh_snapshot_time_ms(const struct credfresh_snapshot *snapshot);

/* The number of files: at least 1. */
CREDFRESH_API size_t credfresh_snapshot_count(const struct credfresh_snapshot *snapshot);

/* File INDEX, in the order of their names (by byte); NULL if there are fewer. */
CREDFRESH_API const struct credfresh_file *credfresh_snapshot_file(const struct credfresh_snapshot *snapshot,
                                                                   size_t index);

/* The file of that name, or NULL. */
CREDFRESH_API const struct credfresh_file *credfresh_snapshot_find(const struct credfresh_snapshot *snapshot,
                                                                   const char *name);

/* ---- status ---- */

/* How changes are noticed. */
#define CREDFRESH_MODE_EVENTS  1 /* at once, by inotify, and by a check every check_ms */
#define CREDFRESH_MODE_POLLING 2 /* by a check every poll_ms only; mode_reason says why */

/* The kind of directory. */
#define CREDFRESH_KIND_NONE    0 /* it does not exist, or cannot be read */
#define CREDFRESH_KIND_SWAPPED 1 /* credfresh's or the kubelet's: replaced as a whole by the link `..data` */
#define CREDFRESH_KIND_PLAIN   2 /* any other */
/* A subPath mount, of the directory or of a file in it: its content is from the start of the container. IT NEVER
 * CHANGES; mount the whole volume instead. error_text says so too. */
#define CREDFRESH_KIND_FROZEN 3

/* Set struct_size before each call. */
struct credfresh_status {
    size_t struct_size; /* sizeof(struct credfresh_status) */
    int mode;           /* CREDFRESH_MODE_ */
    int kind;           /* CREDFRESH_KIND_, at the last check */
    int error;          /* of the last check: 0, or why there is no snapshot, or none newer */
    unsigned reserved;
    uint64_t sequence;   /* of the current snapshot; 0 for none */
    uint64_t generation; /* of the current snapshot */
    uint64_t looks;      /* number of checks of the directory */
    uint64_t torn;       /* number of reads that were repeated because of a swap */
    uint64_t overflows;  /* number of times the kernel lost events; each is followed by a check */
    char mode_reason[200];
    char error_text[400];
};

/* Fills STATUS, up to its struct_size. Any thread, also from on_change; CREDFRESH_E_BUSY while another one dispatches.
 */
CREDFRESH_API int credfresh_status(struct credfresh *w, struct credfresh_status *status);

/* ---- helpers: any thread ---- */

/* The expiry of the credential in SIZE bytes at BYTES, in seconds since 1970: in JSON the earliest of its members
 * Expiration, expiration, expirationTimestamp, expiration_time, expires, expires_at, expires_on, expiry (a time in RFC
 * 3339, or seconds, as a number or in a text); in the lines of an INI or environment file aws_credential_expiration, in
 * either case; in a JWT its exp. Nothing is verified. 0, or CREDFRESH_E_NO_EXPIRY. */
CREDFRESH_API int credfresh_expiry(const void *bytes, size_t size, int64_t *expires_s);

/* The earliest expiry of all files that have one. */
CREDFRESH_API int credfresh_snapshot_expiry(const struct credfresh_snapshot *snapshot, int64_t *expires_s);

/* Acknowledges that GENERATION (credfresh_snapshot_generation()) is in use: writes it, in decimal and with a newline,
 * to the file PATH, which credfresh watches (`acknowledge: {file: PATH}` in its configuration). The file is synced and
 * replaced by a rename, or written in place if it is a mount or its directory is not writable. Mode 0644 less the
 * umask. Blocks on disk. CREDFRESH_E_INVALID (generation 0), CREDFRESH_E_MISSING, CREDFRESH_E_PERM, CREDFRESH_E_LIMIT
 * (no descriptor left), CREDFRESH_E_NOMEM, CREDFRESH_E_IO (also for a full disk). */
CREDFRESH_API int credfresh_ack(uint64_t generation, const char *path, char *text, size_t text_size);

#ifdef __cplusplus
}
#endif

#endif
