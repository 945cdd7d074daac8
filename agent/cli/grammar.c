/* SPDX-License-Identifier: MIT */
/* Tables of the subcommands and their options. */
#include "agent/cli/command.h"

#include <stddef.h>

#define PARTS(...)                                                                                                     \
    (const struct cfr_cli_part[])                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            .option = 0                                                                                                \
        }                                                                                                              \
    }
#define OPTION(letter)                                                                                                 \
    {                                                                                                                  \
        .option = (letter)                                                                                             \
    }
#define OPTION_AS(letter, how)                                                                                         \
    {                                                                                                                  \
        .option = (letter), .flags = (how)                                                                             \
    }
#define CHOICE_OF(letter, words)                                                                                       \
    {                                                                                                                  \
        .option = (letter), .word = (words), .values = CFR_CLI_CHOICE                                                  \
    }
#define ARGUMENT(name, kind, how)                                                                                      \
    {                                                                                                                  \
        .word = (name), .values = (kind), .flags = (how)                                                               \
    }
/* -c of a command that only looks up the control socket in the file. */
#define SOCKETS OPTION('s'), OPTION_AS('c', CFR_CLI_HIDDEN)
/* Of a command that logs. */
#define LOGGING CHOICE_OF('L', "error|warn|info|debug"), CHOICE_OF('M', "text|json")

const struct cfr_cli_command cfr_cli_commands[] = {
    {"run", "keep all credentials fresh, in the foreground", PARTS(OPTION('c'), LOGGING)},
    {"once", "get and publish every credential once, run the hooks, exit", PARTS(OPTION('c'), OPTION('t'), LOGGING)},
    {"check", "check the configuration; --online also does every exchange", PARTS(OPTION('c'), OPTION('o'))},
    {"doctor", "diagnose everything around the credentials; changes nothing",
     PARTS(OPTION('c'), ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REPEATED), OPTION('j'), OPTION('O'), OPTION('t'),
           OPTION('s'), OPTION('T'), OPTION('F'), OPTION('P'))},
    {"status", "show the state of the running agent", PARTS(OPTION('j'), OPTION('w'), SOCKETS)},
    {"rotate", "renew credentials now, at most once per reason",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REQUIRED | CFR_CLI_REPEATED | CFR_CLI_OR),
           OPTION_AS('a', CFR_CLI_REQUIRED), OPTION('r'), SOCKETS)},
    {"wait", "wait until credentials are published and valid",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REPEATED), OPTION('t'), SOCKETS)},
    {"reload", "make the running agent reload its configuration", PARTS(SOCKETS)},
    {"image-credential-provider", "log in to image registries for the kubelet, which runs this", PARTS(OPTION('c'))},
    {"exec", "run a command with credentials that are kept fresh",
     PARTS(OPTION('c'), OPTION_AS('n', CFR_CLI_REPEATED), OPTION('t'), OPTION('q'), LOGGING,
           ARGUMENT("COMMAND", CFR_CLI_PROGRAM, CFR_CLI_REQUIRED),
           ARGUMENT("ARGUMENT", CFR_CLI_TEXT, CFR_CLI_REPEATED))},
    {"quit", "make the running agent exit", PARTS(SOCKETS)},
    {"get", "print a credential as the plugin of an SDK or of kubectl",
     PARTS(ARGUMENT("aws|gcp|kube|token", CFR_CLI_CHOICE, CFR_CLI_REQUIRED),
           ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REQUIRED), OPTION('f'), OPTION('t'), OPTION_AS('s', CFR_CLI_OR),
           OPTION('c'))},
    {"env", "print the variables that point SDKs at a credential",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REQUIRED), CHOICE_OF('m', "sh|env|json"), OPTION('c'))},
    {"oidc", "manage the key and the documents of a service-account issuer",
     PARTS(ARGUMENT("init|rotate|publish|manifests|status", CFR_CLI_CHOICE, CFR_CLI_REQUIRED),
           OPTION_AS('d', CFR_CLI_REQUIRED), OPTION('j'), OPTION('i'), OPTION('l'), OPTION('k'), OPTION('W'),
           OPTION('e'), OPTION('g'), OPTION_AS('S', CFR_CLI_OR), OPTION('p'), OPTION('J'), OPTION('A'), OPTION('X'),
           OPTION_AS('C', CFR_CLI_OR), OPTION('N'), OPTION('U'), OPTION('n'), OPTION('c'), OPTION('G'), OPTION('R'),
           OPTION('t'), OPTION('D'), OPTION_AS('B', CFR_CLI_REPEATED), OPTION('u'), OPTION('O'))},
    {"inspect", "explain a token, and whether a token service would accept it",
     PARTS(ARGUMENT("FILE", CFR_CLI_FILE, CFR_CLI_REQUIRED), OPTION('u'))},
    {"reference", "print the configuration reference", PARTS(CHOICE_OF('m', "markdown|man"))},
    {"completion", "print a shell's completion script, or the credentials' names",
     PARTS(ARGUMENT("bash|zsh|fish|names", CFR_CLI_CHOICE, CFR_CLI_REQUIRED), OPTION_AS('s', CFR_CLI_OR), OPTION('c'))},
    {"version", "print the version", PARTS(OPTION('v'))},
    {"help", "list the commands, or explain one", PARTS(ARGUMENT("COMMAND", CFR_CLI_SUBCOMMAND, 0))},
    {NULL, NULL, NULL},
};

#define SET(member)      CFR_CLI_SET, offsetof(struct cfr_cli_options, member)
#define STRING(member)   CFR_CLI_STRING, offsetof(struct cfr_cli_options, member)
#define DURATION(member) CFR_CLI_DURATION, offsetof(struct cfr_cli_options, member)
#define STRINGS(member)  CFR_CLI_STRINGS, offsetof(struct cfr_cli_options, member)

const struct cfr_cli_option cfr_cli_option_table[] = {
    {"config", 'c', true, "FILE", CFR_CLI_FILE, STRING(config_option), "the configuration"},
    {"socket", 's', true, "SOCKET", CFR_CLI_FILE, STRING(socket), "the control socket of the running agent"},
    {"online", 'o', false, NULL, CFR_CLI_TEXT, SET(online), "do every exchange, and publish nothing"},
    {"json", 'j', false, NULL, CFR_CLI_TEXT, SET(json), "print JSON"},
    {"watch", 'w', false, NULL, CFR_CLI_TEXT, SET(watch), "repeat every second"},
    {"all", 'a', false, NULL, CFR_CLI_TEXT, SET(all), "all credentials"},
    {"reason", 'r', false, "TEXT", CFR_CLI_TEXT, STRING(reason), "renew at most once for this reason"},
    {"timeout", 't', false, "DURATION", CFR_CLI_TEXT, DURATION(timeout_ms), "the longest time to take, such as 90s"},
    {"audience", 'u', false, "TEXT", CFR_CLI_TEXT, STRING(audience), "the audience that the token must have"},
    {"field", 'f', false, "FIELD", CFR_CLI_TEXT, STRING(field), "the value of the credential that is the token"},
    {"format", 'm', false, "FORMAT", CFR_CLI_TEXT, STRING(format), "the format of the output"},
    {"name", 'n', false, "NAME", CFR_CLI_CREDENTIAL, STRINGS(names), "a credential to use; can be repeated"},
    {"verbose", 'v', false, NULL, CFR_CLI_TEXT, SET(verbose), "the libraries and their versions, too"},
    {"offline", 'O', false, NULL, CFR_CLI_TEXT, SET(offline), "send nothing to any server"},
    {"trust-policy", 'T', false, "FILE", CFR_CLI_FILE, STRING(trust_policy),
     "the role's trust policy, as `aws iam get-role` prints it"},
    {"federated-credential", 'F', false, "FILE", CFR_CLI_FILE, STRING(federated_credential),
     "Azure's federated credentials, as `az ... federated-credential` prints them"},
    {"pool-provider", 'P', false, "FILE", CFR_CLI_FILE, STRING(pool_provider),
     "Google's pool provider, as `gcloud ... providers describe --format json` prints it"},
    {"directory", 'd', true, "DIR", CFR_CLI_DIRECTORY, STRING(oidc.directory), "directory of the journal and the key"},
    {"issuer", 'i', false, "URL", CFR_CLI_TEXT, STRING(oidc.issuer), "URL of the issuer, as in its tokens"},
    {"key", 'k', false, "KIND", CFR_CLI_TEXT, STRING(oidc.key),
     "kind of the keys: rsa-2048 (the default), rsa-4096, ecdsa-p256 ..."},
    {"token-life", 'l', false, "DURATION", CFR_CLI_TEXT, STRING(oidc.token_life),
     "the longest lifetime of a token that the issuer signs"},
    {"settle", 'e', false, "DURATION", CFR_CLI_TEXT, STRING(oidc.settle),
     "time until all verifiers have read a new document; default: 1h"},
    {"signer-lag", 'g', false, "DURATION", CFR_CLI_TEXT, STRING(oidc.signer_lag),
     "time until signers use a new key file; default: wait for --confirm"},
    {"web-root", 'W', false, "DIR", CFR_CLI_DIRECTORY, STRING(oidc.web_root),
     "directory of the published documents; default: DIR/web"},
    {"signing-key", 'S', false, "FILE", CFR_CLI_FILE, STRING(oidc.signing_key),
     "the private key with which the cluster signs already; default: a new one"},
    {"public-key", 'p', false, "FILE", CFR_CLI_FILE, STRING(oidc.public_key),
     "the public key of a cluster that keeps the private one; of `rotate`, its next key"},
    {"jwks-path", 'J', false, "PATH", CFR_CLI_TEXT, STRING(oidc.jwks_path),
     "path of the key set below the issuer's URL; default: openid/v1/jwks"},
    {"claims-supported", 'A', false, NULL, CFR_CLI_TEXT, SET(oidc.claims), "list the claims in the discovery document"},
    {"certificates", 'X', false, NULL, CFR_CLI_TEXT, SET(oidc.x5c), "publish a certificate with each key, for Ceph"},
    {"to", 'U', false, "[s3@REGION:|blob:|gcs:]URL", CFR_CLI_TEXT, STRING(oidc.to),
     "the bucket or container for the documents; default: the last one"},
    {"ca-file", 'G', false, "FILE", CFR_CLI_FILE, STRING(oidc.ca_file),
     "certificates (PEM) to trust instead of the system's"},
    {"output", 'D', false, "DIR", CFR_CLI_DIRECTORY, STRING(oidc.output), "directory of the files for the clouds"},
    {"service-account", 'B', false, "NAMESPACE/NAME", CFR_CLI_TEXT, STRINGS(oidc.service_accounts),
     "a service account that a cloud trusts; can be repeated"},
    {"replace", 'R', false, NULL, CFR_CLI_TEXT, SET(oidc.replace),
     "replace documents that have other keys, or are another issuer's"},
    {"confirm", 'C', false, NULL, CFR_CLI_TEXT, SET(oidc.confirm), "every signer uses the new key now"},
    {"continue", 'N', false, NULL, CFR_CLI_TEXT, SET(oidc.only_continue), "continue a rotation, but start none"},
    {"log-level", 'L', false, "LEVEL", CFR_CLI_TEXT, STRING(log_level),
     "the least important events to log; default: $CREDFRESH_LOG_LEVEL, else the configuration's"},
    {"log-format", 'M', false, "FORMAT", CFR_CLI_TEXT, STRING(log_format),
     "the format of the log; default: $CREDFRESH_LOG_FORMAT, else the configuration's"},
    {"quiet", 'q', true, NULL, CFR_CLI_TEXT, SET(quiet), "log errors only"},
    {"help", 'h', true, NULL, CFR_CLI_TEXT, SET(help), "print this command's usage"},
    {NULL, 0, false, NULL, CFR_CLI_TEXT, CFR_CLI_SET, 0, NULL},
};
