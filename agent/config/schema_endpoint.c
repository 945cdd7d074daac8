/* SPDX-License-Identifier: MIT */
/* The tables of local endpoints, and of who may ask on the token socket. */
#include "agent/config/schema_private.h"

#define DOC_CREDENTIAL "Which credential, by its name."

#define AT(member)     offsetof(struct cfr_config_proof, member)
static const struct cfr_field proof_fields[] = {
    {FIELD(file, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = "The file. It is made with a random content where there is none, and kept over restarts."},
    {FIELD(mode, MODE), .doc = "Its permission bits, octal and in quotes. Default: \"0600\"."},
    {FIELD(owner, STRING), .min = 1, .max = 256,
     .doc = "User name or number that owns it. Default: the user that credfresh runs as."},
    {FIELD(group, STRING), .min = 1, .max = 256,
     .doc = "Group name or number that owns it. Default: the group that credfresh runs as."},
    {FIELD(existing, BOOL), .fallback = "false",
     .doc = "Somebody else makes it (a service-account token, a Secret of the cluster): it is only read, again each "
            "time it "
            "changes."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table proof_table = {
    .name = "file of what a client must show",
    .size = sizeof(struct cfr_config_proof),
    .fields = proof_fields,
    .check = cfr_config_rules_proof,
    .doc = "A file with what a client must show: whoever can read it can have the credential.",
};

#define AT(member) offsetof(struct cfr_config_aws_container, member)
static const struct cfr_field container_fields[] = {
    {FIELD_AS("credential", serve.credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = DOC_CREDENTIAL},
    {FIELD_AS("path", serve.path, STRING), .min = 2, .max = 128,
     .doc = "Path of the URL. Default: `/aws/` and the credential's name."},
    {FIELD(authorization, MAP), .flags = CFR_FIELD_REQUIRED, .table = &proof_table,
     .doc = "What the client's Authorization header must hold; its file is the SDK's "
            "`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table container_table = {
    .name = "AWS container endpoint",
    .size = sizeof(struct cfr_config_aws_container),
    .fields = container_fields,
    .check = cfr_config_rules_container,
    .doc = "AWS container credentials (`AWS_CONTAINER_CREDENTIALS_FULL_URI`), which every AWS SDK asks again in time.",
};

#define AT(member) offsetof(struct cfr_sdk_ec2_imds, member)
static const struct cfr_field ec2_fields[] = {
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63, .doc = DOC_CREDENTIAL},
    {FIELD(role, STRING), .min = 1, .max = 128,
     .doc = "The role's name in the listing. Default: that of the role that the credential is of, else the "
            "credential's name."},
    {FIELD(region, STRING), .min = 1, .max = 63,
     .doc = "The region that it says the machine is in. Default: it says none."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table ec2_table = {
    .name = "EC2 metadata endpoint",
    .size = sizeof(struct cfr_sdk_ec2_imds),
    .fields = ec2_fields,
    .check = cfr_config_rules_ec2,
    .doc = "EC2's instance metadata service, version 2, for what knows nothing better. It knows no secret of the "
           "client's: "
           "everybody who can connect has the credential.",
};

#define AT(member) offsetof(struct cfr_sdk_gce_identity, member)
static const struct cfr_field gce_identity_fields[] = {
    {FIELD(audience, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 512,
     .doc = "The audience that a client asks for."},
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = "The credential with the identity token for it (`id_token_audience` of its exchange)."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table gce_identity_table = {
    .name = "identity token",
    .size = sizeof(struct cfr_sdk_gce_identity),
    .fields = gce_identity_fields,
    .doc = "An identity token of the account.",
};

#define AT(member) offsetof(struct cfr_sdk_gce_account, member)
static const struct cfr_field gce_account_fields[] = {
    {FIELD(credential, STRING), .min = 1, .max = 63,
     .doc = "The credential with the access token, by its name. Default: none, the account has identity tokens only."},
    {FIELD(email, STRING), .min = 1, .max = 320,
     .doc = "The account's name. Default: the credential's service account. Several accounts of one name are one with "
            "several "
            "sets of scopes."},
    {FIELD(aliases, STRINGS), .min = 1, .max = 8, .doc = "Further names. The first account is also `default`."},
    {FIELD(scopes, STRINGS), .min = 1, .max = 16,
     .doc = "What the access token is good for. Default: `https://www.googleapis.com/auth/cloud-platform`."},
    {FIELD(identities, LIST), .table = &gce_identity_table, .min = 1, .max = CFR_CONFIG_ACCOUNTS_MAX,
     .doc = "Identity tokens, one for each audience."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table gce_account_table = {
    .name = "account",
    .size = sizeof(struct cfr_sdk_gce_account),
    .fields = gce_account_fields,
    .check = cfr_config_rules_gce_account,
    .doc = "A service account of the machine.",
};

#define AT(member) offsetof(struct cfr_sdk_gce_metadata, member)
static const struct cfr_field gce_fields[] = {
    {FIELD(project_id, STRING), .min = 1, .max = 63, .doc = "The project's id. Default: clients find none."},
    {FIELD(numeric_project_id, STRING), .min = 1, .max = 20, .doc = "The project's number, in quotes."},
    {FIELD(zone, STRING), .min = 1, .max = 63, .doc = "Such as europe-west1-b."},
    {FIELD(universe_domain, STRING), .min = 1, .max = 253,
     .doc = "Default: clients find none, which means googleapis.com."},
    {FIELD(instance_name, STRING), .min = 1, .max = 63, .doc = "The machine's name."},
    {FIELD(instance_id, STRING), .min = 1, .max = 20,
     .doc = "The machine's number, in quotes. Default: one that follows from project, zone and name."},
    {FIELD(cluster_name, STRING), .min = 1, .max = 63,
     .doc = "The Kubernetes cluster's name, for clients that look for it."},
    {FIELD(cluster_location, STRING), .min = 1, .max = 63,
     .doc = "Its location. Default: the zone, where there is a cluster."},
    {FIELD(accounts, LIST), .flags = CFR_FIELD_REQUIRED, .table = &gce_account_table, .min = 1,
     .max = CFR_CONFIG_ACCOUNTS_MAX, .doc = "The machine's service accounts."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table gce_table = {
    .name = "GCE metadata endpoint",
    .size = sizeof(struct cfr_sdk_gce_metadata),
    .fields = gce_fields,
    .check = cfr_config_rules_gce,
    .doc = "The metadata server of Google's machines (`GCE_METADATA_HOST`). It knows no secret of the client's: "
           "everybody who "
           "can connect has the credentials.",
};

#define AT(member) offsetof(struct cfr_sdk_azure_identity, member)
static const struct cfr_field azure_identity_fields[] = {
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63, .doc = DOC_CREDENTIAL},
    {FIELD(client_id, STRING), .min = 1, .max = 64,
     .doc = "What a client selects it by. Default: that of the exchange."},
    {FIELD(object_id, STRING), .min = 1, .max = 64, .doc = "As `client_id`. Default: it cannot be selected so."},
    {FIELD(resource_id, STRING), .min = 1, .max = 1024,
     .doc = "As `client_id`: `/subscriptions/...`. Default: it cannot be selected so."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table azure_identity_table = {
    .name = "identity",
    .size = sizeof(struct cfr_sdk_azure_identity),
    .fields = azure_identity_fields,
    .doc = "A managed identity.",
};

#define AT(member) offsetof(struct cfr_sdk_azure, member)
static const struct cfr_field azure_imds_fields[] = {
    {FIELD(identities, LIST), .flags = CFR_FIELD_REQUIRED, .table = &azure_identity_table, .min = 1,
     .max = CFR_CONFIG_ACCOUNTS_MAX, .doc = "The identities. The first one answers where a client selects none."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table azure_imds_table = {
    .name = "Azure metadata endpoint",
    .size = sizeof(struct cfr_sdk_azure),
    .fields = azure_imds_fields,
    .doc = "Azure's instance metadata service for managed identities (`AZURE_POD_IDENTITY_AUTHORITY_HOST`). It knows "
           "no secret "
           "of the client's: everybody who can connect has the credentials.",
};

#define AT(member) offsetof(struct cfr_config_app_service, member)
static const struct cfr_field app_service_fields[] = {
    {FIELD_AS("identities", serve.identities, LIST), .flags = CFR_FIELD_REQUIRED, .table = &azure_identity_table,
     .min = 1, .max = CFR_CONFIG_ACCOUNTS_MAX,
     .doc = "The identities. The first one answers where a client selects none."},
    {FIELD(header, MAP), .flags = CFR_FIELD_REQUIRED, .table = &proof_table,
     .doc = "What the client's X-IDENTITY-HEADER must hold: the SDK's `IDENTITY_HEADER`."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table app_service_table = {
    .name = "Azure App Service endpoint",
    .size = sizeof(struct cfr_config_app_service),
    .fields = app_service_fields,
    .doc = "Managed identities as Azure App Service has them (`IDENTITY_ENDPOINT` with the path /msi/token).",
};

#define AT(member) offsetof(struct cfr_config_endpoint, member)
static const struct cfr_field endpoint_fields[] = {
    {FIELD(listen, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 64,
     .doc = "ADDRESS:PORT: a loopback address (127.0.0.0/8, [::1]), or one that the SDKs know: 169.254.170.2, "
            "169.254.170.23, [fd00:ec2::23], 169.254.169.254, [fd00:ec2::254], which an interface of this machine must "
            "have."},
    {FIELD(aws_container, ONE_OR_LIST), .table = &container_table, .min = 1, .max = CFR_CONFIG_CONTAINERS_MAX,
     .doc = "AWS container credentials, each with a path of its own."},
    {FIELD(ec2_imds, MAP), .table = &ec2_table, .doc = "EC2's instance metadata."},
    {FIELD(gce_metadata, MAP), .table = &gce_table, .doc = "GCE's metadata server."},
    {FIELD(azure_imds, MAP), .table = &azure_imds_table, .doc = "Azure's instance metadata."},
    {FIELD(azure_app_service, MAP), .table = &app_service_table, .doc = "Azure App Service's managed identities."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_endpoint_table = {
    .name = "endpoint",
    .size = sizeof(struct cfr_config_endpoint),
    .fields = endpoint_fields,
    .check = cfr_config_rules_endpoint,
    .doc = "A local address where credentials are served in the shapes that the clouds' SDKs speak, from memory. One "
           "address "
           "may speak several.",
};

#define AT(member) offsetof(struct cfr_config_allow, member)
static const struct cfr_field allow_fields[] = {
    {FIELD(users, STRINGS), .min = 1, .max = CFR_CONFIG_ALLOWED_MAX, .doc = "User names (of /etc/passwd) or numbers."},
    {FIELD(groups, STRINGS), .min = 1, .max = CFR_CONFIG_ALLOWED_MAX,
     .doc = "Group names (of /etc/group) or numbers; any group of the process counts, not only its first."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_allow_table = {
    .name = "list of who may ask",
    .size = sizeof(struct cfr_config_allow),
    .fields = allow_fields,
    .doc = "Who may have the credential from `token_socket`, beside root and the user that credfresh runs as.",
};
