/* SPDX-License-Identifier: MIT */
/* Output formats that belong to no cloud. */
#include "files/format/format_private.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int cfr_format_token(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_format_need(in, "token", CFR_FIELD_TOKEN, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, CFR_FIELD_TOKEN), err);
}

int cfr_format_env(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_grant *g = in->grant;
    bool aws = cfr_format_get(in, CFR_FIELD_AWS_ACCESS_KEY_ID).n != 0;
    int code = cfr_format_given(in->region) ? CFR_E_CONFIG : CFR_E_ANSWER;
    struct cfr_writer p = {out, err, 0};
    char when[CFR_TIME_RFC3339_MAX];
    size_t before = out->len;

    for (size_t i = 0; i < g->field_count; i++) {
        if (g->fields[i].name[0] == CFR_FIELD_PRIVATE_PREFIX)
            continue;
        /* The region is written under two names below; what has a `:` in its name is no word of a shell. */
        if (strcmp(g->fields[i].name, CFR_FIELD_AWS_REGION) != 0 && strchr(g->fields[i].name, ':') == NULL &&
            strcmp(g->fields[i].name, CFR_FIELD_REGISTRY_AUTHS) != 0)
            cfr_format_write_env(&p, g->fields[i].name, cfr_secret_view(&g->fields[i].value), CFR_E_ANSWER);
    }
    if (p.rc == 0 && out->len == before)
        return cfr_err_set(err, CFR_E_CONFIG, "the format env needs a credential with at least one value");
    if (aws && g->expires_s != 0)
        cfr_format_write_env(&p, "aws_credential_expiration", cfr_view_of(cfr_time_format(g->expires_s, when)),
                             CFR_E_ANSWER);
    /* Half of the SDKs read the one, half the other. */
    cfr_format_write_env(&p, "aws_region", cfr_format_region(in), code);
    cfr_format_write_env(&p, "aws_default_region", cfr_format_region(in), code);
    return p.rc;
}

static void json_time(struct cfr_writer *p, const char *key, int64_t unix_s)
{
    char when[CFR_TIME_RFC3339_MAX];

    cfr_writer_text(p, key);
    if (unix_s == 0)
        cfr_writer_text(p, "null");
    else
        cfr_writer_json(p, cfr_view_of(cfr_time_format(unix_s, when)));
}

int cfr_format_json(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_grant *g = in->grant;
    struct cfr_writer p = {out, err, 0};
    char number[24];
    bool first = true;

    (void)snprintf(number, sizeof number, "%" PRIu64, in->generation);
    cfr_writer_text(&p, "{\"version\":1,\"credential\":");
    cfr_writer_json(&p, cfr_view_of(in->credential));
    cfr_writer_text(&p, ",\"generation\":");
    cfr_writer_text(&p, number);
    cfr_writer_text(&p, ",\"identity\":");
    if (g->identity != NULL)
        cfr_writer_json(&p, cfr_view_of(g->identity));
    else
        cfr_writer_text(&p, "null");
    json_time(&p, ",\"issued\":", g->issued_s);
    json_time(&p, ",\"expires\":", g->expires_s);
    cfr_writer_text(&p, ",\"fields\":{");
    for (size_t i = 0; i < g->field_count; i++) {
        if (g->fields[i].name[0] == CFR_FIELD_PRIVATE_PREFIX)
            continue;
        cfr_writer_text(&p, first ? "" : ",");
        first = false;
        cfr_writer_json(&p, cfr_view_of(g->fields[i].name));
        cfr_writer_text(&p, ":");
        cfr_writer_json(&p, cfr_secret_view(&g->fields[i].value));
    }
    cfr_writer_text(&p, "}}\n");
    return p.rc;
}

int cfr_format_secret_key(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    char name[sizeof CFR_FIELD_SECRET_PREFIX + 256];

    (void)snprintf(name, sizeof name, CFR_FIELD_SECRET_PREFIX "%s", in->key);
    if (cfr_format_get(in, name).p == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "the mounted Secret has no key %.253s, or is exchanged and not passed on",
                           in->key);
    return cfr_secret_append(out, cfr_format_get(in, name), err);
}
