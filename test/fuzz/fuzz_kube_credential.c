/* SPDX-License-Identifier: MIT */
/* Untrusted input from pipes: an exec plugin's output, the kubelet's request, the logins of a
 * response, and patterns of images; the first byte chooses. */
#include "fuzz.h"

#include "base/str.h"
#include "kube/exec_credential.h"
#include "kube/image_credential.h"

#include <string.h>

static void exec_credential(struct cfr_view text)
{
    struct cfr_k8s_exec_credential c;
    struct cfr_err err = {0};
    int rc = cfr_k8s_exec_credential_read("client.authentication.k8s.io/v1", text, &c, &err);

    if (rc == 0) {
        CFR_FUZZ_MUST(c.token.len != 0 || (c.cert.len != 0 && c.key.len != 0));
        CFR_FUZZ_MUST(cfr_view_printable(cfr_secret_view(&c.token)) && c.expires_s >= 0);
    } else {
        CFR_FUZZ_MUST(rc == CFR_E_ANSWER && err.code == rc && cfr_view_is_text(cfr_view_of(err.text)));
        CFR_FUZZ_MUST(c.token.p == NULL && c.cert.p == NULL && c.key.p == NULL);
    }
    cfr_k8s_exec_credential_free(&c);
}

static void image_request(struct cfr_view text)
{
    struct cfr_k8s_image_request r;
    struct cfr_err err = {0};
    int rc = cfr_k8s_image_request_read(text, &r, &err);

    if (rc == 0) {
        CFR_FUZZ_MUST(r.image.n != 0 && r.registry.n != 0 && cfr_view_printable(r.registry));
        CFR_FUZZ_MUST(memchr(r.registry.p, '/', r.registry.n) == NULL);
        (void)cfr_k8s_image_request_annotation(&r, "example.net/role");
        (void)cfr_k8s_image_match("*.dkr.ecr.*.amazonaws.com", r.image);
    } else {
        CFR_FUZZ_MUST(rc == CFR_E_ANSWER && err.code == rc && cfr_view_is_text(cfr_view_of(err.text)));
    }
    cfr_k8s_image_request_free(&r);
}

/* What comes out must be JSON again. */
static void image_response(struct cfr_view auths)
{
    struct cfr_json *doc = NULL;
    struct cfr_secret out;
    struct cfr_err err = {0};
    int rc;

    cfr_secret_init(&out, CFR_K8S_IMAGE_RESPONSE_MAX);
    rc = cfr_k8s_image_response(auths, 3600, false, &out, &err);
    if (rc == 0)
        CFR_FUZZ_MUST(cfr_json_parse(cfr_secret_view(&out), &doc, &err) == 0 && cfr_json_get(doc, "auth") != NULL);
    else
        CFR_FUZZ_MUST(rc == CFR_E_ANSWER && err.code == rc && cfr_view_is_text(cfr_view_of(err.text)));
    cfr_json_free(doc);
    cfr_secret_free(&out);
}

/* PATTERN, a line end, IMAGE. A pattern without asterisks means itself, and what is below it; of an address of version
 * 6 the kubelet compares what is between the brackets. */
static void match(struct cfr_view text)
{
    struct cfr_view line = {NULL, 0};
    struct cfr_view rest = text;
    struct cfr_err err = {0};
    char *pattern;
    bool good;

    (void)cfr_view_line(&rest, &line);
    pattern = cfr_str_dup(line);
    if (pattern == NULL)
        return;
    good = cfr_k8s_image_match_check(pattern, &err) == 0;
    CFR_FUZZ_MUST(good || err.text[0] != '\0');
    CFR_FUZZ_MUST(!cfr_k8s_image_match(pattern, rest) || good);
    if (good && strlen(pattern) == line.n && strpbrk(pattern, "*[") == NULL)
        CFR_FUZZ_MUST(cfr_k8s_image_match(pattern, line) &&
                      (cfr_k8s_image_match(pattern, rest) == false || cfr_view_starts(rest, pattern)));
    free(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view rest;

    if (size == 0)
        return 0;
    cfr_json_setup();
    rest = (struct cfr_view){(const char *)data + 1, size - 1};
    switch (data[0] & 3) {
    case 0:
        exec_credential(rest);
        break;
    case 1:
        image_request(rest);
        break;
    case 2:
        image_response(rest);
        break;
    default:
        match(rest);
        break;
    }
    return 0;
}
