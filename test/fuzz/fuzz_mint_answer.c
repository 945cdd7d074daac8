/* SPDX-License-Identifier: MIT */
/* An answer about long-lived keys: the first byte chooses the cloud, the operation and the status, the rest
 * is the body. No answer may make an error text of a token, a key without an id, or a new key without its
 * secret. */
#include "refusal.h"

#include "base/json.h"
#include "rotation/azure_private.h"
#include "rotation/gcp_private.h"
#include "rotation/ibm_private.h"
#include "rotation/openstack_private.h"

#define NAME "credfresh-registry-7-0badcafe"

static const struct cfr_rotation_gcp gcp = {.service_account = (char[]){"robot@demo-project.iam.gserviceaccount.com"}};
static const struct cfr_rotation_ibm ibm = {.iam_id = (char[]){"iam-ServiceId-8b7f2a1c-0000-4000-8000-000000000001"},
                                            .account_id = (char[]){"0123456789abcdef0123456789abcdef"}};
static const struct cfr_rotation_openstack openstack = {.lifetime_ms = -1};
static const struct cfr_rotation_azure azure = {.client_id = (char[]){"66666666-7777-8888-9999-aaaaaaaaaaaa"},
                                                .lifetime_ms = -1};

static const struct {
    const struct cfr_rotation_provider *provider;
    const void *config;
    const char *secret; /* the field that holds it */
} clouds[] = {
    {&cfr_rotation_gcp_provider, &gcp, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY},
    {&cfr_rotation_openstack_provider, &openstack, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET},
    {&cfr_rotation_azure_provider, &azure, CFR_FIELD_AZURE_CLIENT_SECRET},
    {&cfr_rotation_ibm_provider, &ibm, CFR_FIELD_IBM_API_KEY},
};

static void set(struct cfr_grant *g, const char *name, const char *value)
{
    CFR_FUZZ_MUST(cfr_grant_set(g, name, cfr_view_of(value), NULL) == 0);
}

static void fill(struct cfr_grant *g)
{
    set(g, CFR_FIELD_GCP_ACCESS_TOKEN, TOKEN);
    set(g, CFR_FIELD_OAUTH_ACCESS_TOKEN, TOKEN);
    set(g, CFR_FIELD_OPENSTACK_TOKEN, TOKEN);
    set(g, CFR_FIELD_OPENSTACK_AUTH_URL, "https://keystone.test/v3");
    set(g, CFR_FIELD_OPENSTACK_USER_ID, "u1");
    set(g, CFR_FIELD_AZURE_SCOPE, "https://graph.microsoft.com/.default");
    set(g, CFR_FIELD_AZURE_ACCESS_TOKEN, TOKEN);
    set(g, CFR_FIELD_AZURE_TENANT_ID, "contoso.com");
}

static void check_key(const struct cfr_rotation_key *key)
{
    CFR_FUZZ_MUST(key->id[0] != '\0' && cfr_view_printable(cfr_view_of(key->id)) && strchr(key->id, ' ') == NULL);
    CFR_FUZZ_MUST(cfr_view_printable(cfr_view_of(key->name)));
}

static void check_good(const struct cfr_rotation_ask *ask, const struct cfr_rotation_answer *out, const char *secret)
{
    CFR_FUZZ_MUST(out->keys.count <= CFR_ROTATION_KEYS_MAX && cfr_view_printable(cfr_view_of(out->next)));
    for (size_t i = 0; i < out->keys.count; i++)
        check_key(&out->keys.key[i]);
    if (ask->op != CFR_ROTATION_CREATE)
        return;
    check_key(&out->made);
    CFR_FUZZ_MUST(cfr_grant_get(&out->grant, secret).n != 0);
    CFR_FUZZ_MUST(out->grant.identity != NULL && cfr_view_printable(cfr_view_of(out->grant.identity)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 201, 204, 400, 401, 403, 404, 503};
    static const enum cfr_rotation_op ops[] = {CFR_ROTATION_LIST, CFR_ROTATION_CREATE, CFR_ROTATION_DEACTIVATE,
                                               CFR_ROTATION_DELETE};
    struct cfr_grant admin = {0};
    struct cfr_rotation_ask ask = {.id = "key-1", .name = NAME, .now_s = 1767323045, .admin = &admin};
    struct cfr_rotation_answer out = {.used_s = 0};
    struct cfr_wire_reply reply = {0};
    struct cfr_err err = {0};
    size_t cloud;
    int rc;

    if (size == 0)
        return 0;
    cfr_json_setup();
    fill(&admin);
    cloud = data[0] & 3U;
    ask.op = ops[data[0] >> 2 & 3];
    reply.status = statuses[data[0] >> 4 & 7];
    reply.body = (struct cfr_view){(const char *)data + 1, size - 1};
    rc = clouds[cloud].provider->parse(clouds[cloud].config, &ask, &reply, &out, &err);
    if (rc == 0)
        check_good(&ask, &out, clouds[cloud].secret);
    else
        check_refusal(rc, &err);
    cfr_rotation_answer_free(&out);
    cfr_grant_free(&admin);
    return 0;
}
