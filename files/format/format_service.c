/* SPDX-License-Identifier: MIT */
/* Output formats of what the service CA issues. */
#include "files/format/format_private.h"

static int whole(const struct cfr_format_input *in, const char *format, const char *field, struct cfr_secret *out,
                 struct cfr_err *err)
{
    int rc = cfr_format_need(in, format, field, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, field), err);
}

int cfr_format_certificate(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    return whole(in, "certificate", CFR_FIELD_SERVICE_CERTIFICATE, out, err);
}

int cfr_format_private_key(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    return whole(in, "private-key", CFR_FIELD_SERVICE_KEY, out, err);
}

int cfr_format_ca_bundle(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    return whole(in, "ca-bundle", CFR_FIELD_SERVICE_BUNDLE, out, err);
}
