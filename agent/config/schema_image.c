/* SPDX-License-Identifier: MIT */
/* The table of what the kubelet is answered for images. */
#include "agent/config/schema_private.h"

#define AT(member) offsetof(struct cfr_config_image, member)
static const struct cfr_field image_fields[] = {
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED,
     .doc = CFR_DOC("Its name in errors: 1 to 63 letters, digits, dots, dashes and underscores, beginning with a "
                    "letter or a "
                    "digit.")},
    {FIELD(match, STRINGS), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = CFR_CONFIG_MATCHES_MAX,
     .doc = CFR_DOC(
         "The images to which it applies, with the syntax of the kubelet's `matchImages`: `*.dkr.ecr.*.amazonaws.com`, "
         "`europe-docker.pkg.dev/project`, `registry.example.net:5000`. `*` matches characters within one "
         "part of the host's name.")},
    {FIELD(exchange, MAP), .flags = CFR_FIELD_REQUIRED, .table = &cfr_config_exchange_table,
     .doc = CFR_DOC("The provider of the login, one that supports registries (aws, aws_container, gcp, "
                    "azure). If it names no registry (`ecr`, `artifact_registry`, `acr`), it logs in to "
                    "the registry of the image.")},
    {FIELD(token, MAP), .table = &cfr_config_token_table,
     .doc = CFR_DOC("The token for requests without a token of the pod's service account. Default: such "
                    "a request fails, if the exchange needs a token.")},
    {FIELD(audience, STRING), .min = 1, .max = 512,
     .doc = CFR_DOC("What the `aud` of the token in the kubelet's request must contain. Default: not checked.")},
    {FIELD_AS("cache", cache_ms, DURATION), .flags = CFR_FIELD_UNSET, .min = 0, .max = 7 * CFR_DAY_MS,
     .doc = CFR_DOC("Longest time that the kubelet may cache the login; 0s disables caching. It always "
                    "ends ten minutes before the login expires. Default: until then.")},
    {FIELD(annotations, PAIRS), .min = 1, .max = 16,
     .doc = CFR_DOC("Keys of the provider that an annotation of the pod's service account sets, such as `role_arn: "
                    "eks.amazonaws.com/role-arn`. Without the annotation, the value in `exchange` counts. Only text "
                    "keys, and none that names a file or the destination of requests.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_image_table = {
    .name = "image credential",
    .size = sizeof(struct cfr_config_image),
    .fields = image_fields,
    .check = cfr_config_rules_image,
    .doc = CFR_DOC("A login to a registry, for the kubelet to pull images with (`credfresh "
                   "image-credential-provider`). It is never written to a disk."),
};
