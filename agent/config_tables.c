/* SPDX-License-Identifier: MIT */
/* The tables of the configuration file: keys, types, defaults, limits and what the reference page says of
 * them. */
#include "agent/config.h"
#include "agent/config_rules.h"
#include "agent/config_tables.h"
#include "base/log.h"
#include "files/format.h"
#include "sts/aws.h"

#include <signal.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define DAY_MS    (1440 * MINUTE_MS)

/* sockaddr_un has room for 107 bytes and a NUL. */
#define SOCKET_PATH_MAX 107

/* The head of a row. AT(member) is the member's offset; the key is its name, or KEY. */
#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = AT(member)

const char *const cfr_config_methods[] = {"GET", "POST", "PUT", NULL};
const char *const cfr_config_signals[] = {"HUP",  "INT",  "QUIT",  "USR1",  "USR2",
                                          "TERM", "CONT", "WINCH", "RTMIN", NULL};
static const char *const on_first[] = {"run", "skip", NULL};

int cfr_config_signal_number(int index)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGWINCH};

    if (index < 0 || (size_t)index > sizeof numbers / sizeof numbers[0])
        return 0;
    /* SIGRTMIN is no constant: the C library decides it when the program starts. */
    return (size_t)index == sizeof numbers / sizeof numbers[0] ? SIGRTMIN : numbers[index];
}

#define AT(member) offsetof(struct cfr_config_token, member)
static const struct cfr_field token_fields[] = {
    {FIELD(file, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = "The service-account token: a file of a volume that the kubelet projects, or any other that "
            "somebody renews. Read through links, white space around it is dropped, watched for renewal."},
    {FIELD(audience, STRING), .min = 1, .max = 512,
     .doc = "What the token's `aud` must contain; a token without it is not used. Default: not looked at."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table token_table = {
    .name = "token",
    .size = sizeof(struct cfr_config_token),
    .fields = token_fields,
    .doc = "Where the token comes from.",
};

#define AT(member) offsetof(struct cfr_config_exchange, member)
static const struct cfr_field exchange_fields[] = {
    {FIELD(aws, MAP), .table = &cfr_sts_aws_table, .doc = "AWS STS (AssumeRoleWithWebIdentity)."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_exchange_table = {
    .name = "exchange",
    .size = sizeof(struct cfr_config_exchange),
    .fields = exchange_fields,
    .check = cfr_config_rules_exchange,
    .doc = "Who gives credentials for the token: exactly one provider.",
};

#define DOC_FORMAT "What is written. The formats are listed at the end of this page."
#define DOC_MODE                                                                                             \
    "Permission bits, octal and in quotes. Neither writable for everybody nor setuid, setgid or sticky."
#define DOC_OWNER "User name or number that owns it. Default: the user that credfresh runs as."
#define DOC_GROUP "Group name or number that owns it. Default: the group that credfresh runs as."
#define DOC_ROLE_ARN                                                                                         \
    "With format aws-config: the role that the SDK itself assumes with the token at `token_path`."
#define DOC_SESSION_NAME "With format aws-config: the session name that the SDK uses for `role_arn`."
#define DOC_TOKEN_PATH   "With format aws-config: where the SDK finds the token for `role_arn`."
#define DOC_REGION                                                                                           \
    "With format aws-config or env: the region that it names. Default: the region of the exchange."
#define DOC_COMMAND                                                                                          \
    "With format aws-config: the command for `credential_process`, with absolute paths and without shell "   \
    "syntax."

#define AT(member) offsetof(struct cfr_config_file, member)
/* The rows that files of a directory and single files share. */
#define FILE_FIELDS                                                                                          \
    {FIELD(format, ENUM), .flags = CFR_FIELD_REQUIRED, .choices = cfr_format_names, .doc = DOC_FORMAT},      \
        {FIELD(mode, MODE), .fallback = "0600", .doc = DOC_MODE},                                            \
        {FIELD(owner, STRING), .min = 1, .max = 256, .doc = DOC_OWNER},                                      \
        {FIELD(group, STRING), .min = 1, .max = 256, .doc = DOC_GROUP},                                      \
        {FIELD(profile, STRING), .min = 1, .max = 64,                                                        \
         .doc = "With formats aws-credentials and aws-config: the name of the profile. Default: default."},  \
        {FIELD(role_arn, STRING), .min = 1, .max = 2048, .doc = DOC_ROLE_ARN},                               \
        {FIELD(session_name, STRING), .min = 2, .max = 64, .doc = DOC_SESSION_NAME},                         \
        {FIELD(token_path, STRING), .flags = CFR_FIELD_PATH, .doc = DOC_TOKEN_PATH},                         \
        {FIELD(region, STRING), .min = 1, .max = 63, .doc = DOC_REGION},                                     \
    {                                                                                                        \
        FIELD(command, STRING), .min = 1, .max = 4096, .doc = DOC_COMMAND                                    \
    }

static const struct cfr_field member_fields[] = {
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_FILE_NAME,
     .doc = "Name of the file in the directory."},
    FILE_FIELDS,
    {.key = NULL},
};

static const struct cfr_table member_table = {
    .name = "file of a directory",
    .size = sizeof(struct cfr_config_file),
    .fields = member_fields,
    .check = cfr_config_rules_file,
    .doc = "One file of the directory. All of them change in one step.",
};

static const struct cfr_field single_fields[] = {
    {FIELD(path, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = "The file, which is replaced by rename."},
    FILE_FIELDS,
    {FIELD(in_place, BOOL), .fallback = "false",
     .doc = "Allow overwriting the content where it stands if the file is a mount point, onto which nothing "
            "can be renamed. A reader may then see a torn file."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table single_table = {
    .name = "single file",
    .size = sizeof(struct cfr_config_file),
    .fields = single_fields,
    .check = cfr_config_rules_file,
    .doc = "One file, replaced by rename.",
};

#define AT(member) offsetof(struct cfr_config_profile, member)
static const struct cfr_field profile_fields[] = {
    {FIELD(path, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = "The AWS credentials or config file. It is made if it does not exist; every byte of it outside "
            "the profile is kept."},
    {FIELD(name, STRING), .fallback = "default", .min = 1, .max = 64, .doc = "Name of the profile."},
    {FIELD(format, ENUM), .fallback = "aws-credentials", .choices = cfr_format_names,
     .doc = "What the profile holds: aws-credentials or aws-config."},
    {FIELD(mode, MODE), .fallback = "0600",
     .doc = "Permission bits of a file that has to be made; one that exists keeps its own. Octal and in "
            "quotes."},
    {FIELD(owner, STRING), .min = 1, .max = 256,
     .doc = "Owner of a file that has to be made, a user name or number."},
    {FIELD(group, STRING), .min = 1, .max = 256,
     .doc = "Group of a file that has to be made, a group name or number."},
    {FIELD(role_arn, STRING), .min = 1, .max = 2048, .doc = DOC_ROLE_ARN},
    {FIELD(session_name, STRING), .min = 2, .max = 64, .doc = DOC_SESSION_NAME},
    {FIELD(token_path, STRING), .flags = CFR_FIELD_PATH, .doc = DOC_TOKEN_PATH},
    {FIELD(region, STRING), .min = 1, .max = 63, .doc = DOC_REGION},
    {FIELD(command, STRING), .min = 1, .max = 4096, .doc = DOC_COMMAND},
    {.key = NULL},
};
#undef AT

static const struct cfr_table profile_table = {
    .name = "profile",
    .size = sizeof(struct cfr_config_profile),
    .fields = profile_fields,
    .check = cfr_config_rules_profile,
    .doc = "One profile inside a shared AWS file, changed under a lock (the file's name with `.lock`).",
};

#define AT(member) offsetof(struct cfr_config_publish, member)
static const struct cfr_field publish_fields[] = {
    {FIELD(directory, STRING), .flags = CFR_FIELD_PATH,
     .doc = "A directory in the layout of a Kubernetes volume: `NAME` is a link to `..data/NAME`, and "
            "`..data` a link that is swapped. It belongs to credfresh alone."},
    {FIELD(directory_mode, MODE),
     .doc = "Permission bits of `directory`, octal and in quotes. Default: \"0755\", so that consumers of "
            "other groups reach the files that their own modes let them read."},
    {FIELD(owner, STRING), .min = 1, .max = 256,
     .doc = "User name or number that owns `directory`. Default: the user that credfresh runs as."},
    {FIELD(group, STRING), .min = 1, .max = 256,
     .doc = "Group name or number that owns `directory`. Default: the group that credfresh runs as."},
    {FIELD(files, LIST), .table = &member_table, .min = 1, .max = CFR_CONFIG_FILES_MAX,
     .doc = "What `directory` holds."},
    {FIELD(file, MAP), .table = &single_table, .doc = "A single file."},
    {FIELD(profile, MAP), .table = &profile_table, .doc = "A profile inside a shared AWS file."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table publish_table = {
    .name = "publish target",
    .size = sizeof(struct cfr_config_publish),
    .fields = publish_fields,
    .check = cfr_config_rules_publish,
    .doc = "Where it is written: exactly one of `directory` (with `files`), `file` and `profile`.",
};

#define AT(member) offsetof(struct cfr_config_signal, member)
static const struct cfr_field signal_fields[] = {
    {FIELD(pid_file, STRING), .flags = CFR_FIELD_PATH, .doc = "File that holds the process id."},
    {FIELD(executable, STRING), .min = 1, .max = 4095,
     .doc = "Every process that runs this program: an absolute path, or the bare name, which is compared "
            "with the last component. In a pod the containers must share their process namespace."},
    {FIELD(signal, ENUM), .fallback = "HUP", .choices = cfr_config_signals,
     .doc = "Which signal, without SIG."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table signal_table = {
    .name = "signal",
    .size = sizeof(struct cfr_config_signal),
    .fields = signal_fields,
    .check = cfr_config_rules_signal,
    .doc = "A signal, to exactly one of `pid_file` and `executable`.",
};

#define AT(member) offsetof(struct cfr_config_http, member)
static const struct cfr_field http_fields[] = {
    {FIELD(url, STRING), .flags = CFR_FIELD_REQUIRED, .min = 8, .max = 2048,
     .doc = "https, or http to a literal loopback address (127.0.0.0/8, [::1]). Redirects are not followed."},
    {FIELD(method, ENUM), .fallback = "POST", .choices = cfr_config_methods,
     .doc = "The request has no body."},
    {FIELD(expect, INT), .min = 200, .max = 599,
     .doc = "The status that means success. Default: any from 200 to 299."},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH,
     .doc = "Certificates (PEM) to trust instead of the system's."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table http_table = {
    .name = "http request",
    .size = sizeof(struct cfr_config_http),
    .fields = http_fields,
    .check = cfr_config_rules_http,
    .doc = "An HTTP request.",
};

#define AT(member) offsetof(struct cfr_config_hook, member)
static const struct cfr_field hook_fields[] = {
    {FIELD(signal, MAP), .table = &signal_table, .doc = "Send a signal."},
    {FIELD(exec, STRINGS), .min = 1, .max = 64,
     .doc = "Run a program: its absolute path and its arguments, without a shell. Exit status 0 means "
            "success. Its environment tells what was published, but never a secret."},
    {FIELD(http, MAP), .table = &http_table, .doc = "Make an HTTP request."},
    {FIELD_AS("timeout", timeout_ms, DURATION), .fallback = "30s", .min = 100, .max = 10 * MINUTE_MS,
     .doc = "How long it may take; an exec's process group is then killed."},
    {FIELD(on_first, ENUM), .fallback = "run", .choices = on_first,
     .doc = "Whether it runs also after the very first publish, when consumers may not have started yet."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table hook_table = {
    .name = "reload hook",
    .size = sizeof(struct cfr_config_hook),
    .fields = hook_fields,
    .check = cfr_config_rules_hook,
    .doc = "How a consumer is told: exactly one of `signal`, `exec` and `http`. A hook that fails is "
           "repeated with growing pauses and never holds back the next publish.",
};

#define AT(member) offsetof(struct cfr_config_credential, member)
static const struct cfr_field credential_fields[] = {
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED,
     .doc = "Its name in status, logs and metrics: 1 to 63 letters, digits, dots, dashes and underscores, "
            "beginning with a letter or a digit."},
    {FIELD(required, BOOL), .fallback = "true",
     .doc = "Whether `/readyz` and the service manager wait for it."},
    {FIELD(token, MAP), .flags = CFR_FIELD_REQUIRED, .table = &token_table,
     .doc = "The token that it begins with."},
    {FIELD(exchange, MAP), .table = &cfr_config_exchange_table,
     .doc = "What the token is traded for. Default: nothing, the token itself is published."},
    {FIELD(publish, ONE_OR_LIST), .flags = CFR_FIELD_REQUIRED, .table = &publish_table, .min = 1,
     .max = CFR_CONFIG_TARGETS_MAX, .doc = "Where it is written."},
    {FIELD(reload, LIST), .table = &hook_table, .min = 1, .max = CFR_CONFIG_HOOKS_MAX,
     .doc = "Who is told after a publish, in this order. Default: nobody."},
    {FIELD_AS("keep_previous", keep_previous_ms, DURATION), .flags = CFR_FIELD_UNSET, .min = 0,
     .max = 7 * DAY_MS,
     .doc = "How long the generation before stays readable in a directory. Default: that of the whole file."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_credential_table = {
    .name = "credential",
    .size = sizeof(struct cfr_config_credential),
    .fields = credential_fields,
    .check = cfr_config_rules_credential,
    .doc = "One credential: a token, what it is traded for, where it is written, and who is told.",
};

#define AT(member) offsetof(struct cfr_config_log, member)
static const struct cfr_field log_fields[] = {
    {FIELD(level, ENUM), .fallback = "info", .choices = cfr_log_levels,
     .doc = "The least important events that are logged."},
    {FIELD(format, ENUM), .fallback = "text", .choices = cfr_log_formats,
     .doc = "One line for each event on standard error, as text or as a JSON object."},
    {.key = NULL},
};
#undef AT

static const struct cfr_table log_table = {
    .name = "log",
    .size = sizeof(struct cfr_config_log),
    .fields = log_fields,
    .doc = "Logging.",
};

#define AT(member) offsetof(struct cfr_config, member)
static const struct cfr_field root_fields[] = {
    {FIELD(version, INT), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 1,
     .doc = "The version of this file's layout: 1."},
    {FIELD(state_dir, STRING), .flags = CFR_FIELD_PATH, .fallback = "/run/credfresh",
     .doc = "Where credfresh keeps what it knows across restarts (never secrets); made with mode 0700. Two "
            "agents never share one."},
    {FIELD(control_socket, STRING), .flags = CFR_FIELD_PATH, .min = 1, .max = SOCKET_PATH_MAX,
     .doc = "Unix socket for `credfresh status`, `rotate`, `wait` and `reload`. Default: `control.sock` in "
            "`state_dir`."},
    {FIELD(listen, STRING), .min = 1, .max = 64,
     .doc = "ADDRESS:PORT, [ADDRESS]:PORT or :PORT for `/livez`, `/readyz` and `/metrics`. Default: none."},
    {FIELD(log, MAP), .table = &log_table, .doc = "Logging."},
    {FIELD(max_concurrent_exchanges, INT), .fallback = "16", .min = 1, .max = 1024,
     .doc = "How many exchanges may be under way at once."},
    {FIELD_AS("keep_previous", keep_previous_ms, DURATION), .fallback = "10m", .min = 0, .max = 7 * DAY_MS,
     .doc = "How long the generation before stays readable in a directory; then it is wiped."},
    {FIELD(credentials, LIST), .flags = CFR_FIELD_REQUIRED, .table = &cfr_config_credential_table, .min = 1,
     .max = CFR_CONFIG_CREDENTIALS_MAX, .doc = "The credentials."},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_table = {
    .name = "configuration",
    .size = sizeof(struct cfr_config),
    .fields = root_fields,
    .check = cfr_config_rules_root,
    .doc = "The configuration file. It is YAML in its plain form (so JSON, too): no anchors, aliases, merge "
           "keys, tags or further documents. Unknown and duplicate keys are errors.",
};
