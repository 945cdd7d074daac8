/* SPDX-License-Identifier: MIT */
/* The command line: its grammar as data, what was given, usage and error texts. Nothing here blocks. A parsed command
 * line borrows argv and the environment. Errors are printed to standard error. */
#ifndef CFR_AGENT_CLI_COMMAND_H
#define CFR_AGENT_CLI_COMMAND_H

#include "base/view.h"
#include "agent/cli/exit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CFR_DEFAULT_CONFIG       "/etc/credfresh/credfresh.yaml"
#define CFR_CLI_OPTION_NAMES_MAX 64
#define CFR_DEFAULT_SOCKET       "/run/credfresh/control.sock"

/* The values of an option that can be given more than once. */
struct cfr_cli_names {
    char *items[CFR_CLI_OPTION_NAMES_MAX];
    size_t count;
};

/* The options of `init`; NULL was not given. */
struct cfr_cli_init_options {
    bool sidecar;
    bool node;
    bool secret;
    const char *role_arn;
    const char *region;
    const char *tenant_id;
    const char *client_id;
    const char *scope;
    const char *auth_url;
    const char *application_credential_id;
    const char *registry;
    const char *token_url;
    const char *image;
};

/* A parsed command line; each command uses a part of it. A program with options of its own has a struct that begins
 * with this one. */
struct cfr_cli_options {
    const char *config;        /* -c, $CREDFRESH_CONFIG, or the default; NULL: the environment */
    bool config_given;         /* by -c or $CREDFRESH_CONFIG */
    const char *config_option; /* -c alone; NULL: not given */
    const char *socket;        /* -s, $CREDFRESH_SOCKET, or NULL */
    const char *token_socket;  /* $CREDFRESH_TOKEN_SOCKET without -s, or NULL */
    bool online;
    bool offline;
    bool json;
    bool watch;
    bool failed;
    bool exit_code;
    bool strict;
    bool all;
    bool verbose;
    bool help;
    const char *reason;
    const char *audience;
    const char *field;
    const char *format;
    const char *log_level;  /* --log-level, $CREDFRESH_LOG_LEVEL, or NULL */
    const char *log_format; /* --log-format, $CREDFRESH_LOG_FORMAT, or NULL */
    bool quiet;
    const char *trust_policy; /* files of the cloud's side, for doctor; NULL = none */
    const char *federated_credential;
    const char *pool_provider;
    const char *output; /* the file of init */
    struct cfr_cli_init_options init;
    int64_t timeout_ms;                    /* -1 = not given */
    struct cfr_cli_names names;            /* of each --name */
    struct cfr_cli_names service_accounts; /* of each --service-account */
    char **argv;                           /* the whole command, from its name on */
    char **args;                           /* the arguments that are no options */
    int arg_count;
};

/* ---- the grammar ---- */

/* The possible values of an option or an argument, for completion. */
enum cfr_cli_values {
    CFR_CLI_TEXT, /* anything */
    CFR_CLI_CREDENTIAL,
    CFR_CLI_FILE,
    CFR_CLI_DIRECTORY,
    CFR_CLI_PROGRAM,    /* a program; its arguments follow */
    CFR_CLI_SUBCOMMAND, /* a command of the program */
    CFR_CLI_CHOICE      /* one of the words between `|` */
};

enum cfr_cli_part_flag {
    CFR_CLI_REQUIRED = 1,
    CFR_CLI_REPEATED = 2,
    CFR_CLI_OR = 4 /* the next part may be given instead of this one */
};

/* An option or an argument of a command, in the order of its usage. */
struct cfr_cli_part {
    char option;      /* cfr_cli_option.letter; 0: an argument */
    const char *word; /* the argument in the usage; of an option: its value there, NULL: as in cfr_cli_option */
    enum cfr_cli_values values; /* of an argument, and of an option with a WORD */
    unsigned flags;
    const char *summary; /* of an option: instead of cfr_cli_option's; NULL: that one */
};

enum cfr_cli_group { CFR_CLI_AGENT, CFR_CLI_DIAGNOSIS, CFR_CLI_CONSUMER, CFR_CLI_TOOLS, CFR_CLI_GROUPS };

struct cfr_cli_command {
    const char *name;
    const char *summary;              /* one line */
    const struct cfr_cli_part *parts; /* ends with option 0 and word NULL */
    enum cfr_cli_group group;         /* in the list of commands */
    const char *example;
};

/* A word of a command's first argument that has a page of its own. */
struct cfr_cli_verb {
    const char *command;
    const char *name;
    const char *options;  /* letters of the command's options that mean something here */
    const char *required; /* letters of those that must be given */
    const char *summary;
    const char *example;
};

/* How the value of an option is stored. */
enum cfr_cli_option_type {
    CFR_CLI_SET,      /* bool */
    CFR_CLI_STRING,   /* const char *, borrowed */
    CFR_CLI_DURATION, /* int64_t, milliseconds */
    CFR_CLI_STRINGS   /* struct cfr_cli_names */
};

struct cfr_cli_option {
    const char *name;
    char letter;                /* in cfr_cli_part.option; `h` is an option of every command */
    bool brief;                 /* the letter is a short option, too */
    const char *value;          /* its name in a usage; NULL: the option has none */
    enum cfr_cli_values values; /* of the value */
    enum cfr_cli_option_type type;
    size_t offset; /* in struct cfr_cli_options, or in the struct that begins with it */
    const char *summary;
};

/* The grammar of one program. The three tables end with name == NULL. */
struct cfr_cli_program {
    const char *name;
    const char *purpose; /* a sentence */
    const struct cfr_cli_command *commands;
    const struct cfr_cli_verb *verbs;
    const struct cfr_cli_option *options;
    const char *titles[CFR_CLI_GROUPS]; /* of the groups of commands; NULL: it has no such group */
    const char *footer;                 /* below the list of commands, in lines of at most 80 columns */
};

extern const struct cfr_cli_program cfr_cli_credfresh;
/* The program that is running: that one, unless main sets another before anything is parsed or printed. */
extern const struct cfr_cli_program *cfr_cli_program;

/* The command with this name, or NULL. */
const struct cfr_cli_command *cfr_cli_find(const char *name);
/* The page of C's verb NAME, or NULL. */
const struct cfr_cli_verb *cfr_cli_find_verb(const struct cfr_cli_command *c, const char *name);
/* The part of C for the option O; NULL if C has no such option. */
const struct cfr_cli_part *cfr_cli_part_of(const struct cfr_cli_command *c, const struct cfr_cli_option *o);
bool cfr_cli_takes(const struct cfr_cli_command *c, const struct cfr_cli_option *o);
/* What the option O does as one of C. */
const char *cfr_cli_summary_of(const struct cfr_cli_command *c, const struct cfr_cli_option *o);
/* True if options end at the first argument of C, because that is a program. */
bool cfr_cli_runs_program(const struct cfr_cli_command *c);

/* ---- what was given ---- */

/* Parses the command line ARGV, whose first word is the command's name. Returns false after an error, which is then
 * printed. */
bool cfr_cli_parse(const struct cfr_cli_command *c, int argc, char **argv, struct cfr_cli_options *o);
/* Prints the usage and summary of C, or of its verb V unless that is NULL; with options and an example, when LONG_HELP.
 * Lines have at most 80 columns. */
void cfr_cli_print_usage(const struct cfr_cli_command *c, const struct cfr_cli_verb *v, bool long_help, FILE *to);
/* "COMMAND is unknown", with the command that may be meant, to standard error. */
void cfr_cli_unknown_command(const char *name);
/* Prints every command with its summary. */
void cfr_cli_print_commands(FILE *to);
/* True for what can be the name of a credential, and part of a URL's path. */
bool cfr_cli_is_plain_name(const char *name);
/* The width of the terminal FD, 80 if it does not know; 0: FD is no terminal. */
size_t cfr_cli_columns(int fd);
/* Prints "PROGRAM: TEXT" to standard error, safe for a terminal and wrapped at its width; at most 4 KiB. */
void cfr_cli_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints LINES, mistakes in a configuration, to standard error, wrapped in the same way. */
void cfr_cli_print_mistakes(struct cfr_view lines);

#endif
