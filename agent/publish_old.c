/* SPDX-License-Identifier: MIT */
/* The old beside the new. */
#include "agent/publish_old.h"

#include "base/time.h"
#include "files/file.h"
#include "files/format.h"

#include <limits.h>
#include <stdio.h>

int cfr_publish_old_line(const struct cfr_publish_minted *minted, struct cfr_secret *out, struct cfr_err *err)
{
    char text[CFR_TIME_RFC3339_MAX];
    int rc = cfr_secret_append_str(out, cfr_time_format(minted->minted_s, text), err);

    rc = rc != 0 ? rc : cfr_secret_append_str(out, " ", err);
    rc = rc != 0 ? rc : cfr_secret_append_str(out, minted->id, err);
    return rc != 0 ? rc : cfr_secret_append_str(out, "\n", err);
}

static int read_file(const char *directory, const char *name, const char *suffix, struct cfr_secret *out,
                     bool *there, struct cfr_err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s%s", directory, name, suffix);
    int rc;

    *there = false;
    if (n < 0 || (size_t)n >= sizeof path)
        return cfr_err_set(err, CFR_E_PATH, "%s: the path is too long", directory);
    rc = cfr_file_read(path, out, err);
    *there = rc == 0;
    return rc == CFR_E_MISSING ? 0 : rc;
}

int cfr_publish_old_read(const char *directory, const char *name, struct cfr_view line,
                         struct cfr_secret *out, bool *there, struct cfr_err *err)
{
    struct cfr_secret present;
    int rc;

    cfr_secret_init(&present, CFR_FORMAT_OUTPUT_MAX);
    rc = read_file(directory, CFR_MINT_FILE, "", &present, there, err);
    /* What is there was no such key. */
    if (rc == 0 && *there)
        rc = read_file(directory, name,
                       cfr_view_eq(cfr_secret_view(&present), line) ? CFR_MINT_OLD_SUFFIX : "", out, there,
                       err);
    cfr_secret_free(&present);
    return rc;
}
