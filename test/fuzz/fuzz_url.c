/* SPDX-License-Identifier: MIT */
/* Any text as a URL or a host that a configuration names: what is taken goes where it says, and in the clear to this
 * machine only. */
#include "fuzz.h"

#include "sts/aws/ecr_private.h"
#include "sts/core/docker_auths.h"
#include "wire/url.h"

#include <string.h>

static bool is_near(struct cfr_view host)
{
    return cfr_view_is_nocase(host, "localhost") || cfr_view_starts(host, "127.") || host.p[0] == '[';
}

static bool has_any(struct cfr_view text, const char *chars)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] <= 0x20 || (unsigned char)text.p[i] >= 0x7f || strchr(chars, text.p[i]) != NULL)
            return true;
    }
    return false;
}

static void check_url(const char *text)
{
    struct cfr_url url;
    struct cfr_err err = {0};
    int rc = cfr_url_parse(text, &url, &err);

    if (rc != 0) {
        CFR_FUZZ_MUST(rc == CFR_E_CONFIG && err.code == rc && err.text[0] != '\0');
        return;
    }
    CFR_FUZZ_MUST(url.host.n != 0 && url.authority.n >= url.host.n && cfr_url_host_ok(url.authority));
    CFR_FUZZ_MUST(!has_any(url.authority, "/@?#\\%") && !has_any(url.path, "#\\"));
    CFR_FUZZ_MUST(url.path.n == 0 || url.path.p[0] == '/');
    CFR_FUZZ_MUST(url.tls || is_near(url.host));
    /* Nothing stands between the parts. */
    CFR_FUZZ_MUST(strlen(text) == strlen(url.tls ? "https://" : "http://") + url.authority.n + url.path.n);
}

static void check_host(struct cfr_view host)
{
    struct cfr_aws_ecr_host ecr;

    if (cfr_url_host_ok(host))
        CFR_FUZZ_MUST(!has_any(host, "/@?#\\%"));
    if (cfr_docker_auths_host_ok(host))
        CFR_FUZZ_MUST(!has_any(host, "/@?#\\%\""));
    if (cfr_aws_ecr_host_parse(host, &ecr))
        CFR_FUZZ_MUST(ecr.account.n == 12 && !has_any(cfr_view_of(ecr.region), "./"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    CFR_FUZZ_MUST(text != NULL);
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_url(text);
    check_host((struct cfr_view){(const char *)data, size});
    free(text);
    return 0;
}
