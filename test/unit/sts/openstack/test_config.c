/* SPDX-License-Identifier: MIT */
/* The configuration of the OpenStack provider: defaults, and every combination of keys that is refused. */
#include "openstack_sample.h"

#include "base/view.h"
#include "sts/openstack/openstack_private.h"
#include "sts/providers.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define URL       "auth_url", "https://keystone.test:5000/v3"
#define ID        "application_credential_id", "0a1b", "application_credential_secret_file", "/s"
#define USER      "username", "svc", "user_domain_name", "Default", "password_file", "/p"
#define IDP       "identity_provider", "k8s", "protocol", "openid"
#define PROJECT   "project_id", "p1"

/* Makes a configuration from keys and values in turn, up to a NULL; the caller frees it with drop. */
static struct cfr_openstack make(const char *const *settings)
{
    struct cfr_openstack c = {0};
    struct cfr_err err = {0};

    assert_int_equal(cfr_field_defaults(cfr_openstack_provider.table, &c, &err), 0);
    for (; *settings != NULL; settings += 2) {
        const struct cfr_field *f = cfr_field_find(cfr_openstack_provider.table, cfr_view_of(settings[0]));

        assert_non_null(f);
        if (cfr_field_store(f, &c, cfr_view_of(settings[1]), false, &err) != 0)
            fail_msg("%s: %s", settings[0], err.text);
    }
    return c;
}

static void drop(struct cfr_openstack *c)
{
    cfr_field_free(cfr_openstack_provider.table, c);
}

/* WHY NULL means that the check must pass. */
static void check(const char *const *settings, const char *why)
{
    struct cfr_openstack c = make(settings);
    struct cfr_err err = {0};
    int rc = cfr_openstack_provider.table->check(&c, &err);

    if (why == NULL && rc != 0)
        fail_msg("%s", err.text);
    if (why != NULL && (rc != CFR_E_CONFIG || strncmp(err.text, why, strlen(why)) != 0))
        fail_msg("expected \"%s\", got %d \"%s\"", why, rc, err.text);
    drop(&c);
}

static void defaults(void **state)
{
    struct cfr_openstack c = make(LIST(URL));

    (void)state;
    assert_int_equal(c.interface, CFR_OPENSTACK_PUBLIC);
    assert_int_equal(c.system_scope, CFR_OPENSTACK_SYSTEM_NONE);
    assert_false(c.catalog);
    assert_null(c.region_name);
    drop(&c);
    assert_ptr_equal(cfr_sts_find(cfr_view_of("openstack")), &cfr_openstack_provider);
}

/* Every key has a text for the reference page and valid limits, and the secrets' files are read by the agent.
 */
static void the_table_is_whole(void **state)
{
    (void)state;
    for (const struct cfr_field *f = cfr_openstack_provider.table->fields; f->key != NULL; f++) {
        bool secret = strcmp(f->key, "application_credential_secret_file") == 0 || strcmp(f->key, "password_file") == 0;

        assert_true(f->doc != NULL && strlen(f->doc) > 40 && f->doc[strlen(f->doc) - 1] == '.');
        assert_true(f->offset >= sizeof(struct cfr_node) && f->offset < cfr_openstack_provider.table->size);
        assert_true(f->min <= f->max);
        assert_int_equal((f->flags & CFR_FIELD_CONTENT) != 0, secret);
    }
}

static void urls(void **state)
{
    (void)state;
    check(LIST("auth_url", "https://keystone.test", ID), NULL);
    check(LIST("auth_url", "https://keystone.test/", ID), NULL);
    check(LIST("auth_url", "https://keystone.test/identity/v3//", ID), NULL);
    check(LIST("auth_url", "http://127.0.0.1:5000/v3", ID), NULL);
    check(LIST("auth_url", "http://keystone.test/v3", ID), "auth_url: plain http is only for");
    check(LIST("auth_url", "keystone.test", ID), "auth_url: it must be a URL");
    check(LIST("auth_url", "https://keystone.test/v3?x=1", ID), "auth_url: it has a query");
    check(LIST("auth_url", "https://keystone.test/v3/auth/tokens", ID), "auth_url: remove everything after /v3");
    check(LIST("auth_url", "https://keystone.test:5000/v2.0/", ID), "auth_url: it names version 2.0");
    check(LIST("auth_url", "http://127.0.0.1:5000/v3", ID, "ca_file", "/ca"), "ca_file: it has no effect");
}

static void application_credentials(void **state)
{
    static const char *const scopes[] = {"project_id",          "project_name", "project_domain_id",
                                         "project_domain_name", "domain_id",    "domain_name"};
    static const char *const users[] = {"user_id", "username", "user_domain_id", "user_domain_name"};
    char why[64];

    (void)state;
    check(LIST(URL, ID), NULL);
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        (void)snprintf(why, sizeof why, "%s: an application credential is for the project", scopes[i]);
        check(LIST(URL, ID, scopes[i], "x"), why);
    }
    check(LIST(URL, ID, "system_scope", "all"), "system_scope: an application credential is for the project");
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        (void)snprintf(why, sizeof why, "%s: application_credential_id says whose it is", users[i]);
        check(LIST(URL, ID, users[i], "x"), why);
    }
    check(LIST(URL, ID, "application_credential_name", "n"), "application_credential_name: application_credential_id");
    check(LIST(URL, "application_credential_id", "x"), "application_credential_secret_file: it is missing");
    check(LIST(URL, "application_credential_secret_file", "/s"), "application_credential_id: it is missing");
}

static void application_credentials_by_name(void **state)
{
#define NAME "application_credential_name", "robot", "application_credential_secret_file", "/s"
    (void)state;
    check(LIST(URL, NAME, "user_id", "u"), NULL);
    check(LIST(URL, NAME, "username", "u", "user_domain_id", "default"), NULL);
    check(LIST(URL, NAME, "username", "u", "user_domain_name", "Default"), NULL);
    check(LIST(URL, NAME), "application_credential_name: names are unique for a user only");
    check(LIST(URL, NAME, "username", "u"), "username: names are unique in a domain only");
    check(LIST(URL, NAME, "user_id", "u", "username", "v"), "username: user_id says the same");
    check(LIST(URL, NAME, "user_id", "u", "user_domain_id", "d"), "user_domain_id: it has no effect without username");
    check(LIST(URL, NAME, "username", "u", "user_domain_id", "d", "user_domain_name", "D"), "user_domain_name: user_");
    check(LIST(URL, NAME, "user_id", "u", PROJECT), "project_id: an application credential");
}

static void passwords(void **state)
{
    (void)state;
    check(LIST(URL, USER, PROJECT), NULL);
    check(LIST(URL, USER, "project_name", "p", "project_domain_id", "default"), NULL);
    check(LIST(URL, USER, "domain_id", "d"), NULL);
    check(LIST(URL, USER, "domain_name", "D"), NULL);
    check(LIST(URL, USER, "system_scope", "all"), NULL);
    check(LIST(URL, "user_id", "u", "password_file", "/p", PROJECT), NULL);
    check(LIST(URL, USER), "project_id: it is missing");
    check(LIST(URL, USER, "project_name", "p"), "project_name: names are unique in a domain only");
    check(LIST(URL, USER, "project_domain_id", "p"), "project_domain_id: it has no effect without project_name");
    check(LIST(URL, USER, PROJECT, "project_name", "p", "project_domain_id", "d"),
          "project_name: project_id says the same");
    check(LIST(URL, USER, PROJECT, "domain_id", "d"), "project_id: a token is for one project, or one domain");
    check(LIST(URL, USER, "domain_id", "d", "domain_name", "d"), "domain_id: a token is for one");
    check(LIST(URL, USER, "domain_id", "d", "system_scope", "all"), "domain_id: a token is for one");
    check(LIST(URL, "password_file", "/p", PROJECT), "password_file: its user is missing");
    check(LIST(URL, "user_id", "u", PROJECT), "password_file: it is missing");
}

static void federation(void **state)
{
    (void)state;
    check(LIST(URL, IDP, PROJECT), NULL);
    check(LIST(URL, IDP), "project_id: it is missing");
    check(LIST(URL, "identity_provider", "k8s", PROJECT), "protocol: it is missing");
    check(LIST(URL, "protocol", "openid", PROJECT), "identity_provider: it is missing");
    check(LIST(URL, IDP, PROJECT, "user_id", "u"), "user_id: with identity_provider Keystone's mapping says");
    check(LIST(URL, "identity_provider", "a/b", "protocol", "openid", PROJECT), "identity_provider: it becomes a part");
    check(LIST(URL, "identity_provider", "k8s", "protocol", "..", PROJECT), "protocol: it becomes a part");
}

static void ways_that_exclude_each_other(void **state)
{
    static const char why[] = "auth_url: needs exactly one way of authentication";

    (void)state;
    check(LIST(URL), why);
    check(LIST(URL, PROJECT), why);
    check(LIST(URL, ID, IDP), why);
    check(LIST(URL, ID, "password_file", "/p"), why);
    check(LIST(URL, IDP, "password_file", "/p", PROJECT), why);
}

static void catalogs(void **state)
{
    (void)state;
    check(LIST(URL, ID, "catalog", "true", "region_name", "R"), NULL);
    check(LIST(URL, ID, "catalog", "true"), "catalog: its endpoints are chosen by region");
}

/* What a mounted Secret says needs no files. */
static void secrets_from_elsewhere(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_openstack_check(&sample_id, &err), 0);
    assert_int_equal(cfr_openstack_check(&sample_password, &err), 0);
    assert_int_equal(cfr_openstack_provider.table->check(&sample_id, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_openstack_way_of(&sample_id), CFR_OPENSTACK_APPLICATION_CREDENTIAL);
    assert_int_equal(cfr_openstack_way_of(&sample_password), CFR_OPENSTACK_PASSWORD);
    assert_int_equal(cfr_openstack_way_of(&sample_federation), CFR_OPENSTACK_FEDERATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(urls),
        cmocka_unit_test(application_credentials),
        cmocka_unit_test(application_credentials_by_name),
        cmocka_unit_test(passwords),
        cmocka_unit_test(federation),
        cmocka_unit_test(ways_that_exclude_each_other),
        cmocka_unit_test(catalogs),
        cmocka_unit_test(secrets_from_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
