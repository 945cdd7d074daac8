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

const struct cfr_command cfr_commands[] = {
    {"run", "[-c FILE]", "keep all credentials fresh, in the foreground", "c", 0, 0, cfr_command_run},
    {"once", "[-c FILE] [--timeout 60s]", "get and publish everything once, run the hooks, end", "ct", 0, 0,
     cfr_command_once},
    {"check", "[-c FILE] [--online]", "look for mistakes; --online does every exchange without publishing", "co", 0, 0,
     cfr_command_check},
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
    {"inspect", "TOKENFILE [--audience TEXT]", "explain a token, and what an STS would say of it", "u", 1, 1,
     cfr_command_inspect},
    {"reference", "", "print the configuration reference (Markdown)", "", 0, 0, cfr_command_reference},
    {"version", "", "print the version", "", 0, 0, cfr_command_version},
    {"help", "[COMMAND]", "print this, or a command's usage", "", 0, 1, cfr_command_help},
    {NULL, NULL, NULL, NULL, 0, 0, NULL},
};

/* Long options and the letters they have in cfr_commands. */
static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},  {"socket", required_argument, NULL, 's'},
    {"online", no_argument, NULL, 'o'},        {"json", no_argument, NULL, 'j'},
    {"watch", no_argument, NULL, 'w'},         {"all", no_argument, NULL, 'a'},
    {"reason", required_argument, NULL, 'r'},  {"timeout", required_argument, NULL, 't'},
    {"audience", required_argument, NULL, 'u'}, {"field", required_argument, NULL, 'f'},
    {"format", required_argument, NULL, 'm'},
    {"name", required_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
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

static bool store(struct cfr_options *o, int letter, char *value)
{
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

static bool parse(const struct cfr_command *c, int argc, char **argv, struct cfr_options *o)
{
    const char *config = getenv("CREDFRESH_CONFIG");
    int letter;

    *o = (struct cfr_options){
        .config = config != NULL ? config : CFR_DEFAULT_CONFIG,
        .config_given = config != NULL,
        .socket = getenv("CREDFRESH_SOCKET"),
        .timeout_ms = -1,
    };
    opterr = 0;
    while ((letter = getopt_long(argc, argv, c->options[0] == '+' ? "+c:s:h" : "c:s:h", long_options, NULL)) != -1) {
        if (letter == 'h') {
            usage_of(c, stdout);
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

int cfr_command_version(const struct cfr_options *o)
{
    (void)o;
    (void)puts("credfresh " CFR_VERSION);
    return CFR_EXIT_OK;
}

int cfr_command_help(const struct cfr_options *o)
{
    const struct cfr_command *one = o->arg_count == 1 ? find(o->args[0]) : NULL;

    if (o->arg_count == 1 && one == NULL) {
        cfr_command_complain("there is no command %s", o->args[0]);
        return CFR_EXIT_USAGE;
    }
    if (one != NULL) {
        usage_of(one, stdout);
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

int cfr_command_reference(const struct cfr_options *o)
{
    struct cfr_str page = {.limit = 1048576};
    int status;

    (void)o;
    cfr_config_reference(&page);
    status = page.failed || fwrite(page.p, 1, page.len, stdout) != page.len ? CFR_EXIT_FAILED : CFR_EXIT_OK;
    cfr_str_free(&page);
    return status;
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
