/* SPDX-License-Identifier: MIT */
/* Exec plugins: runs, output, and how long a credential is used. */
#include "kube_fixture.h"

#include <signal.h>
#include <sys/ioctl.h>

#define EXEC "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./plugin\n"
#define PRINT_TOKEN(token, more)                                                                                       \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","                           \
    "\"status\":{\"token\":\"" token "\"" more "}}'"

/* A server that knows SESAME-1 and SESAME-2, and a plugin that runs SCRIPT. */
static struct setup begin(const char *script)
{
    struct setup s = open_kube();

    (void)unlink(in_dir("runs"));
    put("known", "Bearer SESAME-1\nBearer SESAME-2\nclient-a\n");
    put_plugin("plugin", script);
    put_config("config", srv.good, "", EXEC);
    return s;
}

static struct reply ask_config(struct setup *s)
{
    return ask(s, in_dir("config"), "/api");
}

static void test_token_is_kept(void **state)
{
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ""));
    struct cfr_kube_where where = {in_dir("config"), NULL};
    struct reply r;

    (void)state;
    assert_int_equal(cfr_kube_check(&where, NULL), 0);
    assert_int_equal(runs(), 0);
    r = ask_config(&s);
    assert_int_equal(r.error, 0);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.secrets[0], "SESAME-1");
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(runs(), 1);
    assert_true(cfr_loop_next() == INT64_MAX);
    close_kube(&s);
}

static void test_expiry(void **state)
{
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ",\"expirationTimestamp\":\"'$(date -u -d '+1 hour' +%FT%TZ)'\""));

    (void)state;
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(runs(), 1);
    /* One that has 10 s or less is used by those who waited for it, and then renewed. */
    s.kube->contexts->plugin.credential.expires_s = cfr_clock_now().wall_ms / 1000 + 10;
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(runs(), 2);
    close_kube(&s);
    s = begin(PRINT_TOKEN("SESAME-1", ",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\""));
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(runs(), 2);
    close_kube(&s);
}

static void test_a_401_runs_it_again(void **state)
{
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ""));
    struct reply r;

    (void)state;
    assert_int_equal(ask_config(&s).status, 200);
    put("known", "Bearer SESAME-2\n");
    put_plugin("plugin", PRINT_TOKEN("SESAME-2", ""));
    r = ask_config(&s);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.secrets[0], "SESAME-2");
    assert_int_equal(runs(), 2);
    /* Once for each request. */
    put("known", "\n");
    assert_int_equal(ask_config(&s).status, 401);
    assert_int_equal(runs(), 3);
    put_plugin("plugin", "exit 7");
    r = ask_config(&s);
    assert_int_equal(r.error, CFR_E_REJECTED);
    assert_has(r.err, "exited with 7");
    close_kube(&s);
}

/* The late refusal of an old credential does not take the new one away. */
static void test_a_401_of_an_older_credential(void **state)
{
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ""));
    struct reply r = {0};

    (void)state;
    assert_int_equal(ask_config(&s).status, 200);
    put("known", "\n");
    (void)start_call(&s, in_dir("config"), "/api", &r);
    s.kube->contexts->plugin.number++; /* as if another call had renewed it meanwhile */
    wait_for(&s, &r.calls, 1);
    assert_int_equal(r.status, 401);
    assert_int_equal(runs(), 1);
    close_kube(&s);
}

static void test_many_share_one_run(void **state)
{
    enum { MANY = 20 };
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ""));
    static struct reply r;

    (void)state;
    r = (struct reply){0};
    for (int i = 0; i < MANY; i++)
        (void)start_call(&s, in_dir("config"), "/api", &r);
    wait_for(&s, &r.calls, MANY);
    assert_int_equal(r.error, 0);
    assert_int_equal(r.status, 200);
    assert_int_equal(runs(), 1);
    /* And a 401 that all of them get, too. */
    put_plugin("plugin", PRINT_TOKEN("SESAME-2", ""));
    put("known", "Bearer SESAME-2\n");
    r = (struct reply){0};
    for (int i = 0; i < MANY; i++)
        (void)start_call(&s, in_dir("config"), "/api", &r);
    wait_for(&s, &r.calls, MANY);
    assert_int_equal(r.status, 200);
    assert_int_equal(runs(), 2);
    close_kube(&s);
}

static void test_certificate(void **state)
{
    struct setup s =
        begin("cert=$(awk '{printf \"%s\\\\n\", $0}' client-a.pem)\n"
              "key=$(awk '{printf \"%s\\\\n\", $0}' client-a.key)\n"
              "printf '%s' '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
              "\"status\":{\"clientCertificateData\":\"'\"$cert\"'\",\"clientKeyData\":\"'\"$key\"'\"}}'");
    struct reply r;

    (void)state;
    put_config("config", srv.mutual, "", EXEC);
    r = ask_config(&s);
    if (r.error != 0)
        fail_msg("%s", r.err);
    assert_int_equal(r.status, 200);
    assert_has(r.body, "\"peer\": \"client-a\"");
    close_kube(&s);
}

static void test_what_it_is_told(void **state)
{
    struct setup s =
        begin("test \"$A\" = 'x y' && test \"$HOME\" = /changed && test \"$1\" = one && test \"$2\" = '' &&\n"
              "test \"$OURS\" = here && ! read line && test ! -e /proc/self/fd/9 || exit 3\n"
              "printf '%s' \"$KUBERNETES_EXEC_INFO\" >info\n" PRINT_TOKEN("SESAME-1", ""));
    char info[8192] = "";
    FILE *f;

    (void)state;
    assert_int_equal(setenv("OURS", "here", 1), 0);
    put_config("config", srv.good,
               "    extensions:\n    - {name: client.authentication.k8s.io/exec, extension: {audience: me}}\n",
               EXEC
               "      args: [one, '']\n      env:\n      - {name: A, value: first}\n      - {name: A, value: x y}\n"
               "      - {name: HOME, value: /changed}\n      provideClusterInfo: true\n");
    assert_int_equal(ask_config(&s).status, 200);
    f = fopen(in_dir("info"), "r");
    assert_non_null(f);
    assert_non_null(fgets(info, sizeof info, f));
    assert_int_equal(fclose(f), 0);
    assert_has(info, "{\"apiVersion\":\"client.authentication.k8s.io/"
                     "v1\",\"kind\":\"ExecCredential\",\"spec\":{\"cluster\":{"
                     "\"server\":\"https://127.0.0.1:");
    assert_has(info, "\"certificate-authority-data\":\"LS0tLS1CRUdJTi");
    assert_has(info, "\"config\":{\"audience\":\"me\"}}");
    assert_has(info, "\"interactive\":false");
    assert_int_equal(unsetenv("OURS"), 0);
    close_kube(&s);
}

static void test_found_in_path(void **state)
{
    struct setup s = begin("exit 1");
    char *was = strdup(getenv("PATH"));
    char path[512];
    struct cfr_err err;

    (void)state;
    put_plugin("my-plugin", PRINT_TOKEN("SESAME-1", ""));
    (void)snprintf(path, sizeof path, "relative::/nonexistent:%s:%s", srv.dir, was);
    assert_int_equal(setenv("PATH", path, 1), 0);
    put_config("config", srv.good, "", "    exec: {apiVersion: client.authentication.k8s.io/v1, command: my-plugin}\n");
    assert_int_equal(ask_config(&s).status, 200);
    close_kube(&s);
    s = open_kube();
    assert_int_equal(setenv("PATH", was, 1), 0);
    free(was);
    put_config("config", srv.good, "",
               "    exec: {apiVersion: client.authentication.k8s.io/v1, command: my-plugin, installHint: ask "
               "Ann}\n");
    err = refused(&s, in_dir("config"));
    assert_int_equal(err.code, CFR_E_MISSING);
    assert_has(err.text, "the exec plugin my-plugin is not in any folder of PATH: ask Ann");
    assert_has(err.text, in_dir("config"));
    put_config("config", srv.good, "", "    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./config}\n");
    assert_has(refused(&s, in_dir("config")).text, "/config is not there, or is not executable; install it");
    close_kube(&s);
}

static void test_failures(void **state)
{
    static const struct {
        const char *script;
        int error;
        const char *words;
    } cases[] = {
        {"exit 3", CFR_E_REJECTED, "exited with 3"},
        {"kill -9 $$", CFR_E_REJECTED, "killed by signal 9"},
        {"true", CFR_E_ANSWER, ""},
        {"echo SESAME-garbage", CFR_E_ANSWER, ""},
        {"echo "
         "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":"
         "{\"token\":\"SESAME-1\"}}'",
         CFR_E_ANSWER, "apiVersion"},
        {"echo "
         "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{}}'",
         CFR_E_ANSWER, ""},
        {PRINT_TOKEN("SESAME-1\\\\r\\\\nX: y", ""), CFR_E_ANSWER, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct setup s = begin(cases[i].script);
        struct reply r = ask_config(&s);

        if (r.error != cases[i].error)
            fail_msg("case %zu: %s: %s", i, cfr_err_name(r.error), r.err);
        assert_has(r.err, cases[i].words);
        assert_has(r.err, in_dir("config"));
        assert_has(r.err, in_dir("plugin"));
        assert_lacks(r.err, "SESAME");
        /* The next one tries again. */
        put_plugin("plugin", PRINT_TOKEN("SESAME-1", ""));
        assert_int_equal(ask_config(&s).status, 200);
        close_kube(&s);
    }
}

/* The process that NAME holds the number of, once there is such a file. */
static int pid_in(struct setup *s, const char *name)
{
    int64_t end = now_ms() + LIMIT_S * 1000;
    int pid = 0;

    while (pid == 0 && now_ms() < end) {
        FILE *f = fopen(in_dir(name), "r");

        if (f != NULL && fscanf(f, "%d\n", &pid) != 1)
            pid = 0;
        if (f != NULL)
            (void)fclose(f);
        turn(s, 10);
    }
    assert_int_not_equal(pid, 0);
    return pid;
}

/* Ended, though perhaps nobody has asked how. */
static void wait_gone(struct setup *s, int pid)
{
    int64_t end = now_ms() + LIMIT_S * 1000;
    char path[64];
    char state = ' ';

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (state != 'Z' && now_ms() < end) {
        FILE *f = fopen(path, "r");

        if (f == NULL)
            return;
        if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        (void)fclose(f);
        turn(s, 10);
    }
    assert_int_equal(state, 'Z');
}

static void pass_limit(void)
{
    cfr_loop_run(cfr_clock_now().boot_ms + CFR_KUBE_PLUGIN_LIMIT_MS);
}

static void test_time_limit(void **state)
{
    struct setup s = begin("sleep 60 &\necho $! >child.new && mv child.new child\nwait");
    struct reply r = {0};
    struct reply second;
    int64_t left_ms;
    int child;

    (void)state;
    (void)unlink(in_dir("child"));
    (void)start_call(&s, in_dir("config"), "/api", &r);
    left_ms = cfr_loop_next() - cfr_clock_now().boot_ms;
    assert_in_range(left_ms, 1, CFR_KUBE_PLUGIN_LIMIT_MS);
    child = pid_in(&s, "child");
    assert_int_equal(r.calls, 0);
    pass_limit();
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.error, CFR_E_TIMEOUT);
    assert_has(r.err, "took longer than its time limit");
    wait_gone(&s, child);
    /* Only the files of a context that does not work are checked. */
    assert_true(cfr_loop_next() == cfr_loop_time(&s.kube->contexts->look));
    put_plugin("plugin", PRINT_TOKEN("SESAME-1", ""));
    second = ask_config(&s);
    assert_int_equal(second.status, 200);
    close_kube(&s);
}

static void test_huge_output(void **state)
{
    struct setup s = begin("head -c 3000000 /dev/zero | tr '\\0' x");
    int64_t end = now_ms() + LIMIT_S * 1000;
    struct reply r = {0};
    int waiting = 0;
    int fd;

    (void)state;
    (void)start_call(&s, in_dir("config"), "/api", &r);
    fd = s.kube->contexts->plugin.out_fd;
    while (waiting < fcntl(fd, F_GETPIPE_SZ) - 4096 && now_ms() < end) {
        turn(&s, 10);
        assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
    }
    pass_limit();
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.error, CFR_E_LIMIT);
    assert_has(r.err, "printed more than");
    close_kube(&s);
}

/* What it leaves behind may hold its standard output open for ever. */
static void test_child_that_stays(void **state)
{
    struct setup s = begin("sleep 30 & echo $! >child.new && mv child.new child\n" PRINT_TOKEN("SESAME-1", ""));

    (void)state;
    (void)unlink(in_dir("child"));
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(kill(pid_in(&s, "child"), SIGKILL), 0);
    close_kube(&s);
}

static void test_cancel_at_every_stage(void **state)
{
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ""));
    struct reply never = {0};
    struct reply r = {0};
    struct cfr_kube_call *c = start_call(&s, in_dir("config"), "/api", &never);

    (void)state;
    /* While the plugin runs: it goes on, and others get what it prints. */
    (void)start_call(&s, in_dir("config"), "/api", &r);
    cfr_kube_cancel(c);
    wait_for(&s, &r.calls, 1);
    assert_int_equal(r.status, 200);
    assert_int_equal(runs(), 1);
    /* While the second run of a 401 is under way. */
    put("known", "\n");
    c = start_call(&s, in_dir("config"), "/api", &never);
    while (s.kube->contexts->plugin.pid == 0)
        assert_int_equal(cfr_http_step(s.http, NULL, 0, 10, NULL), 0);
    cfr_kube_cancel(c);
    while (s.kube->contexts->plugin.pid != 0)
        turn(&s, 10);
    /* And the end of everything while one runs. */
    s.kube->contexts->plugin.usable = false;
    (void)start_call(&s, in_dir("config"), "/api", &never);
    close_kube(&s);
    assert_int_equal(never.calls, 0);
}

struct chain {
    struct setup *s;
    struct cfr_kube_call *self;
    struct cfr_kube_call *victim;
    struct reply reply;
    int left;
};

static void on_chain(void *ctx, const struct cfr_kube_answer *a)
{
    struct chain *c = ctx;
    struct cfr_kube_where where = {in_dir("config"), NULL};
    struct cfr_kube_request request = {.method = "GET", .path = "/api"};

    on_reply(&c->reply, a);
    cfr_kube_cancel(c->self);
    cfr_kube_cancel(c->victim);
    c->victim = NULL;
    if (c->left-- > 0)
        assert_int_equal(cfr_kube_start(c->s->kube, &where, &request, on_chain, c, &c->self, NULL), 0);
}

/* All of it from within a run's end, where others wait for the same run. */
static void test_done_may_start_and_cancel(void **state)
{
    struct setup s = begin("exit 1");
    struct chain c = {.s = &s, .left = 2};
    struct reply victim = {0};
    struct reply other = {0};
    struct cfr_kube_where where = {in_dir("config"), NULL};
    struct cfr_kube_request request = {.method = "GET", .path = "/api"};

    (void)state;
    (void)start_call(&s, in_dir("config"), "/api", &other);
    c.victim = start_call(&s, in_dir("config"), "/api", &victim);
    assert_int_equal(cfr_kube_start(s.kube, &where, &request, on_chain, &c, &c.self, NULL), 0);
    wait_for(&s, &c.reply.calls, 3);
    assert_int_equal(c.reply.error, CFR_E_REJECTED);
    assert_int_equal(victim.calls, 0);
    assert_int_equal(other.calls, 1);
    assert_int_equal(runs(), 3);
    close_kube(&s);
}

static void test_kubeconfig_changes_during_a_run(void **state)
{
    struct setup s = begin(PRINT_TOKEN("SESAME-1", ""));
    struct reply r = {0};

    (void)state;
    (void)start_call(&s, in_dir("config"), "/api", &r);
    put_config("config", srv.good, "", EXEC "      args: [changed]\n");
    (void)start_call(&s, in_dir("config"), "/api", &r);
    wait_for(&s, &r.calls, 2);
    assert_int_equal(runs(), 1);
    /* What the old one said is not kept. */
    assert_int_equal(ask_config(&s).status, 200);
    assert_int_equal(runs(), 2);
    close_kube(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_is_kept),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_a_401_runs_it_again),
        cmocka_unit_test(test_a_401_of_an_older_credential),
        cmocka_unit_test(test_many_share_one_run),
        cmocka_unit_test(test_certificate),
        cmocka_unit_test(test_what_it_is_told),
        cmocka_unit_test(test_found_in_path),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_huge_output),
        cmocka_unit_test(test_child_that_stays),
        cmocka_unit_test(test_cancel_at_every_stage),
        cmocka_unit_test(test_done_may_start_and_cancel),
        cmocka_unit_test(test_kubeconfig_changes_during_a_run),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
