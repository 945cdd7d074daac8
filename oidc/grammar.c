/* SPDX-License-Identifier: MIT */
/* Tables of the commands and options of credfresh-oidc. */
#include "agent/cli/grammar.h"
#include "oidc/oidc.h"
#include "oidc/oidc_private.h"

#include <stddef.h>

#define DIRECTORY OPTION_AS('d', CFR_CLI_REQUIRED)

static const struct cfr_cli_command commands[] = {
    {"init", "create an issuer's first key and its documents",
     PARTS(DIRECTORY, OPTION_AS('i', CFR_CLI_REQUIRED), OPTION_AS('l', CFR_CLI_REQUIRED), OPTION('k'), OPTION('W'),
           OPTION('e'), OPTION('g'), OPTION_AS('K', CFR_CLI_OR), OPTION('p'), OPTION('J'), OPTION('A'), OPTION('X'),
           OPTION('R')),
     CFR_CLI_AGENT, "credfresh-oidc init -d /var/lib/issuer --issuer https://id.shop.example --token-life 1h"},
    {"rotate", "take the next step of the key's rotation, if it is safe",
     PARTS(DIRECTORY,
           {.option = 'p',
            .flags = CFR_CLI_OR,
            .summary = "the next public key, of a cluster that keeps the private one"},
           OPTION_AS('C', CFR_CLI_OR), OPTION_AS('N', CFR_CLI_OR), OPTION('Y'), OPTION('R')),
     CFR_CLI_AGENT, "credfresh-oidc rotate -d /var/lib/issuer --confirm"},
    {"publish", "upload the documents to a bucket or container, and read them back",
     PARTS(DIRECTORY, OPTION_AS('n', CFR_CLI_REQUIRED), OPTION('U'), OPTION('c'), OPTION('G'), OPTION('R'),
           TIMEOUT("10m")),
     CFR_CLI_AGENT, "credfresh-oidc publish -d /var/lib/issuer --name issuer-bucket"},
    {"manifests", "write what cluster and clouds must know, as files and commands",
     PARTS(DIRECTORY, OPTION_AS('o', CFR_CLI_REQUIRED), OPTION_AS('B', CFR_CLI_REPEATED),
           OPTION_FOR('u', "the audience of the tokens; default: the usual one of each cloud"), OPTION('G'),
           OPTION('O')),
     CFR_CLI_AGENT, "credfresh-oidc manifests -d /var/lib/issuer --output /tmp/tell"},
    {"status", "show the keys and the next step of a rotation", PARTS(DIRECTORY, OPTION('j')), CFR_CLI_AGENT,
     "credfresh-oidc status -d /var/lib/issuer"},
    {"verify", "check a token's signature, issuer, audience and times as a cloud does",
     PARTS(ARGUMENT("FILE", CFR_CLI_FILE, CFR_CLI_REQUIRED),
           {.option = 'i', .flags = CFR_CLI_OR, .summary = "the issuer to expect, whose published keys are read"},
           OPTION('S'), OPTION('u'), OPTION('a'),
           OPTION_FOR('G', "certificates (PEM) to trust instead of the system's, for the issuer's URL"),
           TIMEOUT("30s")),
     CFR_CLI_DIAGNOSIS, "credfresh-oidc verify /run/token --issuer https://id.shop.example --audience shop"},
    {"version", "print the version", PARTS(OPTION('h')), CFR_CLI_TOOLS, "credfresh-oidc version"},
    {"help", "list the commands, or explain one", PARTS(ARGUMENT("COMMAND", CFR_CLI_SUBCOMMAND, 0)), CFR_CLI_TOOLS,
     "credfresh-oidc help rotate"},
    {NULL, NULL, NULL, CFR_CLI_GROUPS, NULL},
};

static const struct cfr_cli_verb verbs[] = {{NULL, NULL, NULL, NULL, NULL, NULL}};

#define SET(member)      CFR_CLI_SET, offsetof(struct cfr_oidc_options, member)
#define STRING(member)   CFR_CLI_STRING, offsetof(struct cfr_oidc_options, member)
#define DURATION(member) CFR_CLI_DURATION, offsetof(struct cfr_oidc_options, member)
#define STRINGS(member)  CFR_CLI_STRINGS, offsetof(struct cfr_oidc_options, member)

static const struct cfr_cli_option options[] = {
    {"directory", 'd', true, "DIR", CFR_CLI_DIRECTORY, STRING(directory), "directory of the journal and the key"},
    {"issuer", 'i', false, "URL", CFR_CLI_TEXT, STRING(issuer), "URL of the issuer, as in its tokens"},
    {"key", 'k', false, "KIND", CFR_CLI_TEXT, STRING(key),
     "kind of the keys: rsa-2048 (the default), rsa-4096, ecdsa-p256 ..."},
    {"token-life", 'l', false, "DURATION", CFR_CLI_TEXT, STRING(token_life),
     "the longest lifetime of a token that the issuer signs"},
    {"settle", 'e', false, "DURATION", CFR_CLI_TEXT, STRING(settle),
     "time until all verifiers have read a new document; default: 1h"},
    {"signer-lag", 'g', false, "DURATION", CFR_CLI_TEXT, STRING(signer_lag),
     "time until signers use a new key file; default: wait for --confirm"},
    {"web-root", 'W', false, "DIR", CFR_CLI_DIRECTORY, STRING(web_root),
     "directory of the published documents; default: DIR/web"},
    {"signing-key", 'K', false, "FILE", CFR_CLI_FILE, STRING(signing_key),
     "the private key with which the cluster signs already; default: a new one"},
    {"public-key", 'p', false, "FILE", CFR_CLI_FILE, STRING(public_key),
     "the public key of a cluster that keeps the private one"},
    {"jwks-path", 'J', false, "PATH", CFR_CLI_TEXT, STRING(jwks_path),
     "path of the key set below the issuer's URL; default: openid/v1/jwks"},
    {"claims-supported", 'A', false, NULL, CFR_CLI_TEXT, SET(claims), "list the claims in the discovery document"},
    {"certificates", 'X', false, NULL, CFR_CLI_TEXT, SET(x5c), "publish a certificate with each key, for Ceph"},
    {"confirm", 'C', false, NULL, CFR_CLI_TEXT, SET(confirm), "every signer uses the new key now"},
    {"continue", 'N', false, NULL, CFR_CLI_TEXT, SET(only_continue), "continue a rotation, but start none"},
    {"recount", 'Y', false, NULL, CFR_CLI_TEXT, SET(recount),
     "begin a waiting time again, if the clock was ahead at the last step"},
    {"to", 'U', false, "URL", CFR_CLI_TEXT, STRING(to),
     "the bucket or container: its URL, or s3@REGION:URL, blob:URL or gcs:URL; default: the last one"},
    {"name", 'n', false, "NAME", CFR_CLI_CREDENTIAL, STRINGS(cli.names),
     "the credential of the configuration that may write to the store"},
    {"config", 'c', true, "FILE", CFR_CLI_FILE, STRING(cli.config_option),
     "the configuration; default: $CREDFRESH_CONFIG, else " CFR_DEFAULT_CONFIG ", else the environment"},
    {"ca-file", 'G', false, "FILE", CFR_CLI_FILE, STRING(ca_file),
     "certificates (PEM) to trust instead of the system's"},
    {"replace", 'R', false, NULL, CFR_CLI_TEXT, SET(replace),
     "replace keys that are not known here, or documents of another issuer"},
    {"timeout", 't', false, "DURATION", CFR_CLI_TEXT, DURATION(cli.timeout_ms),
     "the longest time to take, such as 90s"},
    {"jwks", 'S', false, "FILE", CFR_CLI_FILE, STRING(jwks),
     "the keys, a JSON Web Key Set; nothing is read from a server"},
    {"at", 'a', false, "TIME", CFR_CLI_TEXT, STRING(at),
     "the time to check for, as 2026-01-02T03:04:05Z or Unix seconds; default: now"},
    {"output", 'o', true, "DIR", CFR_CLI_DIRECTORY, STRING(cli.output), "directory of the files for the clouds"},
    {"service-account", 'B', false, "NAMESPACE/NAME", CFR_CLI_TEXT, STRINGS(cli.service_accounts),
     "a service account that a cloud trusts; can be repeated"},
    {"audience", 'u', false, "TEXT", CFR_CLI_TEXT, STRING(cli.audience), "the audience that the token must have"},
    {"offline", 'O', false, NULL, CFR_CLI_TEXT, SET(cli.offline), "send nothing to any server"},
    {"json", 'j', false, NULL, CFR_CLI_TEXT, SET(cli.json), "print JSON"},
    {"help", 'h', true, NULL, CFR_CLI_TEXT, SET(cli.help), "print this command's usage"},
    {NULL, 0, false, NULL, CFR_CLI_TEXT, CFR_CLI_SET, 0, NULL},
};

const struct cfr_cli_program cfr_oidc_program = {
    .name = "credfresh-oidc",
    .purpose = "credfresh-oidc manages the key and the documents of a service-account issuer.",
    .commands = commands,
    .verbs = verbs,
    .options = options,
    .titles = {"The issuer", "Diagnosis", NULL, "Tools"},
    .footer = "\nExample: credfresh-oidc status -d /var/lib/issuer\n\n"
              "`credfresh-oidc help COMMAND` explains a command. credfresh-oidc(1) is the\n"
              "manual page. Options come after the command.\n\n"
              "Exit status: 0 success, 1 failure, 2 usage, 4 timeout, 6 refused.\n",
};
