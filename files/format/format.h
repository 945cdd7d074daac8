/* SPDX-License-Identifier: MIT */
/* Output formats: a grant rendered as the bytes of a file. Pure. */
#ifndef CFR_FILES_FORMAT_FORMAT_H
#define CFR_FILES_FORMAT_FORMAT_H

#include "base/grant.h"

#define CFR_FORMAT_OUTPUT_MAX 1048576

/* gcp-external-account: the exchange as an SDK does it by itself; strings are borrowed, and NULL where not there. */
struct cfr_format_gcp {
    const char *audience;
    const char *subject_token_type;
    const char *token_url;
    const char *impersonation_url; /* of generateAccessToken */
    int64_t lifetime_s;            /* of the impersonated token; 0 = not given */
    const char *universe_domain;
    const char *user_project; /* workforce pools */
    const char *quota_project_id;
    const char *client_id;
    struct cfr_view client_secret;
};

/* What a format may need besides the grant; strings are borrowed and may be NULL where not configured. */
struct cfr_format_input {
    const char *credential;
    uint64_t generation;
    const struct cfr_grant *grant;
    const char *profile;    /* section name, "default" when NULL: letters, digits, `_.-/%@:+` */
    const char *command;    /* aws-config: what credential_process is to be; used when there is no token_path */
    const char *token_path; /* aws-config: web_identity_token_file, with role_arn; azure-env: the
                             * AZURE_FEDERATED_TOKEN_FILE */
    const char *role_arn;
    const char *session_name;
    const char *region; /* else the grant's aws_region or openstack_region_name */
    const char *key;    /* secret-key: of the mounted Secret */
    const char *cloud;  /* clouds-yaml: the name of the cloud, "openstack" when NULL */
    const char *cacert; /* clouds-yaml, clouds-conf: path of the CA for the consumer, else the grant's
                         * openstack_cacert */
    const char *scope;  /* azure-token-json: which of the scopes, with or without `/.default`; NULL = the first */
    const char *azure_client_id;        /* azure-env: else the grant's, of an azure exchange */
    const char *azure_tenant_id;        /* azure-env: else the grant's */
    const char *azure_authority_host;   /* azure-env: else the grant's; the line is left out if there is none */
    bool token_only;                    /* clouds-yaml: the Keystone token rather than what is needed to get one */
    const struct cfr_format_gcp *gcp;   /* gcp-external-account */
    const char *sts_regional_endpoints; /* aws-config: "regional" or "legacy"; the line is left out if NULL */
    const char *field;                  /* field: which, as users name it */
    const char *template_text;          /* template */
    int values;                         /* template: enum cfr_format_values */
    const char *server;                 /* kubeconfig: URL of the API server, else the grant's */
    bool section_header;                /* false: only the body lines, for merging into a profile */
};

/* How a template inserts values. */
enum cfr_format_values {
    CFR_FORMAT_VALUES_LINE, /* as they are, if they are one line of text */
    CFR_FORMAT_VALUES_JSON, /* escaped as the inside of a JSON string */
    CFR_FORMAT_VALUES_RAW,  /* as they are */
};
extern const char *const cfr_format_values_names[];

/* The configuration keys that only some formats take. */
enum cfr_format_option {
    CFR_FORMAT_ROLE_ARN = 1,
    CFR_FORMAT_SESSION_NAME = 1 << 1,
    CFR_FORMAT_TOKEN_PATH = 1 << 2,
    CFR_FORMAT_REGION = 1 << 3,
    CFR_FORMAT_COMMAND = 1 << 4,
    CFR_FORMAT_KEY = 1 << 5,
    CFR_FORMAT_SCOPE = 1 << 6,
    CFR_FORMAT_CLOUD = 1 << 7,
    CFR_FORMAT_CACERT = 1 << 8,
    CFR_FORMAT_CLOUDS_AUTH = 1 << 9,
    CFR_FORMAT_STS_ENDPOINTS = 1 << 10,
    CFR_FORMAT_FIELD = 1 << 11,
    CFR_FORMAT_TEMPLATE = 1 << 12, /* with how its values are inserted */
    CFR_FORMAT_SERVER = 1 << 13
};

struct cfr_format {
    const char *name;
    /* Appends to OUT (limit CFR_FORMAT_OUTPUT_MAX). CFR_E_CONFIG if the grant or the input has not what the
     * format needs, naming it, or if this format cannot represent a configured value; CFR_E_ANSWER if a
     * granted value cannot (a line feed in an ini file). After an error OUT may hold a part. */
    int (*render)(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err);
    /* Other programs write such a file, too: replaces CONTENT, which was rendered, by what a file of content THERE (may
     * be empty) is to hold, with their part. The same for the result. NULL: the whole file is credfresh's. After an
     * error, CONTENT is as it was: CFR_E_CONFLICT if THERE is not of this format, CFR_E_LIMIT, CFR_E_NOMEM. */
    int (*merge)(struct cfr_view there, struct cfr_secret *content, struct cfr_err *err);
    /* The key of THERE, an existing file, that makes clients ignore what credfresh writes into it: OURS (empty: not
     * known yet). NULL: none. */
    const char *(*ignored)(struct cfr_view there, struct cfr_view ours);
    unsigned options;      /* enum cfr_format_option, those that it takes */
    bool profile;          /* can be merged as a profile */
    bool config_file;      /* its sections are those of an AWS config file: [profile NAME] */
    bool is_public;        /* nothing that it writes is secret; of `field` and `template`, their fields decide */
    bool holds_token;      /* the subject token is in what it writes */
    bool is_token;         /* and nothing else */
    bool needs_token_path; /* names the token's file; without a token_path that of the directory's file with is_token */
    bool passes_on; /* can be made of the keys of a mounted Secret that is passed on, which has no other fields */
    int64_t token_least_ms;   /* SDKs use what they read at the token's path for a while: it should live so long */
    const char *sdk_variable; /* by which SDKs find the file, for azure-env the token's; or NULL */
    /* What a file of credfresh's consists of: "lines KEY ...", where no KEY means variables of any field; "json KEY
     * ..."; "pem LABEL"; "template"; "any" (it cannot be told). NULL: one word. */
    const char *own;
    const char *needs; /* a grant field without which it cannot be rendered, or NULL */
    const char *doc;   /* one line for the reference page */
};

/* The table, ends with name == NULL; and the names alone, NULL-terminated, in the same order. */
extern const struct cfr_format cfr_formats[];
extern const char *const cfr_format_names[];
const struct cfr_format *cfr_format_find(struct cfr_view name);
/* False if THERE, the content of an existing file, is not one that credfresh writes in this format with IN (profile
 * and template): it has other keys, more sections, or comments. An empty file is; so is one that would be merged. */
bool cfr_format_is_own(const struct cfr_format *format, const struct cfr_format_input *in, struct cfr_view there);
/* CFR_E_CONFIG if there is no field NAME, with the one that was probably meant. */
int cfr_format_field_check(const char *name, struct cfr_err *err);
/* The same for each field that the template TEXT names, and for its syntax, with the line within TEXT: `${NAME}` is the
 * value of a field, `$${` the text `${`; there is nothing else. */
int cfr_format_template_check(const char *text, struct cfr_err *err);
/* Sets *NAME to the next of the grant's fields that the template *REST, which was checked, names, and cuts off *REST
 * what precedes the next one. False after the last. */
bool cfr_format_template_field(struct cfr_view *rest, struct cfr_view *name);
/* The text between the brackets of the section that FORMAT's profile is: `NAME`, or for aws-config `profile
 * NAME`
 * (`default` for the default profile, which NULL means too). CFR_E_CONFIG for a name that not all SDKs take.
 */
#define CFR_FORMAT_SECTION_MAX 80
int cfr_format_section(const struct cfr_format *format, const char *profile, char out[CFR_FORMAT_SECTION_MAX],
                       struct cfr_err *err);

#endif
