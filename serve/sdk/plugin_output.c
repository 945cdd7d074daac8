/* SPDX-License-Identifier: MIT */
/* The answers of a credential plugin. */
#include "serve/sdk/plugin_output.h"

#include "base/json.h"
#include "base/str.h"
#include "base/time.h"
#include "base/writer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TYPE_JWT      "urn:ietf:params:oauth:token-type:jwt"
#define TYPE_ID_TOKEN "urn:ietf:params:oauth:token-type:id_token"

/* ---- the agent's answer ---- */

static int read_expiry(const struct cfr_json *doc, struct cfr_grant *out, struct cfr_err *err)
{
    const struct cfr_json *expires = cfr_json_get(doc, "expires");
    struct cfr_view text;

    if (expires == NULL || cfr_json_is_null(expires))
        return 0;
    if (!cfr_json_string(expires, &text) || !cfr_time_parse(text, &out->expires_s) || out->expires_s == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the agent's answer says no time in \"expires\"");
    return 0;
}

int cfr_sdk_plugin_read(struct cfr_view answer, struct cfr_grant *out, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    const struct cfr_json *fields;
    int rc;

    *out = (struct cfr_grant){0};
    rc = cfr_json_parse(answer, &doc, err);
    if (rc != 0)
        return cfr_err_prefix(err, "the agent's answer");
    fields = cfr_json_get(doc, "fields");
    if (!cfr_json_is_object(fields) || cfr_json_members(fields) == 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "the agent's answer has no fields: is it another version of credfresh?");
    if (rc == 0)
        rc = read_expiry(doc, out, err);
    for (const struct cfr_json *f = cfr_json_first(fields); rc == 0 && f != NULL; f = cfr_json_next(f)) {
        char name[CFR_GRANT_IDENTITY_MAX];
        struct cfr_view value;

        (void)snprintf(name, sizeof name, "%.*s", (int)cfr_json_key(f).n, cfr_json_key(f).p);
        if (!cfr_json_string(f, &value))
            rc = cfr_err_set(err, CFR_E_ANSWER, "the agent's answer has a field that is not text");
        else
            rc = cfr_grant_set(out, name, value, err);
    }
    cfr_json_free(doc);
    return rc;
}

/* ---- which token ---- */

static const struct cfr_grant_field *find(const struct cfr_grant *g, const char *name)
{
    for (size_t i = 0; i < g->field_count; i++) {
        if (strcmp(g->fields[i].name, name) == 0 && g->fields[i].value.len != 0)
            return &g->fields[i];
    }
    return NULL;
}

/* True if G is more than a token, such as keys or logins: the token that they were exchanged for is not what was
 * granted. */
static bool has_more(const struct cfr_grant *g)
{
    for (const struct cfr_grant_kind *k = cfr_grant_kinds; k->field != NULL; k++) {
        if (!k->token && find(g, k->field) != NULL)
            return true;
    }
    return false;
}

/* The place of KIND among the tokens for USE, lower is better; 0 = not for this use. */
static int rank_kind(const struct cfr_grant_kind *kind, enum cfr_sdk_plugin_use use)
{
    if (!kind->token)
        return 0;
    if (use == CFR_SDK_PLUGIN_ANY)
        return 1 + (int)(kind - cfr_grant_kinds);
    return use == CFR_SDK_PLUGIN_SUBJECT ? kind->subject : kind->cluster;
}

/* The token of G for USE, or NULL. */
static const struct cfr_grant_field *find_token(const struct cfr_grant *g, enum cfr_sdk_plugin_use use)
{
    const struct cfr_grant_field *best = NULL;
    int best_rank = INT_MAX;

    for (const struct cfr_grant_kind *k = cfr_grant_kinds; k->field != NULL; k++) {
        const struct cfr_grant_field *f = find(g, k->field);
        int rank = rank_kind(k, use);

        if (f == NULL || rank == 0 || rank >= best_rank)
            continue;
        if (use != CFR_SDK_PLUGIN_SUBJECT && strcmp(k->field, CFR_FIELD_TOKEN) == 0 && has_more(g))
            continue;
        best = f;
        best_rank = rank;
    }
    return best != NULL ? best : find(g, CFR_FIELD_SECRET_PREFIX "token");
}

static int report_fields(const struct cfr_grant *g, const char *field, struct cfr_err *err)
{
    struct cfr_str names = {.limit = 320};
    int rc;

    for (size_t i = 0; i < g->field_count; i++)
        cfr_str_addf(&names, "%s%s", i != 0 ? ", " : "", g->fields[i].name);
    rc = cfr_err_set(err, CFR_E_CONFIG, "%s%.80s; this credential has: %s%s",
                     field != NULL ? "there is no field " : "there is no token of the requested kind",
                     field != NULL ? field : "", names.p != NULL ? names.p : "nothing", names.failed ? " ..." : "");
    cfr_str_free(&names);
    return rc;
}

int cfr_sdk_plugin_field(const struct cfr_grant *g, enum cfr_sdk_plugin_use use, const char *field,
                         const struct cfr_grant_field **out, struct cfr_err *err)
{
    *out = field != NULL ? find(g, field) : find_token(g, use);
    return *out != NULL ? 0 : report_fields(g, field, err);
}

int64_t cfr_sdk_plugin_early(int64_t expires_s, int64_t now_s)
{
    int64_t left_s = expires_s - now_s;
    int64_t early_s = left_s / 4 < CFR_SDK_PLUGIN_EARLY_S ? left_s / 4 : CFR_SDK_PLUGIN_EARLY_S;

    return expires_s == 0 || left_s <= 0 ? expires_s : expires_s - early_s;
}

/* ---- Google's executable source ---- */

static void open_result(struct cfr_writer *w, bool success)
{
    cfr_writer_object(w, NULL);
    cfr_writer_number(w, "version", 1);
    cfr_writer_bool(w, "success", success);
}

static int close_result(struct cfr_writer *w)
{
    cfr_writer_close(w);
    cfr_writer_text(w, "\n");
    return w->rc;
}

int cfr_sdk_plugin_gcp(struct cfr_view token, const char *token_type, int64_t expires_s, struct cfr_secret *out,
                       struct cfr_err *err)
{
    const char *type = token_type != NULL && token_type[0] != '\0' ? token_type : TYPE_JWT;
    struct cfr_writer w = {.secret = out, .err = err};

    if (strcmp(type, TYPE_JWT) != 0 && strcmp(type, TYPE_ID_TOKEN) != 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "the credential file's subject_token_type is %.80s, and an executable source can give only " TYPE_JWT
            " and " TYPE_ID_TOKEN " here",
            type);
    open_result(&w, true);
    cfr_writer_string(&w, "token_type", cfr_view_of(type));
    cfr_writer_string(&w, "id_token", token);
    if (expires_s != 0)
        cfr_writer_number(&w, "expiration_time", expires_s);
    return close_result(&w);
}

int cfr_sdk_plugin_gcp_revoked(struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    open_result(&w, true);
    return close_result(&w);
}

int cfr_sdk_plugin_gcp_failed(const struct cfr_err *why, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    open_result(&w, false);
    cfr_writer_string(&w, "code", cfr_view_of(cfr_err_name(why->code)));
    cfr_writer_string(&w, "message", cfr_view_of(why->text));
    return close_result(&w);
}
