/* SPDX-License-Identifier: MIT */
/* Check of the running agent: its process, its configuration, and its status of each credential. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/clock.h"
#include "agent/loop/unit.h"
#include "base/time.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CALL_MAX_MS 10000

static struct cfr_view get_text(const struct cfr_json *object, const char *key)
{
    struct cfr_view v = {"", 0};

    (void)cfr_json_string(cfr_json_get(object, key), &v);
    return v;
}

static bool get_flag(const struct cfr_json *object, const char *key)
{
    bool b = false;

    return cfr_json_bool(cfr_json_get(object, key), &b) && b;
}

static int64_t get_time(const struct cfr_json *object, const char *key)
{
    int64_t t = 0;

    (void)cfr_time_parse(get_text(object, key), &t);
    return t;
}

static int64_t get_number(const struct cfr_json *object, const char *key)
{
    int64_t n = 0;

    (void)cfr_json_integer(cfr_json_get(object, key), &n);
    return n;
}

/* ---- its process ---- */

static const char *socket_of(const struct cfr_doctor *d)
{
    return d->options->socket != NULL ? d->options->socket : d->config->control_socket;
}

void cfr_doctor_find_agent(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = 0};
    socklen_t n = sizeof peer;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)c;
    if (fd < 0 || (size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s", socket_of(d)) >= sizeof at.sun_path ||
        connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        peer.pid = 0;
    if (fd >= 0)
        (void)close(fd);
    d->agent_pid = peer.pid;
    d->agent_uid = peer.uid;
}

/* Whether the process has another namespace of KIND than we; false where that cannot be seen. */
static bool is_apart(pid_t pid, const char *kind)
{
    char path[64];
    struct stat its;
    struct stat ours;

    (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kind);
    if (stat(path, &its) != 0)
        return false;
    (void)snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    return stat(path, &ours) == 0 && its.st_ino != ours.st_ino;
}

/* Mounts and network that a service manager or a container gives to the agent alone. */
static void report_namespaces(struct cfr_doctor *d)
{
    bool mounts = d->agent_pid > 0 && cfr_unit_name() == NULL && is_apart(d->agent_pid, "mnt");
    bool network = d->agent_pid > 0 && cfr_unit_name() == NULL && is_apart(d->agent_pid, "net");

    if (mounts || network)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "machine.namespace",
                          "run doctor in the agent's namespaces: `nsenter --target PID --mount --net credfresh "
                          "doctor`, `kubectl exec`",
                          "the running agent, process %d, has separate %s%s%s: these findings are about yours",
                          (int)d->agent_pid, mounts ? "mounts" : "", mounts && network ? " and " : "",
                          network ? "a network" : "");
}

/* ---- its configuration ---- */

static void report_config(struct cfr_doctor *d, const struct cfr_json *agent)
{
    const struct cfr_json *config = cfr_json_get(agent, "config");
    struct cfr_view error = get_text(config, "error");
    int64_t loaded_s = get_time(config, "loaded");
    struct stat st;

    if (!get_flag(config, "ok")) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "agent.config", "fix the file, then `credfresh reload`",
                          "the agent refused the configuration when it was last reloaded and runs with the one "
                          "before: %.*s",
                          (int)error.n, error.p);
        return;
    }
    if (d->config_path == NULL || stat(d->config_path, &st) != 0 || loaded_s == 0)
        return;
    /* What was moved or copied there may have kept an old time of its content. */
    if (st.st_mtim.tv_sec > loaded_s || st.st_ctim.tv_sec > loaded_s)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "agent.config", "`credfresh reload`",
                          "%s was changed after the agent loaded it: the agent may use another configuration",
                          d->config_path);
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "agent.config", NULL, "the agent runs with the current configuration");
}

/* ---- one credential ---- */

/* REFUSAL: of the exchange that the doctor tried. Where it is the agent's error, too, it is printed there. */
static void report_error(struct cfr_doctor *d, const struct cfr_err *refusal, const struct cfr_json *c)
{
    const struct cfr_json *error = cfr_json_get(c, "last_error");
    struct cfr_view message = get_text(error, "message");
    int64_t now_s = cfr_clock_now().wall_ms / 1000;
    int64_t next_s = get_time(c, "next_refresh");
    int64_t failures = get_number(c, "consecutive_failures");
    bool same = refusal->code != 0 && cfr_view_is(get_text(error, "code"), cfr_err_name(refusal->code));
    char ago[CFR_TIME_WORDS_MAX];
    char ahead[CFR_TIME_WORDS_MAX];
    char times[48] = "";

    if (message.n == 0)
        return;
    if (failures > 1)
        (void)snprintf(times, sizeof times, " %lld times in a row", (long long)failures);
    cfr_doctor_report(d, CFR_FINDING_WARNING, "agent.error", NULL,
                      "the agent failed%s, %s%s ago, and retries in %s%s%.*s", times, failures > 1 ? "last " : "",
                      cfr_time_words((now_s - get_time(error, "at")) * 1000, ago),
                      cfr_time_words((next_s > now_s ? next_s - now_s : 0) * 1000, ahead),
                      same ? ", for the reason of cloud.exchange" : ": ", same ? 0 : (int)message.n, message.p);
}

static void report_state(struct cfr_doctor *d, const struct cfr_json *c)
{
    struct cfr_view state = get_text(c, "state");
    int64_t now_s = cfr_clock_now().wall_ms / 1000;
    int64_t expires_s = get_time(c, "expires");
    char words[CFR_TIME_WORDS_MAX];

    if (get_flag(c, "ready") && expires_s != 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "agent.credential", NULL,
                          "generation %lld is published, valid for %s (%.*s)", (long long)get_number(c, "generation"),
                          cfr_time_words((expires_s - now_s) * 1000, words), (int)state.n, state.p);
    else if (get_flag(c, "ready"))
        cfr_doctor_report(d, CFR_FINDING_OK, "agent.credential", NULL, "generation %lld is published and never expires",
                          (long long)get_number(c, "generation"));
    else if (get_flag(c, "published"))
        cfr_doctor_report(d, CFR_FINDING_WRONG, "agent.credential", "the other findings say why it was not renewed",
                          "the published credential expired %s ago (state %.*s)",
                          cfr_time_words((now_s - expires_s) * 1000, words), (int)state.n, state.p);
    else if (cfr_view_is(get_text(cfr_json_get(c, "last_error"), "code"), cfr_err_name(CFR_E_CONFLICT)))
        cfr_doctor_report(d, CFR_FINDING_WRONG, "agent.credential", "agent.error says what to do",
                          "it cannot be published: the target belongs to another program (state %.*s)", (int)state.n,
                          state.p);
    else if (get_number(c, "generation") > 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "agent.credential", "agent.delivery and agent.error say why",
                          "generation %lld is not published at all of its targets (state %.*s)",
                          (long long)get_number(c, "generation"), (int)state.n, state.p);
    else
        cfr_doctor_report(d, CFR_FINDING_WRONG, "agent.credential", "the other findings say why",
                          "nothing is published yet (state %.*s)", (int)state.n, state.p);
}

static void report_list(struct cfr_doctor *d, const struct cfr_json *list, const char *check, const char *remedy)
{
    for (const struct cfr_json *h = cfr_json_first(list); h != NULL; h = cfr_json_next(h)) {
        struct cfr_view error = get_text(h, "error");
        struct cfr_view name = get_text(h, "name");

        if (error.n != 0)
            cfr_doctor_report(d, CFR_FINDING_WARNING, check, remedy, "%.*s failed: %.*s", (int)name.n, name.p,
                              (int)error.n, error.p);
    }
}

static void report_consumers(struct cfr_doctor *d, const struct cfr_json *c)
{
    for (const struct cfr_json *k = cfr_json_first(cfr_json_get(c, "consumers")); k != NULL; k = cfr_json_next(k)) {
        struct cfr_view name = get_text(k, "name");

        if (get_flag(k, "behind"))
            cfr_doctor_report(d, CFR_FINDING_WARNING, "agent.behind",
                              "look at the consumer: does it get the hook, and does it read the files again?",
                              "the consumer %.*s has generation %lld in use, the newest is %lld", (int)name.n, name.p,
                              (long long)get_number(k, "generation"), (long long)get_number(c, "generation"));
    }
}

static void report_credential(struct cfr_doctor *d, const struct cfr_err *refusal, const struct cfr_json *c)
{
    report_state(d, c);
    report_error(d, refusal, c);
    report_list(d, cfr_json_get(c, "hooks"), "agent.hook", "see the checks hook.* below");
    report_list(d, cfr_json_get(c, "deliveries"), "agent.delivery", NULL);
    report_consumers(d, c);
    cfr_doctor_mint_agent(d, c);
}

/* From where the last one was found on, then from the beginning. */
static const struct cfr_json *find_credential(struct cfr_doctor *d, const char *name)
{
    const struct cfr_json *c = d->agent_next;

    while (c != NULL && !cfr_view_is(get_text(c, "name"), name))
        c = cfr_json_next(c);
    if (c == NULL) {
        c = cfr_json_first(cfr_json_get(d->agent.json, "credentials"));
        while (c != NULL && !cfr_view_is(get_text(c, "name"), name))
            c = cfr_json_next(c);
    }
    d->agent_next = c != NULL ? cfr_json_next(c) : d->agent_next;
    return c;
}

void cfr_doctor_agent_credential(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const struct cfr_json *found;

    if (d->agent.json == NULL)
        return;
    found = find_credential(d, c->name);
    if (found != NULL)
        report_credential(d, &c->refusal, found);
    else
        cfr_doctor_report(d, CFR_FINDING_WARNING, "agent.credential",
                          "`credfresh reload`, or ask the right agent with -s",
                          "the running agent does not know this credential");
}

static void report_sandbox(struct cfr_doctor *d)
{
    const struct cfr_json *parts = cfr_json_get(d->agent.json, "sandbox");
    size_t off = 0;

    for (size_t i = 0; i < cfr_json_count(parts); i++) {
        const struct cfr_json *one = cfr_json_at(parts, i);
        struct cfr_view part = get_text(one, "part");
        struct cfr_view why = get_text(one, "why_not");

        if (get_flag(one, "on"))
            continue;
        off++;
        cfr_doctor_report(d, CFR_FINDING_NOTE, "agent.sandbox",
                          "docs/security.md has what each part needs of the kernel and the container",
                          "the agent runs without %.*s: %.*s", (int)part.n, part.p, (int)why.n, why.p);
    }
    if (off == 0 && cfr_json_count(parts) != 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "agent.sandbox", NULL, "every part of the agent's sandbox is in force");
}

static void report_agent(struct cfr_doctor *d)
{
    const struct cfr_json *agent = cfr_json_get(d->agent.json, "agent");
    struct cfr_view version = get_text(agent, "version");
    char words[CFR_TIME_WORDS_MAX];

    cfr_doctor_report(d, CFR_FINDING_OK, "agent.running", NULL, "an agent runs, version %.*s, for %s", (int)version.n,
                      version.p, cfr_time_words(cfr_clock_now().wall_ms - get_time(agent, "started") * 1000, words));
    if (!cfr_view_is(version, CFR_VERSION))
        cfr_doctor_report(d, CFR_FINDING_NOTE, "agent.version", "restart the agent after an upgrade",
                          "this program is version " CFR_VERSION);
    report_config(d, agent);
    report_sandbox(d);
}

static void report_silence(struct cfr_doctor *d, int rc, long status, const char *words)
{
    if (status == 403 || rc == CFR_E_PERM)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "agent.running", "run doctor as root or as the agent's user", "%s",
                          rc == CFR_E_PERM ? words : "the agent does not talk to this user");
    else if (rc == CFR_E_MISSING || rc == CFR_E_NET)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "agent.running",
                          "`systemctl status credfresh`, or the container's log, show whether it was started", "%s",
                          words);
    else
        cfr_doctor_report(d, CFR_FINDING_WARNING, "agent.running",
                          "restart it; it may hang, or another program has this socket",
                          "the agent does not answer as it should: %s", rc != 0 ? words : "an unexpected status");
}

void cfr_doctor_agent(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct cfr_err err = {0};
    int64_t left_ms = cfr_doctor_left_ms(d);
    int rc;

    (void)c;
    if (left_ms == 0)
        return;
    rc = cfr_cli_call_within(left_ms < CALL_MAX_MS ? left_ms : CALL_MAX_MS, socket_of(d), "GET", "/v1/credentials",
                             NULL, &d->agent, &err);
    report_namespaces(d);
    if (rc == 0 && d->agent.status == 200 && d->agent.json != NULL) {
        report_agent(d);
        return;
    }
    report_silence(d, rc, d->agent.status, err.text);
    cfr_cli_answer_free(&d->agent);
    d->agent = (struct cfr_cli_answer){.status = 0};
}
