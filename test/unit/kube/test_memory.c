/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through all readers and writers of objects of the Kubernetes
 * API: each failure is an error that says so, and nothing leaks (the sanitizers watch) or is left half done.
 * Linked with --wrap for the allocators. */
#include "unit.h"

#include "base/json.h"
#include "data_file.h"
#include "heap_fuse.h"
#include "kube/exec_credential.h"
#include "kube/image_credential.h"
#include "kube/secret_apply.h"
#include "kube/shared_state.h"
#include "kube/status.h"
#include "kube/token_request.h"

static struct cfr_view body; /* of the answer that a piece of work reads */

static char audience[] = "sts.amazonaws.com";
static char *audiences[] = {audience};
static const struct cfr_k8s_token_request request = {.namespace_name = "ns-a",
                                                     .service_account = "sa-b",
                                                     .audiences = audiences,
                                                     .audience_count = 1,
                                                     .expiration_s = 3600,
                                                     .bound_kind = "Pod",
                                                     .bound_name = "app-0",
                                                     .bound_uid = "0d6f"};

static int token(struct cfr_err *err)
{
    struct cfr_k8s_token_grant g = {0};
    struct cfr_secret out;
    int rc;

    cfr_secret_init(&out, CFR_K8S_TOKEN_REQUEST_BODY_MAX);
    rc = cfr_k8s_token_request_body(&request, &out, err);
    cfr_secret_free(&out);
    if (rc == 0)
        rc = cfr_k8s_token_request_answer(&request, body, &g, err);
    cfr_k8s_token_grant_free(&g);
    return rc;
}

static int refusal(struct cfr_err *err)
{
    struct cfr_k8s_asked asked = {.what = "it"};
    int64_t retry_after_s = -1;
    int rc = cfr_k8s_refusal(403, body, &asked, &retry_after_s, err);

    return rc == CFR_E_DENIED ? 0 : rc;
}

static const struct cfr_k8s_secret_key key = {".dockerconfigjson", {"{\"auths\":{}}", 12}};
static struct cfr_k8s_secret_object object = {.kind = &cfr_k8s_kind_secret,
                                              .namespace_name = "ns-a",
                                              .name = "cloud-creds",
                                              .type = "kubernetes.io/dockerconfigjson",
                                              .keys = &key,
                                              .key_count = 1,
                                              .credential = "registry",
                                              .generation = 7,
                                              .expires_s = 1767326645};

static int secret(struct cfr_err *err)
{
    struct cfr_secret out;
    int rc = cfr_k8s_secret_apply_check(&object, err);

    cfr_secret_init(&out, CFR_K8S_SECRET_BODY_MAX);
    if (rc == 0)
        rc = cfr_k8s_secret_apply_body(&object, &out, err);
    cfr_secret_free(&out);
    return rc;
}

static int may(struct cfr_err *err)
{
    struct cfr_k8s_secret_object opaque = object;

    opaque.type = "Opaque";
    return cfr_k8s_secret_apply_may(&opaque, body, false, err);
}

static int conflict(struct cfr_err *err)
{
    int rc = cfr_k8s_secret_apply_conflict(&object, body, err);

    return rc == CFR_E_CONFLICT ? 0 : rc;
}

static int exec(struct cfr_err *err)
{
    static const char version[] = "client.authentication.k8s.io/v1";
    struct cfr_k8s_exec_credential c = {0};
    struct cfr_secret out;
    int rc;

    cfr_secret_init(&out, 4096);
    rc = cfr_k8s_exec_credential_info(version, LITERAL("{}"), &out, err);
    cfr_secret_free(&out);
    if (rc == 0)
        rc = cfr_k8s_exec_credential_read(
            version,
            LITERAL("{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{"
                    "\"token\":\"a\",\"clientCertificateData\":\"-----BEGIN C\",\"clientKeyData\":\"-----BEGIN "
                    "K\"}}"),
            &c, err);
    cfr_k8s_exec_credential_free(&c);
    return rc;
}

static int image(struct cfr_err *err)
{
    struct cfr_k8s_image_request r = {0};
    struct cfr_secret out;
    int rc = cfr_k8s_image_request_read(
        LITERAL("{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
                "\"image\":\"a.b/c\"}"),
        &r, err);

    cfr_k8s_image_request_free(&r);
    cfr_secret_init(&out, CFR_K8S_IMAGE_RESPONSE_MAX);
    if (rc == 0)
        rc = cfr_k8s_image_response(
            LITERAL("\"a\":{\"username\":\"u\",\"password\":\"p\"},\"b\":{\"auth\":\"dTpwOnE=\"}"), 60, false, &out,
            err);
    cfr_secret_free(&out);
    return rc;
}

static int shared_state(struct cfr_err *err)
{
    static const struct cfr_k8s_shared_place place = {"n", "s"};
    struct cfr_k8s_shared_state s;
    struct cfr_secret out;
    int rc = cfr_k8s_shared_read(
        &place,
        LITERAL("{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\","
                "\"resourceVersion\":\"1\"},\"data\":{\"journal\":\"e30=\",\"holder\":\"YQ==\",\"pending\":\"cA==\"}}"),
        &s, err);

    cfr_secret_init(&out, CFR_K8S_SHARED_BODY_MAX);
    if (rc == 0)
        rc = cfr_k8s_shared_write(&s, &out, err);
    cfr_secret_free(&out);
    cfr_k8s_shared_free(&s);
    return rc;
}

static void burn(int (*work)(struct cfr_err *), const char *file)
{
    struct cfr_err err = {0};
    long n = 0;
    int rc;

    body = file != NULL ? data_file_read(file) : (struct cfr_view){NULL, 0};
    do {
        err = (struct cfr_err){0};
        fuse = n++;
        rc = work(&err);
        if (fuse >= 0 && rc != 0)
            fail_msg("failed without a failing allocation: %s", err.text);
        if (fuse < 0)
            assert_true(rc == CFR_E_NOMEM && err.code == rc && err.text[0] != '\0');
        assert_true(n < 10000);
    } while (fuse < 0);
    fuse = -1;
    assert_true(n > 3);
    data_file_free(body);
}

static void every_allocation(void **state)
{
    (void)state;
    burn(token, "kube/grants/plain.json");
    burn(refusal, "kube/errors/rbac-token.json");
    burn(secret, NULL);
    burn(may, "kube/secrets/ours.json");
    burn(conflict, "kube/errors/field-managers.json");
    burn(exec, NULL);
    burn(image, NULL);
    burn(shared_state, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
