/* SPDX-License-Identifier: MIT */
/* Any bytes as an API server's answer about objects with a caBundle: the first byte chooses the kind, and whether it is
 * a list. What is taken is within its limits, and makes a body that is JSON. */
#include "fuzz.h"

#include "base/json.h"
#include "kube/ca_bundle.h"

#include <stdlib.h>
#include <string.h>

static void read_list(struct cfr_view body)
{
    struct cfr_strings names = {NULL, 0};
    struct cfr_strings versions = {NULL, 0};
    struct cfr_err err = {0};
    char path[CFR_K8S_CA_PATH_MAX];
    char *next = NULL;
    int rc = cfr_k8s_ca_read_list(body, &names, &versions, &next, &err);

    CFR_FUZZ_MUST(rc == 0 || (err.code == rc && err.text[0] != '\0' && next == NULL));
    CFR_FUZZ_MUST(names.count <= CFR_K8S_CA_OBJECTS_MAX && (rc != 0 || versions.count == names.count));
    for (size_t i = 0; i < names.count; i++) {
        if (cfr_k8s_ca_path(CFR_K8S_CA_CONFIG_MAP, false, names.items[i], true, path))
            CFR_FUZZ_MUST(strpbrk(path, " \t\r\n#%") == NULL && strstr(path, "..") == NULL);
        if (cfr_k8s_ca_path(CFR_K8S_CA_CRD, false, names.items[i], true, path))
            CFR_FUZZ_MUST(strpbrk(path, " \t\r\n#%") == NULL && strstr(path, "..") == NULL);
    }
    if (next != NULL && cfr_k8s_ca_list_path(CFR_K8S_CA_CRD, CFR_K8S_CA_PAGE, next, path))
        CFR_FUZZ_MUST(strpbrk(path, " \t\r\n#") == NULL);
    free(next);
    cfr_k8s_ca_free_names(&names);
    cfr_k8s_ca_free_names(&versions);
}

static void read_object(enum cfr_k8s_ca_kind kind, struct cfr_view body)
{
    static const struct cfr_k8s_ca_content content = {{"PEM", 3}, "0a1b"};
    struct cfr_strings only;
    struct cfr_k8s_ca_object o;
    struct cfr_json *doc = NULL;
    struct cfr_secret out;
    struct cfr_err err = {0};
    const char *name = kind == CFR_K8S_CA_TRUST_BUNDLE ? "x.example.com:y:z" : "x.example.com";
    int rc = cfr_k8s_ca_read(kind, name, body, &o, &err);

    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && o.webhooks.count == 0);
        return;
    }
    CFR_FUZZ_MUST(o.uid[0] != '\0' && o.version[0] != '\0' && o.webhooks.count <= CFR_K8S_CA_WEBHOOKS_MAX);
    CFR_FUZZ_MUST(o.applied.count == o.webhooks.count);
    for (only = (struct cfr_strings){o.webhooks.items, 0}; only.count <= o.webhooks.count;
         only.count += o.webhooks.count / 2 + 1) {
        cfr_secret_init(&out, CFR_K8S_CA_BODY_MAX);
        CFR_FUZZ_MUST(cfr_k8s_ca_body(kind, true, name, &o, &only, &content, &out, NULL) == 0);
        CFR_FUZZ_MUST(cfr_json_parse(cfr_secret_view(&out), &doc, NULL) == 0);
        cfr_json_free(doc);
        cfr_secret_free(&out);
    }
    cfr_k8s_ca_object_free(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cfr_json_setup();
    if (size == 0)
        return 0;
    (void)cfr_k8s_ca_is_unknown("x.example.com", (struct cfr_view){(const char *)data + 1, size - 1});
    if (data[0] % 6 == 5)
        read_list((struct cfr_view){(const char *)data + 1, size - 1});
    else
        read_object((enum cfr_k8s_ca_kind)(data[0] % 6), (struct cfr_view){(const char *)data + 1, size - 1});
    return 0;
}
