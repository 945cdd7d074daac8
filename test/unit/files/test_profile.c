/* SPDX-License-Identifier: MIT */
/* Merging a profile: every other byte stays, and what SDKs read differently is refused. */
#include "files_scratch.h"

#include "files/profile_private.h"

#include <time.h>

#define KEEP CFR_FILE_KEEP_ID
#define BODY "aws_access_key_id = NEW\naws_secret_access_key = new/secret\n"

static struct cfr_err err;
static struct cfr_secret merged;
static bool changed;

/* The profile's file is looked at before it is read, and again before it is replaced: another program writes just
 * before the second of these. */
static void (*other_program)(void); /* NULL = none */
static int writes_left;
static int looks;

int __real_fstatat(int dir_fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat(int dir_fd, const char *name, struct stat *st, int flags);

int __wrap_fstatat(int dir_fd, const char *name, struct stat *st, int flags)
{
    if (other_program != NULL && strcmp(name, "f") == 0 && ++looks % 2 == 0 && writes_left > 0) {
        writes_left--;
        other_program();
    }
    return __real_fstatat(dir_fd, name, st, flags);
}

static int merge(const char *old, const char *section)
{
    err = (struct cfr_err){0};
    cfr_secret_init(&merged, CFR_PROFILE_FILE_MAX);
    return cfr_profile_merge(cfr_view_of(old), section, cfr_view_of(BODY), &merged, &err);
}

/* What comes of OLD, and that merging the same again is no change. */
static void check(const char *old, const char *section, const char *expected)
{
    struct cfr_secret again;

    assert_int_equal(merge(old, section), 0);
    assert_string_equal(merged.p, expected);
    cfr_secret_init(&again, CFR_PROFILE_FILE_MAX);
    assert_int_equal(cfr_profile_merge(cfr_secret_view(&merged), section, cfr_view_of(BODY), &again, &err), 0);
    assert_string_equal(again.p, expected);
    cfr_secret_free(&again);
    cfr_secret_free(&merged);
}

static void refused(const char *old, const char *section, const char *line)
{
    assert_int_equal(merge(old, section), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, line));
    cfr_secret_free(&merged);
}

static void section_is_appended(void **state)
{
    (void)state;
    check("", "default", "[default]\n" BODY);
    check("[a]\nx = 1\n", "default", "[a]\nx = 1\n\n[default]\n" BODY);
    check("[a]\nx = 1", "default", "[a]\nx = 1\n\n[default]\n" BODY);
    check("[a]\r\nx = 1\r\n", "default", "[a]\r\nx = 1\r\n\r\n[default]\n" BODY);
    check("# only a comment\n", "default", "# only a comment\n\n[default]\n" BODY);
    check("[default]\nx = 1\n", "profile b", "[default]\nx = 1\n\n[profile b]\n" BODY);
    check("[b]\nx = 1\n", "profile b", "[b]\nx = 1\n\n[profile b]\n" BODY);
    check("[defaults]\nx = 1\n", "default", "[defaults]\nx = 1\n\n[default]\n" BODY);
    check("[Default]\nx = 1\n", "default", "[Default]\nx = 1\n\n[default]\n" BODY);
}

static void section_is_replaced(void **state)
{
    (void)state;
    check("[default]\naws_access_key_id = OLD\n", "default", "[default]\n" BODY);
    check("[default]\naws_access_key_id = OLD", "default", "[default]\n" BODY);
    check("[default]", "default", "[default]\n" BODY);
    check("[default]\n", "default", "[default]\n" BODY);
    check("[a]\nx = 1\n[b]\ny = 2\n[c]\nz = 3\n", "a", "[a]\n" BODY "[b]\ny = 2\n[c]\nz = 3\n");
    check("[a]\nx = 1\n[b]\ny = 2\n[c]\nz = 3\n", "b", "[a]\nx = 1\n[b]\n" BODY "[c]\nz = 3\n");
    check("[a]\nx = 1\n[b]\ny = 2\n[c]\nz = 3\n", "c", "[a]\nx = 1\n[b]\ny = 2\n[c]\n" BODY);
    check("[a]\nx = 1\n\n[b]\ny = 2\n  z = 3\n\n  w = 4\n\n\n[c]\n", "b", "[a]\nx = 1\n\n[b]\n" BODY "\n\n[c]\n");
    check("[a]\n[b]\n", "a", "[a]\n" BODY "[b]\n");
    check("[default]  # mine\nx = 1\n", "default", "[default]  # mine\n" BODY);
    check("[profile b]\nregion = x\n", "profile b", "[profile b]\n" BODY);
}

static void comments_stay_where_they_are(void **state)
{
    (void)state;
    check("# top\n[a]\n# about a\nx = 1\n# after a\n\n; before b\n[b]\ny = 2\n", "a",
          "# top\n[a]\n# about a\n" BODY "# after a\n\n; before b\n[b]\ny = 2\n");
    check("[a]\n# nothing yet\n[b]\n", "a", "[a]\n" BODY "# nothing yet\n[b]\n");
    /* Some SDKs take an indented comment for a part of the value above, so it goes with that. */
    check("[a]\nx = 1\n  # more of x\n# stays\n", "a", "[a]\n" BODY "# stays\n");
}

static void other_line_endings_stay(void **state)
{
    (void)state;
    check("[a]\r\nx = 1\r\n\r\n[b]\r\ny = 2\r\n", "a", "[a]\r\n" BODY "\r\n[b]\r\ny = 2\r\n");
    check("[a]\r\nx = 1\r\n[b]\ny = 2\n", "b", "[a]\r\nx = 1\r\n[b]\n" BODY);
}

static void every_legal_name(void **state)
{
    static const char name[] = "profile a/b%c@d:e+f.g-h_1";

    (void)state;
    check("[profile a]\nx = 1\n", name, "[profile a]\nx = 1\n\n[profile a/b%c@d:e+f.g-h_1]\n" BODY);
    check("[profile a/b%c@d:e+f.g-h_1]\nx = 1\n[b]\n", name, "[profile a/b%c@d:e+f.g-h_1]\n" BODY "[b]\n");
    refused("[profile  a/b%c@d:e+f.g-h_1]\n", name, "line 1");
}

static void ambiguous_files_are_refused(void **state)
{
    (void)state;
    refused("[a]\nx = 1\n[b]\n[a]\ny = 1\n", "a", "line 4");
    refused("[a]\n[a]\n", "a", "line 2");
    refused("\n[ a ]\nx = 1\n", "a", "line 2");
    refused("[a ]\nx = 1\n", "a", "line 1");
    refused("[\"a\"]\n", "a", "line 1");
    refused("[profile  b]\n", "profile b", "line 1");
    refused("[profile \"b\"]\n", "profile b", "line 1");
    refused("[profile default]\n", "default", "line 1");
    refused("[b]\nx = 1\n  [a]\ny = 2\n", "a", "line 3");
    refused("[a\nx = 1\n", "a", "line 1");
    refused("[a] # [b]\n", "a", "line 1");
    refused("[a]\nx = 1\n [b]\ny = 2\n", "a", "line 3");
    refused("\xef\xbb\xbf[a]\nx = 1\n", "a", "byte order mark");
    refused("x = 1\r[a]\n", "a", "line 1");
    assert_int_equal(cfr_profile_merge((struct cfr_view){"a\0b", 3}, "a", cfr_view_of(BODY), &merged, &err),
                     CFR_E_CONFLICT);
    /* What is no section of ours may be as it likes. */
    check("[b]\n[b]\n[ c ]\n", "a", "[b]\n[b]\n[ c ]\n\n[a]\n" BODY);
}

static void bad_sections_and_bodies_are_refused(void **state)
{
    static const char *const sections[] = {"", "a]", "a\nb", "DEFAULT", "profile ", "profile default", "a b", " a"};
    static const char *const bodies[] = {"x = 1", "x\n", "[b]\n", " x = 1\n", "# x = 1\n", "x = 1\n\n", "x = \r\n"};

    (void)state;
    cfr_secret_init(&merged, CFR_PROFILE_FILE_MAX);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        assert_int_equal(merge("", sections[i]), CFR_E_CONFIG);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        assert_int_equal(cfr_profile_merge(cfr_view_of(""), "a", cfr_view_of(bodies[i]), &merged, &err),
                         CFR_E_INTERNAL);
    cfr_secret_init(&merged, 10);
    assert_int_equal(cfr_profile_merge(cfr_view_of(""), "a", cfr_view_of(BODY), &merged, &err), CFR_E_LIMIT);
    cfr_secret_free(&merged);
}

static unsigned random_state = 20260102;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 16) % n;
}

/* A file of random lines without a section of ours. Returns its length. */
static size_t random_lines(char *out, size_t size, bool may_be_cut)
{
    static const char *const lines[] = {
        "[b]\n", "[ c ]\n", "[profile d]\r\n", "x = 1\n", "  nested = 2\n", "# comment\n",       "; other\r\n", "\n",
        "\r\n",  "   \n",   "no delimiter\n",  "k: v\n",  "[e] # ]\n",      "\xc3\xa4 = \xff\n", "  [f]\n",     "]\n",
        "=\n"};
    size_t n = 0;

    for (unsigned i = random_below(12); i > 0; i--) {
        const char *line = lines[random_below(sizeof lines / sizeof lines[0])];

        if (n + strlen(line) < size)
            n += (size_t)snprintf(out + n, size - n, "%s", line);
    }
    if (may_be_cut && n > 1 && random_below(4) == 0 && out[n - 2] != '\r')
        n--;
    return n;
}

/* Before our section and from the next heading on, no byte changes. */
static void random_files_keep_every_other_byte(void **state)
{
    static char text[4096];
    unsigned merged_files = 0;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        size_t before = random_lines(text, 1024, false);
        bool has = random_below(3) != 0;
        size_t n = before;
        size_t after;
        int rc;

        if (has)
            n += (size_t)snprintf(text + n, 1024, "[ours]\n%s", random_below(2) != 0 ? "x = 1\ny = 2\n" : "");
        after = n;
        if (has && random_below(4) != 0)
            n += (size_t)snprintf(text + n, 1024, "[next]\n");
        n += has && n == after ? 0 : random_lines(text + n, 1024, true);
        cfr_secret_init(&merged, CFR_PROFILE_FILE_MAX);
        rc = cfr_profile_merge((struct cfr_view){text, n}, "ours", cfr_view_of(BODY), &merged, &err);
        assert_int_equal(rc, 0);
        merged_files++;
        assert_true(merged.len >= before && memcmp(merged.p, text, before) == 0);
        if (has) {
            assert_true(merged.len >= n - after);
            assert_memory_equal(merged.p + merged.len - (n - after), text + after, n - after);
            assert_int_equal(merged.len, before + strlen("[ours]\n" BODY) + (n - after));
        } else {
            assert_memory_equal(merged.p, text, n);
            assert_true(cfr_view_find(cfr_secret_view(&merged), "[ours]\n" BODY) > 0 || n == 0);
        }
        cfr_secret_free(&merged);
    }
    assert_int_equal(merged_files, 20000);
}

static int publish(const char *path, const char *section)
{
    struct cfr_file file = {NULL, cfr_view_of(BODY), 0640, KEEP, KEEP};

    err = (struct cfr_err){0};
    return cfr_profile_publish(path, section, &file, true, NULL, &changed, &err);
}

static void file_is_made_and_merged(void **state)
{
    (void)state;
    assert_int_equal(cfr_profile_verify(in("aws/credentials"), "default", NULL, &err), CFR_E_MISSING);
    assert_int_equal(publish(in("aws/credentials"), "default"), 0);
    assert_true(changed);
    assert_string_equal(get(in("aws/credentials")), "[default]\n" BODY);
    assert_int_equal(mode_of(in("aws/credentials")), 0640);
    assert_int_equal(cfr_profile_verify(in("aws/credentials"), "default", NULL, &err), 0);
    assert_int_equal(cfr_profile_verify(in("aws/credentials"), "other", NULL, &err), CFR_E_MISSING);
    assert_int_equal(publish(in("aws/credentials"), "default"), 0);
    assert_false(changed);
    put(in("aws/credentials"), "[a]\nx = 1\n\n[default]\ny = 2\n");
    assert_int_equal(chmod(in("aws/credentials"), 0604), 0);
    assert_int_equal(publish(in("aws/credentials"), "default"), 0);
    assert_true(changed);
    assert_string_equal(get(in("aws/credentials")), "[a]\nx = 1\n\n[default]\n" BODY);
    assert_int_equal(mode_of(in("aws/credentials")), 0604); /* its own */
    assert_int_equal(count_entries(in("aws"), ""), 2);
}

static mode_t publish_secret(const char *path)
{
    struct cfr_file file = {.content = cfr_view_of(BODY), .mode = 0640, .uid = KEEP, .gid = KEEP};
    mode_t was = 1;

    err = (struct cfr_err){0};
    assert_int_equal(cfr_profile_publish(path, "a", &file, true, &was, &changed, &err), 0);
    return was;
}

/* Another user may have linked a file of ours there, whose mode is none of the profile's. */
static void a_secret_is_not_for_others(void **state)
{
    (void)state;
    put(in("ours"), "[other]\nkey = 1\n");
    assert_int_equal(chmod(in("ours"), 0604), 0);
    assert_int_equal(link(in("ours"), in("f")), 0);
    assert_int_equal(publish_secret(in("f")), 0604);
    assert_true(changed);
    assert_int_equal(mode_of(in("f")), 0600);
    assert_string_equal(get(in("f")), "[other]\nkey = 1\n\n[a]\n" BODY);
    assert_int_equal(mode_of(in("ours")), 0604);
    assert_string_equal(get(in("ours")), "[other]\nkey = 1\n");
    assert_int_equal(chmod(in("f"), 0646), 0); /* also where the section is what it was */
    assert_int_equal(publish_secret(in("f")), 0646);
    assert_false(changed);
    assert_int_equal(mode_of(in("f")), 0640);
    assert_int_equal(publish_secret(in("f")), 0);
    assert_int_equal(chmod(in("f"), 0660), 0); /* a group was given it on purpose */
    assert_int_equal(publish_secret(in("f")), 0);
    assert_int_equal(mode_of(in("f")), 0660);
}

static void refused_file_stays(void **state)
{
    (void)state;
    put(in("f"), "[a]\n[a]\n");
    assert_int_equal(publish(in("f"), "a"), CFR_E_CONFLICT);
    assert_false(changed);
    assert_non_null(strstr(err.text, in("f")));
    assert_non_null(strstr(err.text, "line 2"));
    assert_string_equal(get(in("f")), "[a]\n[a]\n");
    assert_int_equal(symlink("f", in("link")), 0);
    assert_int_equal(publish(in("link"), "b"), CFR_E_PATH);
    assert_int_equal(symlink("victim", in("g.lock")), 0);
    assert_int_equal(publish(in("g"), "b"), CFR_E_PATH);
    assert_false(exists(in("victim")));
    assert_false(exists(in("g")));
    assert_int_equal(truncate(in("f"), CFR_PROFILE_FILE_MAX + 1), 0);
    assert_int_equal(publish(in("f"), "a"), CFR_E_LIMIT);
}

static void held_lock_is_waited_for_then_given_up(void **state)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(in("f.lock"), O_RDWR | O_CREAT, 0600);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    assert_int_equal(publish(in("f"), "a"), CFR_E_TIMEOUT);
    assert_false(exists(in("f")));
    (void)close(fd);
    assert_int_equal(publish(in("f"), "a"), 0);
}

#define OTHERS  "[other]\nkey = 1\n"
#define OTHERS2 "[other]\nkey = 2\n"

static void replaces_it(void)
{
    put(in("new"), OTHERS2);
    assert_int_equal(rename(in("new"), in("f")), 0);
}

static void overwrites_it(void)
{
    struct stat was;
    struct stat now;

    assert_int_equal(stat(in("f"), &was), 0);
    /* The file system's clock has ticks, and within one of them nothing would show. */
    do {
        put(in("tick"), "");
        assert_int_equal(stat(in("tick"), &now), 0);
    } while (now.st_ctim.tv_sec == was.st_ctim.tv_sec && now.st_ctim.tv_nsec == was.st_ctim.tv_nsec);
    put(in("f"), OTHERS2);
}

static void removes_it(void)
{
    assert_int_equal(unlink(in("f")), 0);
}

static void appends_to_it(void)
{
    FILE *f = fopen(in("f"), "ae");

    assert_non_null(f);
    assert_true(fputs("more = 1\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Not every program takes the lock: what one of them writes between our reading and our renaming is not lost. */
static void changes_by_another_program_are_kept(void **state)
{
    static const struct {
        void (*writes)(void);
        const char *before; /* NULL = no file */
        const char *after;
    } cases[] = {
        {replaces_it, OTHERS, OTHERS2 "\n[a]\n" BODY},
        {replaces_it, NULL, OTHERS2 "\n[a]\n" BODY},
        {overwrites_it, OTHERS, OTHERS2 "\n[a]\n" BODY},
        {appends_to_it, OTHERS, OTHERS "more = 1\n\n[a]\n" BODY},
        {removes_it, OTHERS, "[a]\n" BODY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].before != NULL)
            put(in("f"), cases[i].before);
        else
            assert_int_equal(unlink(in("f")), 0);
        other_program = cases[i].writes;
        writes_left = 1;
        looks = 0;
        assert_int_equal(publish(in("f"), "a"), 0);
        other_program = NULL;
        assert_int_equal(writes_left, 0);
        assert_true(changed);
        assert_string_equal(get(in("f")), cases[i].after);
    }
}

static void a_program_that_never_stops_wins(void **state)
{
    (void)state;
    put(in("f"), OTHERS);
    other_program = appends_to_it;
    writes_left = 100;
    looks = 0;
    assert_int_equal(publish(in("f"), "a"), CFR_E_CONFLICT);
    other_program = NULL;
    assert_int_equal(writes_left, 97);
    assert_false(changed);
    assert_non_null(strstr(err.text, "another program keeps changing it without taking f.lock"));
    assert_string_equal(get(in("f")), OTHERS "more = 1\nmore = 1\nmore = 1\n");
    assert_int_equal(count_entries(scratch, ""), 2); /* it and its lock */
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(section_is_appended),
        cmocka_unit_test(section_is_replaced),
        cmocka_unit_test(comments_stay_where_they_are),
        cmocka_unit_test(other_line_endings_stay),
        cmocka_unit_test(every_legal_name),
        cmocka_unit_test(ambiguous_files_are_refused),
        cmocka_unit_test(bad_sections_and_bodies_are_refused),
        cmocka_unit_test(random_files_keep_every_other_byte),
        SCRATCH_TEST(file_is_made_and_merged),
        SCRATCH_TEST(a_secret_is_not_for_others),
        SCRATCH_TEST(refused_file_stays),
        SCRATCH_TEST(changes_by_another_program_are_kept),
        SCRATCH_TEST(a_program_that_never_stops_wins),
        SCRATCH_TEST(held_lock_is_waited_for_then_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
