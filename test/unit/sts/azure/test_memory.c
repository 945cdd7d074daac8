/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through requests, answers and refusals of the Azure provider: each
 * failure is an error that says so, and nothing leaks (the sanitizers watch) or is left half done. Linked
 * with --wrap for the allocators. */
#include "unit.h"

#include "azure_sample.h"
#include "base/json.h"
#include "data_file.h"
#include "heap_fuse.h"

static struct cfr_view answers[3];
static struct cfr_view refusal;
static struct cfr_sts_content contents[2];
static bool certificate;

/* Two tokens and a login to the end, then an answer that refuses. */
static int exchange(struct cfr_err *err)
{
    char *scopes[] = {(char[]){SAMPLE_ARM}, (char[]){"https://vault.azure.net"}};
    char *registries[] = {(char[]){"reg.azurecr.io"}};
    struct cfr_azure c = {.tenant_id = (char[]){SAMPLE_TENANT},
                          .client_id = (char[]){SAMPLE_CLIENT},
                          .scopes = {scopes, certificate ? 1 : 2}, /* signing takes its time */
                          .certificate_file = certificate ? (char[]){"/c"} : NULL,
                          .key_file = certificate ? (char[]){"/k"} : NULL,
                          .send_certificate_chain = certificate,
                          .acr = {registries, 1}};
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = &c};
    struct cfr_sts_input in = sample_input();
    int rc = x.provider->table->check(&c, err);

    in.contents = contents;
    in.content_count = 2;
    if (rc == 0)
        rc = x.provider->check(&c, sample_env, err);
    for (unsigned i = certificate ? 1 : 0; rc == 0 && i < 3; i++) {
        struct cfr_wire_reply reply = {.status = 200, .body = answers[i]};
        struct cfr_wire_request r = {0};

        rc = x.provider->build(&x, &in, &r, err);
        cfr_wire_request_free(&r);
        if (rc == 0)
            rc = x.provider->parse(&x, &in, &reply, err);
        if (rc == CFR_STS_MORE)
            rc = 0;
    }
    if (rc == 0) {
        struct cfr_wire_reply reply = {.status = 401, .body = refusal};
        int refused;

        x.step = 0;
        refused = x.provider->parse(&x, &in, &reply, err);
        rc = refused == CFR_E_IDP ? 0 : refused;
    }
    cfr_sts_exchange_free(&x);
    return rc;
}

/* A refusal that could not be read for lack of memory is judged by its status. */
static bool expected(int rc)
{
    return rc == CFR_E_NOMEM || rc == CFR_E_ANSWER || rc == CFR_E_CONFIG || (certificate && rc == CFR_E_INTERNAL);
}

static void burn(void)
{
    struct cfr_err err = {0};
    long n = 0;
    int rc;

    do {
        err = (struct cfr_err){0};
        fuse = n++;
        rc = exchange(&err);
        if (fuse >= 0 && rc != 0)
            fail_msg("failed without a failing allocation: %s", err.text);
        if (fuse < 0 && (rc != 0 && !expected(rc)))
            fail_msg("allocation %ld: %d %s", n - 1, rc, err.text);
        if (fuse < 0 && rc != 0)
            assert_true(err.code == rc && err.text[0] != '\0');
        assert_true(n < 10000);
    } while (fuse < 0);
    fuse = -1;
    assert_true(n > 20);
}

static void with_a_token(void **state)
{
    (void)state;
    certificate = false;
    burn();
}

static void with_a_certificate(void **state)
{
    (void)state;
    certificate = true;
    burn();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_token),
        cmocka_unit_test(with_a_certificate),
    };
    int failed;

    cfr_json_setup();
    answers[0] = data_file_read("azure/grants/refresh-in.json");
    answers[1] = data_file_read("azure/grants/plain.json");
    answers[2] = data_file_read("azure/grants/acr.json");
    refusal = data_file_read("azure/errors/aadsts700213.json");
    contents[0] = (struct cfr_sts_content){"certificate_file", data_file_read("jwt/chain.pem")};
    contents[1] = (struct cfr_sts_content){"key_file", data_file_read("jwt/rsa.pem")};
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < 3; i++)
        data_file_free(answers[i]);
    data_file_free(refusal);
    data_file_free(contents[0].bytes);
    data_file_free(contents[1].bytes);
    return failed;
}
