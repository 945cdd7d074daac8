/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through whole exchanges with Google: each failure is an error that
 * says so, and nothing leaks (the sanitizers watch) or is left half done. Linked with --wrap for the
 * allocators. */
#include "gcp_sample.h"

#include "base/json.h"
#include "heap_fuse.h"

static struct cfr_view answers[3];
static size_t answer_count;

static int exchange(struct gcp_sample *s, struct cfr_err *err)
{
    int rc = s->x.provider->local(&s->x, &s->in, err);

    for (size_t i = 0; rc == CFR_STS_MORE && i < answer_count; i++) {
        struct cfr_wire_reply reply = {.status = 200, .body = answers[i]};
        struct cfr_wire_request r = {0};

        rc = s->x.provider->build(&s->x, &s->in, &r, err);
        cfr_wire_request_free(&r);
        if (rc == 0)
            rc = s->x.provider->parse(&s->x, &s->in, &reply, err);
    }
    return rc;
}

static int refused(struct gcp_sample *s, struct cfr_err *err)
{
    struct cfr_wire_reply reply = {.status = 400, .body = answers[0]};
    int rc = s->x.provider->parse(&s->x, &s->in, &reply, err);

    return rc == CFR_E_DENIED ? CFR_STS_DONE : rc;
}

static int told(struct gcp_sample *s, struct cfr_err *err)
{
    struct cfr_gcp_sdk sdk;
    int rc = cfr_gcp_sdk_make(&s->config, &s->in, &sdk, err);

    cfr_gcp_sdk_free(&sdk);
    return rc;
}

static void burn(int (*work)(struct gcp_sample *, struct cfr_err *), const char *const *settings,
                 const char *const *files)
{
    long n = 0;
    bool failed;

    for (answer_count = 0; files[answer_count] != NULL; answer_count++)
        answers[answer_count] = data_file_read(files[answer_count]);
    do {
        struct cfr_err err = {0};
        struct gcp_sample s;
        int rc;

        gcp_sample(&s, settings);
        fuse = n++;
        rc = work(&s, &err);
        failed = fuse < 0;
        fuse = -1;
        if (!failed && rc != CFR_STS_DONE)
            fail_msg("failed without a failing allocation: %d %s", rc, err.text);
        if (failed && (rc != CFR_E_NOMEM && rc != CFR_E_ANSWER))
            fail_msg("allocation %ld: %d %s", n, rc, err.text);
        assert_true(!failed || (err.code == rc && err.text[0] != '\0'));
        gcp_sample_free(&s);
        assert_true(n < 10000);
    } while (failed);
    assert_true(n > 10);
    for (size_t i = 0; i < answer_count; i++)
        data_file_free(answers[i]);
}

static void federation(void **state)
{
    (void)state;
    burn(exchange,
         LIST("audience", WORKFORCE, "client_id", "a", "client_secret_file", DATA "gcp/files/secret.txt",
              "service_account", ACCOUNT, "id_token_audience", "x", "artifact_registry", "gcr.io", "delegates",
              ACCOUNT),
         LIST("gcp/grants/federated.json", "gcp/grants/iam-id.json", "gcp/grants/iam-plain.json"));
}

static void certificates(void **state)
{
    (void)state;
    burn(exchange,
         LIST("credentials_file", DATA "gcp/files/external-certificate.json", "certificate_file", DATA "jwt/chain.pem",
              "key_file", DATA "jwt/rsa.pem"),
         LIST("gcp/grants/federated.json"));
}

static void keys(void **state)
{
    (void)state;
    burn(exchange, LIST("credentials_file", DATA "gcp/files/key.json", "id_token_audience", "x"),
         LIST("gcp/grants/key-id.json", "gcp/grants/key.json"));
    burn(exchange, LIST("credentials_file", DATA "gcp/files/key.json", "self_signed", "true", "scopes", "openid email"),
         LIST(NULL));
}

static void refusals(void **state)
{
    (void)state;
    burn(refused, LIST("credentials_file", DATA "gcp/files/external-impersonated.json"),
         LIST("gcp/errors/target.json"));
}

static void what_an_sdk_is_told(void **state)
{
    (void)state;
    burn(told, LIST("credentials_file", DATA "gcp/files/external-client.json", "service_account", ACCOUNT), LIST(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(federation), cmocka_unit_test(certificates),        cmocka_unit_test(keys),
        cmocka_unit_test(refusals),   cmocka_unit_test(what_an_sdk_is_told),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
