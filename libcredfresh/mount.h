/* SPDX-License-Identifier: MIT */
/* Detection of subPath mounts, which the kubelet never changes again. */
#ifndef CFL_MOUNT_H
#define CFL_MOUNT_H

#include <stdbool.h>

/* The number of the mount that FD (of any kind, also O_PATH) was opened through; -1 if /proc does not report it. */
int cfl_mount_id(int fd);
/* True if that mount shows a part of one version of a volume: its root is below a `..YYYY_...` directory. Blocks on
 * /proc. */
bool cfl_mount_is_frozen(int mount_id);
/* The same for one line of /proc/self/mountinfo (proc(5)); false for another mount's. */
bool cfl_mount_line_is_frozen(const char *line, int mount_id);

#endif
