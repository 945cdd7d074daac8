/* SPDX-License-Identifier: MIT */
/* The image credential provider's request and response. */
#include "kube/image_credential.h"

#include "base/base64.h"
#include "base/redact.h"
#include "base/writer.h"
#include "kube/image_match_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define API_VERSION  "credentialprovider.kubelet.k8s.io/v1"
#define IMAGE_MAX    4096
#define SHOWN_MAX    80
#define DURATION_MAX 32
/* The longest time.Duration of Go, which counts nanoseconds. */
#define LONGEST_S INT64_C(9223372036)

static int check_head(const struct cfr_k8s_image_request *r, struct cfr_err *err)
{
    struct cfr_view kind = cfr_json_text(r->doc, "kind");
    struct cfr_view version = cfr_json_text(r->doc, "apiVersion");
    char shown[CFR_REDACT_MAX];

    if (!cfr_view_is(kind, "CredentialProviderRequest"))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "standard input holds no CredentialProviderRequest (its kind is \"%.*s\"): this command is "
                           "run by the kubelet",
                           SHOWN_MAX, cfr_redact(kind, &r->token, 1, shown));
    if (!cfr_view_is(version, API_VERSION))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the kubelet asks with apiVersion \"%.*s\": write `apiVersion: " API_VERSION
                           "` for this provider in its CredentialProviderConfig",
                           SHOWN_MAX, cfr_redact(version, &r->token, 1, shown));
    return 0;
}

static int check_image(struct cfr_view image, struct cfr_err *err)
{
    if (image.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the kubelet's request names no image");
    if (image.n > IMAGE_MAX || !cfr_view_printable(image) || memchr(image.p, ' ', image.n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER, "the image in the kubelet's request is not an image name");
    return 0;
}

int cfr_k8s_image_request_read(struct cfr_view text, struct cfr_k8s_image_request *out, struct cfr_err *err)
{
    struct cfr_err why = {0};
    int rc;

    *out = (struct cfr_k8s_image_request){0};
    if (text.n > CFR_K8S_IMAGE_REQUEST_MAX)
        return cfr_err_set(err, CFR_E_ANSWER, "the kubelet's request has more than %d bytes",
                           CFR_K8S_IMAGE_REQUEST_MAX);
    rc = cfr_json_parse(text, &out->doc, &why);
    if (rc != 0)
        return cfr_err_set(err, rc, rc == CFR_E_NOMEM ? "%s" : "the kubelet's request is %s", why.text);
    out->token = cfr_json_text(out->doc, "serviceAccountToken");
    out->image = cfr_json_text(out->doc, "image");
    rc = check_head(out, err);
    if (rc == 0)
        rc = check_image(out->image, err);
    if (rc == 0)
        out->registry = cfr_k8s_image_match_registry(out->image);
    return rc;
}

void cfr_k8s_image_request_free(struct cfr_k8s_image_request *r)
{
    cfr_json_free(r->doc);
    *r = (struct cfr_k8s_image_request){0};
}

struct cfr_view cfr_k8s_image_request_annotation(const struct cfr_k8s_image_request *r, const char *name)
{
    return cfr_json_text(cfr_json_get(r->doc, "serviceAccountAnnotations"), name);
}

/* As Go writes a time.Duration of whole seconds. */
static void write_duration(int64_t s, char out[DURATION_MAX])
{
    if (s > LONGEST_S)
        s = LONGEST_S;
    if (s <= 0)
        (void)snprintf(out, DURATION_MAX, "0s");
    else if (s < 60)
        (void)snprintf(out, DURATION_MAX, "%" PRId64 "s", s);
    else if (s < 3600)
        (void)snprintf(out, DURATION_MAX, "%" PRId64 "m%" PRId64 "s", s / 60, s % 60);
    else
        (void)snprintf(out, DURATION_MAX, "%" PRId64 "h%" PRId64 "m%" PRId64 "s", s / 3600, s / 60 % 60, s % 60);
}

static void write_login(struct cfr_writer *w, struct cfr_view host, struct cfr_view user, struct cfr_view password)
{
    cfr_writer_key(w, host);
    cfr_writer_object(w, NULL);
    cfr_writer_string(w, "username", user);
    cfr_writer_string(w, "password", password);
    cfr_writer_close(w);
}

static int report_no_login(struct cfr_view host, struct cfr_err *err)
{
    char shown[CFR_REDACT_MAX];

    return cfr_err_set(err, CFR_E_ANSWER, "the login for the registry %.*s has no username and password", SHOWN_MAX,
                       cfr_redact(host, NULL, 0, shown));
}

/* `auth` is base64 of USER:PASSWORD. */
static void write_decoded(struct cfr_writer *w, struct cfr_view host, struct cfr_view auth)
{
    struct cfr_secret plain;
    struct cfr_view text;
    const char *colon;
    int rc;

    cfr_secret_init(&plain, CFR_K8S_IMAGE_RESPONSE_MAX);
    rc = auth.n != 0 ? cfr_base64_decode(auth, &plain, w->err) : CFR_E_ANSWER;
    text = cfr_secret_view(&plain);
    colon = rc == 0 && text.n != 0 ? memchr(text.p, ':', text.n) : NULL;
    if (colon != NULL && memchr(text.p, '\0', text.n) == NULL)
        write_login(w, host, (struct cfr_view){text.p, (size_t)(colon - text.p)},
                    (struct cfr_view){colon + 1, text.n - (size_t)(colon + 1 - text.p)});
    else
        w->rc = rc == 0 || rc == CFR_E_ANSWER ? report_no_login(host, w->err) : rc;
    cfr_secret_free(&plain);
}

static void write_auths(struct cfr_writer *w, const struct cfr_json *doc)
{
    const struct cfr_json *item = cfr_json_first(doc);

    cfr_writer_object(w, "auth");
    for (; w->rc == 0 && item != NULL; item = cfr_json_next(item)) {
        struct cfr_view user = cfr_json_text(item, "username");
        struct cfr_view password = cfr_json_text(item, "password");

        if (user.n != 0 && password.n != 0)
            write_login(w, cfr_json_key(item), user, password);
        else
            write_decoded(w, cfr_json_key(item), cfr_json_text(item, "auth"));
    }
    cfr_writer_close(w);
}

/* Parses the inside of an object. */
static int parse_object_body(struct cfr_view inside, struct cfr_json **out, struct cfr_err *err)
{
    struct cfr_secret whole;
    struct cfr_err why = {0};
    int rc;

    *out = NULL;
    cfr_secret_init(&whole, CFR_K8S_IMAGE_RESPONSE_MAX);
    rc = cfr_secret_append_str(&whole, "{", &why);
    if (rc == 0)
        rc = cfr_secret_append(&whole, inside, &why);
    if (rc == 0)
        rc = cfr_secret_append_str(&whole, "}", &why);
    if (rc == 0)
        rc = cfr_json_parse(cfr_secret_view(&whole), out, &why);
    cfr_secret_free(&whole);
    return rc == 0 ? 0 : cfr_err_set(err, rc, "the logins to registries: %s", why.text);
}

int cfr_k8s_image_response(struct cfr_view auths, int64_t cache_s, bool image_only, struct cfr_secret *out,
                           struct cfr_err *err)
{
    struct cfr_json *doc;
    char duration[DURATION_MAX];
    struct cfr_writer w = {.secret = out, .err = err, .rc = parse_object_body(auths, &doc, err)};

    write_duration(cache_s, duration);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "kind", cfr_view_of("CredentialProviderResponse"));
    cfr_writer_string(&w, "apiVersion", cfr_view_of(API_VERSION));
    cfr_writer_string(&w, "cacheKeyType", cfr_view_of(image_only ? "Image" : "Registry"));
    cfr_writer_string(&w, "cacheDuration", cfr_view_of(duration));
    if (cfr_json_first(doc) == NULL)
        cfr_writer_raw(&w, "auth", cfr_view_of("null"));
    else
        write_auths(&w, doc);
    cfr_json_free(doc);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return w.rc;
}
