/* SPDX-License-Identifier: MIT */
/* Keys that sign a request. */
#include "sts/aws/keys_private.h"

#include "sts/core/ini.h"

#include <string.h>

#define ID_MAX     128
#define SECRET_MAX 1024

static void store_setting(const struct cfr_sts_ini *ini, struct cfr_wire_aws_keys *out)
{
    if (cfr_view_is_nocase(ini->key, "aws_access_key_id"))
        out->id = ini->value;
    else if (cfr_view_is_nocase(ini->key, "aws_secret_access_key"))
        out->secret = ini->value;
    else if (cfr_view_is_nocase(ini->key, "aws_session_token"))
        out->session_token = ini->value;
}

/* True if the profile is there. */
static bool read_profile(struct cfr_view text, const char *profile, struct cfr_wire_aws_keys *out)
{
    struct cfr_sts_ini ini = {.rest = text};
    bool found = false;

    while (cfr_sts_ini_next(&ini)) {
        if (!cfr_view_is(ini.section, profile))
            continue;
        found = true;
        store_setting(&ini, out);
    }
    return found;
}

static int find_profile(const struct cfr_aws *c, const struct cfr_sts_input *in, struct cfr_wire_aws_keys *out,
                        struct cfr_err *err)
{
    const char *profile = c->profile != NULL ? c->profile : "default";

    if (!read_profile(cfr_sts_input_content(in, "credentials_file"), profile, out))
        return cfr_err_set(err, CFR_E_CONFIG, "credentials_file: it has no profile [%.64s]; name another in `profile`",
                           profile);
    if (out->id.n == 0 || out->secret.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "credentials_file: its profile [%.64s] has no %s", profile,
                           out->id.n == 0 ? "aws_access_key_id" : "aws_secret_access_key");
    return 0;
}

static bool id_ok(struct cfr_view id)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];

        if (!(cfr_view_is_alnum(c) || c == '_' || c == '-'))
            return false;
    }
    return id.n >= 3 && id.n <= ID_MAX;
}

static bool printable(struct cfr_view text, size_t max)
{
    return text.n <= max && cfr_view_printable(text) && (text.n == 0 || memchr(text.p, ' ', text.n) == NULL);
}

static int check_keys(const struct cfr_aws *c, const struct cfr_wire_aws_keys *keys, struct cfr_err *err)
{
    const char *where = c->credentials_file != NULL ? "credentials_file" : "access_key_id_file";

    const char *mistake = cfr_view_mistake(keys->id, CFR_FORM_TEXT);

    if (!id_ok(keys->id) && mistake != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: not an access key ID, but %s", where, mistake);
    if (!id_ok(keys->id))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: not an access key ID, which has only letters and digits, such as AKIAIOSFODNN7EXAMPLE",
                           where);
    if (keys->secret.n == 0 || !printable(keys->secret, SECRET_MAX))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: not a secret access key: it is empty, too long, or has blanks or line breaks",
                           c->credentials_file != NULL ? where : "secret_access_key_file");
    if (cfr_view_form(keys->secret) == CFR_FORM_QUOTED)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: not a secret access key, but %s",
                           c->credentials_file != NULL ? where : "secret_access_key_file",
                           cfr_view_mistake(keys->secret, CFR_FORM_TEXT));
    if (!printable(keys->session_token, CFR_GRANT_VALUE_MAX))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: its aws_session_token has blanks or is too long", where);
    if (cfr_view_starts(keys->id, "ASIA") && keys->session_token.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: the access key ID begins with ASIA, so it belongs to a session and needs a session "
                           "token; give long-lived keys (AKIA...)",
                           where);
    if (keys->session_token.n != 0 && c->role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: the keys belong to a session, from which AWS gives no other one; give a `role_arn` to "
                           "assume with them, or long-lived keys",
                           where);
    return 0;
}

int cfr_aws_keys_read(const struct cfr_aws *config, const struct cfr_sts_input *in, struct cfr_wire_aws_keys *out,
                      struct cfr_err *err)
{
    int rc = 0;

    *out = (struct cfr_wire_aws_keys){0};
    if (config->credentials_file != NULL) {
        rc = find_profile(config, in, out, err);
    } else {
        out->id = cfr_sts_input_content(in, "access_key_id_file");
        out->secret = cfr_sts_input_content(in, "secret_access_key_file");
    }
    return rc != 0 ? rc : check_keys(config, out, err);
}

struct cfr_wire_aws_keys cfr_aws_keys_granted(const struct cfr_grant *grant)
{
    return (struct cfr_wire_aws_keys){
        .id = cfr_grant_get(grant, CFR_FIELD_AWS_ACCESS_KEY_ID),
        .secret = cfr_grant_get(grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        .session_token = cfr_grant_get(grant, CFR_FIELD_AWS_SESSION_TOKEN),
    };
}
