/* SPDX-License-Identifier: MIT */
/* OpenStack Keystone (Identity API v3): a token for an application credential, for a password, or for an
 * access token of an identity provider that Keystone federates with. */
#ifndef CFR_STS_OPENSTACK_OPENSTACK_H
#define CFR_STS_OPENSTACK_OPENSTACK_H

#include "sts/core/provider.h"

enum cfr_openstack_interface { CFR_OPENSTACK_PUBLIC, CFR_OPENSTACK_INTERNAL, CFR_OPENSTACK_ADMIN };
enum cfr_openstack_system { CFR_OPENSTACK_SYSTEM_NONE, CFR_OPENSTACK_SYSTEM_ALL };

/* `exchange: openstack:`. The secrets themselves come as contents, under the keys
 * application_credential_secret_file and password_file, also where they were not read from files of these
 * names. */
struct cfr_openstack {
    struct cfr_node node;
    char *auth_url;
    char *application_credential_id;
    char *application_credential_name;
    char *application_credential_secret_file;
    char *user_id;
    char *username;
    char *user_domain_id;
    char *user_domain_name;
    char *password_file;
    char *identity_provider;
    char *protocol;
    char *project_id;
    char *project_name;
    char *project_domain_id;
    char *project_domain_name;
    char *domain_id;
    char *domain_name;
    int system_scope; /* enum cfr_openstack_system */
    char *region_name;
    int interface; /* enum cfr_openstack_interface */
    char *ca_file;
    bool catalog;
};

/* How a configuration authenticates. */
enum cfr_openstack_way {
    CFR_OPENSTACK_NO_WAY,
    CFR_OPENSTACK_APPLICATION_CREDENTIAL,
    CFR_OPENSTACK_PASSWORD,
    CFR_OPENSTACK_FEDERATION
};

extern const struct cfr_sts_provider cfr_openstack_provider;
/* "public", "internal", "admin"; NULL-terminated. */
extern const char *const cfr_openstack_interfaces[];

/* The interface that TEXT names as clouds.yaml and the OS_ variables do, without regard to case and with or without
 * `URL` at its end: an enum cfr_openstack_interface, or -1. */
int cfr_openstack_interface_of(struct cfr_view text);

/* Every rule but that the secrets come from files: for a configuration made from a Secret. CFR_E_CONFIG, with
 * a text that begins with the key. */
int cfr_openstack_check(const struct cfr_openstack *c, struct cfr_err *err);

#endif
