/* SPDX-License-Identifier: MIT */
/* Output formats that belong to no cloud. */
#include "files/format/format_private.h"

#include "base/time.h"

#include <stdio.h>
#include <string.h>

int cfr_format_token(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_format_need(in, "token", CFR_FIELD_TOKEN, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, CFR_FIELD_TOKEN), err);
}

static bool is_variable(const struct cfr_grant_field *f)
{
    /* The region is written under two names; what has a `:` in its name is no word of a shell. */
    return f->name[0] != CFR_FIELD_PRIVATE_PREFIX && strcmp(f->name, CFR_FIELD_AWS_REGION) != 0 &&
           strchr(f->name, ':') == NULL && strcmp(f->name, CFR_FIELD_REGISTRY_AUTHS) != 0;
}

int cfr_format_env(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_grant *g = in->grant;
    bool aws = cfr_format_get(in, CFR_FIELD_AWS_ACCESS_KEY_ID).n != 0;
    int code = cfr_format_given(in->region) ? CFR_E_CONFIG : CFR_E_ANSWER;
    struct cfr_writer p = {.secret = out, .err = err};
    char when[CFR_TIME_RFC3339_MAX];
    size_t before = out->len;
    size_t others = 0;

    for (size_t i = 0; i < g->field_count; i++) {
        if (!is_variable(&g->fields[i]))
            continue;
        /* What was granted for the token is what programs need; the token itself would be one secret more to lose. */
        others += strcmp(g->fields[i].name, CFR_FIELD_TOKEN) != 0 ? 1 : 0;
    }
    for (size_t i = 0; i < g->field_count; i++) {
        if (is_variable(&g->fields[i]) && (others == 0 || strcmp(g->fields[i].name, CFR_FIELD_TOKEN) != 0))
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

static void write_time(struct cfr_writer *p, const char *key, int64_t unix_s)
{
    char when[CFR_TIME_RFC3339_MAX];

    cfr_writer_string(p, key, cfr_view_of(unix_s != 0 ? cfr_time_format(unix_s, when) : NULL));
}

int cfr_format_json(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_grant *g = in->grant;
    struct cfr_writer p = {.secret = out, .err = err, .exact = true};

    cfr_writer_object(&p, NULL);
    cfr_writer_number(&p, "version", 1);
    cfr_writer_string(&p, "credential", cfr_view_of(in->credential));
    cfr_writer_count(&p, "generation", in->generation);
    cfr_writer_string(&p, "identity", cfr_view_of(g->identity));
    write_time(&p, "issued", g->issued_s);
    write_time(&p, "expires", g->expires_s);
    cfr_writer_object(&p, "fields");
    for (size_t i = 0; i < g->field_count; i++) {
        const struct cfr_secret *value = &g->fields[i].value;

        if (g->fields[i].name[0] != CFR_FIELD_PRIVATE_PREFIX)
            cfr_writer_string(&p, g->fields[i].name, value->len != 0 ? cfr_secret_view(value) : cfr_view_of(""));
    }
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}

int cfr_format_secret_key(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    char name[sizeof CFR_FIELD_SECRET_PREFIX + 256];

    (void)snprintf(name, sizeof name, CFR_FIELD_SECRET_PREFIX "%s", in->key);
    if (!cfr_grant_has(in->grant, name))
        return cfr_err_set(err, CFR_E_CONFIG, "the mounted Secret has no key %.253s, or is exchanged and not passed on",
                           in->key);
    return cfr_secret_append(out, cfr_format_get(in, name), err);
}
