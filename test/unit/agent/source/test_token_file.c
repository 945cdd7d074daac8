/* SPDX-License-Identifier: MIT */
/* Token files and their cache. */
#include "unit.h"

#include "agent/source/inputs_private.h"
#include "agent/source/token_place_private.h"
#include "base/base64.h"
#include "base/str.h"

#include "files_scratch.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_MS INT64_C(1700000100000)

static char path[PATH_MAX];

static void add_part(struct cfr_str *to, const char *json)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    cfr_secret_init(&out, 4096);
    assert_int_equal(cfr_base64url_encode(cfr_view_of(json), &out, &err), 0);
    cfr_str_add(to, cfr_secret_view(&out));
    cfr_secret_free(&out);
}

static void write_claims(const char *claims, const char *signature)
{
    struct cfr_str s = {.limit = 4096};
    FILE *f;

    add_part(&s, "{\"alg\":\"RS256\",\"kid\":\"k\"}");
    cfr_str_addz(&s, ".");
    add_part(&s, claims);
    cfr_str_addf(&s, ".%s", signature);
    assert_false(s.failed);
    (void)snprintf(path, sizeof path, "%s/token", scratch);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(s.p, f);
    assert_int_equal(fclose(f), 0);
    cfr_str_free(&s);
}

/* A token of account NUMBER with this signature. */
static void write_token(int number, const char *signature)
{
    char claims[256];

    (void)snprintf(claims, sizeof claims,
                   "{\"iss\":\"https://i\",\"sub\":\"account-%d\",\"aud\":[\"a%d\"],\"iat\":1700000000,\"exp\":%d}",
                   number, number, 1700003600 + number);
    write_claims(claims, signature);
}

static int64_t wait_ms; /* as the last read_token set it */

static int read_token_at(const char *audience, struct cfr_source_time now, struct cfr_source_token_file *out,
                         struct cfr_err *err)
{
    struct cfr_config_token config = {.file = path};
    union {
        const char *in;
        char *out;
    } text = {audience};

    config.audience = text.out;
    wait_ms = 0;
    *err = (struct cfr_err){0};
    return cfr_source_token_file_read(&config, NULL, &now, out, &wait_ms, err);
}

static int read_token(const char *audience, int64_t now_ms, struct cfr_source_token_file *out, struct cfr_err *err)
{
    return read_token_at(audience, (struct cfr_source_time){now_ms, now_ms}, out, err);
}

/* More than are remembered, twice, so that what was forgotten is learnt again. */
static void each_token_keeps_its_own_claims(void **state)
{
    struct cfr_source_token_file t;
    struct cfr_err err;
    uint64_t marks[20];
    char words[32];

    (void)state;
    for (int i = 0; i < 40; i++) {
        write_token(i % 20, "c2ln");
        (void)snprintf(words, sizeof words, "a%d", i % 20);
        assert_int_equal(read_token(words, NOW_MS, &t, &err), 0);
        (void)snprintf(words, sizeof words, "account-%d", i % 20);
        assert_string_equal(t.subject, words);
        assert_int_equal(t.expires_s, 1700003600 + i % 20);
        if (i >= 20)
            assert_true(t.mark == marks[i - 20]);
        else
            marks[i] = t.mark;
        assert_true(i == 0 || t.mark != marks[(i + 19) % 20]);
        cfr_source_token_file_free(&t);
    }
    cfr_source_token_file_forget();
}

static void what_is_remembered_is_judged_anew(void **state)
{
    struct cfr_source_token_file t;
    struct cfr_err err;
    uint64_t mark;

    (void)state;
    write_token(1, "c2ln");
    assert_int_equal(read_token("a1", NOW_MS, &t, &err), 0);
    mark = t.mark;
    cfr_source_token_file_free(&t);
    assert_int_equal(read_token("a2", NOW_MS, &t, &err), CFR_E_TOKEN);
    assert_contains(err.text, "for the audience \"a1\", not \"a2\"");
    assert_int_equal(read_token("a1", INT64_C(1700003602000), &t, &err), CFR_E_TOKEN_EXPIRED);
    assert_int_equal(t.issued_s, 1700000000);
    cfr_source_token_file_free(&t);
    /* Only the signature differs: the claims are what was known, the bytes are the file's. */
    write_token(1, "b3RoZXI");
    assert_int_equal(read_token("a1", NOW_MS, &t, &err), 0);
    assert_true(t.mark != mark);
    assert_contains(t.token.p, ".b3RoZXI");
    cfr_source_token_file_free(&t);
    write_token(1, "c2ln");
    assert_int_equal(read_token("a1", NOW_MS, &t, &err), 0);
    assert_true(t.mark == mark);
    cfr_source_token_file_free(&t);
    cfr_source_token_file_forget();
}

/* A file that is read half written can end anywhere, and its header and claims may be known from the whole token. */
static void the_signature_of_a_known_token_is_checked(void **state)
{
    static const struct {
        const char *signature;
        const char *words;
    } cases[] = {
        {"", "has no signature (is the file only half written?)"},
        {"c2ln.c2ln", "it has more than three parts"},
        {"c2\001ln", "its signature is not base64url"},
    };
    struct cfr_source_token_file t;
    struct cfr_err err;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        write_token(1, "c2ln");
        if (i % 2 == 1) {
            assert_int_equal(read_token("a1", NOW_MS, &t, &err), 0);
            cfr_source_token_file_free(&t);
        }
        write_token(1, cases[i / 2].signature);
        assert_int_equal(read_token("a1", NOW_MS, &t, &err), CFR_E_TOKEN);
        assert_contains(err.text, cases[i / 2].words);
        cfr_source_token_file_free(&t);
        cfr_source_token_file_forget();
    }
}

/* Whichever of `nbf` and `iat` is later, plus 5 s for clocks that differ. */
static void a_token_is_not_used_before_it_is_valid(void **state)
{
    static const char *const claims[] = {
        "{\"iss\":\"https://i\",\"sub\":\"s\",\"iat\":1700000000,\"nbf\":1700000200,\"exp\":1700003600}",
        "{\"iss\":\"https://i\",\"sub\":\"s\",\"iat\":1700000200,\"nbf\":1700000000,\"exp\":1700003600}",
    };
    struct cfr_source_token_file t;
    struct cfr_err err;

    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        write_claims(claims[i], "c2ln");
        assert_int_equal(read_token(NULL, INT64_C(1700000194999), &t, &err), CFR_E_TOKEN);
        assert_contains(err.text, "is not valid before 2023-11-14T22:16:40Z");
        assert_int_equal(wait_ms, 5001);
        cfr_source_token_file_free(&t);
        assert_int_equal(read_token(NULL, INT64_C(1700000195000), &t, &err), 0);
        cfr_source_token_file_free(&t);
        /* One of the clocks may be behind. */
        assert_int_equal(read_token_at(NULL, (struct cfr_source_time){0, INT64_C(1700000195000)}, &t, &err), 0);
        cfr_source_token_file_free(&t);
    }
    cfr_source_token_file_forget();
}

/* An expired one is tried until both clocks agree on it. */
static void a_token_is_refused_only_if_it_has_certainly_expired(void **state)
{
    const int64_t late_ms = INT64_C(1700003601000);
    struct cfr_source_token_file t;
    struct cfr_err err;

    (void)state;
    write_token(1, "c2ln");
    assert_int_equal(read_token_at("a1", (struct cfr_source_time){INT64_MIN, INT64_MAX}, &t, &err), 0);
    cfr_source_token_file_free(&t);
    assert_int_equal(read_token_at("a1", (struct cfr_source_time){late_ms - 1, late_ms + 86400000}, &t, &err), 0);
    cfr_source_token_file_free(&t);
    assert_int_equal(read_token_at("a1", (struct cfr_source_time){late_ms, late_ms}, &t, &err), CFR_E_TOKEN_EXPIRED);
    cfr_source_token_file_free(&t);
    cfr_source_token_file_forget();
}

/* ---- token files that a Secret names ---- */

static int read_foreign(const char *directory, const char *file, struct cfr_err *err)
{
    char text[PATH_MAX];
    struct cfr_config_token config = {.file = text};
    struct cfr_source_token_file t;
    int64_t ignored;
    int rc;

    (void)snprintf(text, sizeof text, "%s", file);
    *err = (struct cfr_err){0};
    rc = cfr_source_token_file_read(&config, directory, &(struct cfr_source_time){NOW_MS, NOW_MS}, &t, &ignored, err);
    cfr_source_token_file_free(&t);
    return rc;
}

static const char *below(const char *name)
{
    static char text[PATH_MAX];

    (void)snprintf(text, sizeof text, "%s/%s", scratch, name);
    return text;
}

static void make_link(const char *target, const char *name)
{
    assert_int_equal(symlink(target, below(name)), 0);
}

static void make_dir(const char *name)
{
    assert_int_equal(mkdir(below(name), 0755), 0);
}

static void a_secrets_token_lies_below_the_directory(void **state)
{
    static const char *const outside[] = {"/etc/passwd", "/", "/proc/self/environ", "relative"};
    char directory[PATH_MAX];
    struct cfr_err err;

    (void)state;
    write_token(1, "c2ln");
    (void)snprintf(directory, sizeof directory, "%s/tokens", scratch);
    make_dir("tokens");
    make_dir("tokens/deeper");
    make_dir("tokens-of-another");
    assert_int_equal(rename(path, below("tokens/token")), 0);
    assert_int_equal(read_foreign(directory, below("tokens/token"), &err), 0);
    assert_int_equal(read_foreign(below("tokens/"), directory, &err), CFR_E_CONFIG);
    assert_int_equal(read_foreign(directory, below("tokens/deeper"), &err), CFR_E_PATH);
    assert_int_equal(read_foreign(directory, below("tokens/token/"), &err), 0);
    assert_int_equal(read_foreign(directory, below("tokens/token/more"), &err), CFR_E_PATH);
    assert_int_equal(read_foreign(directory, below("tokens/deeper/later"), &err), CFR_E_MISSING);
    assert_contains(err.text, "waiting for the token file");
    assert_int_equal(read_foreign("/", below("tokens/token"), &err), 0);
    assert_int_equal(read_foreign("", below("tokens/token"), &err), CFR_E_CONFIG);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_int_equal(read_foreign(directory, outside[i], &err), CFR_E_CONFIG);
        assert_contains(err.text, "set `token_directory` of `secret`");
    }
    assert_int_equal(read_foreign(directory, below("tokens-of-another/token"), &err), CFR_E_CONFIG);
    assert_int_equal(read_foreign(directory, below("tokens/../tokens/token"), &err), CFR_E_CONFIG);
    assert_int_equal(cfr_source_token_place_check("/var/run/secrets/x", "/run/secrets/x/token", &err), 0);
    assert_int_equal(cfr_source_token_place_check("/run/secrets/x", "/var/run/secrets/x/token", &err), 0);
    assert_int_equal(cfr_source_token_place_check("/var/run", "/run/token", &err), 0);
    assert_int_equal(cfr_source_token_place_check("/var/runs", "/runs/token", &err), CFR_E_CONFIG);
    cfr_source_token_file_forget();
}

static void links_do_not_lead_a_secrets_token_out(void **state)
{
    char directory[PATH_MAX];
    char away[PATH_MAX];
    char name[32];
    struct cfr_err err;

    (void)state;
    write_token(1, "c2ln");
    (void)snprintf(away, sizeof away, "%s", path);
    (void)snprintf(directory, sizeof directory, "%s/tokens", scratch);
    make_dir("tokens");
    make_dir("tokens/..2026");
    assert_int_equal(link(path, below("tokens/..2026/token")), 0);
    /* The kubelet's. */
    make_link("..2026", "tokens/..data");
    make_link("..data/token", "tokens/token");
    assert_int_equal(read_foreign(directory, below("tokens/token"), &err), 0);
    /* Planted ones. */
    make_link(away, "tokens/absolute");
    make_link("../token", "tokens/upward");
    make_link("..2026/../../token", "tokens/around");
    make_link(scratch, "tokens/directory");
    make_link("/proc/self/root", "tokens/magic");
    assert_int_equal(read_foreign(directory, below("tokens/absolute"), &err), CFR_E_CONFIG);
    assert_contains(err.text, "out of that directory");
    assert_int_equal(read_foreign(directory, below("tokens/upward"), &err), CFR_E_CONFIG);
    assert_int_equal(read_foreign(directory, below("tokens/around"), &err), CFR_E_CONFIG);
    assert_int_equal(read_foreign(directory, below("tokens/directory/token"), &err), CFR_E_CONFIG);
    assert_int_equal(read_foreign(directory, below("tokens/magic/etc/passwd"), &err), CFR_E_CONFIG);
    make_link("loop", "tokens/loop");
    assert_int_equal(read_foreign(directory, below("tokens/loop"), &err), CFR_E_PATH);
    for (int i = 0; i < 9; i++) {
        char next[32];

        (void)snprintf(name, sizeof name, "tokens/chain%d", i);
        (void)snprintf(next, sizeof next, i == 0 ? "token" : "chain%d", i - 1);
        make_link(next, name);
    }
    assert_int_equal(read_foreign(directory, below("tokens/chain5"), &err), 0);
    assert_int_equal(read_foreign(directory, below("tokens/chain8"), &err), CFR_E_PATH);
    assert_int_equal(mkfifo(below("tokens/fifo"), 0600), 0);
    assert_int_equal(read_foreign(directory, below("tokens/fifo"), &err), CFR_E_PATH);
    cfr_source_token_file_forget();
}

/* The configuration may name such a token, a Secret may not. */
static void a_secret_names_no_token_of_the_api_server(void **state)
{
    struct cfr_source_token_file t;
    struct cfr_err err;

    (void)state;
    write_claims("{\"iss\":\"https://i\",\"sub\":\"system:serviceaccount:kube-system:cluster-admin\",\"aud\":"
                 "[\"https://i\"],\"iat\":1700000000,\"exp\":1700003600}",
                 "c2ln");
    assert_int_equal(read_token(NULL, NOW_MS, &t, &err), 0);
    cfr_source_token_file_free(&t);
    assert_int_equal(read_foreign(scratch, path, &err), CFR_E_TOKEN);
    assert_contains(err.text, "is for the Kubernetes API server (audience \"https://i\")");
    write_token(1, "c2ln");
    assert_int_equal(read_foreign(scratch, path, &err), 0);
    cfr_source_token_file_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_token_keeps_its_own_claims, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(what_is_remembered_is_judged_anew, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(the_signature_of_a_known_token_is_checked, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(a_token_is_not_used_before_it_is_valid, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(a_token_is_refused_only_if_it_has_certainly_expired, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(a_secrets_token_lies_below_the_directory, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(links_do_not_lead_a_secrets_token_out, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(a_secret_names_no_token_of_the_api_server, scratch_make, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
