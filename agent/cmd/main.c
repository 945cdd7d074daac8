/* SPDX-License-Identifier: MIT */
/* credfresh: command line and dispatch. */
#include "agent/cmd/commands_private.h"

#include "agent/daemon/daemon.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the name of the program begins with where it is that command alone. */
#define IMAGE_PROVIDER   "credfresh-image-credential-provider"
#define LONG_OPTIONS_MAX 32

static const struct {
    const char *name; /* of cfr_cli_commands */
    int (*run)(const struct cfr_cli_options *o);
} runners[] = {
    {"run", cfr_cmd_run},
    {"once", cfr_cmd_once},
    {"check", cfr_cmd_check},
    {"doctor", cfr_cmd_doctor},
    {"status", cfr_cmd_status},
    {"rotate", cfr_cmd_rotate},
    {"wait", cfr_cmd_wait},
    {"reload", cfr_cmd_reload},
    {"image-credential-provider", cfr_cmd_image},
    {"exec", cfr_cmd_exec},
    {"quit", cfr_cmd_quit},
    {"get", cfr_cmd_get},
    {"env", cfr_cmd_env},
    {"oidc", cfr_cmd_oidc},
    {"inspect", cfr_cmd_inspect},
    {"reference", cfr_cmd_reference},
    {"completion", cfr_cmd_completion},
    {"version", cfr_cmd_version},
    {"help", cfr_cmd_help},
};

static int (*runner_of(const struct cfr_cli_command *c))(const struct cfr_cli_options *)
{
    size_t i = 0;

    while (strcmp(runners[i].name, c->name) != 0)
        i++;
    return runners[i].run;
}

static const struct cfr_cli_command *find(const char *name)
{
    for (const struct cfr_cli_command *c = cfr_cli_commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

static bool add_name(struct cfr_cli_options *o, char *name)
{
    if (o->name_count == CFR_CLI_OPTION_NAMES_MAX) {
        cfr_cli_complain("--name can be given %d times at most", CFR_CLI_OPTION_NAMES_MAX);
        return false;
    }
    o->names[o->name_count++] = name;
    return true;
}

static bool store_oidc(struct cfr_cli_oidc_options *o, int letter, const char *value)
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

static bool store(struct cfr_cli_options *o, int letter, char *value)
{
    if (strchr(CFR_CLI_OIDC_LETTERS, letter) != NULL)
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
        cfr_cli_complain("--timeout %s is no duration: write 30s, 2m or 500ms", value);
        return false;
    }
}

static void usage_of(const struct cfr_cli_command *c, FILE *to)
{
    (void)fprintf(to, "usage: credfresh %s %s\n  %s\n", c->name, c->usage, c->summary);
}

static void explain(const struct cfr_cli_command *c)
{
    usage_of(c, stdout);
    (void)putchar('\n');
    for (const struct cfr_cli_option *o = cfr_cli_option_table; o->name != NULL; o++) {
        bool brief = cfr_cli_option_is_short(o);

        if (cfr_cli_takes(c, o))
            (void)printf("  %c%c%c --%s %-*s %s\n", brief ? '-' : ' ', brief ? o->letter : ' ', brief ? ',' : ' ',
                         o->name, 26 - (int)strlen(o->name), o->value != NULL ? o->value : "", o->summary);
    }
}

static void make_long_options(struct option out[LONG_OPTIONS_MAX])
{
    size_t n = 0;

    for (const struct cfr_cli_option *o = cfr_cli_option_table; o->name != NULL && n < LONG_OPTIONS_MAX - 1; o++)
        out[n++] = (struct option){o->name, o->value != NULL ? required_argument : no_argument, NULL, o->letter};
    out[n] = (struct option){NULL, 0, NULL, 0};
}

static bool parse(const struct cfr_cli_command *c, int argc, char **argv, struct cfr_cli_options *o)
{
    const char *config = getenv("CREDFRESH_CONFIG");
    struct option long_options[LONG_OPTIONS_MAX];
    int letter;

    make_long_options(long_options);
    *o = (struct cfr_cli_options){
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
            cfr_cli_complain("%s does not take %s", c->name, argv[optind - 1]);
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
        cfr_cli_complain("%s takes %s arguments", c->name, o->arg_count < c->min_args ? "more" : "fewer");
        return false;
    }
    return true;
}

int cfr_cmd_help(const struct cfr_cli_options *o)
{
    const struct cfr_cli_command *one = o->arg_count == 1 ? find(o->args[0]) : NULL;

    if (o->arg_count == 1 && one == NULL) {
        cfr_cli_complain("there is no command %s", o->args[0]);
        return CFR_EXIT_USAGE;
    }
    if (one != NULL) {
        explain(one);
        return CFR_EXIT_OK;
    }
    (void)puts(
        "credfresh keeps the short-lived credentials that a workload reads fresh.\n\nusage: credfresh COMMAND\n");
    for (const struct cfr_cli_command *c = cfr_cli_commands; c->name != NULL; c++)
        (void)printf("  %-9s %s\n            %s\n", c->name, c->usage, c->summary);
    (void)puts("\nConfiguration: -c FILE, else $CREDFRESH_CONFIG, else " CFR_DEFAULT_CONFIG
               ", else what the environment says.\nExit status: 0 good, 1 failed, 2 usage, 3 configuration, 4 time is "
               "up, 5 no agent, 6 refused.");
    return CFR_EXIT_OK;
}

int cfr_cmd_run(const struct cfr_cli_options *o)
{
    struct cfr_daemon_options options = {.config_path = o->config};

    return cfr_daemon_run(&options);
}

int cfr_cmd_once(const struct cfr_cli_options *o)
{
    struct cfr_daemon_options options = {
        .config_path = o->config,
        .once = true,
        .timeout_ms = o->timeout_ms >= 0 ? o->timeout_ms : 60000,
    };

    return cfr_daemon_run(&options);
}

/* The kubelet names a provider by its file, and may give it no argument. */
static bool is_image_provider(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : path;

    return name != NULL && strncmp(name, IMAGE_PROVIDER, sizeof IMAGE_PROVIDER - 1) == 0;
}

static int run(const struct cfr_cli_command *c, int argc, char **argv)
{
    struct cfr_cli_options o;

    if (parse(c, argc, argv, &o))
        return runner_of(c)(&o);
    usage_of(c, stderr);
    return CFR_EXIT_USAGE;
}

/* What is opened next must not get their numbers, or what is meant for people goes into it. Gone again for whom we
 * exec. */
static void fill_standard_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

int main(int argc, char **argv)
{
    const struct cfr_cli_command *c = argc > 1 ? find(argv[1]) : NULL;

    fill_standard_fds();
    /* The command that exec runs is to have its own limits; the agent beside it has these. */
    if (c == NULL || runner_of(c) != cfr_cmd_exec)
        cfr_daemon_harden();
    if (is_image_provider(argv[0]))
        return run(find("image-credential-provider"), argc, argv);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        c = find("help");
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        c = find("version");
    if (c == NULL) {
        if (argc > 1)
            cfr_cli_complain("there is no command %s; `credfresh help` lists them", argv[1]);
        else
            cfr_cli_complain("which command? `credfresh help` lists them");
        return CFR_EXIT_USAGE;
    }
    return run(c, argc - 1, argv + 1);
}
