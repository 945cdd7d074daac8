/* SPDX-License-Identifier: MIT */
/* Checks of a credential's hooks, and of the files in which consumers acknowledge. */
#include "agent/doctor/doctor_private.h"

#include "agent/hook/hook.h"
#include "files/path.h"

#include <unistd.h>

static void check_acknowledge(struct cfr_doctor *d, const char *path)
{
    struct cfr_err err = {0};
    const char *name;
    int fd = cfr_path_open_parent(path, false, &name, &err);

    if (fd >= 0)
        (void)close(fd);
    else
        cfr_doctor_report(d, fd == CFR_E_MISSING ? CFR_FINDING_WARNING : CFR_FINDING_WRONG, "hook.acknowledge", NULL,
                          "%s", err.text);
}

void cfr_doctor_hooks(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    const struct cfr_config_credential *c = one->credential;

    for (size_t i = 0; i < c->reload.count; i++) {
        const struct cfr_config_hook *h = (const struct cfr_config_hook *)c->reload.items + i;

        cfr_doctor_at(d, c->name, h->node.line);
        cfr_hook_inspect(h, &(struct cfr_hook_inspection){
                                .sink = &d->sink,
                                .timeout_ms = d->options->offline || d->selection ? 0 : cfr_doctor_left_ms(d),
                            });
    }
    for (size_t i = 0; i < c->acknowledge.count; i++) {
        const struct cfr_config_acknowledge *a = (const struct cfr_config_acknowledge *)c->acknowledge.items + i;

        cfr_doctor_at(d, c->name, a->node.line);
        if (a->file != NULL)
            check_acknowledge(d, a->file);
    }
}
