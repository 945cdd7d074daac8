/* SPDX-License-Identifier: MIT */
/* The output format of any OAuth server's grant. */
#include "files/format/format_private.h"

int cfr_format_oauth_access_token(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_format_need(in, "oauth-access-token", CFR_FIELD_OAUTH_ACCESS_TOKEN, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, CFR_FIELD_OAUTH_ACCESS_TOKEN), err);
}
