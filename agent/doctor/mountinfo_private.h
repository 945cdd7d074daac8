/* SPDX-License-Identifier: MIT */
/* Mounts that paths lie on, with their options (proc(5), mountinfo). */
#ifndef CFR_AGENT_DOCTOR_MOUNTINFO_PRIVATE_H
#define CFR_AGENT_DOCTOR_MOUNTINFO_PRIVATE_H

#include "agent/doctor/doctor_private.h"

struct cfr_doctor_mount {
    char root[1024]; /* which part of its file system is mounted */
    char point[1024];
    char options[256]; /* "rw,nosuid", of the mount and of the file system */
    char type[32];     /* "tmpfs" */
};

/* Finds the mount that PATH (absolute, without links) lies on in the text of a mountinfo file; of several at
 * one place the last. Pure. */
bool cfr_doctor_mount_find(struct cfr_view mountinfo, const char *path, struct cfr_doctor_mount *out);
/* The same for this process and any path that exists; links are followed, and written to REAL (NULL: not
 * wanted). */
bool cfr_doctor_mount_of(const char *path, struct cfr_doctor_mount *out, char real[4096]);
/* True for a part of a volume that the kubelet mounted by subPath, or a single version of one:
 * it never changes. */
bool cfr_doctor_mount_is_part(const struct cfr_doctor_mount *m);
/* Why what is kept on M does not outlive the machine's restart, or the pod: "is in memory (tmpfs) ..."; NULL
 * if it does, as far as is known. Pure. A literal. */
const char *cfr_doctor_mount_passing(const struct cfr_doctor_mount *m);
/* The nearest of PATH and the directories above it that exists, or cannot be looked at. Blocks on disk. */
void cfr_doctor_nearest(const char *path, char out[4096]);

/* Reports as wrong that PATH itself, whatever leads to it, is a symbolic link, which the agent does not follow where it
 * writes. True if it is one. Blocks on disk. */
bool cfr_doctor_check_link(struct cfr_doctor *d, const char *check, const char *what, const char *path);

/* Reports a warning of CHECK where PATH, in which WHAT is kept, does not outlive a restart. Blocks on disk. */
void cfr_doctor_check_lasting(struct cfr_doctor *d, const char *check, const char *what, const char *path);

#endif
