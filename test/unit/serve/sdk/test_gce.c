/* SPDX-License-Identifier: MIT */
/* The GCE metadata shape: who may ask, and what is where. One row for each fact that clients may rely on. */
#include "serve/sdk/shape_private.h"

#include "gce_sample.h"

#include "base/json.h"

static void who_may_ask(void **state)
{
    static const struct row rows[] = {
        /* The ping of Python and Java: no header is needed for the root, only there. */
        {GET("/", 200, TEXT, "computeMetadata/\n"), .headers = ""},
        {GET("/", 200, TEXT, "computeMetadata/\n")},
        {GET("/?recursive=true", 200, TEXT, "computeMetadata/\n"), .headers = ""},
        {GET("/", 200, TEXT, NULL), .method = "HEAD", .headers = ""},
        {GET("/computeMetadata", 403, HTML, MISSING), .headers = ""},
        {GET(V1, 403, HTML, MISSING), .headers = ""},
        {GET(V1 "nowhere", 403, HTML, MISSING), .headers = ""},
        {GET(ACCOUNTS "default/token", 403, HTML, MISSING), .headers = "Host: x\n"},
        {GET(V1, 403, HTML, NULL), .headers = "Metadata-Flavor: google"},
        {GET(V1, 403, HTML, NULL), .headers = "Metadata-Flavor: Amazon"},
        {GET(V1, 403, HTML, NULL), .headers = "Metadata-Flavor:"},
        {GET(V1, 200, TEXT, NULL), .headers = "metadata-flavor: Google"},
        {GET("/", 403, HTML, NULL), .headers = "X-Forwarded-For: 10.0.0.1"},
        {GET("/", 403, HTML, NULL), .headers = "Forwarded: for=10.0.0.1"},
        {GET("/", 403, HTML, NULL), .headers = "X-Forwarded-For:"},
        {GET(V1, 403, HTML, NULL), .headers = FLAVOR "X-Forwarded-For: 127.0.0.1"},
        {GET(V1, 403, HTML, NULL), .headers = FLAVOR "forwarded:"},
        {GET("/", 405, HTML, NULL), SENT("Allow", "GET, HEAD"), .method = "POST", .headers = ""},
        {GET(V1, 405, HTML, NULL), SENT("Allow", "GET, HEAD"), .method = "PUT"},
        {GET(ACCOUNTS "default/token", 405, HTML, NULL), .method = "DELETE"},
        {GET(V1, 405, HTML, NULL), .method = "get"},
        {GET(V1 "project/project-id", 200, TEXT, NULL), .method = "HEAD"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void other_paths_are_not_taken(void **state)
{
    static const char *const paths[] = {"/v1/token/app",        "/computeMetadataX",
                                        "/computemetadata/v1/", "//computeMetadata/",
                                        "/latest/meta-data/",   "",
                                        "computeMetadata/v1/",  "/livez"};

    (void)state;
    for (size_t i = 0; i < COUNT(paths); i++)
        assert_false(ask(&full, "GET", paths[i], FLAVOR));
}

static void single_values(void **state)
{
    static const struct row rows[] = {
        /* No line end after a single value. */
        {GET(V1 "project/project-id", 200, TEXT, "shop-prod")},
        {GET(V1 "project/numeric-project-id", 200, TEXT, "739419398126")},
        {GET(V1 "universe/universe-domain", 200, TEXT, "example-universe.com")},
        {GET(V1 "universe/universe_domain", 200, TEXT, "example-universe.com")},
        {GET(V1 "universe/?recursive=true", 200, JSON, "{\"universeDomain\":\"example-universe.com\"}")},
        {GET(V1 "universe/", 200, TEXT, "universe-domain\n")},
        {GET(V1 "instance/id", 200, TEXT, "3520924272487962000")},
        {GET(V1 "instance/name", 200, TEXT, "node-7")},
        {GET(V1 "instance/hostname", 200, TEXT, "node-7.europe-west1-b.c.shop-prod.internal")},
        {GET(V1 "instance/zone", 200, TEXT, "projects/739419398126/zones/europe-west1-b")},
        {GET(V1 "instance/attributes/cluster-name", 200, TEXT, "shop")},
        {GET(V1 "instance/attributes/cluster-location", 200, TEXT, "europe-west1")},
        {GET(V1 "instance/name?alt=json", 200, JSON, "\"node-7\"")},
        {GET(V1 "instance/name?alt=json", 200, JSON, "\"42\""), .config = &waiting},
        {GET(V1 "instance/id?alt=json", 200, JSON, "3520924272487962000")},
        {GET(V1 "instance/id?alt=text", 200, TEXT, "3520924272487962000")},
        {GET(V1 "instance/id?recursive=true", 200, TEXT, "3520924272487962000")},
        /* The guest agent's long polls are answered at once. */
        {GET(V1 "instance/id?wait_for_change=true&last_etag=0&timeout_sec=600", 200, TEXT, NULL)},
        {GET(V1 "instance/id?alt=xml", 400, HTML, NULL)},
        {GET(V1 "instance/id?alt=json&alt=text", 400, HTML, NULL)},
        {GET(V1 "instance/attributes/cluster-uid", 404, HTML, NULL)},
        {GET(V1 "instance/platform-security/auto-mtls-configuration", 404, HTML, NULL)},
        {GET(V1 "instance/id/", 404, HTML, NULL)},
        {GET(V1 "instance/id/x", 404, HTML, NULL)},
        {GET(V1 "instance//id", 404, HTML, NULL)},
        {GET(V1 "instance/../project/project-id", 404, HTML, NULL)},
        {GET(V1 "instance%2fid", 404, HTML, NULL)},
        {GET(V1 "instance/i%64", 200, TEXT, "3520924272487962000")},
        {GET(V1 "instance/id%00", 404, HTML, NULL)},
        {GET(V1 "instance/id%", 404, HTML, NULL)},
        {GET("/computeMetadata//", 404, HTML, NULL)},
        {GET("/computeMetadata/v1beta1/", 404, HTML, NULL)},
        /* What is not configured is not there: a client then takes its own default. */
        {GET(V1 "universe/universe-domain", 404, HTML, NULL), .config = &bare},
        {GET(V1 "project/project-id", 404, HTML, NULL), .config = &bare},
        {GET(V1 "project/numeric-project-id", 404, HTML, NULL), .config = &bare},
        {GET(V1 "instance/zone", 404, HTML, NULL), .config = &bare},
        {GET(V1 "instance/id", 404, HTML, NULL), .config = &bare},
        {GET(V1 "instance/hostname", 404, HTML, NULL), .config = &bare},
        {GET(V1 "instance/attributes/cluster-name", 404, HTML, NULL), .config = &bare},
        {GET(V1 "instance/zone", 200, TEXT, "projects/shop-prod/zones/europe-west1-b"), .config = &derived},
        {GET(V1 "instance/id", 200, TEXT, "4551346963612460237"), .config = &derived},
        {GET(V1 "instance/attributes/cluster-location", 200, TEXT, "europe-west1-b"), .config = &derived},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void directories(void **state)
{
    static const struct row rows[] = {
        {GET("/computeMetadata/", 200, TEXT, "v1/\n")},
        {GET(V1, 200, TEXT, "instance/\nproject/\nuniverse/\n")},
        {GET(V1 "instance/", 200, TEXT, "attributes/\nhostname\nid\nname\nservice-accounts/\nzone\n")},
        {GET(V1 "instance/", 200, TEXT, "attributes/\nservice-accounts/\n"), .config = &bare},
        {GET(V1 "instance/attributes/", 200, TEXT, ""), .config = &bare},
        {GET(V1 "project/", 200, TEXT, "numeric-project-id\nproject-id\n")},
        /* gcloud takes each entry but "default" for an account: aliases are not among them. */
        {GET(ACCOUNTS, 200, TEXT,
             "default/\n" APP "/\n" BATCH "/\nids@x.y/\ngone@x.y/\nover@x.y/\nfar@b.c/\nwrong@x.y/\nnowhere@x.y/\n")},
        {GET(ACCOUNTS, 200, TEXT, "default/\n"), .config = &bare},
        {GET(ACCOUNTS "default/", 200, TEXT, "aliases\nemail\nidentity\nscopes\ntoken\n")},
        {GET(ACCOUNTS "default/?recursive=false", 200, TEXT, "aliases\nemail\nidentity\nscopes\ntoken\n")},
        /* Without the slash: a redirect to where the client asked, with its query. Node follows it in its detection. */
        {GET(V1 "instance", 301, HTML, NULL), SENT("Location", "http://127.0.0.1:9911" V1 "instance/")},
        {GET("/computeMetadata", 301, HTML, NULL), SENT("Location", "http://127.0.0.1:9911/computeMetadata/")},
        {GET(ACCOUNTS "default?recursive=true&alt=json", 301, HTML, NULL),
         SENT("Location", "http://127.0.0.1:9911" ACCOUNTS "default/?recursive=true&alt=json")},
        {GET(V1 "project", 301, HTML, NULL), SENT("Location", "http://[::1]:80" V1 "project/"),
         .headers = "Metadata-Flavor: Google\nHost: [::1]:80"},
        {GET(V1 "project", 301, HTML, NULL), SENT("Location", V1 "project/"), .headers = "Metadata-Flavor: Google"},
        {GET(V1 "project", 301, HTML, NULL), SENT("Location", V1 "project/"),
         .headers = "Metadata-Flavor: Google\nHost: evil.example/x?"},
        {GET(V1 "project?a=b c", 404, HTML, NULL)},
        {GET(V1 "project?a=\x01", 404, HTML, NULL)},
        {GET(V1 "nowhere/", 404, HTML, NULL)},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* A redirect that does not fit is no redirect to half a place. */
static void a_redirect_is_whole_or_not_at_all(void **state)
{
    char target[600] = V1 "project?a=";

    (void)state;
    memset(target + strlen(target), 'x', 400);
    check(&(struct row){.target = target, .status = 404, .type = HTML});
    cfr_sdk_endpoint_answer_free(&out);
}

#define DEFAULT_JSON "{\"aliases\":[\"default\"],\"email\":\"" APP "\",\"scopes\":[\"" CLOUD_PLATFORM "\"]}"
#define BATCH_JSON                                                                                                     \
    "{\"aliases\":[\"batch\"],\"email\":\"" BATCH "\",\"scopes\":[\"" READ_ONLY                                        \
    "\",\"openid\",\"https://a/only-gone\","                                                                           \
    "\"" CLOUD_PLATFORM "\"]}"
#define BARE_JSON "{\"default\":{\"aliases\":[\"default\"],\"email\":\"default\",\"scopes\":[\"" CLOUD_PLATFORM "\"]}}"

static void recursive_answers(void **state)
{
    static const struct row rows[] = {
        /* Python asks for this before its first token; tokens are left out, an email is a key as it is. */
        {GET(ACCOUNTS "default/?recursive=true", 200, JSON, DEFAULT_JSON)},
        {GET(ACCOUNTS "default/?recursive=TRUE", 200, JSON, DEFAULT_JSON)},
        {GET(ACCOUNTS "default/?recursive=True&alt=JSON", 200, JSON, DEFAULT_JSON)},
        {GET(ACCOUNTS "default/?Recursive=true", 200, TEXT, NULL)},
        {GET(ACCOUNTS APP "/?recursive=true", 200, JSON, DEFAULT_JSON)},
        {GET(ACCOUNTS "batch/?recursive=true", 200, JSON, BATCH_JSON)},
        {GET(ACCOUNTS BATCH "/?recursive=true", 200, JSON, BATCH_JSON)},
        {GET(ACCOUNTS "?recursive=true", 200, JSON, BARE_JSON), .config = &bare},
        {GET(V1 "project/?recursive=true", 200, JSON,
             "{\"numericProjectId\":739419398126,\"projectId\":\"shop-prod\"}")},
        {GET(V1 "instance/attributes/?recursive=true", 200, JSON,
             "{\"cluster-location\":\"europe-west1\",\"cluster-name\":\"shop\"}")},
        {GET(V1 "universe/?recursive=true", 200, JSON, "{}"), .config = &bare},
        {GET(V1 "?recursive=true", 200, JSON,
             "{\"instance\":{\"attributes\":{},\"serviceAccounts\":" BARE_JSON "},\"project\":{},\"universe\":{}}"),
         .config = &bare},
        {GET(ACCOUNTS "?recursive=true&alt=text", 200, TEXT,
             "default/aliases default\ndefault/email default\ndefault/scopes " CLOUD_PLATFORM "\n"),
         .config = &bare},
        {GET(V1 "project/?recursive=true&alt=text", 200, TEXT,
             "numeric-project-id 739419398126\nproject-id shop-prod\n")},
        {GET(V1 "?recursive=true&recursive=true", 400, HTML, NULL)},
        {GET(V1 "?recursive=true&alt=yaml", 400, HTML, NULL)},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* What Java and C++ read of the whole listing, through a JSON parser; and that no token is in any recursive answer. */
static void the_whole_tree_is_json_without_tokens(void **state)
{
    const char *const path[] = {"instance", "serviceAccounts", APP, "email", NULL};
    struct cfr_json *doc = NULL;
    struct cfr_view text;

    (void)state;
    assert_true(ask(&full, "GET", "/computeMetadata/v1/?recursive=true", FLAVOR));
    assert_int_equal(cfr_json_parse(cfr_secret_view(&out.body), &doc, NULL), 0);
    assert_true(cfr_json_string(cfr_json_path(doc, path), &text));
    assert_view(text, APP);
    assert_int_equal(cfr_json_members(cfr_json_get(cfr_json_get(doc, "instance"), "serviceAccounts")), 9);
    cfr_json_free(doc);
    assert_int_equal(cfr_view_find(cfr_secret_view(&out.body), "ya29"), -1);
    assert_int_equal(cfr_view_find(cfr_secret_view(&out.body), "token"), -1);
    assert_true(ask(&full, "GET", "/computeMetadata/?recursive=true&alt=text", FLAVOR));
    assert_int_equal(cfr_view_find(cfr_secret_view(&out.body), "ya29"), -1);
    assert_int_equal(cfr_view_find(cfr_secret_view(&out.body), "/batch/"), -1);
    cfr_sdk_endpoint_answer_free(&out);
}

static void account_leaves(void **state)
{
    static const struct row rows[] = {
        {GET(ACCOUNTS "default/email", 200, TEXT, APP)},
        {GET(ACCOUNTS APP "/email", 200, TEXT, APP)},
        {GET(ACCOUNTS "app%40shop-prod.iam.gserviceaccount.com/email", 200, TEXT, APP)},
        /* The email is the identity that was granted, where it is one. */
        {GET(ACCOUNTS "batch/email", 200, TEXT, BATCH)},
        {GET(ACCOUNTS "far@b.c/email", 200, TEXT, "far@b.c")},
        {GET(ACCOUNTS "default/email", 200, TEXT, "default"), .config = &bare},
        {GET(ACCOUNTS "default/aliases", 200, TEXT, "default\n")},
        {GET(ACCOUNTS "default/scopes", 200, TEXT, CLOUD_PLATFORM "\n")},
        {GET(ACCOUNTS "batch/scopes", 200, TEXT, READ_ONLY "\nopenid\nhttps://a/only-gone\n" CLOUD_PLATFORM "\n")},
        {GET(ACCOUNTS "batch/aliases?alt=json", 200, JSON, "[\"batch\"]")},
        {GET(ACCOUNTS "ids@x.y/scopes", 200, TEXT, "")},
        {GET(ACCOUNTS "stranger@x.y/email", 404, HTML, NULL)},
        {GET(ACCOUNTS "stranger@x.y/", 404, HTML, NULL)},
        {GET(ACCOUNTS "stranger@x.y/token", 404, HTML, NULL)},
        {GET(ACCOUNTS "Default/token", 404, HTML, NULL)},
        {GET(ACCOUNTS "default/password", 404, HTML, NULL)},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* Keeps the ETag of an answer. */
static void etag(const char *target, char to[32])
{
    assert_true(ask(&full, "GET", target, FLAVOR));
    assert_int_equal(strlen(sent("ETag")), 16);
    (void)snprintf(to, 32, "%s", sent("ETag"));
    cfr_sdk_endpoint_answer_free(&out);
}

static void etags_are_stable_and_tell_apart(void **state)
{
    char one[32], again[32], other[32];

    (void)state;
    etag(V1 "instance/id", one);
    etag(V1 "instance/id", again);
    etag(V1 "instance/name", other);
    assert_string_equal(one, again);
    assert_string_not_equal(one, other);
    etag(ACCOUNTS "default/token", one);
    etag(ACCOUNTS APP "/token", again);
    etag(ACCOUNTS "batch/token", other);
    assert_string_equal(one, again);
    assert_string_not_equal(one, other);
    issued_s++;
    etag(ACCOUNTS "default/token", other);
    issued_s--;
    assert_string_not_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_ask),
        cmocka_unit_test(other_paths_are_not_taken),
        cmocka_unit_test(single_values),
        cmocka_unit_test(directories),
        cmocka_unit_test(a_redirect_is_whole_or_not_at_all),
        cmocka_unit_test(recursive_answers),
        cmocka_unit_test(the_whole_tree_is_json_without_tokens),
        cmocka_unit_test(account_leaves),
        cmocka_unit_test(etags_are_stable_and_tell_apart),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, make_grants, free_grants);
}
