/* SPDX-License-Identifier: MIT */
/* The configuration: its model, and loading it from YAML by the field tables. Loading blocks on disk, nothing else
 * blocks. A loaded configuration is immutable and owned by the caller; what accessors return is borrowed from it. No
 * callback is kept. Errors: CFR_E_CONFIG for a mistake in the file, CFR_E_MISSING, CFR_E_LIMIT, CFR_E_NOMEM. */
#ifndef CFR_AGENT_CONFIG_CONFIG_H
#define CFR_AGENT_CONFIG_CONFIG_H

#include "base/field.h"
#include "base/str.h"
#include "rotation/rotation.h"
#include "serve/sdk/shape.h"
#include "sts/core/provider.h"

#define CFR_SECOND_MS INT64_C(1000)
#define CFR_MINUTE_MS (60 * CFR_SECOND_MS)
#define CFR_HOUR_MS   (60 * CFR_MINUTE_MS)
#define CFR_DAY_MS    (24 * CFR_HOUR_MS)

/* What holds for consumers of which nothing else is said. */
#define CFR_ACK_LIMIT              "1h"
#define CFR_ACK_LIMIT_MS           CFR_HOUR_MS
#define CFR_ACK_BEHIND_AFTER       "5m"
#define CFR_ACK_BEHIND_AFTER_MS    (5 * CFR_MINUTE_MS)

#define CFR_CONFIG_FILE_MAX        16777216 /* 20,000 credentials of 800 bytes */
#define CFR_CONFIG_CREDENTIALS_MAX 20000
#define CFR_CONFIG_TARGETS_MAX     16 /* of a credential */
#define CFR_CONFIG_FILES_MAX       64 /* of a directory */
#define CFR_CONFIG_HOOKS_MAX       16 /* of a credential */
#define CFR_CONFIG_ACKNOWLEDGE_MAX 16 /* of a credential */
#define CFR_CONFIG_IMAGES_MAX      256
#define CFR_CONFIG_MATCHES_MAX     64 /* of an image credential */

#define CFR_CONFIG_ENDPOINTS_MAX   16
#define CFR_CONFIG_FROM_MAX        16 /* networks of an endpoint */
#define CFR_CONFIG_ALLOWED_MAX     64 /* users or groups of a credential */

#define CFR_MINT_OLD_SUFFIX        ".old"   /* of the files that hold what was published before */
#define CFR_ADOPT_TARGET           "target" /* of mint.adopt */
#define CFR_MINT_PASS_ON           "pass_on"
#define CFR_ROTATION_FILE          "minted" /* when the published key was minted, and which it is */

#define CFR_MINT_FILES_MAX         31 /* of a directory: each has an old one next to it */

enum cfr_bound_kind { CFR_BOUND_POD, CFR_BOUND_SECRET, CFR_BOUND_NODE };

/* The object that a requested token lives and dies with. */
struct cfr_config_bound {
    struct cfr_node node;
    int kind; /* enum cfr_bound_kind */
    char *name;
    char *uid;
    char *name_env; /* environment variable that holds the name */
    char *uid_env;
};

/* A token requested from the API server. */
struct cfr_config_request {
    struct cfr_node node;
    char *service_account;
    char *namespace_name; /* NULL: the kubeconfig context's, or the pod's own */
    struct cfr_strings audiences;
    int64_t expiration_ms;
    struct cfr_config_bound *bound_to;
    char *kubeconfig; /* NULL: in-cluster */
    char *context;
};

/* A file, a request, or a file with a request that takes over when it is not renewed. */
struct cfr_config_token {
    struct cfr_node node;
    char *file;       /* absolute path; NULL = none */
    char *json_field; /* the file is a JSON object, and this its member; NULL = the token alone */
    char *audience;   /* what `aud` must contain; NULL = not looked at */
    struct cfr_config_request *request;
};

/* A mounted Secret as the source. */
struct cfr_config_mounted {
    struct cfr_node node;
    char *directory;
    char *token_directory; /* where the token files may be that it names */
    int kind;              /* enum cfr_mounted_kind; 0 = whatever it is */
    bool pass_on;          /* no exchange, whatever the cloud can do */
};

/* The provider that the token is exchanged with. */
struct cfr_config_exchange {
    struct cfr_node node;
    struct cfr_one_of provider; /* of struct cfr_sts_provider; absent only while the configuration is being checked */
};

struct cfr_config_file {
    struct cfr_node node;
    char *name;   /* in a directory */
    char *path;   /* as a single file */
    int format;   /* index into cfr_formats */
    int64_t mode; /* permission bits */
    char *owner;  /* name or number, NULL = leave */
    char *group;
    char *profile;  /* ini formats: section name, default "default" */
    char *role_arn; /* aws-config: with token_path, lets the SDK do the exchange */
    char *session_name;
    char *token_path;
    char *region;
    char *command;              /* aws-config: credential_process */
    char *key;                  /* secret-key: of the mounted Secret; NULL = the file's name */
    char *scope;                /* azure-token-json: which of the exchange's scopes */
    char *cloud;                /* clouds-yaml, clouds-conf: the entry's name */
    char *cacert;               /* clouds-yaml, clouds-conf: path of the CA for the consumer */
    int clouds_auth;            /* clouds-yaml: 0 the credential itself, 1 the token */
    int sts_regional_endpoints; /* aws-config: index into cfr_config_sts_endpoints, 0 = not written */
    char *field;                /* field: as users name it */
    char *template_text;        /* template */
    int values;                 /* template: enum cfr_format_values */
    char *server;               /* kubeconfig: URL of the API server */
    bool in_place;              /* single file only */
};

/* A Secret or a ConfigMap of the cluster as a target. */
struct cfr_config_secret {
    struct cfr_node node;
    char *namespace_name; /* NULL: as in a token request */
    char *name;
    char *type;           /* NULL: a ConfigMap, which has none */
    struct cfr_list keys; /* of struct cfr_config_file with .name; none = every key of a mounted Secret */
    bool adopt;           /* take over one that another program made */
    bool events;          /* report what happens to it as Events */
    char *kubeconfig;
    char *context;
};

/* One target: a directory with files, or a single file, or an object of the cluster, or one of a registered kind. */
struct cfr_config_publish {
    struct cfr_node node;
    char *directory;
    int64_t directory_mode;
    int64_t files_mode; /* of a mounted Secret's keys, where no files are named */
    char *owner;        /* of the directory */
    char *group;
    struct cfr_list files;        /* of struct cfr_config_file with .name */
    struct cfr_config_file *file; /* with .path */
    struct cfr_list kind;         /* of struct cfr_one_of: a target of a registered kind (agent/config/kinds.h) */
    struct cfr_config_secret *secret;
    struct cfr_config_secret *configmap;
};

/* A kind of hook, as far as the configuration has to know it. CONFIG is a struct of the variant's table. */
struct cfr_config_hook_kind {
    struct cfr_variant variant; /* its `row` is left out */
    bool runs_program;
    bool (*finds_process)(const void *config); /* by its executable, of whatever user; NULL for never */
    /* The header in which the consumer answers with the generation in use, or NULL; NULL for a kind without answers. */
    const char *(*acknowledge_header)(const void *config);
    bool names_annotation; /* after the credential, whose name has to end with a letter or a digit then */
};

enum cfr_on_first { CFR_ON_FIRST_RUN, CFR_ON_FIRST_SKIP };

struct cfr_config_hook {
    struct cfr_node node;
    struct cfr_list kind; /* of struct cfr_one_of: one, of a registered kind */
    int64_t timeout_ms;
    int on_first;
};

/* How a consumer says which generation it has in use. Exactly one of FILE and HOOKS is set. */
struct cfr_config_acknowledge {
    struct cfr_node node;
    char *file;
    bool hooks; /* the consumers behind the hooks with an acknowledge_header */
    bool wait;
    int64_t limit_ms;
    int64_t behind_after_ms;
};

/* The Secret in which several agents keep one rotation. */
struct cfr_config_mint_state {
    struct cfr_node node;
    char *secret;
    char *namespace_name; /* NULL = that of the kubeconfig's context, or the pod's own */
    char *kubeconfig;     /* NULL = as the pod */
    char *context;
    int64_t takeover_ms;
};

/* A long-lived key that is made and replaced. */
struct cfr_config_mint {
    struct cfr_node node;
    struct cfr_one_of provider; /* of struct cfr_rotation_provider */
    char *with;
    char *otherwise; /* CFR_MINT_PASS_ON; NULL = nothing is published while no key may be created */
    char *adopt;     /* CFR_ADOPT_TARGET, or an absolute path; NULL = nothing is adopted */
    int64_t expire_after_ms;
    int64_t grace_ms;
    int64_t grace_most_ms;
    int64_t settle_ms;
    int64_t inactive_ms;
    int64_t verify_wait_ms;
    int64_t verify_timeout_ms;
    int64_t verify_every_ms;
    bool keep_unknown; /* one that may be a lost one is never deleted */
    bool verify; /* a published key that was deleted or deactivated in the cloud, or has expired, is replaced at once */
    struct cfr_config_mint_state *state; /* NULL = this agent rotates it alone */
};

/* One address, and the shapes that are spoken there. */
struct cfr_config_endpoint {
    struct cfr_node node;
    char *listen;            /* ADDRESS:PORT as the user wrote it, a loopback or link-local literal */
    struct cfr_strings from; /* networks (wire/cidr.h) of other machines and pods that may connect */
    struct cfr_list shapes;  /* of struct cfr_one_of, whose rows are struct cfr_sdk_shape */
};

/* Who may have a credential from the token socket, besides root and the agent's own user. */
struct cfr_config_allow {
    struct cfr_node node;
    struct cfr_strings users; /* names or numbers */
    struct cfr_strings groups;
};

struct cfr_config_credential {
    struct cfr_node node;
    char *name;
    bool required;                        /* counts for /readyz */
    struct cfr_config_token *token;       /* NULL: the exchange begins without one, or the Secret names it */
    struct cfr_config_mounted *secret;    /* NULL: none */
    struct cfr_config_exchange *exchange; /* NULL: the token itself is published, or what the Secret says */
    struct cfr_list source;               /* of struct cfr_one_of: registered kinds (agent/config/kinds.h) */
    struct cfr_config_mint *mint;         /* NULL: it is no key that we make */
    struct cfr_list publish;              /* of struct cfr_config_publish; none only if SERVED */
    struct cfr_list reload;               /* of struct cfr_config_hook */
    struct cfr_list acknowledge;          /* of struct cfr_config_acknowledge */
    int64_t keep_previous_ms;             /* -1: the file's default */
    struct cfr_config_allow *allow;       /* NULL: only root and the agent's own user */
    bool admin;                           /* a mint's `with` names it; follows from the whole file */
    bool admin_only;                      /* and nothing else needs it */
    bool from_environment;                /* there is no file: errors name variables in place of keys */
    bool served;                          /* an endpoint or ALLOW wants it in memory; follows from the whole file */
    uint64_t digest;          /* of what hooks and consumers hang on: without required, keep_previous, allow */
    uint64_t digest_material; /* of what decides the published bytes: without reload, acknowledge, required,
                               * keep_previous, allow */
    uint64_t digest_source;   /* of what decides what is granted: without publish, too */
};

/* What the kubelet is answered for some images (`credfresh image-credential-provider`). */
struct cfr_config_image {
    struct cfr_node node;
    char *name;
    struct cfr_strings match; /* kube/image_match.h */
    struct cfr_config_exchange *exchange;
    struct cfr_config_token *token; /* NULL: only that of the kubelet's request */
    char *audience;                 /* what the request's token must contain; NULL = not looked at */
    int64_t cache_ms;               /* upper bound; -1 = none */
    struct cfr_pairs annotations;   /* from keys of the exchange to annotations of the service account */
};

/* What holds for each credential that has no such key of its own. */
struct cfr_config_defaults {
    struct cfr_node node;
    struct cfr_config_mint *mint; /* NULL = none; only what cfr_config_default_mint_table has, -1 where absent */
    struct cfr_list reload;       /* of struct cfr_config_hook */
};

struct cfr_config_log {
    struct cfr_node node;
    int level;  /* enum cfr_log_level */
    int format; /* enum cfr_log_format */
};

/* A rotation that is forced now. */
struct cfr_config_force {
    struct cfr_node node;
    char *reason;
    int64_t validity_ms;       /* 0 = as that of the others */
    int64_t trust_previous_ms; /* 0 = as after every rotation */
};

/* Objects of the cluster whose field caBundle has the bundle. */
struct cfr_config_ca_inject {
    struct cfr_node node;
    int kind;   /* enum cfr_k8s_ca_kind */
    char *name; /* NULL = all that have the annotation */
    bool annotated;
    struct cfr_strings webhooks; /* none = all of them */
    char *kubeconfig;            /* NULL = the pod's own */
    char *context;
};

/* A CA of before, which is taken over at the first start. */
struct cfr_config_ca_import {
    struct cfr_node node;
    char *certificate; /* paths */
    char *key;
};

struct cfr_config_service_ca {
    struct cfr_node node;
    char *store;
    struct cfr_config_ca_import *import; /* NULL = the first CA is made */
    char *subject;
    int key; /* enum cfr_key_kind */
    int64_t validity_ms;
    int64_t rotate_below_ms;
    int64_t generations;
    struct cfr_config_force *force;   /* NULL = none */
    struct cfr_list inject;           /* struct cfr_config_ca_inject */
    struct cfr_list pod_certificates; /* struct cfr_k8s_pod_policy */
};

/* Whose end is the agent's end, too. */
struct cfr_config_exit {
    struct cfr_node node;
    char *process;
    char *pid_file;
    int64_t linger_ms;
};

/* What the agent gives up at its start. */
struct cfr_config_sandbox {
    struct cfr_node node;
    bool no_new_privs;
    bool capabilities;
    bool seccomp;
    bool landlock;
    bool landlock_read;
};

struct cfr_config {
    struct cfr_node node;
    int64_t version;
    char *state_dir;
    char *control_socket;            /* never NULL after loading: <state_dir>/control.sock by default */
    char *token_socket;              /* NULL = none */
    char *listen;                    /* ADDRESS:PORT for health and metrics; NULL = none */
    struct cfr_strings listen_hosts; /* names by which clients may ask there */
    struct cfr_config_log *log;
    struct cfr_config_sandbox *sandbox; /* NULL: all of it */
    int64_t max_concurrent_exchanges;
    int64_t keep_previous_ms;
    int64_t stop_grace_ms;
    struct cfr_config_exit *exit_with;        /* NULL = no process's */
    struct cfr_config_service_ca *service_ca; /* NULL = none */
    struct cfr_config_defaults *defaults;     /* NULL = none; the credentials below have them already */
    struct cfr_list credentials;       /* of struct cfr_config_credential; may be empty if image_credentials are not */
    struct cfr_list endpoints;         /* of struct cfr_config_endpoint */
    struct cfr_list image_credentials; /* of struct cfr_config_image */
};

extern const struct cfr_table cfr_config_table;

/* Registers the kinds of hooks, whose rows are in a later room, before a configuration is loaded: AT returns the
 * INDEX-th, NULL after the last. */
void cfr_config_register_hooks(const struct cfr_config_hook_kind *(*at)(size_t index));

/* Writes the INDEX-th key of `defaults` of the configuration to KEY ("mint.grace"), and the line of the mapping that it
 * is in to *LINE. False after the last. */
#define CFR_CONFIG_DEFAULT_MAX 64
bool cfr_config_default_at(const struct cfr_config *config, size_t index, char key[CFR_CONFIG_DEFAULT_MAX], int *line);
/* Whether C has that key from `defaults`. */
bool cfr_config_has_default(const struct cfr_config_credential *c, const char *key);

/* Reads and checks the file at PATH, or, with PATH NULL, what follows from the environment
 * (agent/config/from_environment.h); PATH is used in messages ("PATH:LINE: credential registry: ..."). ENV looks up
 * environment variables. Every mistake is collected: ERR holds the first,
 * and when ALL is not NULL each is appended to it as a line. CFR_E_CONFIG, CFR_E_MISSING, CFR_E_LIMIT,
 * CFR_E_NOMEM. The caller frees *OUT with cfr_config_free. Blocks on disk. */
int cfr_config_load(const char *path, const char *(*env)(const char *), struct cfr_config **out, struct cfr_str *all,
                    struct cfr_err *err);
void cfr_config_free(struct cfr_config *config);
/* True if a process can listen on A or on B, but not on both: they are the same, or have one port, and one of them is
 * every address. Both are addresses and ports as in `listen`. */
bool cfr_config_listen_clashes(const char *a, const char *b);
/* The control socket that the file at PATH (NULL: the environment) names: *OUT, which the caller frees. Looks at
 * nothing else, so that an agent can be asked while its file has a mistake: of a file that is no YAML it takes the
 * lines that say where the socket is, if they are clear. CFR_E_CONFIG with path and line if they are not, or if there
 * is nothing in the file; the errors of cfr_file_read; CFR_E_NOMEM. Blocks on disk. */
int cfr_config_socket(const char *path, char **out, struct cfr_err *err);

struct cfr_config_credential *cfr_config_at(const struct cfr_config *config, size_t index);
struct cfr_config_credential *cfr_config_find(const struct cfr_config *config, const char *name);
/* CFR_E_CONFIG for a configuration that has only image credentials, which an agent has nothing to do with. PATH as in
 * cfr_config_load. */
int cfr_config_need_credentials(const char *path, const struct cfr_config *config, struct cfr_err *err);
struct cfr_config_image *cfr_config_image_at(const struct cfr_config *config, size_t index);
/* The provider that X names, and its configuration. */
const struct cfr_sts_provider *cfr_config_exchange_provider(const struct cfr_config_exchange *x,
                                                            void **provider_config);
/* The provider and its configuration, or NULL when the credential has no exchange (or its Secret decides). */
const struct cfr_sts_provider *cfr_config_provider(const struct cfr_config_credential *c, const void **provider_config);
/* The Secret or ConfigMap that P is; NULL for a target on this machine. */
const struct cfr_config_secret *cfr_config_cluster_object(const struct cfr_config_publish *p);

/* The provider and its configuration; NULL only while the configuration is being checked. */
const struct cfr_rotation_provider *cfr_config_mint_provider(const struct cfr_config_mint *c,
                                                             const void **provider_config);

/* Whose keys these are, "aws/robot"; "" only while the configuration is being checked. */
void cfr_config_mint_subject(const struct cfr_config_mint *c, char out[CFR_ROTATION_SUBJECT_MAX]);

struct cfr_config_endpoint *cfr_config_endpoint_at(const struct cfr_config *config, size_t index);

/* The INDEX-th shape of E, with its configuration; NULL after the last. */
const struct cfr_sdk_shape *cfr_config_shape_at(const struct cfr_config_endpoint *e, size_t index, void **shape_config);

/* The kind of H, and its configuration. NULL only while the configuration is being checked. */
const struct cfr_config_hook_kind *cfr_config_hook_kind(const struct cfr_config_hook *h, const void **kind_config);

/* Calls EACH for every file that holds what clients must show. */
void cfr_config_each_client_secret(const struct cfr_config *config,
                                   void (*each)(void *ctx, const struct cfr_config_endpoint *endpoint,
                                                const struct cfr_sdk_client_secret *secret),
                                   void *ctx);

/* What becomes of C's mounted Secret, as far as its configuration decides that. */
enum cfr_config_fate { CFR_CONFIG_UNDECIDED, CFR_CONFIG_EXCHANGED, CFR_CONFIG_PASSED_ON };
enum cfr_config_fate cfr_config_secret_fate(const struct cfr_config_credential *c);
/* The INDEX-th field that FILE is made of, as far as its format, `field` and `template` say; NULL after the last. */
const struct cfr_grant_name *cfr_config_file_field(const struct cfr_config_file *file, size_t index);
/* True if something that is published holds the subject token, so that its life counts too. */
bool cfr_config_publishes_token(const struct cfr_config_credential *c);
/* True if something that is published has the API server's URL, CA or the namespace, which a requested token brings. */
bool cfr_config_publishes_cluster(const struct cfr_config_credential *c);
/* What `sts_regional_endpoints` may be; the first means that nothing is written. */
extern const char *const cfr_config_sts_endpoints[];

#endif
