/* SPDX-License-Identifier: MIT */
/* Files of a long-lived key beyond the configured ones: when it was made, and the previous values. */
#include "agent/publish/previous_private.h"

#include "base/time.h"
#include "files/file.h"
#include "files/format/format.h"
#include "files/generation.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

int cfr_publish_minted_line(const struct cfr_publish_minted *minted, struct cfr_secret *out, struct cfr_err *err)
{
    char text[CFR_TIME_RFC3339_MAX];
    int rc = cfr_secret_append_str(out, cfr_time_format(minted->minted_s, text), err);

    if (rc == 0)
        rc = cfr_secret_append_str(out, " ", err);
    if (rc == 0)
        rc = cfr_secret_append_str(out, minted->id, err);
    if (rc == 0)
        rc = cfr_secret_append_str(out, "\n", err);
    return rc;
}

static int read_file(const char *directory, const char *name, const char *suffix, struct cfr_secret *out, bool *there,
                     struct cfr_err *err)
{
    char path[NAME_MAX + 1];
    int n = snprintf(path, sizeof path, "%s%s", name, suffix);
    int rc;

    *there = false;
    if (n < 0 || (size_t)n >= sizeof path)
        return cfr_err_set(err, CFR_E_PATH, "%s: the name is too long", name);
    rc = cfr_generation_read(directory, path, out, err);
    *there = rc == 0;
    /* Anything but a regular file counts as nothing. */
    return rc == CFR_E_MISSING || rc == CFR_E_PATH ? 0 : rc;
}

int cfr_publish_previous_read(const char *directory, const char *name, struct cfr_view line, struct cfr_secret *out,
                              bool *there, struct cfr_err *err)
{
    struct cfr_secret present;
    int rc;

    cfr_secret_init(&present, CFR_FORMAT_OUTPUT_MAX);
    rc = read_file(directory, CFR_ROTATION_FILE, "", &present, there, err);
    /* Without that file, what is there was no such key. */
    if (rc == 0 && *there)
        rc = read_file(directory, name, cfr_view_eq(cfr_secret_view(&present), line) ? CFR_MINT_OLD_SUFFIX : "", out,
                       there, err);
    cfr_secret_free(&present);
    return rc;
}

void cfr_publish_minted_id(const char *directory, char id[CFR_PUBLISH_KEY_MAX])
{
    struct cfr_secret line;
    struct cfr_view text;
    bool there = false;
    size_t n = 0;

    id[0] = '\0';
    cfr_secret_init(&line, CFR_FORMAT_OUTPUT_MAX);
    if (read_file(directory, CFR_ROTATION_FILE, "", &line, &there, NULL) == 0 && there) {
        text = cfr_view_trim(cfr_secret_view(&line));
        while (n < text.n && text.p[text.n - n - 1] != ' ')
            n++;
        if (n < text.n && n < CFR_PUBLISH_KEY_MAX)
            (void)snprintf(id, CFR_PUBLISH_KEY_MAX, "%.*s", (int)n, text.p + text.n - n);
    }
    cfr_secret_free(&line);
}
