/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through requests, answers and refusals: each failure is an error
 * that says so, and nothing leaks (the sanitizers watch) or is left half done. Linked with --wrap for the
 * allocators. */
#include "heap_fuse.h"
#include "openstack_sample.h"

static struct cfr_view answers[2];
static struct cfr_view refusal;

/* From the first request of X to the grant, and then a refusal. */
static int exchange(struct cfr_sts_exchange *x, struct cfr_err *err)
{
    struct cfr_sts_input in = sample_input();
    struct cfr_wire_reply reply = {.status = 201, .header = cfr_view_of(SAMPLE_HEADER)};
    int rc = CFR_STS_MORE;

    for (unsigned i = x->config == &sample_federation ? 0 : 1; rc == CFR_STS_MORE; i++) {
        struct cfr_wire_request r = {0};

        rc = x->provider->build(x, &in, &r, err);
        cfr_wire_request_free(&r);
        if (rc != 0)
            return rc;
        reply.body = answers[i];
        rc = x->provider->parse(x, &in, &reply, err);
    }
    if (rc != CFR_STS_DONE)
        return rc;
    reply.status = 404;
    reply.body = refusal;
    rc = x->provider->parse(x, &in, &reply, err);
    return rc == CFR_E_DENIED ? 0 : rc;
}

static void burn(const struct cfr_openstack *config)
{
    long n = 0;
    int rc;

    do {
        struct cfr_sts_exchange x = {.provider = &cfr_openstack_provider, .config = config};
        struct cfr_err err = {0};

        fuse = n++;
        rc = exchange(&x, &err);
        if (fuse >= 0 && rc != 0)
            fail_msg("failed without a failing allocation: %s", err.text);
        if (fuse < 0)
            assert_true(rc == CFR_E_NOMEM && err.code == rc && err.text[0] != '\0');
        cfr_sts_exchange_free(&x);
        assert_true(n < 10000);
    } while (fuse < 0);
    fuse = -1;
    assert_true(n > 10);
}

static void every_allocation(void **state)
{
    (void)state;
    answers[0] = data_file_read("openstack/unscoped.json");
    refusal = data_file_read("openstack/errors/scope-not-found.json");
    answers[1] = data_file_read("openstack/grants/federated.json");
    burn(&sample_federation);
    data_file_free(answers[1]);
    answers[1] = data_file_read("openstack/grants/catalog.json");
    burn(&sample_region);
    data_file_free(answers[1]);
    answers[1] = data_file_read("openstack/grants/password.json");
    burn(&sample_password);
    for (size_t i = 0; i < 2; i++)
        data_file_free(answers[i]);
    data_file_free(refusal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation)};

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
