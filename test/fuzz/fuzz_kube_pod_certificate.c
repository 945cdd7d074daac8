/* SPDX-License-Identifier: MIT */
/* Any bytes as an API server's answer about a PodCertificateRequest. What is taken has names that can be in a path,
 * gets only names of its own, and makes a body that is JSON. */
#include "fuzz.h"

#include "base/json.h"
#include "kube/pod_policy.h"

#include <stdlib.h>
#include <string.h>

static void name_pod(const struct cfr_k8s_pod_cert *r)
{
    static const char *const items[] = {"spiffe", "{pod}.web.shop.svc"};
    struct cfr_k8s_pod_allow allow = {.namespace_name = (char *)(uintptr_t) "*",
                                      .service_account = (char *)(uintptr_t) "*",
                                      .names = {(char **)(void *)(uintptr_t)items, 2}};
    struct cfr_k8s_pod_policy policy = {.trust_domain = (char *)(uintptr_t) "example.com", .allow = {&allow, 1}};
    struct cfr_k8s_pod_names names;
    struct cfr_err err = {0};
    int rc = cfr_k8s_pod_policy_names(&policy, r, &names, &err);

    if (rc != 0) {
        CFR_FUZZ_MUST(rc == CFR_E_REJECTED && names.dns.count == 0 && names.uris.count == 0);
        return;
    }
    CFR_FUZZ_MUST(names.uris.count == 1 && strncmp(names.uris.items[0], "spiffe://example.com/ns/shop/sa/", 32) == 0);
    CFR_FUZZ_MUST(strpbrk(names.uris.items[0] + 32, "/ #?%") == NULL);
    CFR_FUZZ_MUST(names.dns.count == 1 &&
                  strstr(names.dns.items[0], ".web.shop.svc") == strchr(names.dns.items[0], '.'));
    cfr_k8s_pod_names_free(&names);
}

static void read_request(struct cfr_view body)
{
    struct cfr_k8s_pod_cert_result result = {.denied = "NotAllowed", .message = "no"};
    struct cfr_k8s_pod_cert r;
    struct cfr_json *doc = NULL;
    struct cfr_secret out;
    struct cfr_err err = {0};
    char path[CFR_K8S_POD_CERT_PATH_MAX];
    int rc = cfr_k8s_pod_cert_read(body, "example.com/service", "shop", "r-1", &r, &err);

    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && r.request.len == 0);
        return;
    }
    CFR_FUZZ_MUST(cfr_k8s_pod_cert_path(false, r.namespace_name, r.name, true, path));
    name_pod(&r);
    cfr_secret_init(&out, CFR_K8S_POD_CERT_BODY_MAX);
    CFR_FUZZ_MUST(cfr_k8s_pod_cert_body(false, &r, &result, 1790000000, &out, NULL) == 0);
    CFR_FUZZ_MUST(cfr_json_parse(cfr_secret_view(&out), &doc, NULL) == 0);
    cfr_json_free(doc);
    cfr_secret_free(&out);
    cfr_k8s_pod_cert_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cfr_json_setup();
    read_request((struct cfr_view){(const char *)data, size});
    return 0;
}
