/* SPDX-License-Identifier: MIT */
/* Tables of the subcommands and the long options. */
#include "agent/cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct cfr_cli_command cfr_cli_commands[] = {
    {"run", "[-c FILE]", "keep all credentials fresh, in the foreground", "c", 0, 0},
    {"once", "[-c FILE] [--timeout 60s]", "get and publish everything once, run the hooks, end", "ct", 0, 0},
    {"check", "[-c FILE] [--online]", "look for mistakes; --online does every exchange without publishing", "co", 0, 0},
    {"doctor",
     "[-c FILE] [NAME...] [--json] [--offline] [--timeout 30s] [-s SOCKET] [--trust-policy FILE] "
     "[--federated-credential FILE] [--pool-provider FILE]",
     "look at everything around the credentials, and say what is wrong and what to do; changes nothing", "csjtOTFP", 0,
     -1},
    {"status", "[--json] [--watch] [-s SOCKET]", "show what the running agent does", "csjw", 0, 0},
    {"rotate", "NAME...|--all [--reason TEXT] [-s SOCKET]", "renew now; at most once per reason", "csar", 0, -1},
    {"wait", "[NAME...] [--timeout 30s] [-s SOCKET]", "return when the credentials are published and valid", "cst", 0,
     -1},
    {"reload", "[-s SOCKET]", "make the running agent take its configuration file again", "cs", 0, 0},
    {"image-credential-provider", "[-c FILE]",
     "answer the kubelet, which runs this to pull images: see image_credentials", "c", 0, 0},
    {"exec", "[-c FILE] [--name NAME]... [--timeout 60s] [--] COMMAND [ARGUMENT]...",
     "publish, then run a command with the credentials, keep them fresh, and end as it ends", "+cnt", 1, -1},
    {"quit", "[-s SOCKET]", "make the running agent end", "cs", 0, 0},
    {"get", "aws|gcp|kube|token NAME [--field NAME] [--timeout 4s] [-s SOCKET | -c FILE]",
     "print a credential for a program that asks: from the running agent; with -c by an exchange of its own", "csft", 2,
     2},
    {"env", "NAME [--format sh|env|json] [-c FILE]",
     "print the variables that point SDKs at a credential, and what wins over them", "cm", 1, 1},
    {"oidc",
     "init|rotate|status -d DIR [--json] [--issuer URL --token-life 24h [--key KIND] [--web-root DIR] [--settle 1h] "
     "[--signer-lag 0s]] [--confirm | --continue]",
     "keep the key and the documents of a service-account issuer, and rotate the key in the safe order",
     "j" CFR_CLI_OIDC_LETTERS, 1, 1},
    {"inspect", "TOKENFILE [--audience TEXT]", "explain a token, and what an STS would say of it", "u", 1, 1},
    {"reference", "[--format markdown|man]", "print the configuration reference", "m", 0, 0},
    {"completion", "bash|zsh|fish|names [-s SOCKET | -c FILE]",
     "print what a shell needs to complete command lines; names: those of the credentials", "cs", 1, 1},
    {"version", "[--verbose]", "print the version", "v", 0, 0},
    {"help", "[COMMAND]", "print this, or a command's usage", "", 0, 1},
    {NULL, NULL, NULL, NULL, 0, 0},
};

/* The letters are those in cfr_cli_commands. */
const struct cfr_cli_option cfr_cli_option_table[] = {
    {"config", 'c', "FILE", "the configuration"},
    {"socket", 's', "SOCKET", "the control socket of the running agent"},
    {"online", 'o', NULL, "do every exchange, and publish nothing"},
    {"json", 'j', NULL, "print JSON"},
    {"watch", 'w', NULL, "show it again every second"},
    {"all", 'a', NULL, "all credentials"},
    {"reason", 'r', "TEXT", "renew at most once for this reason"},
    {"timeout", 't', "DURATION", "the longest time to take, as in 90s"},
    {"audience", 'u', "TEXT", "the audience that the token must have"},
    {"field", 'f', "FIELD", "the value of the credential that is the token"},
    {"format", 'm', "FORMAT", "how to print it"},
    {"name", 'n', "NAME", "a credential to use; may be given again"},
    {"verbose", 'v', NULL, "the libraries and their versions, too"},
    {"offline", 'O', NULL, "send nothing to anybody"},
    {"trust-policy", 'T', "FILE", "the role's trust policy, as `aws iam get-role` prints it"},
    {"federated-credential", 'F', "FILE",
     "Azure's federated credentials, as `az ... federated-credential` prints them"},
    {"pool-provider", 'P', "FILE",
     "Google's pool provider, as `gcloud ... providers describe --format json` prints it"},
    {"directory", 'd', "DIR", "where the issuer's journal and key are kept"},
    {"issuer", 'i', "URL", "the issuer, as it stands in its tokens"},
    {"key", 'k', "KIND", "kind of the keys: rsa-2048 (as by default), rsa-4096, ecdsa-p256 ..."},
    {"token-life", 'l', "DURATION", "the longest life of a token that the issuer signs"},
    {"settle", 'e', "DURATION", "how long until everybody has read a new document; 1h by default"},
    {"signer-lag", 'g', "DURATION", "how long signers take to follow the key's file; by default that is confirmed"},
    {"web-root", 'W', "DIR", "where the documents are written; DIR/web by default"},
    {"confirm", 'C', NULL, "every signer uses the new key now"},
    {"continue", 'N', NULL, "go on with a rotation, and begin none"},
    {"help", 'h', NULL, "print this command's usage"},
    {NULL, 0, NULL, NULL},
};

bool cfr_cli_takes(const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    return o->letter == 'h' || strchr(c->options, o->letter) != NULL;
}

bool cfr_cli_option_is_short(const struct cfr_cli_option *o)
{
    return strchr("csdh", o->letter) != NULL;
}

void cfr_cli_complain(const char *fmt, ...)
{
    va_list ap;

    (void)fputs("credfresh: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}
