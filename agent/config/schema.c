/* SPDX-License-Identifier: MIT */
/* The tables of the configuration file: keys, types, defaults, limits and what the reference page says of
 * them. */
#include "agent/config/schema_private.h"
#include "base/log.h"

/* sockaddr_un has room for 107 bytes and a NUL. */
#define SOCKET_PATH_MAX 107

static const char *const on_first[] = {"run", "skip", NULL};

#define AT(member) offsetof(struct cfr_config_hook, member)
static const struct cfr_field hook_fields[] = {
    {FIELD(kind, ANY_OF), .variant = cfr_config_hook_variant},
    {FIELD_AS("timeout", timeout_ms, DURATION), .fallback = "30s", .min = 100, .max = 10 * CFR_MINUTE_MS,
     .doc = CFR_DOC("Time limit of the hook. After it, the process group of an `exec` hook is killed.")},
    {FIELD(on_first, ENUM), .fallback = "run", .choices = on_first,
     .doc = CFR_DOC("Whether the hook also runs after the first publish, when consumers may not have "
                    "started yet.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table hook_table = {
    .name = "reload hook",
    .size = sizeof(struct cfr_config_hook),
    .fields = hook_fields,
    .check = cfr_config_rules_hook,
    .doc = CFR_DOC("How a consumer is notified: exactly one of `signal`, `exec`, `http` and `rollout`. "
                   "A failed hook is retried with growing pauses, and never delays the next publish."),
};

#define AT(member) offsetof(struct cfr_config_acknowledge, member)
static const struct cfr_field acknowledge_fields[] = {
    {FIELD(file, STRING), .flags = CFR_FIELD_PATH,
     .doc = CFR_DOC("A file to which the consumer writes the number of the generation that it uses, or "
                    "that it touches when it uses the current one. The consumer creates it in its own "
                    "directory, not in a published one.")},
    {FIELD(hooks, BOOL), .fallback = "false",
     .doc = CFR_DOC("Apply the following keys to the consumers that answer hooks with "
                    "`acknowledge_header`.")},
    {FIELD(wait, BOOL), .fallback = "false",
     .doc = CFR_DOC("Keep the previous generation until this consumer has acknowledged the current one, "
                    "even after `keep_previous`.")},
    {FIELD_AS("limit", limit_ms, DURATION), .fallback = CFR_ACK_LIMIT, .min = CFR_SECOND_MS, .max = 7 * CFR_DAY_MS,
     .doc = CFR_DOC("Longest time after a publish for which `wait` keeps it.")},
    {FIELD_AS("behind_after", behind_after_ms, DURATION), .fallback = CFR_ACK_BEHIND_AFTER, .min = CFR_SECOND_MS,
     .max = 7 * CFR_DAY_MS,
     .doc = CFR_DOC("A consumer that has not acknowledged a generation after this time is behind: "
                    "credfresh logs it, and `credfresh_consumer_behind` is 1.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table acknowledge_table = {
    .name = "acknowledgement",
    .size = sizeof(struct cfr_config_acknowledge),
    .fields = acknowledge_fields,
    .check = cfr_config_rules_acknowledge,
    .doc = CFR_DOC("How a consumer acknowledges a generation: exactly one of `file` and `hooks`."),
};

#define AT(member) offsetof(struct cfr_config_credential, member)
static const struct cfr_field credential_fields[] = {
    {FIELD(name, STRING), .flags = CFR_FIELD_REQUIRED,
     .doc = CFR_DOC("Its name in status, logs and metrics: 1 to 63 letters, digits, dots, dashes and underscores, "
                    "beginning with a letter or a digit, and with the hook `rollout` also ending with one.")},
    {FIELD(required, BOOL), .flags = CFR_FIELD_REDO_NOTHING, .fallback = "true",
     .doc = CFR_DOC("Whether `/readyz` and the service manager wait for this credential.")},
    {FIELD(token, MAP), .table = &cfr_config_token_table,
     .doc = CFR_DOC("The token to exchange. Not needed to exchange a client secret or a key, nor with a "
                    "`secret` that names the token's file.")},
    {FIELD(secret, MAP), .table = &cfr_config_mounted_table, .doc = CFR_DOC("A mounted Secret as the source.")},
    {FIELD(exchange, MAP), .table = &cfr_config_exchange_table,
     .doc = CFR_DOC("The exchange of the token. Default: none, the token itself is published; with a "
                    "`secret`, the exchange that its keys determine. Keys set here take precedence over "
                    "the Secret's.")},
    {FIELD(source, ANY_OF), .variant = cfr_config_source_variant},
    {FIELD(mint, MAP), .flags = CFR_FIELD_REDO_HOOKS, .table = &cfr_config_mint_table,
     .doc = CFR_DOC("A long-lived key that credfresh creates and rotates. Default: none.")},
    {FIELD(publish, ONE_OR_LIST), .flags = CFR_FIELD_REDO_PUBLISH, .table = &cfr_config_publish_table, .min = 1,
     .max = CFR_CONFIG_TARGETS_MAX,
     .doc = CFR_DOC("Where the credential is written. Required, unless an endpoint serves it or it has "
                    "`allow`.")},
    {FIELD(allow, MAP), .flags = CFR_FIELD_REDO_NOTHING, .table = &cfr_config_allow_table,
     .doc = CFR_DOC("Keep the credential in memory for `token_socket` and `credfresh get`, and list the "
                    "users that may get it. Default: only root and the user that credfresh runs as.")},
    {FIELD(reload, LIST), .flags = CFR_FIELD_REDO_HOOKS, .table = &hook_table, .max = CFR_CONFIG_HOOKS_MAX,
     .doc = CFR_DOC("Hooks to run after a publish, in this order; `[]` for none. Default: with `publish` "
                    "those of `defaults`, else none.")},
    {FIELD(acknowledge, ONE_OR_LIST), .flags = CFR_FIELD_REDO_HOOKS, .table = &acknowledge_table, .min = 1,
     .max = CFR_CONFIG_ACKNOWLEDGE_MAX,
     .doc = CFR_DOC("How consumers report the generation that they use. Default: they do not.")},
    {FIELD_AS("keep_previous", keep_previous_ms, DURATION), .flags = CFR_FIELD_UNSET | CFR_FIELD_REDO_NOTHING, .min = 0,
     .max = 7 * CFR_DAY_MS,
     .doc = CFR_DOC("How long the previous generation remains readable in a directory. Default: "
                    "`keep_previous` of the whole file.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_credential_table = {
    .name = "credential",
    .size = sizeof(struct cfr_config_credential),
    .fields = credential_fields,
    .check = cfr_config_rules_credential,
    .takes_default = cfr_config_takes_default,
    .doc = CFR_DOC("One credential: its token, exchange, targets and hooks."),
};

#define AT(member) offsetof(struct cfr_config_defaults, member)
static const struct cfr_field defaults_fields[] = {
    {FIELD(mint, MAP), .table = &cfr_config_default_mint_table, .doc = CFR_DOC("For rotated keys. Default: none.")},
    {FIELD(reload, LIST), .table = &hook_table, .min = 1, .max = CFR_CONFIG_HOOKS_MAX,
     .doc = CFR_DOC("For each credential that has `publish` and no `reload`. Default: none.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_defaults_table = {
    .name = "default for credentials",
    .size = sizeof(struct cfr_config_defaults),
    .fields = defaults_fields,
    .doc = CFR_DOC("Defaults for the credentials of this file that do not set these keys. A "
                   "credential's `reload` replaces the whole list, and `reload: []` means none. "
                   "`credfresh check` warns of a default that no credential uses."),
};

#define AT(member) offsetof(struct cfr_config_log, member)
static const struct cfr_field log_fields[] = {
    {FIELD(level, ENUM), .fallback = "info", .choices = cfr_log_levels, .doc = CFR_DOC("Lowest level to log.")},
    {FIELD(format, ENUM), .fallback = "text", .choices = cfr_log_formats,
     .doc = CFR_DOC("One line for each event on standard error, as text or as a JSON object.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table log_table = {
    .name = "log",
    .size = sizeof(struct cfr_config_log),
    .fields = log_fields,
    .doc = CFR_DOC("Logging."),
};

#define AT(member) offsetof(struct cfr_config_exit, member)
static const struct cfr_field exit_fields[] = {
    {FIELD(process, STRING), .min = 1, .max = 255,
     .doc = CFR_DOC("The process by its name: the last component of its executable, or its command in `ps` (at most 15 "
                    "characters). A process of any user counts: to exclude other users', use `pid_file`. In pods, "
                    "share the process namespace.")},
    {FIELD(pid_file, STRING), .flags = CFR_FIELD_PATH,
     .doc = CFR_DOC("File with its process id. A file older than the agent counts only while its process "
                    "runs.")},
    {FIELD_AS("linger", linger_ms, DURATION), .fallback = "2s", .min = 0, .max = CFR_HOUR_MS,
     .doc = CFR_DOC("How long after the end of the process the agent waits for a restart, before it "
                    "exits.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table exit_table = {
    .name = "process to end with",
    .size = sizeof(struct cfr_config_exit),
    .fields = exit_fields,
    .check = cfr_config_rules_exit,
    .doc = CFR_DOC(
        "Makes `credfresh run` exit with status 0 when another process has ended: for Jobs on clusters without native "
        "sidecars. Exactly one of `process` and `pid_file`."),
};

#define AT(member) offsetof(struct cfr_config_sandbox, member)
static const struct cfr_field sandbox_fields[] = {
    {FIELD(no_new_privs, BOOL), .fallback = "true",
     .doc = CFR_DOC(
         "Neither the agent nor a hook that it starts gains rights from a program, as by the set-user-id bit.")},
    {FIELD(capabilities, BOOL), .fallback = "true",
     .doc = CFR_DOC("The agent gives up the capabilities that its configuration does not need. Hooks "
                    "keep the initial ones.")},
    {FIELD(seccomp, BOOL), .fallback = "true",
     .doc = CFR_DOC("The agent can make only the system calls that it needs: it cannot run or trace "
                    "programs, or mount file systems. Hooks are started by a separate process, to which "
                    "this does not apply.")},
    {FIELD(landlock, BOOL), .fallback = "true",
     .doc = CFR_DOC("The agent can write only in `state_dir` and in published directories, and cannot "
                    "run programs. A new configuration that publishes elsewhere needs a restart.")},
    {FIELD(landlock_read, BOOL), .fallback = "true",
     .doc = CFR_DOC("The agent can read only below `/etc`, `/usr` and `/proc`, and, for each file that the "
                    "configuration names, below the parent of its directory. A new configuration that reads elsewhere "
                    "needs a restart.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table sandbox_table = {
    .name = "sandbox",
    .size = sizeof(struct cfr_config_sandbox),
    .fields = sandbox_fields,
    .doc = CFR_DOC("Rights that the agent gives up at its start. All parts are on by default. A part "
                   "that the kernel or the container does not support is left out, and `credfresh "
                   "status` says so. A change needs a restart."),
};

#define AT(member) offsetof(struct cfr_config, member)
static const struct cfr_field root_fields[] = {
    {FIELD(version, INT), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 1,
     .doc = CFR_DOC("The version of this file's layout: 1.")},
    {FIELD(state_dir, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_PRIVATE, .fallback = "/run/credfresh",
     .doc = CFR_DOC("Directory for state across restarts, mode 0700, of one agent only. Two secrets are in it, mode "
                    "0600: with `mint` the pending secret of a new key, in plain JSON until published; with `ec2_imds` "
                    "the key of its session tokens.")},
    {FIELD(control_socket, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_PRIVATE, .min = 1, .max = SOCKET_PATH_MAX,
     .doc = CFR_DOC("Unix socket for `credfresh status`, `rotate`, `wait` and `reload`. Default: `control.sock` in "
                    "`state_dir`.")},
    {FIELD(token_socket, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_PRIVATE, .min = 1, .max = SOCKET_PATH_MAX,
     .doc = CFR_DOC("Unix socket for processes of this machine that are in a credential's `allow`: `GET "
                    "/v1/token/NAME`. Any process may connect; the kernel identifies the client of each "
                    "request. Default: none.")},
    {FIELD(listen, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("ADDRESS:PORT, [ADDRESS]:PORT or :PORT for the status page, `/livez`, `/readyz` and "
                    "`/metrics`. Default: none.")},
    {FIELD(listen_hosts, STRINGS), .min = 1, .max = 16,
     .doc = CFR_DOC("Host names that clients may use for `listen`, such as a node's name in DNS or a Service's. "
                    "Addresses, `localhost` and the machine's host name are always accepted. Others are refused, "
                    "because web pages could make browsers use them.")},
    {FIELD(log, MAP), .table = &log_table, .doc = CFR_DOC("Logging.")},
    {FIELD(sandbox, MAP), .table = &sandbox_table,
     .doc = CFR_DOC("Rights that the agent gives up. Default: all parts are on.")},
    {FIELD(max_concurrent_exchanges, INT), .fallback = "16", .min = 1, .max = 1024,
     .doc = CFR_DOC(
         "How many exchanges may run at once. With several providers, each may use at most three quarters of them.")},
    {FIELD_AS("keep_previous", keep_previous_ms, DURATION), .fallback = "10m", .min = 0, .max = 7 * CFR_DAY_MS,
     .doc = CFR_DOC("How long the previous generation remains readable in a directory. Then it is wiped.")},
    {FIELD_AS("stop_grace", stop_grace_ms, DURATION), .fallback = "5s", .min = 0, .max = 5 * CFR_MINUTE_MS,
     .doc = CFR_DOC("How long the agent may take at its end to complete exchanges, deliveries and hooks "
                    "in progress.")},
    {FIELD(exit_with, MAP), .table = &exit_table,
     .doc = CFR_DOC("A process with which the agent ends. Default: none.")},
    {FIELD(service_ca, MAP), .table = &cfr_config_service_ca_table,
     .doc = CFR_DOC("A certification authority for servers. Credentials with `certificate` or "
                    "`ca_bundle` publish what it issues. Default: none.")},
    {FIELD(credentials, LIST), .table = &cfr_config_credential_table, .min = 1, .max = CFR_CONFIG_CREDENTIALS_MAX,
     .doc = CFR_DOC("The credentials. Required, unless there are `image_credentials`.")},
    {FIELD(defaults, MAP), .flags = CFR_FIELD_DEFAULTS, .table = &cfr_config_defaults_table,
     .doc = CFR_DOC("Keys for each credential that does not set them. Default: none.")},
    {FIELD(endpoints, LIST), .table = &cfr_config_endpoint_table, .min = 1, .max = CFR_CONFIG_ENDPOINTS_MAX,
     .doc = CFR_DOC("Local addresses where credentials are served in the shapes of the clouds' SDKs. Default: none.")},
    {FIELD(image_credentials, LIST), .table = &cfr_config_image_table, .min = 1, .max = CFR_CONFIG_IMAGES_MAX,
     .doc = CFR_DOC("Logins to registries for the kubelet, which runs `credfresh "
                    "image-credential-provider`. The first match of an image counts. `credfresh run` "
                    "ignores them.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_config_table = {
    .name = "configuration",
    .size = sizeof(struct cfr_config),
    .fields = root_fields,
    .check = cfr_config_rules_root,
    .doc = CFR_DOC("The configuration file, in plain YAML or JSON: no anchors, aliases, merge keys, "
                   "tags or further documents. Unknown and duplicate keys are errors."),
};
