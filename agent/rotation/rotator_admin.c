/* SPDX-License-Identifier: MIT */
/* What the credential named `with` has, which authorises the requests of a rotation, and whose it is. */
#include "agent/rotation/rotator_private.h"

#include <string.h>

int cfr_rotator_find_admin(const struct cfr_rotator *m, const struct cfr_grant **out, struct cfr_err *err)
{
    const char *name = m->config->mint->with;
    struct cfr_offer offer = {.why = "it is not there"};

    *out = NULL;
    if (m->context.offer(m->context.offer_ctx, name, &offer) && offer.grant != NULL) {
        *out = offer.grant;
        return 0;
    }
    return cfr_err_set(err, CFR_E_UNAVAILABLE, "the credential %s, which is to do it, has nothing to offer yet: %s",
                       name, offer.why != NULL ? offer.why : "try again in a moment");
}

void cfr_rotator_note_account(struct cfr_rotator *m)
{
    struct cfr_rotation_journal *j = &m->r.journal;

    if (j->account[0] != '\0' || m->call.account[0] == '\0')
        return;
    memcpy(j->account, m->call.account, sizeof j->account);
    m->save.unsaved = true;
}

void cfr_rotator_note_own(struct cfr_rotator *m, const char *id)
{
    /* A journal that no other party can write is proof enough. */
    if (m->shared != NULL)
        m->context.note_own(m->context.ctx, id);
}
