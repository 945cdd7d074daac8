/* SPDX-License-Identifier: MIT */
/* Records survive writing and reading; malformed ones are refused completely. */
#include "unit.h"

#include "agent/publish/record.h"
#include "base/json.h"
#include "files/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
    char path[64];
    int fd;
    int lock;
};

static int open_place(void **state)
{
    struct place *p = calloc(1, sizeof *p);

    cfr_json_setup();
    if (p == NULL)
        return -1;
    (void)snprintf(p->path, sizeof p->path, "/tmp/cfr-record-XXXXXX");
    if (mkdtemp(p->path) == NULL)
        return -1;
    p->fd = cfr_state_open(p->path, &p->lock, NULL);
    *state = p;
    return p->fd >= 0 ? 0 : -1;
}

static int close_place(void **state)
{
    struct place *p = *state;
    char command[128];

    (void)close(p->fd);
    (void)close(p->lock);
    (void)snprintf(command, sizeof command, "rm -rf %s", p->path);
    if (system(command) != 0) // NOLINT(cert-env33-c): a path of our own making
        return -1;
    free(p);
    return 0;
}

static void round_trip(void **state)
{
    const struct place *p = *state;
    struct cfr_publish_record out = {
        .generation = UINT64_C(18446744073709551615),
        .issued_ms = 1795000000123,
        .expires_ms = INT64_MAX,
        .retire_ms = 7,
        .digest = 0xfedcba9876543210,
        .token_mark = 0x8000000000000001,
        .identity = strdup("arn:aws:sts::1:assumed-role/a/b \"quoted\""),
        .pending_reason = strdup(""),
        .target_count = 2,
        .hook_count = 2,
        .acknowledged_count = 3,
        .published_ns = INT64_C(1795000000123456789),
        .run = UINT64_MAX - 1,
    };
    struct cfr_slow_write saving = {.next = NULL};
    struct cfr_publish_record in;
    struct cfr_err err = {0};

    assert_int_equal(cfr_publish_record_fit(&out, (struct cfr_publish_record_room){2, 2, 3}, &err), 0);
    out.targets[0] = (struct cfr_file_fingerprint){UINT64_MAX, 17, -5};
    out.targets[1] = (struct cfr_file_fingerprint){1, 2, 1795000000123456789};
    out.hook_done[0] = 3;
    out.hook_done[1] = out.acknowledged[1] = UINT64_MAX;
    out.acknowledged[2] = 4;
    assert_int_equal(cfr_publish_record_set_key(
                         &out, &(struct cfr_publish_minted){"AKIA\"", 1795000001, UINT64_MAX, 7, false}, &err),
                     0);
    assert_int_equal(cfr_publish_record_add_reason(&out, "leaked\n\xc3\xa9", &err), 0);
    assert_int_equal(cfr_publish_record_save(&saving, p->fd, "demo", &out, &err), 0);
    assert_int_equal(cfr_publish_record_load(p->fd, "demo", &in, &err), 0);
    assert_true(in.generation == out.generation && in.issued_ms == out.issued_ms && in.expires_ms == out.expires_ms);
    assert_true(in.digest == out.digest && in.token_mark == out.token_mark && in.retire_ms == 7);
    assert_string_equal(in.identity, out.identity);
    assert_string_equal(in.pending_reason, "");
    assert_memory_equal(in.targets, out.targets, 2 * sizeof(struct cfr_file_fingerprint));
    assert_true(in.hook_done[1] == UINT64_MAX && in.hook_count == 2);
    assert_true(in.acknowledged_count == 3 && in.acknowledged[1] == UINT64_MAX && in.acknowledged[2] == 4);
    assert_true(in.published_ns == INT64_C(1795000000123456789) && in.run == UINT64_MAX - 1);
    assert_string_equal(in.key->id, "AKIA\"");
    assert_true(in.key->minted_s == 1795000001 && in.key->number == UINT64_MAX && in.key->journal == 7);
    assert_int_equal(cfr_publish_record_set_key(&in, NULL, &err), 0);
    assert_null(in.key);
    assert_true(cfr_publish_record_has_reason(&in, "leaked\n\xc3\xa9"));
    assert_false(cfr_publish_record_has_reason(&in, "leaked"));
    cfr_publish_record_free(&in);
    cfr_publish_record_free(&out);
}

static void grows_and_keeps_what_is_there(void **state)
{
    struct cfr_publish_record r = {0};

    (void)state;
    assert_int_equal(cfr_publish_record_fit(&r, (struct cfr_publish_record_room){1, 0, 2}, NULL), 0);
    r.targets[0].inode = 1;
    r.rendered[0] = 2;
    r.delivered[0] = 3;
    r.acknowledged[1] = 4;
    assert_int_equal(cfr_publish_record_fit(&r, (struct cfr_publish_record_room){0, 3, 1}, NULL), 0);
    r.hook_done[2] = 5;
    assert_int_equal(cfr_publish_record_fit(&r, (struct cfr_publish_record_room){16, 16, 32}, NULL), 0);
    assert_true(r.targets[0].inode == 1 && r.rendered[0] == 2 && r.delivered[0] == 3 && r.acknowledged[1] == 4);
    assert_true(r.hook_done[2] == 5 && r.hook_done[15] == 0 && r.targets[15].inode == 0 && r.rendered[15] == 0);
    assert_true(r.acknowledged[0] == 0 && r.acknowledged[31] == 0 && r.delivered[15] == 0);
    cfr_publish_record_free(&r);
    assert_null(r.rendered);
}

static void forgets_the_oldest_reason(void **state)
{
    struct cfr_publish_record r = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < CFR_PUBLISH_RECORD_REASONS_MAX + 3; i++) {
        (void)snprintf(name, sizeof name, "r%d", i);
        assert_int_equal(cfr_publish_record_add_reason(&r, name, NULL), 0);
    }
    assert_int_equal(r.reason_count, CFR_PUBLISH_RECORD_REASONS_MAX);
    assert_false(cfr_publish_record_has_reason(&r, "r2"));
    assert_true(cfr_publish_record_has_reason(&r, "r3"));
    cfr_publish_record_free(&r);
}

static void reads_one_of_before_acknowledgements(void **state)
{
    static const char old[] = "{\"version\":1,\"generation\":\"7\",\"issued_ms\":\"1\",\"expires_ms\":\"2\",\"last_"
                              "success_s\":\"3\",\"retire_ms\":\"4\","
                              "\"digest\":\"5\",\"digest_material\":\"6\",\"token_issued_s\":\"7\",\"token_expires_s\":"
                              "\"8\",\"token_mark\":\"9\","
                              "\"targets\":[],\"hooks\":[\"7\"],\"reasons\":[]}";
    const struct place *p = *state;
    struct cfr_publish_record r;
    struct cfr_err err = {0};

    assert_int_equal(cfr_state_save(p->fd, "old", cfr_view_of(old), &err), 0);
    assert_int_equal(cfr_publish_record_load(p->fd, "old", &r, &err), 0);
    assert_true(r.generation == 7 && r.hook_count == 1 && r.hook_done[0] == 7);
    assert_true(r.delivered_count == 0 && r.acknowledged_count == 0 && r.published_ns == 0 && r.run == 0);
    cfr_publish_record_free(&r);
}

static void refuses_what_is_no_record(void **state)
{
    static const char *const bad[] = {
        "", "{}", "[]", "{\"version\":2}", "{\"version\":1}", "{\"version\":1,\"generation\":\"-\"}", "not json",
    };
    const struct place *p = *state;
    struct cfr_publish_record r;
    struct cfr_err err = {0};

    assert_int_equal(cfr_publish_record_load(p->fd, "none", &r, &err), CFR_E_MISSING);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(cfr_state_save(p->fd, "bad", cfr_view_of(bad[i]), &err), 0);
        assert_int_equal(cfr_publish_record_load(p->fd, "bad", &r, &err), CFR_E_ANSWER);
        assert_null(r.identity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, open_place, close_place),
        cmocka_unit_test(grows_and_keeps_what_is_there),
        cmocka_unit_test(forgets_the_oldest_reason),
        cmocka_unit_test_setup_teardown(reads_one_of_before_acknowledgements, open_place, close_place),
        cmocka_unit_test_setup_teardown(refuses_what_is_no_record, open_place, close_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
