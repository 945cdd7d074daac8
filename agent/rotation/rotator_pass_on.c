/* SPDX-License-Identifier: MIT */
/* Passing on the key of `with` while no key may be created. */
#include "agent/rotation/rotator_private.h"

#include <stdio.h>

bool cfr_rotator_has_key(const struct cfr_rotator *m)
{
    const struct cfr_rotation_journal *j = &m->r.journal;

    /* The journal that is broken may name one. A verified one may be published by now. */
    return m->broken.code != 0 || j->step == CFR_ROTATION_VERIFIED || j->current[0] != '\0' || j->old[0] != '\0' ||
           j->former_count != 0;
}

bool cfr_rotator_may_not(const struct cfr_rotator *m)
{
    return m->may_not && m->r.journal.step == CFR_ROTATION_REST && !cfr_rotator_has_key(m);
}

int cfr_rotator_pass_on(const struct cfr_rotator *m, struct cfr_grant *out, struct cfr_err *err)
{
    struct cfr_rotation_ask ask = {.now_s = cfr_clock_now().wall_ms / 1000};
    char identity[128];
    int rc;

    if (m->provider->pass_on == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "`with` has %s, which is not a key", m->provider->admin_has);
    rc = cfr_rotator_find_admin(m, &ask.admin, err);
    if (rc == 0)
        rc = m->provider->pass_on(m->provider_config, &ask, out, err);
    (void)snprintf(identity, sizeof identity, "the key of %.63s, passed on", m->config->mint->with);
    return rc == 0 ? cfr_grant_set_identity(out, cfr_view_of(identity), err) : rc;
}

void cfr_rotator_clear_failure(struct cfr_rotator *m)
{
    m->failed = false;
}
