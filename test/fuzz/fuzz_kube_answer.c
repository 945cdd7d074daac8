/* SPDX-License-Identifier: MIT */
/* An answer of an API server: the first byte chooses the request and the status, the rest is the
 * body. No answer may make a token without expiry, or an error text of the token that was sent. */
#include "refusal.h"

#include "base/json.h"
#include "kube/secret_apply.h"
#include "kube/status.h"
#include "kube/token_request.h"
#include "kube/watch_answer.h"

static void token_request(struct cfr_view body)
{
    char *audiences[] = {(char[]){"sts.amazonaws.com"}, (char[]){"vault"}};
    struct cfr_k8s_token_request r = {.namespace_name = "ns-a",
                                      .service_account = "sa-b",
                                      .audiences = audiences,
                                      .audience_count = 1,
                                      .expiration_s = 3600};
    struct cfr_k8s_token_grant g;
    struct cfr_err err = {0};
    int rc = cfr_k8s_token_request_answer(&r, body, &g, &err);

    if (rc == 0)
        CFR_FUZZ_MUST(g.token.len != 0 && g.expires_s > 0 && g.granted_s >= 0 &&
                      cfr_view_printable(cfr_secret_view(&g.token)));
    else
        CFR_FUZZ_MUST(rc == err.code && g.token.p == NULL && g.expires_s == 0 &&
                      cfr_view_is_text(cfr_view_of(err.text)));
    cfr_k8s_token_grant_free(&g);
}

static void refusal(long status, struct cfr_view body)
{
    static const struct cfr_view secret = {TOKEN, sizeof TOKEN - 1};
    struct cfr_k8s_asked asked = {.what = "a token for the service account ns-a/sa-b",
                                  .verb = "create",
                                  .resource = "serviceaccounts/token",
                                  .name = "sa-b",
                                  .namespace_name = "ns-a",
                                  .audience = "sts.amazonaws.com",
                                  .secrets = &secret,
                                  .secret_count = 1};
    struct cfr_err err = {0};
    int64_t retry_after_s = -1;

    check_refusal(cfr_k8s_refusal(status, body, &asked, &retry_after_s, &err), &err);
    CFR_FUZZ_MUST(retry_after_s == -1 || (retry_after_s > 0 && retry_after_s <= 86400));
}

static void secret(bool adopt, bool conflict, struct cfr_view body)
{
    const struct cfr_k8s_secret_key key = {"token", {"FAKE", 4}};
    struct cfr_k8s_secret_object o = {.kind = &cfr_k8s_kind_secret,
                                      .namespace_name = "ns-a",
                                      .name = "cloud-creds",
                                      .type = "Opaque",
                                      .keys = &key,
                                      .key_count = 1,
                                      .credential = "registry",
                                      .run = 1,
                                      .start_s = 1700000000,
                                      .now_s = 1800000000};
    struct cfr_err err = {0};
    int rc;

    if (conflict) {
        rc = cfr_k8s_secret_apply_conflict(&o, body, &err);
        CFR_FUZZ_MUST(rc < 0 && rc != CFR_E_NOMEM);
        CFR_FUZZ_MUST(err.code == rc && cfr_view_is_text(cfr_view_of(err.text)));
        return;
    }
    rc = cfr_k8s_secret_apply_may(&o, body, adopt, &err);
    CFR_FUZZ_MUST(rc == 0 || rc == CFR_E_ANSWER || rc == CFR_E_CONFLICT || rc == CFR_E_UNAVAILABLE);
    CFR_FUZZ_MUST(err.code == rc && cfr_view_is_text(cfr_view_of(err.text)));
}

static void on_seen(void *ctx, struct cfr_view space, struct cfr_view name, const char *version)
{
    (void)ctx;
    (void)space;
    (void)name;
    CFR_FUZZ_MUST(version == NULL || (version[0] != '\0' && strlen(version) < CFR_K8S_VERSION_MAX));
}

static void watch(struct cfr_view body, bool list)
{
    char version[CFR_K8S_VERSION_MAX] = "";
    char next[CFR_K8S_CONTINUE_MAX] = "";
    struct cfr_err err = {0};
    int rc = list ? cfr_k8s_watch_list(body, on_seen, NULL, version, next, &err)
                  : cfr_k8s_watch_event(body, on_seen, NULL, version, &err);

    CFR_FUZZ_MUST(rc == err.code && cfr_view_printable(cfr_view_of(version)) &&
                  cfr_view_is_text(cfr_view_of(err.text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {400, 401, 403, 404, 409, 422, 429, 500};
    struct cfr_view body;

    if (size == 0)
        return 0;
    cfr_json_setup();
    body = (struct cfr_view){(const char *)data + 1, size - 1};
    switch (data[0] & 3) {
    case 0:
        token_request(body);
        break;
    case 1:
        refusal(statuses[data[0] >> 2 & 7], body);
        break;
    case 2:
        secret((data[0] & 4) != 0, false, body);
        break;
    default:
        if ((data[0] & 4) != 0)
            watch(body, (data[0] & 8) != 0);
        else
            secret(false, true, body);
        break;
    }
    return 0;
}
