/* SPDX-License-Identifier: MIT */
/* Configurations of the OpenStack provider and exchanges with them, by the names that the golden tables use.
 */
#ifndef CFR_TEST_OPENSTACK_SAMPLE_H
#define CFR_TEST_OPENSTACK_SAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "data_file.h"
#include "sts/openstack/openstack.h"

#define SAMPLE_TOKEN    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2lnbmF0dXJl"
#define SAMPLE_SECRET   "dG9wLXNlY3JldC1vZi10aGUtcm9ib3Q"
#define SAMPLE_PASSWORD "correct horse \"battery\""
#define SAMPLE_UNSCOPED "gAAAAABunscoped-token_of-the_first-step"
#define SAMPLE_HEADER   "gAAAAABnew-one_in-an_answer"

static struct cfr_sts_openstack sample_id = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                             .application_credential_id = (char[]){"0a1b2c3d"}};
static struct cfr_sts_openstack sample_name = {.auth_url = (char[]){"https://keystone.test:5000"},
                                               .application_credential_name = (char[]){"robot"},
                                               .username = (char[]){"svc"},
                                               .user_domain_name = (char[]){"Default"}};
static struct cfr_sts_openstack sample_password = {.auth_url = (char[]){"https://keystone.test/identity/v3/"},
                                                   .username = (char[]){"svc"},
                                                   .user_domain_id = (char[]){"default"},
                                                   .project_id = (char[]){"p1"}};
static struct cfr_sts_openstack sample_project_name = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                                       .user_id = (char[]){"u1"},
                                                       .project_name = (char[]){"team \"a\""},
                                                       .project_domain_name = (char[]){"Default"},
                                                       .catalog = true,
                                                       .ca_file = (char[]){"/etc/ca.pem"},
                                                       .region_name = (char[]){"RegionOne"}};
static struct cfr_sts_openstack sample_domain = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                                 .user_id = (char[]){"u1"},
                                                 .domain_name = (char[]){"Nine"}};
static struct cfr_sts_openstack sample_system = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                                 .user_id = (char[]){"u1"},
                                                 .system_scope = CFR_STS_OPENSTACK_SYSTEM_ALL};
static struct cfr_sts_openstack sample_federation = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                                     .identity_provider = (char[]){"k8s"},
                                                     .protocol = (char[]){"openid"},
                                                     .project_id = (char[]){"p1"}};
static struct cfr_sts_openstack sample_catalog = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                                  .application_credential_id = (char[]){"0a1b2c3d"},
                                                  .region_name = (char[]){"Atlantis"},
                                                  .interface = CFR_STS_OPENSTACK_INTERNAL,
                                                  .catalog = true};
static struct cfr_sts_openstack sample_region = {.auth_url = (char[]){"https://keystone.test:5000/v3"},
                                                 .application_credential_id = (char[]){"0a1b2c3d"},
                                                 .region_name = (char[]){"RegionOne"},
                                                 .interface = CFR_STS_OPENSTACK_INTERNAL,
                                                 .catalog = true};

/* "scope" is the second step of "federation". */
static inline struct cfr_sts_exchange sample_exchange(struct cfr_view name)
{
    static const struct {
        const char *name;
        const struct cfr_sts_openstack *config;
    } all[] = {
        {"id", &sample_id},
        {"name", &sample_name},
        {"password", &sample_password},
        {"project-name", &sample_project_name},
        {"domain", &sample_domain},
        {"system", &sample_system},
        {"federation", &sample_federation},
        {"scope", &sample_federation},
        {"catalog", &sample_catalog},
        {"region", &sample_region},
    };
    struct cfr_sts_exchange x = {.provider = &cfr_sts_openstack_provider};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (cfr_view_is(name, all[i].name))
            x.config = all[i].config;
    }
    assert_non_null(x.config);
    x.step = cfr_view_is(name, "scope");
    if (x.step == 1)
        assert_int_equal(
            cfr_grant_set(&x.grant, CFR_FIELD_OPENSTACK_TOKEN, cfr_view_of(SAMPLE_UNSCOPED), NULL), 0);
    return x;
}

static inline struct cfr_sts_input sample_input(void)
{
    static struct cfr_sts_content contents[2];

    contents[0] = (struct cfr_sts_content){"application_credential_secret_file", cfr_view_of(SAMPLE_SECRET)};
    contents[1] = (struct cfr_sts_content){"password_file", cfr_view_of(SAMPLE_PASSWORD)};
    return (struct cfr_sts_input){.credential = "registry",
                                  .token = cfr_view_of(SAMPLE_TOKEN),
                                  .subject = cfr_view_of("system:serviceaccount:ns-a:sa-b"),
                                  .contents = contents,
                                  .content_count = 2,
                                  .now_s = 1767323045};
}

#endif
