/* SPDX-License-Identifier: MIT */
/* `credfresh doctor`: the parts that look, and the list of what they found. Private to agent/cmd/doctor.c and
 * agent/doctor_*.c. Nothing here changes or publishes anything. */
#ifndef CFR_AGENT_DOCTOR_DOCTOR_H
#define CFR_AGENT_DOCTOR_DOCTOR_H

#include "agent/cli/client.h"
#include "agent/source/inputs.h"
#include "base/finding.h"
#include "pki/ca.h"
#include "agent/doctor/trust.h"
#include "token/claims.h"

#include <sys/types.h>

#define CFR_DOCTOR_AUDIENCES_MAX 16
#define CFR_DOCTOR_HOSTS_MAX     16
#define CFR_DOCTOR_SEEN_MAX      64

/* One finding and its place; heap. */
struct cfr_doctor_item {
    enum cfr_finding_level level;
    int line; /* of FILE; 0 = none */
    char *check;
    char *credential; /* NULL = the agent, or the machine */
    char *file;       /* what the finding is about stands there; NULL = nowhere */
    char *text;
    char *remedy;
};

/* A server that was looked at for one credential and is needed for another. */
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

struct cfr_doctor {
    const struct cfr_cli_options *options;
    const char *config_path; /* NULL: the environment */
    struct cfr_config *config;
    int64_t end_boot_ms;
    bool late;                    /* a look was left out or cut short because the time was up */
    struct cfr_finding_sink sink; /* takes findings for this list */
    struct cfr_doctor_item *items;
    size_t count;
    size_t cap;
    bool nomem;
    unsigned tally[CFR_FINDING_LEVELS];
    struct cfr_doctor_seen seen[CFR_DOCTOR_SEEN_MAX];
    size_t seen_count;
    pid_t agent_pid;                   /* of whoever listens on the control socket; 0 = nobody, or not to be seen */
    uid_t agent_uid;                   /* of agent_pid */
    struct cfr_cli_answer agent;       /* what the running agent says; json NULL = nothing */
    struct cfr_ca ca;                  /* that of the store; without generations where it could not be read */
    const struct cfr_json *agent_next; /* the credential to look at first there: both lists have one order */
    struct cfr_doctor_document documents[CFR_DOCTOR_DOCUMENTS]; /* agent/doctor/check_trust.c */
    /* The place of what is found next; borrowed. */
    const char *credential;
    const char *file;
    int line;
};

/* What is looked at for one credential, image credentials included. */
struct cfr_doctor_case {
    const char *name;
    int line;
    const struct cfr_config_credential *credential; /* NULL: an image credential */
    const struct cfr_config_token *token;           /* NULL: none */
    const struct cfr_sts_provider *provider;        /* NULL: nothing is exchanged */
    const void *config;                             /* the provider's */
    struct cfr_source_inputs material;
    bool ready; /* the material could be read */
    bool asked; /* the token was asked of the API server, by itself */
    struct cfr_secret token_text;
    struct cfr_claims claims;
    bool has_claims;
    struct cfr_view audiences[CFR_DOCTOR_AUDIENCES_MAX];
    struct cfr_doctor_policy_token trusted; /* of the claims */
    int64_t server_date_s;                  /* the cloud's clock, when it was seen; 0 = not yet */
    int64_t seen_boot_ms;
    char unreached[256];    /* a server that is needed and cannot be reached; empty = none is known */
    bool exchanged;         /* and it went well */
    struct cfr_err refusal; /* of the exchange */
};

/* ---- the list: agent/doctor/report.c ---- */

void cfr_doctor_open(struct cfr_doctor *d, const struct cfr_cli_options *o);
void cfr_doctor_close(struct cfr_doctor *d);
/* What is found from now on is about CREDENTIAL (NULL: none) and stands in the configuration at LINE (0:
 * nowhere). */
void cfr_doctor_at(struct cfr_doctor *d, const char *credential, int line);
/* Adds a finding at the current place. REMEDY may be NULL. Control characters become `?`. */
void cfr_doctor_say(struct cfr_doctor *d, enum cfr_finding_level level, const char *check, const char *remedy,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* How long there is still time, in milliseconds; 0 when it is up, which is then remembered. */
int64_t cfr_doctor_left_ms(struct cfr_doctor *d);
void cfr_doctor_write_text(const struct cfr_doctor *d, struct cfr_str *out);
/* {"version":1,...}: docs/doctor.md describes it. */
void cfr_doctor_write_json(const struct cfr_doctor *d, struct cfr_str *out);

/* ---- the looks, in the order in which they are taken ---- */

/* agent/doctor/check_agent.c: finds agent_pid, before anything else. */
void cfr_doctor_find_agent(struct cfr_doctor *d);
/* agent/doctor/check_agent.c: what the running agent says of itself and its configuration; then of one credential.
 */
void cfr_doctor_agent(struct cfr_doctor *d);
void cfr_doctor_agent_credential(struct cfr_doctor *d, const struct cfr_config_credential *c);
/* agent/doctor/check_machine.c: limits, privileges, the state directory. */
void cfr_doctor_machine(struct cfr_doctor *d);
/* agent/doctor/check_ca.c: the service CA; then what of it is published for one credential. */
void cfr_doctor_ca(struct cfr_doctor *d);
void cfr_doctor_issued(struct cfr_doctor *d, const struct cfr_config_credential *c);
/* agent/doctor/check_rotation.c: a long-lived key that is rotated; and what the agent says of it, CREDENTIAL being that
 * of its status. */
void cfr_doctor_mint(struct cfr_doctor *d, const struct cfr_config_credential *c);
void cfr_doctor_mint_agent(struct cfr_doctor *d, const struct cfr_json *credential);
/* agent/doctor/check_target.c: where the credential is published, and whom it tells. */
void cfr_doctor_targets(struct cfr_doctor *d, const struct cfr_config_credential *c);
/* agent/doctor/check_kube.c */
void cfr_doctor_cluster(struct cfr_doctor *d, const struct cfr_config_secret *s);
/* agent/doctor/check_hook.c */
void cfr_doctor_hooks(struct cfr_doctor *d, const struct cfr_config_credential *c);
/* agent/doctor/check_volume.c: the file at PATH, in which a token is, and the volume around it. */
void cfr_doctor_volume(struct cfr_doctor *d, struct cfr_doctor_case *c, const char *path);
/* agent/doctor/check_token.c: what the exchange begins with, and the token's claims. */
void cfr_doctor_source(struct cfr_doctor *d, struct cfr_doctor_case *c);
/* agent/doctor/check_network.c: every server that the exchange needs; and the clocks, once one of them has answered. */
void cfr_doctor_network(struct cfr_doctor *d, struct cfr_doctor_case *c);
void cfr_doctor_clock(struct cfr_doctor *d, const struct cfr_doctor_case *c);
/* agent/doctor/check_exchange.c: the exchange itself, and the trust in the token. */
void cfr_doctor_cloud(struct cfr_doctor *d, struct cfr_doctor_case *c);

/* agent/doctor/check_trust.c: compares the cloud's trust, where the command line names it, with the case's token;
 * then says of what was named for no credential that was looked at. */
void cfr_doctor_trust(struct cfr_doctor *d, const struct cfr_doctor_case *c);
void cfr_doctor_trust_unused(struct cfr_doctor *d);

/* ---- shared ---- */

const char *cfr_doctor_env(const char *name);
/* Whether the command line asks for the credential NAME. */
bool cfr_doctor_wants(const struct cfr_doctor *d, const char *name);
/* A warning of CHECK where PATH, WHAT being what is kept there, does not outlive a restart
 * (agent/doctor/check_rotation.c). */
void cfr_doctor_lasting(struct cfr_doctor *d, const char *check, const char *what, const char *path);
/* Decodes the case's token_text. False if it is no token; ERR says why. */
bool cfr_doctor_take_claims(struct cfr_doctor_case *c, struct cfr_err *err);
/* Whether this process has the capability with this number (linux/capability.h). */
bool cfr_doctor_capable(unsigned capability);

#endif
