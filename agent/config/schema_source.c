/* SPDX-License-Identifier: MIT */
/* The tables of what a credential begins with and what it is exchanged for. */
#include "agent/config/schema_private.h"
#include "sts/mounted/mounted.h"
#include "sts/providers.h"

static const char *const bound_kinds[] = {"Pod", "Secret", "Node", NULL};

#define AT(member) offsetof(struct cfr_config_bound, member)
static const struct cfr_field bound_fields[] = {
    {FIELD(kind, ENUM), .fallback = "Pod", .choices = bound_kinds, .doc = CFR_DOC("Kind of the object.")},
    {FIELD(name, STRING), .min = 1, .max = 253, .doc = CFR_DOC("Its name, in the service account's namespace.")},
    {FIELD(uid, STRING), .min = 1, .max = 128,
     .doc = CFR_DOC("Its uid, which distinguishes it from another object of the same name. Required with "
                    "a node's own credentials.")},
    {FIELD(name_env, STRING), .min = 1, .max = 128,
     .doc = CFR_DOC("Environment variable with the name, such as one that the downward API sets from "
                    "metadata.name.")},
    {FIELD(uid_env, STRING), .min = 1, .max = 128, .doc = CFR_DOC("Environment variable with the uid.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table bound_table = {
    .name = "bound object",
    .size = sizeof(struct cfr_config_bound),
    .fields = bound_fields,
    .check = cfr_config_rules_bound,
    .doc = CFR_DOC("The object that the token is bound to. When it is deleted, the API server refuses "
                   "the token; clouds do not."),
};

#define AT(member) offsetof(struct cfr_config_request, member)
static const struct cfr_field request_fields[] = {
    {FIELD(service_account, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 253,
     .doc = CFR_DOC("Name of the service account. The caller needs the verb `create` on its `serviceaccounts/token`.")},
    {FIELD_AS("namespace", namespace_name, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC("Its namespace. Default: that of the kubeconfig's context, or of the pod that credfresh runs in.")},
    {FIELD(audiences, STRINGS), .min = 1, .max = 16,
     .doc = CFR_DOC("Audiences to request. Default: `audience` of the token, which is then required. It "
                    "must not be empty: a token without an audience is valid for the API server.")},
    {FIELD_AS("expiration", expiration_ms, DURATION), .fallback = "1h", .min = 10 * CFR_MINUTE_MS,
     .max = 365 * CFR_DAY_MS,
     .doc = CFR_DOC("The lifetime to request, in whole seconds. The server may grant another, which then counts.")},
    {FIELD(bound_to, MAP), .table = &bound_table,
     .doc = CFR_DOC("The object that the token is bound to. Default: none.")},
    {FIELD(kubeconfig, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_KUBECONFIG,
     .doc = CFR_DOC("Kubeconfig for the API server and the user, on a node the kubelet's. It may name "
                    "hosts, files and programs, and is trusted like this configuration. Default: the pod "
                    "that credfresh runs in. `KUBECONFIG` is ignored.")},
    {FIELD(context, STRING), .min = 1, .max = 253,
     .doc = CFR_DOC("Context of `kubeconfig`. Default: its current one.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table request_table = {
    .name = "token request",
    .size = sizeof(struct cfr_config_request),
    .fields = request_fields,
    .check = cfr_config_rules_request,
    .doc = CFR_DOC("A token requested from a Kubernetes API server (TokenRequest)."),
};

#define AT(member) offsetof(struct cfr_config_token, member)
static const struct cfr_field token_fields[] = {
    {FIELD(file, STRING), .flags = CFR_FIELD_PATH,
     .doc = CFR_DOC("The service-account token: a file of a volume that the kubelet projects, or any "
                    "other that another program renews. credfresh follows links, ignores surrounding "
                    "white space, and watches the file.")},
    {FIELD(json_field, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("With `file`: the file is a JSON object, and the token its member with this name, as "
                    "in `subject_token_field_name` of an external_account file. Default: the file "
                    "contains only the token.")},
    {FIELD(audience, STRING), .min = 1, .max = 512,
     .doc = CFR_DOC("Required audience: a token without it in its `aud` is not used. Default: not "
                    "checked.")},
    {FIELD(request, MAP), .table = &request_table,
     .doc = CFR_DOC("Request the token from the API server. With `file`, credfresh requests tokens only "
                    "while the file is missing, invalid or overdue, and stops when the file is renewed.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_token_table = {
    .name = "token",
    .size = sizeof(struct cfr_config_token),
    .fields = token_fields,
    .check = cfr_config_rules_token,
    .doc = CFR_DOC("Source of the token: `file`, `request`, or both."),
};

#define AT(member) offsetof(struct cfr_config_mounted, member)
static const struct cfr_field mounted_fields[] = {
    {FIELD(directory, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = CFR_DOC("Where the Secret is mounted. It may be created later, and may change at any time.")},
    {FIELD(token_directory, STRING), .flags = CFR_FIELD_PATH, .fallback = "/var/run/secrets/openshift/serviceaccount",
     .doc = CFR_DOC("The directory that must contain the token file named in the Secret; no link may lead out of it. A "
                    "token for the API "
                    "server is refused even there. Has no effect with `token: {file: ...}`, which takes precedence.")},
    {FIELD(kind, ENUM), .fallback = "auto", .choices = cfr_mounted_kinds,
     .doc = CFR_DOC("Kind of credentials in it; a Secret of another kind is refused. Default: determined "
                    "from its keys.")},
    {FIELD(pass_on, BOOL), .fallback = "false",
     .doc = CFR_DOC("Publish its keys unchanged, even if the cloud would issue short-lived credentials for them.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_mounted_table = {
    .name = "mounted Secret",
    .size = sizeof(struct cfr_config_mounted),
    .fields = mounted_fields,
    .doc = CFR_DOC("A mounted Secret in the forms that OpenShift's cloud credential operator and ccoctl "
                   "write. The short-lived form names a token file, and its token is exchanged. The "
                   "long-lived form is exchanged for short-lived credentials if the cloud supports "
                   "that, else published unchanged. Its author is trusted only with that credential. "
                   "credfresh uses from it: identities (role, client, tenant, account, project), the "
                   "region, keys and passwords, a token file below `token_directory`, and for OpenStack "
                   "the `auth_url`, to which only the Secret's own secret is sent, and the CA "
                   "certificates in its key `cacert`. It refuses other paths of this machine, hosts "
                   "that are not the cloud's, and plain http; the error names the key of the "
                   "configuration to set."),
};

#define AT(member) offsetof(struct cfr_config_exchange, member)
static const struct cfr_field exchange_fields[] = {
    {FIELD(provider, ONE_OF), .variant = cfr_sts_variant},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_exchange_table = {
    .name = "exchange",
    .size = sizeof(struct cfr_config_exchange),
    .fields = exchange_fields,
    .check = cfr_config_rules_exchange,
    .doc = CFR_DOC("The provider that issues credentials for the token: exactly one."),
};
