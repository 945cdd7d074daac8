/* SPDX-License-Identifier: MIT */
/* credfresh: command line and dispatch. */
#include "agent/command.h"

#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the name of the program begins with where it is that command alone. */
#define IMAGE_PROVIDER "credfresh-image-credential-provider"
#define LONG_OPTIONS_MAX 32

const struct cfr_command cfr_commands[] = {
    {"run", "[-c FILE]", "keep all credentials fresh, in the foreground", "c", 0, 0, cfr_command_run},
    {"once", "[-c FILE] [--timeout 60s]", "get and publish everything once, run the hooks, end", "ct", 0, 0,
     cfr_command_once},
    {"check", "[-c FILE] [--online]", "look for mistakes; --online does every exchange without publishing", "co", 0, 0,
     cfr_command_check},
    {"doctor", "[-c FILE] [NAME...] [--json] [--offline] [--timeout 30s] [-s SOCKET] [--trust-policy FILE] "
               "[--federated-credential FILE] [--pool-provider FILE]",
     "look at everything around the credentials, and say what is wrong and what to do; changes nothing", "csjtOTFP", 0, -1,
     cfr_command_doctor},
    {"status", "[--json] [--watch] [-s SOCKET]", "show what the running agent does", "csjw", 0, 0, cfr_command_status},
    {"rotate", "NAME...|--all [--reason TEXT] [-s SOCKET]", "renew now; at most once per reason", "csar", 0, -1,
     cfr_command_rotate},
    {"wait", "[NAME...] [--timeout 30s] [-s SOCKET]", "return when the credentials are published and valid", "cst", 0,
     -1, cfr_command_wait},
    {"reload", "[-s SOCKET]", "make the running agent take its configuration file again", "cs", 0, 0,
     cfr_command_reload},
    {"image-credential-provider", "[-c FILE]", "answer the kubelet, which runs this to pull images: see image_credentials",
     "c", 0, 0, cfr_command_image},
    {"exec", "[-c FILE] [--name NAME]... [--timeout 60s] [--] COMMAND [ARGUMENT]...",
     "publish, then run a command with the credentials, keep them fresh, and end as it ends", "+cnt", 1, -1, cfr_command_exec},
    {"quit", "[-s SOCKET]", "make the running agent end", "cs", 0, 0, cfr_command_quit},
    {"get", "aws|gcp|kube|token NAME [--field NAME] [--timeout 4s] [-s SOCKET | -c FILE]",
     "print a credential for a program that asks: from the running agent; with -c by an exchange of its own", "csft", 2, 2,
     cfr_command_get},
    {"env", "NAME [--format sh|env|json] [-c FILE]", "print the variables that point SDKs at a credential, and what wins over them",
     "cm", 1, 1, cfr_command_env},
    {"oidc", "init|rotate|status -d DIR [--json] [--issuer URL --token-life 24h [--key KIND] [--web-root DIR] [--settle 1h] "
             "[--signer-lag 0s]] [--confirm | --continue]",
     "keep the key and the documents of a service-account issuer, and rotate the key in the safe order", "j" CFR_OIDC_LETTERS, 1,
     1, cfr_command_oidc},
    {"inspect", "TOKENFILE [--audience TEXT]", "explain a token, and what an STS would say of it", "u", 1, 1,
     cfr_command_inspect},
    {"reference", "[--format markdown|man]", "print the configuration reference", "m", 0, 0, cfr_command_reference},
    {"completion", "bash|zsh|fish|names [-s SOCKET | -c FILE]",
     "print what a shell needs to complete command lines; names: those of the credentials", "cs", 1, 1,
     cfr_command_completion},
    {"version", "[--verbose]", "print the version", "v", 0, 0, cfr_command_version},
    {"help", "[COMMAND]", "print this, or a command's usage", "", 0, 1, cfr_command_help},
    {NULL, NULL, NULL, NULL, 0, 0, NULL},
};

/* The letters are those in cfr_commands. */
const struct cfr_option cfr_option_table[] = {
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
    {"federated-credential", 'F', "FILE", "Azure's federated credentials, as `az ... federated-credential` prints them"},
    {"pool-provider", 'P', "FILE", "Google's pool provider, as `gcloud ... providers describe --format json` prints it"},
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

void cfr_command_complain(const char *fmt, ...)
{
    va_list ap;

    (void)fputs("credfresh: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

static const struct cfr_command *find(const char *name)
{
    for (const struct cfr_command *c = cfr_commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

static bool add_name(struct cfr_options *o, char *name)
{
    if (o->name_count == CFR_OPTION_NAMES_MAX) {
        cfr_command_complain("--name can be given %d times at most", CFR_OPTION_NAMES_MAX);
        return false;
    }
    o->names[o->name_count++] = name;
    return true;
}

static bool store_oidc(struct cfr_oidc_options *o, int letter, const char *value)
{
    switch (letter) {
    case 'd':
        o->directory = value;
        break;
    case 'i':
        o->issuer = value;
        break;
    case 'k':
        o->key = value;
        break;
    case 'l':
        o->token_life = value;
        break;
    case 'e':
        o->settle = value;
        break;
    case 'g':
        o->signer_lag = value;
        break;
    case 'W':
        o->web_root = value;
        break;
    case 'C':
        o->confirm = true;
        break;
    default: /* N */
        o->only_continue = true;
    }
    return true;
}

static bool store(struct cfr_options *o, int letter, char *value)
{
    if (strchr(CFR_OIDC_LETTERS, letter) != NULL)
        return store_oidc(&o->oidc, letter, value);
    switch (letter) {
    case 'c':
        o->config = value;
        o->config_given = true;
        o->config_option = true;
        return true;
    case 's':
        o->socket = value;
        return true;
    case 'o':
        o->online = true;
        return true;
    case 'O':
        o->offline = true;
        return true;
    case 'T':
        o->trust_policy = value;
        return true;
    case 'F':
        o->federated_credential = value;
        return true;
    case 'P':
        o->pool_provider = value;
        return true;
    case 'j':
        o->json = true;
        return true;
    case 'w':
        o->watch = true;
        return true;
    case 'a':
        o->all = true;
        return true;
    case 'r':
        o->reason = value;
        return true;
    case 'n':
        return add_name(o, value);
    case 'f':
        o->field = value;
        return true;
    case 'm':
        o->format = value;
        return true;
    case 'u':
        o->audience = value;
        return true;
    case 'v':
        o->verbose = true;
        return true;
    default: /* t */
        if (cfr_time_parse_duration(cfr_view_of(value), &o->timeout_ms))
            return true;
        cfr_command_complain("--timeout %s is no duration: write 30s, 2m or 500ms", value);
        return false;
    }
}

static void usage_of(const struct cfr_command *c, FILE *to)
{
    (void)fprintf(to, "usage: credfresh %s %s\n  %s\n", c->name, c->usage, c->summary);
}

bool cfr_command_takes(const struct cfr_command *c, const struct cfr_option *o)
{
    return o->letter == 'h' || strchr(c->options, o->letter) != NULL;
}

bool cfr_option_is_short(const struct cfr_option *o)
{
    return strchr("csdh", o->letter) != NULL;
}

static void explain(const struct cfr_command *c)
{
    usage_of(c, stdout);
    (void)putchar('\n');
    for (const struct cfr_option *o = cfr_option_table; o->name != NULL; o++) {
        bool brief = cfr_option_is_short(o);

        if (cfr_command_takes(c, o))
            (void)printf("  %c%c%c --%s %-*s %s\n", brief ? '-' : ' ', brief ? o->letter : ' ', brief ? ',' : ' ', o->name,
                         26 - (int)strlen(o->name), o->value != NULL ? o->value : "", o->summary);
    }
}

static void make_long_options(struct option out[LONG_OPTIONS_MAX])
{
    size_t n = 0;

    for (const struct cfr_option *o = cfr_option_table; o->name != NULL && n < LONG_OPTIONS_MAX - 1; o++)
        out[n++] = (struct option){o->name, o->value != NULL ? required_argument : no_argument, NULL, o->letter};
    out[n] = (struct option){NULL, 0, NULL, 0};
}

static bool parse(const struct cfr_command *c, int argc, char **argv, struct cfr_options *o)
{
    const char *config = getenv("CREDFRESH_CONFIG");
    struct option long_options[LONG_OPTIONS_MAX];
    int letter;

    make_long_options(long_options);
    *o = (struct cfr_options){
        .config = config != NULL ? config : CFR_DEFAULT_CONFIG,
        .config_given = config != NULL,
        .socket = getenv("CREDFRESH_SOCKET"),
        .timeout_ms = -1,
    };
    opterr = 0;
    while ((letter = getopt_long(argc, argv, c->options[0] == '+' ? "+c:s:h" : "c:s:d:h", long_options, NULL)) != -1) {
        if (letter == 'h') {
            explain(c);
            exit(CFR_EXIT_OK); // NOLINT(concurrency-mt-unsafe): there is one thread
        }
        if (letter == '?' || strchr(c->options, letter) == NULL) {
            cfr_command_complain("%s does not take %s", c->name, argv[optind - 1]);
            return false;
        }
        if (!store(o, letter, optarg))
            return false;
    }
    /* Nobody has configured anything: the environment may say enough. */
    if (!o->config_given && access(o->config, F_OK) != 0 && errno == ENOENT)
        o->config = NULL;
    o->args = argv + optind;
    o->arg_count = argc - optind;
    if (o->arg_count < c->min_args || (c->max_args >= 0 && o->arg_count > c->max_args)) {
        cfr_command_complain("%s takes %s arguments", c->name, o->arg_count < c->min_args ? "more" : "fewer");
        return false;
    }
    return true;
}

int cfr_command_help(const struct cfr_options *o)
{
    const struct cfr_command *one = o->arg_count == 1 ? find(o->args[0]) : NULL;

    if (o->arg_count == 1 && one == NULL) {
        cfr_command_complain("there is no command %s", o->args[0]);
        return CFR_EXIT_USAGE;
    }
    if (one != NULL) {
        explain(one);
        return CFR_EXIT_OK;
    }
    (void)puts("credfresh keeps the short-lived credentials that a workload reads fresh.\n\nusage: credfresh COMMAND\n");
    for (const struct cfr_command *c = cfr_commands; c->name != NULL; c++)
        (void)printf("  %-9s %s\n            %s\n", c->name, c->usage, c->summary);
    (void)puts("\nConfiguration: -c FILE, else $CREDFRESH_CONFIG, else " CFR_DEFAULT_CONFIG
               ", else what the environment says.\nExit status: 0 good, 1 failed, 2 usage, 3 configuration, 4 time is up, 5 no agent, 6 refused.");
    return CFR_EXIT_OK;
}

int cfr_command_run(const struct cfr_options *o)
{
    struct cfr_agent_options options = {.config_path = o->config};

    return cfr_agent_run(&options);
}

int cfr_command_once(const struct cfr_options *o)
{
    struct cfr_agent_options options = {
        .config_path = o->config,
        .once = true,
        .timeout_ms = o->timeout_ms >= 0 ? o->timeout_ms : 60000,
    };

    return cfr_agent_run(&options);
}

/* The kubelet names a provider by its file, and may give it no argument. */
static bool is_image_provider(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : path;

    return name != NULL && strncmp(name, IMAGE_PROVIDER, sizeof IMAGE_PROVIDER - 1) == 0;
}

static int run(const struct cfr_command *c, int argc, char **argv)
{
    struct cfr_options o;

    if (parse(c, argc, argv, &o))
        return c->run(&o);
    usage_of(c, stderr);
    return CFR_EXIT_USAGE;
}

/* What is opened next must not get their numbers, or what is meant for people goes into it. Gone again for whom we exec. */
static void fill_standard_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

int main(int argc, char **argv)
{
    const struct cfr_command *c = argc > 1 ? find(argv[1]) : NULL;

    fill_standard_fds();
    /* The command that exec runs is to have its own limits; the agent beside it has these. */
    if (c == NULL || c->run != cfr_command_exec)
        cfr_agent_harden();
    if (is_image_provider(argv[0]))
        return run(find("image-credential-provider"), argc, argv);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        c = find("help");
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        c = find("version");
    if (c == NULL) {
        if (argc > 1)
            cfr_command_complain("there is no command %s; `credfresh help` lists them", argv[1]);
        else
            cfr_command_complain("which command? `credfresh help` lists them");
        return CFR_EXIT_USAGE;
    }
    return run(c, argc - 1, argv + 1);
}
