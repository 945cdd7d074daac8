/* SPDX-License-Identifier: MIT */
/* What Keystone answers about application credentials. */
#include "rotation/openstack_private.h"
#include "rotation/rest_private.h"
#include "rotation/provider_private.h"

#include <stdio.h>
#include <string.h>

static const struct cfr_error_table_row rows[] = {
    {NULL, "maximum of", 403, CFR_E_LIMIT,
     "{who} has as many application credentials as this Keystone allows; remove one that is not in use"},
    {NULL, "additional application credentials", 403, CFR_E_DENIED,
     "`with` is an application credential that is restricted: make it with `unrestricted`, or let `with` log "
     "in with a password"},
    {NULL, "another user", 403, CFR_E_REJECTED,
     "application credentials are made by their own user only: `user_id` must be the user of `with`, so "
     "leave it out"},
    {NULL, NULL, 403, CFR_E_DENIED,
     "Keystone's policy does not let `with` do this for {who}; `user_id` must be its own user"},
    {NULL, NULL, 401, CFR_E_TOKEN_EXPIRED, "Keystone does not accept the token of `with`; is it still refreshed?"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no such user in this Keystone; check `user_id` and `auth_url`"},
    {NULL, "role", 400, CFR_E_REJECTED,
     "a new credential can have only the roles that the token of `with` has in its project, not those through a group; "
     "check `roles`, and that `with` has a project"},
    {NULL, "expires_at", 400, CFR_E_REJECTED,
     "the time of expiry has passed already; check this machine's clock and `lifetime`"},
    {NULL, NULL, 400, CFR_E_REJECTED,
     "Keystone does not understand the request; `with` must have a token for a project"},
    {NULL, NULL, 409, CFR_E_CONFLICT,
     "one of this name exists already: the request arrived twice; credfresh looks for it and removes it"},
    {0},
};

/* Answers that are not Keystone's own. */
static const struct cfr_error_table_row web[] = {
    {NULL, NULL, 300, CFR_E_REDIRECT, "this is a list of the API's versions; write an `auth_url` that ends in /v3"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no Keystone v3 at this URL; check `auth_url`"},
    {NULL, NULL, 405, CFR_E_REJECTED, "there is no Keystone v3 at this URL; check `auth_url`"},
    {0},
};

static bool is_id(const char *id)
{
    return id[0] != '\0' && strpbrk(id, " /?#%") == NULL;
}

static bool read_key(const struct cfr_json *one, struct cfr_rotation_key *out)
{
    *out = (struct cfr_rotation_key){.active = true};
    (void)cfr_rotation_rest_copy(out->name, sizeof out->name, cfr_json_text(one, "name"));
    return cfr_rotation_rest_copy(out->id, sizeof out->id, cfr_json_text(one, "id")) && is_id(out->id);
}

static int read_list(const struct cfr_json *doc, const struct cfr_rotation_ask *ask, struct cfr_rotation_answer *out,
                     struct cfr_err *err)
{
    const struct cfr_json *list = cfr_json_get(doc, "application_credentials");
    int rc = 0;

    if (!cfr_json_is_array(list))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no list application_credentials");
    for (const struct cfr_json *one = cfr_json_first(list); rc == 0 && one != NULL; one = cfr_json_next(one)) {
        struct cfr_rotation_key key;

        if (!read_key(one, &key))
            return cfr_err_set(err, CFR_E_ANSWER, "the list has an application credential without a proper id");
        cfr_rotation_rest_set_end(&key, cfr_rotation_rest_time(one, "expires_at"), ask->now_s);
        rc = cfr_rotation_rest_keep(&out->keys, &key, ask, err);
    }
    return rc;
}

/* ---- a new one ---- */

struct value {
    const char *field;
    struct cfr_view value;
};

static int set_all(struct cfr_grant *g, const struct value *values, size_t count, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (values[i].value.n != 0)
            rc = cfr_grant_set(g, values[i].field, values[i].value, err);
    }
    return rc;
}

static int set_url(struct cfr_grant *g, struct cfr_view base, struct cfr_err *err)
{
    struct cfr_str url = {.limit = CFR_ROTATION_URL_MAX + 8};
    bool whole = base.n > 3 && memcmp(base.p + base.n - 3, "/v3", 3) == 0;
    int rc;

    cfr_str_add(&url, base);
    cfr_str_addz(&url, whole ? "" : "/v3");
    rc = url.failed ? cfr_err_nomem(err) : cfr_grant_set(g, CFR_FIELD_OPENSTACK_AUTH_URL, cfr_str_view(&url), err);
    cfr_str_free(&url);
    return rc;
}

static int fill(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask, struct cfr_view secret,
                struct cfr_view project, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_view region = cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_REGION_NAME);
    const struct value values[] = {
        {CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID, cfr_view_of(out->made.id)},
        {CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, secret},
        {CFR_FIELD_OPENSTACK_USER_ID, cfr_rotation_openstack_user(c, ask)},
        {CFR_FIELD_OPENSTACK_PROJECT_ID, project},
        {CFR_FIELD_OPENSTACK_REGION_NAME, c->region_name != NULL ? cfr_view_of(c->region_name) : region},
        {CFR_FIELD_OPENSTACK_INTERFACE, cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_INTERFACE)},
        {CFR_FIELD_OPENSTACK_CACERT, c->ca_file != NULL
                                         ? cfr_view_of(c->ca_file)
                                         : cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_CACERT)},
    };
    char identity[CFR_ROTATION_ID_MAX + CFR_ROTATION_NAME_MAX + 8];
    int rc = set_url(&out->grant, cfr_rotation_openstack_url(c, ask), err);

    (void)snprintf(identity, sizeof identity, "%s (%s)", out->made.name, out->made.id);
    if (rc == 0)
        rc = set_all(&out->grant, values, sizeof values / sizeof values[0], err);
    return rc == 0 ? cfr_grant_set_identity(&out->grant, cfr_view_of(identity), err) : rc;
}

static int read_made(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask,
                     const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_json *made = cfr_json_get(doc, "application_credential");
    struct cfr_view secret = cfr_json_text(made, "secret");

    if (!read_key(made, &out->made))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper id");
    if (strcmp(out->made.name, ask->name) != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is about another application credential than %s", ask->name);
    if (secret.n == 0 || !cfr_view_printable(secret))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper secret");
    out->grant.expires_s = cfr_rotation_rest_time(made, "expires_at");
    return fill(c, ask, secret, cfr_json_text(made, "project_id"), out, err);
}

int cfr_rotation_openstack_recognize(const void *config, const struct cfr_rotation_ask *ask,
                                     const struct cfr_grant *fields, struct cfr_rotation_answer *out,
                                     struct cfr_err *err)
{
    struct cfr_view secret = cfr_grant_get(fields, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET);
    struct cfr_view id = cfr_grant_get(fields, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID);

    if (id.n == 0 && secret.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "there is no application credential");
    if (!cfr_rotation_rest_copy(out->made.id, sizeof out->made.id, id) || !is_id(out->made.id) || secret.n == 0 ||
        !cfr_view_printable(secret))
        return cfr_err_set(err, CFR_E_ANSWER, "the application credential has no proper %s",
                           secret.n == 0 ? "application_credential_secret" : "application_credential_id");
    return fill(config, ask, secret, (struct cfr_view){NULL, 0}, out, err);
}

/* ---- judging ---- */

static int refuse(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask,
                  const struct cfr_wire_reply *reply, const struct cfr_json *error, struct cfr_err *err)
{
    const struct cfr_view token = cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_TOKEN);
    const struct cfr_error_table r = {
        .rows = cfr_json_is_object(error) ? rows : web,
        .status = reply->status,
        .code = cfr_json_text(error, "title"),
        .message = cfr_json_text(error, "message"),
        .request_id = reply->request_id,
        .who = cfr_rotation_openstack_user(c, ask),
        .who_is = "user",
        .secrets = &token,
        .secret_count = 1,
    };

    return cfr_error_table_set(&r, err);
}

static int check_answer(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                        const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_openstack *c = config;
    const struct cfr_json *error = cfr_json_get(doc, "error");
    long wanted = ask->op == CFR_ROTATION_LIST ? 200 : ask->op == CFR_ROTATION_CREATE ? 201 : 204;

    /* A 404 that Keystone did not say is one of something else at this URL. */
    if (ask->op == CFR_ROTATION_DELETE && reply->status == 404 && cfr_json_is_object(error))
        return 0;
    if (reply->status != wanted || error != NULL)
        return refuse(c, ask, reply, error, err);
    if (ask->op == CFR_ROTATION_LIST)
        return read_list(doc, ask, out, err);
    return ask->op == CFR_ROTATION_CREATE ? read_made(c, ask, doc, out, err) : 0;
}

int cfr_rotation_openstack_parse(const void *config, const struct cfr_rotation_ask *ask,
                                 const struct cfr_wire_reply *reply, struct cfr_rotation_answer *out,
                                 struct cfr_err *err)
{
    static const char *const operations[] = {[CFR_ROTATION_LIST] = "listing application credentials",
                                             [CFR_ROTATION_CREATE] = "making an application credential",
                                             [CFR_ROTATION_VERIFY] = "",
                                             [CFR_ROTATION_DEACTIVATE] = "",
                                             [CFR_ROTATION_LAST_USED] = "",
                                             [CFR_ROTATION_DELETE] = "deleting an application credential"};

    return cfr_rotation_rest_parse(config, ask, reply, check_answer, operations, out, err);
}
