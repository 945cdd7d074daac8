/* SPDX-License-Identifier: MIT */
/* The parts of doctor that need no machine: mounts, limits, resolver settings, and the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/doctor/doctor_private.h"
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "agent/loop/env.h"
#include "agent/doctor/mountinfo_private.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mountinfo[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n"
    "30 22 0:25 / /run rw,nosuid - tmpfs tmpfs rw,size=10k\n"
    "31 22 0:26 /a /var/lib/my\\040data ro - tmpfs tmpfs rw\n"
    "32 22 8:1 /var/lib/kubelet/pods/1/volume-subpaths/tok/app/0 /etc/token/token ro - ext4 /dev/sda1 rw\n"
    "33 22 0:27 /..2026_01_02_03_04_05.123/x /mnt/x rw - tmpfs tmpfs rw\n"
    "34 30 0:28 / /run rw - ramfs none rw\n"
    "35 nonsense\n"
    "\n";

static void mounts(void **state)
{
    struct cfr_doctor_mount m;

    (void)state;
    assert_true(cfr_doctor_mount_find(cfr_view_of(mountinfo), "/home/x", &m));
    assert_string_equal(m.type, "ext4");
    assert_string_equal(m.options, "rw,relatime;rw,discard");
    assert_false(cfr_doctor_mount_is_part(&m));
    /* The last of two at one place is the one that is seen. */
    assert_true(cfr_doctor_mount_find(cfr_view_of(mountinfo), "/run/credfresh", &m));
    assert_string_equal(m.type, "ramfs");
    assert_true(cfr_doctor_mount_find(cfr_view_of(mountinfo), "/running", &m));
    assert_string_equal(m.point, "/");
    assert_true(cfr_doctor_mount_find(cfr_view_of(mountinfo), "/var/lib/my data/f", &m));
    assert_string_equal(m.point, "/var/lib/my data");
    assert_true(cfr_doctor_mount_find(cfr_view_of(mountinfo), "/etc/token/token", &m));
    assert_true(cfr_doctor_mount_is_part(&m));
    assert_true(cfr_doctor_mount_find(cfr_view_of(mountinfo), "/mnt/x/token", &m));
    assert_true(cfr_doctor_mount_is_part(&m));
    assert_false(cfr_doctor_mount_find(cfr_view_of(""), "/", &m));
}

static void mounts_that_do_not_last(void **state)
{
    static const char *const rows[][2] = {
        {"22 1 8:1 / / rw - ext4 /dev/sda1 rw", NULL},
        {"22 1 8:1 / / rw - overlay overlay rw,lowerdir=/a", "container's own"},
        {"22 1 0:5 / / rw - tmpfs tmpfs rw", "in memory"},
        {"22 1 8:1 /var/lib/kubelet/pods/1/volumes/kubernetes.io~empty-dir/state / rw - xfs /dev/sda1 rw", "emptyDir"},
        {"22 1 8:1 /var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/pvc-1/mount / rw - xfs /dev/sda1 rw", NULL},
    };
    struct cfr_doctor_mount m;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *why;

        assert_true(cfr_doctor_mount_find(cfr_view_of(rows[i][0]), "/state", &m));
        why = cfr_doctor_mount_passing(&m);
        assert_int_equal(why == NULL, rows[i][1] == NULL);
        if (why != NULL)
            assert_non_null(strstr(why, rows[i][1]));
    }
}

static void put(const char *root, const char *dir, const char *file, const char *text)
{
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s%s", root, dir);
    for (char *p = path + strlen(root) + 1; *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(path, 0700);
            *p = '/';
        }
    }
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s%s/%s", root, dir, file);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void memory_limits(void **state)
{
    char root[] = "/tmp/test_agent_doctor_XXXXXX";
    char command[64];
    char path[512] = "";

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(cfr_doctor_memory_limit(cfr_view_of("0::/a/b\n"), root, path), -1);
    put(root, "/a/b", "memory.max", "max\n");
    put(root, "/a", "memory.max", "16777216\n");
    assert_int_equal(cfr_doctor_memory_limit(cfr_view_of("0::/a/b\n"), root, path), 16777216);
    assert_non_null(strstr(path, "/a/memory.max"));
    /* A hybrid machine has version 1's, too, where a huge number stands for none. */
    put(root, "/memory/c", "memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(cfr_doctor_memory_limit(cfr_view_of("4:cpu:/c\n5:memory:/c\n0::/\n"), root, path), -1);
    put(root, "/memory", "memory.limit_in_bytes", "1048576\n");
    assert_int_equal(cfr_doctor_memory_limit(cfr_view_of("5:memory:/c\n0::/a/b\n"), root, path), 1048576);
    /* In a namespace of its own the path is the root's. */
    assert_int_equal(cfr_doctor_memory_limit(cfr_view_of("5:memory:/\n"), root, NULL), 1048576);
    assert_int_equal(cfr_doctor_memory_limit(cfr_view_of("nonsense\n::\n"), root, NULL), -1);
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void needs(void **state)
{
    struct cfr_config_endpoint endpoints[2] = {{.listen = NULL}};
    struct cfr_config c = {.max_concurrent_exchanges = 32};
    int64_t files = cfr_doctor_needed_files(&c);

    (void)state;
    c.endpoints = (struct cfr_list){endpoints, 2};
    assert_true(cfr_doctor_needed_files(&c) > files);
}

static void resolver(void **state)
{
    char out[64];

    (void)state;
    cfr_doctor_resolver(cfr_view_of("# a comment\nnameserver 10.0.0.10\nsearch a b\noptions ndots:5\n"), out,
                        sizeof out);
    assert_string_equal(out, "nameserver 10.0.0.10; search a b; options ndots:5");
    cfr_doctor_resolver(cfr_view_of("nameserver 1111111111111111111111111111111111111111111111111111111111111111111\n"),
                        out, sizeof out);
    assert_int_equal(strlen(out), sizeof out - 1);
    cfr_doctor_resolver(cfr_view_of(""), out, sizeof out);
    assert_string_equal(out, "");
    assert_true(cfr_doctor_is_address("::1"));
    assert_false(cfr_doctor_is_address("one.one.one.one"));
}

static void names(void **state)
{
    char addresses[CFR_DOCTOR_ADDRESSES_MAX];
    struct cfr_err err = {0};
    int64_t took_ms;

    (void)state;
    assert_int_equal(cfr_doctor_resolve("127.0.0.1", 5000, addresses, &took_ms, &err), 0);
    assert_string_equal(addresses, "127.0.0.1");
    assert_int_equal(cfr_doctor_resolve("no name at all", 5000, addresses, &took_ms, &err), CFR_E_NET);
    assert_true(strlen(err.text) > 4);
}

static void findings(void **state)
{
    struct cfr_cli_options o = {.config = "/etc/x.yaml", .timeout_ms = 0, .offline = true};
    struct cfr_str out = {.limit = 65536};
    struct cfr_json *doc = NULL;
    struct cfr_doctor d;
    struct cfr_view text;

    (void)state;
    cfr_doctor_open(&d, &o, false);
    assert_int_equal(cfr_doctor_left_ms(&d), 0);
    cfr_doctor_at(&d, "demo", 7);
    cfr_doctor_report(&d, CFR_FINDING_WRONG, "a.b", "do that", "a \"text\" with \033[2J and \xc2\x9b\x9b");
    cfr_doctor_at(&d, NULL, 0);
    for (int i = 0; i < 200; i++)
        cfr_doctor_report(&d, CFR_FINDING_OK, "c.d", NULL, "number %d", i);
    cfr_doctor_write_json(&d, &out);
    assert_int_equal(cfr_json_parse(cfr_str_view(&out), &doc, NULL), 0);
    assert_int_equal(cfr_json_count(cfr_json_get(doc, "findings")), 201);
    assert_true(cfr_json_string(cfr_json_get(cfr_json_at(cfr_json_get(doc, "findings"), 0), "text"), &text));
    assert_true(cfr_view_is(text, "a \"text\" with ?[2J and ???"));
    assert_true(cfr_json_is_null(cfr_json_get(cfr_json_at(cfr_json_get(doc, "findings"), 1), "line")));
    cfr_str_free(&out);
    cfr_doctor_write_text(&d, &(struct cfr_doctor_layout){0}, &out);
    assert_non_null(strstr(out.p, "demo\n  wrong    a.b"));
    assert_non_null(strstr(out.p, "at /etc/x.yaml:7\n"));
    assert_non_null(strstr(out.p, "-> do that\n"));
    assert_non_null(strstr(out.p, "/etc/x.yaml: 1 wrong, 0 warnings, 0 notes, 200 ok (-v shows them)\n"));
    assert_null(strstr(out.p, "number 7"));
    cfr_str_free(&out);
    o.verbose = true;
    cfr_doctor_write_text(&d, &(struct cfr_doctor_layout){.columns = 80, .colours = true}, &out);
    assert_true(strstr(out.p, "number 199\n") <
                strstr(out.p, "\ndemo\n  \033[31mwrong   \033[0m a.b\n       a \"text\""));
    cfr_str_free(&out);
    cfr_json_free(doc);
    cfr_doctor_close(&d);
}

/* ---- the table of checks ---- */

static void find_toy(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    cfr_doctor_report(d, CFR_FINDING_OK, "toy", NULL, "%s is well", c != NULL ? c->name : "the machine");
    cfr_doctor_report(d, cfr_doctor_later(d), "toy", NULL, "%s is not there yet", c != NULL ? c->name : "the machine");
}

/* What the rows find for two credentials, one of which exchanges nothing. */
static char *run_rows(const struct cfr_doctor_check *rows, bool selection, bool offline)
{
    static const char yaml[] =
        "version: 1\ncredentials:\n"
        "- {name: a, token: {file: /t}, publish: {directory: /d, files: [{name: t, format: token}]}}\n"
        "- {name: b, token: {file: /t}, exchange: {aws: {role_arn: "
        "\"arn:aws:iam::123456789012:role/x\", region: us-east-1}}, "
        "publish: {directory: /e, files: [{name: t, format: aws-credentials}]}}\n";
    char path[] = "/tmp/test_agent_doctor_XXXXXX";
    struct cfr_cli_options o = {.config = path, .timeout_ms = -1, .offline = offline};
    int fd = mkstemp(path);
    struct cfr_str out = {.limit = 65536};
    struct cfr_err err = {0};
    struct cfr_doctor d;

    assert_int_equal(write(fd, yaml, sizeof yaml - 1), sizeof yaml - 1);
    (void)close(fd);
    cfr_doctor_open(&d, &o, selection);
    d.config_path = NULL;
    if (cfr_config_load(path, cfr_env_get, &d.config, NULL, &err) != 0)
        fail_msg("%.200s", err.text);
    (void)unlink(path);
    cfr_doctor_run_checks(&d, rows);
    cfr_doctor_write_lines(&d, 0, "", (struct cfr_view){"", 0}, &out);
    cfr_doctor_close(&d);
    return out.p;
}

static void a_check_is_a_row(void **state)
{
    static const struct cfr_doctor_check rows[] = {
        {"last", CFR_DOCTOR_LAST, CFR_DOCTOR_NOT_SELECTED, find_toy},
        {"toy", CFR_DOCTOR_CLOUD | CFR_DOCTOR_NETWORK, CFR_DOCTOR_SELECTED, find_toy},
        {"other", CFR_DOCTOR_OWN, CFR_DOCTOR_SELECTED_WITH_OK, find_toy},
        {NULL, 0, CFR_DOCTOR_NOT_SELECTED, NULL},
    };
    char *out = run_rows(rows, false, false);

    (void)state;
    assert_string_equal(out, "ok     a: a is well\nERROR  a: a is not there yet\n"
                             "ok     b: b is well\nERROR  b: b is not there yet\n"
                             "ok     b: b is well\nERROR  b: b is not there yet\n"
                             "ok     agent: the machine is well\nERROR  agent: the machine is not there yet\n"
                             "environment: 2 credentials, 4 errors, 0 warnings\n");
    free(out);
    out = run_rows(rows, true, true);
    assert_string_equal(out, "ok     a: a is well\nwarn   a: a is not there yet\n"
                             "ok     b: b is well\nwarn   b: b is not there yet\n"
                             "environment: 2 credentials, 0 errors, 2 warnings\n");
    free(out);
    out = run_rows(rows + 1, true, false);
    assert_non_null(strstr(out, "environment: 2 credentials, 0 errors, 2 warnings\n"));
    assert_null(strstr(out, "machine"));
    free(out);
}

/* What `check` prints of LINE for a finding of CHECK with TEXT: the excerpt and the caret, or nothing. */
static void expect_excerpt(const char *line, const char *check, const char *text, const char *excerpt)
{
    struct cfr_cli_options o = {.config = "c.yaml", .timeout_ms = -1, .offline = true};
    struct cfr_str out = {.limit = 65536};
    struct cfr_doctor d;
    char *end;

    cfr_doctor_open(&d, &o, true);
    d.config_path = "c.yaml";
    cfr_doctor_at(&d, "app", 1);
    cfr_doctor_report(&d, CFR_FINDING_WRONG, check, NULL, "%s", text);
    cfr_doctor_write_lines(&d, 0, "", cfr_view_of(line), &out);
    cfr_doctor_close(&d);
    end = strchr(out.p, '\n') + 1;
    *strstr(end, "c.yaml: ") = '\0';
    assert_string_equal(end, excerpt);
    cfr_str_free(&out);
}

static void excerpts_are_of_what_is_wrong(void **state)
{
    (void)state;
    expect_excerpt("  - name: app", "net.connect", "its certificate is for another name", "");
    expect_excerpt("role: role/app", "config", "credential app: token: begins with a token", "");
    expect_excerpt("{file: /t/token, audience: x}", "token.file", "cannot open /t/token: Permission denied",
                   "      1 | ...file: /t/token...\n        |          ^~~~~~~~\n");
    expect_excerpt("directory: /run/x/y", "publish.rights", "cannot write in /run/x: Permission denied", "");
    expect_excerpt("or: pass-on", "config", "credential app: mint.or: it cannot be passed on",
                   "      1 | or...\n        | ^~\n");
    expect_excerpt("{name: a, mode: 0640}", "config", "credential name: publish.file.mode: 0640 is a number",
                   "      1 | ...mode: 0640}\n        |          ^~~~\n");
    expect_excerpt("requird: true", "config", "credential app: unknown key requird; did you mean required?",
                   "      1 | requird...\n        | ^~~~~~~\n");
    expect_excerpt("key: wanted", "config", "credential app: a: b: c.key: is not", "      1 | key...\n        | ^~~\n");
    expect_excerpt("key:", "config", "key: is", "      1 | key...\n        | ^~~\n");
    expect_excerpt("", "config", "key: is", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts),
        cmocka_unit_test(mounts_that_do_not_last),
        cmocka_unit_test(memory_limits),
        cmocka_unit_test(needs),
        cmocka_unit_test(resolver),
        cmocka_unit_test(names),
        cmocka_unit_test(findings),
        cmocka_unit_test(a_check_is_a_row),
        cmocka_unit_test(excerpts_are_of_what_is_wrong),
    };

    cfr_json_setup();
    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
