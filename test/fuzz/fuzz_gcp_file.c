/* SPDX-License-Identifier: MIT */
/* A credential file of Google's, read and used for the first request. What is taken must be fit for a URL, a
 * header or a form, and every objection can be shown. */
#include "fuzz.h"

#include "base/json.h"
#include "sts/gcp/gcp.h"
#include "sts/gcp/credential_file.h"

#include <string.h>

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void check_file(const struct cfr_gcp_file *f)
{
    CFR_FUZZ_MUST(f->universe_domain.n != 0);
    if (f->type == CFR_GCP_FILE_SERVICE_ACCOUNT) {
        CFR_FUZZ_MUST(f->client_email.n != 0 && f->private_key.n != 0 && f->token_uri.n != 0);
    } else {
        CFR_FUZZ_MUST(f->audience.n != 0 && cfr_view_printable(f->audience));
        CFR_FUZZ_MUST((f->source == CFR_GCP_SOURCE_FILE) == (f->token_path.n != 0));
        CFR_FUZZ_MUST((f->service_account.n != 0) == (f->iam_url.n != 0));
    }
}

/* Everything that follows from a good file: a token by the key alone, or a request. */
static void use(struct cfr_view json)
{
    struct cfr_gcp config = {.credentials_file = (char[]){"/f"}, .access_token = true};
    struct cfr_sts_content content = {"credentials_file", json};
    struct cfr_sts_input in = {.credential = "c",
                               .token = cfr_view_of("e30.e30.c2ln"),
                               .contents = &content,
                               .content_count = 1,
                               .now_s = 1767323045,
                               .env = no_env};
    struct cfr_sts_exchange x = {.provider = &cfr_gcp_provider, .config = &config};
    struct cfr_wire_request r = {0};
    struct cfr_gcp_sdk sdk;
    struct cfr_err err = {0};
    int rc = x.provider->local(&x, &in, &err);

    if (rc == CFR_STS_MORE)
        rc = x.provider->build(&x, &in, &r, &err);
    CFR_FUZZ_MUST(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    if (rc == 0 && r.url != NULL)
        CFR_FUZZ_MUST(strncmp(r.url, "http", 4) == 0 && strpbrk(r.url, " \r\n") == NULL);
    cfr_wire_request_free(&r);
    cfr_sts_exchange_free(&x);
    (void)cfr_gcp_sdk_make(&config, &in, &sdk, NULL);
    cfr_gcp_sdk_free(&sdk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view json = {(const char *)data, size};
    struct cfr_gcp_file file;
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_gcp_file_read(json, &file, &err);
    if (rc == 0) {
        check_file(&file);
        use(json);
    } else {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && cfr_view_is_text(cfr_view_of(err.text)));
    }
    cfr_gcp_file_free(&file);
    return 0;
}
