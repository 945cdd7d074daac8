/* SPDX-License-Identifier: MIT */
/* Tokens of the GCE metadata shape: whose, with how much life, and never half of one. */
#include "serve/sdk/shape_private.h"

#include "gce_sample.h"

#define TOKEN(name, life) "{\"access_token\":\"ya29." name "\",\"expires_in\":" life ",\"token_type\":\"Bearer\"}"

static void access_tokens(void **state)
{
    static const struct row rows[] = {
        /* The life that is left now, an integer. */
        {GET(ACCOUNTS "default/token", 200, JSON, TOKEN("app", "3298"))},
        {GET(ACCOUNTS APP "/token", 200, JSON, TOKEN("app", "3298"))},
        {GET(ACCOUNTS "default/token?scopes=https://a,https://b", 200, JSON, TOKEN("app", "3298"))},
        {GET(ACCOUNTS "default/token?transport=mtls&binding-enforcement=on&bindCertificateFingerprint=x", 200, JSON,
             TOKEN("app", "3298"))},
        {GET(ACCOUNTS "default/token/", 404, HTML, NULL)},
        {GET(ACCOUNTS "default/token", 200, JSON, TOKEN("endless", "3600")), .config = &bare},
        {GET(ACCOUNTS "far@b.c/token", 200, JSON, TOKEN("far", "2147483647"))},
        /* Entries with one email are one account: by name first, then cloud-platform, else the first. */
        {GET(ACCOUNTS "batch/token", 200, JSON, TOKEN("narrow", "99"))},
        {GET(ACCOUNTS "batch/token?scopes=", 200, JSON, TOKEN("narrow", "99"))},
        {GET(ACCOUNTS BATCH "/token?scopes=" READ_ONLY, 200, JSON, TOKEN("narrow", "99"))},
        {GET(ACCOUNTS "batch/token?scopes=openid,%20" READ_ONLY "%20,", 200, JSON, TOKEN("narrow", "99"))},
        {GET(ACCOUNTS "batch/token?scopes=" CLOUD_PLATFORM, 200, JSON, TOKEN("wide", "199"))},
        {GET(ACCOUNTS "batch/token?scopes=" READ_ONLY "%2Chttps://a/other", 200, JSON, TOKEN("wide", "199"))},
        /* The entry by name has no grant: the wider one that has. */
        {GET(ACCOUNTS "batch/token?scopes=https://a/only-gone", 200, JSON, TOKEN("wide", "199"))},
        {GET(ACCOUNTS "batch/token?scopes=a&scopes=b", 400, HTML, NULL)},
        {GET(ACCOUNTS "batch/token?scopes=%zz", 400, HTML, NULL)},
        /* The narrowest by name, though a wider one comes first. */
        {GET(ACCOUNTS "known@x.y/token?scopes=" READ_ONLY, 200, JSON, TOKEN("narrow", "99")), .config = &waiting},
        {GET(ACCOUNTS "known@x.y/token", 200, JSON, TOKEN("wide", "199")), .config = &waiting},
        /* None is never an empty success. */
        {GET(ACCOUNTS "gone@x.y/token", 503, PLAIN, "credential gone: the exchange was refused: no such pool\n"),
         SENT("Retry-After", "5")},
        {GET(ACCOUNTS "over@x.y/token", 503, PLAIN, NULL), SENT("Retry-After", "1")},
        {GET(ACCOUNTS "nowhere@x.y/token", 503, PLAIN, NULL), SENT("Retry-After", "1")},
        {GET(ACCOUNTS "ids@x.y/token", 404, HTML, NULL)},
        {GET(ACCOUNTS "wrong@x.y/token", 404, PLAIN, "the credential \"app-id\" has no gcp_access_token\n")},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void identity_tokens(void **state)
{
    static const struct row rows[] = {
        {GET(ACCOUNTS "default/identity", 400, HTML, "non-empty audience parameter required")},
        {GET(ACCOUNTS "default/identity?audience=", 400, HTML, "non-empty audience parameter required")},
        {GET(ACCOUNTS "default/identity?audience=a&audience=b", 400, HTML, NULL)},
        /* Node sends the audience as it is. */
        {GET(ACCOUNTS "default/identity?format=full&audience=https://api.example.com/v1?x=1", 200, HTML,
             "eyJh.app.id")},
        {GET(ACCOUNTS
             "default/identity?audience=https%3A%2F%2Fapi.example.com%2Fv1%3Fx%3D1&format=standard&licenses=TRUE",
             200, HTML, "eyJh.app.id")},
        {GET(ACCOUNTS APP "/identity?audience=32555940559.apps.googleusercontent.com", 200, HTML, "eyJh.app.id")},
        {GET(ACCOUNTS "default/identity?audience=https://other", 404, PLAIN,
             "there is no identity token for this audience; there are for: https://api.example.com/v1?x=1, "
             "32555940559.apps.googleusercontent.com, wrong-kind, no-grant\n"
             "Add the audience to `identities` of the account in credfresh's configuration.\n")},
        /* The identities of one account are not another's. */
        {GET(ACCOUNTS "batch/identity?audience=32555940559.apps.googleusercontent.com", 404, PLAIN,
             "this service account has no identity tokens\n"
             "Add the audience to `identities` of the account in credfresh's configuration.\n")},
        {GET(ACCOUNTS "default/identity?audience=wrong-kind", 404, PLAIN,
             "the credential \"app\" has no gcp_id_token\n")},
        {GET(ACCOUNTS "default/identity?audience=no-grant", 503, PLAIN, NULL), SENT("Retry-After", "5")},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* Python asks on with the email that it learnt while there was a grant. */
static void an_email_that_is_not_known_yet(void **state)
{
    static const struct row rows[] = {
        {GET(ACCOUNTS, 200, TEXT, "default/\npool/\nknown@x.y/\n"), .config = &waiting},
        {GET(ACCOUNTS "known@x.y/nothing", 404, HTML, NULL), .config = &waiting},
        {GET(ACCOUNTS "default/email", 200, TEXT, "default"), .config = &waiting},
        {GET(ACCOUNTS "default/token", 503, PLAIN, NULL), .config = &waiting},
        {GET(ACCOUNTS APP "/token", 503, PLAIN, NULL), SENT("Retry-After", "5"), .config = &waiting},
        {GET(ACCOUNTS "app%40b.c/", 503, PLAIN, NULL), SENT("Retry-After", "5"), .config = &waiting},
        {GET(ACCOUNTS "stranger/token", 404, HTML, NULL), .config = &waiting},
        {GET(ACCOUNTS "default/a@b", 404, HTML, NULL), .config = &waiting},
        {GET(V1 "instance/a@b", 404, HTML, NULL), .config = &waiting},
        {GET(ACCOUNTS "batch/email", 200, TEXT, "batch"), .config = &waiting},
        {GET(ACCOUNTS "batch/identity?audience=32555940559.apps.googleusercontent.com", 200, HTML, NULL),
         .config = &waiting},
        /* One without an email for good is what its alias says. */
        {GET(ACCOUNTS "pool/token", 200, JSON, TOKEN("endless", "3600")), .config = &waiting},
        {GET(ACCOUNTS "pool/email", 200, TEXT, "pool"), .config = &waiting},
        /* Nor does the first account get what is another's. */
        {GET(ACCOUNTS "default/identity?audience=32555940559.apps.googleusercontent.com", 404, PLAIN, NULL),
         .config = &waiting},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
static size_t fail_at; /* 1 = the next block is refused, 0 = none */

void *__wrap_malloc(size_t n)
{
    return fail_at != 0 && --fail_at == 0 ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fail_at != 0 && --fail_at == 0 ? NULL : __real_calloc(n, size);
}

/* Whichever block is refused: the whole answer, or a 500. */
static void short_memory_makes_no_half_answer(void **state)
{
    static const char *const targets[] = {"/", ACCOUNTS "default/token", "/computeMetadata/v1/?recursive=true", V1 "x"};
    char whole[4096];
    int status;

    (void)state;
    for (size_t i = 0; i < COUNT(targets); i++) {
        assert_true(ask(&full, "GET", targets[i], FLAVOR));
        status = out.status;
        (void)snprintf(whole, sizeof whole, "%s", out.body.p);
        for (size_t k = 1;; k++) {
            fail_at = k;
            assert_true(ask(&full, "GET", targets[i], FLAVOR));
            if (fail_at != 0)
                break;
            assert_true(out.status == 500 || (out.status == status && cfr_view_is(cfr_secret_view(&out.body), whole)));
            assert_string_equal(sent("Metadata-Flavor"), "Google");
        }
        assert_int_equal(out.status, status);
        fail_at = 0;
    }
    cfr_sdk_endpoint_answer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_tokens),
        cmocka_unit_test(identity_tokens),
        cmocka_unit_test(an_email_that_is_not_known_yet),
        cmocka_unit_test(short_memory_makes_no_half_answer),
    };

    return cmocka_run_group_tests(tests, make_grants, free_grants);
}
