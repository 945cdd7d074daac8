/* SPDX-License-Identifier: MIT */
/* Check of a rotated long-lived key in its cloud: whether the published key is still there, and active. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/clock.h"
#include "agent/loop/env.h"
#include "agent/source/exchange_sync.h"
#include "files/state.h"
#include "rotation/rotation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The journal of C's rotation. CFR_E_MISSING: no key was made yet. */
static int read_journal(const struct cfr_doctor *d, const struct cfr_config_credential *c,
                        struct cfr_rotation_journal *out, struct cfr_err *err)
{
    struct cfr_secret text;
    char name[128];
    int fd = open(d->config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open %s", d->config->state_dir);
    (void)snprintf(name, sizeof name, "%.63s+mint", c->name);
    cfr_secret_init(&text, CFR_STATE_MAX);
    rc = cfr_state_load(fd, name, &text, err);
    if (rc == 0)
        rc = cfr_rotation_journal_read(cfr_secret_view(&text), out, err);
    cfr_secret_free(&text);
    (void)close(fd);
    return rc;
}

static void report_state(struct cfr_doctor *d, const struct cfr_config_credential *c,
                         const struct cfr_rotation_journal *j, const struct cfr_rotation_keys *keys)
{
    enum cfr_rotation_key_state state = cfr_rotation_look_up(keys, j->current);
    int64_t known_s = j->current_s + c->mint->settle_ms / 1000;

    if (state == CFR_ROTATION_KEY_ACTIVE)
        cfr_doctor_report(d, CFR_FINDING_OK, "mint.key", NULL, "the published key %s of %s is active in the cloud",
                          j->current, j->subject);
    else if (cfr_clock_now().wall_ms / 1000 < known_s)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "mint.key", "try again in some minutes",
                          "the published key %s of %s is not in the cloud's list yet: it is new", j->current,
                          j->subject);
    else
        cfr_doctor_report(d, CFR_FINDING_WRONG, "mint.key",
                          state == CFR_ROTATION_KEY_DEACTIVATED
                              ? "activate it in the cloud, or let credfresh replace it: `credfresh rotate`"
                              : "let credfresh replace it: `credfresh rotate`",
                          "the published key %s of %s %s, and consumers are refused", j->current, j->subject,
                          cfr_rotation_key_fate(state));
}

int cfr_doctor_mint_admin(const struct cfr_doctor *d, struct cfr_doctor_case *one, struct cfr_err *err)
{
    if (!one->asked)
        (void)cfr_source_sync_grant(cfr_config_find(d->config, one->credential->mint->with), d->end_boot_ms,
                                    &one->admin, &one->not_admin);
    one->asked = true;
    *err = one->not_admin;
    return one->not_admin.code;
}

void cfr_doctor_mint_key(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    const struct cfr_config_credential *c = one->credential;
    const struct cfr_config_credential *with = c->mint != NULL ? cfr_config_find(d->config, c->mint->with) : NULL;
    struct cfr_rotation_journal journal = {.step = CFR_ROTATION_REST};
    struct cfr_err err = {0};
    struct cfr_doctor_rotation *l;
    char subject[CFR_ROTATION_SUBJECT_MAX];
    int rc;

    /* 1. Find out which key is published. What is wrong with the journal is a finding of mint.journal. */
    if (with == NULL)
        return;
    cfr_doctor_at(d, c->name, c->mint->node.line);
    cfr_config_mint_subject(c->mint, subject);
    rc = read_journal(d, c, &journal, &err);
    if (rc != 0 && rc != CFR_E_MISSING && d->selection)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "mint.key", "run this as the agent's user, or as root",
                          "the published key was not looked up: %s", err.text);
    if (rc != 0 || journal.current[0] == '\0' || strcmp(journal.subject, subject) != 0)
        return;
    if (cfr_doctor_left_ms(d) == 0) {
        cfr_doctor_report(d, CFR_FINDING_WARNING, "mint.key", "give it more time: --timeout",
                          "the published key was not looked up: the time was up");
        return;
    }
    /* 2. Get what authorizes the request, and the list. */
    l = calloc(1, sizeof *l);
    if (l == NULL) {
        d->nomem = true;
        return;
    }
    rc = cfr_doctor_mint_admin(d, one, &err);
    if (rc == 0) {
        l->provider = cfr_config_mint_provider(c->mint, &l->config);
        l->err = &err;
        l->ask = (struct cfr_rotation_ask){.op = CFR_ROTATION_LIST,
                                           .id = "",
                                           .name = "",
                                           .keep = {journal.current, journal.old},
                                           .now_s = cfr_clock_now().wall_ms / 1000,
                                           .admin = &one->admin,
                                           .env = cfr_env_get};
        rc = cfr_doctor_rotation_call(l, d->end_boot_ms, &err);
    }
    /* 3. Report what it says. An outage says nothing about the key. */
    if (rc == 0)
        report_state(d, c, &journal, &l->answer.keys);
    else
        cfr_doctor_report(d, CFR_FINDING_WARNING, "mint.key", NULL, "cannot look up the published key %s: %s",
                          journal.current, err.text);
    if (rc == CFR_E_TIMEOUT)
        d->late = true;
    cfr_doctor_rotation_free(l);
}
