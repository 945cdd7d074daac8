/* SPDX-License-Identifier: MIT */
/* The samples about long-lived keys that are rotated. */
#include "serve/api/metrics_private.h"

#include <string.h>

void cfr_api_metrics_key_minted(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                int64_t now_s)
{
    (void)now_s;
    if (c->mint.minted_s == 0)
        return;
    cfr_api_metrics_begin(out, family, c->name, NULL, NULL);
    cfr_api_metrics_end_int(out, c->mint.minted_s);
}

/* One series for each state, so that none is left behind when it changes. */
void cfr_api_metrics_rotation_state(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                    int64_t now_s)
{
    static const char *const states[] = {"UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_FAILED"};

    (void)now_s;
    for (size_t i = 0; c->mint.state != NULL && i < sizeof states / sizeof states[0]; i++) {
        cfr_api_metrics_begin(out, family, c->name, "state", states[i]);
        cfr_api_metrics_end_int(out, strcmp(c->mint.state, states[i]) == 0 ? 1 : 0);
    }
}

void cfr_api_metrics_key_state(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                               int64_t now_s)
{
    static const char *const states[] = {"active", "deactivated", "expired", "deleted"};

    (void)now_s;
    for (size_t i = 0; c->mint.key_state != NULL && i < sizeof states / sizeof states[0]; i++) {
        cfr_api_metrics_begin(out, family, c->name, "state", states[i]);
        cfr_api_metrics_end_int(out, strcmp(c->mint.key_state, states[i]) == 0 ? 1 : 0);
    }
}

void cfr_api_metrics_key_passed_on(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                   int64_t now_s)
{
    (void)now_s;
    if (c->mint.state == NULL)
        return;
    cfr_api_metrics_begin(out, family, c->name, NULL, NULL);
    cfr_api_metrics_end_int(out, c->mint.passed_on != NULL ? 1 : 0);
}

void cfr_api_metrics_rotation_holder(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                                     int64_t now_s)
{
    (void)now_s;
    if (c->mint.role == NULL)
        return;
    cfr_api_metrics_begin(out, family, c->name, NULL, NULL);
    cfr_api_metrics_end_int(out, strcmp(c->mint.role, "holder") == 0 ? 1 : 0);
}

void cfr_api_metrics_rotations(struct cfr_str *out, const char *family, const struct cfr_api_status_credential *c,
                               int64_t now_s)
{
    (void)now_s;
    if (c->mint.state == NULL)
        return;
    cfr_api_metrics_begin(out, family, c->name, "result", "complete");
    cfr_api_metrics_end_count(out, c->mint.completed);
    cfr_api_metrics_begin(out, family, c->name, "result", "undone");
    cfr_api_metrics_end_count(out, c->mint.undone);
}
