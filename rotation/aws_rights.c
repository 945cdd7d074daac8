/* SPDX-License-Identifier: MIT */
/* Rights of the caller by IAM's policy simulator. */
#include "rotation/aws_private.h"

#include "wire/form.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "iam:"

static const char *const actions[] = {"ListAccessKeys", "CreateAccessKey", "UpdateAccessKey", "GetAccessKeyLastUsed",
                                      "DeleteAccessKey"};
#define ACTIONS (sizeof actions / sizeof actions[0])

/* arn:aws:sts::123456789012:assumed-role/NAME/SESSION */
bool cfr_rotation_aws_principal(const char *arn, char out[CFR_ROTATION_MAKER_MAX])
{
    const char *at = strstr(arn, ":sts::");
    const char *role = strstr(arn, ":assumed-role/");
    int n;

    if (strncmp(arn, "arn:", 4) != 0)
        return false;
    if (at != NULL && role != NULL && role > at) {
        const char *name = role + strlen(":assumed-role/");

        n = snprintf(out, CFR_ROTATION_MAKER_MAX, "%.*s:iam::%.*s:role/%.*s", (int)(at - arn), arn,
                     (int)(role - at - 6), at + 6, (int)strcspn(name, "/"), name);
    } else if (strstr(arn, ":iam::") != NULL && (strstr(arn, ":user/") != NULL || strstr(arn, ":role/") != NULL)) {
        n = snprintf(out, CFR_ROTATION_MAKER_MAX, "%s", arn);
    } else {
        return false;
    }
    return n > 0 && n < CFR_ROTATION_MAKER_MAX;
}

/* The user in the account of the caller: keys are made in no other. A path of the user is not known. */
static bool user_arn(const char *principal, const char *user, char out[CFR_ROTATION_MAKER_MAX])
{
    const char *iam = strstr(principal, ":iam::");
    size_t n = iam != NULL ? strcspn(iam + 6, ":") : 0;
    int length = iam != NULL ? snprintf(out, CFR_ROTATION_MAKER_MAX, "%.*s:user/%s", (int)(iam + 6 + n - principal),
                                        principal, user)
                             : 0;

    return length > 0 && length < CFR_ROTATION_MAKER_MAX;
}

int cfr_rotation_aws_add_simulation(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                                    const char *page, struct cfr_secret *body, struct cfr_err *err)
{
    char user[CFR_ROTATION_MAKER_MAX];
    int rc;

    if (!user_arn(ask->id, c->user_name, user))
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no account in the caller's ARN");
    rc = cfr_form_add(body, "PolicySourceArn", cfr_view_of(ask->id), err);
    for (size_t i = 0; rc == 0 && i < ACTIONS; i++) {
        char key[40];
        char action[64];

        (void)snprintf(key, sizeof key, "ActionNames.member.%zu", i + 1);
        (void)snprintf(action, sizeof action, PREFIX "%s", actions[i]);
        rc = cfr_form_add(body, key, cfr_view_of(action), err);
    }
    /* Without it the simulator asks for all resources, which a policy for this user alone does not allow. */
    if (rc == 0)
        rc = cfr_form_add(body, "ResourceArns.member.1", cfr_view_of(user), err);
    return rc == 0 ? cfr_form_add(body, "Marker", cfr_view_of(page), err) : rc;
}

int cfr_rotation_aws_judge(const char *action, const char *decision, struct cfr_rotation_answer *out,
                           struct cfr_err *err)
{
    size_t n = strlen(out->denied);
    bool asked = false;

    for (size_t i = 0; i < ACTIONS; i++)
        asked =
            asked || (strncmp(action, PREFIX, strlen(PREFIX)) == 0 && strcmp(action + strlen(PREFIX), actions[i]) == 0);
    if (!asked || out->judged == ACTIONS)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is about other actions than those that were asked for");
    out->judged++;
    if (strcmp(decision, "allowed") != 0)
        (void)snprintf(out->denied + n, sizeof out->denied - n, "%s%s", n != 0 ? ", " : "", action);
    return 0;
}

int cfr_rotation_aws_check_judged(const struct cfr_rotation_answer *out, struct cfr_err *err)
{
    return out->judged == ACTIONS
               ? 0
               : cfr_err_set(err, CFR_E_ANSWER, "the answer is about %zu of %zu actions", out->judged, ACTIONS);
}
