/* SPDX-License-Identifier: MIT */
/* Application credentials of an OpenStack user. Source of operations and rules: the Identity API v3
 * reference, and Keystone 22. */
#ifndef CFR_ROTATION_OPENSTACK_PRIVATE_H
#define CFR_ROTATION_OPENSTACK_PRIVATE_H

#include "rotation/provider.h"

/* One element of `access_rules`: what a credential may ask of a service. */
struct cfr_rotation_openstack_rule {
    struct cfr_node node;
    char *service;
    int method;
    char *path;
};

struct cfr_rotation_openstack {
    struct cfr_node node;
    char *auth_url; /* NULL = that of `with`, as is the next */
    char *user_id;
    struct cfr_strings roles; /* names; none = all that the token of `with` has */
    bool unrestricted;
    struct cfr_list access_rules; /* of struct cfr_rotation_openstack_rule; none = everything that the roles allow */
    int64_t lifetime_ms;          /* -1 = without end */
    char *region_name;
    char *ca_file;
};

extern const struct cfr_table cfr_rotation_openstack_table;
extern const struct cfr_rotation_provider cfr_rotation_openstack_provider;

/* What the configuration says, else what `with` was granted; never with a slash at its end. */
struct cfr_view cfr_rotation_openstack_url(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask);
struct cfr_view cfr_rotation_openstack_user(const struct cfr_rotation_openstack *c, const struct cfr_rotation_ask *ask);

/* rotation/openstack_answer.c: the provider's parse and recognize. */
int cfr_rotation_openstack_parse(const void *config, const struct cfr_rotation_ask *ask,
                                 const struct cfr_wire_reply *reply, struct cfr_rotation_answer *out,
                                 struct cfr_err *err);
int cfr_rotation_openstack_recognize(const void *config, const struct cfr_rotation_ask *ask,
                                     const struct cfr_grant *fields, struct cfr_rotation_answer *out,
                                     struct cfr_err *err);

#endif
