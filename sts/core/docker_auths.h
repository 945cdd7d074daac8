/* SPDX-License-Identifier: MIT */
/* Logins to container registries, gathered for the output format docker-config.
 * Source of the shape: docker's config.json, `auths`. */
#ifndef CFR_STS_CORE_DOCKER_AUTHS_H
#define CFR_STS_CORE_DOCKER_AUTHS_H

#include "base/field.h"
#include "base/grant.h"

/* Adds (or, for a host that is there already, refuses with CFR_E_CONFIG) a login to the grant's field
 * CFR_FIELD_REGISTRY_AUTHS: `"HOST":{"username":...,"password":...,"auth":base64(user:password)}`. */
int cfr_docker_auths_add(struct cfr_grant *g, const char *host, struct cfr_view user, struct cfr_view password,
                         struct cfr_err *err);
/* Takes the next password, or encoded login, from AUTHS, a value of CFR_FIELD_REGISTRY_AUTHS, into SECRET: the hosts
 * and the user names between them are no secrets. Views into AUTHS, escaped as there. False at the end. */
bool cfr_docker_auths_next_secret(struct cfr_view *auths, struct cfr_view *secret);
/* True for a registry host as it is before the first `/` of an image name, with an optional port. */
bool cfr_docker_auths_host_ok(struct cfr_view host);
/* True if HOST, whatever its port, is one of DOMAINS (NULL-terminated): ".x.example" is every name below x.example. */
bool cfr_docker_auths_host_in(struct cfr_view host, const char *const *domains);
/* Fills an empty LIST of a configuration with HOST, or with EXAMPLE if that is empty, too. CFR_E_NOMEM. */
int cfr_docker_auths_default(struct cfr_strings *list, struct cfr_view host, const char *example, struct cfr_err *err);

#endif
