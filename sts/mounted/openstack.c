/* SPDX-License-Identifier: MIT */
/* Mounted Secrets of OpenStack: clouds.yaml with one cloud, and the CA next to it.
 * Source: the cloud credential operator's OpenStack actuator; openstacksdk's configuration files. */
#include "sts/mounted/mounted_private.h"

#include "sts/core/config.h"
#include "sts/openstack/openstack.h"

#include <stdio.h>
#include <string.h>

/* The text at KEY of a mapping, or an empty view. */
static struct cfr_view text_at(const struct cfr_yaml_node *map, const char *key)
{
    const struct cfr_yaml_node *v = map != NULL && map->kind == CFR_YAML_MAP ? cfr_yaml_get(map, key, NULL) : NULL;

    return v != NULL && v->kind == CFR_YAML_SCALAR && !cfr_yaml_is_null(v) ? v->text : (struct cfr_view){NULL, 0};
}

static int find_cloud(const struct cfr_mounted_case *c, const struct cfr_yaml_node *root,
                      const struct cfr_yaml_node **cloud)
{
    const struct cfr_yaml_node *clouds = root->kind == CFR_YAML_MAP ? cfr_yaml_get(root, "clouds", NULL) : NULL;

    if (clouds == NULL || clouds->kind != CFR_YAML_MAP || clouds->count == 0)
        return cfr_err_set(c->err, CFR_E_CONFIG, "clouds.yaml has no `clouds:` with a cloud below it");
    *cloud = cfr_yaml_get(clouds, "openstack", NULL);
    if (*cloud == NULL && clouds->count == 1)
        *cloud = clouds->child->next;
    if (*cloud == NULL)
        return cfr_err_set(c->err, CFR_E_CONFIG, "clouds.yaml has %zu clouds, and none is named openstack",
                           clouds->count);
    return (*cloud)->kind == CFR_YAML_MAP
               ? 0
               : cfr_err_set(c->err, CFR_E_CONFIG, "the cloud in clouds.yaml is not a mapping");
}

/* A thing's id and name, each of which its domain may go with. clouds.yaml often says all of it. */
struct named {
    const char *id;
    const char *name;
    const char *domain_id;
    const char *domain_name;
};

/* As gophercloud reads it: a domain without a `user_` or `project_` before it means both. */
static int fill_domain(const struct cfr_mounted_case *c, const struct cfr_yaml_node *auth, const struct named *n,
                       const struct named *other)
{
    const char *const places[] = {n->domain_id,     n->domain_name,     "domain_id",         "domain_name",
                                  other->domain_id, other->domain_name, "default_domain_id", "default_domain_name"};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct cfr_view domain = text_at(auth, places[i]);

        if (domain.n != 0)
            return cfr_mounted_fill(c, i % 2 == 0 ? n->domain_id : n->domain_name, domain);
    }
    return 0;
}

/* The id alone where there is one: Keystone refuses what says the same twice. */
static int fill_named(const struct cfr_mounted_case *c, const struct cfr_yaml_node *auth, const struct named *n,
                      const struct named *other)
{
    int rc;

    if (text_at(auth, n->id).n != 0)
        return cfr_mounted_fill(c, n->id, text_at(auth, n->id));
    if (text_at(auth, n->name).n == 0)
        return 0;
    rc = cfr_mounted_fill(c, n->name, text_at(auth, n->name));
    return rc == 0 ? fill_domain(c, auth, n, other) : rc;
}

/* True if the configuration names any of them itself, which then is all there is. */
static bool has_named(const char *id, const char *name)
{
    return id != NULL || name != NULL;
}

/* The host that the Secret names gets the Secret's own secret, and none of the configuration's. */
static int fill_url(const struct cfr_mounted_case *c, struct cfr_view url)
{
    const struct cfr_openstack *o = c->out->config;
    const char *own = o->password_file != NULL                        ? "password_file"
                      : o->application_credential_secret_file != NULL ? "application_credential_secret_file"
                      : o->identity_provider != NULL                  ? "identity_provider"
                                                                      : NULL;

    if (o->auth_url != NULL || url.n == 0)
        return 0;
    if (own != NULL)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "it names the auth_url to which %s of `exchange: {openstack: ...}` would go, and a Secret "
                           "does not decide that: set `auth_url` there, too",
                           own);
    if (!cfr_view_starts(url, "https://"))
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "auth_url in clouds.yaml is not https; if it is to be used, set `auth_url` in "
                           "`exchange: {openstack: ...}`");
    return cfr_mounted_fill(c, "auth_url", url);
}

static int fill_auth(const struct cfr_mounted_case *c, const struct cfr_yaml_node *auth)
{
    static const struct named user = {"user_id", "username", "user_domain_id", "user_domain_name"};
    static const struct named project = {"project_id", "project_name", "project_domain_id", "project_domain_name"};
    const struct cfr_openstack *o = c->out->config;
    bool app = text_at(auth, "application_credential_secret").n != 0;
    bool by_id = text_at(auth, "application_credential_id").n != 0;
    bool scoped = has_named(o->project_id, o->project_name) || has_named(o->domain_id, o->domain_name) ||
                  o->system_scope != CFR_OPENSTACK_SYSTEM_NONE;
    int rc = fill_url(c, text_at(auth, "auth_url"));

    if (rc == 0 && app && !has_named(o->application_credential_id, o->application_credential_name))
        rc = cfr_mounted_fill(c, by_id ? "application_credential_id" : "application_credential_name",
                              text_at(auth, by_id ? "application_credential_id" : "application_credential_name"));
    /* An application credential brings its project, and with its id its user. */
    if (rc == 0 && o->application_credential_id == NULL && !has_named(o->user_id, o->username))
        rc = fill_named(c, auth, &user, &project);
    if (rc == 0 && !app && !scoped)
        rc = fill_named(c, auth, &project, &user);
    return rc;
}

/* The secret outlives the document that it is in. */
static int store_secret(const struct cfr_mounted_case *c, const struct cfr_yaml_node *auth)
{
    struct cfr_view app = text_at(auth, "application_credential_secret");
    struct cfr_view secret = app.n != 0 ? app : text_at(auth, "password");
    int rc;

    if (secret.n == 0)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "clouds.yaml has neither application_credential_secret nor password below auth");
    cfr_secret_init(&c->out->own, secret.n);
    rc = cfr_secret_append(&c->out->own, secret, c->err);
    if (rc != 0)
        return rc;
    return cfr_mounted_content(c, app.n != 0 ? "application_credential_secret_file" : "password_file",
                               cfr_secret_view(&c->out->own));
}

/* The path in clouds.yaml is one of the pods that it was written for; the Secret's own key is here, and consumers are
 * given its path. */
static int fill_ca(const struct cfr_mounted_case *c, const struct cfr_yaml_node *cloud)
{
    struct cfr_view pem = cfr_mounted_get(c, "cacert");
    char own[4096];
    int rc = 0;
    int n;

    if (cfr_sts_config_has(c->out->provider, c->out->config, "ca_file"))
        return 0;
    if (pem.n == 0)
        return text_at(cloud, "cacert").n == 0
                   ? 0
                   : cfr_err_set(c->err, CFR_E_CONFIG,
                                 "cacert in clouds.yaml names a file, and a Secret names none of this machine: put the "
                                 "certificates into the Secret's key cacert, or set `ca_file` in "
                                 "`exchange: {openstack: ...}`");
    if (c->options->directory != NULL) {
        n = snprintf(own, sizeof own, "%s/cacert", c->options->directory);
        if (n < 0 || (size_t)n >= sizeof own)
            return cfr_err_set(c->err, CFR_E_CONFIG, "cacert: its path is too long");
        rc = cfr_sts_config_set(c->out->provider, c->out->config, "ca_file", (struct cfr_view){own, (size_t)n}, c->err);
    }
    return rc != 0 ? rc : cfr_mounted_ca(c, "cacert", pem);
}

/* `endpoint_type` is the older name. */
static int fill_interface(const struct cfr_mounted_case *c, const struct cfr_yaml_node *cloud)
{
    const char *key = cfr_yaml_get(cloud, "interface", NULL) != NULL ? "interface" : "endpoint_type";
    struct cfr_openstack *o = c->out->config;
    int interface = cfr_openstack_interface_of(text_at(cloud, key));

    if (o->interface != CFR_OPENSTACK_PUBLIC || cfr_yaml_get(cloud, key, NULL) == NULL)
        return 0;
    if (interface < 0)
        return cfr_err_set(c->err, CFR_E_CONFIG, "%s in clouds.yaml must be public, internal or admin", key);
    o->interface = interface;
    cfr_mounted_taken(c, "interface");
    return 0;
}

/* Of keystoneauth's plugins, those whose secret a Secret can bring. */
static bool is_known_login(struct cfr_view type)
{
    return type.n == 0 || cfr_view_is(type, "password") || cfr_view_is(type, "v3password") ||
           cfr_view_is(type, "v3applicationcredential");
}

static bool is_word(struct cfr_view text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (cfr_view_is_nocase(text, *words))
            return true;
    }
    return false;
}

/* YAML and openstacksdk have several words for each. */
static bool turns_verification_off(const struct cfr_yaml_node *cloud)
{
    static const char *const off[] = {"false", "no", "off", "0", NULL};
    static const char *const on[] = {"true", "yes", "on", "1", NULL};

    return is_word(text_at(cloud, "verify"), off) || is_word(text_at(cloud, "insecure"), on);
}

/* Keys that decide where or how to log in, and that credfresh does not follow. Those of other services have no effect
 * on that, and are not mentioned. */
static int refuse_keys(const struct cfr_mounted_case *c, const struct cfr_yaml_node *cloud,
                       const struct cfr_yaml_node *auth)
{
    static const struct {
        const char *key;
        const char *why;
    } refused[] = {
        {"trust_id", "is not supported: the session would not be limited to the trust"},
        {"passcode", "is not supported: an unattended agent has no device"},
    };
    const struct cfr_openstack *o = c->options->config;
    bool has_vendor = cfr_yaml_get(cloud, "profile", NULL) != NULL || cfr_yaml_get(cloud, "cloud", NULL) != NULL;

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (text_at(auth, refused[i].key).n != 0)
            return cfr_err_set(c->err, CFR_E_CONFIG, "%s in clouds.yaml %s", refused[i].key, refused[i].why);
    }
    if (text_at(auth, "system_scope").n != 0 && (o == NULL || o->system_scope == CFR_OPENSTACK_SYSTEM_NONE))
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "system_scope in clouds.yaml is not followed: set `system_scope` in "
                           "`exchange: {openstack: ...}`");
    if (cfr_view_starts(text_at(cloud, "identity_api_version"), "2"))
        return cfr_err_set(c->err, CFR_E_CONFIG, "identity_api_version in clouds.yaml must be 3");
    if (has_vendor && text_at(auth, "auth_url").n == 0 && (o == NULL || o->auth_url == NULL))
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "profile in clouds.yaml names a vendor's settings, which credfresh does not have: write "
                           "auth_url below `auth:`");
    return 0;
}

static void note_ignored(const struct cfr_mounted_case *c, const struct cfr_yaml_node *cloud)
{
    static const char *const ignored[] = {"profile", "cloud", "cert", "key", "regions"};
    char list[64] = "";
    char note[128];
    size_t n = 0;

    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        bool replaced = strcmp(ignored[i], "regions") == 0 && text_at(cloud, "region_name").n != 0;

        if (cfr_yaml_get(cloud, ignored[i], NULL) == NULL || replaced)
            continue;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n != 0 ? ", " : "", ignored[i]);
    }
    if (n == 0)
        return;
    (void)snprintf(note, sizeof note, "ignoring %s in clouds.yaml", list);
    cfr_mounted_note(c, note);
}

static int configure_cloud(const struct cfr_mounted_case *c, const struct cfr_yaml_node *cloud)
{
    const struct cfr_yaml_node *auth = cfr_yaml_get(cloud, "auth", NULL);
    int rc;

    if (auth == NULL || auth->kind != CFR_YAML_MAP)
        return cfr_err_set(c->err, CFR_E_CONFIG, "the cloud in clouds.yaml has no `auth:`");
    if (c->options->pass_on)
        return 0;
    if (turns_verification_off(cloud))
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "clouds.yaml turns the verification of certificates off; name the CA with `cacert` instead");
    if (!is_known_login(text_at(cloud, "auth_type")))
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "auth_type in clouds.yaml must be password, v3password or v3applicationcredential");
    rc = refuse_keys(c, cloud, auth);
    if (rc == 0)
        rc = cfr_mounted_exchange(c, &cfr_openstack_provider);
    note_ignored(c, cloud);
    if (rc == 0)
        rc = cfr_mounted_fill(c, "region_name", text_at(cloud, "region_name"));
    if (rc == 0)
        rc = fill_ca(c, cloud);
    if (rc == 0)
        rc = fill_auth(c, auth);
    if (rc == 0)
        rc = store_secret(c, auth);
    if (rc == 0)
        rc = fill_interface(c, cloud);
    return rc != 0 ? rc : cfr_openstack_check(c->out->config, c->err);
}

int cfr_mounted_openstack(const struct cfr_mounted_case *c)
{
    struct cfr_view text;
    const struct cfr_yaml_node *cloud = NULL;
    struct cfr_yaml *doc = NULL;
    int rc = cfr_mounted_await(c, "clouds.yaml", &text);

    if (rc == 0)
        rc = cfr_mounted_yaml(c, "clouds.yaml", text, &doc);
    if (rc == 0)
        rc = find_cloud(c, cfr_yaml_root(doc), &cloud);
    if (rc == 0)
        rc = configure_cloud(c, cloud);
    cfr_yaml_free(doc);
    return rc;
}
