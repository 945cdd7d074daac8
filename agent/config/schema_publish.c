/* SPDX-License-Identifier: MIT */
/* The tables of where credentials are written. */
#include "agent/config/schema_private.h"
#include "agent/config/kinds.h"
#include "files/format/format.h"

#define DOC_FORMAT "What is written. `credfresh reference formats` explains each format."
#define DOC_MODE   "Permission bits, octal and in quotes. Neither world-writable nor setuid, setgid or sticky."
#define DOC_OWNER                                                                                                      \
    "User name or number that owns it. Default: the user that credfresh runs as; in a directory with an `owner`, "     \
    "that "                                                                                                            \
    "one, and no other."
#define DOC_GROUP "Group name or number that owns it. Default: the group that credfresh runs as."
#define DOC_TOKEN_PATH                                                                                                 \
    "With aws-config, azure-env and gcp-external-account: where the consumer's SDK finds the token that it "           \
    "exchanges. Default of the last two: the `token` file of the same directory. With kubeconfig: the token's file; "  \
    "without one the kubeconfig contains the token."
#define DOC_TEMPLATE                                                                                                   \
    "With format template: the text. `${NAME}` is the value of a field, `$${` the text `${`. An unknown field is an "  \
    "error; if a field has no value, the published content remains. `credfresh reference fields` lists the fields."
#define DOC_VALUES                                                                                                     \
    "With format template: `line` inserts values unchanged and refuses those that are not one line of text; `json` "   \
    "escapes them for the inside of double quotes in JSON or YAML; `raw` inserts them unchanged, such as "             \
    "certificates."

#define AT(member) offsetof(struct cfr_config_file, member)
/* The rows that everything with a format shares. */
#define FORMAT_FIELDS                                                                                                  \
    {FIELD(profile, STRING), .min = 1, .max = 64,                                                                      \
     .doc = CFR_DOC("With formats aws-credentials and aws-config: the name of the profile. Default: default.")},       \
        {FIELD(role_arn, STRING), .min = 1, .max = 2048, .doc = CFR_DOC(CFR_CONFIG_DOC_ROLE_ARN)},                     \
        {FIELD(session_name, STRING), .min = 2, .max = 64, .doc = CFR_DOC(CFR_CONFIG_DOC_SESSION_NAME)},               \
        {FIELD(token_path, STRING), .flags = CFR_FIELD_PATH, .doc = CFR_DOC(DOC_TOKEN_PATH)},                          \
        {FIELD(region, STRING), .min = 1, .max = 63, .doc = CFR_DOC(CFR_CONFIG_DOC_REGION)},                           \
        {FIELD(key, STRING), .min = 1, .max = 253,                                                                     \
         .doc = CFR_DOC("With format secret-key: the key of the mounted Secret. Default: the name.")},                 \
        {FIELD(scope, STRING), .min = 1, .max = 512,                                                                   \
         .doc = CFR_DOC("With format azure-token-json: the scope of the exchange. Default: the first.")},              \
        {FIELD(cloud, STRING), .min = 1, .max = 64,                                                                    \
         .doc = CFR_DOC("With format clouds-yaml: the cloud's name. Default: openstack.")},                            \
        {FIELD(cacert, STRING), .flags = CFR_FIELD_PATH,                                                               \
         .doc = CFR_DOC("With formats clouds-yaml and clouds-conf: where the consumer finds the cloud's CA. Default: " \
                        "the exchange's `ca_file`, a path of this machine: give it in a Secret of the cluster.")},     \
        {FIELD(clouds_auth, ENUM), .fallback = "credential", .choices = clouds_auths,                                  \
         .doc = CFR_DOC("With format clouds-yaml: what the consumer authenticates with, the credential itself or "     \
                        "only the Keystone token.")},                                                                  \
        {FIELD(sts_regional_endpoints, ENUM), .fallback = "unset", .choices = cfr_config_sts_endpoints,                \
         .doc = CFR_DOC(CFR_CONFIG_DOC_STS_ENDPOINTS)},                                                                \
        {FIELD(field, STRING), .min = 1, .max = 600,                                                                   \
         .doc = CFR_DOC("With format field: the name of the field. `credfresh reference fields` lists them.")},        \
        {FIELD_AS("template", template_text, STRING), .flags = CFR_FIELD_VARIABLES, .min = 1, .max = 65536,            \
         .doc = CFR_DOC(DOC_TEMPLATE)},                                                                                \
        {FIELD(values, ENUM), .fallback = "line", .choices = cfr_format_values_names, .doc = CFR_DOC(DOC_VALUES)},     \
        {FIELD(server, STRING), .min = 1, .max = 1024,                                                                 \
         .doc = CFR_DOC("With format kubeconfig: the API server's URL as its reader has it. Default: the one that "    \
                        "the token was requested from.")},                                                             \
    {                                                                                                                  \
        FIELD(command, STRING), .min = 1, .max = 4096, .doc = CFR_DOC(CFR_CONFIG_DOC_COMMAND)                          \
    }
/* Those that files of a directory and single files share. */
#define FILE_FIELDS                                                                                                    \
    {FIELD(format, ENUM), .flags = CFR_FIELD_REQUIRED, .choices = cfr_format_names, .doc = CFR_DOC(DOC_FORMAT)},       \
        {FIELD(mode, MODE), .fallback = "0600", .doc = CFR_DOC(DOC_MODE)},                                             \
        {FIELD(owner, STRING), .min = 1, .max = 256, .doc = CFR_DOC(DOC_OWNER)},                                       \
        {FIELD(group, STRING), .min = 1, .max = 256, .doc = CFR_DOC(DOC_GROUP)}, FORMAT_FIELDS

static const char *const clouds_auths[] = {"credential", "token", NULL};

static const struct cfr_field member_fields[] = {
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_FILE_NAME,
     .doc = CFR_DOC("Name of the file in the directory.")},
    FILE_FIELDS,
    {.key = NULL},
};

static const struct cfr_table member_table = {
    .name = "file of a directory",
    .size = sizeof(struct cfr_config_file),
    .fields = member_fields,
    .check = cfr_config_rules_file,
    .doc = CFR_DOC("One file of the directory. All of them change in one step."),
};

static const struct cfr_field single_fields[] = {
    {FIELD(path, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = CFR_DOC("The file, which is replaced by rename.")},
    FILE_FIELDS,
    {FIELD(in_place, BOOL), .fallback = "false",
     .doc = CFR_DOC("Allow overwriting the content in place if the file is a mount point, onto which nothing "
                    "can be renamed. A reader may then see a partial file.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table single_table = {
    .name = "single file",
    .size = sizeof(struct cfr_config_file),
    .fields = single_fields,
    .check = cfr_config_rules_file,
    .doc = CFR_DOC("One file, replaced by rename."),
};

#define AT(member) offsetof(struct cfr_config_file, member)
/* The rows of a Secret's key: those of a file but for its mode and owner. */
static const struct cfr_field key_fields[] = {
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 253, .doc = CFR_DOC("The key.")},
    {FIELD(format, ENUM), .flags = CFR_FIELD_REQUIRED, .choices = cfr_format_names, .doc = CFR_DOC(DOC_FORMAT)},
    FORMAT_FIELDS,
    {.key = NULL},
};
#undef AT

static const struct cfr_table key_table = {
    .name = "key of a Secret or ConfigMap",
    .size = sizeof(struct cfr_config_file),
    .fields = key_fields,
    .check = cfr_config_rules_file,
    .doc = CFR_DOC("One key of the Secret or ConfigMap. All of them change in one step."),
};

#define AT(member) offsetof(struct cfr_config_secret, member)
#define NAMESPACE_FIELD                                                                                                \
    {                                                                                                                  \
        FIELD_AS("namespace", namespace_name, STRING),                                                                 \
            .min = 1, .max = 63,                                                                                       \
            .doc = CFR_DOC(                                                                                            \
                "Its namespace. Default: that of the kubeconfig's context, or of the pod that credfresh runs in.")     \
    }
#define REACH_FIELDS                                                                                                   \
    {FIELD(events, BOOL), .fallback = "false",                                                                         \
     .doc = CFR_DOC(                                                                                                   \
         "Create Events on the object, one for each change: it was published, a key was rotated, publishing failed, "  \
         "or its content has expired. Requires the verb create on events of events.k8s.io in its namespace.")},        \
        {FIELD(kubeconfig, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_KUBECONFIG,                                    \
         .doc = CFR_DOC("Kubeconfig for the API server. Default: the pod that credfresh runs in.")},                   \
    {                                                                                                                  \
        FIELD(context, STRING), .min = 1, .max = 253,                                                                  \
                                .doc = CFR_DOC("Context of `kubeconfig`. Default: its current one.")                   \
    }
static const struct cfr_field secret_fields[] = {
    NAMESPACE_FIELD,
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 253, .doc = CFR_DOC("Its name.")},
    {FIELD(type, STRING), .fallback = "Opaque", .min = 1, .max = 253,
     .doc = CFR_DOC("Type of the Secret, which can never change. For image pull secrets: "
                    "kubernetes.io/dockerconfigjson, with the key .dockerconfigjson in format "
                    "docker-config.")},
    {FIELD(keys, LIST), .table = &key_table, .min = 1, .max = CFR_CONFIG_FILES_MAX,
     .doc = CFR_DOC("Keys of the Secret. Optional with a mounted Secret in passthrough mode; default "
                    "then: each of its keys.")},
    {FIELD(adopt, BOOL), .fallback = "false",
     .doc = CFR_DOC("Take over a Secret that another program created, and credfresh's fields that another manager "
                    "owns. Default: both "
                    "are "
                    "refused.")},
    REACH_FIELDS,
    {.key = NULL},
};

static const struct cfr_field configmap_fields[] = {
    NAMESPACE_FIELD,
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 253, .doc = CFR_DOC("Its name.")},
    {FIELD(keys, LIST), .table = &key_table, .flags = CFR_FIELD_REQUIRED, .min = 1, .max = CFR_CONFIG_FILES_MAX,
     .doc = CFR_DOC("Keys of the ConfigMap, in formats without secrets: aws-config, ca.crt, ca-bundle, "
                    "certificate, namespace, and field and template of fields that are not secret.")},
    {FIELD(adopt, BOOL), .fallback = "false",
     .doc = CFR_DOC("Take over a ConfigMap that another program created, and credfresh's fields that another manager "
                    "owns. Default: both are refused.")},
    REACH_FIELDS,
    {.key = NULL},
};
#undef AT

static const struct cfr_table secret_table = {
    .name = "Secret of the cluster",
    .size = sizeof(struct cfr_config_secret),
    .fields = secret_fields,
    .check = cfr_config_rules_secret,
    .doc = CFR_DOC("A Secret of the cluster, for consumers in other pods and for image pulls: written "
                   "by server-side apply as field manager `credfresh`. credfresh refuses an immutable "
                   "one, one of another type, and one that another program created. Requires the verbs "
                   "get and patch on it, and create if it does not exist yet; resourceNames may limit "
                   "all three. With list and watch, which resourceNames may also limit, changes by "
                   "others are undone within seconds, else within a minute."),
};

static const struct cfr_table configmap_table = {
    .name = "ConfigMap of the cluster",
    .size = sizeof(struct cfr_config_secret),
    .fields = configmap_fields,
    .check = cfr_config_rules_configmap,
    .doc = CFR_DOC("A ConfigMap of the cluster, for public content: written, checked and restored like "
                   "a Secret. Requires the same verbs."),
};

#define AT(member) offsetof(struct cfr_config_publish, member)
static const struct cfr_field publish_fields[] = {
    {FIELD(directory, STRING), .flags = CFR_FIELD_PATH,
     .doc = CFR_DOC("A directory in the layout of a Kubernetes volume: `NAME` is a link to `..data/NAME`, and `..data` "
                    "a link that is swapped. No other program may write there.")},
    {FIELD(directory_mode, MODE),
     .doc = CFR_DOC("Permission bits, octal and in quotes, of each generation and of a `directory` that credfresh "
                    "creates. An existing directory keeps its mode, owner and group. Default: \"0755\": consumers of "
                    "other groups reach the files that their modes let them read.")},
    {FIELD(owner, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("User name or number of the owner of `directory` and of the files in it. Only root "
                    "can give it to another user. Default: the user that credfresh runs as.")},
    {FIELD(group, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("Group name or number of `directory`. Default: the group that credfresh runs as.")},
    {FIELD(files, LIST), .table = &member_table, .min = 1, .max = CFR_CONFIG_FILES_MAX,
     .doc = CFR_DOC("Files in `directory`. Optional with a mounted Secret in passthrough mode; default "
                    "then: each of its keys.")},
    {FIELD(files_mode, MODE),
     .doc = CFR_DOC("Permission bits of a mounted Secret's keys without `files`, octal and in quotes. "
                    "Default: \"0600\".")},
    {FIELD(file, MAP), .table = &single_table, .doc = CFR_DOC("A single file.")},
    {FIELD(kind, ANY_OF), .variant = cfr_config_target_variant},
    {FIELD(secret, MAP), .table = &secret_table, .doc = CFR_DOC("A Secret of the cluster.")},
    {FIELD(configmap, MAP), .table = &configmap_table, .doc = CFR_DOC("A ConfigMap of the cluster.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_publish_table = {
    .name = "publish target",
    .size = sizeof(struct cfr_config_publish),
    .fields = publish_fields,
    .check = cfr_config_rules_publish,
    .doc = CFR_DOC("The target: exactly one of `directory` (with `files`), `file`, `profile`, `secret` "
                   "and `configmap`."),
};
