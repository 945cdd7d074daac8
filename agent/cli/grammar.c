/* SPDX-License-Identifier: MIT */
/* Tables of the subcommands and their options. */
#include "agent/cli/command_private.h"

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
#define OPTION_FOR(letter, text)                                                                                       \
    {                                                                                                                  \
        .option = (letter), .summary = (text)                                                                          \
    }
/* Of a command that asks the running agent. */
#define SOCKETS OPTION_AS('s', CFR_CLI_OR), OPTION_FOR('c', "the configuration that names the control socket")
/* Of a command that logs. */
#define LOGGING        CHOICE_OF('L', "error|warn|info|debug"), CHOICE_OF('M', "text|json")

#define TIMEOUT(limit) OPTION_FOR('t', "the longest time to take, such as 90s; default: " limit)

const struct cfr_cli_command cfr_cli_commands[] = {
    {"init", "write a first configuration, and what the cluster needs for it",
     PARTS(ARGUMENT("aws|gcp|azure|openstack|registry|oauth", CFR_CLI_CHOICE, CFR_CLI_REQUIRED),
           OPTION_AS('1', CFR_CLI_OR), OPTION_AS('2', CFR_CLI_OR), OPTION('3'),
           {.option = 'o',
            .word = "FILE",
            .values = CFR_CLI_FILE,
            .summary = "write to the new FILE, and for pods to a second one, which ends in -kubernetes.yaml; default: "
                       "print the configuration alone"},
           {.option = 'n', .summary = "the name of the credential, and of the program that uses it; default: app"},
           OPTION('4'), OPTION('5'),
           OPTION_FOR('u', "the audience of the token; at Google Cloud, the full name of the pool's provider"),
           {.option = 'B', .word = "EMAIL", .summary = "the service account of Google Cloud to impersonate"},
           OPTION('6'), OPTION('7'), OPTION('8'), OPTION('9'), OPTION('H'), OPTION('I'), OPTION('Q'), OPTION('Z')),
     CFR_CLI_AGENT, "credfresh init aws --sidecar -o credfresh.yaml"},
    {"run", "keep all credentials fresh, in the foreground", PARTS(OPTION('c'), LOGGING), CFR_CLI_AGENT,
     "credfresh run -c credfresh.yaml"},
    {"once", "get and publish every credential once, run the hooks, exit", PARTS(OPTION('c'), TIMEOUT("60s"), LOGGING),
     CFR_CLI_AGENT, "credfresh once -c credfresh.yaml --timeout 90s"},
    {"status", "show the state of the running agent",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REPEATED), OPTION('x'), OPTION('E'), OPTION('j'), OPTION('w'),
           SOCKETS),
     CFR_CLI_AGENT, "credfresh status --watch"},
    {"rotate", "renew credentials now, at most once per reason",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REQUIRED | CFR_CLI_REPEATED | CFR_CLI_OR),
           OPTION_AS('a', CFR_CLI_REQUIRED), OPTION('r'), SOCKETS),
     CFR_CLI_AGENT, "credfresh rotate app --reason \"ticket 1234\""},
    {"forget", "list keys of credentials that left the configuration",
     PARTS(ARGUMENT("NAME", CFR_CLI_TEXT, CFR_CLI_REPEATED), OPTION('c')), CFR_CLI_TOOLS, "credfresh forget"},
    {"wait", "wait until credentials are published and valid",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REPEATED), TIMEOUT("30s"), SOCKETS), CFR_CLI_AGENT,
     "credfresh wait app --timeout 2m"},
    {"reload", "make the running agent reload its configuration", PARTS(SOCKETS), CFR_CLI_AGENT, "credfresh reload"},
    {"quit", "make the running agent exit", PARTS(SOCKETS), CFR_CLI_AGENT, "credfresh quit"},
    {"check", "check the configuration; --online also does every exchange",
     PARTS(ARGUMENT("FILE", CFR_CLI_FILE, 0), OPTION('c'), OPTION('z'), OPTION('S'), OPTION('j')), CFR_CLI_DIAGNOSIS,
     "credfresh check --online credfresh.yaml"},
    {"doctor", "diagnose everything around the credentials; changes nothing",
     PARTS(OPTION('c'), ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REPEATED),
           OPTION_FOR('v', "show what is well and notes, too"), OPTION('j'), OPTION('O'), TIMEOUT("30s"), OPTION('s'),
           OPTION('T'), OPTION('F'), OPTION('P')),
     CFR_CLI_DIAGNOSIS, "credfresh doctor app -v"},
    {"inspect", "explain a token, and whether a token service would accept it",
     PARTS(ARGUMENT("FILE", CFR_CLI_FILE, CFR_CLI_REQUIRED), OPTION('u')), CFR_CLI_DIAGNOSIS,
     "kubectl create token app | credfresh inspect -"},
    {"exec", "run a command with credentials that are kept fresh",
     PARTS(OPTION('c'), OPTION_AS('n', CFR_CLI_REPEATED), TIMEOUT("60s"), OPTION('q'), LOGGING,
           ARGUMENT("COMMAND", CFR_CLI_PROGRAM, CFR_CLI_REQUIRED),
           ARGUMENT("ARGUMENT", CFR_CLI_TEXT, CFR_CLI_REPEATED)),
     CFR_CLI_CONSUMER, "credfresh exec -c credfresh.yaml -- aws s3 ls"},
    {"env", "print the variables that point SDKs at a credential",
     PARTS(ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REQUIRED),
           {.option = 'm',
            .word = "sh|env|json",
            .values = CFR_CLI_CHOICE,
            .summary = "the format of the output; default: sh"},
           OPTION('c')),
     CFR_CLI_CONSUMER, "eval \"$(credfresh env app)\""},
    {"get", "print a credential as the plugin of an SDK or of kubectl",
     PARTS(ARGUMENT("aws|gcp|kube|token", CFR_CLI_CHOICE, CFR_CLI_REQUIRED),
           ARGUMENT("NAME", CFR_CLI_CREDENTIAL, CFR_CLI_REQUIRED), OPTION('f'), TIMEOUT("4s, with -c 25s"),
           OPTION_AS('s', CFR_CLI_OR), OPTION_FOR('c', "exchange by this configuration, without an agent")),
     CFR_CLI_CONSUMER, "credfresh get aws app"},
    {"image-credential-provider", "log in to image registries for the kubelet, which runs this", PARTS(OPTION('c')),
     CFR_CLI_CONSUMER, "credfresh image-credential-provider -c credfresh.yaml <request.json"},
    {"oidc", "manage the key and the documents of a service-account issuer",
     PARTS(ARGUMENT("init|rotate|publish|manifests|status", CFR_CLI_CHOICE, CFR_CLI_REQUIRED),
           OPTION_AS('d', CFR_CLI_REQUIRED), OPTION('j'), OPTION('i'), OPTION('l'), OPTION('k'), OPTION('W'),
           OPTION('e'), OPTION('g'), OPTION_AS('K', CFR_CLI_OR), OPTION('p'), OPTION('J'), OPTION('A'), OPTION('X'),
           OPTION_AS('C', CFR_CLI_OR), OPTION_AS('N', CFR_CLI_OR), OPTION('Y'), OPTION('U'), OPTION('n'), OPTION('c'),
           OPTION('G'), OPTION('R'), OPTION('t'), OPTION('o'), OPTION_AS('B', CFR_CLI_REPEATED), OPTION('u'),
           OPTION('O')),
     CFR_CLI_TOOLS, "credfresh oidc status -d /var/lib/issuer"},
    {"reference", "print the configuration reference, or what a key means",
     PARTS(ARGUMENT("KEY", CFR_CLI_TEXT, 0), {.option = 'm',
                                              .word = "markdown|man",
                                              .values = CFR_CLI_CHOICE,
                                              .summary = "the format of the output; default: markdown"}),
     CFR_CLI_TOOLS, "credfresh reference mint.grace"},
    {"completion", "print a shell's completion script, or the credentials' names",
     PARTS(ARGUMENT("bash|zsh|fish|names", CFR_CLI_CHOICE, CFR_CLI_REQUIRED), SOCKETS), CFR_CLI_TOOLS,
     ". <(credfresh completion bash)"},
    {"version", "print the version", PARTS(OPTION('v')), CFR_CLI_TOOLS, "credfresh version --verbose"},
    {"help", "list the commands, or explain one",
     PARTS(ARGUMENT("COMMAND", CFR_CLI_SUBCOMMAND, 0), ARGUMENT("VERB", CFR_CLI_TEXT, 0)), CFR_CLI_TOOLS,
     "credfresh help get aws"},
    {NULL, NULL, NULL, CFR_CLI_GROUPS, NULL},
};

const struct cfr_cli_verb cfr_cli_verbs[] = {
    {"get", "aws", "tsc", "", "print AWS keys as `credential_process` of an AWS profile expects them",
     "credfresh get aws app"},
    {"get", "gcp", "ftsc", "", "print a token as `executable` of a Google external account expects it",
     "credfresh get gcp app"},
    {"get", "kube", "ftsc", "", "print a token as the `exec` plugin of a kubeconfig expects it",
     "credfresh get kube cluster"},
    {"get", "token", "ftsc", "", "print one value of a credential, and nothing else",
     "credfresh get token app --field session_token"},
    {"init", "aws", "123on45Z", "", "write a configuration for a role of AWS",
     "credfresh init aws --role-arn arn:aws:iam::123456789012:role/app --region eu-west-1 -o credfresh.yaml"},
    {"init", "gcp", "123onuBZ", "", "write a configuration for a workload identity pool of Google Cloud",
     "credfresh init gcp --service-account app@project.iam.gserviceaccount.com -o credfresh.yaml"},
    {"init", "azure", "123on678Z", "", "write a configuration for a managed identity of Azure",
     "credfresh init azure --scope https://vault.azure.net/.default -o credfresh.yaml"},
    {"init", "openstack", "123on9H5Z", "", "write a configuration for an application credential of OpenStack",
     "credfresh init openstack --auth-url https://keystone.example.com:5000/v3 -o credfresh.yaml"},
    {"init", "registry", "123onI45uB67Z", "", "write a configuration for a login to ECR, Artifact Registry or ACR",
     "credfresh init registry --registry registry.azurecr.io --secret -o credfresh.yaml"},
    {"init", "oauth", "123onQu8Z", "", "write a configuration for a token of an OAuth 2 server",
     "credfresh init oauth --token-url https://login.example.com/oauth2/token -o credfresh.yaml"},
    {"oidc", "init", "dilkWegKpJAXR", "dil", "create an issuer's first key and its documents",
     "credfresh oidc init -d /var/lib/issuer --issuer https://id.shop.example --token-life 1h"},
    {"oidc", "rotate", "dpCNYR", "d", "take the next step of the key's rotation, if it is safe",
     "credfresh oidc rotate -d /var/lib/issuer --confirm"},
    {"oidc", "publish", "dUncGRt", "d", "upload the documents to a bucket or container, and read them back",
     "credfresh oidc publish -d /var/lib/issuer --to s3@eu-west-1:https://bucket.example"},
    {"oidc", "manifests", "doBuGO", "do", "write what cluster and clouds must know, as files and commands",
     "credfresh oidc manifests -d /var/lib/issuer --output /tmp/tell"},
    {"oidc", "status", "dj", "d", "show the keys and the next step of a rotation",
     "credfresh oidc status -d /var/lib/issuer"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

#define SET(member)      CFR_CLI_SET, offsetof(struct cfr_cli_options, member)
#define STRING(member)   CFR_CLI_STRING, offsetof(struct cfr_cli_options, member)
#define DURATION(member) CFR_CLI_DURATION, offsetof(struct cfr_cli_options, member)
#define STRINGS(member)  CFR_CLI_STRINGS, offsetof(struct cfr_cli_options, member)

const struct cfr_cli_option cfr_cli_option_table[] = {
    {"config", 'c', true, "FILE", CFR_CLI_FILE, STRING(config_option),
     "the configuration; default: $CREDFRESH_CONFIG, else " CFR_DEFAULT_CONFIG ", else the environment"},
    {"socket", 's', true, "SOCKET", CFR_CLI_FILE, STRING(socket),
     "the control socket of the running agent; default: $CREDFRESH_SOCKET, else the configuration's"},
    {"online", 'z', false, NULL, CFR_CLI_TEXT, SET(online), "do every exchange, and publish nothing"},
    {"json", 'j', false, NULL, CFR_CLI_TEXT, SET(json), "print JSON"},
    {"watch", 'w', false, NULL, CFR_CLI_TEXT, SET(watch), "repeat every second; q ends it"},
    {"failed", 'x', false, NULL, CFR_CLI_TEXT, SET(failed), "only credentials that are not ready, or that failed last"},
    {"exit-code", 'E', false, NULL, CFR_CLI_TEXT, SET(exit_code), "exit with 1 if any of them is not ready"},
    {"strict", 'S', false, NULL, CFR_CLI_TEXT, SET(strict), "exit with 1 for warnings, too"},
    {"all", 'a', false, NULL, CFR_CLI_TEXT, SET(all), "all credentials"},
    {"reason", 'r', false, "TEXT", CFR_CLI_TEXT, STRING(reason), "renew at most once for this reason"},
    {"timeout", 't', false, "DURATION", CFR_CLI_TEXT, DURATION(timeout_ms), "the longest time to take, such as 90s"},
    {"audience", 'u', false, "TEXT", CFR_CLI_TEXT, STRING(audience), "the audience that the token must have"},
    {"field", 'f', false, "FIELD", CFR_CLI_TEXT, STRING(field), "the value of the credential that is the token"},
    {"format", 'm', false, "FORMAT", CFR_CLI_TEXT, STRING(format), "the format of the output"},
    {"name", 'n', false, "NAME", CFR_CLI_CREDENTIAL, STRINGS(names), "a credential to use; can be repeated"},
    {"verbose", 'v', true, NULL, CFR_CLI_TEXT, SET(verbose), "the libraries and their versions, too"},
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
    {"signing-key", 'K', false, "FILE", CFR_CLI_FILE, STRING(oidc.signing_key),
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
    {"output", 'o', true, "DIR", CFR_CLI_DIRECTORY, STRING(output), "directory of the files for the clouds"},
    {"sidecar", '1', false, NULL, CFR_CLI_TEXT, SET(init.sidecar), "for a container next to a program; the default"},
    {"node", '2', false, NULL, CFR_CLI_TEXT, SET(init.node), "for the systemd unit of a machine"},
    {"secret", '3', false, NULL, CFR_CLI_TEXT, SET(init.secret), "for a pod that keeps a Secret of the cluster fresh"},
    {"role-arn", '4', false, "ARN", CFR_CLI_TEXT, STRING(init.role_arn), "the role of AWS"},
    {"region", '5', false, "REGION", CFR_CLI_TEXT, STRING(init.region), "the region of AWS or OpenStack"},
    {"tenant-id", '6', false, "UUID", CFR_CLI_TEXT, STRING(init.tenant_id), "the tenant of Azure"},
    {"client-id", '7', false, "UUID", CFR_CLI_TEXT, STRING(init.client_id), "the managed identity of Azure"},
    {"scope", '8', false, "SCOPE", CFR_CLI_TEXT, STRING(init.scope), "the scope of the access token"},
    {"auth-url", '9', false, "URL", CFR_CLI_TEXT, STRING(init.auth_url), "the URL of Keystone"},
    {"application-credential-id", 'H', false, "ID", CFR_CLI_TEXT, STRING(init.application_credential_id),
     "the application credential of OpenStack"},
    {"registry", 'I', false, "HOST", CFR_CLI_TEXT, STRING(init.registry),
     "the registry, of whose cloud the other options are; default: one of ECR"},
    {"token-url", 'Q', false, "URL", CFR_CLI_TEXT, STRING(init.token_url), "the token endpoint of the OAuth 2 server"},
    {"image", 'Z', false, "IMAGE", CFR_CLI_TEXT, STRING(init.image), "the image of credfresh in your registry"},
    {"service-account", 'B', false, "NAMESPACE/NAME", CFR_CLI_TEXT, STRINGS(oidc.service_accounts),
     "a service account that a cloud trusts; can be repeated"},
    {"replace", 'R', false, NULL, CFR_CLI_TEXT, SET(oidc.replace),
     "replace keys that are not known here, or documents of another issuer"},
    {"confirm", 'C', false, NULL, CFR_CLI_TEXT, SET(oidc.confirm), "every signer uses the new key now"},
    {"continue", 'N', false, NULL, CFR_CLI_TEXT, SET(oidc.only_continue), "continue a rotation, but start none"},
    {"recount", 'Y', false, NULL, CFR_CLI_TEXT, SET(oidc.recount),
     "begin a waiting time again, if the clock was ahead at the last step"},
    {"log-level", 'L', false, "LEVEL", CFR_CLI_TEXT, STRING(log_level),
     "the least important events to log; default: $CREDFRESH_LOG_LEVEL, else the configuration's"},
    {"log-format", 'M', false, "FORMAT", CFR_CLI_TEXT, STRING(log_format),
     "the format of the log; default: $CREDFRESH_LOG_FORMAT, else the configuration's"},
    {"quiet", 'q', true, NULL, CFR_CLI_TEXT, SET(quiet), "log errors only"},
    {"help", 'h', true, NULL, CFR_CLI_TEXT, SET(help), "print this command's usage"},
    {NULL, 0, false, NULL, CFR_CLI_TEXT, CFR_CLI_SET, 0, NULL},
};
