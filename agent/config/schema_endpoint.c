/* SPDX-License-Identifier: MIT */
/* The tables of local endpoints, and of who may ask on the token socket. */
#include "agent/config/schema_private.h"

#define AT(member) offsetof(struct cfr_config_endpoint, member)
static const struct cfr_field endpoint_fields[] = {
    {FIELD(listen, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 64,
     .doc = CFR_DOC(
         "ADDRESS:PORT: a loopback address (127.0.0.0/8, [::1]), or one that SDKs use by default: 169.254.170.2, "
         "169.254.170.23, [fd00:ec2::23], 169.254.169.254, [fd00:ec2::254], which an interface of this machine must "
         "have.")},
    {FIELD(from, STRINGS), .min = 1, .max = CFR_CONFIG_FROM_MAX,
     .doc = CFR_DOC("Networks, such as 10.244.0.0/16, whose addresses may also connect. Default: none; "
                    "only processes in this machine's or pod's network may. Only with shapes whose "
                    "clients send a secret: `aws_container` and `azure_app_service`.")},
    {FIELD(shapes, ANY_OF), .variant = cfr_sdk_shape_variant},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_endpoint_table = {
    .name = "endpoint",
    .size = sizeof(struct cfr_config_endpoint),
    .fields = endpoint_fields,
    .check = cfr_config_rules_endpoint,
    .doc = CFR_DOC("A local address where credentials are served from memory in the shapes that the clouds' SDKs "
                   "support. One address may serve several."),
};

#define AT(member) offsetof(struct cfr_config_allow, member)
static const struct cfr_field allow_fields[] = {
    {FIELD(users, STRINGS), .min = 1, .max = CFR_CONFIG_ALLOWED_MAX,
     .doc = CFR_DOC("User names (of /etc/passwd) or numbers.")},
    {FIELD(groups, STRINGS), .min = 1, .max = CFR_CONFIG_ALLOWED_MAX,
     .doc = CFR_DOC("Group names (of /etc/group) or numbers; any group of the process counts, not only its first.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_allow_table = {
    .name = "list of who may ask",
    .size = sizeof(struct cfr_config_allow),
    .fields = allow_fields,
    .doc = CFR_DOC("The users that may get the credential from `token_socket`, in addition to root and the user that "
                   "credfresh runs as."),
};
