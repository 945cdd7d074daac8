/* SPDX-License-Identifier: MIT */
/* The rows of the status. A new member is a field in status.h, the code that sets it, and a row here. */
#include "serve/api/rows_private.h"

#include <string.h>

#define ROW(STRUCT, KEY, TYPE, MEMBER)                                                                                 \
    .key = (KEY), .type = CFR_API_##TYPE, .offset = offsetof(struct cfr_api_status##STRUCT, MEMBER),                   \
    .size = sizeof((struct cfr_api_status##STRUCT *)0)->MEMBER
#define WHEN(STRUCT, MEMBER)                                                                                           \
    .when_offset = offsetof(struct cfr_api_status##STRUCT, MEMBER),                                                    \
    .when_size = sizeof((struct cfr_api_status##STRUCT *)0)->MEMBER
#define CREDENTIAL(KEY, TYPE, MEMBER) ROW(_credential, KEY, TYPE, MEMBER)
#define LIST(STRUCT, KEY, MEMBER, COUNT, ITEM, ROWS)                                                                   \
    .key = (KEY), .type = CFR_API_LIST, .offset = offsetof(struct cfr_api_status##STRUCT, MEMBER),                     \
    .size = sizeof(void *), .count_offset = offsetof(struct cfr_api_status##STRUCT, COUNT), .rows = (ROWS),            \
    .item_size = sizeof(struct cfr_api_status_##ITEM)
#define OBJECT(KEY, ROWS) .key = (KEY), .type = CFR_API_OBJECT, .rows = (ROWS)
#define METRIC(TYPE, PLACE, NAME, HELP)                                                                                \
    .family = &(const struct cfr_api_family)                                                                           \
    {                                                                                                                  \
        NAME, TYPE, HELP, PLACE                                                                                        \
    }
#define GAUGE(PLACE, NAME, HELP)   METRIC("gauge", PLACE, NAME, HELP)
#define COUNTER(PLACE, NAME, HELP) METRIC("counter", PLACE, NAME, HELP)
#define RESULT(FAMILY, VALUE)      .family = (FAMILY), .label = "result", .value = (VALUE)

static const struct cfr_api_row build_labels[] = {{ROW(, "version", TEXT, version)}, {0}};

static const struct cfr_api_row config_rows[] = {
    {ROW(, "file", TEXT, config_file)},
    {ROW(, "ok", BOOL, config_ok),
     GAUGE(0, "credfresh_config_last_reload_successful", "1 when the last configuration that was read was taken.")},
    {ROW(, "loaded", INSTANT, config_loaded_s), .flags = CFR_API_ZERO,
     GAUGE(0, "credfresh_config_loaded_timestamp_seconds",
           "When the configuration in use was read, in seconds since the epoch.")},
    {ROW(, "error", TEXT, config_error)},
    {0}};

static const struct cfr_api_row agent_rows[] = {
    {.type = CFR_API_ONE,
     .labels = build_labels,
     GAUGE(0, "credfresh_build_info", "Always 1; the labels say what runs.")},
    {ROW(, "version", TEXT, version)},
    {ROW(, "now", INSTANT, now_s)},
    {ROW(, "started", INSTANT, started_s), .flags = CFR_API_ZERO,
     GAUGE(0, "credfresh_start_time_seconds", "When the agent started, in seconds since the epoch.")},
    {ROW(, "stopping", BOOL, stopping)},
    {OBJECT("config", config_rows)},
    {ROW(, NULL, COUNT, log_dropped),
     COUNTER(0, "credfresh_log_lines_dropped_total",
             "Log lines that were dropped, because the reader of standard error did not take them in time.")},
    {0}};

static const struct cfr_api_row sandbox_rows[] = {
    {ROW(_sandbox, "part", TEXT, part)},
    {ROW(_sandbox, "on", BOOL, on),
     GAUGE(0, "credfresh_sandbox", "1 for each part of the sandbox that is in force, 0 for each that is not.")},
    {ROW(_sandbox, "why_not", TEXT, why)},
    {0}};

static const struct cfr_api_row forgotten_rows[] = {
    {ROW(_forgotten, "name", TEXT, name)},
    {ROW(_forgotten, "subject", TEXT, subject)},
    {ROW(_forgotten, "keys", TEXT, keys)},
    {ROW(_forgotten, "count", COUNT, count),
     GAUGE(0, "credfresh_forgotten_keys",
           "Long-lived keys that were created for a credential which is not in the configuration any more, and that "
           "work until an operator deletes them.")},
    {ROW(_forgotten, "error", TEXT, error)},
    {0}};

static const struct cfr_api_row request_labels[] = {{ROW(_endpoint, "endpoint", TEXT, endpoint)},
                                                    {ROW(_endpoint, "shape", TEXT, shape)},
                                                    {ROW(_endpoint, "status", NUMBER, status)},
                                                    {0}};
static const struct cfr_api_row connection_labels[] = {{ROW(_endpoint, "endpoint", TEXT, endpoint)}, {0}};

static const struct cfr_api_row endpoint_rows[] = {
    {ROW(_endpoint, NULL, COUNT, requests), WHEN(_endpoint, shape), .labels = request_labels,
     COUNTER(0, "credfresh_endpoint_requests_total", "Requests to local endpoints by shape and HTTP status.")},
    {ROW(_endpoint, NULL, COUNT, requests), WHEN(_endpoint, connection), .labels = connection_labels,
     COUNTER(0, "credfresh_endpoint_refused_connections_total",
             "Connections to local endpoints that were refused because they came from other machines.")},
    {0}};

static const struct cfr_api_family delivery_runs = {"credfresh_delivery_runs_total", "counter",
                                                    "Applies of a Secret of the cluster by result.", 25};
static const struct cfr_api_family delivery_generation = {
    "credfresh_delivery_generation", "gauge", "The generation that a Secret of the cluster holds; 0 for none.", 26};
static const struct cfr_api_family hook_runs = {"credfresh_hook_runs_total", "counter",
                                                "Runs of a reload hook by result.", 27};
static const struct cfr_api_family hook_generation = {
    "credfresh_hook_generation", "gauge", "The generation that a reload hook last succeeded for; 0 for none.", 28};
static const struct cfr_api_family hook_last_run = {
    "credfresh_hook_last_run_timestamp_seconds", "gauge",
    "When a reload hook last ran, in seconds since the epoch; 0 for never.", 29};

#define RUN_ROWS(RUNS, GENERATION, LAST_RUN)                                                                           \
    {ROW(_hook, "name", TEXT, name)}, {ROW(_hook, "result", TEXT, result)}, {ROW(_hook, "error", TEXT, error)},        \
        {ROW(_hook, "last_run", INSTANT, last_run_s), .flags = CFR_API_ZERO, .family = (LAST_RUN)},                    \
        {ROW(_hook, "generation", COUNT, generation), .family = (GENERATION)},                                         \
        {ROW(_hook, "runs_ok", COUNT, runs_ok), RESULT(RUNS, "ok")},                                                   \
    {                                                                                                                  \
        ROW(_hook, "runs_failed", COUNT, runs_failed), RESULT(RUNS, "failed")                                          \
    }

static const struct cfr_api_row hook_rows[] = {RUN_ROWS(&hook_runs, &hook_generation, &hook_last_run), {0}};
static const struct cfr_api_row delivery_rows[] = {RUN_ROWS(&delivery_runs, &delivery_generation, NULL), {0}};
static const struct cfr_api_row injected_rows[] = {RUN_ROWS(NULL, NULL, NULL), {0}};

static const struct cfr_api_family decided = {"credfresh_service_ca_pod_certificates_total", "counter",
                                              "Decided PodCertificateRequests by signer and result (issued, denied).",
                                              0};

static const struct cfr_api_row signer_rows[] = {{ROW(_signer, "signer", TEXT, name)},
                                                 {ROW(_signer, "result", TEXT, result)},
                                                 {ROW(_signer, "error", TEXT, error)},
                                                 {ROW(_signer, "last_run", INSTANT, last_run_s)},
                                                 {ROW(_signer, "issued", COUNT, issued), RESULT(&decided, "issued")},
                                                 {ROW(_signer, "denied", COUNT, denied), RESULT(&decided, "denied")},
                                                 {0}};

static const struct cfr_api_row authority_rows[] = {
    {ROW(_authority, "number", COUNT, number),
     GAUGE(1, "credfresh_service_ca_number", "How many CAs the service CA has had; it rises with each rotation.")},
    {ROW(_authority, "subject", TEXT, subject)},
    {ROW(_authority, "key_id", TEXT, key_id)},
    {ROW(_authority, "issued", INSTANT, issued_s), .flags = CFR_API_ZERO,
     GAUGE(3, "credfresh_service_ca_made_timestamp_seconds",
           "When the newest CA was made, which was the last rotation, in seconds since the epoch; 0 while there is "
           "none.")},
    {ROW(_authority, "expires", INSTANT, expires_s), .flags = CFR_API_ZERO,
     GAUGE(4, "credfresh_service_ca_expiry_timestamp_seconds",
           "When the newest CA ends, in seconds since the epoch; 0 while there is none.")},
    {ROW(_authority, "rotates", INSTANT, rotates_s), .flags = CFR_API_ZERO,
     GAUGE(5, "credfresh_service_ca_rotation_timestamp_seconds",
           "When the newest CA is to be replaced for its age, in seconds since the epoch; 0 while there is none.")},
    {ROW(_authority, "generations", COUNT, generations),
     GAUGE(2, "credfresh_service_ca_generations", "How many CAs the bundle holds.")},
    {ROW(_authority, "last_reason", TEXT, reason)},
    {ROW(_authority, "error", TEXT, error), .flags = CFR_API_INVERTED,
     GAUGE(0, "credfresh_service_ca_ok", "1 when the last look at the service CA's store and age went well.")},
    {ROW(_authority, NULL, COUNT, failures), GAUGE(0, "credfresh_service_ca_consecutive_failures",
                                                   "Failed looks and rotations since the last that went well.")},
    {LIST(_authority, "injected", injected, injected_count, hook, injected_rows),
     GAUGE(0, "credfresh_service_ca_inject_failing",
           "How many entries of service_ca.inject could not be looked at or written at the last try.")},
    {LIST(_authority, "pod_certificates", signers, signer_count, signer, signer_rows), .label = "signer"},
    {LIST(_authority, NULL, signers, signer_count, signer, signer_rows), WHEN(_authority, signer_count),
     GAUGE(0, "credfresh_service_ca_pod_signers_failing",
           "How many entries of service_ca.pod_certificates could not list, read or answer a request at the last "
           "try.")},
    {0}};

static const struct cfr_api_row consumer_rows[] = {
    {ROW(_consumer, "name", TEXT, name)},
    {ROW(_consumer, "generation", COUNT, generation),
     GAUGE(30, "credfresh_consumer_generation",
           "The generation that a consumer says it has in use; 0 when it has said nothing yet.")},
    {ROW(_consumer, "said", INSTANT, said_s)},
    {ROW(_consumer, "current", BOOL, current)},
    {ROW(_consumer, "behind", BOOL, behind),
     GAUGE(31, "credfresh_consumer_behind",
           "1 when a consumer has not acknowledged the published generation in time.")},
    {0}};

static const struct cfr_api_row token_rows[] = {
    {CREDENTIAL("issued", INSTANT, token_issued_s)},
    {CREDENTIAL("expires", INSTANT, token_expires_s),
     GAUGE(15, "credfresh_token_expiry_timestamp_seconds",
           "When the subject token last read expires, in seconds since the epoch.")},
    {CREDENTIAL("overdue", BOOL, token_overdue),
     GAUGE(16, "credfresh_token_overdue",
           "1 when the subject token is past 80 % of its lifetime and was not replaced.")},
    {CREDENTIAL("requested", BOOL, token_requested),
     GAUGE(17, "credfresh_token_requested",
           "1 when the subject token was requested from the API server, by itself or in place of a file.")},
    {CREDENTIAL("note", TEXT, token_note), .flags = CFR_API_ON_PAGE, .title = "Token"},
    {0}};

static const struct cfr_api_row error_rows[] = {{CREDENTIAL("code", TEXT, error_name)},
                                                {CREDENTIAL("class", TEXT, error_class)},
                                                {CREDENTIAL("message", TEXT, error)},
                                                {CREDENTIAL("at", INSTANT, error_s)},
                                                {0}};

static const char *const rotation_states[] = {"UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_FAILED", NULL};
static const char *const key_states[] = {"active", "deactivated", "expired", "deleted", NULL};
static const char *const roles[] = {"holder", NULL};

static const struct cfr_api_family rotations = {
    "credfresh_rotations_total", "counter",
    "Rotations of a long-lived key that are complete, and keys that were removed because they never came to be "
    "published.",
    24};

static const struct cfr_api_row mint_rows[] = {
    {CREDENTIAL("state", TEXT, mint.state), .label = "state", .states = rotation_states,
     GAUGE(22, "credfresh_rotation_state",
           "1 for the state that the rotation of a long-lived key is in, 0 for the others. Absent for other "
           "credentials.")},
    {CREDENTIAL("step", TEXT, mint.step)},
    {CREDENTIAL("waits_for", TEXT, mint.waits_for)},
    {CREDENTIAL("error", TEXT, mint.error)},
    {CREDENTIAL("subject", TEXT, mint.subject)},
    {CREDENTIAL("key", TEXT, mint.key)},
    {CREDENTIAL("key_state", TEXT, mint.key_state), .label = "state", .states = key_states,
     GAUGE(20, "credfresh_key_state",
           "1 for the state of the published long-lived key in the cloud, 0 for the others. Absent until it was looked "
           "up.")},
    {CREDENTIAL("old_key", TEXT, mint.old_key)},
    {CREDENTIAL("old_key_until", INSTANT, mint.old_key_until_s)},
    {CREDENTIAL("passed_on", TEXT, mint.passed_on),
     GAUGE(21, "credfresh_key_passed_on",
           "1 while the administrator's own key is published, because it may not create a long-lived key. Absent for "
           "other credentials.")},
    {CREDENTIAL("role", TEXT, mint.role), .flags = CFR_API_OPTIONAL, WHEN(_credential, mint.role), .states = roles,
     GAUGE(23, "credfresh_rotation_holder",
           "1 if this agent goes on with a rotation that several agents share, or did so last. Absent for other "
           "credentials.")},
    {CREDENTIAL("holder", TEXT, mint.holder), .flags = CFR_API_OPTIONAL, WHEN(_credential, mint.role)},
    {CREDENTIAL("put_aside", TEXTS, mint.put_aside),
     .count_offset = offsetof(struct cfr_api_status_credential, mint.put_aside_count)},
    {CREDENTIAL("minted", INSTANT, mint.minted_s),
     GAUGE(19, "credfresh_key_minted_timestamp_seconds",
           "When the published long-lived key was minted, in seconds since the epoch. Absent for other credentials.")},
    {CREDENTIAL("due", INSTANT, mint.due_s)},
    {CREDENTIAL("rotation", COUNT, mint.rotation)},
    {CREDENTIAL(NULL, COUNT, mint.completed), RESULT(&rotations, "complete")},
    {CREDENTIAL(NULL, COUNT, mint.undone), RESULT(&rotations, "undone")},
    {0}};

static const struct cfr_api_row info_labels[] = {
    {CREDENTIAL("provider", TEXT, provider)}, {CREDENTIAL("source", TEXT, source)}, {0}};

static const struct cfr_api_family refreshes = {
    "credfresh_refresh_total", "counter",
    "Refreshes by result: ok, or the class of the error (retry: goes away by itself; stop: needs an operator; local: "
    "this machine).",
    12};

const struct cfr_api_row cfr_api_credential_rows[] = {
    {CREDENTIAL("name", TEXT, name)},
    {CREDENTIAL("state", TEXT, state)},
    {CREDENTIAL("provider", TEXT, provider)},
    {CREDENTIAL("identity", TEXT, identity)},
    {.type = CFR_API_ONE,
     .labels = info_labels,
     GAUGE(1, "credfresh_credential_info",
           "Always 1; the labels say who gives the credential, and what it begins with.")},
    {CREDENTIAL("required", BOOL, required),
     GAUGE(8, "credfresh_credential_required", "1 when the credential counts for readiness.")},
    {CREDENTIAL("published", BOOL, published),
     GAUGE(6, "credfresh_credential_published", "1 when a generation of the credential is published.")},
    {CREDENTIAL("ready", BOOL, ready),
     GAUGE(7, "credfresh_credential_ready",
           "1 when the credential is published, has not expired, is in memory where an endpoint serves it, is no "
           "long-lived key that was deleted or deactivated in the cloud, and no copy of a Secret that was removed.")},
    {CREDENTIAL(NULL, BOOL, source_missing),
     GAUGE(18, "credfresh_source_missing",
           "1 when the mounted Secret that is copied was removed, so that only its copy still exists.")},
    {CREDENTIAL("generation", COUNT, generation),
     GAUGE(9, "credfresh_credential_generation", "Number of the published generation; 0 for none.")},
    {CREDENTIAL("issued", INSTANT, issued_s), WHEN(_credential, published),
     GAUGE(2, "credfresh_credential_issued_timestamp_seconds",
           "When the life of the published credential began, in seconds since the epoch. Absent when nothing is "
           "published.")},
    {CREDENTIAL("expires", INSTANT, expires_s), WHEN(_credential, published),
     GAUGE(3, "credfresh_credential_expiry_timestamp_seconds",
           "When the published credential expires, in seconds since the epoch. Absent when nothing is published or it "
           "never expires.")},
    {CREDENTIAL("expires_in_s", NUMBER, expires_in_s), WHEN(_credential, expires)},
    {CREDENTIAL(NULL, COUNT, tries_left), WHEN(_credential, expires),
     GAUGE(5, "credfresh_credential_tries_left",
           "Tries that fit before the published credential expires even if each pause is the longest possible; 100 for "
           "more. Absent when nothing is published or it never expires.")},
    {CREDENTIAL("next_refresh", INSTANT, refresh_s),
     GAUGE(4, "credfresh_credential_next_refresh_timestamp_seconds",
           "When the next refresh or retry is planned, in seconds since the epoch. Absent when none is.")},
    {CREDENTIAL("last_success", INSTANT, last_success_s), .flags = CFR_API_ZERO,
     GAUGE(10, "credfresh_credential_last_success_timestamp_seconds",
           "When the credential was last refreshed, in seconds since the epoch; 0 for never.")},
    {OBJECT("token", token_rows)},
    {OBJECT("last_error", error_rows), WHEN(_credential, error)},
    {CREDENTIAL("consecutive_failures", COUNT, failures),
     GAUGE(11, "credfresh_credential_consecutive_failures", "Failed refreshes since the last one that succeeded.")},
    {CREDENTIAL("last_reason", TEXT, reason)},
    {CREDENTIAL(NULL, COUNT, exchanges_ok), RESULT(&refreshes, "ok")},
    {CREDENTIAL(NULL, COUNT, exchanges_failed[CFR_CLASS_RETRY]), RESULT(&refreshes, "retry")},
    {CREDENTIAL(NULL, COUNT, exchanges_failed[CFR_CLASS_STOP]), RESULT(&refreshes, "stop")},
    {CREDENTIAL(NULL, COUNT, exchanges_failed[CFR_CLASS_LOCAL]), RESULT(&refreshes, "local")},
    {CREDENTIAL(NULL, HISTOGRAM, duration),
     METRIC("histogram", 13, "credfresh_exchange_duration_seconds", "How long the exchanges with the cloud took.")},
    {CREDENTIAL(NULL, NUMBER, skew_s), WHEN(_credential, skew_known),
     GAUGE(14, "credfresh_exchange_clock_skew_seconds",
           "The server's clock less this machine's at the last exchange. Absent when no server has sent its time.")},
    {LIST(_credential, "hooks", hooks, hook_count, hook, hook_rows), .label = "hook"},
    {LIST(_credential, "deliveries", deliveries, delivery_count, hook, delivery_rows), .label = "target"},
    {LIST(_credential, "consumers", consumers, consumer_count, consumer, consumer_rows), .label = "consumer"},
    {CREDENTIAL("previous_held", BOOL, previous_held), .flags = CFR_API_IN_TABLE,
     .title = "the previous generation is kept until all it is kept for have acknowledged"},
    {OBJECT("mint", mint_rows), .flags = CFR_API_OPTIONAL, WHEN(_credential, mint.state)},
    {0}};

static const void *agent_at(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer)
{
    (void)buffer;
    return index == 0 ? s : NULL;
}

static const void *sandbox_at(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer)
{
    (void)buffer;
    return s->sandbox != NULL && index < CFR_API_SANDBOX_PARTS && s->sandbox[index].part != NULL ? &s->sandbox[index]
                                                                                                 : NULL;
}

static const void *authority_at(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer)
{
    buffer->authority = (struct cfr_api_status_authority){.number = 0};
    return index == 0 && s->get_authority != NULL && s->get_authority(s->ctx, &buffer->authority) ? buffer : NULL;
}

static const void *forgotten_at(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer)
{
    (void)buffer;
    return index < s->forgotten_count ? &s->forgotten[index] : NULL;
}

static const void *endpoint_at(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer)
{
    if (s->get_endpoint == NULL || !s->get_endpoint(s->ctx, index, &buffer->endpoint))
        return NULL;
    buffer->endpoint.connection = buffer->endpoint.shape == NULL;
    return buffer;
}

static const void *credential_at(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer)
{
    if (index >= s->count)
        return NULL;
    cfr_api_status_get(s, index, &buffer->credential);
    return buffer;
}

const struct cfr_api_section cfr_api_sections[] = {
    {"agent", 0, NULL, agent_rows, agent_at},
    {"sandbox", CFR_API_MANY, "part", sandbox_rows, sandbox_at},
    {"service_ca", 0, NULL, authority_rows, authority_at},
    {"forgotten", CFR_API_MANY | CFR_API_HEADS, "credential", forgotten_rows, forgotten_at},
    {NULL, CFR_API_MANY, NULL, endpoint_rows, endpoint_at},
    {"credentials", CFR_API_MANY | CFR_API_HEADS | CFR_API_ALWAYS, "credential", cfr_api_credential_rows,
     credential_at},
    {NULL, 0, NULL, NULL, NULL}};

const void *cfr_api_row_pointer(const void *node, size_t offset)
{
    const void *p;

    memcpy(&p, (const char *)node + offset, sizeof p);
    return p;
}

size_t cfr_api_row_count(const struct cfr_api_row *row, const void *node)
{
    size_t n;

    memcpy(&n, (const char *)node + row->count_offset, sizeof n);
    return n;
}

static bool is_zero(const void *node, size_t offset, size_t size)
{
    const char *at = (const char *)node + offset;

    while (size != 0 && *at == 0)
        at++, size--;
    return size == 0;
}

bool cfr_api_row_applies(const struct cfr_api_row *row, const void *node)
{
    return row->when_size == 0 || !is_zero(node, row->when_offset, row->when_size);
}

bool cfr_api_row_is_zero(const struct cfr_api_row *row, const void *node)
{
    return is_zero(node, row->offset, row->size);
}
