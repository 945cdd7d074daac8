/* SPDX-License-Identifier: MIT */
/* Recommended ways of the SDKs, as hints on a list of environment variables. Source: docs/sdks.md, whose table
 * test/integ/test_env.py compares with this one. */
#include "serve/sdk/env.h"

#define AWS_INSTEAD "serve the credential by the endpoint aws_container, or take `credfresh get aws`"

/* What SDKs that come by VARIABLE do with it. */
static const struct hint {
    const char *variable;
    const char *take;    /* SDKs for which it is the way to take */
    const char *avoid;   /* SDKs for which it does not work; NULL = none is known */
    const char *why;     /* and why not */
    const char *instead; /* what to take */
} hints[] = {
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI",
     "aws-sdk-go-v2, AWS SDK for Java 2, AWS SDK for Java 1, @aws-sdk (v3), boto3, aiobotocore, aws-config, "
     "object_store",
     NULL, NULL, NULL},
    {"IDENTITY_ENDPOINT", "azidentity, azure-identity, @azure/identity, azure_identity, object_store", NULL, NULL,
     NULL},
    {"GCE_METADATA_HOST", "cloud.google.com/go/auth, google-auth-library, google-auth, google-cloud-auth, object_store",
     NULL, NULL, NULL},
    {"OS_CLIENT_CONFIG_FILE", "gophercloud, openstacksdk", NULL, NULL, NULL},
    {"REGISTRY_AUTH_FILE", "go-containerregistry", NULL, NULL, NULL},
    {"AWS_EC2_METADATA_SERVICE_ENDPOINT", NULL,
     "aws-sdk-go-v2, AWS SDK for Java 2, AWS SDK for Java 1, boto3, aiobotocore",
     "extend the life of its keys by themselves and send expired ones; container credentials are better", AWS_INSTEAD},
    {"AWS_SHARED_CREDENTIALS_FILE", NULL,
     "aws-sdk-go-v2, AWS SDK for Java 2, AWS SDK for Java 1, @aws-sdk (v3), boto3, aws-config",
     "read this file once, but for Java 2 with ProfileFileSupplier.reloadWhenModified", AWS_INSTEAD},
    {"GOOGLE_APPLICATION_CREDENTIALS", NULL, "google-cloud-auth",
     "may give up for good in an outage of the token service",
     "serve the credential by the endpoint gce_metadata, or take `credfresh get gcp`"},
};

static void hint_exceptions(const struct cfr_sdk_env *e, struct cfr_str *out)
{
    const struct cfr_sdk_env_variable *token = cfr_sdk_env_find(e, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");

    if (token != NULL)
        cfr_str_addf(out,
                     "botocore before 1.32 does not read AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: give such a program "
                     "the content of %s in AWS_CONTAINER_AUTHORIZATION_TOKEN instead\n",
                     token->value);
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_AZURE_IMDS) && !cfr_sdk_env_has_way(e, CFR_SDK_ENV_AZURE_APP_SERVICE))
        cfr_str_addz(out, "azidentity asks 169.254.169.254, whatever AZURE_POD_IDENTITY_AUTHORITY_HOST says: serve the "
                          "credential there, or by the endpoint azure_app_service\n");
}

void cfr_sdk_env_hint(const struct cfr_sdk_env *e, struct cfr_str *out)
{
    const size_t count = sizeof hints / sizeof hints[0];

    for (size_t i = 0; i < count; i++) {
        if (hints[i].take != NULL && cfr_sdk_env_find(e, hints[i].variable) != NULL)
            cfr_str_addf(out, "%s is the recommended way for %s\n", hints[i].variable, hints[i].take);
    }
    for (size_t i = 0; i < count; i++) {
        if (hints[i].avoid != NULL && cfr_sdk_env_find(e, hints[i].variable) != NULL)
            cfr_str_addf(out, "%s is not the way for %s: they %s; %s\n", hints[i].variable, hints[i].avoid,
                         hints[i].why, hints[i].instead);
    }
    hint_exceptions(e, out);
}
