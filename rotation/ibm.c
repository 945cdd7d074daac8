/* SPDX-License-Identifier: MIT */
/* Requests for IBM Cloud API keys, and how a new one is tried. */
#include "rotation/ibm_private.h"

#include "rotation/provider_private.h"
#include "rotation/rest_private.h"
#include "wire/form.h"

#include <string.h>

#define ID_MAX   128
#define ENDPOINT "https://iam.cloud.ibm.com"
#define GRANT    "urn:ibm:params:oauth:grant-type:apikey"

#define FIELD(member, kind)                                                                                            \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_rotation_ibm, member)
static const struct cfr_field fields[] = {
    {FIELD(iam_id, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = ID_MAX,
     .doc = CFR_DOC("IAM ID of the keys: that of a service ID, `iam-ServiceId-UUID`. The keys of a user, "
                    "`IBMid-NUMBER`, can only be managed with that user's own token.")},
    {FIELD(account_id, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = ID_MAX,
     .doc = CFR_DOC("ID of the account that the identity belongs to, 32 hexadecimal digits.")},
    {FIELD(endpoint, STRING), .min = 8, .max = CFR_ROTATION_URL_MAX,
     .doc = CFR_DOC("URL of IAM, such as https://private.iam.cloud.ibm.com. Default: " ENDPOINT ".")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust instead of the system's.")},
    {.key = NULL},
};

/* ---- rules ---- */

static bool is_id(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@")] == '\0';
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_ibm *c = node;

    if (c->iam_id != NULL && (!is_id(c->iam_id) || strncmp(c->iam_id, "ServiceId-", strlen("ServiceId-")) == 0))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "iam_id: must be an IAM ID, such as iam-ServiceId-00000000-0000-0000-0000-000000000000");
    if (c->account_id != NULL && !is_id(c->account_id))
        return cfr_err_set(err, CFR_E_CONFIG, "account_id: must be an account's ID, 32 hexadecimal digits");
    return cfr_rotation_rest_check_url("endpoint", c->endpoint, err);
}

const struct cfr_table cfr_rotation_ibm_table = {
    .name = "IBM Cloud API keys",
    .size = sizeof(struct cfr_rotation_ibm),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("API keys of an IBM Cloud identity. `with` is an exchange with `oauth` at IBM Cloud's IAM, whose "
                   "identity may manage the API keys of `iam_id`. After a key is deleted, access tokens obtained with "
                   "it are valid until they expire, for up to an hour."),
};

/* ---- requests ---- */

static void put_url(const struct cfr_rotation_ibm *c, const struct cfr_rotation_ask *ask, const char *page,
                    struct cfr_str *url)
{
    cfr_rotation_rest_base(url, c->endpoint != NULL ? c->endpoint : ENDPOINT);
    if (ask->op == CFR_ROTATION_VERIFY) {
        cfr_str_addz(url, "/identity/token");
        return;
    }
    cfr_str_addz(url, "/v1/apikeys");
    if (ask->op == CFR_ROTATION_LIST) {
        cfr_str_addz(url, "?account_id=");
        cfr_rotation_rest_part(url, c->account_id);
        cfr_str_addz(url, "&iam_id=");
        cfr_rotation_rest_part(url, c->iam_id);
        cfr_str_addz(url, "&pagesize=100&sort=created_at");
        if (page[0] != '\0')
            cfr_str_addf(url, "&pagetoken=%s", page);
    }
    if (ask->op == CFR_ROTATION_DELETE || ask->op == CFR_ROTATION_DEACTIVATE) {
        cfr_str_addz(url, "/");
        cfr_rotation_rest_part(url, ask->id);
    }
    if (ask->op == CFR_ROTATION_DEACTIVATE)
        cfr_str_addz(url, "/disable");
}

/* IBM Cloud is not to keep the value. */
static int put_key(const struct cfr_rotation_ibm *c, const struct cfr_rotation_ask *ask, struct cfr_wire_request *out,
                   struct cfr_err *err)
{
    struct cfr_writer w = cfr_rotation_rest_body(out, err);

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "name", cfr_view_of(ask->name));
    cfr_writer_string(&w, "description", cfr_view_of("Rotated by credfresh"));
    cfr_writer_string(&w, "iam_id", cfr_view_of(c->iam_id));
    cfr_writer_string(&w, "account_id", cfr_view_of(c->account_id));
    cfr_writer_bool(&w, "store_value", false);
    cfr_writer_close(&w);
    return w.rc;
}

static int put_login(const struct cfr_rotation_ask *ask, struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_view key = cfr_grant_get(ask->fresh, CFR_FIELD_IBM_API_KEY);
    int rc;

    if (key.n == 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no API key to try");
    cfr_secret_init(&out->body, CFR_ROTATION_BODY_MAX);
    rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(CFR_FORM_TYPE), err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Accept", cfr_view_of("application/json"), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "grant_type", cfr_view_of(GRANT), err);
    return rc == 0 ? cfr_form_add(&out->body, "apikey", key, err) : rc;
}

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    static const char *const methods[] = {
        [CFR_ROTATION_LIST] = "GET",        [CFR_ROTATION_CREATE] = "POST",   [CFR_ROTATION_VERIFY] = "POST",
        [CFR_ROTATION_DEACTIVATE] = "POST", [CFR_ROTATION_DELETE] = "DELETE",
    };
    const struct cfr_rotation_ibm *c = config;
    struct cfr_str url = {.limit = CFR_ROTATION_URL_MAX + CFR_ROTATION_NEXT_MAX + 1024};
    int rc;

    if (ask->op == CFR_ROTATION_LAST_USED)
        return cfr_err_set(err, CFR_E_INTERNAL, "API keys of IBM Cloud have no such operation");
    put_url(c, ask, page, &url);
    out->ca_file = c->ca_file;
    out->method = methods[ask->op];
    rc = cfr_wire_request_url(out, &url, err);
    if (rc == 0 && ask->op == CFR_ROTATION_VERIFY)
        return put_login(ask, out, err);
    if (rc == 0)
        rc = cfr_rotation_rest_token(
            out, "Authorization", "Bearer ", cfr_rotation_admin_field(ask->admin, CFR_FIELD_OAUTH_ACCESS_TOKEN),
            "`with` has no access token of IBM Cloud: it must be an exchange with `oauth`", err);
    return rc == 0 && ask->op == CFR_ROTATION_CREATE ? put_key(c, ask, out, err) : rc;
}

static const char *subject(const void *config)
{
    return ((const struct cfr_rotation_ibm *)config)->iam_id;
}

static const char *const grants[] = {CFR_FIELD_IBM_API_KEY, CFR_FIELD_IBM_API_KEY_ID, CFR_FIELD_IBM_IAM_ID,
                                     CFR_FIELD_IBM_ACCOUNT_ID, NULL};

const struct cfr_rotation_provider cfr_rotation_ibm_provider = {
    .grants = grants,
    .name = "ibm",
    .table = &cfr_rotation_ibm_table,
    .doc = CFR_DOC("API keys of an IBM Cloud identity, such as a service ID."),
    .names = true,
    .deactivates = true,
    .verify_count = 3,
    .verify_wait_s = 10,
    .subject = subject,
    .build = build,
    .parse = cfr_rotation_ibm_parse,
    .recognize = cfr_rotation_ibm_recognize,
};
