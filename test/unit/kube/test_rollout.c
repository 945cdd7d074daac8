/* SPDX-License-Identifier: MIT */
/* Restart of workloads: path, patch, and what their status says. */
#include "unit.h"

#include "kube/rollout.h"

static struct cfr_k8s_restart restart(int kind)
{
    return (struct cfr_k8s_restart){.kind = kind,
                                    .namespace_name = "ns-a",
                                    .name = "web",
                                    .credential = "db",
                                    .generation = 7,
                                    .issued_ms = 1700000000000};
}

static void patches(void **state)
{
    struct cfr_k8s_restart r = restart(1);
    char path[CFR_K8S_ROLLOUT_PATH_MAX];
    struct cfr_secret body;
    struct cfr_err err = {0};

    (void)state;
    assert_true(cfr_k8s_rollout_path(&r, true, path));
    assert_string_equal(path, "/apis/apps/v1/namespaces/ns-a/statefulsets/web?fieldManager=credfresh");
    r.name = "web?x";
    assert_false(cfr_k8s_rollout_path(&r, false, path));
    cfr_secret_init(&body, CFR_K8S_ROLLOUT_BODY_MAX);
    assert_int_equal(cfr_k8s_rollout_body(&r, 1767326645, &body, &err), 0);
    assert_string_equal(body.p, "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
                                "\"kubectl.kubernetes.io/restartedAt\":\"2026-01-02T04:04:05Z\","
                                "\"restarted-for.credfresh.io/db\":\"7-1700000000000\"}}}}}");
    cfr_secret_free(&body);
}

#define MARK(n)                                                                                                        \
    "\"template\":{\"metadata\":{\"annotations\":{\"restarted-for.credfresh.io/db\":\"" n "-1700000000000\"}}}"
#define OBJECT(kind, spec, status)                                                                                     \
    "{\"kind\":\"" kind "\",\"metadata\":{\"name\":\"web\",\"generation\":3},\"spec\":{" spec "},\"status\":{" status  \
    "}}"

static struct cfr_k8s_rollout read_rollout(int kind, const char *body)
{
    struct cfr_k8s_restart r = restart(kind);
    struct cfr_k8s_rollout out;
    struct cfr_err err = {0};

    assert_int_equal(cfr_k8s_rollout_read(&r, cfr_view_of(body), &out, &err), 0);
    return out;
}

static void states(void **state)
{
    static const struct {
        int kind;
        const char *body;
        bool restarted;
        bool complete;
    } rows[] = {
        {0,
         OBJECT("Deployment", "\"replicas\":2," MARK("7"),
                "\"observedGeneration\":3,\"replicas\":2,\"updatedReplicas\":2,\"availableReplicas\":2"),
         true, true},
        /* the status is of the former template */
        {0,
         OBJECT("Deployment", "\"replicas\":2," MARK("7"),
                "\"observedGeneration\":2,\"replicas\":2,\"updatedReplicas\":2,\"availableReplicas\":2"),
         true, false},
        /* an old pod is still there */
        {0,
         OBJECT("Deployment", "\"replicas\":2," MARK("7"),
                "\"observedGeneration\":3,\"replicas\":3,\"updatedReplicas\":2,\"availableReplicas\":2"),
         true, false},
        {0, OBJECT("Deployment", MARK("6"), "\"observedGeneration\":3"), false, false},
        {0, OBJECT("Deployment", "\"replicas\":0," MARK("7"), "\"observedGeneration\":3"), true, true},
        {1,
         OBJECT("StatefulSet", "\"replicas\":3,\"updateStrategy\":{\"rollingUpdate\":{\"partition\":1}}," MARK("7"),
                "\"observedGeneration\":3,\"updatedReplicas\":2,\"readyReplicas\":3"),
         true, true},
        /* the one that was restarted is not ready yet, those below the partition are */
        {1,
         OBJECT("StatefulSet", "\"replicas\":3,\"updateStrategy\":{\"rollingUpdate\":{\"partition\":2}}," MARK("7"),
                "\"observedGeneration\":3,\"updatedReplicas\":1,\"readyReplicas\":2"),
         true, false},
        {2,
         OBJECT("DaemonSet", MARK("7"),
                "\"observedGeneration\":3,\"desiredNumberScheduled\":2,\"updatedNumberScheduled\":2,"
                "\"numberAvailable\":1"),
         true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_k8s_rollout out = read_rollout(rows[i].kind, rows[i].body);

        if (out.restarted != rows[i].restarted || out.complete != rows[i].complete)
            fail_msg("row %zu: %s", i, out.text);
    }
}

static void pods_that_are_replaced_when_they_are_deleted(void **state)
{
    static const struct {
        int kind;
        const char *body;
        bool on_delete;
    } rows[] = {
        {1, OBJECT("StatefulSet", "\"updateStrategy\":{\"type\":\"OnDelete\"}," MARK("7"), ""), true},
        {2, OBJECT("DaemonSet", "\"updateStrategy\":{\"type\":\"OnDelete\"}," MARK("7"), ""), true},
        {2, OBJECT("DaemonSet", "\"updateStrategy\":{\"type\":\"RollingUpdate\"}," MARK("7"), ""), false},
        {0, OBJECT("Deployment", MARK("7"), ""), false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_k8s_rollout out = read_rollout(rows[i].kind, rows[i].body);

        if (out.on_delete != rows[i].on_delete)
            fail_msg("row %zu", i);
    }
}

/* Where several agents publish the same, one that is behind does not restart the workload for what is past. */
static void a_later_mark_of_another_agent_is_as_good(void **state)
{
    static const struct {
        const char *body;
        bool shared;
        bool restarted;
    } rows[] = {
        {OBJECT("Deployment", MARK("8"), ""), true, true},   {OBJECT("Deployment", MARK("8"), ""), false, false},
        {OBJECT("Deployment", MARK("7"), ""), true, true},   {OBJECT("Deployment", MARK("6"), ""), true, false},
        {OBJECT("Deployment", MARK("-8"), ""), true, false}, {OBJECT("Deployment", MARK("8x"), ""), true, false},
        {OBJECT("Deployment", MARK(""), ""), true, false},   {OBJECT("Deployment", "", ""), true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_k8s_restart r = restart(0);
        struct cfr_k8s_rollout out;
        struct cfr_err err = {0};

        r.shared = rows[i].shared;
        assert_int_equal(cfr_k8s_rollout_read(&r, cfr_view_of(rows[i].body), &out, &err), 0);
        if (out.restarted != rows[i].restarted)
            fail_msg("row %zu", i);
    }
}

static void refusals(void **state)
{
    struct cfr_k8s_restart r = restart(0);
    struct cfr_k8s_rollout out;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_rollout_read(&r, cfr_view_of("{}"), &out, &err), CFR_E_ANSWER);
    assert_int_equal(cfr_k8s_rollout_read(&r, cfr_view_of("<html>"), &out, &err), CFR_E_ANSWER);
    assert_int_equal(
        cfr_k8s_rollout_read(&r,
                             cfr_view_of(OBJECT("Deployment", MARK("7"),
                                                "\"observedGeneration\":3,\"conditions\":[{\"type\":\"Progressing\","
                                                "\"reason\":\"ProgressDeadlineExceeded\"}]")),
                             &out, &err),
        CFR_E_REJECTED);
    assert_true(out.restarted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches),
        cmocka_unit_test(states),
        cmocka_unit_test(pods_that_are_replaced_when_they_are_deleted),
        cmocka_unit_test(a_later_mark_of_another_agent_is_as_good),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
