/* SPDX-License-Identifier: MIT */
/* The configuration file: its structs, and reading it from YAML by the field tables. */
#ifndef CFR_AGENT_CONFIG_H
#define CFR_AGENT_CONFIG_H

#include "base/field.h"
#include "base/str.h"
#include "sts/provider.h"

#define CFR_CONFIG_FILE_MAX        4194304
#define CFR_CONFIG_CREDENTIALS_MAX 20000
#define CFR_CONFIG_TARGETS_MAX     16 /* of a credential */
#define CFR_CONFIG_FILES_MAX       64 /* of a directory */
#define CFR_CONFIG_HOOKS_MAX       16 /* of a credential */

struct cfr_config_token {
    struct cfr_node node;
    char *file;     /* absolute path */
    char *audience; /* what `aud` must contain; NULL = not looked at */
};

/* Exactly one member is set; its provider is named by the key. */
struct cfr_config_exchange {
    struct cfr_node node;
    void *aws; /* struct cfr_sts_aws */
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
    char *command; /* aws-config: credential_process */
    bool in_place; /* single file only */
};

struct cfr_config_profile {
    struct cfr_node node;
    char *path;
    char *name;   /* profile, default "default" */
    int format;   /* one with .profile set */
    int64_t mode; /* when the file is made */
    char *owner;
    char *group;
    char *role_arn;
    char *session_name;
    char *token_path;
    char *region;
    char *command;
};

/* One target: a directory with files, or a single file, or a profile. */
struct cfr_config_publish {
    struct cfr_node node;
    char *directory;
    int64_t directory_mode;
    char *owner; /* of the directory */
    char *group;
    struct cfr_list files;        /* of struct cfr_config_file with .name */
    struct cfr_config_file *file; /* with .path */
    struct cfr_config_profile *profile;
};

struct cfr_config_signal {
    struct cfr_node node;
    char *pid_file;
    char *executable; /* absolute path, or a bare name compared with the executable's last component */
    int signal;       /* index into cfr_config_signals */
};

struct cfr_config_http {
    struct cfr_node node;
    char *url;
    int method;     /* index into cfr_config_methods */
    int64_t expect; /* status; 0 = any 2xx */
    char *ca_file;
};

enum cfr_on_first { CFR_ON_FIRST_RUN, CFR_ON_FIRST_SKIP };

struct cfr_config_hook {
    struct cfr_node node;
    struct cfr_config_signal *signal;
    struct cfr_strings exec;
    struct cfr_config_http *http;
    int64_t timeout_ms;
    int on_first;
};

struct cfr_config_credential {
    struct cfr_node node;
    char *name;
    bool required; /* counts for /readyz */
    struct cfr_config_token *token;
    struct cfr_config_exchange *exchange; /* NULL: the token itself is what is published */
    struct cfr_list publish;              /* of struct cfr_config_publish, at least one */
    struct cfr_list reload;               /* of struct cfr_config_hook */
    int64_t keep_previous_ms;             /* -1: the file's default */
    uint64_t digest;                      /* of the whole mapping */
    uint64_t
        digest_material; /* of what decides the published bytes: without reload, required, keep_previous */
};

struct cfr_config_log {
    struct cfr_node node;
    int level;  /* enum cfr_log_level */
    int format; /* enum cfr_log_format */
};

struct cfr_config {
    struct cfr_node node;
    int64_t version;
    char *state_dir;
    char *control_socket; /* never NULL after loading: <state_dir>/control.sock by default */
    char *listen;         /* ADDRESS:PORT for health and metrics; NULL = none */
    struct cfr_config_log *log;
    int64_t max_concurrent_exchanges;
    int64_t keep_previous_ms;
    struct cfr_list credentials; /* of struct cfr_config_credential */
};

extern const struct cfr_table cfr_config_table;
extern const char *const cfr_config_methods[]; /* GET POST PUT */
extern const char *const cfr_config_signals[]; /* HUP USR1 ... without SIG */
/* The signal's number for an index into cfr_config_signals. */
int cfr_config_signal_number(int index);

/* Reads and checks FILE; PATH is used in messages ("PATH:LINE: credential registry: ..."). ENV looks up
 * environment variables. Everything that is wrong and can be told apart is collected: ERR holds the first,
 * and when ALL is not NULL each is appended to it as a line. CFR_E_CONFIG, CFR_E_MISSING, CFR_E_LIMIT,
 * CFR_E_NOMEM. The caller frees *OUT with cfr_config_free. Blocks on disk. */
int cfr_config_load(const char *path, const char *(*env)(const char *), struct cfr_config **out,
                    struct cfr_str *all, struct cfr_err *err);
/* As cfr_config_load, from memory: the parser proper, without I/O. */
int cfr_config_parse(const char *path, struct cfr_view text, const char *(*env)(const char *),
                     struct cfr_config **out, struct cfr_str *all, struct cfr_err *err);
void cfr_config_free(struct cfr_config *config);
/* The control socket that FILE names, heap; NULL if FILE cannot be read as YAML. Looks at nothing else, so that an
 * agent can be asked while its file has a mistake. Blocks on disk. */
char *cfr_config_socket(const char *path);

struct cfr_config_credential *cfr_config_at(const struct cfr_config *config, size_t index);
struct cfr_config_credential *cfr_config_find(const struct cfr_config *config, const char *name);
/* The provider and its configuration, or NULL when the credential has no exchange. */
const struct cfr_sts_provider *cfr_config_provider(const struct cfr_config_credential *c,
                                                   const void **provider_config);

/* The reference page in Markdown, made from the tables. */
void cfr_config_reference(struct cfr_str *out);

#endif
