/* SPDX-License-Identifier: MIT */
/* The unit of systemd and its drop-ins. */
#include "agent/loop/unit.h"

#include "base/view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 128
#define NAME_BYTES     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@:._-\\"

const char *cfr_unit_name(void)
{
    const char *name = getenv("CREDFRESH_UNIT");
    size_t n = name != NULL ? strlen(name) : 0;

    return n != 0 && n < NAME_MAX_BYTES && strspn(name, NAME_BYTES) == n ? name : NULL;
}

const char *cfr_unit_drop_in(char out[CFR_UNIT_ADVICE_MAX], const char *file, const char *fmt, ...)
{
    const char *unit = cfr_unit_name();
    char line[CFR_UNIT_ADVICE_MAX / 2];
    va_list ap;

    out[0] = '\0';
    if (unit == NULL)
        return out;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    (void)snprintf(out, CFR_UNIT_ADVICE_MAX, "; write %s below [Service] in /etc/systemd/system/%s.d/%s", line, unit,
                   file);
    return out;
}

/* What systemd's sandbox and the unit's user refuse, by the errno that an error's text ends with. */
static const struct {
    int errnum;
    const char *file;
    const char *line;
} refusals[] = {
    {EROFS, "directories.conf", "ReadWritePaths= with this directory (it must belong to the unit's user)"},
    {EPERM, "groups.conf", "SupplementaryGroups= with this group"},
    {EACCES, "secrets.conf", "LoadCredential= with this file (a directory must belong to the unit's user instead)"},
};

void cfr_unit_advise(struct cfr_err *err)
{
    char advice[CFR_UNIT_ADVICE_MAX];
    size_t n = strlen(err->text);

    for (size_t i = 0; err->code == CFR_E_PERM && i < sizeof refusals / sizeof refusals[0]; i++) {
        const char *words = strerror(refusals[i].errnum);
        size_t length = strlen(words);

        if (n < length || strcmp(err->text + n - length, words) != 0)
            continue;
        (void)cfr_unit_drop_in(advice, refusals[i].file, "%s", refusals[i].line);
        (void)snprintf(err->text + n, sizeof err->text - n, "%s", advice);
        return;
    }
}
