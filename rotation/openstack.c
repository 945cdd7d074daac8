/* SPDX-License-Identifier: MIT */
/* Requests for application credentials, and how a new one is tried. */
#include "rotation/openstack_private.h"

#include "base/time.h"
#include "rotation/rest_private.h"
#include "rotation/provider_private.h"

#include <string.h>

#define ID_MAX        64 /* what Keystone's own tables hold, as the next */
#define NAME_MAX      255
#define ROLES_MAX     40
#define HOUR_MS       3600000
#define YEARS_MS      315360000000 /* ten */

#define RULES_MAX     64
#define RULE_PATH_MAX 225 /* Keystone's own limit */

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", NULL};

#define RULE(member, kind)                                                                                             \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_rotation_openstack_rule, member)
static const struct cfr_field rule_fields[] = {
    {RULE(service, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = NAME_MAX,
     .doc = CFR_DOC("Type of the service in the catalog, such as `compute`.")},
    {RULE(method, ENUM), .fallback = "GET", .choices = methods, .doc = CFR_DOC("The method of the request.")},
    {RULE(path, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = RULE_PATH_MAX,
     .doc =
         CFR_DOC("Path of the request, such as `/v2.1/servers/{server_id}`: `*` and `{NAME}` mean one part, `**` any "
                 "number.")},
    {.key = NULL},
};

static int check_rule(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_openstack_rule *r = node;

    if (r->path == NULL ||
        (r->path[0] == '/' && cfr_view_printable(cfr_view_of(r->path)) && strchr(r->path, ' ') == NULL))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "path: must begin with a slash and have no blanks, such as /v2.1/servers");
}

static const struct cfr_table rule_table = {
    .name = "access rule",
    .size = sizeof(struct cfr_rotation_openstack_rule),
    .fields = rule_fields,
    .check = check_rule,
    .doc = CFR_DOC("A request that a new application credential may make. The service refuses any other."),
};

#define FIELD(member, kind)                                                                                            \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_rotation_openstack, member)
static const struct cfr_field fields[] = {
    {FIELD(auth_url, STRING), .min = 8, .max = CFR_ROTATION_URL_MAX,
     .doc = CFR_DOC("URL of Keystone, with or without its last part `/v3`. Default: that of `with`.")},
    {FIELD(user_id, STRING), .min = 1, .max = ID_MAX,
     .doc = CFR_DOC("Id of the user of the application credentials: always that of `with`, because no "
                    "user can create them for another. Default: that user.")},
    {FIELD(roles, STRINGS), .max = ROLES_MAX,
     .doc = CFR_DOC("Names of the roles of a new credential, among those of `with` in its project. "
                    "Default: all of them.")},
    {FIELD(unrestricted, BOOL), .fallback = "false",
     .doc = CFR_DOC("Whether a new credential may itself create and delete application credentials and trusts.")},
    {FIELD(access_rules, LIST), .max = RULES_MAX, .table = &rule_table,
     .doc = CFR_DOC("Requests that a new credential may make. Default: everything that its roles allow. "
                    "A change applies to credentials created later.")},
    {.key = "lifetime",
     .type = CFR_FIELD_DURATION,
     .offset = offsetof(struct cfr_rotation_openstack, lifetime_ms),
     .flags = CFR_FIELD_UNSET,
     .min = HOUR_MS,
     .max = YEARS_MS,
     .doc = CFR_DOC("Lifetime of a credential in Keystone, in case credfresh no longer runs; longer than "
                    "two rotations. Default: unlimited.")},
    {FIELD(region_name, STRING), .min = 1, .max = NAME_MAX,
     .doc = CFR_DOC("Region whose services the consumer uses; written by the formats clouds-yaml and clouds-conf. "
                    "Default: that of `with`.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust instead of the system's. The formats clouds-yaml and "
                    "clouds-conf also name this file, unless they set `cacert`.")},
    {.key = NULL},
};

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_openstack *c = node;

    for (size_t i = 0; i < c->roles.count; i++) {
        if (c->roles.items[i][0] == '\0' || strlen(c->roles.items[i]) > NAME_MAX)
            return cfr_err_set(err, CFR_E_CONFIG, "roles: a role has a name of 1 to %d characters", NAME_MAX);
    }
    return cfr_rotation_rest_check_url("auth_url", c->auth_url, err);
}

const struct cfr_table cfr_rotation_openstack_table = {
    .name = "OpenStack application credentials",
    .size = sizeof(struct cfr_rotation_openstack),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Application credentials of an OpenStack user. `with` is the same user, by a password or by an "
                   "application credential that "
                   "is unrestricted. Deleting a credential invalidates the tokens obtained with it at once."),
};

/* ---- requests ---- */

struct cfr_view cfr_rotation_openstack_url(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask)
{
    struct cfr_view url = c->auth_url != NULL ? cfr_view_of(c->auth_url)
                                              : cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_AUTH_URL);

    if (url.n != 0 && url.p[url.n - 1] == '/')
        url.n--;
    return url;
}

struct cfr_view cfr_rotation_openstack_user(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask)
{
    return c->user_id != NULL ? cfr_view_of(c->user_id)
                              : cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_USER_ID);
}

static bool has_version(struct cfr_view url)
{
    return url.n > 3 && memcmp(url.p + url.n - 3, "/v3", 3) == 0;
}

static int put_url(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask, struct cfr_str *url,
                   struct cfr_err *err)
{
    struct cfr_view base = cfr_rotation_openstack_url(c, ask);
    struct cfr_view user = cfr_rotation_openstack_user(c, ask);
    char id[ID_MAX + 1];

    if (base.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "auth_url: is missing, and `with`, which is not an exchange with `openstack`, has none");
    if (!cfr_rotation_rest_copy(id, sizeof id, user))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "user_id: is missing, and `with`, which is not an exchange with `openstack`, has none");
    cfr_str_add(url, base);
    cfr_str_addz(url, has_version(base) ? "/users/" : "/v3/users/");
    cfr_rotation_rest_part(url, id);
    cfr_str_addz(url, "/application_credentials");
    if (ask->op == CFR_ROTATION_DELETE) {
        cfr_str_addz(url, "/");
        cfr_rotation_rest_part(url, ask->id);
    }
    return 0;
}

static void put_rules(const struct cfr_rotation_openstack *c, struct cfr_writer *w)
{
    const struct cfr_rotation_openstack_rule *rules = c->access_rules.items;

    if (c->access_rules.count == 0)
        return;
    cfr_writer_array(w, "access_rules");
    for (size_t i = 0; i < c->access_rules.count; i++) {
        cfr_writer_object(w, NULL);
        cfr_writer_string(w, "service", cfr_view_of(rules[i].service));
        cfr_writer_string(w, "method", cfr_view_of(methods[rules[i].method]));
        cfr_writer_string(w, "path", cfr_view_of(rules[i].path));
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

static int put_body(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask,
                    struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_writer w = cfr_rotation_rest_body(out, err);
    char when[CFR_TIME_RFC3339_MAX];

    cfr_writer_object(&w, NULL);
    cfr_writer_object(&w, "application_credential");
    cfr_writer_string(&w, "name", cfr_view_of(ask->name));
    cfr_writer_bool(&w, "unrestricted", c->unrestricted);
    if (c->roles.count != 0)
        cfr_writer_array(&w, "roles");
    for (size_t i = 0; i < c->roles.count; i++) {
        cfr_writer_object(&w, NULL);
        cfr_writer_string(&w, "name", cfr_view_of(c->roles.items[i]));
        cfr_writer_close(&w);
    }
    if (c->roles.count != 0)
        cfr_writer_close(&w);
    put_rules(c, &w);
    if (c->lifetime_ms > 0)
        cfr_writer_string(&w, "expires_at", cfr_view_of(cfr_time_format(ask->now_s + c->lifetime_ms / 1000, when)));
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_rotation_openstack *c = config;
    struct cfr_str url = {.limit = CFR_ROTATION_URL_MAX + 1024};
    int rc;

    (void)page;
    if (ask->op != CFR_ROTATION_LIST && ask->op != CFR_ROTATION_CREATE && ask->op != CFR_ROTATION_DELETE)
        return cfr_err_set(err, CFR_E_INTERNAL, "application credentials have no such operation");
    rc = put_url(c, ask, &url, err);
    if (rc != 0) {
        cfr_str_free(&url);
        return rc;
    }
    out->ca_file = c->ca_file;
    out->method = ask->op == CFR_ROTATION_LIST ? "GET" : ask->op == CFR_ROTATION_CREATE ? "POST" : "DELETE";
    rc = cfr_wire_request_url(out, &url, err);
    if (rc == 0)
        rc = cfr_rotation_rest_token(out, "X-Auth-Token", "",
                                     cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_TOKEN),
                                     "`with` has no token of Keystone: it must be an exchange with `openstack`", err);
    return rc != 0 || ask->op != CFR_ROTATION_CREATE ? rc : put_body(c, ask, out, err);
}

static int trial(const void *config, const struct cfr_rotation_ask *ask, struct cfr_rotation_trial *out,
                 struct cfr_err *err)
{
    const struct cfr_rotation_openstack *c = config;
    struct cfr_view id = cfr_grant_get(ask->fresh, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID);
    struct cfr_view secret = cfr_grant_get(ask->fresh, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET);
    struct cfr_view url = cfr_grant_get(ask->fresh, CFR_FIELD_OPENSTACK_AUTH_URL);

    if (id.n == 0 || secret.n == 0 || url.n == 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no application credential to try");
    out->provider = "openstack";
    out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"auth_url", url};
    out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"application_credential_id", id};
    if (c->ca_file != NULL)
        out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"ca_file", cfr_view_of(c->ca_file)};
    out->contents[out->content_count++] =
        (struct cfr_rotation_trial_value){"application_credential_secret_file", secret};
    return 0;
}

static const char *subject(const void *config)
{
    const struct cfr_rotation_openstack *c = config;

    return c->user_id;
}

/* Application credentials are their maker's. */
static struct cfr_view account(const void *config, const struct cfr_rotation_ask *ask)
{
    (void)config;
    return cfr_rotation_admin_field(ask->admin, CFR_FIELD_OPENSTACK_USER_ID);
}

static const char *const grants[] = {CFR_FIELD_OPENSTACK_AUTH_URL,
                                     CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID,
                                     CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET,
                                     CFR_FIELD_OPENSTACK_USER_ID,
                                     CFR_FIELD_OPENSTACK_PROJECT_ID,
                                     CFR_FIELD_OPENSTACK_REGION_NAME,
                                     CFR_FIELD_OPENSTACK_INTERFACE,
                                     CFR_FIELD_OPENSTACK_CACERT,
                                     NULL};

const struct cfr_rotation_provider cfr_rotation_openstack_provider = {
    .grants = grants,
    .admin_has = "a token",
    .name = "openstack",
    .table = &cfr_rotation_openstack_table,
    .doc = CFR_DOC("Application credentials of an OpenStack user."),
    .names = true,
    .verify_count = 3,
    .verify_wait_s = 10,
    .subject = subject,
    .account = account,
    .build = build,
    .parse = cfr_rotation_openstack_parse,
    .recognize = cfr_rotation_openstack_recognize,
    .trial = trial,
};
