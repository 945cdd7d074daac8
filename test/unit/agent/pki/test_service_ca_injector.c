/* SPDX-License-Identifier: MIT */
/* The injector of the CA bundle when memory is short. What it does to objects is in test/integ/test_ca_inject.py. */
#include "files_scratch.h"
#include "heap_fuse.h"
#include "unit.h"

#include "agent/config/schema.h"
#include "agent/pki/service_ca_injector_private.h"
#include "agent/pki/service_ca_private.h"
#include "base/json.h"
#include "kube/ca_bundle.h"

static struct cfr_service_ca_injector *open_injector(const struct cfr_config *config, struct cfr_kube *kube)
{
    struct cfr_service_ca_injector *i = NULL;

    assert_int_equal(cfr_service_ca_injector_configure(&i, config, kube, NULL), 0);
    return i;
}

/* Whichever allocation of the first step fails, the object is asked for then or at the next step. */
static void a_failed_allocation_is_made_up_for(void **state)
{
    struct cfr_config_ca_inject inject = {.kind = CFR_K8S_CA_API_SERVICE,
                                          .name = (char *)(uintptr_t) "v1.example.com",
                                          .kubeconfig = (char *)(uintptr_t) "/nonexistent/kubeconfig"};
    struct cfr_config_service_ca rules = {.store = strdup(in("store")),
                                          .subject = (char *)(uintptr_t) "test CA",
                                          .validity_ms = 790 * CFR_DAY_MS,
                                          .rotate_below_ms = 395 * CFR_DAY_MS,
                                          .generations = 3,
                                          .inject = {&inject, 1}};
    struct cfr_config config = {.service_ca = &rules};
    struct cfr_now now = cfr_clock_now();
    struct cfr_service_ca *ca = NULL;
    struct cfr_kube *kube = NULL;
    int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool failed = true;

    (void)state;
    assert_int_equal(cfr_kube_open(NULL, &kube, NULL), 0);
    assert_int_equal(cfr_service_ca_configure(&ca, &config, fd, NULL), 0);
    (void)cfr_service_ca_step(ca, now);
    for (long n = 0; failed; n++) {
        struct cfr_service_ca_injector *i = open_injector(&config, kube);
        struct cfr_api_status_authority out = {.number = 1};

        fuse = n;
        cfr_service_ca_injector_step(i, ca, now);
        failed = fuse < 0;
        fuse = -1;
        cfr_service_ca_injector_step(i, ca, now);
        cfr_service_ca_injector_status(i, &out);
        if (out.injected_count != 1 || out.injected[0].runs_failed == 0)
            fail_msg("allocation %ld: the object was not asked for", n);
        cfr_service_ca_injector_close(i);
        assert_true(n < 1000);
    }
    cfr_service_ca_close(ca);
    cfr_kube_close(kube);
    (void)close(fd);
    free(rules.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failed_allocation_is_made_up_for, scratch_make, scratch_remove),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
