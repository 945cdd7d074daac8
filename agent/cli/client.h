/* SPDX-License-Identifier: MIT */
/* Client of the control socket, for the subcommands. Blocks up to the given limit. The caller frees an answer with
 * cfr_cli_answer_free in every case. */
#ifndef CFR_AGENT_CLI_CLIENT_H
#define CFR_AGENT_CLI_CLIENT_H

#include "agent/cli/command.h"
#include "base/secret.h"
#include "base/json.h"

struct cfr_cli_answer {
    long status;
    struct cfr_json *json; /* NULL if the body is none */
    struct cfr_secret text;
};

/* The socket by -s, $CREDFRESH_SOCKET, the configuration file where there is one, or the default: *OUT, which the
 * caller frees. What -c or $CREDFRESH_CONFIG names has to say it: the errors of cfr_config_socket; another agent is not
 * asked in its place. */
int cfr_cli_find_socket(const struct cfr_cli_options *o, char **out, struct cfr_err *err);
/* The same; on failure it complains, sets *STATUS to the exit status, and returns NULL. */
char *cfr_cli_socket(const struct cfr_cli_options *o, int *status);
/* One request; blocks up to 10 s. BODY may be NULL. CFR_E_MISSING (no socket), CFR_E_NET (nothing listens), CFR_E_PERM.
 */
int cfr_cli_call(const char *socket, const char *method, const char *path, const char *body, struct cfr_cli_answer *out,
                 struct cfr_err *err);
/* As cfr_cli_call, but blocks up to LIMIT_MS. */
int cfr_cli_call_within(int64_t limit_ms, const char *socket, const char *method, const char *path, const char *body,
                        struct cfr_cli_answer *out, struct cfr_err *err);
/* The list of GET /v1/credentials, which belongs to *OUT; to be freed after an error, too. CFR_E_REJECTED if the agent
 * answers anything but 200 with a list. */
int cfr_cli_list(const char *socket, struct cfr_cli_answer *out, const struct cfr_json **list, struct cfr_err *err);
/* As cfr_cli_list, but blocks up to LIMIT_MS. */
int cfr_cli_list_within(int64_t limit_ms, const char *socket, struct cfr_cli_answer *out, const struct cfr_json **list,
                        struct cfr_err *err);
/* For one call of several that end at END_BOOT_MS: what is left until then, from 100 ms to 10 s. */
int64_t cfr_cli_limit_ms(int64_t end_boot_ms);
void cfr_cli_answer_free(struct cfr_cli_answer *a);
/* Puts the agent's words for an error answer into ERR. */
void cfr_cli_explain(const struct cfr_cli_answer *a, struct cfr_err *err);
/* The exit status that ERR, of a call to the agent, means. */
int cfr_cli_exit_status(const struct cfr_err *err);
/* Prints ERR and returns its exit status. */
int cfr_cli_report(const struct cfr_err *err);
/* Prints that the agent's LIST of credentials has none with the name NAME, and which there are. */
void cfr_cli_unknown_credential(const char *name, const struct cfr_json *list);

#endif
