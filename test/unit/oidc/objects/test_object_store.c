/* SPDX-License-Identifier: MIT */
/* Which object store a text names, the requests to each, and what their answers mean. */
#include "unit.h"

#include "oidc/objects/object_store.h"

#define NOW_S INT64_C(1767323045)

static void stores(void **state)
{
    static const struct {
        const char *text;
        enum cfr_objects_kind kind;
        const char *base;
        const char *region;
    } good[] = {
        {"https://b.s3.eu-west-1.amazonaws.com", CFR_OBJECTS_S3, "https://b.s3.eu-west-1.amazonaws.com", "eu-west-1"},
        {"https://s3.us-east-1.amazonaws.com/b/p/", CFR_OBJECTS_S3, "https://s3.us-east-1.amazonaws.com/b/p",
         "us-east-1"},
        {"https://b.s3.dualstack.us-east-1.amazonaws.com", CFR_OBJECTS_S3,
         "https://b.s3.dualstack.us-east-1.amazonaws.com", "us-east-1"},
        {"https://b.s3.cn-north-1.amazonaws.com.cn", CFR_OBJECTS_S3, "https://b.s3.cn-north-1.amazonaws.com.cn",
         "cn-north-1"},
        {"s3@us-east-1:https://b.s3.amazonaws.com", CFR_OBJECTS_S3, "https://b.s3.amazonaws.com", "us-east-1"},
        {"s3@default:https://minio.example.net:9000/b", CFR_OBJECTS_S3, "https://minio.example.net:9000/b", "default"},
        {"https://a.blob.core.windows.net/c", CFR_OBJECTS_BLOB, "https://a.blob.core.windows.net/c", ""},
        {"blob:https://azurite.example.net/a/c", CFR_OBJECTS_BLOB, "https://azurite.example.net/a/c", ""},
        {"https://a.blob.core.windows.net/$web", CFR_OBJECTS_BLOB, "https://a.blob.core.windows.net/$web", ""},
        {"blob:https://azurite.example.net/a/%24web/", CFR_OBJECTS_BLOB, "https://azurite.example.net/a/%24web", ""},
        {"https://storage.googleapis.com/b", CFR_OBJECTS_GCS, "https://storage.googleapis.com/b", ""},
        {"gcs:http://127.0.0.1:80/b", CFR_OBJECTS_GCS, "http://127.0.0.1:80/b", ""},
    };
    static const char *const bad[] = {
        "",
        "https://example.net/b",
        "s3:https://minio.example.net/b",
        "s3@:https://minio.example.net/b",
        "s3@Not_A_Region:https://minio.example.net/b",
        "https://b.s3.amazonaws.com",
        "gcs:http://storage.googleapis.com/b",
        "gcs:https://storage.googleapis.com/b?x",
        "gcs:https://storage.googleapis.com/a/../b",
        "ftp:https://storage.example.net/b",
        "https://storage.googleapis.com/$web",
        "https://a.blob.core.windows.net/$other",
        "https://a.blob.core.windows.net/c?x=/$web",
    };
    struct cfr_objects_store s;
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        if (cfr_objects_parse(good[i].text, &s, &err) != 0)
            fail_msg("%s: %s", good[i].text, err.text);
        assert_int_equal(s.kind, good[i].kind);
        assert_string_equal(s.base, good[i].base);
        assert_string_equal(s.region, good[i].region);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (cfr_objects_parse(bad[i], &s, &err) != CFR_E_CONFIG)
            fail_msg("%s", bad[i]);
    }
}

static bool has(const struct cfr_wire_request *r, const char *header)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (strncmp(r->headers[i].p, header, strlen(header)) == 0)
            return true;
    }
    return false;
}

static void grant(struct cfr_grant *g)
{
    static const char *const fields[][2] = {
        {CFR_FIELD_AWS_ACCESS_KEY_ID, "AKIA"},     {CFR_FIELD_AWS_SECRET_ACCESS_KEY, "secret"},
        {CFR_FIELD_AWS_SESSION_TOKEN, "session"},  {CFR_FIELD_AZURE_ACCESS_TOKEN, "azure-token"},
        {CFR_FIELD_GCP_ACCESS_TOKEN, "gcp-token"},
    };

    *g = (struct cfr_grant){0};
    for (size_t i = 0; i < COUNT(fields); i++)
        assert_int_equal(cfr_grant_set(g, fields[i][0], cfr_view_of(fields[i][1]), NULL), 0);
}

static void requests(void **state)
{
    static const struct {
        const char *store;
        const char *url;
        const char *headers[8];
    } cases[] = {
        {"https://b.s3.eu-west-1.amazonaws.com",
         "https://b.s3.eu-west-1.amazonaws.com/.well-known/x",
         {"Content-Type: application/json", "X-Amz-Date: 20260102T030405Z",
          "X-Amz-Content-Sha256: 2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df",
          "X-Amz-Security-Token: session", "Cache-Control: max-age=1",
          "Authorization: AWS4-HMAC-SHA256 Credential=AKIA/20260102/eu-west-1/s3/aws4_request, "
          "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature="}},
        {"https://a.blob.core.windows.net/c",
         "https://a.blob.core.windows.net/c/.well-known/x",
         {"Authorization: Bearer azure-token", "x-ms-version: 20", "x-ms-date: Fri, 02 Jan 2026 03:04:05 GMT",
          "x-ms-blob-type: BlockBlob", "Content-Type: application/json", "x-ms-blob-cache-control: max-age=1"}},
        {"https://storage.googleapis.com/b",
         "https://storage.googleapis.com/b/.well-known/x",
         {"Authorization: Bearer gcp-token", "Content-Type: application/json", "Cache-Control: max-age=1"}},
    };
    static const struct cfr_objects_content content = {
        .name = ".well-known/x",
        .content_type = "application/json",
        .cache_control = "max-age=1",
        .bytes = {"ok", 2},
    };
    struct cfr_grant g;
    struct cfr_grant none = {0};

    (void)state;
    grant(&g);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_wire_request r = {.method = NULL};
        struct cfr_objects_store s;
        struct cfr_err err = {0};

        assert_int_equal(cfr_objects_parse(cases[i].store, &s, &err), 0);
        assert_int_equal(cfr_objects_put(&s, &g, &content, NOW_S, &r, &err), 0);
        assert_string_equal(r.method, "PUT");
        assert_string_equal(r.url, cases[i].url);
        assert_true(cfr_view_is(cfr_secret_view(&r.body), "ok"));
        for (size_t k = 0; cases[i].headers[k] != NULL; k++) {
            if (!has(&r, cases[i].headers[k]))
                fail_msg("%s: %s", cases[i].store, cases[i].headers[k]);
        }
        cfr_wire_request_free(&r);
        assert_int_equal(cfr_objects_get(&s, &g, ".well-known/x", NOW_S, &r, &err), 0);
        assert_string_equal(r.method, "GET");
        assert_string_equal(r.url, cases[i].url);
        assert_false(has(&r, "Content-Type") || has(&r, "Cache-Control") || r.body.len != 0);
        cfr_wire_request_free(&r);
        /* A credential of another kind is named, not sent. */
        assert_int_equal(cfr_objects_put(&s, &none, &content, NOW_S, &r, &err), CFR_E_CONFIG);
        assert_contains(err.text, cfr_objects_name(s.kind));
        cfr_wire_request_free(&r);
    }
    cfr_grant_free(&g);
}

#define ERROR_XML(code, message)                                                                                       \
    "<?xml version=\"1.0\"?><Error><Code>" code "</Code><Message>" message "</Message></Error>"

/* Written only over what was read. */
static void conditions(void **state)
{
    static const struct {
        const char *store;
        const char *version;
        const char *header;
    } cases[] = {
        {"https://b.s3.eu-west-1.amazonaws.com", "\"1f\"", "If-Match: \"1f\""},
        {"https://b.s3.eu-west-1.amazonaws.com", "", "If-None-Match: *"},
        {"https://a.blob.core.windows.net/c", "\"0x8D\"", "If-Match: \"0x8D\""},
        {"https://a.blob.core.windows.net/c", "", "If-None-Match: *"},
        {"https://storage.googleapis.com/b", "17", "x-goog-if-generation-match: 17"},
        {"https://storage.googleapis.com/b", "", "x-goog-if-generation-match: 0"},
    };
    struct cfr_objects_content content = {
        .name = "x", .content_type = "application/json", .cache_control = "max-age=1", .bytes = {"ok", 2}};
    struct cfr_grant g;

    (void)state;
    grant(&g);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_wire_request r = {.method = NULL};
        struct cfr_objects_store s;

        assert_int_equal(cfr_objects_parse(cases[i].store, &s, NULL), 0);
        content.version = cases[i].version;
        assert_int_equal(cfr_objects_put(&s, &g, &content, NOW_S, &r, NULL), 0);
        assert_true(has(&r, cases[i].header));
        cfr_wire_request_free(&r);
        content.version = NULL;
        assert_int_equal(cfr_objects_put(&s, &g, &content, NOW_S, &r, NULL), 0);
        assert_false(has(&r, "If-") || has(&r, "x-goog-if"));
        cfr_wire_request_free(&r);
    }
    cfr_grant_free(&g);
}

static void answers(void **state)
{
    static const struct {
        enum cfr_objects_kind kind;
        long status;
        const char *body;
        int rc;
        const char *says;
    } cases[] = {
        {CFR_OBJECTS_S3, 200, "", 0, ""},
        {CFR_OBJECTS_BLOB, 201, "", 0, ""},
        {CFR_OBJECTS_S3, 404, ERROR_XML("NoSuchKey", "x"), CFR_E_MISSING, "no such object"},
        {CFR_OBJECTS_BLOB, 404, ERROR_XML("BlobNotFound", "x"), CFR_E_MISSING, "no such object"},
        {CFR_OBJECTS_S3, 404, ERROR_XML("NoSuchBucket", "x"), CFR_E_REJECTED, "create the bucket"},
        {CFR_OBJECTS_S3, 403, ERROR_XML("AccessDenied", "x"), CFR_E_DENIED, "s3:ListBucket"},
        {CFR_OBJECTS_S3, 301, ERROR_XML("PermanentRedirect", "x"), CFR_E_REJECTED, "another region"},
        {CFR_OBJECTS_S3, 403, ERROR_XML("RequestTimeTooSkewed", "x"), CFR_E_REJECTED, "clock"},
        {CFR_OBJECTS_S3, 503, ERROR_XML("SlowDown", "x"), CFR_E_THROTTLED, "rate"},
        {CFR_OBJECTS_BLOB, 403, ERROR_XML("AuthorizationPermissionMismatch", "x"), CFR_E_DENIED, "Data Contributor"},
        {CFR_OBJECTS_GCS, 403, ERROR_XML("AccessDenied", "x"), CFR_E_DENIED, "objectAdmin"},
        {CFR_OBJECTS_GCS, 503, "<html>", CFR_E_UNAVAILABLE, "503"},
        {CFR_OBJECTS_GCS, 302, "", CFR_E_REDIRECT, "302"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct cfr_objects_store s = {.kind = cases[i].kind};
        const struct cfr_wire_reply reply = {.status = cases[i].status, .body = cfr_view_of(cases[i].body)};
        struct cfr_err err = {0};
        int rc = cfr_objects_answer(&s, &(struct cfr_grant){.expires_s = 0}, &reply, &err);

        if (rc != cases[i].rc)
            fail_msg("%s: %d %s", cases[i].body, rc, err.text);
        assert_contains(err.text, cases[i].says);
    }
}

static void a_refusal_that_repeats_the_token(void **state)
{
    const struct cfr_wire_reply reply = {.status = 403,
                                         .body = cfr_view_of(ERROR_XML("AccessDenied", "no: ya29.SecTok0Kq7Zw3Rt9Lm")),
                                         .request_id = cfr_view_of("xSecTok0Kq7Zw3y")};
    struct cfr_grant g = {0};

    (void)state;
    assert_int_equal(cfr_grant_set(&g, CFR_FIELD_GCP_ACCESS_TOKEN, LITERAL("ya29.SecTok0Kq7Zw3Rt9Lm"), NULL), 0);
    for (int kind = CFR_OBJECTS_S3; kind <= CFR_OBJECTS_GCS; kind++) {
        const struct cfr_objects_store s = {.kind = (enum cfr_objects_kind)kind};
        struct cfr_err err = {0};

        assert_int_not_equal(cfr_objects_answer(&s, &g, &reply, &err), 0);
        assert_contains(err.text, "no: [removed] (HTTP 403, request [removed])");
    }
    cfr_grant_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores),
        cmocka_unit_test(requests),
        cmocka_unit_test(conditions),
        cmocka_unit_test(answers),
        cmocka_unit_test(a_refusal_that_repeats_the_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
