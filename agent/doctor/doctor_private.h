/* SPDX-License-Identifier: MIT */
/* The table of checks, what they share, and the list of findings. A check is a file check_NAME.c with one function, and
 * a row in doctor.c. It reports with cfr_doctor_report, and changes and publishes nothing; it may block within
 * cfr_doctor_left_ms. */
#ifndef CFR_AGENT_DOCTOR_DOCTOR_PRIVATE_H
#define CFR_AGENT_DOCTOR_DOCTOR_PRIVATE_H

#include "agent/cli/client.h"
#include "agent/config/config.h"
#include "agent/doctor/policy/policy.h"
#include "agent/http/probe.h"
#include "agent/source/inputs.h"
#include "base/err.h"
#include "base/finding.h"
#include "base/view.h"
#include "pki/ca.h"
#include "rotation/provider.h"
#include "token/claims.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CFR_DOCTOR_AUDIENCES_MAX 16
#define CFR_DOCTOR_HOSTS_MAX     16
#define CFR_DOCTOR_SEEN_MAX      64

/* One finding and its place; texts are heap. */
struct cfr_doctor_item {
    enum cfr_finding_level level;
    int line; /* of FILE; 0 = none */
    char *check;
    char *credential; /* NULL = the agent, or the machine */
    char *file;       /* NULL = in no file */
    char *text;
    char *remedy;
    char *paste; /* lines, printed as they are */
    bool advice; /* on what is wrong: shown although it is a note */
};

/* A server that was checked for one credential; others may need it, too. */
struct cfr_doctor_seen {
    char name[256];
    int port;
    const char *ca_file;
    const char *credential;
    bool good;
    int64_t date_s;
    int64_t boot_ms;
};

/* A file of the cloud's side that the command line names; read once, because it may be a pipe. */
enum cfr_doctor_side { CFR_DOCTOR_AWS, CFR_DOCTOR_AZURE, CFR_DOCTOR_GCP, CFR_DOCTOR_DOCUMENTS };
struct cfr_doctor_document {
    struct cfr_str text;
    struct cfr_err err; /* why it cannot be read; code 0 = it was */
    bool used;          /* it was read, or tried, for a credential of that cloud */
};

/* The keys that an issuer of tokens publishes: of the last token that was verified. */
struct cfr_doctor_issuer {
    char *url; /* heap; NULL = none */
    int rc;    /* why they cannot be read; 0 = they were */
    struct cfr_err err;
    struct cfr_secret keys;
};

/* Whether `credfresh check` runs it, and what it prints of it besides warnings and errors: what is well, notes. */
enum cfr_doctor_selected {
    CFR_DOCTOR_NOT_SELECTED,
    CFR_DOCTOR_SELECTED,
    CFR_DOCTOR_SELECTED_WITH_OK,
    CFR_DOCTOR_SELECTED_WITH_NOTES
};

struct cfr_doctor {
    const struct cfr_cli_options *options;
    const char *config_path; /* NULL: the environment */
    struct cfr_config *config;
    int64_t end_boot_ms;
    bool late;                         /* a check was left out or cut short because the time was up */
    bool selection;                    /* `credfresh check` */
    enum cfr_doctor_selected selected; /* of the running check */
    struct cfr_finding_sink sink;      /* takes findings for this list */
    struct cfr_doctor_item *items;
    size_t count;
    size_t cap;
    bool nomem;
    bool advises; /* notes are advice now */
    unsigned tally[CFR_FINDING_LEVELS];
    struct cfr_doctor_seen seen[CFR_DOCTOR_SEEN_MAX];
    size_t seen_count;
    pid_t agent_pid;                   /* of the process that listens on the control socket; 0 = unknown */
    uid_t agent_uid;                   /* of agent_pid */
    struct cfr_cli_answer agent;       /* the running agent's status; json NULL = none */
    struct cfr_ca ca;                  /* from the store; without generations where it could not be read */
    bool ca_refused;                   /* the store could be another user's */
    const struct cfr_json *agent_next; /* where the search there begins: both lists have one order */
    struct cfr_doctor_document documents[CFR_DOCTOR_DOCUMENTS];
    struct cfr_doctor_issuer issuer;
    /* The place of the next finding; borrowed. */
    const char *credential;
    const char *file;
    int line;
};

/* One credential, or image credential, under diagnosis, and what the checks have learned about it so far. */
struct cfr_doctor_case {
    const char *name;
    int line;
    const struct cfr_config_credential *credential; /* NULL: an image credential */
    const struct cfr_config_image *image;           /* NULL: a credential */
    const struct cfr_config_token *token;           /* NULL: none */
    const struct cfr_sts_provider *provider;        /* NULL: nothing is exchanged */
    const void *config;                             /* the provider's */
    struct cfr_source_inputs material;
    bool ready;             /* the material could be read */
    struct cfr_err unready; /* why not */
    unsigned problems;      /* of the list before the material was read */
    struct cfr_secret token_text;
    struct cfr_claims claims;
    bool has_claims;
    struct cfr_err malformed; /* why it has none */
    struct cfr_view audiences[CFR_DOCTOR_AUDIENCES_MAX];
    struct cfr_policy_token trusted; /* of the claims */
    int64_t server_date_s;           /* the cloud's clock, when it was seen; 0 = not yet */
    int64_t seen_boot_ms;
    char unreached[256];    /* a server that is needed and cannot be reached; empty = none is known */
    bool exchanged;         /* and it went well */
    struct cfr_err refusal; /* of the exchange */
    struct cfr_grant admin; /* of mint.with, once it was asked for */
    bool asked;
    struct cfr_err not_admin; /* why there is none; code 0 = there is */
};

/* ---- the list of findings: report.c ---- */

/* O is borrowed until cfr_doctor_close. SELECTION: as `credfresh check`. */
void cfr_doctor_open(struct cfr_doctor *d, const struct cfr_cli_options *o, bool selection);
void cfr_doctor_close(struct cfr_doctor *d);
/* Further findings are about CREDENTIAL (NULL: none), at LINE of the configuration (0: nowhere). */
void cfr_doctor_at(struct cfr_doctor *d, const char *credential, int line);
/* Adds a finding at the current place. REMEDY may be NULL. Control characters become `?`. */
void cfr_doctor_report(struct cfr_doctor *d, enum cfr_finding_level level, const char *check, const char *remedy,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The time left in milliseconds; 0 when it is up, which is then remembered. */
int64_t cfr_doctor_left_ms(struct cfr_doctor *d);
/* How a report is shown. */
struct cfr_doctor_layout {
    size_t columns; /* of the terminal; 0: it is none */
    bool colours;
};

/* Problems, the wrong ones last; with --verbose before them what is well, and notes. */
void cfr_doctor_write_text(const struct cfr_doctor *d, const struct cfr_doctor_layout *l, struct cfr_str *out);
/* {"version":1,...}: docs/doctor.md describes it. */
void cfr_doctor_write_json(const struct cfr_doctor *d, struct cfr_str *out);
/* The findings as `credfresh check` prints them: "ERROR  PATH:LINE: CREDENTIAL: TEXT", and the line of SOURCE, the text
 * of the configuration (empty: unknown), with a caret; each line after MARGIN. COLUMNS is the width of the terminal; 0:
 * it is none. */
void cfr_doctor_write_lines(const struct cfr_doctor *d, size_t columns, const char *margin, struct cfr_view source,
                            struct cfr_str *out);

/* ---- the checks ---- */

enum cfr_doctor_need {
    CFR_DOCTOR_ONCE = 1,    /* runs once, before those of the credentials; its case is NULL */
    CFR_DOCTOR_LAST = 2,    /* runs once, after them; its case is NULL */
    CFR_DOCTOR_OWN = 4,     /* runs for credentials, and not for image credentials */
    CFR_DOCTOR_CLOUD = 8,   /* runs where something is exchanged */
    CFR_DOCTOR_NETWORK = 16 /* does not run with --offline */
};

struct cfr_doctor_check {
    const char *name;
    unsigned needs; /* of enum cfr_doctor_need */
    enum cfr_doctor_selected selected;
    void (*run)(struct cfr_doctor *d, struct cfr_doctor_case *c);
};

/* Runs CHECKS, which end with name NULL, for all credentials that the command line names. */
void cfr_doctor_run_checks(struct cfr_doctor *d, const struct cfr_doctor_check *checks);

/* The agent that listens on the control socket; what it reports about itself; and about one credential. */
void cfr_doctor_find_agent(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_agent(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_agent_credential(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The user, the state directory, limits and privileges. */
void cfr_doctor_user(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_state(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_machine(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The environment's proxy variables. */
void cfr_doctor_proxy(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* Owner and mode of the sockets' directories, of records, and of the service CA's store. */
void cfr_doctor_places(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_config_places(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* Defaults that no credential has; those that one has. */
void cfr_doctor_unused_defaults(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_defaults(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The service CA; what a credential has of it. */
void cfr_doctor_ca(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_issued(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* A rotated long-lived key. */
void cfr_doctor_mint_forgotten(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_mint(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The same key in its cloud. */
void cfr_doctor_mint_key(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* What ONE's mint.with has, exchanged once for all checks of ONE. As cfr_source_sync_grant. */
int cfr_doctor_mint_admin(const struct cfr_doctor *d, struct cfr_doctor_case *one, struct cfr_err *err);
/* The rights that rotating it takes. */
void cfr_doctor_mint_rights(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The targets of a credential; what they are to hold, once its source was read; and its hooks. */
void cfr_doctor_targets(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_publish(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_hooks(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* An image credential. */
void cfr_doctor_image(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* Reads the inputs of the exchange; the token's file and its volume; the token's claims and the inputs; its signature.
 */
void cfr_doctor_source(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_volume(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_token(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_signature(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The servers of the exchange; the exchange; the clocks, once a server has answered. */
void cfr_doctor_network(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_exchange(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_clock(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* The cloud's trust in the token, as far as it is known; files of the command line that no credential needed. */
void cfr_doctor_trust(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_trust_unused(struct cfr_doctor *d, struct cfr_doctor_case *c);

/* ---- for whom: as_unit.c ---- */

/* As root, where systemd has a unit of the packages for CONFIG: runs the command again as that unit, so that findings
 * about rights hold for its user and its sandbox, and returns true with its exit status in STATUS. False where that is
 * not possible, or already so. */
bool cfr_doctor_as_unit(const struct cfr_cli_options *o, const char *config, int *status);
/* Appends for whom the findings hold, where that is the question: as the unit, or as root although there is one. */
void cfr_doctor_add_judge(const struct cfr_doctor *d, struct cfr_str *out);

/* ---- parts of checks ---- */

/* Whether FILE, of one of C's targets, fits the mounted Secret in one of its forms only. */
void cfr_doctor_form(struct cfr_doctor *d, const struct cfr_doctor_case *c, const struct cfr_config_file *file);
/* What the agent's status CREDENTIAL reports about a rotation. */
void cfr_doctor_mint_agent(struct cfr_doctor *d, const struct cfr_json *credential);
/* Frees the keys of the last issuer. */
void cfr_doctor_forget_issuer(struct cfr_doctor *d);
/* The API server of a Secret that is published. */
struct cfr_kube_where;
void cfr_doctor_cluster(struct cfr_doctor *d, const struct cfr_kube_where *where);

/* ---- shared ---- */

/* Whether the command line asks for the credential NAME. */
bool cfr_doctor_wants(const struct cfr_doctor *d, const char *name);
/* The level of what may still be provided before an agent runs, or by another user: a warning in `credfresh check`. */
enum cfr_finding_level cfr_doctor_later(const struct cfr_doctor *d);
/* The file that the case's token is in, or NULL. Borrowed. */
const char *cfr_doctor_token_path(const struct cfr_doctor_case *c);
/* Decodes the case's token_text. False if it is no token; ERR says why. */
bool cfr_doctor_read_claims(struct cfr_doctor_case *c, struct cfr_err *err);
/* Whether this process has the capability with this number (linux/capability.h). */
bool cfr_doctor_capable(unsigned capability);

/* ---- open files that a configuration needs, and the memory limit of the control group ---- */

/* Descriptors that an agent with this configuration may have open at once. Pure. */
int64_t cfr_doctor_needed_files(const struct cfr_config *config);
/* The least memory limit of the control groups that CGROUP (the text of /proc/self/cgroup) names, looked for
 * below ROOT
 * (/sys/fs/cgroup): version 2's memory.max and version 1's memory.limit_in_bytes, up to the root. -1 = none.
 * PATH (may be NULL) becomes the path of its file. Blocks on disk. */
int64_t cfr_doctor_memory_limit(struct cfr_view cgroup, const char *root, char path[512]);

/* ---- lookup of a name's addresses within a time limit, as text. Blocks ---- */

#define CFR_DOCTOR_ADDRESSES_MAX 512

/* True for an address in place of a name. */
bool cfr_doctor_is_address(const char *host);
/* Writes HOST's addresses, "10.0.0.1, 2001:db8::1", and how long it took. CFR_E_NET with the resolver's
 * words; CFR_E_TIMEOUT. The resolver itself knows no limit, so a separate process asks it. */
int cfr_doctor_resolve(const char *host, int64_t timeout_ms, char addresses[CFR_DOCTOR_ADDRESSES_MAX], int64_t *took_ms,
                       struct cfr_err *err);
/* What RESOLV_CONF (the text of /etc/resolv.conf) says, in a few words: servers and search list. Pure. */
void cfr_doctor_resolver(struct cfr_view resolv_conf, char *out, size_t size);

/* ---- servers that an exchange talks to, found by building its requests without sending them ---- */

struct cfr_doctor_host {
    char *url;               /* heap; of the first request there */
    const char *ca_file;     /* borrowed; NULL = the system's */
    struct cfr_view ca_pem;  /* borrowed; in place of ca_file, when not empty */
    const char *server_name; /* borrowed; NULL = that of the URL */
    bool link_local;
    bool plain_http;
    char name[CFR_HTTP_PROBE_TEXT];
    int port;
    bool tls;
};

struct cfr_doctor_hosts {
    struct cfr_doctor_host items[CFR_DOCTOR_HOSTS_MAX];
    size_t count;
    int error; /* why the first request cannot be built; 0 */
    struct cfr_err err;
};

/* The servers of C's exchange in the order in which they are asked, each once. Steps that depend on an
 * earlier answer's details may be missing. The caller frees OUT. */
void cfr_doctor_hosts_find(const struct cfr_doctor_case *c, struct cfr_doctor_hosts *out);
void cfr_doctor_hosts_free(struct cfr_doctor_hosts *h);
/* True if the environment names any proxy for https. */
bool cfr_doctor_hosts_may_proxy(void);
/* The proxy of the environment variable VARIABLE for people: "HOST:PORT, by VARIABLE", without user and password. */
void cfr_doctor_hosts_show_proxy(const char *variable, char out[CFR_HTTP_PROBE_TEXT]);

/* Calls to the cloud of a rotated key, page by page, that change nothing there. They block. The struct is large and on
 * the heap; the caller owns it, and sets provider, config, ask and err. */
struct cfr_doctor_rotation {
    const struct cfr_rotation_provider *provider;
    const void *config;
    struct cfr_rotation_ask ask;
    struct cfr_wire_request request;
    struct cfr_rotation_answer answer;
    bool ended;
    int rc;
    struct cfr_err *err;
};

/* Sends the ask (LIST or RIGHTS) until the answer has its last page, or the boot clock is at END_BOOT_MS:
 * CFR_E_TIMEOUT. Else an error of the request, or of the cloud. */
int cfr_doctor_rotation_call(struct cfr_doctor_rotation *l, int64_t end_boot_ms, struct cfr_err *err);
/* Frees L, too. */
void cfr_doctor_rotation_free(struct cfr_doctor_rotation *l);

#endif
