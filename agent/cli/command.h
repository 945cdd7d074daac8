/* SPDX-License-Identifier: MIT */
/* The command line as data: subcommands, options, and what was said. Nothing here blocks or allocates. */
#ifndef CFR_AGENT_CLI_COMMAND_H
#define CFR_AGENT_CLI_COMMAND_H

#include "agent/cli/exit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_DEFAULT_CONFIG       "/etc/credfresh/credfresh.yaml"
#define CFR_CLI_OPTION_NAMES_MAX 64
#define CFR_DEFAULT_SOCKET       "/run/credfresh/control.sock"

/* What `oidc init` is told; NULL was not given. */
struct cfr_cli_oidc_options {
    const char *directory;
    const char *issuer;
    const char *web_root;
    const char *key;
    const char *token_life;
    const char *settle;
    const char *signer_lag;
    bool confirm;
    bool only_continue;
};
/* Letters of the options that are stored there. */
#define CFR_CLI_OIDC_LETTERS "dieklgWCN"

/* What the command line said; every command takes a part of it. */
struct cfr_cli_options {
    const char *config; /* -c, $CREDFRESH_CONFIG, or the default; NULL: the environment */
    const char *socket; /* -s, $CREDFRESH_SOCKET, or NULL */
    bool config_given;
    bool config_option; /* by -c itself */
    bool online;
    bool offline;
    bool json;
    bool watch;
    bool all;
    bool verbose;
    const char *reason;
    const char *audience;
    const char *field;
    const char *format;
    const char *trust_policy; /* files of the cloud's side, for doctor; NULL = none */
    const char *federated_credential;
    const char *pool_provider;
    struct cfr_cli_oidc_options oidc;
    int64_t timeout_ms;                    /* -1 = not given */
    char *names[CFR_CLI_OPTION_NAMES_MAX]; /* of --name, as often as it was given */
    size_t name_count;
    char **args; /* what is no option */
    int arg_count;
};

struct cfr_cli_command {
    const char *name;
    const char *usage;   /* after the name */
    const char *summary; /* one line */
    const char *options; /* letters of those it takes; `+` first: they end where the arguments begin */
    int min_args;
    int max_args; /* -1 = any number */
};

/* A long option. The letters c, s, d and h are short options, too. */
struct cfr_cli_option {
    const char *name;
    int letter;          /* in cfr_cli_command.options; everybody takes h */
    const char *value;   /* what it is called in a usage; NULL: it takes none */
    const char *summary; /* one line */
};

/* Both end with name == NULL. */
extern const struct cfr_cli_command cfr_cli_commands[];
extern const struct cfr_cli_option cfr_cli_option_table[];
bool cfr_cli_takes(const struct cfr_cli_command *c, const struct cfr_cli_option *o);
bool cfr_cli_option_is_short(const struct cfr_cli_option *o);

/* True for what can be the name of a credential, and stand in a URL. */
bool cfr_cli_is_plain_name(const char *name);
/* Prints "credfresh: TEXT" to standard error. */
void cfr_cli_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
