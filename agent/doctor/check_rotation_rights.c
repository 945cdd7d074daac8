/* SPDX-License-Identifier: MIT */
/* Check of the rights that a rotation needs: what the cloud says of the credential that makes the keys. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/clock.h"
#include "agent/loop/env.h"
#include "sts/aws/aws.h"

#include <stdio.h>
#include <stdlib.h>

/* The role whose session WITH has, if the configuration names it: the ARN of a session leaves out the role's path. */
static const char *role_of(const struct cfr_config_credential *with)
{
    const void *config = NULL;
    const struct cfr_sts_provider *provider = cfr_config_provider(with, &config);
    const struct cfr_aws *aws = config;

    if (provider != &cfr_aws_provider)
        return "";
    if (aws->then_assume.count != 0)
        return ((const struct cfr_aws_step *)aws->then_assume.items)[aws->then_assume.count - 1].role_arn;
    return aws->role_arn != NULL ? aws->role_arn : "";
}

static void report_rights(struct cfr_doctor *d, const struct cfr_config_credential *c,
                          const struct cfr_doctor_rotation *l, int rc, const struct cfr_err *err)
{
    const char *subject = l->provider->subject(l->config);
    const char *who = l->ask.id[0] != '\0' ? l->ask.id : c->mint->with;
    const char *unseen = l->provider->rights_unseen;
    char remedy[CFR_ROTATION_DENIED_MAX + 2 * CFR_ROTATION_MAKER_MAX];

    if (rc != 0) {
        cfr_doctor_report(d, CFR_FINDING_NOTE, "mint.rights", NULL,
                          "whether %s may rotate the keys of %s cannot be told: %s", c->mint->with, subject, err->text);
        return;
    }
    if (l->answer.denied[0] == '\0') {
        cfr_doctor_report(d, CFR_FINDING_OK, "mint.rights", NULL, "%s has the rights to rotate the keys of %s", who,
                          subject);
        return;
    }
    (void)snprintf(remedy, sizeof remedy, "allow %s %s for %s%s%s%s", who, l->answer.denied, subject,
                   unseen != NULL ? "; " : "", unseen != NULL ? unseen : "",
                   unseen != NULL ? ", which the cloud does not look at here, may allow it all the same" : "");
    cfr_doctor_report(d, CFR_FINDING_WARNING, "mint.rights", remedy,
                      "by what the cloud says, %s may not do this for the keys of %s: %s", who, subject,
                      l->answer.denied);
}

void cfr_doctor_mint_rights(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    const struct cfr_config_credential *c = one->credential;
    const struct cfr_config_credential *with = c->mint != NULL ? cfr_config_find(d->config, c->mint->with) : NULL;
    struct cfr_doctor_rotation *l;
    struct cfr_err err = {0};
    const void *config;
    int rc;

    if (with == NULL || !cfr_config_mint_provider(c->mint, &config)->tells_rights)
        return;
    cfr_doctor_at(d, c->name, c->mint->node.line);
    if (cfr_doctor_left_ms(d) == 0) {
        cfr_doctor_report(d, CFR_FINDING_WARNING, "mint.rights", "give it more time: --timeout",
                          "the rights of %s were not looked up: the time was up", with->name);
        return;
    }
    l = calloc(1, sizeof *l);
    if (l == NULL) {
        d->nomem = true;
        return;
    }
    l->provider = cfr_config_mint_provider(c->mint, &l->config);
    l->err = &err;
    l->ask = (struct cfr_rotation_ask){.op = CFR_ROTATION_RIGHTS,
                                       .id = role_of(with),
                                       .name = "",
                                       .now_s = cfr_clock_now().wall_ms / 1000,
                                       .admin = &one->admin,
                                       .env = cfr_env_get};
    rc = cfr_doctor_mint_admin(d, one, &err);
    if (rc == 0)
        rc = cfr_doctor_rotation_call(l, d->end_boot_ms, &err);
    report_rights(d, c, l, rc, &err);
    if (rc == CFR_E_TIMEOUT)
        d->late = true;
    cfr_doctor_rotation_free(l);
}
