/* SPDX-License-Identifier: MIT */
/* Interface of a target kind: directory, file, profile, secret, configmap. A new kind is a file with a struct
 * cfr_target_ops, which also brings its key of the configuration, and its row in kinds.c.
 *
 * targets.c decides when all targets of a credential are rendered and published; a kind knows where and how. All of it
 * blocks on disk, never on the network. Everything is borrowed for the call but a struct cfr_target_content, which
 * targets.c frees. Errors are those of files/ and of the formats. */
#ifndef CFR_AGENT_PUBLISH_TARGET_PRIVATE_H
#define CFR_AGENT_PUBLISH_TARGET_PRIVATE_H

#include "agent/config/kinds.h"
#include "agent/publish/targets.h"
#include "files/file.h"
#include "files/path.h"

#include <limits.h>

/* Longest path that OPS->renamed writes. */
#define CFR_TARGET_PATH_MAX (PATH_MAX + 16)

/* One target of one credential. */
struct cfr_target {
    const struct cfr_target_ops *ops;
    const struct cfr_config_credential *credential;
    const struct cfr_config_publish *config;
    const void *own; /* of a kind that brings its key: its configuration */
    size_t index;    /* in the configuration, and in the record */
};

/* Everything of one target, rendered. */
struct cfr_target_content {
    struct cfr_file files[CFR_CONFIG_FILES_MAX];
    size_t count;
    struct cfr_secret contents[CFR_CONFIG_FILES_MAX]; /* that FILES are views of, unless of the grant itself */
    size_t content_count;
    char *names[CFR_CONFIG_FILES_MAX]; /* of FILES, by their place: a reload frees those of the configuration */
    char old_names[CFR_MINT_FILES_MAX][CFR_PATH_NAME_MAX + 1];
    uid_t uid; /* of the target itself */
    gid_t gid;
};

/* One target after work at it. Values only: a child hands it over. */
struct cfr_publish_seen {
    struct cfr_err err;  /* of the work */
    struct cfr_err look; /* why nothing complete is there */
    bool changed;
    bool known; /* it was looked at */
    uint64_t hash;
    uint64_t current;
    struct cfr_file_fingerprint mark;
    int64_t renamed_ns;
    char key[CFR_PUBLISH_KEY_MAX];
};

/* NULL where a kind has nothing to do: the target is then always fine. */
struct cfr_target_ops {
    /* First. Without a key: the configuration itself has the kind's, and IS_CONFIGURED and PATH tell of it. */
    struct cfr_config_target_kind kind;
    /* It is in the cluster: published last, because it is only queued and cannot be undone. */
    bool is_remote;
    /* It is a directory of generations. */
    bool has_generations;
    /* Publishing needs a lock of other programs: CFR_E_TIMEOUT while it is held. */
    bool locks;
    /* True if T is of this kind. */
    bool (*is_configured)(const struct cfr_config_publish *t);
    /* Where it is on this machine; NULL for none. */
    const char *(*path)(const struct cfr_config_publish *t);
    /* The path that a publish renames, so that its change time is that of the publish, and which is watched with its
     * directory. NULL: that of PATH, which is not watched. */
    void (*renamed)(const struct cfr_config_publish *t, char path[CFR_TARGET_PATH_MAX]);
    /* Reports to I what it needs of this machine or the cluster. */
    void (*inspect)(const struct cfr_target *t, const struct cfr_publish_inspection *i);
    /* Fills OUT (zeroed) with what is to be published. Changes nothing. Never NULL. */
    int (*render)(const struct cfr_target *t, const struct cfr_publish_render *job, struct cfr_target_content *out,
                  struct cfr_err *err);
    /* Makes the directory that the target is, with the owner, group and mode of the configuration. NULL: it is none. */
    int (*make)(const struct cfr_target *t, struct cfr_err *err);
    /* Publishes it in one step. SEEN->hash is of what was published last, 0 if that is not known; it is brought up to
     * date, if the kind has one. SEEN->changed (false): something was written. SEEN->known (false): the kind has
     * filled in what LOOK would read now. Never NULL. */
    int (*publish)(const struct cfr_target *t, const struct cfr_publish_job *job, struct cfr_target_content *content,
                   struct cfr_publish_seen *seen, struct cfr_err *err);
    /* Removes what a crash has left. RECORDED: what is there is on record as it is, and stays so. */
    int (*recover)(const struct cfr_target *t, bool recorded, struct cfr_err *err);
    /* 0 if something complete is there, whatever wrote it. SEEN->mark changes when it is written to. With
     * HAS_GENERATIONS also its number and time. */
    int (*look)(const struct cfr_target *t, struct cfr_publish_seen *seen, struct cfr_err *err);
    /* Wipes the previous generation. */
    int (*retire)(const struct cfr_target *t, struct cfr_err *err);
    /* Removes the previous values of a rotated key, the key being deleted. NULL: the kind has none on this machine. */
    int (*forget)(const struct cfr_target *t, struct cfr_err *err);
    /* The id of the long-lived key that is there; "" for none. NULL: the kind does not know. */
    void (*read_key)(const struct cfr_target *t, char id[CFR_PUBLISH_KEY_MAX]);
};

extern const struct cfr_target_ops cfr_publish_directory;
extern const struct cfr_target_ops cfr_publish_file;
extern const struct cfr_target_ops cfr_publish_profile;
extern const struct cfr_target_ops cfr_publish_secret;
extern const struct cfr_target_ops cfr_publish_configmap;

/* The kinds, NULL-terminated: agent/publish/kinds.c. */
extern const struct cfr_target_ops *const cfr_publish_kinds[];

/* ---- agent/publish/targets.c ---- */

/* Target INDEX of C. */
struct cfr_target cfr_publish_target(const struct cfr_config_credential *c, size_t index);
/* Renders JOB for T into *OUT, which is freed by cfr_publish_content_drop, also after an error. */
int cfr_publish_target_render(const struct cfr_target *t, const struct cfr_publish_render *job,
                              struct cfr_target_content **out, struct cfr_err *err);
void cfr_publish_content_drop(struct cfr_target_content *content);

/* ---- for kinds: agent/publish/content.c ---- */

/* The next of CONTENT's secrets, to be rendered into. */
struct cfr_secret *cfr_publish_content_add(struct cfr_target_content *content);
/* Renders F as the next file of CONTENT. */
int cfr_publish_content_file(struct cfr_target_content *content, const struct cfr_publish_render *job,
                             const struct cfr_config_file *f, struct cfr_err *err);
/* The keys of a mounted Secret that is passed on as the files of CONTENT, which borrows them from the grant. */
void cfr_publish_content_keys(struct cfr_target_content *content, const struct cfr_publish_render *job, mode_t mode);
void cfr_publish_content_free(struct cfr_target_content *content);
/* Numeric ids of OWNER and GROUP; CFR_FILE_KEEP_ID for NULL. */
int cfr_publish_content_ids(const char *owner, const char *group, uid_t *uid, gid_t *gid, struct cfr_err *err);

static inline const struct cfr_config_file *cfr_publish_file_at(const struct cfr_list *files, size_t i)
{
    return (const struct cfr_config_file *)files->items + i;
}

#endif
